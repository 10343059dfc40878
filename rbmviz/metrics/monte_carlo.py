"""The log-likelihood as a Monte Carlo average over chains that start at the scored rows themselves."""

from collections.abc import Iterator

import numpy as np

from rbmviz import kernels, rng
from rbmviz.datasets import AnyData, rows_of
from rbmviz.files.budget import check_memory
from rbmviz.rbm import RBM
from rbmviz.rbm.files import AnyModel, as_rbm
from rbmviz.registry import metric
from rbmviz.support import checks
from rbmviz.support.blas import one_blas_thread

MONTE_CARLO_CHAINS, MONTE_CARLO_SWEEPS = 100, 10
"""Chains per row, and sweeps of each: the numbers of the authors' program."""

MAX_MONTE_CARLO = 1_000_000
"""Maximum number of chains per row, and of sweeps."""

CHAINS_AT_ONCE = 4096
"""Approximate number of chains that share a matrix product."""


def monte_carlo_steps(
    rbm: RBM, v: np.ndarray, *, chains: int, sweeps: int, seed: rng.Seed = 0
) -> Iterator[np.ndarray]:
    """Yield the terms of ``monte_carlo_likelihood``, float64 (rows,), for some rows at a time, in order."""
    v, seed = v.astype(np.float32), rng.seed_sequence(seed)
    up, down = rbm.W, np.ascontiguousarray(rbm.W.T)
    wide = rbm.b.astype(np.float64)
    rows = max(1, CHAINS_AT_ONCE // chains)
    for i in range(0, len(v), rows):
        with one_blas_thread():
            stream = rng.kernel_state(seed, "monte_carlo", i)
            scored = np.repeat(v[i : i + rows], chains, axis=0)
            at = scored
            for _ in range(sweeps):
                h = at @ up
                kernels.random.bernoulli_rows(stream, h, rbm.c, h, h)
                at = h @ down
                kernels.random.bernoulli_rows(stream, at, rbm.b, at, at)
            h = at @ up
            kernels.random.bernoulli_rows(stream, h, rbm.c, h, h)
            x = h @ down
        # log p(v|h) = v.(x + b) - sum softplus(x + b); the kernel leaves out log 2 for each unit.
        softplus = np.full(len(x), rbm.n_visible * np.log(2))
        kernels.annealing.add_log_ratio(x, 1.0, 0.0, wide, softplus)
        logs = (scored * (x + rbm.b)).sum(axis=1, dtype=np.float64) - softplus
        yield np.logaddexp.reduce(logs.reshape(-1, chains), axis=1) - np.log(chains)


@metric("monte_carlo_likelihood")
def monte_carlo_likelihood(
    rbm: AnyModel,
    v: AnyData,
    *,
    chains: int = MONTE_CARLO_CHAINS,
    sweeps: int = MONTE_CARLO_SWEEPS,
    seed: rng.Seed = 0,
) -> float:
    """Return the mean log-likelihood of data as the authors of unbiased CD approximate it, in nats per row.

    For each row v, chains start *at v*, make some Gibbs sweeps, and draw h once more; p(v) is the mean of
    p(v|h) over the chains. The logarithm of a mean of few terms is too low on average (Jensen's inequality),
    and most for a model that has memorised rows, if its chains leave them and do not come back. Then the
    number punishes over-fitting, which the likelihood of the training rows rewards.

    It also flatters: where chains do not leave their rows in so few sweeps, p(v|h) is near 1. A model by PCD
    that has diverged on Bars and Stripes has -0.13 by it and exactly -13.1, and no model can have more than
    -3.38 (``highest_log_likelihood``): a higher value is a sign of such chains. It needs no log Z.

    Parameters
    ----------
    rbm : RBM, Model, name or file
        Model of any size.
    v : uint8 (n, n_visible), or a data set, name or file
        Rows of 0 and 1; of a data set its test part.
    chains : int
        Chains per row (default 100).
    sweeps : int
        Gibbs sweeps of each chain (default 10); 0 scores the reconstruction of the row.
    seed : int, SeedSequence or Generator
        The same seed gives the same number.

    Raises
    ------
    BadInput
        If the data do not fit the model, a number is out of range, or the chains of a row need more than the
        memory budget.

    Notes
    -----
    Paper unbiased CD, section 6.2 ("approximated by Monte Carlo averages"), and the function
    ``loglik_rbm_approx`` of its authors' program, without that program's antithetic pairs.
    """
    rbm = as_rbm(rbm)
    v = rows_of("The data", v, rbm.n_visible)
    chains = checks.whole("monte_carlo_likelihood: chains", chains, 1, MAX_MONTE_CARLO)
    sweeps = checks.whole("monte_carlo_likelihood: sweeps", sweeps, 0, MAX_MONTE_CARLO)
    needed = max(chains, CHAINS_AT_ONCE) * (20 * rbm.n_visible + 8 * rbm.n_hidden)  # float32: 5 v and 2 h
    check_memory(f"monte_carlo_likelihood: {chains:,} chains for a row", needed, "take fewer")
    steps = monte_carlo_steps(rbm, v, chains=chains, sweeps=sweeps, seed=seed)
    return float(np.concatenate([np.zeros(0), *steps]).mean())
