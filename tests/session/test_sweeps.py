"""The server's queue of sweeps, and the scores of a sweep while it fills."""

import gc
import math
import stat
import threading
import weakref
from types import SimpleNamespace

import numpy as np
import pytest
from waiting import PATIENCE, wait

from rbmviz import load_model, save_model
from rbmviz.errors import BadInput, OutputFailure
from rbmviz.session import sweeps as sweeps_module
from rbmviz.session.limits import MAX_CELLS_ON_SERVER, VisitorUsage, limits
from rbmviz.session.scheduler import Scheduler
from rbmviz.session.sweep_scores import SPENT, SweepScores
from rbmviz.session.sweep_view import SweepView
from rbmviz.session.sweeps import SWEEP_NOTE, Sweep, SweepQueue, sweeps_folder
from rbmviz.sweeps import Axis, Budget, CellRun, SweepPlan, cells, compare
from rbmviz.sweeps.cell import _LOADED as loaded_for_cells
from rbmviz.sweeps.cell import Own
from rbmviz.sweeps.store import Store


def plan_of(**more):
    given = {
        "algorithms": ["rates_fpcd"],
        "axes": [Axis("eps", (0.01, 0.1, 0.3)), Axis("alpha", (0.9, 1.0))],
        "models": ["bas_pcd"],
        "seeds": [0, 1],
        "budget": Budget("samples", 200),
        "metrics": ["isl_validation", "isl_test", "blank"],
    }
    return SweepPlan(**(given | more))


LONG = Budget("samples", 1_000_000)


@pytest.fixture
def queue(tmp_path):
    made = []

    def make(cores=2, folder=tmp_path / "sweeps", memory=None):
        made.append(SweepQueue(folder, Scheduler(cores), memory))
        return made[-1]

    yield make
    for one in made:
        one.close()
        wait(lambda one=one: not one.at_work, "an end of all work")


def test_a_sweep_runs_to_its_end_with_the_scores_of_its_cells(queue):
    one = queue()
    sweep = one.add(plan_of(), "a try", "owner")
    wait(lambda: sweep.status == "finished", "the end of the sweep")
    assert sweep.progress == 1
    assert sweep.scores.n_done == 12
    wait(lambda: not one.at_work, "an end of all work")
    assert not loaded_for_cells  # a server would keep the data of every sweep
    for i in (0, 7):
        table = CellRun(cells(sweep.plan)[i]).finish()
        curves = sweep.scores.curves(i % 6)
        for name in ("n", "isl_validation", "isl_test", "isl_test_error", "blank"):
            kept = curves[name][i // 6]
            assert np.array_equal(kept[~np.isnan(kept)], table[name]), name


@pytest.mark.parametrize("named", [False, True])
def test_the_folder_of_sweeps_is_private(named, queue, tmp_path, monkeypatch):
    """A new one; one that is there already keeps its mode."""
    monkeypatch.setenv("RBMVIZ_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("RBMVIZ_SWEEPS_DIR", str(tmp_path / "sweeps") if named else "")
    for there in (False, True):
        if there:
            sweeps_folder().chmod(0o755)
        queue(folder=sweeps_folder()).add(plan_of(), "a try", "owner")
        mode = stat.S_IMODE(sweeps_folder().stat().st_mode)
        assert mode == (0o755 if there else 0o700)


def test_the_scores_of_sweeps_are_part_of_the_memory_of_the_server(queue, monkeypatch):
    server = weakref.WeakSet()
    one = queue(memory=VisitorUsage(server))
    visitor = VisitorUsage(server)
    sweep = one.add(plan_of(budget=LONG), "a try", "owner")
    needed = SweepScores.bytes(sweep.plan)
    assert visitor.room() == limits().bytes_of_visitors - needed < limits().bytes_of_visitors
    monkeypatch.setenv("RBMVIZ_SERVER_MB", "502")
    wide = plan_of(axes=[Axis("eps", tuple(0.001 * i for i in range(1, 200)))], budget=LONG)
    with pytest.raises(BadInput, match=r"take \d MB of memory.* delete sweeps"):
        one.add(wide, "too large", "owner")
    assert one.list() == [sweep]
    one.stop(sweep.name, "owner")
    one.delete(sweep.name, "owner")
    assert visitor.room() == limits().bytes_of_visitors


def test_one_sweep_at_a_time_in_the_order_of_the_queue(queue):
    one = queue()
    first = one.add(plan_of(budget=LONG), "first", "owner")
    second = one.add(plan_of(), "second", "owner")
    wait(lambda: first.progress > 0, "work")
    assert (first.status, second.status) == ("running", "queued")
    assert [sweep.title for sweep in one.list()] == ["second", "first"]
    one.stop(first.name, "owner")
    wait(lambda: second.status == "finished", "the second sweep")
    assert first.status == "stopped"


def test_a_paused_sweep_goes_on_with_the_same_cells(queue):
    one = queue()
    sweep = one.add(plan_of(budget=Budget("samples", 20_000)), "a try", "owner")
    wait(lambda: sweep.progress > 0, "work")
    one.pause(sweep.name, "owner")
    wait(lambda: not one.at_work, "an end of all work")
    before = sweep.progress
    assert sweep.status == "paused"
    assert 0 < before < 1
    one.resume(sweep.name, "owner")
    wait(lambda: sweep.status == "finished", "the end of the sweep")
    table = CellRun(cells(sweep.plan)[0]).finish()
    assert np.array_equal(sweep.scores.curves(0)["isl_test"][0, : len(table["n"])], table["isl_test"])


def test_a_sweep_that_is_paused_while_it_is_prepared_is_prepared_once(queue, monkeypatch):
    """Two hands would share its chains otherwise."""
    loading, go_on, loads = threading.Event(), threading.Event(), []

    def slow(plan, registered, own):
        loads.append(plan)
        loading.set()
        assert go_on.wait(PATIENCE)
        return cells(plan, registered)

    monkeypatch.setattr(sweeps_module, "cells", slow)
    one = queue()
    sweep = one.add(plan_of(), "a try", "owner")
    assert loading.wait(PATIENCE)
    one.pause(sweep.name, "owner")
    one.resume(sweep.name, "owner")
    assert sweep.status == "queued"
    go_on.set()
    wait(lambda: sweep.status == "finished", "the end of the sweep")
    assert len(loads) == 1
    assert sweep.failed_cells == 0


def test_a_sweep_that_was_stopped_before_it_failed_to_begin_stays_stopped(queue, monkeypatch):
    loading, go_on = threading.Event(), threading.Event()

    def refused(plan, registered, own):
        loading.set()
        assert go_on.wait(PATIENCE)
        raise BadInput("The model has gone.")

    monkeypatch.setattr(sweeps_module, "cells", refused)
    one = queue()
    sweep = one.add(plan_of(), "a try", "owner")
    assert loading.wait(PATIENCE)
    one.stop(sweep.name, "owner")
    go_on.set()
    wait(lambda: not one.at_work, "an end of all work")
    assert (sweep.status, sweep.error) == ("stopped", "")
    one.resume(sweep.name, "owner")
    wait(lambda: sweep.status == "failed", "a failure")
    assert sweep.error == "The model has gone."


def test_a_look_that_the_end_of_a_cell_has_overtaken_changes_nothing():
    scores = SweepScores(plan_of())
    table = {name: np.arange(1.0, 6.0) for name in scores.columns}
    scores.put(0, table)
    before = scores.n_rows
    scores.put(0, {name: column[:2] for name, column in table.items()}, done=False)
    assert scores.n_rows == before == 5
    assert scores.is_done(0)


def test_only_its_owner_commands_a_sweep(queue):
    one = queue()
    sweep = one.add(plan_of(budget=LONG), "a try", "owner")
    for command in (one.pause, one.stop, one.resume, one.delete):
        with pytest.raises(BadInput, match="Another visitor"):
            command(sweep.name, "somebody")
    with pytest.raises(BadInput, match="stop it first"):
        one.delete(sweep.name, "owner")
    one.stop(sweep.name, "owner")
    one.delete(sweep.name, "owner")
    assert one.list() == []
    assert not sweep.folder.exists()


def test_a_sweep_of_own_models_is_private_and_goes_with_its_holder(queue, monkeypatch):
    """It has the scores of the same model under its public name."""
    monkeypatch.setenv("RBMVIZ_SWEEPS", "4")
    visitor, server = (VisitorUsage(weakref.WeakSet()) for _ in range(2))
    one = queue(memory=server)
    plan, own = plan_of(models=["mine.npz"]), Own({"mine.npz": load_model("bas_pcd")})
    held = {"short": one.add(plan, "a try", "owner", own, visitor)}
    name = held["short"].name
    wait(lambda: held["short"].status == "finished", "the end of the sweep")
    found = held["short"].scores.curves(1)["isl_test"][1]
    expected = CellRun(cells(plan_of())[7]).finish()["isl_test"]
    np.testing.assert_array_equal(found[: len(expected)], expected)
    assert (one.list(), one.folder.exists()) == ([], False)
    with pytest.raises(BadInput, match="no such sweep"):
        one.get(name)
    with pytest.raises(BadInput, match="Another visitor"):
        one.stop(name, "somebody")
    assert (visitor.bytes(), server.bytes()) == (SweepScores.bytes(plan), 0)
    held["short"] = one.extend(name, plan.beyond([("eps", 0.3)]), "owner")
    wait(lambda: held["short"].status == "finished", "the end of the larger sweep")
    assert (held["short"].progress, held["short"].size) == (1, 20)
    # Its visitor has a quarter of the places.
    held["long"] = one.add(plan_of(models=["mine.npz"], budget=LONG), "long", "owner", own, visitor)
    with pytest.raises(BadInput, match="You have 1 sweeps"):
        one.add(plan, "another", "owner", own, visitor)
    wait(lambda: held["long"].running_cells, "its first cell")
    one.halt(held["long"], "The page is closed.")
    assert (held["long"].status, held["long"].error) == ("stopped", "The page is closed.")
    one.resume(held["long"].name, "owner")
    wait(lambda: held["long"].running_cells, "a cell again")
    for sweep in held.values():
        one.discard(sweep)
    wait(lambda: not one.at_work, "an end of all work")
    assert visitor.bytes() == 0
    freed = [weakref.ref(each) for each in (*held.values(), own.models["mine.npz"])]
    held.clear()
    del sweep, own
    gc.collect()
    assert [ref() for ref in freed] == [None] * 3


def test_the_limits_of_a_server(queue, monkeypatch):
    one = queue()
    monkeypatch.setenv("RBMVIZ_SWEEPS", "2")
    assert plan_of(seeds=range(MAX_CELLS_ON_SERVER // 6)).size <= MAX_CELLS_ON_SERVER
    with pytest.raises(BadInput, match="2,004 runs and the server allows 2,000"):
        one.add(plan_of(seeds=range(MAX_CELLS_ON_SERVER // 6 + 1)), "large", "owner")
    with pytest.raises(BadInput, match="too long for a server"):
        one.add(plan_of(budget=Budget("samples", 10**7)), "long", "owner")
    one.add(plan_of(budget=LONG), "first", "owner")
    with pytest.raises(BadInput, match="You have 1 sweeps"):
        one.add(plan_of(), "second", "owner")
    one.add(plan_of(), "second", "somebody")
    with pytest.raises(BadInput, match="The server keeps 2 sweeps"):
        one.add(plan_of(), "third", "a third")


def test_a_full_disk_pauses_a_sweep_and_loses_nothing(queue, monkeypatch):
    one = queue()
    write = Store.write

    def refuse(*args):
        raise OutputFailure("'x' cannot be written: the disk is full.")

    monkeypatch.setattr(Store, "write", refuse)
    sweep = one.add(plan_of(), "a try", "owner")
    wait(lambda: sweep.status == "paused", "the pause")
    assert "the disk is full. Nothing is lost" in sweep.error
    wait(lambda: not one.at_work, "an end of all work")
    done = sweep.scores.n_done
    assert done >= 1
    monkeypatch.setattr(Store, "write", write)
    one.resume(sweep.name, "owner")
    wait(lambda: sweep.status == "finished", "the end of the sweep")
    assert sweep.error == ""
    assert len(list(sweep.folder.glob("*.parquet"))) == 12


def test_what_cannot_begin_says_why(queue):
    one = queue()
    sweep = one.add(plan_of(models=["no_such_model"]), "a try", "owner")
    wait(lambda: sweep.status == "failed", "the failure")
    assert "no_such_model" in sweep.error


def test_a_plan_makes_the_server_read_no_file(queue, tmp_path):
    """Plans come from pages, and from folders that somebody else may have written."""
    file = tmp_path / "model.npz"
    save_model(load_model("bas_pcd"), file)
    assert cells(plan_of(models=[str(file)]))
    sweep = queue().add(plan_of(models=[str(file)]), "a try", "owner")
    wait(lambda: sweep.status == "failed", "a failure")
    assert sweep.error.startswith("Unknown model")


def test_the_time_left_is_told_from_cells_that_have_ended(queue, monkeypatch):
    now, change = [1000.0], queue()._change
    monkeypatch.setattr(sweeps_module.time, "monotonic", lambda: now[0])
    sweep = Sweep("", "", plan_of(), "", None)
    first, second = (CellRun(cell).finish() for cell in cells(sweep.plan)[:2])
    change(sweep, "running")
    now[0] += 10
    sweep._runs[0] = SimpleNamespace(done=0.5)
    assert sweep.seconds_left is None
    sweep.scores.put(0, first)
    sweep._runs.clear()
    assert sweep.seconds_left == pytest.approx(110)  # of 12 cells, 10 s each
    change(sweep, "paused")
    assert sweep.seconds_left is None
    change(sweep, "running")
    now[0] += 20
    sweep._runs[1] = SimpleNamespace(done=0.5)
    assert sweep.seconds_left is None  # the first cell ended before the pause
    sweep.scores.put(1, second)
    sweep._runs.clear()
    assert sweep.seconds_left == pytest.approx(200)


def test_names_that_are_none_of_the_server(queue):
    with pytest.raises(BadInput, match="no such sweep"):
        queue().get("../../etc/passwd")


def made_up(plan, score):
    """Return scores with rows at 10, 100 and 200 samples; score: of (n, setting, seed)."""
    scores = SweepScores(plan)
    for i in range(plan.size):
        seed, setting = divmod(i, len(scores.settings))
        n = np.array([10, 100, 200])
        values = np.array([score(k, scores.settings[setting].at, seed) for k in n])
        table = {name: np.full(3, math.nan) for name in scores.columns}
        table |= {"n": n, "sweeps": 2 * n, "seconds": n / 1000, "isl_validation": values, "isl_test": values}
        scores.put(i, table)
    return scores


def best_of(shown):
    [choice] = shown.choices.values()
    return choice.best


def test_each_model_has_a_best_setting_of_its_own():
    plan = plan_of(models=["bas_pcd", "bas_cd1"])
    scores = SweepScores(plan)
    rng = np.random.default_rng(0)
    for i in range(plan.size):
        setting = scores.settings[i % len(scores.settings)]
        score = (setting.at[0] if setting.model == "bas_pcd" else -setting.at[0] - 50) + rng.normal(
            0, 0.01, 2
        )
        table = {name: np.full(2, math.nan) for name in scores.columns}
        table |= {"n": np.array([10, 100]), "isl_validation": score, "isl_test": score}
        scores.put(i, table)
    shown = scores.at(100, "samples", "isl_validation")
    chosen = {model: scores.index_of(one.best) for model, one in shown.choices.items()}
    best = {model: scores.settings[index].at[0] for model, index in chosen.items()}
    assert best == {"bas_pcd": 2, "bas_cd1": 0}
    found = scores.robustness(100, "samples", "isl_test")
    assert len(found) == 6
    assert {one.worst for one in found} == {"bas_cd1"}
    assert found[0].setting in [one.algorithm for one in scores.settings]
    assert all(abs(one.mean + 25) < 0.1 for one in found)


def test_scores_at_a_point_by_setting():
    rng = np.random.default_rng(0)
    scores = made_up(plan_of(), lambda n, at, seed: -at[0] * n + at[1] + rng.normal(0, 0.01))
    shown = scores.at(100, "samples", "isl_validation")
    assert len(shown.scored) == 6
    best = scores.settings[scores.index_of(best_of(shown))].at
    assert best == (0, 1)
    for i, one in shown.scored.items():
        assert one.mean == pytest.approx(-scores.settings[i].at[0] * 100 + scores.settings[i].at[1], abs=0.1)
    assert best_of(scores.at(200, "sweeps", "isl_validation")).setting == best_of(shown).setting
    assert scores.telling_point("samples", "isl_validation") == 200
    assert scores.range("samples") == (10, 200)
    assert [scores.rounded(x, "samples") for x in (3, 103.4, 1e9)] == [10, 103, 200]
    assert scores.rounded(0.12345, "seconds") == 0.123
    assert SweepScores(plan_of()).at(100, "samples", "isl_validation").scored == {}


def test_a_map_that_has_come_to_rest_stands_at_its_last_point(monkeypatch):
    """The rest of the page is drawn once then, and has to be at the point at which the map stays."""
    sweep = Sweep.planned(plan_of())
    sweep.scores = made_up(sweep.plan, lambda n, at, seed: n)
    points = iter((20.0, 50.0, 150.0))
    monkeypatch.setattr(sweep.scores, "telling_point", lambda cost_unit, by: next(points))
    sweep.status = "running"
    view = SweepView(sweep)
    assert [view.now().point, view.now().point] == [20, 20]
    sweep.status, sweep.version = "finished", sweep.version + 1
    assert [view.now().point, view.now().point] == [50, 50]


def test_before_the_first_score_there_are_no_ends():
    scores = SweepScores(plan_of())
    assert scores.range("samples") is None
    none = {name: np.zeros(0) for name in scores.columns}
    scores.put(0, none, done=False)
    assert scores.range("samples") is None


def test_a_sweep_of_a_server_that_has_ended_is_continued(queue, tmp_path):
    first = queue()
    sweep = first.add(plan_of(), "a try", "owner")
    wait(lambda: sweep.status == "finished", "the end of the sweep")
    before = sweep.scores.curves(3)
    (sorted(sweep.folder.glob("*.parquet"))[0]).unlink()  # as if the server had been killed before it
    again = queue()
    [found] = again.list()
    assert (found.title, found.status) == ("a try", "stopped")
    assert again.get(found.name).scores.n_done == 11
    again.resume(found.name, "owner")
    wait(lambda: found.status == "finished", "the end of the sweep")
    after = found.scores.curves(3)
    assert np.array_equal(before["isl_test"], after["isl_test"], equal_nan=True)
    (tmp_path / "sweeps" / found.name / SWEEP_NOTE).write_text("{")
    assert queue().list() == []


def test_a_sweep_of_two_algorithms_is_read_whole(queue):
    """Each algorithm has a version of its own."""
    sweep = queue().add(plan_of(algorithms=["rates_fpcd", "gibbs"]), "a try", "owner")
    wait(lambda: sweep.status == "finished", "the end of the sweep")
    again = queue()
    [found] = again.list()
    assert again.get(found.name).scores.n_done == sweep.size == 14


def test_a_sweep_goes_on_only_when_all_of_its_files_have_been_read(queue, monkeypatch):
    """Another tab may still read them when it is resumed: complete cells would be run again."""
    first = queue()
    sweep = first.add(plan_of(), "a try", "owner")
    wait(lambda: sweep.status == "finished", "the end of the sweep")
    (sorted(sweep.folder.glob("*.parquet"))[0]).unlink()
    again = queue()
    [found] = again.list()
    read, reading, go_on, made = sweeps_module._read_cells, threading.Event(), threading.Event(), []

    def slow(sweep):
        reading.set()
        assert go_on.wait(PATIENCE)
        return read(sweep)

    monkeypatch.setattr(sweeps_module, "_read_cells", slow)
    monkeypatch.setattr(sweeps_module, "CellRun", lambda cell, own: made.append(cell) or CellRun(cell))
    looking = threading.Thread(target=again.get, args=[found.name])
    looking.start()
    assert reading.wait(PATIENCE)
    again.resume(found.name, "owner")
    wait(lambda: again.at_work, "its preparation")
    assert not made
    go_on.set()
    looking.join(PATIENCE)
    wait(lambda: found.status == "finished", "the end of the sweep")
    assert len(made) == 1


@pytest.fixture
def view():
    return SweepView(Sweep.planned(plan_of()))


def test_who_asks_for_a_map_does_not_wait_until_it_is_computed(view):
    """The server's event loop asks: all visitors would wait."""
    asked = []
    with view._lock:
        asking = threading.Thread(target=lambda: asked.append(view.poll()))
        asking.start()
        asking.join(PATIENCE)
    assert asked


def test_a_map_that_was_not_renewed_once_is_renewed_the_next_time(view, monkeypatch, caplog):
    compute, errors = view._compute, [ZeroDivisionError("once")]

    def broken():
        if errors:
            raise errors.pop()
        return compute()

    monkeypatch.setattr(view, "_compute", broken)
    wait(lambda: view.poll()[0][1].status == "paused", "a map")
    assert "a map was not renewed" in caplog.text


@pytest.fixture
def fails(monkeypatch):
    """Whether cells of seed 0 fail: [True]."""
    step, fails = CellRun.step, [True]

    def step_or_fail(run):
        if fails[0] and run.cell.seed == 0:
            raise MemoryError
        return step(run)

    monkeypatch.setattr(CellRun, "step", step_or_fail)
    return fails


def test_a_sweep_that_goes_on_tries_failed_cells_again(queue, fails):
    one = queue()
    sweep = one.add(plan_of(budget=LONG, seeds=[0, 1]), "a try", "owner")
    wait(lambda: sweep.failed_cells == 6 and sweep.progress > 0.5, "the failures")
    assert "6 of 12 runs have failed" in sweep.error
    one.pause(sweep.name, "owner")
    fails[0] = False
    one.resume(sweep.name, "owner")
    wait(lambda: any(cell < 6 for cell in sweep.running_cells), "another try")
    assert (sweep.failed_cells, sweep.error) == (0, "")


def test_failed_cells_of_a_sweep_that_has_ended_are_tried_again(queue, fails):
    one = queue()
    sweep = one.add(plan_of(), "a try", "owner")
    wait(lambda: sweep.status == "finished", "the end of the sweep")
    assert (sweep.failed_cells, sweep.scores.n_done) == (6, 6)
    fails[0] = False
    one.resume(sweep.name, "owner")
    wait(lambda: sweep.status == "finished", "the end of the second try")
    assert (sweep.failed_cells, sweep.scores.n_done, sweep.error) == (0, 12, "")
    one.resume(sweep.name, "owner")
    assert sweep.status == "finished"


def test_a_map_compares_the_same_runs_as_the_whole_table():
    """Also where a training has diverged, which spends no more seconds."""
    plan = SweepPlan(
        kind="trainer",
        algorithms=["cd"],
        axes=[Axis("learning_rate", (0.01, 0.1))],
        data="bas",
        seeds=[0, 1],
        budget=Budget("updates", 1000),
        n_hidden=4,
    )
    scores, n = SweepScores(plan), np.array([1, 10, 100, 300, 1000])
    for cell in range(4):
        table = {name: 1.0 * n for name in scores.columns}
        table["seconds"] = 0.01 * n
        if cell == 3:
            table["seconds"] = np.minimum(table["seconds"], 0.1)
            table |= {name: np.where(n <= 10, n, np.nan) for name in scores.columns[len(SPENT) :]}
        scores.put(cell, table)
    by = "log_likelihood_validation"
    for point in (0.05, 0.5, 5.0):
        [found] = scores.at(point, "seconds", by).choices.values()
        expected = compare(
            scores.long_form() | {"identity": scores.long_form()["setting"]}, point, "seconds", by
        )
        assert found.seeds == expected.seeds, point
        assert [one.n for one in found.settings] == [one.n for one in expected.settings], point
