"""What an algorithm says of the size of its state, against what ``init`` really takes."""

import gc
import tracemalloc

import numpy as np
import pytest

from rbmviz import RBM, Model, list_samplers, list_trainers, make_sampler, make_trainer
from rbmviz.knobs import knobs_of

SIZES = [(4, 3), (300, 200)]
DATA = {m: np.random.default_rng(m).integers(0, 2, (30, m), dtype=np.uint8) for m, _ in SIZES}
OF_SAMPLERS = [{}, {"n_chains": 60}, {"n_chains": 60, "share": True}]
OF_TRAINERS = [{"n_chains": 1}, {"n_chains": 150, "n_temperatures": 30, "batch_size": 20, "momentum": 0.5}]
"""Knobs that an algorithm does not have are left out."""


def taken(make) -> int:
    """Return the bytes that a second call takes and keeps: the first one compiles and fills caches."""
    make()
    gc.collect()
    gc.freeze()  # else the second collection looks through all that was there before
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    kept = make()
    gc.collect()
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    gc.unfreeze()
    del kept
    return after - before


def fresh_rbm(m: int, n: int) -> RBM:
    return RBM(np.ones((m, n)), np.zeros(m), np.zeros(n))


def with_knobs(make, name: str, knobs: dict):
    known = knobs_of(make(name))
    return make(name, **{key: value for key, value in knobs.items() if key in known})


@pytest.mark.parametrize(("m", "n"), SIZES)
@pytest.mark.parametrize("knobs", OF_SAMPLERS, ids=str)
@pytest.mark.parametrize("name", list_samplers())
def test_a_sampler_knows_what_its_state_takes(name, knobs, m, n):
    sampler = with_knobs(make_sampler, name, knobs)
    # Models of their own: what their chains share is kept with them.
    models = iter([Model(rbm := fresh_rbm(m, n), rbm.rates(DATA[m])) for _ in range(2)])
    truth = taken(lambda: sampler.init(next(models), 0))
    assert truth <= sampler.state_bytes(m, n) <= 2 * truth


@pytest.mark.parametrize(("m", "n"), SIZES)
@pytest.mark.parametrize("knobs", OF_TRAINERS, ids=str)
@pytest.mark.parametrize("name", list_trainers())
def test_a_trainer_knows_what_its_state_takes(name, knobs, m, n):
    trainer, rbm = with_knobs(make_trainer, name, knobs), fresh_rbm(m, n)
    truth = taken(lambda: trainer.init(rbm, DATA[m], 0))
    assert truth <= trainer.state_bytes(m, n) <= 2 * truth
