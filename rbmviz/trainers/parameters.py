"""Parameters of an RBM in writable arrays, and directions in parameter space, such as gradients."""

from collections.abc import Iterable, Iterator
from functools import cached_property, lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from rbmviz import kernels

MOST_KEPT = 8
"""Numbers of rows for which a workspace keeps arrays, which an update writes anew."""

MOST_ROWS = 512
"""Rows of examples and samples together up to which an update adds rows; the lists of more would be long."""


class Parameters(NamedTuple):
    """Writable parameters, or a direction in parameter space.

    Attributes
    ----------
    W, b, c : float32 (n_visible, n_hidden), (n_visible,), (n_hidden,)
    """

    W: np.ndarray
    b: np.ndarray
    c: np.ndarray


class _SweepArrays(NamedTuple):
    """What sweeps of some number of rows write; see ``kernels.updates``."""

    x: np.ndarray
    before: np.ndarray
    bits: np.ndarray
    lists: np.ndarray
    drawing: tuple[np.ndarray, ...]


def _arrays_for_sweeps(m: int, n: int, rows: int) -> _SweepArrays:
    of, zeros = kernels.updates, kernels.vectors.aligned_zeros
    words = -(-n // of.HIDDEN)
    starts, index = np.zeros((words, rows + 1), np.int64), np.zeros(rows * n + 4, np.int32)
    tile, y = zeros(of.HIDDEN, of.STRIP), zeros(rows, of.STRIP)
    drawing = np.zeros((rows, n), np.uint8), starts, index, tile, y, zeros(max(of.STRIP, n))
    before, bits = np.zeros((2, rows, m), np.uint8)
    return _SweepArrays(zeros(rows, of.row_length(n)), before, bits, np.zeros((2, m + 4), np.int32), drawing)


def _arrays_for_sums(m: int, n: int, rows: int, others: int) -> tuple[np.ndarray, ...]:
    starts, ends = (np.zeros((2, size), np.int64) for size in (m + 1, m))
    means = kernels.vectors.aligned_zeros(rows + others, kernels.updates.row_length(n))
    return starts, ends, np.zeros(m * (rows + others), np.int32), means


class Workspace:
    """Padded parameters, and the arrays that one update after another writes anew.

    Copies and pickles begin empty: their arrays would not be views of the same memory.
    """

    def __init__(self) -> None:
        self.theta: Parameters | None = None

    def __reduce__(self) -> tuple[type["Workspace"], tuple[()]]:
        return Workspace, ()

    def pad(self, theta: Parameters) -> Parameters:
        """Copy parameters into padded memory; return views of them, of the same shapes."""
        m, n = theta.W.shape
        self.padded = kernels.updates.pad(*theta)
        self.theta = Parameters(self.padded.W[:m, :n], self.padded.b[:m], self.padded.c[:n])
        self.for_sweeps = lru_cache(MOST_KEPT)(partial(_arrays_for_sweeps, m, n))
        self.for_sums = lru_cache(MOST_KEPT)(partial(_arrays_for_sums, m, n))
        return self.theta

    def fixed_at(self, theta: Parameters) -> "FixedParameters":
        """Copy parameters into this memory, which nobody else may hold, and return them for an update."""
        if self.theta is None:
            self.pad(theta)
        else:
            for x, y in zip(self.theta, theta, strict=True):
                x[:] = y
        assert self.theta is not None
        return FixedParameters.of(self, self.theta)


class FixedParameters(Parameters):
    """The parameters of one update, which do not change while this object exists."""

    _space: Workspace | None = None
    _arrays: _SweepArrays
    _seen: np.ndarray | None = None
    _drawn: np.ndarray | None = None
    _moves = 0

    @classmethod
    def of(cls, space: Workspace, theta: Parameters) -> "FixedParameters":
        """Return the parameters whose views in ``space`` are ``theta``."""
        fixed = cls(*theta)
        fixed._space = space
        return fixed

    @property
    def space(self) -> Workspace:
        """The padded parameters, and work arrays."""
        if self._space is None:
            self._space = Workspace()
            self._space.pad(self)
        return self._space

    @cached_property
    def _dense(self) -> np.ndarray:
        return np.ascontiguousarray(self.W)

    def up(self, v: np.ndarray) -> np.ndarray:
        """Return v W, float32 (rows, n_hidden)."""
        return kernels.batch.times(v, self._dense)

    def down(self, h: np.ndarray) -> np.ndarray:
        """Return h W', float32 (rows, n_visible)."""
        return kernels.batch.times_transposed(h, self._dense)

    def inputs(self, v: np.ndarray) -> np.ndarray:
        """Return c + v W, float32 (rows, n_hidden and more), until the next call.

        The last is kept, because the chains of CD start at the mini-batch, for which the positive statistics
        need the same, and the next is computed from it where few units differ. v is recognised by identity:
        an array whose rows change between two calls must be copied first.
        """
        if self._seen is v:
            return self._arrays.x
        if another := self._seen is None or len(self._seen) != len(v):
            self._arrays = self.space.for_sweeps(len(v))
        x, before, bits, lists, _ = self._arrays
        (W, _, c), n = self.space.padded, len(self.c)
        if self._drawn is v or kernels.batch.as_bits(np.ascontiguousarray(v, np.float32), bits) >= 0:
            rebuild = another or self._moves % kernels.layers.REBUILD_SWEEPS == 0
            kernels.updates.move_up(W, c, n, before, bits, x, lists, rebuild)
            self._moves += 1
        else:
            np.add(v @ self.W, self.c, out=x[:, :n])
            self._moves = 0
        self._seen, self._drawn = v, None
        return x

    def bits_of(self, v: np.ndarray) -> np.ndarray | None:
        """Return v as uint8, until ``inputs`` is called again; None if it is not the last, or not bits."""
        return self._arrays.before if self._seen is v and self._moves else None

    def sweep(self, v: np.ndarray, stream: np.ndarray, beta: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows after one Gibbs sweep at an inverse temperature, see ``batches.sweep``, and h.

        h is uint8 (rows, n_hidden), until the next call.
        """
        x, (W, b, _) = self.inputs(v), self.space.padded
        drawing, bits = self._arrays.drawing, self._arrays.bits
        kernels.updates.sweep(W, b, stream, np.float32(beta), x, *drawing, bits)
        self._drawn = bits.astype(np.float32)
        return self._drawn, drawing[0]


def plus(a: Parameters, b: Parameters) -> Parameters:
    """Return a + b."""
    return Parameters(a.W + b.W, a.b + b.b, a.c + b.c)


def zeros_like(a: Parameters) -> Parameters:
    """Return the direction 0."""
    return Parameters(*(np.zeros_like(x) for x in a))


def difference(positive: Parameters, negative: Parameters) -> Parameters:
    """Return the gradient, positive minus negative statistics (overwrites the positive ones)."""
    for p, q in zip(positive, negative, strict=True):
        p -= q
    return positive


def norm(theta: Iterable[np.ndarray]) -> float:
    """Return the Euclidean norm over all parameters."""
    return float(np.sqrt(sum(float(np.vdot(x, x)) for x in theta)))


def update_from_sweeps(
    fixed: FixedParameters, data: np.ndarray, order: np.ndarray, rates: np.ndarray, *chains: Any
) -> tuple[np.ndarray, float]:
    """Make updates many at a time; return the samples, uint8, and the squared norm of the last gradient.

    See ``kernels.updates.update_from_sweeps``: ``chains`` are its arguments from the stream to u, without v.
    """
    space, rows, (m, n), u = fixed.space, order.shape[1], fixed.W.shape, chains[-1]
    *arrays, drawing = space.for_sweeps(rows)
    nothing, p, q = np.empty((0, n), np.float32), *np.empty((2, rows, n), np.float32)
    data = data.view()
    data.flags.writeable = False  # one compilation, whether data are writable or not
    of_v, of_h, squares = np.empty(m, np.float32), np.empty(n, np.float32), np.empty(n)
    total = np.zeros((2, space.padded.W.shape[1]), np.float32)
    rest = np.zeros(4, np.float32), nothing, np.empty((0, n)), total, squares
    v, weights = np.empty((rows, m), np.uint8), np.full(rows, 1 / rows, np.float32)
    kernels.updates.update_from_sweeps(
        *(data, order, rates, space.padded, *chains[:-1], v, u if len(u) else v),
        *(tuple(arrays), drawing, p, q, weights, (*space.for_sums(rows, rows), of_v, of_h), rest),
    )
    return arrays[2], float(squares.sum() + np.vdot(of_v, of_v) + np.vdot(of_h, of_h))


class LazyParameters:
    """Parameters, W, b and c, that are formed when somebody asks for them; an update may never do so."""

    formed: Parameters

    W = property(lambda self: self.formed.W)
    b = property(lambda self: self.formed.b)
    c = property(lambda self: self.formed.c)

    def __iter__(self) -> Iterator[np.ndarray]:
        return iter(self.formed)


class Rows(LazyParameters):
    """The statistics <v h'>, <v>, <h> of rows, which an update adds one by one.

    v, h : float32 (rows, n_visible), (rows, n_hidden); not to be written to before the update ends
    weights : float32 (rows,), or None for the mean
    bits : v as uint8, if that is at hand
    """

    def __init__(self, v: np.ndarray, h: np.ndarray, weights: np.ndarray | None = None) -> None:
        self.v, self.h, self._weighted, n = v, h, weights is not None, len(v)
        self.weights = np.full(n, 1 / n, np.float32) if weights is None else weights
        self.bits: np.ndarray | None = None

    @cached_property
    def formed(self) -> Parameters:  # type: ignore[override]
        """The parameters."""
        v, h, weights, n = self.v, self.h, self.weights, len(self.v)
        if self._weighted:
            return Parameters(kernels.batch.correlate(v, weights[:, None] * h), weights @ v, weights @ h)
        return Parameters(kernels.batch.correlate(v, h, n), np.ones(n, np.float32) @ v / n, h.mean(axis=0))


class GradientOfRows(LazyParameters):
    """A gradient, positive minus negative statistics, both of rows."""

    def __init__(self, positive: Rows, negative: Rows, space: Workspace) -> None:
        self.positive, self.negative, self._space = positive, negative, space

    @cached_property
    def sums(self) -> tuple[np.ndarray, ...] | None:
        """What ``kernels.updates.collect`` has prepared; None of many rows, and of other values than bits."""
        given: list[np.ndarray] = []
        rows, others = len(self.positive.v), len(self.negative.v)
        for part in (self.positive, self.negative):
            if part.bits is None:
                part.bits = np.empty(part.v.shape, np.uint8)
                if kernels.batch.as_bits(np.ascontiguousarray(part.v, np.float32), part.bits) < 0:
                    return None
            given += [part.bits, part.h, part.weights]
        if rows + others > MOST_ROWS:
            return None
        starts, ends, lists, means = self._space.for_sums(rows, others)
        of_v, of_h = (np.empty(x.shape[1], np.float32) for x in (self.positive.v, self.positive.h))
        kernels.updates.collect(*given, starts, ends, lists, means, of_v, of_h)
        return starts, lists, means, of_v, of_h

    @property
    def adds_rows(self) -> bool:
        """Whether rows can be added to the parameters; not once the gradient has been formed."""
        return "formed" not in self.__dict__ and self.sums is not None

    def add_to_W(
        self,
        W: np.ndarray,
        rule: tuple[float, ...],
        velocity: np.ndarray | None = None,
        mean: np.ndarray | None = None,
        averaged: int = 0,
        measured: bool = False,
    ) -> float:
        """Move W, padded, by the rule of ``training.apply``; return the squared norm of its gradient."""
        assert self.sums is not None
        *sums, _, of_h = self.sums
        n, total = len(of_h), np.zeros((2, W.shape[1]), np.float32)
        velocity = np.empty((0, n), np.float32) if velocity is None else velocity
        mean = np.empty((0, n)) if mean is None else mean
        squares, of_rule = np.empty(n), np.array(rule, np.float32)
        kernels.updates.add_collected(
            W, of_rule, float(averaged), measured, *sums, velocity, mean, total, squares
        )
        return float(squares.sum())

    @cached_property
    def formed(self) -> Parameters:  # type: ignore[override]
        """The gradient."""
        if self.sums is None:
            return difference(Parameters(*self.positive), Parameters(*self.negative))
        of_v, of_h = self.sums[-2:]
        W = kernels.vectors.aligned_zeros(*self._space.padded.W.shape)
        self.add_to_W(W, (1.0, 0.0, 0.0, 0.0))
        return Parameters(W[: len(of_v), : len(of_h)], of_v, of_h)
