"""The Tune page without a browser: its plan, the map and its frames, commands, files, the way to Sample."""

import functools
import io
import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from page_settings import set_settings, settings_of
from waiting import wait

from rbmviz import BadInput
from rbmviz.datasets import load_dataset
from rbmviz.knobs import read_algorithm
from rbmviz.links import write_changed_panel
from rbmviz.metrics import isl
from rbmviz.models import load_model
from rbmviz.rbm import save_model
from rbmviz.registry import samplers, trainers
from rbmviz.session import Race, SamplingRun, SamplingSetup, TrainingSetup
from rbmviz.session.sweep_view import IS_BEST, IS_IN_REGION, IS_KNOWN, SweepView, range_around
from rbmviz.session.sweeps import Sweep, SweepQueue
from rbmviz.sweeps import Axis, Budget, CellRun, SweepPlan, cells, compare, joined
from rbmviz.sweeps.from_settings import plan_of
from rbmviz.sweeps.store import Store, encode
from rbmviz_app.pages import file_of
from rbmviz_app.pages.tune.charts import robust_rows
from rbmviz_app.pages.tune.exports import curves_parquet, origin_of, table_csv
from rbmviz_app.pages.tune.page import MAX_OPEN, PAGE, drawn_beside, toggle
from rbmviz_app.pages.tune.panel import map_spec
from rbmviz_app.session import TOASTS, SettingsState
from rbmviz_app.shared import sweep_queue
from rbmviz_app.stream.encoder import FrameEncoder
from rbmviz_app.stream.requests import FrameRequest
from tests.frames import read_frame

SMALL = {
    "tune_models": ["bas_pcd"],
    "tune_x_n": "3",
    "tune_y_n": "2",
    "tune_y_from": "0.9",
    "tune_n": "100",
    "tune_seeds": "2",
}
REQUEST = FrameRequest(20, "map", "binary", 1, 1, [0])


@pytest.fixture
def page(page):
    """Run the page; its sweeps end with the test."""
    yield functools.partial(page, "tune")
    queue = sweep_queue()
    for sweep in queue.list():
        queue._change(sweep, "stopped")
    wait(lambda: not queue.at_work, "an end of all work")


def comparison_of(test):
    return test.session_state["comparisons"]["tune"][0]


def view_of(test):
    return list(test.session_state["sweep views"].values())[-1][0]


def button(test, label):
    [found] = [one for one in test.button if one.label == label]
    return found


def map_of(test):
    [found] = [e.proto for e in test.get("bidi_component") if "rbmviz_tune" in e.proto.component_name]
    return json.loads(found.json)["map"]


def test_the_page_opens_on_the_recorded_map_and_a_live_chain(page):
    test = page()
    comparison = comparison_of(test)
    assert [write_changed_panel(one.algorithm) for one in comparison.panels] == [
        "rates_fpcd:eps=0.03162,alpha=0.9962"
    ]
    assert comparison.setup.dataset.name == "mnist5k"
    wait(lambda: comparison.poll()[0][1].n > 3, "samples")
    drawn = map_of(test)
    assert (len(drawn["positions"]), drawn["runs"], drawn["seeds"]) == (42, 210, 5)
    assert drawn["x"]["label"] == "Step size"
    assert (drawn["y"]["values"], drawn["y"]["apart"]) == (
        ["0.8", "0.947", "0.986", "0.996", "0.999", "1"],
        True,
    )
    assert not drawn["x"]["apart"]
    view, shown = view_of(test), view_of(test).now()
    assert (shown.sweep_status, shown.n, shown.point, shown.seeds) == ("finished", 210, 10_000, (5,))
    assert (shown.state & IS_KNOWN).all()
    best = samplers.read(view.sweep.scores.settings[int(np.flatnonzero(shown.state & IS_BEST)[0])].algorithm)
    assert best.alpha == 1
    assert "210 runs of 10,000 samples" in button(test, "Compute again").help
    assert [one.label for one in test.button if one.label in ("Start", "Delete")] == []
    button(test, "Compute again").click().run()
    assert not test.exception
    assert view_of(test).sweep.name in [one.name for one in sweep_queue().list()]


def extend(test):
    """Press *Extend the grid*, which is in the map."""
    from rbmviz_app.pages.tune import page

    view = view_of(test)
    state = {"settings": SettingsState({"sweep": view.sweep.name}), "owner": test.session_state["owner"]}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("streamlit.session_state", state)
        page.extend(view.sweep, view)
        return sweep_queue().get(state["settings"].values["sweep"])


def test_a_finished_sweep_goes_on_beyond_its_border(page):
    test = page(**SMALL | {"tune_x_to": "0.1", "tune_x_n": "2"})
    button(test, "Start").click().run()
    view = view_of(test)
    wait(lambda: view.sweep.status == "finished", "the end of the sweep")
    view.set_live_knobs(0, point=100)
    [choice] = view.choices()
    [(knob, end)] = choice.open_ends
    assert (knob, end) == ("eps", 0.1)
    before = view.sweep
    sweep = extend(test)
    assert sweep.name == before.name
    assert [axis.values for axis in sweep.plan.axes] == [(0.001, 0.1, 1.0), (0.9, 1.0)]
    assert (before.scores.n_done, sweep.scores.n_done) == (8, 8)  # what is complete is not computed again
    wait(lambda: sweep.status == "finished", "the end of the larger sweep")
    test.run()
    assert not test.exception
    assert view_of(test).now().n == sweep.size == 12
    old = {one.algorithm: before.scores.curves(i)["isl_test"] for i, one in enumerate(before.scores.settings)}
    for i, one in enumerate(sweep.scores.settings):
        if one.algorithm in old:
            np.testing.assert_array_equal(sweep.scores.curves(i)["isl_test"], old[one.algorithm])
    with pytest.raises(BadInput, match="Another visitor"):
        sweep_queue().extend(sweep.name, sweep.plan, "somebody")


def test_the_recorded_map_is_extended_as_a_sweep_of_the_visitor(page, monkeypatch):
    test = page()
    view = view_of(test)
    monkeypatch.setattr(view, "choices", lambda: [SimpleNamespace(open_ends=(("eps", 0.001),))])
    sweep = extend(test)
    assert sweep.name
    assert (sweep.plan.axes[0].values[:3], sweep.size) == ((0.0001, 0.0003163, 0.001), 270)
    assert (view.sweep.size, view.sweep.scores.n_done) == (210, 210)


def test_a_sweep_from_start_to_its_files(page, address_of):
    test = page(**SMALL)
    button(test, "Start").click().run()
    assert not test.exception
    view = view_of(test)
    wait(lambda: view.sweep.status == "finished", "the end of the sweep")
    test.run()
    assert not test.exception
    assert address_of(test)["sweep"] == [view.sweep.name]
    assert "cookie" in next(e.proto.json for e in test.get("bidi_component") if "address" in e.proto.id)
    shown = view.now()
    assert (shown.n, shown.sweep_status, shown.seeds) == (12, "finished", (2,))
    assert (shown.state & IS_KNOWN).all()
    assert ((shown.state & IS_BEST) > 0).sum() == 1
    [table] = [one.value for one in test.dataframe]
    assert len(table) == 6
    assert list(table["mean"]) == sorted(table["mean"], reverse=True)
    written = pd.read_csv(io.BytesIO(table_csv(view)))
    assert list(written["eps"]) == list(table["eps"])
    best = written.iloc[0]
    assert (best["difference"], best["difference_lo"], best["difference_hi"]) == (0, 0, 0)
    assert not {"low", "high", "std_error"} & set(
        written
    )  # which are something else in rbmviz sweep show --csv
    curves = pd.read_parquet(io.BytesIO(curves_parquet(view.sweep)))
    assert set(curves["seed"]) == {0, 1}
    assert curves["n"].max() == 100
    assert [one.label for one in test.button if one.label == "Delete"] == ["Delete"]
    button(test, "Delete").click().run()
    assert not test.exception
    assert view.sweep not in sweep_queue().list()


def test_frames_of_the_map_follow_what_the_page_asks_for(page):
    test = page(**SMALL)
    button(test, "Start").click().run()
    view = view_of(test)
    wait(lambda: view.sweep.status == "finished", "the end of the sweep")
    encoder = FrameEncoder(view)

    def head():
        return read_frame(encoder.encode_next(REQUEST)).panels[0].head

    wait(lambda: view.poll()[0][1].n == 12, "a new snapshot")
    assert head()["point"] == view.now().telling
    assert head()["moved"]
    view.set_live_knobs(0, point=20)
    wait(lambda: head()["point"] == 20, "another point")
    assert not head()["moved"]
    view.set_live_knobs(0, cost_unit="sweeps", by="blank")
    wait(lambda: head()["cost_unit"] == "sweeps", "another unit")
    assert head()["by"] == "blank"
    view.sweep.error = "mine.npz has no rates: 'rbmviz export-model --dataset' computes them."
    wait(lambda: head().get("error") == "mine.npz has no rates.", "the error, without a command")
    for nonsense in (
        {"point": float("nan")},
        {"cost_unit": "years"},
        {"by": "beauty"},
        {"setting": 99},
        {"x": 1},
    ):
        view.set_live_knobs(0, **nonsense)
    assert (view.now().cost_unit, view.now().by, view.setting) == ("sweeps", "blank", None)
    [panel] = read_frame(encoder.encode_next(REQUEST)).panels
    assert {name: block.shape for name, block in panel.blocks.items() if name in ("mean", "state")} == {
        "mean": (6,),
        "state": (6,),
    }


def test_the_chain_takes_the_knobs_of_the_cell_under_the_pointer(page):
    test = page(**SMALL)
    view, comparison = view_of(test), comparison_of(test)
    [panel] = comparison.panels
    run = panel.snapshot.run
    index = next(i for i, one in enumerate(view.sweep.scores.settings) if one.at == (2, 0))
    view.set_live_knobs(0, setting=index)
    assert (panel.algorithm.eps, panel.algorithm.alpha) == (1.0, 0.9)
    assert panel.snapshot.run == run
    # Its numbers are of the samples since the pointer came to rest there: the map's are of that setting, too.
    comparison.pause()
    wait(lambda: comparison.poll()[0][1].status == "paused", "pause")
    n = comparison.poll()[0][1].n
    for i, samples in ((0, 30), (1, 2), (index, 64)):  # over another cell, and back
        view.set_live_knobs(0, setting=i)
        comparison.step(samples)
        n += samples
        wait(lambda n=n: comparison.poll()[0][1].n == n, "samples")
    [(_, shown)] = comparison.at_common_point(comparison.peek())
    assert (shown.since_turn.samples, shown.newest.n) == (64, 56)
    data, v = comparison.setup.dataset, panel.read(SamplingRun.held_samples)[1]
    assert shown.newest.isl == isl(v[-64:-8], data.test, data.validation).isl


@pytest.fixture
def clicked(page, monkeypatch):
    """Open the page with settings of two models; return its sweep, its panels and a click on a setting."""

    def opened(*panels):
        test = page(**(SMALL | {"tune_models": ["bas_pcd", "modes_pcd"]}), m=list(panels))
        sweep, comparison = view_of(test).sweep, comparison_of(test)
        state = {"pointer panel": comparison.panels[0].key, "settings": SettingsState({"on": "bas_pcd"})}
        monkeypatch.setattr("streamlit.session_state", state)

        def click(model):
            settings = sweep.scores.settings
            [index] = [i for i, one in enumerate(settings) if (one.at, one.model) == ((2, 0), model)]
            toggle(comparison, sweep, index)
            return [sentence for sentence, _ in state.get(TOASTS.key, ())]

        return comparison, click

    return opened


def texts_beside(comparison):
    return [write_changed_panel(panel.algorithm) for panel in comparison.panels[1:]]


def test_a_click_opens_a_setting_and_a_second_one_closes_it(clicked):
    comparison, click = clicked("rates_fpcd")
    assert click("bas_pcd") == []
    assert texts_beside(comparison) == ["rates_fpcd:eps=1.0,alpha=0.9"]
    drawn = drawn_beside(comparison)
    assert click("modes_pcd") == []  # the same knobs on another model
    assert texts_beside(comparison) == ["rates_fpcd:eps=1.0,alpha=0.9"]
    assert comparison.setup.dataset.name == "modes"
    assert drawn_beside(comparison) != drawn  # the same panels, but other runs: they are drawn again
    assert click("modes_pcd") == []
    assert texts_beside(comparison) == []


def test_a_click_that_is_refused_changes_nothing(clicked):
    texts = [f"rates_fpcd:eps={eps}" for eps in (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)][:MAX_OPEN]
    comparison, click = clicked("rates_fpcd", *texts)
    setup, before = comparison.setup, texts_beside(comparison)
    assert len(before) == MAX_OPEN
    [sentence] = click("modes_pcd")
    assert "close one of them first" in sentence
    assert (comparison.setup, texts_beside(comparison)) == (setup, before)


def test_a_plan_that_cannot_be_says_why(page):
    test = page(**(SMALL | {"tune_x_from": "5", "tune_x_to": "6"}))
    assert [one.value for one in test.info] == ["rates_fpcd: eps = 5.0 is outside 0, or 0.0001 to 1."]
    test = page(**(SMALL | {"tune_x_n": "40", "tune_y_n": "40"}))
    assert "3,200 runs and the server allows 2,000" in test.info[0].value


def test_axes_of_another_sampler_are_over_its_own_knobs(page):
    test = page(**(SMALL | {"tune_samplers": ["gibbs"]}))
    assert [axis.knob for axis in view_of(test).sweep.plan.axes] == ["temperature"]
    assert map_of(test)["x"]["values"] == ["0.1", "1", "10"]
    assert [one.algorithm.name for one in comparison_of(test).panels] == ["gibbs"]


def test_trainings_that_take_the_place_of_chains_begin_as_trainings(page, monkeypatch):
    """The address still names the preset of the samplers, whose panels are chains."""
    test = page(preset="no-decay-is-best")
    added, add = [], Race.add
    monkeypatch.setattr(Race, "add", lambda self, one: added.append(one.name) or add(self, one))
    test.segmented_control(key="tune_what").set_value("trainers").run()
    assert added == [panel.algorithm.name for panel in comparison_of(test).panels] == ["cd"]


def test_axes_come_back_with_what_is_tuned(page):
    test = page(**(SMALL | {"tune_x_to": "0.5", "tune_knobs": "k=2"}))

    def tune(what):
        test.segmented_control(key="tune_what").set_value(what).run()
        assert not test.exception
        axes = view_of(test).sweep.plan.axes
        return [axis.knob for axis in axes], [len(axis.values) for axis in axes], axes[0].values[-1]

    first = view_of(test).sweep.plan
    assert tune("trainers")[0] == ["learning_rate", "k"]
    test.number_input(key="tune_x_n").set_value(4).run()
    tune("samplers")
    assert view_of(test).sweep.plan == first
    assert tune("trainers")[:2] == (["learning_rate", "k"], [4, 6])


def test_a_link_to_a_sweep_that_is_gone_says_so(page):
    test = page(sweep="20260101-000000-abcdef", **SMALL)
    assert "no such sweep" in test.warning[0].value
    assert view_of(test).now().sweep_status == "planned"


@pytest.fixture
def opened(monkeypatch):
    """Return the pages that are opened."""
    found = []
    monkeypatch.setattr("streamlit.switch_page", found.append)
    return found


@pytest.fixture
def elsewhere(open_comparison):
    """Make the comparison of a page that was open before."""

    def make(setup, *texts):
        tables = [trainers if text.partition(":")[0] in trainers else samplers for text in texts]
        return open_comparison(setup, *map(read_algorithm, tables, texts))

    return make


def texts_of(comparison):
    return [write_changed_panel(panel.algorithm) for panel in comparison.panels]


def test_open_in_sample_has_the_same_settings_and_can_be_undone(page, opened, elsewhere):
    sample = elsewhere(SamplingSetup(load_model("modes_pcd"), None, 7), "gibbs", "rates_herding")
    state = {"comparisons": {"sample": (sample, "token")}, "settings": SettingsState({"seed": 7})}
    test = page(m=["rates_fpcd:eps=0.1", "rates_fpcd:eps=0.2,k=3"], state=state, **SMALL)
    button(test, "Open in Sample").click().run()
    assert opened == [file_of("sample")]
    assert (settings_of(test)["model"], settings_of(test)["seed"]) == ("bas_pcd", 0)
    assert (texts_of(sample), sample.setup.dataset.name) == (["rates_fpcd:eps=0.2,k=3"], "bas")
    assert test.session_state["undo settings"]["sample"][1] == {"seed": 7, "model": "mnist_fpcd"}
    assert sample.undo()
    assert (texts_of(sample), sample.setup.seed) == (["gibbs", "rates_herding"], 7)


def test_trainers_run_beside_their_map_and_open_in_train(page, opened, address_of):
    plan = {"tune_what": "trainers", "tune_x_n": "2", "tune_y_n": "2", "tune_updates": "20"}
    test = page(**plan, tune_seeds="1", tune_hidden="4", tune_trainers=["cd", "exact"])
    drawn, comparison = map_of(test), comparison_of(test)
    assert (drawn["x"]["label"], drawn["y"]["label"]) == ("Learning rate", "Sweeps")
    assert [facet["title"] for facet in drawn["facets"]] == ["CD-k", "Exact gradient"]
    assert (comparison.setup.dataset.name, comparison.setup.n_hidden) == ("bas", 4)
    button(test, "Start").click().run()
    view = view_of(test)
    wait(lambda: view.sweep.status == "finished", "the end of the sweep")
    wait(lambda: comparison.poll()[0][1].n > 3, "updates")
    shown = view.now()
    assert (shown.cost_unit, shown.by, shown.n) == ("updates", "log_likelihood_validation", 6)
    # The pointer turns the knobs of the training, which goes on.
    index = next(i for i, one in enumerate(view.sweep.scores.settings) if one.at == (1, 1))
    run = comparison.peek()[0][1].run
    view.set_live_knobs(0, setting=index)
    assert texts_of(comparison) == ["cd:k=10,learning_rate=0.5,iterations=20"]
    assert comparison.peek()[0][1].run == run
    assert not test.run().exception
    button(test, "Open in Train").click().run()
    assert opened == [file_of("train")]
    other, _ = test.session_state["comparisons"]["train"]
    assert texts_of(other) == texts_of(comparison)
    assert [settings_of(test)[name] for name in ("train_data", "hidden", "train_seed")] == ["bas", 4, 0]
    # Chains are not trainings: others are begun.
    test.run()
    test.segmented_control(key="tune_what").set_value("samplers").run()
    set_settings(test, sweep="").run()
    assert not test.exception
    assert [one.partition(":")[0] for one in texts_of(comparison_of(test))] == ["rates_fpcd"]
    test.segmented_control(key="tune_what").set_value("trainers").run()
    assert settings_of(test)["tune_trainers"] == ["cd", "exact"]  # kept meanwhile


def test_the_page_says_which_cells_the_pointer_follows(page):
    def said(**more):
        return [one.value for one in page(**SMALL | more).caption if one.value.startswith("*Pointer*")]

    assert said() == []
    [several] = said(tune_samplers=["sample_penalization", "rates_fpcd"], tune_models=["bas_cd1", "bas_pcd"])
    assert "*Pointer* follows cells of Sample penalization only; a click opens a cell of another" in several
    assert "All run on Bars and Stripes, trained by CD-1 until a cell of another model is clicked." in several
    [fixed] = said(tune_y="n_chains", tune_y_from="1", tune_y_to="2")
    assert "*Pointer* keeps its own Chains, which cannot change during a run" in fixed


@pytest.mark.parametrize("what", ["samplers", "trainers"])
def test_settings_without_a_plan_stand_in_the_address_too(page, address_of, what):
    test = page(tune_what=what)
    box = test.number_input(key="tune_x_from")
    assert (box.min, box.max) == (0, 1e4)  # as in links
    box.set_value(5000.0).run()
    assert any("give the smaller number first" in one.value or "outside" in one.value for one in test.info)
    assert address_of(test)["tune_x_from"] == ["5000"]


def test_a_link_opens_its_settings_on_the_model_that_was_clicked(page, address_of):
    test = page(**SMALL | {"tune_models": ["bas_pcd", "bas_cd1"]})
    assert address_of(test)["on"] == []
    comparison = comparison_of(test)
    set_settings(test, on="bas_cd1")
    assert address_of(test.run())["on"] == ["bas_cd1"]
    assert comparison.setup.model.meta == load_model("bas_cd1").meta
    again = page(**SMALL | {"tune_models": ["bas_pcd", "bas_cd1"], "on": "bas_cd1"})
    assert comparison_of(again).setup.model.meta == load_model("bas_cd1").meta


def test_a_third_knob_stands_side_by_side(page):
    test = page(**SMALL, tune_z="k", tune_z_values="1,5")
    assert [facet["title"] for facet in map_of(test)["facets"]] == [
        "Sweeps per sample 1",
        "Sweeps per sample 5",
    ]
    test = page(**SMALL, tune_z="k")
    assert test.info[0].value == "The axis 'k' is empty: give it at least one value."


def test_cells_and_runs_have_the_same_numbers(page):
    test = page(
        m=["rates_fpcd:eps=0.1,alpha=0.9", "rates_fpcd:eps=0.7,alpha=1", "rates_fpcd:eps=1,alpha=1"], **SMALL
    )
    [grid] = [e.proto for e in test.get("bidi_component") if "rbmviz_sample" in e.proto.component_name]
    labels = [panel["label"].partition(":")[0] for panel in json.loads(grid.json)["panels"]]
    assert labels == ["Pointer", "1", "2"]
    settings = view_of(test).sweep.scores.settings
    assert [i if i is None else settings[i].at for i in map_of(test)["open_settings"]] == [None, (2, 1)]


def test_from_sample_to_a_sweep_around_a_panel(page, opened, elsewhere):
    tune = elsewhere(TrainingSetup(load_dataset("bas")), "cd")
    before = {"tune_what": "trainers", "sweep": "20260101-000000-abcdef"}
    state = {"comparisons": {"tune": (tune, "token")}, "settings": SettingsState(before)}
    test = page.func("sample", model="bas_pcd", p=["rates_fpcd:eps=0.1,k=2"], state=state)
    test.button(key="sweep around 0").click().run()
    assert opened == [file_of("tune")]
    assert (texts_of(tune), settings_of(test)["sweep"]) == (["rates_fpcd:eps=0.1,k=2"], "")
    assert before.items() <= test.session_state["undo settings"]["tune"][1].items()
    assert tune.undo()
    assert texts_of(tune) == ["cd"]
    state = {name: settings_of(test)[name] for name in ("tune_models", "tune_knobs", "tune_x", "tune_y")}
    assert state == {"tune_models": ["bas_pcd"], "tune_knobs": "k=2", "tune_x": "eps", "tune_y": "alpha"}
    assert (settings_of(test)["tune_x_from"], settings_of(test)["tune_x_to"]) == (0.01, 1.0)


def test_the_range_around_a_value_lies_within_that_of_the_knob():
    sampler = samplers.read("rates_fpcd")
    knobs = {knob.name: knob for knob in map_knobs(sampler)}
    assert range_around(knobs["eps"], 0.03) == (0.003, 0.3)
    assert range_around(knobs["eps"], 0.5) == (0.05, 1.0)
    assert range_around(knobs["alpha"], 1.0) == (0.8, 1.0)
    assert range_around(knobs["k"], 1) == (1, 10)


def map_knobs(sampler):
    from rbmviz.session.sweep_view import front_numbers

    return front_numbers(sampler)


def test_facets_of_samplers_and_models_and_of_a_third_axis():
    plan = SweepPlan(
        algorithms=("rates_fpcd", "gibbs"),
        axes=(Axis("eps", (0.01, 0.1)), Axis("alpha", (0.9, 1.0)), Axis("k", (1, 2))),
        models=("bas_pcd", "bas_cd1"),
        seeds=(0,),
        budget=Budget("samples", 10),
    )
    sweep = Sweep.planned(plan)
    drawn = map_spec(plan, sweep.scores.settings, [])
    assert len(drawn["facets"]) == 8
    assert [facet["title"] for facet in drawn["facets"]][:3] == [
        "rates-FPCD, bas_pcd, Sweeps per sample 1",
        "rates-FPCD, bas_pcd, Sweeps per sample 2",
        "rates-FPCD, bas_cd1, Sweeps per sample 1",
    ]
    assert drawn["facets"][4]["columns"] == [-1]  # Gibbs has no step size
    assert len({tuple(position) for position in drawn["positions"]}) == len(sweep.scores.settings)
    assert not (SweepView(sweep).now().state & IS_IN_REGION).any()
    for i in range(plan.size):
        table = {name: np.zeros(2) for name in sweep.scores.columns} | {"n": np.array([5, 10])}
        sweep.scores.put(i, table | {"isl_test": np.full(2, i)})
    rows = robust_rows(sweep.scores, 10, "samples", "isl_test")
    assert len(rows) == 10
    assert {row["worst"] for row in rows} == {"bas_pcd"}  # its cells come first
    assert rows[0]["mean"] == (rows[0]["bas_pcd"] + rows[0]["bas_cd1"]) / 2


def finished_folder(tmp_path):
    """Return the folder of a small sweep, as the command line makes it."""
    plan = SweepPlan(
        algorithms=("rates_fpcd",),
        axes=(Axis("eps", (0.01, 0.1)),),
        models=("bas_pcd",),
        seeds=(0, 1),
        budget=Budget("samples", 50),
    )
    store = Store(tmp_path / "steps")
    store.prepare(plan)
    for cell in cells(plan):
        store.write(cell.identity, encode(CellRun(cell).finish()))
    return store.folder, plan


def test_the_caption_of_a_preset_goes_with_its_map(page, monkeypatch):
    """Another sweep of the list changes no setting, and may leave the run beside the map as it is."""

    def captions(test):
        return [one.value for one in test.caption if one.value == "Decay 1 suits almost any step size."]

    test = page(preset="no-decay-is-best")
    assert len(captions(test.run())) == 2  # in the menu of presets, and over the map
    plan = plan_of({name: one.default for name, one in PAGE.settings.items()} | {"tune_y": "none"})
    monkeypatch.setitem(sweep_queue()._public, "other", Sweep("other", "Other", plan, "", None))
    set_settings(test, sweep="other")
    assert len(captions(test.run())) == 1
    assert not test.exception


def test_a_folder_of_the_command_line_is_listed_by_a_name_that_is_no_path(page, tmp_path):
    folder, plan = finished_folder(tmp_path)
    name = sweep_queue().add_results(folder, plan).name
    test = page(sweep=name)
    view = view_of(test)
    assert (view.sweep.title, view.now().sweep_status, view.now().n) == ("steps", "finished", 4)
    assert "steps" not in name
    assert [one.label for one in test.button if one.label in ("Delete", "Resume sweep")] == []
    with pytest.raises(BadInput, match="Another visitor"):
        sweep_queue().delete(name, "somebody")
    del sweep_queue()._public[name]
    assert (folder / "_plan.json").exists()


def test_results_on_a_model_file_have_files_too(tmp_path):
    """The server does not read the file; what it was is in the results."""
    save_model(load_model("bas_pcd"), tmp_path / "mine.npz")
    plan = SweepPlan(
        algorithms=["gibbs"], models=[str(tmp_path / "mine.npz")], seeds=[0], budget=Budget("samples", 20)
    )
    [cell] = cells(plan)
    store = Store(tmp_path / "s")
    store.prepare(plan)
    store.write(cell.identity, encode(CellRun(cell).finish()))
    sweep = SweepQueue(tmp_path / "queue").add_results(store.folder, plan)
    known = origin_of(sweep)
    assert known["models"] == {cell.model: cell.model_digest}
    assert known["data"] == {cell.data: cell.data_digest}


def test_one_sampler_with_two_values_of_a_knob_that_is_no_axis(tmp_path):
    """The map, its files and the table tell them apart by the knob, as the command line does."""
    plan = SweepPlan(
        algorithms=["rates_fpcd", "rates_fpcd:k=5"],
        axes=[Axis("eps", (0.01, 0.1))],
        models=["bas_pcd"],
        seeds=[0, 1],
        budget=Budget("samples", 100),
    )
    sweep = Sweep.planned(plan)
    for i, cell in enumerate(cells(plan)):
        sweep.scores.put(i, CellRun(cell).finish())
    view = SweepView(sweep)
    view.set_live_knobs(0, point=100)
    titles = [facet["title"] for facet in map_spec(plan, sweep.scores.settings, [])["facets"]]
    assert titles == ["rates-FPCD, Sweeps per sample 1", "rates-FPCD, Sweeps per sample 5"]
    written = pd.read_csv(io.BytesIO(table_csv(view)))
    assert sorted(zip(written["eps"], written["k"], strict=True)) == [
        (0.01, 1),
        (0.01, 5),
        (0.1, 1),
        (0.1, 5),
    ]
    want = compare(joined(CellRun(cell).finish() for cell in cells(plan)), point=100)
    found = view.choice()
    assert [one.knobs for one in found.settings] == [one.knobs for one in want.settings]
    assert sorted(found.border) == sorted(want.border)


def test_what_stands_below_the_map_is_on_the_model_of_the_runs(page):
    test = page(**SMALL | {"tune_models": ["bas_pcd", "bas_cd1"], "tune_y_n": "1"})
    button(test, "Start").click().run()
    view = view_of(test)
    wait(lambda: view.sweep.status == "finished", "the end of the sweep")
    set_settings(test, on="bas_cd1")
    test.run()
    assert not test.exception
    assert view.choice().best.model == "bas_cd1"
    assert any("Through the best cell on bas_cd1, along" in one.value for one in test.markdown)
    assert test.expander[0].label == "All 3 settings on bas_cd1 at this point"
