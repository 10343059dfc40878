"""Trainings on the server's disk: whole or not at all, the oldest go; links open them, or say why not."""

import asyncio
import errno
import os
import stat

import numpy as np
import pytest
from page_settings import settings_of
from waiting import PATIENCE, wait

from rbmviz import BadInput
from rbmviz.errors import OutputFailure
from rbmviz.rbm import model_bytes
from rbmviz.session.training_file import read_training_file
from rbmviz_app import checkpoints
from rbmviz_app.charts.style import csv_bytes
from rbmviz_app.checkpoints import get, path_of, put
from rbmviz_app.pages import file_of
from rbmviz_app.uploads import Upload

TOKENS = [f"{i:024x}" for i in range(12)]


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """An empty folder for trainings, with room for 10 kB."""
    monkeypatch.setenv("RBMVIZ_KEPT_DIR", str(tmp_path / "kept"))
    monkeypatch.setattr(checkpoints, "TOTAL_BYTES", 10_000)
    monkeypatch.setattr(checkpoints, "MAX_PAGE_BYTES", 1_000)
    return tmp_path / "kept"


# The files


def test_a_file_is_found_by_its_token_and_by_nothing_else(folder):
    put(TOKENS[0], b"\x00\nbytes")
    assert get(TOKENS[0]) == b"\x00\nbytes"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    put(TOKENS[0], b"newer")
    assert get(TOKENS[0]) == b"newer"
    (folder.parent / "outside").write_bytes(b"secret")
    for other in (TOKENS[1], "", "../outside", f"../kept/{TOKENS[0]}", TOKENS[0][:-1], TOKENS[0] + "\n", "."):
        with pytest.raises(BadInput, match="is not on this server"):
            get(other)
    (folder / TOKENS[2]).symlink_to("/dev/zero")
    with pytest.raises(BadInput, match="is not on this server"):
        get(TOKENS[2])


def test_the_oldest_files_make_room(folder):
    with pytest.raises(BadInput, match="download a checkpoint of each"):
        put(TOKENS[0], bytes(1001))
    foreign = folder / "not ours"
    for i, token in enumerate(TOKENS[:10]):
        put(token, bytes(1000))
        os.utime(path_of(token), (i, i))
    foreign.write_bytes(bytes(5000))
    left = folder / f".{TOKENS[0]}.0123abcd"  # by an interrupted write
    left.write_bytes(bytes(500))
    for path in (foreign, left):
        os.utime(path, (0, 0))
    put(TOKENS[0], bytes(1000))  # in the place of the older one: the rest of the interrupted write has to go
    assert not left.exists()
    assert all(path_of(token).exists() for token in TOKENS[:10])
    put(TOKENS[10], bytes(900))
    assert [path_of(token).exists() for token in TOKENS[:3]] == [True, False, True]
    assert foreign.exists()


def test_an_interrupted_write_leaves_the_older_file_whole(folder, monkeypatch):
    put(TOKENS[0], b"older")

    def full(*args):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputFailure, match="the disk is full"):
        put(TOKENS[0], b"newer")
    assert get(TOKENS[0]) == b"older"
    assert len(list(folder.iterdir())) == 1


def test_a_foreign_folder_is_one_sentence(folder, monkeypatch):
    put(TOKENS[0], b"1")
    (folder.parent / "link").symlink_to(folder)
    (folder.parent / "a file").touch()
    for name, sentence in (("link", "set RBMVIZ_KEPT_DIR"), ("a file/x", "cannot be written")):
        monkeypatch.setenv("RBMVIZ_KEPT_DIR", str(folder.parent / name))
        with pytest.raises(OutputFailure, match=sentence):
            put(TOKENS[0], b"1")


# Pages


def texts(test, kind):
    return " ".join(one.value for one in getattr(test, kind))


def trained(page, **query):
    """Open the Train page; return it, its comparison, and the token of its trainings."""
    test = page("train", shell=True, **{"t": ["cd"], "pace": "50", **query})
    comparison = test.session_state["comparisons"]["train"][0]
    wait(lambda: all(s.n > 5 for _, s in comparison.poll()), "updates")
    test.run()
    return test, comparison, test.session_state["token"]


def of_session(test):
    """Return the entries of a session that outlive the widgets of its page."""
    names = (
        "comparisons",
        "visitor",
        "uploads",
        "trained",
        "token",
        "live trainings",
        "link",
        "allowance",
        "models on pages",
        "settings",
    )
    known = test.session_state
    return {name: known[name] for name in names if name in known}


def left(comparison):
    """Leave the page of a comparison, as a reload does, and free its memory; return its updates."""
    comparison.close()
    for panel in comparison.panels:
        panel.worker.join(PATIENCE)  # the end of a chunk
    n = [s.n for _, s in comparison.peek()]
    comparison.rest()
    return n


def test_trainings_and_branches_survive_a_reload(page, address_of):
    test, comparison, token = trained(page)
    test.button(key="branch pcd").click().run()
    wait(lambda: all(s.n > 5 for _, s in comparison.poll()), "updates of the branch")
    assert address_of(test)["kept"] == [token]
    # Somebody opens the address meanwhile: a copy under another token.
    _, copied, other = trained(page, kept=token)
    assert other != token
    assert [p.worker.plan.origin is None for p in copied.panels] == [True, False]
    n = left(comparison)
    content = get(token)
    query = {"t": ["cd"], "pace": "50", "kept": token, "paused": "1"}
    again = page("train", shell=True, **query)
    comparison = again.session_state["comparisons"]["train"][0]
    assert not again.warning
    # From the first moment, in which nothing is rebuilt yet, its own token opens it again.
    assert get(again.session_state["token"]) == content
    # Paused, it shows what was learned, and none of the trainings goes on to where another one is.
    wait(lambda: all(s.fantasy is not None for _, s in comparison.poll()), "pictures")
    assert [(s.n, s.status) for _, s in comparison.peek()] == [(m, "paused") for m in n]
    comparison.resume()
    wait(lambda: all(s.n > m for (_, s), m in zip(comparison.poll(), n, strict=True)), "more updates")
    assert comparison.panels[1].worker.plan.origin.path[0][0] == "CD-k"
    # What is trained from here on is not written over what somebody else's link opens.
    left(comparison)
    assert get(token) == content
    # Other hidden units than those that were learned with: what the link names begins.
    fresh = page("train", shell=True, t=["cd"], hidden="7", kept=token)
    assert "have other settings than the link" in texts(fresh, "warning")


def test_what_is_gone_or_damaged_is_said_and_the_link_opens_without_it(page):
    damaged = "d" * 24
    for token in ("../../etc/passwd", TOKENS[0], "x" * 10_000, damaged):
        put(damaged, b"\x80\x04pickled")
        test = page("train", shell=True, t=["cd:k=3"], kept=token)
        sentence = "not one that this program writes" if token == damaged else "is not on this server"
        assert texts(test, "warning").count(sentence) == 1
        assert "passwd" not in texts(test, "warning")
        [panel] = test.session_state["comparisons"]["train"][0].panels
        assert panel.worker.algorithm.k == 3


def test_a_disk_that_refuses_is_said(page, monkeypatch, tmp_path):
    test, comparison, _ = trained(page)
    (tmp_path / "a file").touch()
    monkeypatch.setenv("RBMVIZ_KEPT_DIR", str(tmp_path / "a file" / "x"))
    comparison.before_rest()
    test.run()
    assert "a reload would lose them" in texts(test, "error")
    assert "Each minute" not in texts(test, "caption")


def test_trainings_are_written_each_minute_if_they_have_gone_on(page, monkeypatch):
    _, comparison, token = trained(page)
    monkeypatch.setattr(checkpoints, "SECONDS_BETWEEN_WRITES", 0.01)

    async def written():
        task = asyncio.create_task(checkpoints.write_each_minute())
        for _ in range(int(PATIENCE / 0.01)):
            if path_of(token).exists():
                break
            await asyncio.sleep(0.01)
        task.cancel()

    asyncio.run(written())
    [panel] = read_training_file(get(token)).panels(comparison.setup)
    assert panel.n > 5
    comparison.pause()
    wait(lambda: comparison.poll()[0][1].status == "paused", "a pause")
    checkpoints.write_all()
    os.utime(path_of(token), (1, 1))
    checkpoints.write_all()
    assert path_of(token).stat().st_mtime == 1
    path_of(token).unlink()  # as room for others
    checkpoints.write_all()
    assert path_of(token).exists()
    paused_at = comparison.poll()[0][1].n
    comparison.step()
    wait(lambda: comparison.poll()[0][1].n > paused_at, "an update")
    before = path_of(token).stat().st_mtime_ns
    checkpoints.write_all()
    assert path_of(token).stat().st_mtime_ns > before


def test_trainings_at_rest_are_not_written_without_their_states(page):
    _, comparison, token = trained(page)
    left(comparison)
    content = get(token)
    test_live = checkpoints.live_trainings()[token]
    test_live._written = None
    test_live.write()
    assert get(token) == content


def test_own_data_travel_with_their_training(page, own_data):
    test = page("train", shell=True, t=["cd"], pace="50", hidden="5")
    test.file_uploader(key="own_data").upload("rows.csv", own_data).run()
    comparison = test.session_state["comparisons"]["train"][0]
    wait(lambda: comparison.poll()[0][1].n > 5, "updates")
    test.run()
    assert "with the data of your file" in texts(test, "caption")
    [n], data = left(comparison), comparison.setup.dataset
    # Another session: after a reload, or on a server that has begun again.
    again = page("train", shell=True, t=["cd"], pace="50", hidden="5", kept=test.session_state["token"])
    comparison = again.session_state["comparisons"]["train"][0]
    np.testing.assert_array_equal(comparison.setup.dataset.train, data.train)
    assert "All panels train on your file 'rows.csv'" in texts(again, "caption").replace("\\", "")
    wait(lambda: comparison.poll()[0][1].n > n, "the next updates")
    assert not again.warning
    # Its own file takes the next ones along.
    left(comparison)
    file = read_training_file(get(again.session_state["token"]))
    np.testing.assert_array_equal(file.dataset.train, data.train)
    button(again, "Continue without rows.csv").click().run()
    assert comparison.setup.dataset.name == "bas"


def test_a_trained_model_opens_from_a_copied_link_and_its_training_with_it(page, address_of, monkeypatch):
    monkeypatch.setattr("streamlit.switch_page", lambda page: None)
    test, comparison, token = trained(page, hidden="5", train_data="bas@3")
    button(test, "To the Sample page").click().run()
    [(title, model)] = test.session_state["trained"].items()
    again = page("sample", shell=True, model=title, kept=token, p=["gibbs"])
    setup = again.session_state["comparisons"]["sample"][0].setup
    np.testing.assert_array_equal(setup.model.rbm.W, model.rbm.W)
    assert address_of(again)["kept"] == [token]
    again.selectbox(key="model").set_value("bas_pcd").run()
    assert "kept" not in address_of(again)
    # The Train page of this session, which its address says nothing of, goes on with the training.
    [n] = left(comparison)
    state = of_session(again)
    state.pop("comparisons")
    train = page("train", shell=True, state=state)
    comparison = train.session_state["comparisons"]["train"][0]
    assert (comparison.setup.n_hidden, comparison.setup.dataset.name) == (5, "bas@3")
    wait(lambda: comparison.poll()[0][1].n > n, "the next updates")
    assert not train.warning
    chain = page("chain", shell=True, land=title, kept=token, little="landscape")
    setup = chain.session_state["comparisons"]["chain"][0].setup
    np.testing.assert_array_equal(setup.model.rbm.W, model.rbm.W)
    assert address_of(chain)["kept"] == [token]
    for gone in (TOKENS[0], "nothing"):
        lost = page("sample", shell=True, model=title, kept=gone, p=["gibbs"])
        assert "is not on this server" in texts(lost, "warning")


@pytest.fixture
def own_data():
    """A file of 50 rows of 9 random bits."""
    return csv_bytes(map(str, range(9)), np.random.default_rng(2).integers(0, 2, (50, 9)))


def button(test, label):
    return next(one for one in test.button if one.label == label)


def taken_off(test):
    return any("removed from the page" in toast.value for toast in test.toast)


def test_uploads_stay_when_their_page_is_opened_again(page, model, own_data):
    """A page that is opened again has an empty uploader."""
    sample = page("sample", shell=True, p=["gibbs"])
    sample.file_uploader(key="sample_own").upload("mine.npz", model_bytes(model, ".npz")).run()
    train = page("train", shell=True, t=["cd"])
    train.file_uploader(key="own_data").upload("rows.csv", own_data).run()
    for test, name, place in ((sample, "sample", "sample_own"), (train, "train", "own_data")):
        comparison = test.session_state["comparisons"][name][0]
        before = comparison.setup
        again = page(name, shell=True, state=of_session(test))
        assert again.file_uploader(key=place).value is None
        assert comparison.setup == before
        button(again, f"Continue without {again.session_state['uploads'][place].name}").click().run()
        assert comparison.setup != before
        assert place not in again.session_state["uploads"]


def test_a_model_file_that_a_reload_forgets_is_named(page, model, address_of):
    test = page("sample", shell=True, p=["gibbs"])
    test.file_uploader(key="sample_own").upload("mine.npz", model_bytes(model, ".npz")).run()
    assert address_of(test)["model"] == ["mine.npz"]
    again = page("sample", shell=True, p=["gibbs"], model="mine.npz")
    assert "forgotten your file 'mine.npz'" in texts(again, "warning").replace("\\", "")
    assert address_of(again)["model"] == ["mnist_fpcd"]


def test_a_preset_takes_the_file_of_ones_own_off_the_page(page, own_data):
    test = page("train", shell=True)
    test.file_uploader(key="own_data").upload("rows.csv", own_data).run()
    comparison = test.session_state["comparisons"]["train"][0]
    assert comparison.setup.dataset.n_visible == 9
    button(test, "Four prototypes").click().run()
    assert comparison.setup.dataset.name == "modes"
    assert taken_off(test)
    assert not comparison.can_undo
    assert test.file_uploader(key="own_data 1").value is None  # there it can be given again


def test_a_preset_on_a_page_without_a_file_can_be_undone(page):
    test = page("train", shell=True)
    button(test, "Four prototypes").click().run()
    assert not taken_off(test)
    assert test.session_state["comparisons"]["train"][0].can_undo


def test_a_step_of_a_lesson_chooses_its_model_and_the_file_stays_in_the_list(page, model):
    test = page("sample", shell=True)
    test.file_uploader(key="sample_own").upload("mine.safetensors", model_bytes(model)).run()
    comparison = test.session_state["comparisons"]["sample"][0]
    assert comparison.setup.model.rbm.n_visible == 5
    test.query_params = {"lesson": "stick", "step": "3"}
    test.session_state["opened page"] = "learn"
    test.run()
    assert not test.exception
    assert comparison.setup.model.rbm.n_visible == 784
    assert "mine.safetensors" in test.selectbox(key="model").options


def test_a_model_sent_to_a_page_is_chosen_there(page, model, monkeypatch):
    opened = []
    monkeypatch.setattr("streamlit.switch_page", opened.append)
    uploads = {"sample_own": Upload("mine.safetensors", None, model)}
    test = page("train", t=["cd"], state={"uploads": uploads})
    comparison = test.session_state["comparisons"]["train"][0]
    wait(lambda: comparison.poll()[0][1].n > 0, "an update")
    button(test, "To the Sample page").click().run()
    assert opened == [file_of("sample")]
    assert "CD-k" in settings_of(test)["model"]
