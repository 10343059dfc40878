"""The Tune page without a browser: its plan, the map and its sentence, commands, files, the way to Sample."""

import functools
import json
import sqlite3

import numpy as np
import pytest
from page_settings import button, race_of, set_settings, settings_of
from waiting import wait

from rbmviz.models import load_model
from rbmviz.pages.links import write_changed_panel
from rbmviz.registry import samplers, trainers
from rbmviz.session import SamplingSetup
from rbmviz.sweeps import Axis, Budget, CellRun, Store, SweepPlan, cells, table
from rbmviz.sweeps.from_settings import plan_of
from rbmviz.sweeps.scores import SweepScores
from rbmviz_app.pages import file_of
from rbmviz_app.pages.tune import panel
from rbmviz_app.pages.tune.charts import robust_rows
from rbmviz_app.pages.tune.commands import RECORDINGS, recorded
from rbmviz_app.pages.tune.page import MAX_OPEN, PAGE, drawn_beside, files_of, origin_of, toggle
from rbmviz_app.pages.tune.panel import IS_BEST, IS_KNOWN, IS_TIED, IS_UNSURE, map_spec
from rbmviz_app.session import TOASTS, SettingsState
from rbmviz_app.shared import sweep_jobs

SMALL = {
    "tune_models": ["bas_pcd"],
    "tune_x_n": "3",
    "tune_y_n": "2",
    "tune_y_from": "0.9",
    "tune_n": "100",
    "tune_seeds": "2",
}


@pytest.fixture
def page(page, tmp_path, monkeypatch):
    """Run the page; its sweeps end with the test."""
    monkeypatch.setenv("RBMVIZ_SWEEPS_DIR", str(tmp_path / "sweeps"))
    sweep_jobs.clear()
    yield functools.partial(page, "tune")
    for job in sweep_jobs().list():
        sweep_jobs().delete(job)
    sweep_jobs.clear()


def map_of(test):
    [found] = [e.proto for e in test.get("bidi_component") if "rbmviz_tune" in e.proto.component_name]
    return json.loads(found.json)


def started(test, runs):
    """Press Start; return the job at its end, with the page drawn anew."""
    button(test, "Start").click().run()
    assert not test.exception
    job = sweep_jobs().get(settings_of(test)["sweep"])
    wait(lambda: job.status == "finished", "the end of the sweep")
    assert job.done == runs
    test.run()
    assert not test.exception
    return job


def test_page_opens_on_the_recorded_map_and_a_live_chain(page):
    test = page()
    race = race_of(test, "tune")
    assert [write_changed_panel(one.algorithm) for one in race.panels] == [
        "rates_fpcd:eps=0.03162,alpha=0.9962"
    ]
    assert race.setup.dataset.name == "mnist5k"
    wait(lambda: race.poll()[0][1].n > 3, "samples")
    drawn = map_of(test)
    assert drawn["x"]["label"] == "Step size"
    assert drawn["y"]["values"] == ["0.8", "0.947", "0.986", "0.996", "0.999", "1"]
    assert (drawn["y"]["apart"], drawn["x"]["apart"]) == (True, False)
    assert (drawn["point"], drawn["cost_unit"], len(drawn["state"])) == (10_000, "samples", 42)
    assert all(bits & IS_KNOWN for bits in drawn["state"])
    assert sum(bool(bits & IS_BEST) for bits in drawn["state"]) == 1
    assert drawn["status"] == "210 of 210 runs, complete."
    assert "210 runs of 10,000 samples" in button(test, "Compute again").help
    assert [one.label for one in test.button if one.label in ("Start", "Delete")] == []


@pytest.mark.parametrize("model", ["mnist_fpcd", "usps_fpcd"])
def test_recorded_maps_are_of_the_plan_that_the_page_begins_with(model):
    values = {name: one.default for name, one in PAGE.settings.items()} | {"tune_models": [model]}
    [store] = [store for plan, store in recorded() if plan == plan_of(values)]
    assert (store.count(), store.failures()) == (210, [])
    assert store.folder == RECORDINGS / model
    with sqlite3.connect(f"{store.file.as_uri()}?mode=ro", uri=True) as db:  # results only
        names = {row[0] for row in db.execute("select name from sqlite_master where type = 'table'")}
    assert names == {"plan", "cell", "point"}
    assert store.file.stat().st_size < 400_000


def test_tune_without_its_data_says_so_once_and_start_waits(page, tmp_path, monkeypatch):
    """A fresh machine, on which a sweep of usps would fail 210 times."""
    monkeypatch.setenv("RBMVIZ_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("RBMVIZ_CACHE_DIR", str(tmp_path))
    test = page(tune_models="usps_pcd")
    assert not test.exception
    [said] = [one.value for one in test.info]
    assert said.startswith("The data of usps are not on this server")
    assert button(test, "Start").disabled
    assert len([one for one in test.button if one.label.startswith("Download usps")]) == 1
    # The recorded map needs none; its button to compute it again does.
    test = page(tune_models="usps_fpcd")
    said = map_of(test)["verdict"]
    assert said.startswith("After 10,000 samples: decay 1. Any step size from 0.001 to 1 is as good (within")
    assert "decay 0.999 costs" in said
    assert button(test, "Compute again").disabled
    # Bars and Stripes are always there.
    assert not button(page(**SMALL), "Start").disabled


def test_point_stays_at_the_end_of_the_runs_while_cells_fill(monkeypatch):
    """The map is of 100 samples until it is moved, to a point that there is."""
    plan = SweepPlan(
        algorithms=("rates_fpcd",),
        axes=(Axis("eps", (0.01, 0.1)),),
        models=("bas_pcd",),
        seeds=(0, 1),
        budget=Budget("samples", 100),
    )
    asked, results = {}, [CellRun(cell).finish() for cell in cells(plan)]
    monkeypatch.setattr(panel, "sent_by", lambda key, name: asked)
    for n in (1, 2, 4):
        scores = SweepScores(plan, table(results[:n]))
        view = panel.asked_view(scores, "key")
        choices = scores.choices(view.point, view.effort, view.by)
        assert (view.point, view.effort) == (100, "samples")
        assert panel.verdict(scores, choices, n == 4).startswith("After 100 samples")
    asked["point"] = 50
    assert panel.asked_view(scores, "key").point == 50
    asked |= {"point": 1e9, "cost_unit": "nonsense", "by": 7, "setting": -1}
    assert panel.asked_view(scores, "key") == (100, "samples", "isl_validation", None)


def test_sweep_from_start_to_its_files_and_longer_axes(page, address_of):
    test = page(**SMALL)
    assert map_of(test)["status"] == "0 of 12 runs, press Start."
    assert button(test, "Start").help.startswith("12 runs of 100 samples.")
    job = started(test, 12)
    assert address_of(test)["sweep"] == [job.name]
    drawn = map_of(test)
    assert (drawn["status"], drawn["over"], drawn["point"]) == ("12 of 12 runs, complete.", True, 100)
    assert drawn["verdict"].startswith("After 100 samples: ")
    assert sum(bits & IS_TIED > 0 for bits in drawn["state"]) >= 1  # the best itself
    assert [one.label for one in test.expander] == ["All 6 settings at this point"]
    scores = SweepScores(job.plan, Store(job.folder).read())
    choices = scores.choices(100, "samples", "isl_validation")
    contents = {one.file: one.make() for one in files_of(Store(job.folder), scores, choices)}
    assert contents["sweep.csv"].startswith(b"algorithm,model,eps,alpha,in_region,tied,mean")
    assert contents["sweep.sqlite"].startswith(b"SQLite format 3")
    assert origin_of(Store(job.folder), scores)["models"]
    assert origin_of(Store(job.folder), scores)["data"]
    # Longer axes: only what is new is computed.
    before = Store(job.folder).read(cells(job.plan))
    set_settings(test, sweep="").run()
    longer = page(**SMALL | {"tune_x_to": "1", "tune_seeds": "3"})
    other = started(longer, 18)
    unsure = [i for i, bits in enumerate(map_of(longer)["state"]) if bits & IS_UNSURE]
    assert [other.plan.settings()[i].at for i in unsure] == [(2, 0)]  # step size 1, decay 0.9
    after = Store(other.folder).read(cells(job.plan))
    np.testing.assert_array_equal(before["seconds"], after["seconds"])
    set_settings(test, sweep=job.name).run()
    button(test, "Delete").click().run()
    assert not test.exception
    assert (settings_of(test)["sweep"], job.folder.exists()) == ("", False)


def test_running_sweep_is_paused_and_resumed_by_its_owner_alone(page):
    test = page(**SMALL | {"tune_n": "1000000"})
    button(test, "Start").click().run()
    job = sweep_jobs().get(settings_of(test)["sweep"])
    wait(lambda: job.status == "running", "a start")
    other = page(sweep=job.name)
    assert [one.label for one in other.button if one.label in ("Pause sweep", "Delete")] == []
    assert any("view only" in one.value for one in other.caption)
    button(test.run(), "Pause sweep").click().run()
    assert map_of(test)["status"] == "0 of 12 runs, paused."
    button(test, "Resume sweep").click().run()
    assert job.active
    button(test, "Delete").click().run()
    assert not test.exception


@pytest.fixture
def clicked(page, monkeypatch):
    """Open the page with settings of two models; return its sweep, its panels and a click on a setting."""

    def opened(*panels):
        test = page(**(SMALL | {"tune_models": ["bas_pcd", "modes_pcd"]}), m=list(panels))
        race = race_of(test, "tune")
        plan = plan_of({name: one.default for name, one in PAGE.settings.items()} | settings_of(test))
        scores = SweepScores(plan, {})
        state = {"pointer panel": race.panels[0].key, "settings": SettingsState({"on": "bas_pcd"})}
        monkeypatch.setattr("streamlit.session_state", state)

        def click(model):
            settings = scores.settings
            [index] = [i for i, one in enumerate(settings) if (one.at, one.model) == ((2, 0), model)]
            toggle(race, plan, scores, index)
            return [sentence for sentence, _ in state.get(TOASTS.key, ())]

        return race, click

    return opened


def test_a_click_opens_a_setting_and_a_second_one_closes_it(clicked):
    race, click = clicked("rates_fpcd")
    assert click("bas_pcd") == []
    assert texts_of(race)[1:] == ["rates_fpcd:eps=1.0,alpha=0.9"]
    drawn = drawn_beside(race)
    assert click("modes_pcd") == []  # the same knobs on another model
    assert texts_of(race)[1:] == ["rates_fpcd:eps=1.0,alpha=0.9"]
    assert race.setup.dataset.name == "modes"
    assert drawn_beside(race) != drawn  # the same panels, but other runs: they are drawn again
    assert click("modes_pcd") == []
    assert texts_of(race)[1:] == []


def test_refused_click_changes_nothing(clicked):
    texts = [f"rates_fpcd:eps={eps}" for eps in (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)][:MAX_OPEN]
    race, click = clicked("rates_fpcd", *texts)
    setup, before = race.setup, texts_of(race)[1:]
    assert len(before) == MAX_OPEN
    [sentence] = click("modes_pcd")
    assert "close one of them first" in sentence
    assert (race.setup, texts_of(race)[1:]) == (setup, before)


def test_impossible_plan_says_why(page):
    test = page(**(SMALL | {"tune_x_from": "5", "tune_x_to": "6"}))
    assert [one.value for one in test.info] == ["rates_fpcd: eps = 5.0 is outside 0, or 0.0001 to 1."]
    test = page(**(SMALL | {"tune_x_n": "40", "tune_y_n": "40"}))
    assert "3,200 runs and the server allows 2,000" in test.info[0].value


def test_link_to_a_deleted_sweep_says_so(page):
    test = page(sweep="20260101-000000-abcdef", **SMALL)
    assert "no such sweep" in test.warning[0].value
    assert map_of(test)["status"].endswith("press Start.")


@pytest.fixture
def opened(monkeypatch):
    """Return the pages that are opened."""
    found = []
    monkeypatch.setattr("streamlit.switch_page", found.append)
    return found


@pytest.fixture
def elsewhere(open_race):
    """Make the race of a page that was open before."""

    def make(setup, *texts):
        tables = [trainers if text.partition(":")[0] in trainers else samplers for text in texts]
        return open_race(setup, *(table.read(text) for table, text in zip(tables, texts, strict=True)))

    return make


def texts_of(race):
    return [write_changed_panel(panel.algorithm) for panel in race.panels]


def test_open_in_sample_has_the_same_settings_and_can_be_undone(page, opened, elsewhere):
    sample = elsewhere(SamplingSetup(load_model("modes_pcd"), None, 7), "gibbs", "rates_herding")
    state = {"races": {"sample": sample}, "settings": SettingsState({"seed": 7})}
    test = page(m=["rates_fpcd:eps=0.1", "rates_fpcd:eps=0.2,k=3"], state=state, **SMALL)
    button(test, "Open in Sample").click().run()
    assert opened == [file_of("sample")]
    assert (settings_of(test)["model"], settings_of(test)["seed"]) == ("bas_pcd", 0)
    assert (texts_of(sample), sample.setup.dataset.name) == (["rates_fpcd:eps=0.2,k=3"], "bas")
    assert sample.undo_settings[1] == {"seed": 7, "model": "mnist_fpcd"}
    assert sample.undo()
    assert (texts_of(sample), sample.setup.seed) == (["gibbs", "rates_herding"], 7)


def test_trainers_are_tuned_on_a_map_alone(page):
    plan = {"tune_what": "trainers", "tune_x_n": "2", "tune_y_n": "2", "tune_updates": "20"}
    test = page(**plan, tune_seeds="2", tune_hidden="4", tune_trainers=["cd", "exact"])
    drawn = map_of(test)
    assert (drawn["x"]["label"], drawn["y"]["label"]) == ("Learning rate", "Sweeps")
    assert [facet["title"] for facet in drawn["facets"]] == ["CD-k", "Exact gradient"]
    started(test, 12)
    drawn = map_of(test)
    assert (drawn["cost_unit"], drawn["by"]) == ("updates", "log_likelihood_validation")
    assert drawn["verdict"].startswith("After 20 updates: ")


def test_a_link_opens_its_settings_on_the_model_that_was_clicked(page, address_of):
    test = page(**SMALL | {"tune_models": ["bas_pcd", "bas_cd1"]})
    assert address_of(test)["on"] == []
    race = race_of(test, "tune")
    set_settings(test, on="bas_cd1")
    assert address_of(test.run())["on"] == ["bas_cd1"]
    assert race.setup.model.meta == load_model("bas_cd1").meta
    again = page(**SMALL | {"tune_models": ["bas_pcd", "bas_cd1"], "on": "bas_cd1"})
    assert race_of(again, "tune").setup.model.meta == load_model("bas_cd1").meta


def test_from_sample_to_a_sweep_around_a_panel(page, opened, elsewhere):
    tune = elsewhere(SamplingSetup(load_model("modes_pcd"), None, 7), "gibbs")
    before = {"tune_what": "trainers", "sweep": "20260101-000000-abcdef"}
    state = {"races": {"tune": tune}, "settings": SettingsState(before)}
    test = page.func("sample", model="bas_pcd", p=["rates_fpcd:eps=0.1,k=2"], state=state)
    test.button(key="sweep around 0").click().run()
    assert opened == [file_of("tune")]
    assert (texts_of(tune), settings_of(test)["sweep"]) == (["rates_fpcd:eps=0.1,k=2"], "")
    assert before.items() <= tune.undo_settings[1].items()
    assert tune.undo()
    assert texts_of(tune) == ["gibbs"]
    state = {name: settings_of(test)[name] for name in ("tune_models", "tune_knobs", "tune_x", "tune_y")}
    assert state == {"tune_models": ["bas_pcd"], "tune_knobs": "k=2", "tune_x": "eps", "tune_y": "alpha"}
    assert (settings_of(test)["tune_x_from"], settings_of(test)["tune_x_to"]) == (0.01, 1.0)


def test_samplers_and_models_have_facets_and_a_table_of_robustness():
    plan = SweepPlan(
        algorithms=("rates_fpcd", "rates_fpcd:k=5", "gibbs"),
        axes=(Axis("eps", (0.01, 0.1)), Axis("alpha", (0.9, 1.0))),
        models=("bas_pcd", "bas_cd1"),
        seeds=(0,),
        budget=Budget("samples", 10),
    )
    drawn = map_spec(plan, plan.settings())
    titles = [facet["title"] for facet in drawn["facets"]]
    assert titles[0] == "rates-FPCD, Sweeps per sample 1, bas_pcd"
    assert len(set(titles)) == 6
    assert drawn["facets"][-1]["columns"] == [-1]  # Gibbs has no step size
    assert len({tuple(position) for position in drawn["positions"]}) == len(plan.settings())
    scores = SweepScores(plan, table(CellRun(cell).finish() for cell in cells(plan)))
    rows = robust_rows(scores, 10, "samples", "isl_test")
    assert len(rows) == 9
    assert rows[0]["mean"] == (rows[0]["bas_pcd"] + rows[0]["bas_cd1"]) / 2
