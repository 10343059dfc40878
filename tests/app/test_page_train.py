"""The Train page without a browser: where trainers begin, what has been learned, its files, and Undo."""

from types import SimpleNamespace

import numpy as np
import pytest
from page_settings import button, race_of, set_settings
from waiting import wait

from rbmviz import RBM, Model, make_trainer, train
from rbmviz.datasets import load_dataset
from rbmviz.rbm.files import model_bytes
from rbmviz.session import TrainingRun
from rbmviz_app.pages.train.drawing import levels_of, remarks_on_averages
from rbmviz_app.pages.train.page import code_of

LEARNED_BY = "Use the model trained by"


def select(test, label):
    [found] = [one for one in test.selectbox if one.label == label]
    return found


@pytest.fixture
def tiny():
    """A model of 16 visible and 3 hidden units."""
    return Model(RBM(np.random.default_rng(4).normal(0, 1, (16, 3)), np.zeros(16), np.zeros(3)), None, {})


def test_a_trainer_has_the_hidden_units_of_what_it_begins_at(page, tiny):
    test = page("train", t=["cd"], hidden="7", replicates="2", state={"trained": {"tiny": tiny}})
    race = race_of(test, "train")
    select(test, "Starts from").set_value("tiny").run()
    test.button(key="train add pcd").click().run()
    assert not test.exception
    wait(lambda: race.poll()[1][1].n > 0, "an update")
    select(test.run(), LEARNED_BY).set_value(race.panels[1].key).run()
    test.button(key="branch pop_cd").click().run()
    assert not test.exception
    plans = [panel.plan for panel in race.panels]
    assert [(plan.n_hidden, plan.replicates) for plan in plans] == [(7, 2), (3, 2), (3, 2)]
    branched = race.panels[2].read(TrainingRun.warm_start)
    assert {rbm.n_hidden for rbm in branched.models} == {3}


def test_refused_checkpoint_opens_once_its_data_are_chosen(page):
    training = train(load_dataset("modes"), make_trainer("cd"), n_hidden=4, iterations=3)
    next(training)
    test = page("train", t=["cd"], train_data="bas")
    race = race_of(test, "train")
    test.file_uploader(key="begin").upload("mine.checkpoint", training.checkpoint()).run()
    assert len(test.error) == 1
    assert len(race.panels) == 1
    test.selectbox(key="train_data").set_value("modes").run()
    assert not test.error
    assert [panel.plan.n_hidden for panel in race.panels] == [16, 4]
    test.run()
    assert len(race.panels) == 2  # opened once


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
    race = race_of(test, "train")
    wait(lambda: race.poll()[0][1].n >= 30, "the whole training")
    test.button(key="branch pcd").click().run()
    code = code_of(race)
    assert "# Not repeated here: PCD" in code
    assert '"pcd"' not in code
    scope = {}
    monkeypatch.chdir(tmp_path)
    exec(code, scope)
    assert list(scope["trainings"]) == ["CD-k 1"]
    assert (tmp_path / "likelihood.html").stat().st_size > 1000


def test_a_branch_takes_no_learning_rate_from_herding_or_to_it(page):
    """Herding's is the length of a step towards the data."""
    test = page("train", t=["herding", "cd:learning_rate=0.03,batch_size=7"], hidden="3", paused="1")
    race = race_of(test, "train")
    race.step(1)
    wait(lambda: all(shown.n == 1 for _, shown in race.poll()), "an update")
    for begun, branched in ((0, "cd"), (1, "herding"), (1, "pcd")):
        select(test.run(), LEARNED_BY).set_value(race.panels[begun].key).run()
        test.button(key=f"branch {branched}").click().run()
        assert not test.exception
    of_herding, herding, of_cd = [panel.algorithm for panel in race.panels[2:]]
    assert of_herding.learning_rate == make_trainer("cd").learning_rate
    assert herding.learning_rate == make_trainer("herding").learning_rate
    assert (herding.batch_size, of_cd.batch_size, of_cd.learning_rate) == (7, 7, 0.03)


def test_titles_of_models_that_are_sent_to_other_pages_differ(page, monkeypatch):
    monkeypatch.setattr("streamlit.switch_page", lambda page: None)
    test = page("train", t=["cd"], paused="1")
    race = race_of(test, "train")

    def send():
        race.step(1 - race.poll()[0][1].n)
        wait(lambda: race.poll()[0][1].n == 1, "an update")
        button(test.run(), "To the Sample page").click().run()
        assert not test.exception
        return list(test.session_state["trained"])

    assert send() == send() == ["CD-k on bas, 1 update"]  # the same model once more
    test.run()
    test.number_input(key="train_seed").set_value(5).run()
    wait(lambda: race.poll()[0][1].n == 0, "a new run")
    assert send() == ["CD-k on bas, 1 update", "CD-k on bas, 1 update (2)"]


def test_trainer_below_independent_pixels_is_named(page):
    """Bars and Stripes of 3 x 3: each pixel is on in half of the patterns, -9 log 2 = -6.24 nats."""
    query = {"train_data": "bas@3", "hidden": "8", "paused": "1"}
    test = page("train", t=["cd:learning_rate=0.3", "pcd:learning_rate=0.000001"], **query)
    race = race_of(test, "train")

    def scored(n):
        return all(one.likelihoods and one.likelihoods[-1].update == n for _, one in race.poll())

    for updates, n, said_of in ((999, 999, 0), (1, 1000, 1)):
        race.step(updates)
        wait(lambda n=n: scored(n), f"the likelihood after {n} updates")
        said = [text for text in notes(test) if "Not above independent pixels (−6.2)" in text]
        assert len(said) == said_of
        assert all("PCD" in text and "CD-k" not in text for text in said)
    # The third yardstick is computed once it is chosen, and no more once it is left.
    for part, wanted in (("monte_carlo", True), ("test", False)):
        set_settings(test, part=part).run()

        def asked():
            asks = [panel.read(lambda run: run._likelihood_estimator.monte_carlo) for panel in race.panels]
            return {any("a Monte Carlo average" in text for text in notes(test)), *asks}

        wait(lambda wanted=wanted: asked() == {wanted}, "the choice of the yardstick")
        # Independent pixels are scored on all examples, and so say nothing of an average over 50 of them.
        assert any("Not above independent" in text for text in notes(test)) is (part == "test")


def test_an_average_that_no_model_can_have_is_said():
    """The upper line is of the averaged examples: no model has more than minus their entropy."""
    levels = levels_of(load_dataset("bas"))
    assert levels.averaged == levels.attainable == pytest.approx(-3.379, abs=0.02)
    assert levels_of(load_dataset("modes")).averaged >= -np.log(50)  # of 50 rows
    points = {
        name: [SimpleNamespace(band=lambda _, x=x: (x, x, x))] for name, x in (("a", -0.1), ("b", -4.0))
    }
    shown = [(name, SimpleNamespace(likelihoods=each)) for name, each in points.items()]
    [said] = remarks_on_averages(shown, levels.averaged)
    assert "(−3.38)" in said
    assert ": a. Chains" in said
    assert remarks_on_averages(shown[1:], levels.averaged) == []


def notes(test):
    """Return the sentences below the chart of the likelihoods."""
    make, _ = race_of(test.run(), "train").parts._offered["likelihood"]
    return make()[1]


def test_hidden_units_reset_a_closed_panel_and_a_preset_can_be_undone(page):
    test = page("train", t=["cd", "pcd"], pace="50")
    race = race_of(test, "train")
    wait(lambda: all(s.n > 10 for _, s in race.poll()), "updates")
    panels, setup = race.panels, race.setup

    def undo():
        """Press Undo; the runs go on beyond where they were."""
        assert race.can_undo
        test.button(key="train_undo").click().run()
        assert not test.exception
        assert (race.setup, race.panels) == (setup, panels)
        assert not race.can_undo
        wait(lambda: all(s.n > m for (_, s), m in zip(race.poll(), n, strict=True)), "updates")

    n = [s.n for _, s in race.poll()]
    test.number_input(key="hidden").set_value(7).run()
    assert race.setup.n_hidden == 7
    undo()
    assert test.number_input(key="hidden").value == 16
    n = [s.n for _, s in race.poll()]
    race.reset()  # as the socket does, without a run of the script
    test.run()
    undo()
    race.remove(panels[0].key)
    test.run()
    undo()
    button(test, "The yardstick").click().run()
    assert race.setup.dataset.name == "bas@3"
    undo()
    assert (test.selectbox(key="train_data").value, test.number_input(key="hidden").value) == ("bas", 16)


def test_undo_of_a_reset_leaves_the_settings_that_were_changed_before_it(page):
    """The socket resets without a run of the script, so only the number of the command tells them apart."""
    test = page("train", t=["cd"], pace="50")
    race = race_of(test, "train")
    test.number_input(key="hidden").set_value(7).run()
    race.reset()
    test.button(key="train_undo").click().run()
    assert not test.exception
    assert (race.setup.n_hidden, test.number_input(key="hidden").value) == (7, 7)
    assert not race.can_undo
