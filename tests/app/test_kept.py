"""What visitors keep on the server: links open it again, and say so where it is gone."""

import numpy as np
import pytest
from waiting import PATIENCE, wait

from rbmviz.kept_files import kept_files, new_id
from rbmviz.rbm import model_bytes
from rbmviz_app import kept
from rbmviz_app.charts.style import csv_bytes
from rbmviz_app.session import LessonStep


def texts(test, kind):
    return " ".join(one.value for one in getattr(test, kind))


def trained(page, **query):
    """Open the Train page; return it, its comparison, and the id of its trainings."""
    test = page("train", shell=True, **{"t": ["cd"], "pace": "50", **query})
    comparison = test.session_state["comparisons"]["train"][0]
    wait(lambda: all(s.n > 5 for _, s in comparison.poll()), "updates")
    test.run()
    return test, comparison, test.session_state["kept"]["training"]


def test_trainings_and_branches_survive_a_reload(page, address_of):
    test, comparison, key = trained(page)
    test.button(key="branch pcd").click().run()
    wait(lambda: all(s.n > 5 for _, s in comparison.poll()), "updates of the branch")
    assert address_of(test)["kept"] == [key]
    # Somebody opens the address meanwhile: a copy under another id.
    _, copied, other = trained(page, kept=key)
    assert other != key
    assert [p.worker.plan.origin is None for p in copied.panels] == [True, False]
    # The page is left, and its memory is freed: a reload by the same browser goes on under the same id.
    comparison.close()
    for panel in comparison.panels:
        panel.worker.join(PATIENCE)  # the end of a chunk
    n = [s.n for _, s in comparison.peek()]
    comparison.rest()
    owner = test.session_state["owner"]
    query = {"t": ["cd"], "pace": "50", "kept": key, "paused": "1"}
    again = page("train", shell=True, state={"owner": owner}, **query)
    comparison = again.session_state["comparisons"]["train"][0]
    assert again.session_state["kept"]["training"] == key
    assert not again.warning
    # Paused, it shows what was learned, and none of the trainings goes on to where another one is.
    wait(lambda: all(s.fantasy is not None for _, s in comparison.poll()), "pictures")
    assert [(s.n, s.status) for _, s in comparison.peek()] == [(m, "paused") for m in n]
    comparison.resume()
    wait(lambda: all(s.n > m for (_, s), m in zip(comparison.poll(), n, strict=True)), "more updates")
    assert comparison.panels[1].worker.plan.origin.path[0][0] == "CD-k"
    # Other hidden units than those that were learned with: what the link names begins.
    fresh = page("train", shell=True, t=["cd"], hidden="7", kept=key)
    assert "trained with other settings" in texts(fresh, "warning")
    # Deleted now, it is gone, and it is not written again.
    again.button(key="training delete").click().run()
    assert "kept" not in address_of(again)
    comparison.rest()
    gone = page("train", shell=True, t=["cd:k=3"], kept=key)
    assert "gone, or was kept on another" in texts(gone, "warning")
    assert "give it again in Settings" in texts(gone, "warning")
    assert gone.session_state["train settings"]  # which are open: the upload is in sight
    [panel] = gone.session_state["comparisons"]["train"][0].panels
    assert panel.worker.algorithm.k == 3


def test_a_disk_that_refuses_is_said(page, monkeypatch, tmp_path):
    test, comparison, _ = trained(page)
    (tmp_path / "a file").touch()
    monkeypatch.setenv("RBMVIZ_KEPT_DIR", str(tmp_path / "a file" / "x"))
    comparison.before_rest()
    test.run()
    assert "The trainings could not be kept." in texts(test, "error")


def test_a_trained_model_opens_from_a_copied_link(page, model, address_of):
    key = kept_files().put("PCD, 3 updates", "model", "me", model_bytes(model))
    test = page("sample", shell=True, model="PCD, 3 updates", kept=key, p=["gibbs"])
    comparison = test.session_state["comparisons"]["sample"][0]
    np.testing.assert_array_equal(comparison.setup.model.rbm.W, model.rbm.W)
    assert address_of(test)["kept"] == [key]
    test.selectbox(key="model").set_value("bas_pcd").run()
    assert "kept" not in address_of(test)
    for damaged in (b"\x80\x04pickled", b""):
        key = kept_files().put("PCD, 3 updates", "model", "me", damaged)
        test = page("sample", shell=True, kept=key, p=["gibbs"])
        assert "is not a readable model file" in texts(test, "warning")


def test_a_kept_upload_takes_the_place_of_the_uploader(page, model, address_of):
    key = kept_files().put("mine.npz", "sample_own", "me", model_bytes(model, ".npz"))
    test = page("sample", shell=True, kept=key, p=["gibbs"])
    comparison = test.session_state["comparisons"]["sample"][0]
    assert "All panels sample your file 'mine.npz'" in texts(test, "caption").replace("\\", "")
    np.testing.assert_array_equal(comparison.setup.model.rbm.W, model.rbm.W)
    # Another browser has kept it: it can be left, and not be deleted.
    test.button(key="sample_own delete").click().run()
    assert "only the browser that kept it" in texts(test, "toast")
    test.button(key="sample_own leave").click().run()
    assert comparison.setup.model.rbm.n_visible == 784
    assert "kept" not in address_of(test)
    rows = "\n".join(",".join(row) for row in np.random.default_rng(1).integers(0, 2, (60, 9)).astype(str))
    key = kept_files().put("rows.csv", "own_data", "me", rows.encode())
    test = page("train", shell=True, state={"owner": "me"}, t=["cd"], kept=key)
    assert test.session_state["comparisons"]["train"][0].setup.dataset.n_visible == 9
    assert key in address_of(test)["kept"]
    test.button(key="own_data delete").click().run()
    assert key not in address_of(test).get("kept", [])
    assert test.session_state["comparisons"]["train"][0].setup.dataset.n_visible == 9


def test_an_upload_is_kept_only_when_its_visitor_says_so(page, model):
    test = page("sample", shell=True, p=["gibbs"])
    before = set(kept_files().folder.iterdir()) if kept_files().folder.exists() else set()
    test.file_uploader(key="sample_own").upload("mine.safetensors", model_bytes(model)).run()
    assert "sample_own" not in test.session_state["kept"]
    test.button(key="sample_own keep").click().run()
    [path] = set(kept_files().folder.iterdir()) - before
    assert test.session_state["kept"]["sample_own"] == path.name
    assert kept_files().get(path.name).belongs_to(test.session_state["owner"])


@pytest.fixture
def own_data():
    """A file of 50 rows of 9 random bits."""
    return csv_bytes(map(str, range(9)), np.random.default_rng(2).integers(0, 2, (50, 9)))


def button(test, label):
    return next(one for one in test.button if one.label == label)


def taken_off(test):
    return any("taken off the page" in toast.value for toast in test.toast)


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


def test_a_step_of_a_lesson_takes_the_file_of_ones_own_off_the_page(page, model):
    test = page("sample", shell=True)
    test.file_uploader(key="sample_own").upload("mine.safetensors", model_bytes(model)).run()
    comparison = test.session_state["comparisons"]["sample"][0]
    assert comparison.setup.model.rbm.n_visible == 5
    test.session_state["open step"] = LessonStep("stick", 2)
    test.session_state["step to set"] = True
    test.run()
    assert not test.exception
    assert comparison.setup.model.rbm.n_visible == 784
    assert taken_off(test)


def test_a_model_sent_to_a_page_takes_the_place_of_a_kept_file(page, model, monkeypatch):
    opened = []
    monkeypatch.setattr("streamlit.switch_page", lambda page, query_params=(): opened.append(page))
    kept = {"sample_own": ("mine.safetensors", model_bytes(model))}
    state = {"kept uploads": kept, "shown settings": {"sample": {"model": "old"}}}
    test = page("train", t=["cd"], state=state)
    comparison = test.session_state["comparisons"]["train"][0]
    wait(lambda: comparison.poll()[0][1].n > 0, "an update")
    button(test, "To the Sample page").click().run()
    assert opened == ["pages/sample/page.py"]
    assert not test.session_state["kept uploads"]
    assert "CD-k" in test.session_state["model"]
    assert "sample" not in test.session_state["shown settings"]


def test_ids_that_make_no_sense_are_gone(page):
    for key in ("../../etc/passwd", new_id(), "", "x" * 10_000):
        test = page("sample", shell=True, kept=key, p=["gibbs"])
        assert texts(test, "warning").strip()
        assert "passwd" not in texts(test, "warning")
        assert not key or test.session_state["sample settings"]
    assert kept.ids("sample") == []
