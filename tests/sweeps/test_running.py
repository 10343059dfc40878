"""Running cells on threads, on processes and on a Dask cluster: the same table, nothing lost."""

import contextlib
import importlib
import json
import subprocess
import sys
import threading
import time
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from file_limits import largest_file
from waiting import PATIENCE, wait

from rbmviz import BadInput
from rbmviz.errors import OutputFailure
from rbmviz.sweeps import Axis, Budget, CellRun, SweepPlan, cells, run
from rbmviz.sweeps.store import Store
from tests.sweeps.tables import same

running = importlib.import_module("rbmviz.sweeps.run")  # the package has a function of this name


def plan_of(values, seeds, samples=400):
    return SweepPlan(
        algorithms=("rates_fpcd",),
        axes=(Axis("eps", tuple(np.geomspace(0.01, 0.3, values).round(4).tolist())),),
        models=("bas_pcd",),
        seeds=tuple(range(seeds)),
        budget=Budget("samples", samples),
    )


@pytest.fixture(scope="module")
def plan():
    return plan_of(4, 2)


@pytest.fixture(scope="module")
def made(plan):
    return cells(plan)


@pytest.fixture(scope="module")
def on_threads(plan, made, tmp_path_factory):
    """The table as two threads compute it."""
    store = Store(tmp_path_factory.mktemp("threads"))
    store.prepare(plan)
    outcome = run(made, store, workers=2)
    assert (outcome.cells, outcome.stored, outcome.computed, outcome.failed) == (8, 0, 8, [])
    assert 0 < outcome.seconds
    assert 0 < outcome.busy_seconds
    return store.read(made)


@pytest.fixture
def store(plan, tmp_path):
    found = Store(tmp_path / "sweep")
    found.prepare(plan)
    return found


@pytest.mark.parametrize("workers", [1, 3])
def test_the_number_of_threads_changes_nothing(workers, made, on_threads, store):
    seen = []
    run(made, store, workers=workers, on_progress=lambda outcome: seen.append(outcome.done))
    assert seen == list(range(1, 9))
    same(store.read(made), on_threads)


def test_processes_compute_the_same(made, on_threads, store):
    with ProcessPoolExecutor(1, get_context("spawn")) as executor:
        assert run(made, store, executor, workers=1).computed == 8
    same(store.read(made), on_threads)


def test_stored_cells_are_not_recomputed(made, on_threads, store, monkeypatch):
    run(made[:3], store)
    outcome = run(made, store)
    assert (outcome.cells, outcome.stored, outcome.computed) == (8, 3, 5)
    same(store.read(made), on_threads)
    monkeypatch.setattr(running, "compute", None)
    assert run(made, store).computed == 0


def test_only_some_cells_are_under_way(made, store):
    """A plan of 100,000 cells must not be handed over as a whole."""

    class Counting(ThreadPoolExecutor):
        most = flying = 0

        def submit(self, *args, **kwargs):
            self.flying += 1
            self.most = max(self.most, self.flying)
            future = super().submit(*args, **kwargs)
            future.add_done_callback(lambda _: setattr(self, "flying", self.flying - 1))
            return future

    with Counting(1) as executor:
        run(made, store, executor, workers=1)
        assert executor.most == running.WAITING_EACH


def test_one_cell_that_fails_costs_no_other(made, on_threads, store, monkeypatch):
    real = running.compute

    def failing(cell, stop=None):
        if cell is made[2]:
            raise BadInput("This one diverges.")
        if cell is made[5]:
            raise ZeroDivisionError("division by zero\nsecond line")
        return real(cell, stop)

    monkeypatch.setattr(running, "compute", failing)
    outcome = run(made, store)
    reasons = ["This one diverges.", "ZeroDivisionError: division by zero"]
    assert sorted(failed.reason for failed in outcome.failed) == sorted(store.failures()) == reasons
    assert outcome.computed == 6
    monkeypatch.undo()
    assert run(made, store).computed == 2
    same(store.read(made), on_threads)


def test_an_interrupt_keeps_what_is_computed(made, on_threads, store):
    def interrupt(outcome):
        if outcome.computed == 3:
            raise KeyboardInterrupt

    outcome = run(made, store, workers=2, on_progress=interrupt)
    assert outcome.interrupted
    assert 3 <= outcome.computed == len(store.done(made)) < 8
    run(made, store)
    same(store.read(made), on_threads)


def test_interrupt_keeps_uncollected_results(made, store):
    submitted = []

    class Remembering(ThreadPoolExecutor):
        def submit(self, *args, **kwargs):
            submitted.append(super().submit(*args, **kwargs))
            return submitted[-1]

    def interrupt(outcome):
        wait(lambda: all(future.done() for future in submitted), "all cells under way")
        raise KeyboardInterrupt

    with Remembering(1) as executor:
        outcome = run(made, store, executor, workers=2, on_progress=interrupt)
    assert outcome.computed == len(submitted) == len(store.done(made)) == 2 * running.WAITING_EACH


def test_an_interrupt_stops_a_long_cell_between_two_slices(store):
    [cell] = cells(plan_of(1, 1, samples=10**9))
    quick = cells(plan_of(1, 2))[1]

    def interrupt(outcome):
        raise KeyboardInterrupt

    outcome = run([cell, quick], store, workers=2, on_progress=interrupt)
    assert (outcome.interrupted, outcome.computed) == (True, 1)


def test_a_stop_from_another_thread_ends_the_run(made, store):
    stop = threading.Event()
    outcome = run(made, store, workers=1, on_progress=lambda _: stop.set(), stop=stop)
    assert (outcome.interrupted, outcome.computed >= 1, outcome.done < 8) == (True, True, True)


def test_full_disk_ends_the_sweep_and_keeps_what_was_written(made, on_threads, store):
    def fill(outcome):
        if outcome.computed == 3:
            stack.enter_context(largest_file(store.file.stat().st_size + 1000))

    with contextlib.ExitStack() as stack, pytest.raises(OutputFailure, match="cannot be written"):
        run(made, store, workers=1, on_progress=fill)
    assert 3 <= len(store.done(made)) < 8
    run(made, store)
    same(store.read(made), on_threads)


def test_workers_that_are_lost_for_good_end_the_sweep(made, store):
    class Lost(ThreadPoolExecutor):
        def submit(self, *args, **kwargs):
            future = Future()
            future.cancel()
            future.set_running_or_notify_cancel()
            return future

    with pytest.raises(BadInput, match=r"0 of 8 cells are in '.*', and the sweep can be resumed"):
        run(made, store, Lost(1))


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nonsense://x", "tcp://"])
def test_unreachable_scheduler_is_reported(address, made, store, monkeypatch):
    monkeypatch.setattr("rbmviz.sweeps.cluster.CONNECT_SECONDS", 0.2)
    with pytest.raises(BadInput, match="No Dask scheduler answers at"):
        run(made, store, scheduler=address)


# A real cluster: a scheduler and two worker processes on this machine


@pytest.fixture
def cluster(tmp_path):
    """Start a scheduler and two workers of one thread; return the address and the workers' processes."""
    started, file = [], tmp_path / "scheduler.json"

    def start(module, *words):
        command = [sys.executable, "-m", f"distributed.cli.{module}", "--no-dashboard", "--host", "127.0.0.1"]
        with (tmp_path / f"{len(started)}.log").open("w") as log:
            started.append(
                subprocess.Popen([*command, "--scheduler-file", str(file), *words], stdout=log, stderr=log)
            )

    try:
        start("dask_scheduler", "--port", "0")
        for _ in range(2):
            start("dask_worker", "--nthreads", "1", "--no-nanny", "--local-directory", str(tmp_path))
        wait(lambda: file.exists() and file.read_text().endswith("}"), "the scheduler's file")
        yield json.loads(file.read_text())["address"], started[1:]
    finally:
        for process in started:
            process.kill()
        for process in started:
            process.wait(PATIENCE)


@pytest.mark.slow
@pytest.mark.compiled
def test_killed_worker_loses_no_cell(cluster, tmp_path):
    """SIGKILL in the middle: no cell is lost, none is there twice, and the table is that of threads."""
    address, workers = cluster
    plan = plan_of(5, 4)
    made, table, said = cells(plan), {}, []

    def kill(outcome):
        if outcome.computed == 4:
            workers[0].kill()

    for name, more in {
        "threads": {},
        "cluster": {"scheduler": address, "on_progress": kill, "on_message": said.append},
    }.items():
        store = Store(tmp_path / name)
        store.prepare(plan)
        outcome = run(made, store, **more)
        assert (outcome.computed, outcome.failed) == (20, [])
        table[name] = store.read(made)
        assert len(set(table[name]["identity"])) == 20
    assert workers[0].wait(PATIENCE) == -9
    assert workers[1].poll() is None
    one = table["cluster"]
    same(one, table["threads"])
    assert len(set(zip(one["identity"], one["n"], strict=True))) == len(one["n"])


@pytest.mark.slow
def test_sweep_killed_twenty_times_gives_the_same_bits_while_it_is_read(tmp_path):
    """SIGKILL at any moment: each cell is there whole or not at all, and a reader never sees half of one."""
    plan = plan_of(10, 12, samples=1500)
    made, store, whole = cells(plan), Store(tmp_path / "killed"), Store(tmp_path / "whole")
    store.prepare(plan)
    whole.prepare(plan)
    points = len(CellRun(made[0]).finish().points)
    command = [sys.executable, "-m", "rbmviz", "sweep", "resume", str(store.folder), "--workers", "2"]
    rng, kills, reads, before = np.random.default_rng(0), 0, 0, 0
    while kills < 20 and len(store.done(made)) < 120:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait(lambda: store.count() > before or process.poll() is not None, "another cell")  # noqa: B023
            end = time.monotonic() + rng.uniform(0, 0.3)
            while time.monotonic() < end:
                if table := store.read(made):
                    assert len(table["n"]) == points * len(set(table["identity"]))
                reads += 1
        finally:
            process.kill()
            kills += process.wait(PATIENCE) == -9
        assert store.count() >= before
        before = store.count()
    assert kills == 20
    assert reads > 20
    run(made, store)
    run(made, whole)
    same(store.read(made), whole.read(made))


@pytest.mark.parametrize("workers", [-1, 0, 1.5])
def test_a_strange_number_of_workers_is_refused(workers, made, store):
    with pytest.raises(BadInput, match="workers"):
        run(made, store, workers=workers)
