"""Files on their way to Streamlit: counted before they are read, and read one at a time."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient
from waiting import PATIENCE, wait

from rbmviz import BadInput
from rbmviz.budget import check_memory, reading
from rbmviz.session import memory
from rbmviz_app import insides, uploads

MB = 10**6


@pytest.fixture
def held(monkeypatch):
    """The bytes that Streamlit holds, by session; 10 MB are free, half of them for the first."""
    monkeypatch.setenv("RBMVIZ_SERVER_MB", "520")
    uploads.uploaded_files.clear()
    held = {}
    monkeypatch.setattr(memory, "process_bytes", lambda: 510 * MB + sum(held.values()))
    monkeypatch.setattr(insides, "stored_bytes", lambda: held)
    yield held
    uploads.uploaded_files.clear()


@pytest.fixture
def client(held):
    async def store(request):
        session, n = request.path_params["session"], len(await request.body())
        held[session] = held.get(session, 0) + n
        return PlainTextResponse("", 204)

    routes = [Route(uploads.ROUTE + "{session}/{file}", store, methods=["PUT", "DELETE"])]
    app = Starlette(routes=routes, middleware=[Middleware(uploads.CountedUploads)])
    with TestClient(app) as client:
        yield client


def put(client, session, size):
    return client.put(f"{uploads.ROUTE}{session}/file", content=bytes(size))


def test_files_are_refused_at_the_limit_of_a_visitor_and_of_all(client, held):
    statuses = [put(client, "a", MB).status_code for _ in range(40)]
    assert statuses == [204] * 5 + [413] * 35  # half of 10 MB
    assert put(client, "b", 3 * MB).status_code == 413
    assert put(client, "b", 2 * MB).status_code == 204  # half of what a leaves
    assert held == {"a": 5 * MB, "b": 2 * MB}
    assert "The server has no room for this file of 3 MB" in put(client, "b", 3 * MB).text
    held.clear()  # their sessions have ended
    assert put(client, "b", 3 * MB).status_code == 204
    assert uploads.uploaded_files()._coming == {}


def test_a_file_of_no_length_is_not_read(client, held):
    answer = client.put(f"{uploads.ROUTE}a/file", content=iter([b"1", b"2"]))
    assert (answer.status_code, held) == (411, {})


def test_files_that_are_still_coming_are_counted(held):
    files = uploads.uploaded_files()
    files.expect("a", 3 * MB)
    with pytest.raises(BadInput):
        files.expect("a", 3 * MB)
    files.came("a", 3 * MB)
    files.expect("a", 3 * MB)


def test_one_file_is_read_at_a_time(held, monkeypatch):
    inside, most, go_on = [], [], threading.Event()

    def read():
        with uploads.one_reader():
            inside.append(1)
            most.append(len(inside))
            assert go_on.wait(PATIENCE)
            inside.pop()

    with ThreadPoolExecutor(4) as pool:
        ends = [pool.submit(read) for _ in range(4)]
        wait(lambda: inside, "the first reader")
        go_on.set()
        for end in ends:
            end.result(PATIENCE)
    assert most == [1] * 4


def test_who_waits_to_read_stops_with_the_page(held, monkeypatch):
    class Left(BaseException):
        pass

    def stop():
        raise Left

    monkeypatch.setattr(uploads.st, "stop", stop)
    with uploads.one_reader():
        monkeypatch.setattr(insides, "page_is_open", lambda: False)
        with ThreadPoolExecutor(1) as pool:
            waits = pool.submit(lambda: uploads.one_reader().__enter__())
            with pytest.raises(Left):
                waits.result(PATIENCE)
    monkeypatch.setattr(insides, "page_is_open", lambda: True)
    with uploads.one_reader():  # it is free again
        pass


def test_the_budget_of_a_file_is_what_the_server_has_left():
    with reading(50 * MB, lambda: None):
        check_memory("'a.csv'", 40 * MB, "give fewer rows")
        with pytest.raises(BadInput, match=r"needs 0\.06 GB .* has 0\.05 GB left"):
            check_memory("'a.csv'", 60 * MB, "give fewer rows")
    check_memory("'a.csv'", 60 * MB, "give fewer rows")
