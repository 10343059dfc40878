"""Steps that take long: where they run, when they stop, which are refused; seconds of the first samples."""

import math
import time

import numpy as np
import pytest
from waiting import wait

from rbmviz import BadInput, load_dataset, load_model
from rbmviz.samplers import make_sampler
from rbmviz.session import Race, SamplingSetup, TrainingSetup, WeightSetup
from rbmviz.session import race as race_module
from rbmviz.trainers import batches, make_trainer, train

LONG = {"n_chains": 10_000, "k": 1000}
"""With 2,000 hidden units, an update of these chains takes many minutes."""


@pytest.fixture
def pages():
    opened = []

    def add(setup, *algorithms, rate=math.inf):
        page = Race(setup, rate)
        opened.append(page)
        for algorithm in algorithms:
            page.add(algorithm)
        page.resume()
        return page

    yield add
    for page in opened:
        page.close()


def n_of(page):
    return page.poll()[0][1].n


@pytest.fixture
def long_update(pages, monkeypatch):
    """Open pages in the midst of their first update, which takes many minutes."""
    swept, stop_point = [], batches.stop_point
    monkeypatch.setattr(batches, "stop_point", lambda: swept.append(1) or stop_point())
    monkeypatch.setenv("RBMVIZ_STEP_SECONDS", "1000000")

    def add():
        page = pages(TrainingSetup(load_dataset("digits"), 2000), make_trainer("pcd", **LONG))
        wait(lambda: swept, "a sweep of a long update")
        return page

    return add


def test_long_updates_of_a_page_leave_other_pages_their_updates(pages, long_update):
    other = pages(TrainingSetup(load_dataset("digits"), 8), make_trainer("pcd", n_chains=10))
    wait(lambda: n_of(other) > 10, "updates")
    long, begun = [long_update(), long_update()], n_of(other)
    wait(lambda: n_of(other) > begun + 100, "updates beside long ones")
    assert [n_of(page) for page in long] == [0, 0]  # negative control: their first updates still ran


def test_long_update_stops_when_its_page_has_gone(long_update):
    page = long_update()
    page.close()
    wait(lambda: not page.works, "the end of the update")
    assert n_of(page) == 0  # it stopped after a sweep


def test_stopped_update_is_repeated(pages):
    digits, trainer = load_dataset("digits"), make_trainer("pcd", n_chains=2000, k=20)
    page = pages(TrainingSetup(digits, 500), trainer)
    wait(lambda: n_of(page) >= 1, "an update")
    page.close()
    wait(lambda: not page.works, "the end of the update")
    page.open()
    page.step()
    wait(lambda: page.poll()[0][1].status == "paused", "the update again")
    n, rbm = n_of(page), page.poll()[0][1].models[0]
    np.testing.assert_array_equal(rbm.W, list(train(digits, trainer, 500, n))[-1].rbm.W)


def test_memory_of_others_is_freed_while_a_long_update_runs(pages, long_update, monkeypatch):
    monkeypatch.setattr(race_module, "RELEASE_SECONDS", 0.0)
    left = pages(SamplingSetup(load_model("bas_pcd")), make_sampler("gibbs"))
    wait(lambda: n_of(left) > 10, "samples")
    long = long_update()
    left.close()
    wait(lambda: left.panels[0].is_freed, "the memory of the page that was left")
    assert n_of(long) == 0  # its first update still runs


def test_step_too_large_for_a_shared_page_is_refused(pages, monkeypatch):
    page = pages(TrainingSetup(load_dataset("digits"), 2000), make_trainer("pcd", n_chains=1000))
    with pytest.raises(BadInput, match=r"^Too large for a shared page: one step .* RBMVIZ_STEP_SECONDS\.$"):
        page.add(make_trainer("pcd", n_chains=10_000, k=1000))
    with pytest.raises(BadInput, match="Too large for a shared page"):
        page.apply_knobs(0, k=1000, batch_size=10_000)
    page.set_live_knobs(0, k=1000, batch_size=10_000)  # while it is dragged, the value is only not taken
    assert (len(page.panels), page.wanted[0][1].k) == (1, 1)
    weights = pages(WeightSetup(load_model("mnist_fpcd")))
    with pytest.raises(BadInput, match="Too large for a shared page"):
        weights.add(make_trainer("pop_cd", n_chains=10_000, k=1000))
    monkeypatch.setenv("RBMVIZ_STEP_SECONDS", "1000000")
    weights.add(make_trainer("pop_cd", n_chains=10_000, k=1000))


def test_seconds_of_samples_do_not_count_what_other_panels_load(pages, monkeypatch):
    """A panel that waits for the interpreter while others load their kernels takes no processor time."""
    gibbs = make_sampler("gibbs")
    step = type(gibbs).step
    monkeypatch.setattr(type(gibbs), "step", lambda *given: time.sleep(0.05) or step(*given))
    page = pages(SamplingSetup(load_model("bas_pcd"), load_dataset("bas")), gibbs, rate=60.0)
    wait(lambda: page.poll()[0][1].curve, "scores")
    assert page.poll()[0][1].curve[0].spent.seconds < 0.01
