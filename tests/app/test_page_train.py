"""The Train page without a browser: where trainers begin, what has been learned, and its files."""

import numpy as np
import pytest
from page_settings import set_settings
from waiting import wait

from rbmviz import RBM, BadInput, Model, make_trainer, train
from rbmviz.charts import Style
from rbmviz.charts.style import DASHES
from rbmviz.datasets import Dataset, load_dataset
from rbmviz.rbm.files import model_bytes
from rbmviz.session import TrainingRun, TrainingSetup
from rbmviz.trainers.checkpoint import load_checkpoint
from rbmviz_app.code import training_code
from rbmviz_app.compared import Curve
from rbmviz_app.pages.train.charts import training_chart
from rbmviz_app.pages.train.page import checkpoint_file, code_of

LEARNED_BY = "Use the model trained by"


def comparison_of(test):
    return test.session_state["comparisons"]["train"][0]


def select(test, label):
    [found] = [one for one in test.selectbox if one.label == label]
    return found


@pytest.fixture
def tiny():
    """A model of 16 visible and 3 hidden units."""
    return Model(RBM(np.random.default_rng(4).normal(0, 1, (16, 3)), np.zeros(16), np.zeros(3)), None, {})


def test_a_trainer_has_the_hidden_units_of_what_it_begins_at(page, tiny):
    test = page("train", t=["cd"], hidden="7", replicates="2", state={"trained": {"tiny": tiny}})
    comparison = comparison_of(test)
    select(test, "Starts from").set_value("tiny").run()
    test.button(key="train add pcd").click().run()
    assert not test.exception
    wait(lambda: comparison.poll()[1][1].n > 0, "an update")
    select(test.run(), LEARNED_BY).set_value(comparison.panels[1].key).run()
    test.button(key="branch pop_cd").click().run()
    assert not test.exception
    plans = [panel.plan for panel in comparison.panels]
    assert [(plan.n_hidden, plan.replicates) for plan in plans] == [(7, 2), (3, 2), (3, 2)]
    branched = comparison.panels[2].read(TrainingRun.warm_start)
    assert {rbm.n_hidden for rbm in branched.models} == {3}


def test_the_row_of_what_was_learned_names_trainers_as_they_are_now(page):
    test = page("train", t=["cd", "cd:k=5"])
    comparison = comparison_of(test)
    assert not any("10" in name for name in select(test, LEARNED_BY).options)
    comparison.apply_knobs(comparison.panels[1].key, k=10)
    wait(lambda: comparison.poll()[1][1].algorithm.k == 10, "the new knob")
    test.run()
    names = select(test, LEARNED_BY).options
    assert "10" in names[1]
    assert list(test.session_state["drawn trainers"].values()) == names


def test_a_checkpoint_is_downloaded_once_there_is_one(page):
    comparison = comparison_of(page("train", t=["cd"]))
    worker = comparison.panels[0]
    wait(lambda: comparison.poll()[0][1].n > 0, "an update")
    found = load_checkpoint(checkpoint_file(worker), load_dataset("bas").train)
    assert found.trainer == worker.algorithm

    class Unbegun:
        def read(self, what):
            assert what is TrainingRun.checkpoint
            return b""

    with pytest.raises(BadInput, match="no checkpoint yet"):
        checkpoint_file(Unbegun())


def test_refused_checkpoint_opens_once_its_data_are_chosen(page):
    training = train(load_dataset("modes"), make_trainer("cd"), n_hidden=4, iterations=3)
    next(training)
    test = page("train", t=["cd"], train_data="bas")
    comparison = comparison_of(test)
    test.file_uploader(key="begin").upload("mine.checkpoint", training.checkpoint()).run()
    assert len(test.error) == 1
    assert len(comparison.panels) == 1
    test.selectbox(key="train_data").set_value("modes").run()
    assert not test.error
    assert [panel.plan.n_hidden for panel in comparison.panels] == [16, 4]
    test.run()
    assert len(comparison.panels) == 2  # opened once


def test_a_model_to_begin_at_is_held_only_while_its_file_is_there(page, tiny):
    test = page("train", t=["cd"])
    uploader = test.file_uploader(key="begin")
    uploader.upload("mine.safetensors", model_bytes(tiny)).run()
    assert "mine.safetensors" in select(test, "Starts from").options
    assert "begin" in test.session_state["uploads"]
    test.file_uploader(key="begin").set_value(None).run()
    assert "mine.safetensors" not in select(test, "Starts from").options
    assert "begin" not in test.session_state["uploads"]


def test_code_repeats_what_began_at_random_weights_and_names_the_others(page, tmp_path, monkeypatch):
    test = page("train", t=["cd:schedule=linear,iterations=30"], hidden="3")
    comparison = comparison_of(test)
    wait(lambda: comparison.poll()[0][1].n >= 30, "the whole training")
    test.button(key="branch pcd").click().run()
    code = code_of(comparison)
    assert "# Not repeated here: PCD" in code
    assert '"pcd"' not in code
    scope = {}
    monkeypatch.chdir(tmp_path)
    exec(code, scope)
    assert list(scope["trainings"]) == ["CD-k 1"]
    assert (tmp_path / "likelihood.html").stat().st_size > 1000


def test_code_for_a_model_that_is_too_large_to_enumerate_estimates(capsys):
    data = Dataset(
        "wide", *np.random.default_rng(1).integers(0, 2, (3, 40, 30), dtype=np.uint8), "bits", "none"
    )
    code = training_code(
        TrainingSetup(data, n_hidden=27), [make_trainer("cd", schedule="linear", iterations=4)]
    )
    assert "log_likelihood" not in code
    scope = {}
    exec(code.replace('data = rbmviz.load_dataset("data.npz")', ""), scope | {"data": data})
    *name, estimate = capsys.readouterr().out.split()
    assert name == ["CD-k", "1"]
    assert -1.2 * 30 * np.log(2) < float(estimate) < -0.8 * 30 * np.log(2)  # near the uniform law of 30 bits
    assert "ais" not in training_code(TrainingSetup(data, n_hidden=3), [make_trainer("cd")])


def test_a_branch_takes_no_learning_rate_from_herding_or_to_it(page):
    """Herding's is the length of a step towards the data."""
    test = page("train", t=["herding", "cd:learning_rate=0.03,batch_size=7"], hidden="3", paused="1")
    comparison = comparison_of(test)
    comparison.step(1)
    wait(lambda: all(shown.n == 1 for _, shown in comparison.poll()), "an update")
    for begun, branched in ((0, "cd"), (1, "herding"), (1, "pcd")):
        select(test.run(), LEARNED_BY).set_value(comparison.panels[begun].key).run()
        test.button(key=f"branch {branched}").click().run()
        assert not test.exception
    of_herding, herding, of_cd = [panel.algorithm for panel in comparison.panels[2:]]
    assert of_herding.learning_rate == make_trainer("cd").learning_rate
    assert herding.learning_rate == make_trainer("herding").learning_rate
    assert (herding.batch_size, of_cd.batch_size, of_cd.learning_rate) == (7, 7, 0.03)


def test_titles_of_models_that_are_sent_to_other_pages_differ(page, monkeypatch):
    monkeypatch.setattr("streamlit.switch_page", lambda page: None)
    test = page("train", t=["cd"], paused="1")
    comparison = comparison_of(test)
    comparison.step(1)
    wait(lambda: comparison.poll()[0][1].n == 1, "an update")

    def send():
        test.run()
        next(button for button in test.button if button.label == "To the Sample page").click().run()
        assert not test.exception

    send()
    send()  # the same model once more
    assert list(test.session_state["trained"]) == ["CD-k on bas, 1 update"]
    test.run()
    test.number_input(key="train_seed").set_value(5).run()
    comparison.step(1)
    wait(lambda: comparison.poll()[0][1].n == 1, "an update")
    send()
    assert list(test.session_state["trained"]) == ["CD-k on bas, 1 update", "CD-k on bas, 1 update (2)"]


def test_band_below_zero_is_clipped_on_a_log_scale():
    values = [(4.0, 2.0, 6.0), (3.0, -1.0, 7.0), (-0.5, -2.0, 1.0)]
    rows = [
        {
            "trainer": "cd",
            "update": i + 1,
            "sweeps": i + 1,
            "seconds": 1.0,
            **dict(zip(("value", "low", "high"), x, strict=True)),
        }
        for i, x in enumerate(values)
    ]
    data, _ = training_chart(
        rows, [Curve(Style("cd", "#000000"), "cd", None)], "updates", "Variance", log=True
    )
    points = data[data["kind"] == "point"]
    assert list(points["y"]) == [4.0, 3.0]
    assert list(points["low"]) == [2.0, 2.0]
    assert not points["mark"].any()


@pytest.mark.parametrize("part", ["train", "test"])
def test_trainer_below_independent_pixels_is_named(page, part):
    """Bars and Stripes of 3 x 3: each pixel is on in half of the patterns, -9 log 2 = -6.24 nats."""
    query = {"train_data": "bas@3", "hidden": "8", "part": part, "paused": "1"}
    test = page("train", t=["cd:learning_rate=0.3", "pcd:learning_rate=0.000001"], **query)
    comparison = comparison_of(test)

    def scored(n):
        return all(one.likelihoods and one.likelihoods[-1].update == n for _, one in comparison.poll())

    def averaged():
        return all(np.isfinite(one.likelihoods[-1].monte_carlo).all() for _, one in comparison.poll())

    for updates, n, said_of in ((999, 999, 0), (1, 1000, 1)):
        comparison.step(updates)
        wait(lambda n=n: scored(n), f"the likelihood after {n} updates")
        said = [text for text in notes(test) if "Not above independent pixels (−6.2)" in text]
        assert len(said) == said_of
        assert all("PCD" in text and "CD-k" not in text for text in said)
    # The third yardstick is computed once it is chosen, for the present models, and no more once it is left.
    for part, wanted in (("monte_carlo", True), ("test", False)):
        set_settings(test, part=part)
        test.run()
        assert not test.exception
        assert any("a Monte Carlo average" in text for text in notes(test)) == wanted
        for panel in comparison.panels:
            assert panel.read(lambda run: run._likelihood_estimator.monte_carlo) == wanted
        wait(averaged, "the average of both models")


def notes(test):
    """Return the sentences below the chart of the likelihoods."""
    make, _ = test.run().session_state["live parts"]["train"]._offered["likelihood"]
    return make()[1]


def test_a_curve_has_the_dashes_of_its_panel_in_every_chart(page):
    """Of three trainers only the third reports the effective size of a batch."""
    test = page("train", t=["cd", "pcd", "pop_cd"], statistic="ess", paused="1")
    offered = test.session_state["live parts"]["train"]._offered
    styles = [offered[key][0]()[0].plot.styles for key in ("likelihood", "inner")]
    assert styles[1] == (styles[0][2],)
    assert list(styles[0][2].dash) == DASHES[2]
