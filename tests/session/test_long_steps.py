"""Steps that take long: where they run, when they stop, which are refused; seconds of the first samples."""

import math
import threading
import time

import numpy as np
import pytest
from waiting import wait

from rbmviz import BadInput, load_dataset, load_model
from rbmviz.samplers import make_sampler
from rbmviz.session import Race, SamplingSetup, TrainingSetup, WeightSetup
from rbmviz.session import race as race_module
from rbmviz.trainers import batches, make_trainer, train

LONG = {"n_chains": 1000, "k": 100}
"""With 500 hidden units, an update of these chains takes about a second."""


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


def test_long_updates_of_a_page_leave_other_pages_their_updates(pages):
    digits = load_dataset("digits")
    long = [pages(TrainingSetup(digits, 500, seed), make_trainer("pcd", **LONG)) for seed in range(2)]
    other = pages(TrainingSetup(digits, 8), make_trainer("pcd", n_chains=10))
    wait(lambda: n_of(other) > 100, "updates beside long ones")
    assert max(map(n_of, long)) < 3  # negative control: their first updates still ran


def test_long_update_stops_when_its_page_has_gone_and_is_made_again(pages):
    digits, trainer = load_dataset("digits"), make_trainer("pcd", n_chains=2000, k=20)
    page = pages(TrainingSetup(digits, 500), trainer)
    wait(lambda: n_of(page) >= 1, "an update")
    begin = time.monotonic()
    page.close()
    wait(lambda: not page.works, "the end of the update")
    assert time.monotonic() - begin < 1
    page.open()
    page.step()
    wait(lambda: page.poll()[0][1].status == "paused", "the update again")
    n, rbm = n_of(page), page.poll()[0][1].models[0]
    np.testing.assert_array_equal(rbm.W, list(train(digits, trainer, 500, n))[-1].rbm.W)


def test_memory_of_others_is_freed_while_a_long_update_runs(pages, monkeypatch):
    begun, stop_point = threading.Event(), batches.stop_point
    monkeypatch.setattr(race_module, "RELEASE_SECONDS", 0.0)
    digits = load_dataset("digits")
    left = pages(SamplingSetup(load_model("bas_pcd")), make_sampler("gibbs"))
    wait(lambda: n_of(left) > 10, "samples")
    monkeypatch.setattr(batches, "stop_point", lambda: begun.set() or stop_point())
    monkeypatch.setenv("RBMVIZ_STEP_SECONDS", "1000000")
    long = pages(TrainingSetup(digits, 2000), make_trainer("pcd", n_chains=10_000, k=1000))
    wait(begun.is_set, "a sweep of a long update")
    left.close()
    wait(lambda: left.panels[0].is_freed, "the memory of the page that was left")
    assert n_of(long) == 0  # its first update still runs


def test_step_too_large_for_a_shared_page_is_refused(pages, monkeypatch):
    digits = load_dataset("digits")
    page = pages(TrainingSetup(digits, 2000), make_trainer("pcd", n_chains=1000))
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


def test_seconds_of_first_samples_do_not_count_what_other_panels_load(pages):
    samplers = [make_sampler(name) for name in ("gibbs", "rates_fpcd", "rates_herding")]
    page = pages(SamplingSetup(load_model("bas_pcd"), load_dataset("bas")), *samplers, rate=60.0)
    wait(lambda: min(shown.n for _, shown in page.poll()) > 5, "samples")
    assert max(shown.curve[0].spent.seconds for _, shown in page.poll() if shown.curve) < 0.01
