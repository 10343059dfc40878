"""BLAS on one thread: the limit is the process's, and of overlapping blocks the last one takes it away."""

import contextlib
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from rbmviz import load_model
from rbmviz.metrics.ais import ais_blocks
from rbmviz.support import blas


def numpys_threads():
    """Return the threads of the BLAS that numpy has loaded."""
    return {one["num_threads"] for one in threadpool_info() if "numpy" in one["filepath"]}


@pytest.fixture(autouse=True)
def four_threads(monkeypatch):
    """Let BLAS take four threads; what other tests hold for good is put aside."""
    monkeypatch.setattr(blas, "_holders", 0)
    with threadpool_limits(limits=4, user_api="blas"):
        assert numpys_threads() == {4}, "numpy's BLAS is not there"
        yield


def test_blocks_that_overlap_keep_the_limit_until_the_last_ends():
    one, two = blas.one_blas_thread(), blas.one_blas_thread()
    with contextlib.ExitStack() as first:
        first.enter_context(one)
        two.__enter__()
    assert numpys_threads() == {1}  # the first has ended, the second goes on
    two.__exit__(None, None, None)
    assert numpys_threads() == {4}


def test_two_estimates_that_are_read_in_turn_restore_the_threads():
    model = load_model("bas_pcd")
    one, two = (ais_blocks(model, n_chains=64, betas=20, seed=seed) for seed in (0, 1))
    next(one), next(two)
    assert numpys_threads() == {1}
    list(one)
    assert numpys_threads() == {1}
    list(two)
    assert numpys_threads() == {4}


def test_any_thread_sets_and_restores_the_limit():
    """One that has held it before, and is still there, is no reason to leave BLAS as it is."""
    with ThreadPoolExecutor(1) as pool:
        for enter, leave in ((pool.submit, apply), (apply, pool.submit)):
            block = blas.one_blas_thread()
            enter(block.__enter__).result()
            assert numpys_threads() == {1}
            leave(block.__exit__, None, None, None).result()
            assert numpys_threads() == {4}


def apply(function, *arguments):
    """Call a function on this thread; a future, as a pool gives it."""
    done = Future()
    done.set_result(function(*arguments))
    return done
