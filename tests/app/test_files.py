"""The route of the download buttons: every click is answered with its file or with one sentence."""

import contextlib
import itertools
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from page_settings import comparison_of
from routes import HOME, served
from waiting import PATIENCE, wait

from rbmviz import BadInput
from rbmviz_app.stream import files
from rbmviz_app.stream.files import OfferedFile, OfferedFiles

PAGE = {"origin": HOME}


@pytest.fixture
def client():
    with served(files) as client:
        yield client


@pytest.fixture
def offered():
    return OfferedFiles()


def test_a_click_is_answered_with_its_file(client, offered):
    content = bytes(range(256)) * 5000  # several pieces
    address = offered.offer("Samples", OfferedFile("Zahlen ζ.npz", lambda: content))
    answer = client.post(address, headers=PAGE)
    assert (answer.status_code, answer.content) == (200, content)
    assert answer.headers["content-disposition"] == "attachment; filename*=UTF-8''Zahlen%20%CE%B6.npz"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"


def test_redrawn_button_keeps_its_address_and_offers_the_newest(client, offered):
    first = offered.offer("Samples", OfferedFile("a", lambda: b"first"))
    other = offered.offer("Curves", OfferedFile("b", lambda: b"curves"))
    assert offered.offer("Samples", OfferedFile("a", lambda: b"second")) == first != other
    assert client.post(first).content == b"second"
    assert client.post(other).content == b"curves"


def test_unavailable_file_says_why_and_faults_are_logged(client, offered, caplog):
    def refuse():
        raise BadInput("There are no results yet.")

    answer = client.post(offered.offer("Model", OfferedFile("m", refuse)))
    assert (answer.status_code, answer.text) == (422, "There are no results yet.")
    assert "Traceback" not in caplog.text
    answer = client.post(offered.offer("Curves", OfferedFile("c", lambda: {}["absent"])))
    assert (answer.status_code, answer.text) == (
        500,
        "This file could not be made: the log of the server says why.",
    )
    assert "KeyError: 'absent'" in caplog.text


@pytest.mark.parametrize("path", ["guessed/0", "{token}/7", "{token}x/0", "{token}/" + 5000 * "1"])
def test_unknown_files_are_refused_in_one_sentence(client, offered, path):
    offered.offer("Samples", OfferedFile("a", lambda: b""))
    answer = client.post(files.files_path() + path.format(token=offered.token))
    assert (answer.status_code, "has ended: reload it" in answer.text) == (404, True)


@pytest.mark.parametrize("origin", ["http://evil.example", "http://127.0.0.1:8502", "null"])
def test_pages_of_other_origins_and_links_get_nothing(client, offered, origin):
    made = []
    address = offered.offer("Samples", OfferedFile("a", lambda: made.append(1) or b"content"))
    assert client.post(address, headers={"origin": origin}).status_code == 403
    evil = {"host": "evil.example:8501", "origin": "http://evil.example:8501"}
    assert client.post(address, headers=evil).status_code == 400
    assert client.get(address).status_code == 405
    assert not made
    secure = {"origin": "https://127.0.0.1:8501", "x-forwarded-proto": "https"}
    assert client.post(address, headers=secure).status_code == 200  # a proxy that ends TLS


def test_under_load_every_click_has_an_answer(client, offered, monkeypatch):
    """More clicks than threads, and more than a session may wait for: files, and one sentence."""
    monkeypatch.setattr(files, "MAX_WAITING", 5)
    go_on, at_work = threading.Event(), []

    def make():
        at_work.append(1)
        assert go_on.wait(PATIENCE)
        return b"content"

    address = offered.offer("Samples", OfferedFile("a", make))
    with ThreadPoolExecutor(8) as pool:
        waiting = [pool.submit(client.post, address) for _ in range(5)]
        wait(lambda: offered.waiting == 5, "five clicks")
        refused = client.post(address)
        assert (refused.status_code, refused.text) == (
            429,
            "Many files are being made for you: wait for one of them.",
        )
        assert len(at_work) <= 2
        go_on.set()
        assert [one.result().content for one in waiting] == [b"content"] * 5
    assert offered.waiting == 0


@pytest.mark.parametrize(
    ("name", "panels", "part"),
    [("sample", "p", {}), ("weights", "w", {}), ("chain", "l", {"little": "landscape"})],
)
def test_a_page_without_panels_makes_its_files_or_says_why_not(page, name, panels, part):
    test = page(name, **{panels: "none"}, **part)
    assert not comparison_of(test, name).panels
    offered = map(test.session_state["offered files"].get, itertools.count())
    for file in itertools.takewhile(lambda file: file is not None, offered):
        with contextlib.suppress(BadInput):
            assert file.make()
