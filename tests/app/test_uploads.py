"""Uploads stay while the session lasts; presets, lessons and sent models take them off the page."""

import numpy as np
import pandas as pd
import pytest
from page_settings import button, comparison_of, settings_of
from waiting import wait

from rbmviz.rbm.files import model_bytes
from rbmviz_app.pages import file_of
from rbmviz_app.uploads import Upload


def of_session(test):
    """Return the entries of a session that outlive the widgets of its page."""
    names = (
        "comparisons",
        "visitor",
        "uploads",
        "trained",
        "link",
        "models on pages",
        "settings",
    )
    known = test.session_state
    return {name: known[name] for name in names if name in known}


@pytest.fixture
def own_data():
    """A file of 50 rows of 9 random bits."""
    return pd.DataFrame(np.random.default_rng(2).integers(0, 2, (50, 9))).to_csv(index=False).encode()


def taken_off(test):
    return any("removed from the page" in toast.value for toast in test.toast)


def test_uploads_stay_when_their_page_is_opened_again(page, model, own_data):
    """A page that is opened again has an empty uploader."""
    sample = page("sample", shell=True, p=["gibbs"])
    sample.file_uploader(key="sample_own").upload("mine.npz", model_bytes(model, ".npz")).run()
    train = page("train", shell=True, t=["cd"])
    train.file_uploader(key="own_data").upload("rows.csv", own_data).run()
    for test, name, place in ((sample, "sample", "sample_own"), (train, "train", "own_data")):
        comparison = comparison_of(test, name)
        before = comparison.setup
        again = page(name, shell=True, state=of_session(test))
        assert again.file_uploader(key=place).value is None
        assert comparison.setup == before
        button(again, f"Continue without {again.session_state['uploads'][place].name}").click().run()
        assert comparison.setup != before
        assert place not in again.session_state["uploads"]


def test_a_preset_takes_the_file_of_ones_own_off_the_page(page, own_data):
    test = page("train", shell=True)
    test.file_uploader(key="own_data").upload("rows.csv", own_data).run()
    comparison = comparison_of(test, "train")
    assert comparison.setup.dataset.n_visible == 9
    button(test, "Four prototypes").click().run()
    assert comparison.setup.dataset.name == "modes"
    assert taken_off(test)
    assert not comparison.can_undo
    assert test.file_uploader(key="own_data 1").value is None  # there it can be given again


def test_a_model_sent_to_a_page_is_chosen_there(page, model, monkeypatch):
    opened = []
    monkeypatch.setattr("streamlit.switch_page", opened.append)
    uploads = {"sample_own": Upload("mine.safetensors", None, model)}
    test = page("train", t=["cd"], state={"uploads": uploads})
    comparison = comparison_of(test, "train")
    wait(lambda: comparison.poll()[0][1].n > 0, "an update")
    button(test, "To the Sample page").click().run()
    assert opened == [file_of("sample")]
    assert "CD-k" in settings_of(test)["model"]
