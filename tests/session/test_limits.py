"""Limits of a page, a visitor and a server: a refusal is one sentence, before anything is created."""

import gc
import subprocess
import sys
import threading
import time
import tracemalloc
import weakref

import numpy as np
import pytest
from waiting import PATIENCE, wait

from rbmviz import RBM, BadInput, Model, make_sampler, make_trainer
from rbmviz.datasets import Dataset
from rbmviz.metrics import chain_diagnostics
from rbmviz.metrics.diagnostics import chains_apart
from rbmviz.session import (
    Comparison,
    Coupling,
    CouplingSetup,
    SamplingSetup,
    TrainingPlan,
    TrainingSetup,
    VisitorUsage,
    WeightSetup,
    limits,
    recorder,
)
from rbmviz.session.limits import BASE_MB
from rbmviz.session.release import Janitor


def wide():
    return Model(RBM(np.zeros((784, 500)), np.full(784, -1.0), np.zeros(500)))


WIDE = wide()


@pytest.fixture
def server():
    return weakref.WeakSet()


@pytest.fixture
def comparison_of(server):
    """Make comparisons of visitors, closed after the test."""
    made = []

    def make(setup, visitor=None, page="sample"):
        visitor = visitor or VisitorUsage(server)
        comparison = Comparison(setup, visitor=visitor)
        visitor.visit(page, page, comparison)
        made.append((comparison, visitor))
        return comparison

    yield make
    for comparison, _ in made:
        comparison.close()
        for panel in comparison.panels:
            panel.worker.join(PATIENCE)


def test_settings_come_from_the_environment(monkeypatch):
    assert (limits().panels, limits().runs, limits().release_seconds) == (12, 16, 10)
    monkeypatch.setenv("RBMVIZ_PANELS", "3")
    monkeypatch.setenv("RBMVIZ_SESSION_MB", "")
    assert (limits().panels, limits().session_mb) == (3, 500)
    for bad in ("0", "-1", "1.5", "many", "9" * 10, "١"):
        monkeypatch.setenv("RBMVIZ_SERVER_MB", bad)
        with pytest.raises(BadInput, match=r"RBMVIZ_SERVER_MB = .*whole number from 1 up"):
            limits()


def test_a_page_holds_so_many_panels_and_what_runs_goes_on(comparison_of, model, monkeypatch):
    monkeypatch.setenv("RBMVIZ_PANELS", "2")
    comparison = comparison_of(SamplingSetup(model))
    first, second = comparison.add(make_sampler("gibbs")), comparison.add(make_sampler("rates_fpcd"))
    comparison.resume()
    wait(lambda: all(s.n > 5 for _, s in comparison.poll()), "samples")
    with pytest.raises(BadInput, match=r"room for 2 panels: close one first, .* RBMVIZ_PANELS"):
        comparison.add(make_sampler("gibbs"))
    with pytest.raises(BadInput, match="room for 2 panels"):
        comparison.replace(comparison.setup, [make_sampler("gibbs")] * 3)
    assert comparison.panels == (first, second)
    assert [s.run for _, s in comparison.poll()] == [1, 1]
    comparison.remove(first.key)
    comparison.add(make_sampler("gibbs"))


def test_memory_is_checked_before_it_is_taken(comparison_of, monkeypatch):
    monkeypatch.setenv("RBMVIZ_SESSION_MB", "60")
    comparison = comparison_of(SamplingSetup(WIDE))
    panel = comparison.add(make_sampler("rates_fpcd"))
    run = panel.worker.peek().run
    with pytest.raises(BadInput, match=r"This would take 3,[0-9]+ MB .* RBMVIZ_SESSION_MB"):
        comparison.apply_knobs(panel.key, n_chains=1000)
    with pytest.raises(BadInput, match="a visitor has 60 MB"):
        comparison.add(make_sampler("rates_fpcd", n_chains=100))
    wider = Model(RBM(np.zeros((784, 4000)), np.zeros(784), np.zeros(4000)))
    with pytest.raises(BadInput, match="a visitor has 60 MB"):
        comparison.change(SamplingSetup(wider))
    assert (panel.worker.algorithm.n_chains, panel.worker.peek().run, comparison.setup.model) == (
        1,
        run,
        WIDE,
    )
    comparison.apply_knobs(panel.key, eps=0.1, n_chains=2)
    assert panel.worker.algorithm.n_chains == 2


def test_trainers_count_their_chains_and_hidden_units(comparison_of, toy, monkeypatch):
    monkeypatch.setenv("RBMVIZ_SESSION_MB", "20")
    rows = np.random.default_rng(0).integers(0, 2, (50, 784), dtype=np.uint8)
    comparison = comparison_of(TrainingSetup(Dataset("wide", rows, rows[:5], rows[:5], "bits", "none"), 16))
    with pytest.raises(BadInput, match="a visitor has 20 MB"):
        comparison.add(make_trainer("pt", n_chains=1000))
    comparison.add(make_trainer("cd"))
    with pytest.raises(BadInput, match="a visitor has 20 MB"):
        comparison.change(comparison.setup._replace(n_hidden=2000))
    with pytest.raises(BadInput, match="a visitor has 20 MB"):
        comparison.change(comparison.setup._replace(replicates=200))


def test_pages_left_behind_sleep_or_rest_where_room_is_short(server, comparison_of, monkeypatch):
    monkeypatch.setenv("RBMVIZ_RUNS", "3")
    visitor = VisitorUsage(server)
    left = comparison_of(SamplingSetup(WIDE), visitor, "sample")
    for _ in range(2):
        left.add(make_sampler("gibbs"))
    left.resume()
    wait(lambda: all(s.n > 5 for _, s in left.poll()), "samples")
    here = comparison_of(SamplingSetup(WIDE), visitor, "other")
    assert left.awake == 2
    for _ in range(3):
        here.add(make_sampler("gibbs"))
    with pytest.raises(BadInput, match=r"may run 3 panels at a time: close one first, .* RBMVIZ_RUNS"):
        here.add(make_sampler("gibbs"))
    visitor.visit("other", "other", here)  # as every run of the page does
    assert left.awake == 0
    # Memory: the page left behind gives its own back, and is rebuilt on its next visit.
    n = [s.n for _, s in left.peek()]
    monkeypatch.setenv("RBMVIZ_SESSION_MB", str(visitor.bytes(but=left) // 10**6 + 5))
    here.apply_knobs(here.panels[0].key, n_chains=10)
    assert all(panel.worker.at_rest for panel in left.panels)
    monkeypatch.setenv("RBMVIZ_SESSION_MB", "500")
    visitor.visit("sample", "sample", left)
    left.open()
    wait(lambda: all(s.n > was for (_, s), was in zip(left.poll(), n, strict=True)), "more samples")


def test_a_full_server_says_so_and_lost_visitors_give_way(comparison_of, model, monkeypatch):
    first = comparison_of(SamplingSetup(WIDE))
    first.add(make_sampler("gibbs"))
    monkeypatch.setenv("RBMVIZ_SERVER_MB", str(BASE_MB + first._visitor.bytes() // 10**6 + 5))
    second = comparison_of(SamplingSetup(WIDE))
    with pytest.raises(BadInput, match=r"server is full: .* Close tabs .* RBMVIZ_SERVER_MB"):
        second.add(make_sampler("gibbs"))
    assert not second.panels
    first.close()  # a lost connection, the ten seconds not yet over
    second.add(make_sampler("gibbs"))
    assert first.panels[0].worker.at_rest
    with pytest.raises(BadInput, match="server is full"):
        first.open()  # and so it stays at rest, with nothing lost
    assert first.panels[0].worker.at_rest


def test_uploads_and_models_count(server, comparison_of, model, monkeypatch):
    monkeypatch.setenv("RBMVIZ_SESSION_MB", "100")
    visitor = VisitorUsage(server)
    visitor.keep("one", 60 * 10**6)
    with pytest.raises(BadInput, match="would take 120 MB"):
        visitor.keep("two", 60 * 10**6)
    visitor.keep("one", 70 * 10**6)  # another one in its place
    with pytest.raises(BadInput, match="would take 101 MB"):
        visitor.keep("one", 101 * 10**6)
    assert visitor.bytes() == 70 * 10**6
    visitor.keep("one", 0)
    assert visitor.bytes() == 0


# The count against the memory


COUNTED = {
    "Gibbs": lambda rows: (SamplingSetup(wide(), rows), make_sampler("gibbs"), 6000, 2),
    "ten chains": lambda rows: (SamplingSetup(wide(), rows), make_sampler("gibbs", n_chains=10), 6000, 2),
    "trainer": lambda rows: (TrainingSetup(rows, 200, replicates=2), make_trainer("pcd"), 20, 2.5),
    "weights": lambda rows: (WeightSetup(wide(), rows), make_trainer("pop_cd", n_chains=500), 30, 2.5),
    "coupling": lambda rows: (CouplingSetup(wide().rbm, rows), Coupling(scale=0.01), 5, 2.5),
}


def paused_at(comparison, n):
    wait(
        lambda: comparison.poll()[0][1].n >= n and comparison.peek()[0][1].status == "paused",
        f"{n} steps",
    )


@pytest.mark.parametrize("kind", COUNTED)
def test_what_is_counted_is_what_is_taken(comparison_of, kind, monkeypatch):
    monkeypatch.setattr(recorder, "MAX_HELD_SAMPLES", 5000)  # all that is kept is there soon
    g = np.random.default_rng(0)
    rows = g.integers(0, 2, (2000, 784), dtype=np.uint8)
    data = Dataset("wide", rows[:1000], rows[1000:1500], rows[1500:], "bits", "none")
    chain_diagnostics(chains_apart(g.random(400), 4))  # imports a lot, in a thread of its own
    for traced in (False, True):  # the first one imports and compiles
        setup, algorithm, steps, most = COUNTED[kind](data)  # nothing is shared with the first one
        gc.collect()
        if traced:
            tracemalloc.start()
        comparison = comparison_of(setup)
        panel = comparison.add(algorithm)
        comparison.step(steps)
        paused_at(comparison, steps)
        counted = comparison.bytes()
        assert panel.worker.plan.bytes(algorithm) == counted
        # No thread may work while tracing begins or ends: Python 3.11 dies of it.
        comparison.close()
        panel.worker.join(PATIENCE)
    gc.collect()
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert taken < 1.25 * counted < 1.25 * most * taken, (
        f"{taken / 1e6:.1f} MB taken, {counted / 1e6:.1f} MB counted"
    )


# Giving memory back


def test_closed_races_rest_after_a_while_unless_they_are_opened_again(comparison_of, model):
    janitor = Janitor()
    gone, back, never = (comparison_of(SamplingSetup(model)) for _ in range(3))
    for comparison in (gone, back, never):
        comparison.add(make_sampler("gibbs"))
    janitor.close(back, 0.2)
    back.open()
    janitor.close(gone, 0.2)
    before = threading.active_count()
    janitor.close(never, 1000)
    assert threading.active_count() == before  # one thread for all
    wait(lambda: gone.panels[0].worker.at_rest, "a rest")
    assert not back.panels[0].worker.at_rest
    assert not never.panels[0].worker.at_rest


@pytest.mark.parametrize("comes_back", ["before", "meanwhile"])
def test_who_comes_back_while_the_runs_are_freed_finds_them_going(
    comparison_of, model, monkeypatch, comes_back
):
    comparison = comparison_of(SamplingSetup(model))
    comparison.set_rate(1000)
    comparison.add(make_sampler("gibbs"))
    comparison.resume()
    wait(lambda: comparison.poll()[0][1].n > 0, "samples")
    worker, freed = comparison.panels[0].worker, threading.Event()
    rest, free = worker.rest, comparison.rest

    def rest_of_worker():
        if comes_back == "meanwhile":
            comparison.open()
        rest()

    def rest_and_tell(closed_at):
        free(closed_at)
        freed.set()

    monkeypatch.setattr(worker, "rest", rest_of_worker)
    monkeypatch.setattr(comparison, "rest", rest_and_tell)
    if comes_back == "before":
        comparison.before_rest = comparison.open
    Janitor().close(comparison, 0)
    assert freed.wait(PATIENCE)
    n = comparison.poll()[0][1].n
    wait(lambda: comparison.poll()[0][1].n > n and not worker.at_rest, "more samples")


REST = """
import sys
import time
import numpy as np
from rbmviz import RBM, Model
from rbmviz.samplers import make_sampler
from rbmviz.session import Comparison, SamplingSetup
from rbmviz.session.release import trim

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

rbm = RBM(np.zeros((784, 200)), np.zeros(784), np.zeros(200))
comparison = Comparison(SamplingSetup(Model(rbm)))
for _ in range(4):
    comparison.add(make_sampler("gibbs"))
comparison.step(2000)
while not all(s.n == 2000 for _, s in comparison.poll()):
    time.sleep(0.01)
for panel in comparison.panels:
    panel.worker.read(lambda run: run.recorder._ring.fill(1))
trim()
full = resident()
comparison.close()
comparison.rest()
trim()
end = time.monotonic() + float(sys.argv[1])
while full - resident() < 25e6 and time.monotonic() < end:  # until the threads have left, too
    time.sleep(0.1)
    trim()
print(full - resident())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc and trims glibc's memory")
def test_a_rest_gives_the_memory_back():
    """To the system: 8 MB of samples a panel, and its state; in a process that has nothing else in it."""
    command = [sys.executable, "-c", REST, str(PATIENCE / 2)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert int(done.stdout) > 25e6, done.stderr


def test_a_plan_of_many_replicates_is_refused_before_it_begins(comparison_of, toy):
    assert TrainingPlan(toy, 10**6).bytes(make_trainer("cd")) > 500e6
    comparison = comparison_of(TrainingSetup(toy, 10**7))
    begin = time.monotonic()
    with pytest.raises(BadInput, match="a visitor has"):
        comparison.add(make_trainer("cd"))
    assert time.monotonic() - begin < 5
