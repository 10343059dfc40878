"""Parameters of an RBM in writable arrays, and directions in parameter space, such as gradients."""

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from rbmviz import kernels

MOST_KEPT = 8
"""Numbers of rows for which a workspace keeps arrays."""

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


class Workspace:
    """Padded parameters, and the arrays that one update after another writes anew.

    Copies and pickles begin empty: their arrays would not be views of the same memory.
    """

    def __init__(self) -> None:
        self.theta: Parameters | None = None
        self._kept: dict[tuple[int, ...], Any] = {}

    def __reduce__(self) -> tuple[type["Workspace"], tuple[()]]:
        return Workspace, ()

    def pad(self, theta: Parameters) -> Parameters:
        """Copy parameters into padded memory; return views of them, of the same shapes."""
        m, n = theta.W.shape
        self.padded = kernels.updates.pad(*theta)
        self.theta = Parameters(self.padded.W[:m, :n], self.padded.b[:m], self.padded.c[:n])
        self._kept.clear()
        return self.theta

    def keep(self, *rows: int, make: Callable[..., Any]) -> Any:
        """Return the arrays for these numbers of rows, which ``make`` makes; a few are kept."""
        found = self._kept.get(rows)
        if found is None:
            if len(self._kept) >= MOST_KEPT:
                self._kept.clear()
            found = self._kept[rows] = make(*rows)
        return found


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

    def _make_arrays(self, rows: int) -> _SweepArrays:
        (m, n), of = self.W.shape, kernels.updates
        words, zeros = -(-n // of.HIDDEN), kernels.vectors.aligned_zeros
        before, bits = np.zeros((2, rows, m), np.uint8)
        starts, index = np.zeros((words, rows + 1), np.int64), np.zeros(rows * n + 4, np.int32)
        tile, y = zeros(of.HIDDEN, of.STRIP), zeros(rows, of.STRIP)
        drawing = np.zeros((rows, n), np.uint8), starts, index, tile, y, zeros(max(of.STRIP, n))
        return _SweepArrays(
            zeros(rows, of.row_length(n)), before, bits, np.zeros((2, m + 4), np.int32), drawing
        )

    def inputs(self, v: np.ndarray) -> np.ndarray:
        """Return c + v W, float32 (rows, n_hidden and more), until the next call.

        The last is kept, because the chains of CD start at the mini-batch, for which the positive statistics
        need the same, and the next is computed from it where few units differ. v is recognised by identity:
        an array whose rows change between two calls must be copied first.
        """
        if self._seen is v:
            return self._arrays.x
        if another := self._seen is None or len(self._seen) != len(v):
            self._arrays = self.space.keep(len(v), make=self._make_arrays)
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
        """Return v as uint8, until ``inputs`` is called for another; None if it is not the last or not bits."""
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


def norm(theta: Parameters) -> float:
    """Return the Euclidean norm over all parameters."""
    return float(np.sqrt(sum(float(np.vdot(x, x)) for x in theta)))


class LazyParameters:
    """Parameters that are formed when they are asked for, W, b and c, and may be never."""

    @cached_property
    def formed(self) -> Parameters:
        """The parameters."""
        raise NotImplementedError

    W = property(lambda self: self.formed.W)
    b = property(lambda self: self.formed.b)
    c = property(lambda self: self.formed.c)

    def __iter__(self) -> Iterator[np.ndarray]:
        return iter(self.formed)


class Rows(LazyParameters):
    """The statistics <v h'>, <v>, <h> of rows with weights; an update adds the rows, and forms no matrix.

    v, h : float32 (rows, n_visible), (rows, n_hidden); not to be written to before the update ends
    weights : float32 (rows,), or None for the mean
    bits : v as uint8, if that is at hand
    """

    def __init__(self, v: np.ndarray, h: np.ndarray, weights: np.ndarray | None = None) -> None:
        self.v, self.h, self._is_mean, n = v, h, weights is None, len(v)
        self.weights = np.full(n, 1 / n, np.float32) if weights is None else weights
        self.bits: np.ndarray | None = None

    @cached_property
    def formed(self) -> Parameters:
        v, h, weights, n = self.v, self.h, self.weights, len(self.v)
        if self._is_mean:
            return Parameters(
                kernels.batch.correlate(v, h, n), np.ones(n, np.float32) @ v / n, h.mean(axis=0)
            )
        return Parameters(kernels.batch.correlate(v, weights[:, None] * h), weights @ v, weights @ h)


class Difference(LazyParameters):
    """A gradient, positive minus negative statistics, both of rows."""

    def __init__(self, positive: Rows, negative: Rows, space: Workspace) -> None:
        self.positive, self.negative, self._space = positive, negative, space

    def _make_arrays(self, rows: int, others: int) -> tuple[np.ndarray, ...]:
        m, both = self.positive.v.shape[1], rows + others
        starts, ends = (np.zeros((2, size), np.int64) for size in (m + 1, m))
        return starts, ends, np.zeros(m * both, np.int32), self._zeros(both)

    def _zeros(self, rows: int) -> np.ndarray:
        return kernels.vectors.aligned_zeros(rows, self._space.padded.W.shape[1])

    @cached_property
    def sums(self) -> tuple[np.ndarray, ...] | None:
        """What ``kernels.updates.collect`` has prepared; None of many rows, and of other values than bits."""
        positive, negative, given = self.positive, self.negative, []
        rows, others = len(positive.v), len(negative.v)
        if rows + others > MOST_ROWS:
            return None
        for part in (positive, negative):
            if part.bits is None:
                part.bits = np.empty(part.v.shape, np.uint8)
                if kernels.batch.as_bits(np.ascontiguousarray(part.v, np.float32), part.bits) < 0:
                    return None
            given += [part.bits, part.h, part.weights]
        starts, ends, lists, means = self._space.keep(rows, others, make=self._make_arrays)
        of_v, of_h = (np.empty(x.shape[1], np.float32) for x in (positive.v, positive.h))
        kernels.updates.collect(*given, starts, ends, lists, means, of_v, of_h)
        return starts, lists, means, of_v, of_h

    def add_to(self, theta: Parameters, rate: np.float32) -> bool:
        """Add rate times the gradient to the views of the workspace; return False if it has to be formed."""
        if self.sums is None or "formed" in self.__dict__:
            return False
        *sums, of_v, of_h = self.sums
        kernels.updates.add_collected(self._space.padded.W, len(of_h), rate, *sums)
        for x, g in ((theta.b, of_v), (theta.c, of_h)):
            x += rate * g
        return True

    @cached_property
    def formed(self) -> Parameters:
        if self.sums is None:
            return difference(Parameters(*self.positive), Parameters(*self.negative))
        *sums, of_v, of_h = self.sums
        W = self._zeros(len(self._space.padded.W))
        kernels.updates.add_collected(W, len(of_h), np.float32(1), *sums)
        return Parameters(W[: len(of_v), : len(of_h)], of_v, of_h)
