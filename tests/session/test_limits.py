"""Limits of a page, a visitor and a server: a refusal is one sentence, before anything is created."""

import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest
from waiting import PATIENCE, wait

from rbmviz import RBM, BadInput, Model, make_sampler, make_trainer
from rbmviz.datasets import Dataset
from rbmviz.session import (
    SamplingSetup,
    TrainingPlan,
    TrainingSetup,
    VisitorUsage,
    limits,
)
from rbmviz.session.limits import BASE_MB
from rbmviz.session.release import close_and_free


def wide():
    return Model(RBM(np.zeros((784, 500)), np.full(784, -1.0), np.zeros(500)))


WIDE = wide()


@pytest.fixture
def server():
    return weakref.WeakSet()


@pytest.fixture
def comparison_of(open_comparison, server):
    """Make comparisons of visitors."""

    def make(setup, visitor=None, page="sample"):
        visitor = visitor or VisitorUsage(server)
        comparison = open_comparison(setup, visitor=visitor)
        visitor.visit(page, comparison)
        return comparison

    return make


def test_settings_come_from_the_environment(monkeypatch):
    assert (limits().panels, limits().sweeps_of_visitor, limits().panels_with_copies) == (12, 5, 48)
    monkeypatch.setenv("RBMVIZ_PANELS", "3")
    monkeypatch.setenv("RBMVIZ_SWEEPS", "")
    assert (limits().panels, limits().sweeps, limits().panels_with_copies) == (3, 20, 12)
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
    monkeypatch.setenv("RBMVIZ_SERVER_MB", str(BASE_MB + 120))
    comparison = comparison_of(SamplingSetup(WIDE))
    panel = comparison.add(make_sampler("rates_fpcd"))
    run = panel.worker.peek().run
    with pytest.raises(BadInput, match=r"This would take 3,[0-9]+ MB .* RBMVIZ_SERVER_MB"):
        comparison.apply_knobs(panel.key, n_chains=1000)
    with pytest.raises(BadInput, match="a visitor may have 60 MB"):
        comparison.add(make_sampler("rates_fpcd", n_chains=100))
    wider = Model(RBM(np.zeros((784, 4000)), np.zeros(784), np.zeros(4000)))
    with pytest.raises(BadInput, match="a visitor may have 60 MB"):
        comparison.change(SamplingSetup(wider))
    assert (panel.worker.algorithm.n_chains, panel.worker.peek().run, comparison.setup.model) == (
        1,
        run,
        WIDE,
    )
    comparison.apply_knobs(panel.key, eps=0.1, n_chains=2)
    assert panel.worker.algorithm.n_chains == 2


def test_trainers_count_their_chains_and_hidden_units(comparison_of, toy, monkeypatch):
    monkeypatch.setenv("RBMVIZ_SERVER_MB", str(BASE_MB + 40))
    rows = np.random.default_rng(0).integers(0, 2, (50, 784), dtype=np.uint8)
    comparison = comparison_of(TrainingSetup(Dataset("wide", rows, rows[:5], rows[:5], "bits", "none"), 16))
    with pytest.raises(BadInput, match="a visitor may have 20 MB"):
        comparison.add(make_trainer("pt", n_chains=1000))
    comparison.add(make_trainer("cd"))
    with pytest.raises(BadInput, match="a visitor may have 20 MB"):
        comparison.change(comparison.setup._replace(n_hidden=2000))
    with pytest.raises(BadInput, match="a visitor may have 20 MB"):
        comparison.change(comparison.setup._replace(replicates=200))


def test_a_visitor_may_have_half_of_what_the_others_leave(server, comparison_of, monkeypatch):
    monkeypatch.setenv("RBMVIZ_SERVER_MB", str(BASE_MB + 400))
    first, second = VisitorUsage(server), VisitorUsage(server)
    with pytest.raises(BadInput, match=r"take 201 MB .* may have 200 MB, half of what the server has free"):
        first.keep("a", 201 * 10**6)
    first.keep("a", 200 * 10**6)
    with pytest.raises(BadInput, match="may have 100 MB"):
        second.keep("a", 101 * 10**6)
    second.keep("a", 100 * 10**6)
    assert (first.most(), second.most(), second.room()) == (150 * 10**6, 100 * 10**6, 100 * 10**6)
    first.keep("a", 180 * 10**6)  # more than the half that it may have now, and less than it had
    with pytest.raises(BadInput, match="may have 150 MB"):
        first.keep("a", 190 * 10**6)
    assert first.bytes() == 180 * 10**6


def test_whoever_has_more_than_the_half_goes_on_with_as_much_or_less(server, comparison_of, monkeypatch):
    comparison = comparison_of(SamplingSetup(WIDE))
    panels = [comparison.add(make_sampler("gibbs")) for _ in range(3)]
    monkeypatch.setenv("RBMVIZ_SERVER_MB", str(BASE_MB + 2))
    comparison.change(SamplingSetup(WIDE, seed=1))
    with pytest.raises(BadInput, match="and a visitor may have 1 MB"):
        comparison.add(make_sampler("gibbs"))
    comparison.remove(panels[0].key)
    comparison.apply_knobs(panels[1].key, k=2)
    assert len(comparison.panels) == 2


def test_no_run_of_anybody_is_freed_for_another(server, comparison_of, monkeypatch):
    visitor = VisitorUsage(server)
    left = comparison_of(SamplingSetup(WIDE), visitor, "sample")
    left.add(make_sampler("gibbs"))
    here, other = (comparison_of(SamplingSetup(WIDE), who, "other") for who in (visitor, None))
    monkeypatch.setenv("RBMVIZ_SERVER_MB", str(BASE_MB + 2 * visitor.bytes() // 10**6 + 2))
    left.close()  # a lost connection, the ten seconds not yet over
    for comparison in (here, other):
        with pytest.raises(BadInput, match=r"close tabs .* RBMVIZ_SERVER_MB"):
            comparison.add(make_sampler("gibbs"))
        assert not comparison.panels
    assert not left.panels[0].worker.at_rest
    left.rest()
    other.add(make_sampler("gibbs"))
    with pytest.raises(BadInput, match="half of what the server has free"):
        left.open()  # and so it stays at rest, with nothing lost
    assert left.panels[0].worker.at_rest


def test_visitors_may_come_while_others_are_counted(server):
    interval, come = sys.getswitchinterval(), []
    first = VisitorUsage(server)
    sys.setswitchinterval(1e-6)
    try:
        thread = threading.Thread(target=lambda: come.extend(VisitorUsage(server) for _ in range(3000)))
        thread.start()
        while thread.is_alive():
            assert first.most() > 0
    finally:
        sys.setswitchinterval(interval)
        thread.join()
    assert len(come) == 3000


def test_uploads_and_models_count(server, comparison_of, model, monkeypatch):
    monkeypatch.setenv("RBMVIZ_SERVER_MB", str(BASE_MB + 200))
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


# Giving memory back


def test_closed_races_rest_after_a_while_unless_they_are_opened_again(comparison_of, model):
    gone, back, never = (comparison_of(SamplingSetup(model)) for _ in range(3))
    for comparison in (gone, back, never):
        comparison.add(make_sampler("gibbs"))
    close_and_free(back, 0.2)
    back.open()
    close_and_free(gone, 0.2)
    close_and_free(never, 1000)
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
        monkeypatch.setattr(
            comparison, "rest", lambda closed_at: (comparison.open(), rest_and_tell(closed_at))
        )
    close_and_free(comparison, 0)
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
    with pytest.raises(BadInput, match="a visitor may have"):
        comparison.add(make_trainer("cd"))
    assert time.monotonic() - begin < 5
