"""What trainers are composed of: mini-batches, Gibbs sweeps on a batch of chains, the update rule, knobs.

A trainer says where its negative statistics come from, a function of (theta, data); ``updates`` does the
rest: positive statistics, the difference, the rule.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import ThreadpoolController

from rbmviz import rng
from rbmviz.errors import BadInput
from rbmviz.kernels.random import bernoulli_rows, mean_rows
from rbmviz.knobs import knob
from rbmviz.rbm import RBM
from rbmviz.trainers import Progress

_BLAS = ThreadpoolController()


def _quiet() -> np.errstate:
    # Parameters that run away are refused by ``progress``, in one sentence.
    return np.errstate(over="ignore", invalid="ignore")


class Parameters(NamedTuple):
    """Writable parameters, or a direction among them: float32 W (n_visible, n_hidden), b, c."""

    W: np.ndarray
    b: np.ndarray
    c: np.ndarray


def plus(a: Parameters, b: Parameters) -> Parameters:
    """Return a + b."""
    return Parameters(a.W + b.W, a.b + b.b, a.c + b.c)


def zeros_like(a: Parameters) -> Parameters:
    """Return the direction 0."""
    return Parameters(*(np.zeros_like(x) for x in a))


class Batches:
    """Mini-batches of whole epochs: a fresh permutation of the data each, stream "data"."""

    def __init__(self, data: np.ndarray, size: int, seed: rng.Seed) -> None:
        if data.ndim != 2 or not len(data):
            raise BadInput(f"The training data have shape {data.shape}; they must be (n, n_visible), n > 0.")
        self._data, self._size = data, min(size, len(data))
        self.mean = data.mean(axis=0)
        self._generator = rng.generator(seed, "data")
        self._order = np.zeros(0, np.int64)

    def next(self) -> np.ndarray:
        """Return the next mini-batch, float32 (size, n_visible)."""
        while len(self._order) < self._size:
            self._order = np.concatenate([self._order, self._generator.permutation(len(self._data))])
        batch, self._order = self._order[: self._size], self._order[self._size :]
        return self._data[batch].astype(np.float32)


def mean_hidden(theta: Parameters, v: np.ndarray) -> np.ndarray:
    """Return E[h|v], float32 (rows, n_hidden)."""
    x = v @ theta.W
    mean_rows(x, theta.c, x)
    return x


def sweep(theta: Parameters, v: np.ndarray, state: np.ndarray) -> np.ndarray:
    """Return v after one Gibbs sweep of every row, float32 0/1 (rows, n_visible)."""
    x = v @ theta.W
    bernoulli_rows(state, x, theta.c, x, x)
    y = x @ theta.W.T
    bernoulli_rows(state, y, theta.b, y, y)
    return y


def statistics(v: np.ndarray, h: np.ndarray) -> Parameters:
    """Return <v h'>, <v>, <h> over the rows."""
    n = np.float32(len(v))
    return Parameters(v.T @ h / n, v.mean(axis=0), h.mean(axis=0))


def difference(positive: Parameters, negative: Parameters) -> Parameters:
    """Return the gradient, positive minus negative statistics (overwrites the positive ones)."""
    for p, q in zip(positive, negative, strict=True):
        p -= q
    return positive


@dataclass
class Rule:
    """theta <- theta + rate(t) (g - weight_decay W) with momentum, in place.

    Schedules: "constant", "linear" (to zero at ``iterations``), "inverse_sqrt" (rate / sqrt(1 + t)).
    """

    learning_rate: float
    schedule: str
    iterations: int
    momentum: float
    weight_decay: float
    velocity: Parameters | None = field(default=None)

    def rate(self, t: int) -> float:
        """Return the learning rate of update t (from 0)."""
        if self.schedule == "linear":
            return self.learning_rate * max(1 - t / self.iterations, 0.0)
        return self.learning_rate / ((1 + t) ** 0.5 if self.schedule == "inverse_sqrt" else 1.0)

    def apply(self, theta: Parameters, gradient: Parameters, t: int) -> None:
        """Advance theta by one update."""
        rate = np.float32(self.rate(t))
        if self.weight_decay:
            gradient.W[:] -= np.float32(self.weight_decay) * theta.W
        if self.momentum:
            self.velocity = self.velocity or zeros_like(theta)
            for velocity, g in zip(self.velocity, gradient, strict=True):
                velocity *= np.float32(self.momentum)
                velocity += g
            gradient = self.velocity
        for x, g in zip(theta, gradient, strict=True):
            x += rate * g


def rule_of(trainer: Any) -> Rule:
    """Return the update rule that a trainer's knobs ask for."""
    return Rule(
        trainer.learning_rate, trainer.schedule, trainer.iterations, trainer.momentum, trainer.weight_decay
    )


def norm(theta: Parameters) -> float:
    """Return the Euclidean norm over all parameters."""
    return float(np.sqrt(sum(float(np.vdot(x, x)) for x in theta)))


@dataclass
class State:
    """One training: parameters, mini-batches, rule, random stream, and the trainer's own ``source``."""

    theta: Parameters
    batches: Batches
    rule: Rule
    rng: np.ndarray
    source: Any
    update: int = 0
    seconds: float = 0.0
    gradient_norm: float = 0.0


def start(trainer: Any, rbm: RBM, data: np.ndarray, seed: rng.Seed, source: Any = None) -> State:
    """Return the state of a training that begins at ``rbm``."""
    theta = Parameters(rbm.W.copy(), rbm.b.copy(), rbm.c.copy())
    batches = Batches(data, trainer.batch_size, seed)
    return State(theta, batches, rule_of(trainer), rng.kernel_state(seed, "chain"), source)


def random_chains(n: int, n_visible: int, seed: rng.Seed) -> np.ndarray:
    """Return persistent chains begun at fair random bits, float32 (n, n_visible)."""
    return rng.generator(seed, "chains").integers(0, 2, (n, n_visible)).astype(np.float32)


def updates(
    state: State, n: int, negative: Callable[[Parameters, np.ndarray], Parameters]
) -> Iterator[Parameters]:
    """Do n updates; yield each gradient before it is applied."""
    begin = time.perf_counter()
    theta = state.theta
    # One thread: sums come out in one order, so that a seed gives the same bits on any number of cores.
    with _BLAS.limit(limits=1, user_api="blas"), _quiet():
        for _ in range(n):
            data = state.batches.next()
            # The negative statistics first: a trainer's chains move before the data are looked at.
            model = negative(theta, data)
            gradient = difference(statistics(data, mean_hidden(theta, data)), model)
            state.gradient_norm = norm(gradient)
            yield gradient
            state.rule.apply(theta, gradient, state.update)
            state.update += 1
    state.seconds += time.perf_counter() - begin


def progress(state: State, **stats: float) -> Progress:
    """Return where a training stands; refuse parameters that are no longer finite."""
    if not all(np.isfinite(x).all() for x in state.theta):
        raise BadInput(f"Training diverged before update {state.update}: lower learning_rate (or eps_fast).")
    with _quiet():
        common = {"gradient_norm": state.gradient_norm, "weight_norm": float(np.linalg.norm(state.theta.W))}
    return Progress(state.update, RBM(*state.theta), common | stats, state.seconds, state.rule.iterations)


# Knobs that trainers have in common; a dataclass field belongs to one class, hence functions.


def learning_rate(default: float = 0.05) -> Any:
    """Knob: first learning rate."""
    text = "Size of an update at the start: too large and the likelihood falls, or the weights explode."
    return knob(default, 1e-6, 10.0, label="Learning rate", scale="log", help=text)


def schedule(default: str = "constant") -> Any:
    """Knob: how the learning rate falls."""
    text = "A falling rate averages the noise of the updates away: look at the end of the curve."
    return knob(
        default, label="Schedule", choices=("constant", "linear", "inverse_sqrt"), live=False, help=text
    )


def iterations() -> Any:
    """Knob: length of the linear schedule."""
    text = "Updates until the linear schedule reaches zero; later updates change nothing."
    return knob(1000, 1, 10_000_000, label="Iterations", scale="log", live=False, help=text)


def momentum() -> Any:
    """Knob: momentum."""
    text = "Share of the last step that is taken again: faster along valleys, wilder where it is noisy."
    return knob(0.0, 0.0, 0.99, label="Momentum", live=False, help=text)


def weight_decay() -> Any:
    """Knob: decay of W."""
    text = "Pull of W to zero: keeps chains mixing, and blurs what the model knows."
    return knob(0.0, 1e-7, 1.0, label="Weight decay", scale="log", zero=True, live=False, help=text)


def batch_size() -> Any:
    """Knob: examples an update."""
    text = "Training examples in one update: fewer are noisier and cheaper."
    return knob(100, 1, 10_000, label="Batch size", scale="log", live=False, help=text)


def n_chains() -> Any:
    """Knob: persistent chains."""
    text = "Persistent chains that estimate the model's side: more chains, less noise."
    return knob(100, 1, 10_000, label="Chains", scale="log", live=False, help=text)


def k() -> Any:
    """Knob: sweeps an update."""
    text = "Gibbs sweeps an update: more sweeps, less bias, and as much more time."
    return knob(1, 1, 1000, label="Sweeps per update", scale="log", live=True, help=text)


def eps_fast() -> Any:
    """Knob: step size of the fast weights."""
    text = "How hard the fast weights push the chains away from where they are; 0 is PCD."
    return knob(0.05, 1e-5, 1.0, label="Fast step size", scale="log", zero=True, help=text)


def alpha() -> Any:
    """Knob: decay of the fast weights."""
    text = "Share of the fast weights that stays after an update: the paper's 19/20."
    return knob(0.95, 0.0, 1.0, label="Fast decay", help=text)
