"""The loop that all trainers share: positive statistics, the difference, the update rule, the progress.

A trainer says where its negative statistics come from, ``negative(state, theta, data)``; ``updates`` does
the rest. Both read the trainer's knobs at every update, so that a trainer replaced between two steps acts
from the next update on.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from rbmviz import rng
from rbmviz.errors import BadInput
from rbmviz.kernels.random import mean_rows
from rbmviz.rbm import RBM
from rbmviz.trainers import Progress, check_data
from rbmviz.trainers.batches import Batches, mean_hidden, statistics, too_large
from rbmviz.trainers.parameters import (
    FixedParameters,
    Parameters,
    difference,
    norm,
    parameter_bytes,
    zeros_like,
)
from rbmviz.trainers.stored import stored, stored_rows

_BLAS = ThreadpoolController()

OBJECTS = 5120
"""Bytes of a state beside its numbers, as measured: the objects of Python, numpy's Generators."""


@dataclass
class TrainingState:
    """State of one training: all that the next update depends on, and nothing else does.

    Attributes
    ----------
    theta : Parameters
        The iterate, float32.
    batches : Batches
        The training data, and which of their rows come next.
    rng : uint32 (4, STREAM_LANES)
        Random numbers of the kernels.
    starts : Generator
        Draws the examples at which chains start.
    source : array, dataclass or None
        What the trainer keeps from update to update: persistent chains where it is an array, values 0 and 1;
        the fields of a dataclass say what they may hold, see ``stored.Stored``.
    velocity : Parameters or None
        Momentum, None while the knob is 0.
    mean, averaged : Parameters or None, int
        Mean of the last so many iterates, float64, while the knob ``average`` is on.
    update, seconds : int, float
        Updates so far, and the time spent in them.
    gradient_norm : float
        Norm of the last gradient, NaN before the first update.
    batch, samples : float32 (rows, n_visible) or None
        What the statistics of the last update came from, values 0 and 1: None before the first update, and
        samples also where a trainer draws none from the model.
    """

    theta: Parameters
    batches: Batches
    rng: np.ndarray = field(metadata=stored(lanes=True))
    starts: np.random.Generator
    source: Any = field(metadata=stored(bits=True))
    velocity: Parameters | None = field(default=None, metadata=stored(like="theta", dtypes=("float32",)))
    mean: Parameters | None = field(default=None, metadata=stored(like="theta", dtypes=("float64",)))
    averaged: int = 0
    update: int = 0
    seconds: float = 0.0
    gradient_norm: float = float("nan")
    batch: np.ndarray | None = field(default=None, metadata=stored_rows("batch"))
    samples: np.ndarray | None = field(default=None, metadata=stored_rows("samples"))


def start(trainer: Any, rbm: RBM, data: np.ndarray, seed: rng.Seed, source: Any = None) -> TrainingState:
    """Return the state of a training that begins at ``rbm``.

    Parameters
    ----------
    trainer : Trainer
        Its ``batch_size`` is held against the data.
    rbm : RBM
        Its parameters are copied.
    data : uint8 (n, n_visible)
        The training rows.
    seed : int, SeedSequence or Generator
        The streams "data", "chain" and "starts" are taken from it.
    source : Any
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
    theta = Parameters(rbm.W.copy(), rbm.b.copy(), rbm.c.copy())
    batches = Batches(data, rng.generator(seed, "data"))
    return TrainingState(
        theta, batches, rng.kernel_state(seed, "chain"), rng.generator(seed, "starts"), source
    )


def state_bytes(n_visible: int, n_hidden: int, source: int = 0) -> int:
    """Return the bytes of what ``start`` makes, with a source of so many."""
    return parameter_bytes(n_visible, n_hidden) + rng.STATE_BYTES + OBJECTS + source


def random_starts(state: TrainingState, n: int) -> np.ndarray:
    """Return n training examples drawn with replacement, uint8 (n, n_visible): starts of chains."""
    data = state.batches.data
    return data.take(state.starts.integers(len(data), size=n), axis=0)


def rate(trainer: Any, t: int) -> float:
    """Return the learning rate of update t, which counts from 0.

    Schedules: "constant", "linear" (to zero at ``iterations``), "inverse_sqrt" (rate / sqrt(1 + t), as in
    paper UCD, corollary 1).
    """
    if trainer.schedule == "linear":
        return trainer.learning_rate * max(1 - t / trainer.iterations, 0.0)
    return trainer.learning_rate / ((1 + t) ** 0.5 if trainer.schedule == "inverse_sqrt" else 1.0)


def apply(trainer: Any, state: TrainingState, gradient: Parameters) -> None:
    """Make one update: theta <- P(theta + rate(t) (g - weight_decay W)), with momentum, in place.

    P clips every parameter to [-box, box] (paper UCD, algorithm 2, line 5), and the mean of the iterates is
    kept (line 7), where those knobs say so.

    Parameters
    ----------
    trainer : Trainer
        The knobs of the rule, see ``common_knobs.CommonKnobs``.
    state : TrainingState
        Its theta, velocity, mean and counts move on.
    gradient : Parameters
        float32, overwritten.
    """
    scratch = gradient
    if trainer.weight_decay:
        gradient.W[:] -= np.float32(trainer.weight_decay) * state.theta.W
    if trainer.momentum:
        state.velocity = state.velocity or zeros_like(state.theta)
        for velocity, g in zip(state.velocity, gradient, strict=True):
            velocity *= np.float32(trainer.momentum)
            velocity += g
        gradient = state.velocity
    else:
        state.velocity = None
    now = np.float32(rate(trainer, state.update))
    for x, g, step in zip(state.theta, gradient, scratch, strict=True):
        np.multiply(now, g, out=step)
        x += step
        if trainer.box:
            np.clip(x, -trainer.box, trainer.box, out=x)
    state.update += 1
    if not trainer.average:
        state.mean, state.averaged = None, 0
        return
    state.averaged += 1
    state.mean = state.mean or Parameters(*(np.zeros(x.shape) for x in state.theta))
    for mean, x in zip(state.mean, state.theta, strict=True):
        mean += (x - mean) / state.averaged


def _gradient(trainer: Any, state: TrainingState, data: np.ndarray) -> Parameters:
    theta = FixedParameters(*state.theta)
    h = mean_hidden(theta, data)  # first, see FixedParameters.up
    negative = trainer.negative(state, theta, data)
    state.batch = data
    return difference(statistics(data, h), negative)


@contextmanager
def _alone() -> Iterator[None]:
    # One thread: sums come out in one order, so that a seed gives the same bits on any number of cores.
    # Parameters that diverge are refused by ``progress``, in one sentence.
    with _BLAS.limit(limits=1, user_api="blas"), np.errstate(over="ignore", invalid="ignore"):
        yield


def gradient(trainer: Any, state: TrainingState, data: np.ndarray | None = None) -> Parameters:
    """Return one estimate of the gradient at the state's parameters, positive - negative statistics.

    No update is made: the parameters stay, the chains and random streams of the state move on as they do in
    an update, so that calling it again gives another estimate.

    Parameters
    ----------
    data : rows of 0 and 1 (n, n_visible), optional
        The rows to take for the mini-batch; else the next one is drawn.
    """
    batch = state.batches.next(trainer.batch_size) if data is None else data.astype(np.float32)
    with _alone():
        return _gradient(trainer, state, batch)


def check_finite(state: TrainingState) -> None:
    """Raise BadInput if parameters are not finite."""
    if not all(np.isfinite(x).all() for x in state.theta):
        raise BadInput(f"Training diverged before update {state.update}: lower learning_rate (or eps).")


def updates(trainer: Any, state: TrainingState, n: int) -> Iterator[Parameters]:
    """Make n updates; yield each gradient before it is applied.

    Raises
    ------
    BadInput
        If a trainer asks for finite parameters and they are not.
    """
    begin = time.perf_counter()
    with _alone():
        for left in reversed(range(n)):
            data = state.batches.next(trainer.batch_size)
            try:
                found = _gradient(trainer, state, data)
            except BadInput:  # of a trainer that asks for finite parameters
                check_finite(state)
                raise
            if not left:
                state.gradient_norm = norm(found)
            yield found
            apply(trainer, state, found)
    state.seconds += time.perf_counter() - begin


def advance(trainer: Any, state: TrainingState, n: int) -> None:
    """Make n updates."""
    for _ in updates(trainer, state, n):
        pass


def free_energy(theta: FixedParameters, v: np.ndarray) -> float:
    """Return the mean of F(v) over the rows, in float32."""
    x = theta.up(v) + theta.c
    softplus = np.log1p(np.exp(-np.abs(x))) + np.maximum(x, 0)
    return float(-(v @ theta.b + softplus.sum(axis=1)).mean())


def progress(
    trainer: Any,
    state: TrainingState,
    samples: Mapping[str, np.ndarray] | None = None,
    warning: str = "",
    **stats: float,
) -> Progress:
    """Return where a training stands.

    The model is the mean of the iterates where the knob ``average`` is on, the statistics are always the last
    iterate's.

    Parameters
    ----------
    trainer, state
        The training.
    samples : dict of arrays (n,), optional
        Quantities of which the last update has many, by label, see ``Progress.inner_samples``.
    warning : str
        What a person should know about the last update, in one sentence.
    **stats : float
        The trainer's own statistics, by the names in its ``inner``.

    Raises
    ------
    BadInput
        If the parameters are no longer finite.
    """
    theta, nan = FixedParameters(*state.theta), float("nan")
    check_finite(state)
    reconstruction = gap = nan
    with _alone():
        if (v := state.batch) is not None:
            y = theta.down(mean_hidden(theta, v))
            mean_rows(y, theta.b, y)
            reconstruction = float(np.abs(v - y).mean())
            if (u := state.samples) is not None:
                gap = free_energy(theta, v) - free_energy(theta, u)
        common = {
            "gradient_norm": state.gradient_norm,
            "weight_norm": float(np.linalg.norm(theta.W)),
            "reconstruction": reconstruction,
            "free_energy_gap": gap,
        }
    inner = {} if samples is None or state.batch is None else dict(samples)
    rbm = RBM(*(state.mean or state.theta))
    return Progress(state.update, rbm, common | stats, state.seconds, trainer.iterations, inner, warning)
