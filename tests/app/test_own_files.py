"""A visitor's own files, uploaded on one page, on the others: they stay while the session lasts."""

import numpy as np
import pandas as pd
import pytest
from page_settings import button, race_of, set_settings, settings_of
from waiting import wait

from rbmviz import RBM, Model
from rbmviz.models import random_model
from rbmviz.rbm.files import model_bytes
from rbmviz_app import shared


@pytest.fixture
def rows():
    """A file of 60 rows of five random bits, as many as the model of the tests has visible units."""
    return pd.DataFrame(np.random.default_rng(3).integers(0, 2, (60, 5))).to_csv(index=False).encode()


@pytest.fixture
def sample(page, model):
    """The Sample page with a model file of its visitor."""
    test = page("sample", p=["gibbs"])
    return test.file_uploader(key="sample_own").upload("mine.npz", model_bytes(model, ".npz")).run()


def carried(test):
    """Return what a session takes along to its next page."""
    return {name: test.session_state[name] for name in ("uploads", "visitor") if name in test.session_state}


def test_a_model_file_of_one_page_is_listed_on_the_others(page, sample, model):
    for name, key in (("weights", "weights_model"), ("coupling", "coupling_model")):
        other = page(name, state=carried(sample))
        assert "mine.npz" in other.selectbox(key=key).options
        other.selectbox(key=key).set_value("mine.npz").run()
        assert not other.exception
        setup = race_of(other, name).setup
        rbm = setup.rbm if name == "coupling" else setup.model.rbm
        np.testing.assert_array_equal(rbm.W, model.rbm.W)
    # It is nobody else's.
    assert "mine.npz" not in page("weights").selectbox(key="weights_model").options


def test_an_uploaded_model_is_the_choice_of_its_page(page, model, rbm):
    """Undo goes back to the choice before; the file stays in the list, under a name of its own."""
    test = page("sample", p=["gibbs"])
    race = race_of(test, "sample")
    before = race.setup.model
    test.file_uploader(key="sample_own").upload("mine.npz", model_bytes(model, ".npz")).run()
    assert test.selectbox(key="model").value == "mine.npz"
    np.testing.assert_array_equal(race.setup.model.rbm.W, model.rbm.W)
    test.button(key="sample_undo").click().run()
    assert (race.setup.model, test.selectbox(key="model").value) == (before, "mnist_fpcd")
    other = page("weights", w=["pop_cd"], state=carried(test))
    twice = Model(RBM(2 * rbm.W, rbm.b, rbm.c))
    other.file_uploader(key="weights_own").upload("mine.npz", model_bytes(twice, ".npz")).run()
    assert other.selectbox(key="weights_model").value == "mine (2).npz"
    assert "mine.npz" in other.selectbox(key="weights_model").options


@pytest.mark.parametrize(
    ("name", "setting"), [("weights", "weights_model"), ("coupling", "coupling_model"), ("chain", "land")]
)
def test_page_leaves_a_removed_model(page, sample, address_of, name, setting):
    """Its file was removed on the page that it was uploaded to, or replaced by a model that does not fit."""
    test = page(name, state=carried(sample), little="landscape")
    test.selectbox(key=setting).set_value("mine.npz").run()
    assert address_of(test)[setting] == ["mine.npz"]
    if name == "chain":
        large = test.session_state["uploads"]["sample_own"]._replace(content=random_model(20, 3, 1.0, 0))
        test.session_state["uploads"]["sample_own"] = large
    else:
        test.session_state["uploads"].clear()
    assert not test.run().exception
    default = settings_of(test)[setting]
    assert default in ("mnist_fpcd", "random", "two halves")
    assert (test.selectbox(key=setting).value, address_of(test)[setting]) == (default, [default])
    assert not race_of(test, name).can_undo  # no setting restores the file


def test_page_leaves_removed_data(page, sample, address_of, rows):
    sample.file_uploader(key="score_data").upload("rows.csv", rows).run()
    uploads = {name: one for name, one in sample.session_state["uploads"].items() if name == "score_data"}
    for name, setting in (("sample", "data"), ("tune", "tune_data")):
        test = page(name, state={"uploads": dict(uploads)}, **{setting: "rows.csv"})
        assert settings_of(set_settings(test, **{setting: "rows.csv"}).run())[setting] == "rows.csv"
        test.session_state["uploads"].clear()
        assert not test.run().exception
        assert settings_of(test)[setting] == "automatic"
        assert "rows.csv" not in address_of(test)[setting]


def start(test):
    """Start the planned sweep and return it at its end."""
    button(test, "Start").click().run()
    assert not test.exception
    [sweep] = test.session_state["own sweeps"].values()
    wait(lambda: sweep.status == "finished", "the end of the sweep")
    return sweep


ONE_AXIS = {"tune_x_n": "2", "tune_y": "none", "tune_n": "50", "tune_seeds": "2"}


def test_tune_sweeps_own_models_on_own_data_for_their_visitor_alone(page, sample, rows, address_of):
    sample.file_uploader(key="score_data").upload("rows.csv", rows).run()
    test = page("tune", state=carried(sample), **ONE_AXIS)
    assert "mine.npz" in test.multiselect(key="tune_models").options
    test.multiselect(key="tune_models").set_value(["mine.npz"]).run()
    test.selectbox(key="tune_data").set_value("rows.csv").run()
    assert any("Only you see it" in one.value for one in test.caption)
    sweep = start(test)
    assert (sweep.plan.models, sweep.plan.data, sweep.done) == (("mine.npz",), "rows.csv", 4)
    assert address_of(test.run())["sweep"] == [sweep.name]
    assert not test.exception
    assert race_of(test, "tune").setup.model is sweep.own["mine.npz"]
    assert sweep not in shared.sweep_jobs().list()
    other = page("tune", sweep=sweep.name, tune_models="mine.npz", **ONE_AXIS)
    said = " ".join(one.value.replace("\\", "") for one in other.warning)
    assert "forgotten your file 'mine.npz'" in said
    assert "no such sweep" in said
    assert settings_of(other)["sweep"] == ""
    assert other.session_state["own sweeps"] == {}
    assert list(test.session_state["own sweeps"]) == [sweep.name]
    for place in ("score_data", "sample_own"):
        sample.session_state["own sweeps"] = test.session_state["own sweeps"]
        sample.file_uploader(key=place).set_value(None).run()
    assert not sample.exception
    assert test.session_state["own sweeps"] == {}
    assert not test.run().exception
    assert settings_of(test)["sweep"] == ""
    assert (settings_of(test)["tune_models"], settings_of(test)["tune_data"]) == ([], "automatic")


def test_score_against_takes_a_file(page, model, rows, address_of):
    test = page("sample", shell=True, p=["gibbs"])
    test.file_uploader(key="sample_own").upload("mine.npz", model_bytes(model, ".npz")).run()
    test.file_uploader(key="score_data").upload("rows.csv", rows).run()
    assert not test.exception
    race = race_of(test, "sample")
    assert (race.setup.dataset.name, settings_of(test)["data"]) == ("rows.csv", "rows.csv")
    assert address_of(test)["data"] == ["rows.csv"]
    test.selectbox(key="data").set_value("automatic").run()
    assert race.setup.dataset is None  # the file is still in its uploader, and no longer chosen
    assert settings_of(test)["data"] == "automatic"
    again = page("sample", shell=True, p=["gibbs"], data="rows.csv")
    sentences = [one.value.replace("\\", "") for one in again.warning]
    assert ["The server has forgotten your file 'rows.csv': upload it again in Settings."] == sentences
    # Coupling has no uploader, but lists the models of the pages that have one.
    coupling = page("coupling", coupling_model="mine.npz")
    assert any("again in Settings of Sample or Train." in one.value for one in coupling.warning)


def test_a_damaged_model_leaves_the_one_before_it_in_its_place(sample, model):
    sample.file_uploader(key="sample_own").upload("other.npz", model_bytes(model, ".npz")[:-40]).run()
    assert not sample.exception
    assert len(sample.error) == 1
    setup = race_of(sample, "sample").setup
    np.testing.assert_array_equal(setup.model.rbm.W, model.rbm.W)
    assert settings_of(sample)["model"] == "mine.npz"
    assert not sample.run().exception


def test_two_visitors_with_files_of_one_name_get_scores_of_their_own(rows):
    from rbmviz.datasets import load_bytes

    other = pd.DataFrame(np.tile(np.eye(5, dtype=int), (12, 1))).to_csv(index=False).encode()
    both = [load_bytes(content, "rows.csv") for content in (rows, other)]
    scores = [shared.training_part_isl(data, "binary", None) for data in both]
    assert scores[0] != scores[1]


def test_uploads_stay_when_their_page_is_opened_again(page, model, rows):
    """A page that is opened again has an empty uploader."""
    sample = page("sample", shell=True, p=["gibbs"])
    sample.file_uploader(key="sample_own").upload("mine.npz", model_bytes(model, ".npz")).run()
    train = page("train", shell=True, t=["cd"])
    train.file_uploader(key="own_data").upload("rows.csv", rows).run()
    outlive = ("races", "visitor", "uploads", "trained", "link", "settings")
    for test, name, place in ((sample, "sample", "sample_own"), (train, "train", "own_data")):
        race, known = race_of(test, name), test.session_state
        before = race.setup
        again = page(name, shell=True, state={key: known[key] for key in outlive if key in known})
        assert again.file_uploader(key=place).value is None
        assert race.setup == before
        button(again, f"Continue without {again.session_state['uploads'][place].name}").click().run()
        assert race.setup != before
        assert place not in again.session_state["uploads"]


def test_a_file_to_train_on_stays_a_choice_beside_a_preset(page, rows):
    test = page("train", shell=True)
    test.file_uploader(key="own_data").upload("rows.csv", rows).run()
    race = race_of(test, "train")
    assert race.setup.dataset.n_visible == 5
    button(test, "Four prototypes").click().run()
    assert race.setup.dataset.name == "modes"
    assert "rows.csv" in test.selectbox(key="train_data").options
    test.button(key="train_undo").click().run()
    assert (race.setup.dataset.name, test.selectbox(key="train_data").value) == ("rows.csv", "rows.csv")
