"""Parameters of an RBM in writable arrays, and directions in parameter space, such as gradients."""

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np

from rbmviz import kernels

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


class Workspace:
    """Padded parameters, and the arrays that one update after another writes anew.

    Copies and pickles begin empty: their arrays would not be views of the same memory.
    """

    def __init__(self) -> None:
        self.theta: Parameters | None = None
        self._arrays: dict[str, np.ndarray] = {}

    def __reduce__(self) -> tuple[type["Workspace"], tuple[()]]:
        return Workspace, ()

    def pad(self, theta: Parameters) -> Parameters:
        """Copy parameters into padded memory; return views of them, of the same shapes."""
        m, n = theta.W.shape
        self.padded = kernels.updates.pad(*theta)
        self.theta = Parameters(self.padded.W[:m, :n], self.padded.b[:m], self.padded.c[:n])
        return self.theta

    def array(self, name: str, rows: int, *rest: int, dtype: type = np.float32) -> np.ndarray:
        """Return the array of this name, (rows, ...); it begins with zeros and keeps what is written."""
        x = self._arrays.get(name)
        if x is None or len(x) < rows or x.shape[1:] != rest:
            if dtype is np.float32:
                x = kernels.vectors.aligned_zeros(rows, *rest)
            else:
                x = np.zeros((rows, *rest), dtype)
            self._arrays[name] = x
        return x[:rows]


class FixedParameters(Parameters):
    """The parameters of one update, which do not change while this object exists."""

    _space: Workspace | None = None
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

    def up(self, v: np.ndarray) -> np.ndarray:
        """Return v W, float32 (rows, n_hidden)."""
        return kernels.batch.times(v, self._dense)

    def down(self, h: np.ndarray) -> np.ndarray:
        """Return h W', float32 (rows, n_visible)."""
        return kernels.batch.times_transposed(h, self._dense)

    @cached_property
    def _dense(self) -> np.ndarray:
        return np.ascontiguousarray(self.W)

    def inputs(self, v: np.ndarray) -> np.ndarray:
        """Return c + v W, float32 (rows, n_hidden and more), until the next call.

        The last is kept, because the chains of CD start at the mini-batch, for which the positive statistics
        need the same, and the next is computed from it where few units differ. v is recognised by identity:
        an array whose rows change between two calls must be copied first.
        """
        space, (rows, m), n = self.space, v.shape, len(self.c)
        W, _, c = space.padded
        x = space.array("x", rows, W.shape[1])
        if self._seen is v:
            return x
        bits, before = (space.array(name, rows, m, dtype=np.uint8) for name in ("bits", "before"))
        if self._drawn is v or kernels.batch.as_bits(np.ascontiguousarray(v, np.float32), bits) >= 0:
            another = self._seen is None or len(self._seen) != rows
            rebuild = another or self._moves % kernels.layers.REBUILD_SWEEPS == 0
            lists = space.array("lists", 2, m + 4, dtype=np.int32)
            kernels.updates.move_up(W, c, n, before, bits, x, lists, rebuild)
            self._moves += 1
        else:
            np.add(v @ self.W, self.c, out=x[:, :n])
            self._moves = 0
        self._seen, self._drawn = v, None
        return x

    def sweep(
        self, v: np.ndarray, stream: np.ndarray, beta: float = 1.0
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows after one Gibbs sweep at an inverse temperature, see ``batches.sweep``, and h.

        h is uint8 (rows, n_hidden) until the next call.
        """
        x, space, (rows, m), n = self.inputs(v), self.space, v.shape, len(self.c)
        W, b, _ = space.padded
        h, bits = (space.array(name, rows, size, dtype=np.uint8) for name, size in (("h", n), ("bits", m)))
        words = -(-n // kernels.updates.HIDDEN)
        starts = space.array("starts", words * (rows + 1), dtype=np.int64).reshape(words, rows + 1)
        index = space.array("index", rows * n + 4, dtype=np.int32)
        tile = space.array("tile", kernels.updates.HIDDEN, kernels.vectors.STRIP)
        y = space.array("y", rows, kernels.updates.row_length(m))
        mean = space.array("mean", 1, max(m, n))[0]
        kernels.updates.sweep(W, b, stream, np.float32(beta), x, h, starts, index, tile, y, mean, bits)
        self._drawn = bits.astype(np.float32)
        return self._drawn, h


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
    """

    def __init__(self, v: np.ndarray, h: np.ndarray, weights: np.ndarray | None = None) -> None:
        n = len(v)
        self.v, self.h, self._mean = v, h, weights is None
        self.weights = np.full(n, 1 / n, np.float32) if weights is None else weights

    @cached_property
    def formed(self) -> Parameters:
        v, h, weights, n = self.v, self.h, self.weights, len(self.v)
        if self._mean:
            return Parameters(kernels.batch.correlate(v, h, n), np.ones(n, np.float32) @ v / n, h.mean(axis=0))
        return Parameters(kernels.batch.correlate(v, weights[:, None] * h), weights @ v, weights @ h)


class Difference(LazyParameters):
    """A gradient, positive minus negative statistics, both of rows."""

    def __init__(self, positive: Rows, negative: Rows, space: Workspace) -> None:
        self.positive, self.negative, self._space = positive, negative, space

    @cached_property
    def sums(self) -> tuple[np.ndarray, ...] | None:
        """What ``kernels.updates.collect`` has prepared; None of many rows, and of other values than bits."""
        (_, m), n = self.positive.v.shape, self.positive.h.shape[1]
        rows = len(self.positive.v) + len(self.negative.v)
        if rows > MOST_ROWS:
            return None
        array = self._space.array
        bits, counts = array("rows", rows, m, dtype=np.uint8), array("counts", 2, m, dtype=np.int64)
        lists = array("examples", 2 * m * rows, dtype=np.int32).reshape(2, m, rows)
        means = array("means", rows, kernels.updates.row_length(n))
        of_v, of_h = np.empty(m, np.float32), np.empty(n, np.float32)
        given = [x for part in (self.positive, self.negative) for x in (part.v, part.h, part.weights)]
        if kernels.updates.collect(*given, bits, lists, counts, means, of_v, of_h):
            return lists, counts, means, of_v, of_h
        return None

    def add_to(self, theta: Parameters, rate: np.float32) -> bool:
        """Add rate times the gradient to the views of the workspace; return False if it has to be formed."""
        if self.sums is None or "formed" in self.__dict__:
            return False
        lists, counts, means, of_v, of_h = self.sums
        kernels.updates.add_collected(self._space.padded.W, len(of_h), rate, lists, counts, means)
        for x, g in ((theta.b, of_v), (theta.c, of_h)):
            x += rate * g
        return True

    @cached_property
    def formed(self) -> Parameters:
        if self.sums is None:
            return difference(Parameters(*self.positive), Parameters(*self.negative))
        lists, counts, means, of_v, of_h = self.sums
        W = kernels.vectors.aligned_zeros(len(self._space.padded.W), means.shape[1])
        kernels.updates.add_collected(W, len(of_h), np.float32(1), lists, counts, means)
        return Parameters(W[: len(of_v), : len(of_h)], of_v, of_h)
