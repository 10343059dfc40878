"""What trainers are composed of: mini-batches, Gibbs sweeps on a batch of chains, the update rule, knobs.

A trainer says where its negative statistics come from, ``negative(state, theta, data)``; ``updates`` does
the rest: positive statistics, the difference, the rule. Both read the trainer's knobs at every update, so
that a trainer replaced between two steps acts from the next update on.
"""

import hashlib
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import ThreadpoolController

from rbmviz import rng
from rbmviz.errors import BadInput
from rbmviz.kernels.batch import correlate, times, times_transposed
from rbmviz.kernels.random import bernoulli_rows, mean_rows
from rbmviz.knobs import knob
from rbmviz.rbm import RBM
from rbmviz.trainers import Progress, check_data

_BLAS = ThreadpoolController()

USUAL_BATCH = 100
OBJECTS = 5120
"""Bytes of a state beside its numbers, as measured: the objects of Python, numpy's Generators."""

NOT_SAVED = {"saved": False}
"""Metadata of a field of a state that is not the training's own: no checkpoint holds it."""


@dataclass(frozen=True)
class Stored:
    """What a checkpoint may hold in a field of a state, where the state that ``init`` makes does not tell.

    Without it an array has the fresh one's shape and type, and no NaN or negative count unless that has; a
    number lies between 0 and 2^53; None stays None.

    Parameters
    ----------
    shape : tuple
        Sizes of an array that may change its shape, or None at first: numbers, "n_visible", "n_hidden", or
        another word for any number from 1 up, the same wherever the word stands in one record.
    dtypes : tuple of str
        Types of an array, if it may have another one than the fresh array, or be None at first.
    bits : bool
        Every value is 0 or 1.
    lanes : bool
        Random states of kernels, (..., 4, lanes): no lane is 0 throughout, for it would stay so.
    share : bool
        Every value lies between 0 and 1.
    rows : bool
        Numbers of rows of the data, no two alike, as many or as few as there are.
    like : str
        A field of the same record: this one is None, or parameters of those shapes.
    """

    shape: tuple[int | str, ...] = ()
    dtypes: tuple[str, ...] = ()
    bits: bool = False
    lanes: bool = False
    share: bool = False
    rows: bool = False
    like: str = ""


def stored(**more: Any) -> dict[str, Stored]:
    """Return the metadata of a field with a ``Stored``."""
    return {"stored": Stored(**more)}


class Parameters(NamedTuple):
    """Writable parameters, or a direction among them: float32 W (n_visible, n_hidden), b, c."""

    W: np.ndarray
    b: np.ndarray
    c: np.ndarray


class Fixed(Parameters):
    """Parameters that stay as they are while this lives: those of one update."""

    _seen: tuple[np.ndarray, np.ndarray] | None = None

    def up(self, v: np.ndarray) -> np.ndarray:
        """Return v W, float32 (rows, n_hidden), not to be written to.

        It is kept until another v comes: the chains of CD start at the mini-batch whose statistics are
        taken, too.
        """
        if self._seen is None or self._seen[0] is not v:
            self._seen = v, times(v, self.W)
        return self._seen[1]

    def down(self, h: np.ndarray) -> np.ndarray:
        """Return h W', float32 (rows, n_visible)."""
        return times_transposed(h, self.W)


def plus(a: Parameters, b: Parameters) -> Parameters:
    """Return a + b."""
    return Parameters(a.W + b.W, a.b + b.b, a.c + b.c)


def zeros_like(a: Parameters) -> Parameters:
    """Return the direction 0."""
    return Parameters(*(np.zeros_like(x) for x in a))


def too_large(size: int, n: int) -> BadInput:
    """Return the error for a mini-batch larger than the data."""
    return BadInput(f"batch_size = {size} is more than the {n} rows of training data: give {n} or less.")


@dataclass(eq=False)
class Batches:
    """Mini-batches of whole epochs: a fresh permutation of the data each."""

    data: np.ndarray = field(metadata=NOT_SAVED)
    generator: np.random.Generator
    order: np.ndarray = field(
        default_factory=lambda: np.zeros(0, np.int64), metadata=stored(shape=("left",), rows=True)
    )

    @cached_property
    def fingerprint(self) -> str:
        """What tells training data apart: shape and SHA-256."""
        digest = hashlib.sha256(np.ascontiguousarray(self.data, dtype=np.uint8).data).hexdigest()
        return f"{self.data.shape} {digest}"

    def next(self, size: int) -> np.ndarray:
        """Return the next mini-batch, float32 (size, n_visible); see the knob ``batch_size``."""
        n = len(self.data)
        if size > n:
            raise too_large(size, n)
        size = size or min(USUAL_BATCH, n)
        while len(self.order) < size:
            self.order = np.concatenate([self.order, self.generator.permutation(n)])
        batch, self.order = self.order[:size], self.order[size:]
        return self.data[batch].astype(np.float32)


def mean_hidden(theta: Fixed, v: np.ndarray) -> np.ndarray:
    """Return E[h|v], float32 (rows, n_hidden)."""
    x = theta.up(v)
    h = np.empty_like(x)
    mean_rows(x, theta.c, h)
    return h


def sweep(theta: Fixed, v: np.ndarray, state: np.ndarray) -> np.ndarray:
    """Return v after one Gibbs sweep of every row, float32 0/1 (rows, n_visible)."""
    x = theta.up(v)
    h = np.empty_like(x)
    bernoulli_rows(state, x, theta.c, h, h)
    y = theta.down(h)
    bernoulli_rows(state, y, theta.b, y, y)
    return y


def statistics(v: np.ndarray, h: np.ndarray) -> Parameters:
    """Return <v h'>, <v>, <h> over the rows."""
    n = len(v)
    return Parameters(correlate(v, h, n), np.ones(n, np.float32) @ v / n, h.mean(axis=0))


def difference(positive: Parameters, negative: Parameters) -> Parameters:
    """Return the gradient, positive minus negative statistics (overwrites the positive ones)."""
    for p, q in zip(positive, negative, strict=True):
        p -= q
    return positive


def norm(theta: Parameters) -> float:
    """Return the Euclidean norm over all parameters."""
    return float(np.sqrt(sum(float(np.vdot(x, x)) for x in theta)))


def rows(n: str) -> dict[str, Stored]:
    """Return the metadata of rows of 0 and 1, n of them, see ``Stored.shape``; or none yet."""
    return stored(shape=(n, "n_visible"), dtypes=("float32",), bits=True)


@dataclass
class State:
    """One training: parameters, mini-batches, random stream, and the trainer's own ``source``.

    mean, averaged : mean of the last so many iterates (float64), while the knob ``average`` is on.
    batch, samples : what the statistics of the last update came from, float32 rows of 0 and 1, or None
        (before the first update; samples also where a trainer draws none from the model).

    A source that is an array is persistent chains; another one says of its fields what they are, see Stored.
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
    batch: np.ndarray | None = field(default=None, metadata=rows("batch"))
    samples: np.ndarray | None = field(default=None, metadata=rows("samples"))


def start(trainer: Any, rbm: RBM, data: np.ndarray, seed: rng.Seed, source: Any = None) -> State:
    """Return the state of a training that begins at ``rbm``."""
    data = check_data(data)
    if data.shape[1] != rbm.n_visible:
        raise BadInput(f"The data have {data.shape[1]} columns and the model {rbm.n_visible} visible units.")
    if trainer.batch_size > len(data):
        raise too_large(trainer.batch_size, len(data))
    theta = Parameters(rbm.W.copy(), rbm.b.copy(), rbm.c.copy())
    batches = Batches(data, rng.generator(seed, "data"))
    return State(theta, batches, rng.kernel_state(seed, "chain"), rng.generator(seed, "starts"), source)


def parameter_bytes(n_visible: int, n_hidden: int) -> int:
    """Return the bytes of ``Parameters``."""
    return 4 * (n_visible * n_hidden + n_visible + n_hidden)


def state_bytes(n_visible: int, n_hidden: int, source: int = 0) -> int:
    """Return the bytes of what ``start`` makes, with a source of so many."""
    return parameter_bytes(n_visible, n_hidden) + rng.STATE_BYTES + OBJECTS + source


def chain_bytes(n_chains: int, n_visible: int) -> int:
    """Return the bytes of ``random_chains``."""
    return 4 * n_chains * n_visible


def random_chains(n: int, n_visible: int, seed: rng.Seed) -> np.ndarray:
    """Return persistent chains begun at fair random bits, float32 (n, n_visible)."""
    generator, chains = rng.generator(seed, "chains"), np.empty((n, n_visible), np.float32)
    for block in np.array_split(chains, -(-chains.size // 2**20)):  # drawn as int64, twice as large
        block[:] = generator.integers(0, 2, block.shape)
    return chains


def random_starts(state: State, n: int) -> np.ndarray:
    """Return n training examples drawn with replacement, uint8 (n, n_visible): starts of chains."""
    data = state.batches.data
    return data.take(state.starts.integers(len(data), size=n), axis=0)


def rate(trainer: Any, t: int) -> float:
    """Return the learning rate of update t (from 0).

    Schedules: "constant", "linear" (to zero at ``iterations``), "inverse_sqrt" (rate / sqrt(1 + t)).
    """
    if trainer.schedule == "linear":
        return trainer.learning_rate * max(1 - t / trainer.iterations, 0.0)
    return trainer.learning_rate / ((1 + t) ** 0.5 if trainer.schedule == "inverse_sqrt" else 1.0)


def apply(trainer: Any, state: State, gradient: Parameters) -> None:
    """Do theta <- P(theta + rate(t) (g - weight_decay W)), with momentum, in place.

    P clips every parameter to [-box, box] (paper UCD, algorithm 2, line 5), and the mean of the iterates is
    kept (line 7), where those knobs say so. Overwrites the gradient.
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


def _gradient(trainer: Any, state: State, data: np.ndarray) -> Parameters:
    theta = Fixed(*state.theta)
    h = mean_hidden(theta, data)  # first, see Fixed.up
    negative = trainer.negative(state, theta, data)
    state.batch = data
    return difference(statistics(data, h), negative)


@contextmanager
def _alone() -> Iterator[None]:
    # One thread: sums come out in one order, so that a seed gives the same bits on any number of cores.
    # Parameters that run away are refused by ``progress``, in one sentence.
    with _BLAS.limit(limits=1, user_api="blas"), np.errstate(over="ignore", invalid="ignore"):
        yield


def gradient(trainer: Any, state: State, data: np.ndarray | None = None) -> Parameters:
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


def check_finite(state: State) -> None:
    """Refuse parameters that have run away."""
    if not all(np.isfinite(x).all() for x in state.theta):
        raise BadInput(f"Training diverged before update {state.update}: lower learning_rate (or eps_fast).")


def updates(trainer: Any, state: State, n: int) -> Iterator[Parameters]:
    """Do n updates; yield each gradient before it is applied."""
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


def advance(trainer: Any, state: State, n: int) -> None:
    """Do n updates."""
    for _ in updates(trainer, state, n):
        pass


def free_energy(theta: Fixed, v: np.ndarray) -> float:
    """Return the mean of F(v) over the rows, in float32."""
    x = theta.up(v) + theta.c
    softplus = np.log1p(np.exp(-np.abs(x))) + np.maximum(x, 0)
    return float(-(v @ theta.b + softplus.sum(axis=1)).mean())


def progress(
    trainer: Any,
    state: State,
    samples: Mapping[str, np.ndarray] | None = None,
    warning: str = "",
    **stats: float,
) -> Progress:
    """Return where a training stands: the statistics of every trainer, and its own ``samples`` and ``stats``.

    The model is the mean of the iterates where the knob ``average`` is on, the statistics are always the last
    iterate's. Refuses parameters that are no longer finite.
    """
    theta, nan = Fixed(*state.theta), float("nan")
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


# Knobs that trainers have in common; a dataclass field belongs to one class, hence functions.


def learning_rate(default: float = 0.05) -> Any:
    """Knob: first learning rate."""
    text = "Size of an update at the start: too large and the likelihood falls, or the weights explode."
    return knob(default, 1e-6, 10.0, label="Learning rate", scale="log", help=text)


def schedule(default: str = "constant") -> Any:
    """Knob: how the learning rate falls."""
    text = "A falling rate averages the noise of the updates away: look at the end of the curve."
    return knob(default, label="Schedule", choices=("constant", "linear", "inverse_sqrt"), help=text)


def iterations() -> Any:
    """Knob: length of the linear schedule."""
    text = "Updates until the linear schedule reaches zero; later updates change nothing."
    return knob(1000, 1, 10_000_000, label="Iterations", scale="log", help=text)


def momentum() -> Any:
    """Knob: momentum."""
    text = "Share of the last step that is taken again: faster along valleys, wilder where it is noisy."
    return knob(0.0, 0.0, 0.99, label="Momentum", help=text)


def weight_decay() -> Any:
    """Knob: decay of W."""
    text = "Pull of W to zero: keeps chains mixing, and blurs what the model knows."
    return knob(0.0, 1e-7, 1.0, label="Weight decay", scale="log", zero=True, help=text)


def average() -> Any:
    """Knob: Polyak average."""
    text = "The model is the mean of all parameters since this was switched on: less noise, and some delay."
    return knob(False, label="Average", help=text)


def box() -> Any:
    """Knob: largest parameter."""
    text = "No parameter may leave [-box, box]: chains keep mixing, and updates cannot run away; 0 is no box."
    return knob(0.0, 0.01, 100.0, label="Box", scale="log", zero=True, help=text)


def batch_size() -> Any:
    """Knob: examples an update."""
    text = "Training examples in one update: fewer are noisier and cheaper; 0 is 100, or all of smaller data."
    return knob(0, 1, 10_000, label="Batch size", scale="log", zero=True, help=text)


def n_chains() -> Any:
    """Knob: persistent chains."""
    text = "Persistent chains that estimate the model's side: more chains, less noise."
    return knob(100, 1, 10_000, label="Chains", scale="log", live=False, help=text)


def n_starts() -> Any:
    """Knob: chains of the trainers that start anew at every update."""
    text = "Chains of an update, begun at training examples of their own; 0 begins them at the mini-batch."
    return knob(0, 1, 10_000, label="Chains", scale="log", zero=True, help=text)


def k() -> Any:
    """Knob: sweeps an update."""
    text = "Gibbs sweeps an update: more sweeps, less bias, and as much more time."
    return knob(1, 1, 1000, label="Sweeps per update", scale="log", help=text)


def eps_fast() -> Any:
    """Knob: step size of the fast weights."""
    text = "How hard the fast weights push the chains away from where they are; 0 is PCD."
    return knob(0.05, 1e-5, 1.0, label="Fast step size", scale="log", zero=True, help=text)


def alpha() -> Any:
    """Knob: decay of the fast weights."""
    text = "Share of the fast weights that stays after an update: the paper's 19/20."
    return knob(0.95, 0.0, 1.0, label="Fast decay", help=text)
