"""The loop that all trainers share: positive statistics, the difference, the update rule, the progress.

A trainer computes its negative statistics, ``negative(state, theta, batch)``; ``updates`` does the rest. Both
read the trainer's knobs at every update, so that another trainer, with other knobs, takes effect with the
next update.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rbmviz import kernels, rng
from rbmviz.errors import BadInput
from rbmviz.rbm import MAX_PARAMETER, RBM, Statistics, sigmoid
from rbmviz.rbm.parameters import (
    FixedParameters,
    Padded,
    Parameters,
    Rows,
    add,
    difference,
    unpacked,
    zeros_like,
)
from rbmviz.support.blas import one_blas_thread
from rbmviz.support.stopping import stop_point
from rbmviz.trainers import Progress, check_data
from rbmviz.trainers.batches import Batches, mean_hidden, sweep, too_large, variances


@dataclass
class TrainingState:
    """State of one training: the next update depends on this state and on the trainer's knobs alone.

    Attributes
    ----------
    theta : Parameters
        The iterate, float32.
    batches : Batches
        The training data, and the order of the next rows.
    stream : uint32 (4, STREAM_LANES)
        Random stream of the kernels.
    starts_generator : Generator
        Draws the examples at which chains start.
    own_state : array, dataclass or None
        What the trainer keeps from update to update: persistent chains, float32 (n_chains, n_visible) with
        values 0 and 1, or a dataclass.
    velocity : Parameters or None
        Momentum, None while the knob is 0.
    mean, averaged : Parameters or None, int
        Mean of the last ``averaged`` iterates, float64, while the knob ``average`` is on.
    update, seconds : int, float
        Updates so far, and the time spent in them.
    gradient_norm : float
        Norm of the last gradient, NaN before the first update.
    sweeps : int
        Sweeps of all chains together so far; ``negative`` counts them.
    batch, samples : float32 (rows, n_visible) or None
        The mini-batch and the negative samples of the last update, values 0 and 1. None before the first
        update; ``samples``, which ``negative`` stores, is always None if the trainer draws none.
    """

    theta: Parameters
    batches: Batches
    stream: np.ndarray
    starts_generator: np.random.Generator
    own_state: Any
    velocity: Parameters | None = None
    mean: Parameters | None = None
    averaged: int = 0
    update: int = 0
    seconds: float = 0.0
    gradient_norm: float = float("nan")
    sweeps: int = 0
    batch: np.ndarray | None = None
    samples: np.ndarray | None = None


def start(trainer: Any, rbm: RBM, data: np.ndarray, seed: rng.Seed, own_state: Any = None) -> TrainingState:
    """Return the state of a training that begins at ``rbm``.

    Parameters
    ----------
    trainer : Trainer
        Its ``batch_size`` must not be larger than the data.
    rbm : RBM
        Its parameters are copied.
    data : uint8 (n, n_visible)
        The training rows.
    seed : int, SeedSequence or Generator
        Gives the random streams "data", "chain" and "starts".
    own_state : Any
        What the trainer keeps from update to update, see ``TrainingState``.

    Raises
    ------
    BadInput
        If ``check_data`` refuses the data, their width is not the model's, or a batch has more rows.
    """
    data = check_data(data)
    if data.shape[1] != rbm.n_visible:
        raise BadInput(f"The data have {data.shape[1]} columns and the model {rbm.n_visible} visible units.")
    if trainer.batch_size > len(data):
        raise too_large(trainer.batch_size, len(data))
    theta = Padded.of(Parameters(rbm.W, rbm.b, rbm.c))
    batches = Batches(data, rng.generator(seed, "data"))
    return TrainingState(
        theta, batches, rng.kernel_state(seed, "chain"), rng.generator(seed, "starts"), own_state
    )


MOST_SWEEPS = 64
"""Most sweeps in one call of a kernel: between two of them a run looks whether its page is there."""


def random_starts(state: TrainingState, n: int) -> np.ndarray:
    """Return n training examples as starts of chains, drawn with replacement, uint8 (n, n_visible)."""
    data = state.batches.data
    return data.take(state.starts_generator.integers(len(data), size=n), axis=0)


def sweep_chains(state: TrainingState, theta: FixedParameters, v: np.ndarray, k: int) -> np.ndarray:
    """Return the chains after k Gibbs sweeps, which the state counts; they are its newest samples."""
    for _ in range(k):
        v = sweep(theta, v, state.stream)
    state.samples = v
    state.sweeps += k * len(v)
    return v


def learning_rate_at(trainer: Any, t: int) -> float:
    """Return the learning rate of update t, which counts from 0.

    Schedules: "constant", "linear" (to zero at ``iterations``), "inverse_sqrt" (rate / sqrt(1 + t), as in
    paper UCD, corollary 1).
    """
    if trainer.schedule == "linear":
        return trainer.learning_rate * max(1 - t / trainer.iterations, 0.0)
    return trainer.learning_rate / ((1 + t) ** 0.5 if trainer.schedule == "inverse_sqrt" else 1.0)


def apply(trainer: Any, state: TrainingState, gradient: Parameters | Rows, measured: bool = False) -> None:
    """Make one update: theta <- clip(theta + learning_rate_at(t) (g - weight_decay W)), with momentum.

    Arrays change in place. If the knob ``box`` is not 0, every parameter is clipped to [-box, box] (paper
    UCD, algorithm 2, line 5). If ``average`` is on, the mean of the iterates is updated (line 7).

    Parameters
    ----------
    trainer : Trainer
        The knobs of the rule, see ``common_knobs.CommonKnobs``.
    state : TrainingState
        Its theta, velocity, mean and counts are updated in place.
    gradient : Parameters or Rows
        float32.
    measured : bool
        Whether the norm of the gradient is stored.
    """
    theta = state.theta = Padded.of(state.theta)
    rate = learning_rate_at(trainer, state.update)
    if trainer.momentum:
        velocity = state.velocity = Padded.of(state.velocity or zeros_like(theta))
        length = add(velocity, trainer.momentum, gradient, 1.0, measured)
        if trainer.weight_decay:
            b, c = velocity.b.copy(), velocity.c.copy()  # which do not decay
            velocity.matrix -= np.float32(trainer.weight_decay) * theta.matrix
            velocity.b[:], velocity.c[:] = b, c
        theta.matrix += np.float32(rate) * velocity.matrix
    else:
        state.velocity = None
        if trainer.weight_decay:
            b, c = theta.b.copy(), theta.c.copy()
            theta.matrix *= np.float32(1 - rate * trainer.weight_decay)
            theta.b[:], theta.c[:] = b, c
        length = add(theta, 1.0, gradient, rate, measured)
    if measured:
        state.gradient_norm = length
    if trainer.box:
        for x in theta:
            np.clip(x, -trainer.box, trainer.box, out=x)
    state.update += 1
    if not trainer.average:
        state.mean, state.averaged = None, 0
        return
    state.averaged += 1
    state.mean = state.mean or Parameters(*(np.zeros(x.shape) for x in state.theta))
    for mean, x in zip(state.mean, state.theta, strict=True):
        mean += (x - mean) / state.averaged


def _gradient(trainer: Any, state: TrainingState, batch: np.ndarray) -> Parameters | Rows:
    state.theta = Padded.of(state.theta)
    theta = FixedParameters.at(state.theta)
    state.batch = batch
    if hasattr(trainer, "positive"):
        return difference(trainer.positive(state), trainer.negative(state, theta, batch))
    h = mean_hidden(theta, batch)  # first: chains that start at the batch need the same product
    negative = trainer.negative(state, theta, batch)
    return Rows(batch, h, minus=negative)


@contextmanager
def _one_blas_thread_no_warnings() -> Iterator[None]:
    # Sums come out in one order, so that a seed gives the same bits on any number of cores.
    # Parameters that diverge are refused by ``progress``, in one sentence.
    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
        yield


def gradient(trainer: Any, state: TrainingState, batch: np.ndarray | None = None) -> Parameters:
    """Return one estimate of the gradient at the state's parameters, positive - negative statistics.

    The parameters are not updated. The chains and random streams of the state are advanced as in an update,
    so that another call gives another estimate.

    Parameters
    ----------
    batch : rows of 0 and 1 (n, n_visible), optional
        The mini-batch; default: the next one of ``state.batches``.
    """
    rows = state.batches.next(trainer.batch_size) if batch is None else batch.astype(np.float32)
    with _one_blas_thread_no_warnings():
        return Parameters(*_gradient(trainer, state, rows))


def check_finite(state: TrainingState) -> None:
    """Raise BadInput if parameters are not finite, or too large for an RBM."""
    if not all(np.abs(x).max() <= MAX_PARAMETER for x in state.theta):  # False of NaN
        raise BadInput(f"Training diverged before update {state.update}: lower learning_rate (or eps).")


def updates(trainer: Any, state: TrainingState, n: int) -> Iterator[Parameters | Rows]:
    """Make n updates; yield each gradient before it is applied.

    Raises
    ------
    BadInput
        If the parameters are no longer finite, and the trainer needs finite ones (enumeration, couplings).
    """
    begin = time.perf_counter()
    with _one_blas_thread_no_warnings():
        for left in reversed(range(n)):
            batch = state.batches.next(trainer.batch_size)
            try:
                direction = _gradient(trainer, state, batch)
            except BadInput:  # from a trainer that needs finite parameters: say that training diverged
                check_finite(state)
                raise
            yield direction
            apply(trainer, state, direction, measured=not left)
    state.seconds += time.perf_counter() - begin


def _starts(trainer: Any) -> str:
    """Return the trainer's ``sweeps_from``, if it is of its ``negative``: a subclass may have another."""
    for cls in type(trainer).__mro__:
        if "negative" in vars(cls):
            return trainer.sweeps_from if "sweeps_from" in vars(cls) else ""
    return ""


def advance(trainer: Any, state: TrainingState, n: int) -> None:
    """Make n updates, as ``updates`` does; or many in one call of a kernel, to the same bits.

    The latter if the trainer declares ``sweeps_from`` and its sweeps are few, the rule is the plain one, and
    the examples are bits.
    """
    start, rule = _starts(trainer), trainer.momentum or trainer.weight_decay or trainer.box or trainer.average
    made = MOST_SWEEPS // trainer.k if start else 0
    if not made or rule or state.mean is not None or state.batches.packed is None:
        for _ in updates(trainer, state, n):
            pass
        return
    begin = time.perf_counter()
    while n > 0:
        stop_point()
        _advance_in_kernel(trainer, state, min(n, made))
        n -= made
    state.seconds += time.perf_counter() - begin


def _advance_in_kernel(trainer: Any, state: TrainingState, n: int) -> None:
    theta = state.theta = Padded.of(state.theta)
    order, (m, hidden) = state.batches.take(trainer.batch_size, n), theta.W.shape
    size, persistent, state.velocity = order.shape[1], trainer.sweeps_from == "chains", None
    chains = len(state.own_state) if persistent else size
    work, sums = theta.work(max(size, chains)), theta.sums(size, chains)
    bits = np.zeros((0, 0), np.uint64)
    if persistent:
        bits = np.ascontiguousarray(kernels.updates.packed(state.own_state.astype(np.uint8)).T)
    rates = np.array([learning_rate_at(trainer, state.update + t) for t in range(n)], np.float32)
    squares = np.zeros(theta.matrix.shape[1])
    weights = kernels.updates.make_weights(m, chains) if trainer.sweeps_from == "population" else None
    given = theta.matrix, state.stream[None], state.batches.packed, order, trainer.k, rates
    kernels.updates.train(*given, bits, chains, m, hidden, work, sums, squares, weights)
    state.gradient_norm = float(squares.sum()) ** 0.5
    first = len(sums.rows) - 64 * kernels.updates.words(chains)
    state.batch, state.samples = state.batches.rows(order[-1]), unpacked(sums.bits[:, first:], chains, m)
    if persistent:
        state.own_state = state.samples
    if weights is not None:
        state.own_state = replace(state.own_state, v=state.samples, log_weights=weights[0][0])
    state.update += n
    state.sweeps += n * trainer.k * chains


def free_energy(theta: Parameters, v: np.ndarray, x: np.ndarray) -> float:
    """Return the mean of F(v) over the rows, in float32; x are c + v W."""
    softplus = np.log1p(np.exp(-np.abs(x))) + np.maximum(x, 0)
    return float(-(v @ theta.b + softplus.sum(axis=1)).mean())


def progress(
    trainer: Any,
    state: TrainingState,
    per_chain: Mapping[str, np.ndarray] | None = None,
    warning: str = "",
    weights: np.ndarray | None = None,
    rates: Statistics | None = None,
    **stats: float,
) -> Progress:
    """Return the progress of a training.

    If the knob ``average`` is on, the model is the mean of the iterates; the statistics always describe
    the last iterate.

    Parameters
    ----------
    trainer, state
        The training.
    per_chain : dict of arrays (n,), optional
        See ``Progress.per_chain``.
    warning : str
        See ``Progress.warning``.
    weights : float (chains,), optional
        Weights of ``state.samples`` in the negative statistics; default: equal ones.
    rates : Statistics, optional
        See ``Progress.rates``.
    **stats : float
        Values of the trainer's ``own_stats`` by name; a trainer without samples may give the variances of
        STATS as well.

    Raises
    ------
    BadInput
        If the parameters are no longer finite.
    """
    theta, nan = state.theta, float("nan")
    check_finite(state)
    reconstruction = gap = nan
    variance = dict.fromkeys(("variance_W", "variance_b", "variance_c"), nan)
    with _one_blas_thread_no_warnings():
        if (v := state.batch) is not None:
            x = v @ theta.W + theta.c
            reconstruction = float(np.abs(v - sigmoid(sigmoid(x) @ theta.W.T + theta.b)).mean())
            if (u := state.samples) is not None:
                y = u @ theta.W + theta.c
                gap = free_energy(theta, v, x) - free_energy(theta, u, y)
                variance = variances(u, sigmoid(y), weights)
        common = {
            "gradient_norm": state.gradient_norm,
            "weight_norm": float(np.linalg.norm(theta.W)),
            "reconstruction": reconstruction,
            "free_energy_gap": gap,
        }
    # Before the first update there are none.
    values = {} if per_chain is None or state.batch is None else dict(per_chain)
    rbm = RBM(*(state.mean or state.theta))
    return Progress(
        state.update,
        rbm,
        common | variance | stats,
        state.seconds,
        trainer.iterations,
        values,
        warning,
        state.sweeps,
        rates,
    )
