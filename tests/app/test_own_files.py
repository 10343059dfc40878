"""A visitor's own files, uploaded on one page, on the others."""

import numpy as np
import pytest
from page_settings import settings_of

from rbmviz.rbm import model_bytes
from rbmviz_app import shared
from rbmviz_app.charts.style import csv_bytes


@pytest.fixture
def rows():
    """A file of 60 rows of five random bits, as many as the model of the tests has visible units."""
    return csv_bytes(map(str, range(5)), np.random.default_rng(3).integers(0, 2, (60, 5)))


def carried(test):
    """Return what a session takes along to its next page."""
    return {name: test.session_state[name] for name in ("uploads", "visitor") if name in test.session_state}


def test_a_model_file_of_one_page_is_listed_on_the_others(page, model):
    sample = page("sample", p=["gibbs"])
    sample.file_uploader(key="sample_own").upload("mine.npz", model_bytes(model, ".npz")).run()
    for name, key in (("weights", "weights_model"), ("coupling", "coupling_model")):
        other = page(name, state=carried(sample))
        assert "mine.npz" in other.selectbox(key=key).options
        other.selectbox(key=key).set_value("mine.npz").run()
        assert not other.exception
        setup = other.session_state["comparisons"][name][0].setup
        rbm = setup.rbm if name == "coupling" else setup.model.rbm
        np.testing.assert_array_equal(rbm.W, model.rbm.W)
    # It is nobody else's.
    assert "mine.npz" not in page("weights").selectbox(key="weights_model").options


def test_data_of_the_train_page_can_be_scored_against(page, model, rows):
    train = page("train", t=["cd"])
    train.file_uploader(key="own_data").upload("rows.csv", rows).run()
    sample = page("sample", p=["gibbs"], state=carried(train))
    sample.file_uploader(key="sample_own").upload("mine.npz", model_bytes(model, ".npz")).run()
    assert sample.session_state["comparisons"]["sample"][0].setup.dataset is None
    sample.selectbox(key="data").set_value("rows.csv").run()
    assert not sample.exception
    data = train.session_state["comparisons"]["train"][0].setup.dataset
    assert sample.session_state["comparisons"]["sample"][0].setup.dataset is data


def test_score_against_takes_a_file(page, model, rows, address_of):
    test = page("sample", shell=True, p=["gibbs"])
    test.file_uploader(key="sample_own").upload("mine.npz", model_bytes(model, ".npz")).run()
    test.file_uploader(key="score_data").upload("rows.csv", rows).run()
    assert not test.exception
    comparison = test.session_state["comparisons"]["sample"][0]
    assert (comparison.setup.dataset.name, settings_of(test)["data"]) == ("rows.csv", "rows.csv")
    assert address_of(test)["data"] == ["rows.csv"]
    test.selectbox(key="data").set_value("automatic").run()
    assert comparison.setup.dataset is None  # the file is still in its uploader, and no longer chosen
    assert settings_of(test)["data"] == "automatic"
    again = page("sample", shell=True, p=["gibbs"], data="rows.csv")
    sentences = [one.value.replace("\\", "") for one in again.warning]
    assert ["The server has forgotten your file 'rows.csv': upload it again in Settings."] == sentences


def test_a_file_that_cannot_be_read_is_refused_at_the_door(page):
    test = page("sample", p=["gibbs"])
    test.file_uploader(key="score_data").upload("rows.csv", b"a,b\n1,\xff\n").run()
    assert not test.exception
    assert len(test.error) == 1
    assert "score_data" not in test.session_state["uploads"]


def test_two_visitors_with_files_of_one_name_get_scores_of_their_own(rows):
    from rbmviz.datasets import load_bytes

    other = csv_bytes(map(str, range(5)), np.tile(np.eye(5, dtype=int), (12, 1)))
    both = [load_bytes(content, "rows.csv") for content in (rows, other)]
    scores = [shared.training_part_isl(data, "binary") for data in both]
    assert scores[0] != scores[1]
