"""Bias and variance of gradient estimators against the exact gradient (population CD, section 4.1)."""

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from rbmviz import rng
from rbmviz.errors import BadInput
from rbmviz.metrics import exact_gradient, too_large
from rbmviz.rbm import RBM
from rbmviz.trainers import Trainer, make_trainer, training
from rbmviz.trainers.parameters import FixedParameters

RUNS = 20
"""Independent runs among which the estimates are divided; standard errors come from their spread."""

CHAIN_BURN_IN = 1000
"""Updates of persistent chains before the first estimate of a run."""


@dataclass(frozen=True)
class GradientQuality:
    """Squared bias and variance of one estimator, both per parameter, as in the paper's table 1.

    Parameters
    ----------
    bias : float
        Squared distance of the mean of all estimates to the exact gradient, divided by the number of
        parameters. From finitely many estimates it is too large, by at most about variance / replications:
        for an unbiased estimator it has about this value, not 0.
    bias_corrected : float
        ``bias`` minus the squared error of the mean, estimated from the runs; unbiased, may be negative.
    std_error : float
        Standard error of ``bias_corrected`` (and of ``bias``), by the jackknife over the runs.
    variance : float
        Mean squared distance of the estimates to their mean, over the number of parameters.
    replications : int
        Number of estimates.
    share_cut : float
        Share of all pairs of coupled chains that were cut off before they met, from 0 to 1; 0 for estimators
        without pairs. An unbiased estimator that has cut pairs is biased.
    """

    bias: float
    bias_corrected: float
    std_error: float
    variance: float
    replications: int
    share_cut: float = 0.0


@dataclass(frozen=True, eq=False)
class EstimatorRun:
    """The estimates of one independent run.

    Attributes
    ----------
    n : int
        Number of estimates.
    mean : float64 (parameters,)
        Their mean.
    square : float
        The mean of their squared lengths.
    share_cut : float
        Share of the pairs that were cut off, see GradientQuality.
    """

    n: int
    mean: np.ndarray
    square: float
    share_cut: float = 0.0


def _flat(parameters: Any) -> np.ndarray:
    return np.concatenate([np.ravel(x) for x in (parameters.W, parameters.b, parameters.c)], dtype=np.float64)


def gradient_runs(
    rbm: RBM,
    data: np.ndarray,
    trainer: Trainer,
    replications: int = 1000,
    seed: rng.Seed = 0,
    burn_in: int = CHAIN_BURN_IN,
) -> Iterator[EstimatorRun]:
    """Yield the 20 runs of ``gradient_quality`` one by one, for callers with a progress bar."""
    if trainer.chains == "driven":
        raise BadInput(
            f"gradient: the chains of {trainer.name} need updates, and none are made here: choose pcd."
        )
    if replications < 2 * RUNS or burn_in < 0:
        raise BadInput(
            f"gradient: replications = {replications} must be at least {2 * RUNS}, "
            f"burn_in = {burn_in} at least 0."
        )
    each = -(-replications // RUNS)
    for index in range(RUNS):
        yield next(itertools.islice(endless_run(rbm, data, trainer, index, seed, burn_in), each - 1, None))


def endless_run(
    rbm: RBM, data: np.ndarray, trainer: Trainer, index: int, seed: rng.Seed = 0, burn_in: int = CHAIN_BURN_IN
) -> Iterator[EstimatorRun]:
    """Yield the ``index``-th run after each of its estimates, without end."""
    state = trainer.init(rbm, data, rng.child(seed, "gradient", index))
    total, square, cut = np.zeros(sum(x.size for x in state.theta)), 0.0, 0.0
    share_cut = getattr(trainer, "share_cut", None)
    for _ in range(burn_in if trainer.chains == "persistent" else 0):
        trainer.negative(state, FixedParameters(*state.theta), data[:1].astype(np.float32))
    for n in itertools.count(1):
        found = _flat(training.gradient(trainer, state))
        total += found
        square += found @ found
        cut += share_cut(state) if share_cut else 0.0
        yield EstimatorRun(n, total / n, square / n, cut / n)


def quality(exact: np.ndarray, runs: Iterable[EstimatorRun]) -> GradientQuality:
    """Return bias and variance, estimated from runs, of an estimator of ``exact``, float64 (parameters,)."""
    runs = list(runs)
    n = sum(run.n for run in runs)
    errors = np.array([run.mean for run in runs]) - exact
    products = errors @ errors.T / len(exact)

    def unbiased(products: np.ndarray) -> float:
        # The mean over pairs of different runs, whose errors are independent.
        k = len(products)
        return float((products.sum() - np.trace(products)) / (k * (k - 1)))

    without = [unbiased(np.delete(np.delete(products, i, axis=0), i, axis=1)) for i in range(len(runs))]
    k = len(runs)
    mean = np.mean([run.mean for run in runs], axis=0)
    variance = (np.mean([run.square for run in runs]) - mean @ mean) / len(exact) * n / (n - 1)
    return GradientQuality(
        bias=float(products.mean()),
        bias_corrected=unbiased(products),
        std_error=float(np.sqrt((k - 1) * np.var(without))),
        variance=max(float(variance), 0.0),  # rounding can make it negative if all estimates are equal
        replications=n,
        share_cut=float(np.mean([run.share_cut for run in runs])),
    )


def exact_direction(rbm: RBM, data: np.ndarray) -> np.ndarray:
    """Return the exact gradient of the mean log-likelihood of the rows, flat, float64 (parameters,)."""
    if refusal := too_large(rbm):
        raise BadInput(f"{refusal}, and a bias is measured against the exact gradient.")
    return _flat(exact_gradient(rbm, data))


def gradient_quality(
    rbm: RBM,
    data: np.ndarray,
    trainer: Trainer | str,
    replications: int = 1000,
    seed: rng.Seed = 0,
    burn_in: int = CHAIN_BURN_IN,
    **knobs: Any,
) -> GradientQuality:
    """Measure bias and variance of a trainer's gradient estimate at fixed parameters.

    As in population CD, section 4.1: the bias is the squared distance between the mean of many estimates and
    the true gradient of the whole training set, the variance the mean squared distance of the estimates to
    their mean, both divided by the number of parameters. There are two differences: the true gradient is
    enumerated (the paper uses 200,000 samples of parallel tempering), and ``bias_corrected`` is free of the
    noise of the mean.

    An estimate is the gradient of one update: the next mini-batch of ``batch_size`` rows gives the positive
    statistics and, if chains start at data, the starts. Batches are drawn in whole epochs, as in training, so
    that the mean contains little of their noise. Persistent chains (pcd, pt, herding) sample the fixed model,
    for ``burn_in`` updates before the first estimate of a run.

    ``ucd`` is unbiased only as far as its pairs meet: read ``bias`` together with ``share_cut``. On the
    shipped bas_cd1 some 1 % of the pairs are cut at its default t_max of 100.

    Measured (16 hidden units, CD-1 at rate 0.1 for 10,000 updates, batches of 32 and 500): the bias of CD-1
    over that of pop-CD-1 is 16 to 142 on six models of Bars and Stripes, 91 with seed 0 (paper: 156). On
    Artificial Modes it is 0.157 for CD-1 and not measurable for pop-CD-1, 1e-10 in 50,000 estimates (paper:
    8e-9, the noise of batches that are drawn independently of each other).

    Parameters
    ----------
    rbm : RBM
        At most 25 units in the smaller layer.
    data : uint8 (n, n_visible)
        The training set.
    trainer : Trainer or str
        A trainer, or its name with its knobs; fpcd has no gradient apart from its updates and is refused.
    replications : int
        Estimates (default 1000, paper 50,000), at least 40, rounded up to a multiple of 20.
    seed : int, SeedSequence or Generator
        Same seed, same estimates.
    burn_in : int
        Updates of persistent chains before the first estimate (default 1000).

    Raises
    ------
    BadInput
        If a size does not fit.
    """
    if isinstance(trainer, str):
        trainer = make_trainer(trainer, **knobs)
    exact = exact_direction(rbm, data)
    return quality(exact, gradient_runs(rbm, data, trainer, replications, seed, burn_in))
