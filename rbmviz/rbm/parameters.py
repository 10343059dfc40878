"""Parameters of an RBM in writable arrays, and directions in parameter space, such as gradients."""

from collections.abc import Iterable, Iterator
from functools import cached_property, lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from rbmviz import kernels

MOST_KEPT = 4
"""Numbers of rows for which parameters keep work space."""


class Parameters(NamedTuple):
    """Writable parameters, or a direction in parameter space.

    Attributes
    ----------
    W, b, c : float32 (n_visible, n_hidden), (n_visible,), (n_hidden,)
    """

    W: np.ndarray
    b: np.ndarray
    c: np.ndarray


class Padded(Parameters):
    """Parameters that are views of one matrix, in which kernels read and change them.

    Attributes
    ----------
    matrix : float32
        See ``kernels.updates.pad``.
    """

    matrix: np.ndarray

    @classmethod
    def of(cls, theta: Parameters) -> "Padded":
        """Return ``theta`` if it is padded, else a copy that is."""
        if isinstance(theta, cls):
            return theta
        return cls._in(kernels.updates.pad(*theta), *theta.W.shape)

    @classmethod
    def zeros(cls, m: int, n: int) -> "Padded":
        """Return the direction 0."""
        return cls._in(kernels.updates.zeros(m, n), m, n)

    @classmethod
    def _in(cls, matrix: np.ndarray, m: int, n: int) -> "Padded":
        padded = cls(matrix[:m, :n], matrix[:m, n], matrix[m, :n])
        padded.matrix = matrix
        return padded

    def __reduce__(self) -> Any:  # a copy of each array alone would not be a view
        return Padded.of, (Parameters(*self),)

    @cached_property
    def work(self) -> Any:
        """Work space of the kernels by number of rows, of which the last few are kept."""
        return lru_cache(MOST_KEPT)(partial(kernels.updates.make_work, *self.W.shape))

    @cached_property
    def scratch(self) -> "Padded":
        """Work space for a direction, zero beyond the units."""
        return Padded.zeros(*self.W.shape)

    @cached_property
    def sums(self) -> Any:
        """Work space of the kernels by numbers of rows."""
        return lru_cache(MOST_KEPT)(partial(kernels.updates.make_sums, *self.W.shape))


class FixedParameters(Parameters):
    """The parameters of one update, which do not change while this object exists."""

    _seen: np.ndarray | None = None
    _sweeps = 0

    @cached_property
    def padded(self) -> Padded:
        """The same parameters, where kernels read them."""
        return Padded.of(self)

    @classmethod
    def at(cls, padded: Padded) -> "FixedParameters":
        """Return padded parameters for an update."""
        fixed = cls(padded.W, padded.b.copy(), padded.c)  # b would be a column of the matrix
        fixed.padded = padded
        return fixed

    def _place(self, v: np.ndarray) -> Any:
        """Return the work space in which v are the rows that come next."""
        work, n = self.padded.work(len(v)), len(self.c)
        if v is self._seen:
            return work
        if self._seen is None or len(self._seen) != len(v):
            work.v[0] = work.h[0] = 0  # of other parameters
        self._seen = v
        if not kernels.updates.pack(np.ascontiguousarray(v, np.float32), work.v[1], 0):
            np.add(v @ self.W, self.c, out=work.x[:-1, :n])
            work.v[:] = 0
        return work

    def inputs(self, v: np.ndarray) -> np.ndarray:
        """Return c + v W, float32 (rows, n_hidden and more), until the next call of a method.

        The array of the last call is not read again, so do not write to it before the update ends.
        """
        work = self._place(v)
        kernels.updates.inputs(self.padded.matrix, *self.W.shape, work)
        return work.x[:-1]

    def sweep(self, v: np.ndarray, streams: np.ndarray, beta: float = 1.0) -> np.ndarray:
        """Return the rows after one Gibbs sweep at an inverse temperature, see ``batches.sweep``.

        streams : uint32 (4, STREAM_LANES), or (rows, 4, STREAM_LANES), one for each row
        """
        work, out = self._place(v), np.empty(v.shape, np.float32)
        self._sweeps += 1
        if self._sweeps % kernels.layers.REBUILD_SWEEPS == 0:
            work.v[0] = work.h[0] = 0  # no bits from which sums could be updated
        streams = streams.reshape(-1, *streams.shape[-2:])
        kernels.updates.sweep(self.padded.matrix, streams, np.float32(beta), len(self.c), work, out)
        self._seen = out
        return out

    def hidden(self, rows: int) -> np.ndarray:
        """Return the h that the last sweep of so many rows has drawn, float32 (rows, n_hidden)."""
        return unpacked(self.padded.work(rows).h[1], rows, len(self.c))

    def inputs_of_visible(self, rows: int) -> np.ndarray:
        """Return b + h W' for this h, float32 (rows, n_visible)."""
        return self.padded.work(rows).y[:-1, : len(self.b)]

    def down(self, h: np.ndarray) -> np.ndarray:
        """Return b + h W', float32 (rows, n_visible), until the next call of a method; h is False or True."""
        work = self.padded.work(len(h))
        work.h[1, :, : len(h)] = kernels.hamming.words_of(np.packbits(h, axis=1, bitorder="little")).T
        kernels.updates.inputs_of_visible(self.padded.matrix, *self.W.shape, work)
        return self.inputs_of_visible(len(h))


def unpacked(words: np.ndarray, rows: int, n: int) -> np.ndarray:
    """Return bits, uint64 (words, rows at least), as float32 (rows, n)."""
    octets = np.ascontiguousarray(words[:, :rows].T).view(np.uint8)
    return np.unpackbits(octets, axis=1, count=n, bitorder="little").astype(np.float32)


class Rows:
    """The statistics <v h'>, <v>, <h> of rows, formed only if somebody asks for W, b or c.

    v, h : float32 (rows, n_visible), (rows, n_hidden); not to be written to before the update ends
    weights : float32 (rows,); default: equal ones
    minus : statistics that are subtracted
    """

    def __init__(
        self,
        v: np.ndarray,
        h: np.ndarray,
        weights: np.ndarray | None = None,
        minus: "Rows | Parameters | None" = None,
    ) -> None:
        self.v, self.h, self.minus = v, h, minus
        self.weights = np.full(len(v), 1 / len(v), np.float32) if weights is None else weights

    W = property(lambda self: self.formed.W)
    b = property(lambda self: self.formed.b)
    c = property(lambda self: self.formed.c)

    def __iter__(self) -> Iterator[np.ndarray]:
        return iter(self.formed)

    @cached_property
    def formed(self) -> Parameters:
        """The statistics as arrays."""
        padded = Padded.zeros(self.v.shape[1], self.h.shape[1])
        self.add_to(padded)
        return Parameters(*padded)

    _sums: Any = None

    def add_to(self, theta: Padded, rate: float = 1.0, measured: bool = False) -> float:
        """Add rate times the statistics to theta; return the norm of these if it is measured."""
        squares, minus = np.zeros(theta.matrix.shape[1] if measured else 0), self.minus
        rows = minus if isinstance(minus, Rows) else Rows(self.v[:0], self.h[:0], self.weights[:0])
        anew, (m, _) = self._sums is None, theta.W.shape
        sums = self._sums = self._sums or theta.sums(len(self.v), len(rows.v))
        if anew:
            self._of_bits = all(
                kernels.updates.pack(np.ascontiguousarray(v, np.float32), sums.bits, first)
                for v, first in ((self.v, 0), (rows.v, 64 * kernels.updates.words(len(self.v))))
            )
        if not self._of_bits:
            return add(theta, 1.0, self._multiplied(), rate, measured)
        given = (np.ascontiguousarray(x, np.float32) for x in (self.h, self.weights, rows.h, rows.weights))
        kernels.updates.add(theta.matrix, np.float32(rate), m, *given, sums, anew, squares)
        if isinstance(minus, Parameters):
            add(theta, 1.0, minus, -rate)
            return norm(self.formed) if measured else 0.0
        return float(np.sqrt(squares.sum()))

    def _multiplied(self) -> Parameters:
        """Return the statistics as arrays, also of values other than 0 and 1."""
        weighted = self.weights[:, None] * self.h
        own = Parameters(self.v.T @ weighted, self.weights @ self.v, weighted.sum(axis=0))
        return own if self.minus is None else difference(own, Parameters(*self.minus))


def add(theta: Padded, keep: float, step: Parameters | Rows, rate: float, measured: bool = False) -> float:
    """Make theta = keep theta + rate step; return the norm of the step if it is measured."""
    if keep != 1:
        theta.matrix *= np.float32(keep)
    if isinstance(step, Rows):
        return step.add_to(theta, rate, measured)
    # numpy is ten times as fast for the whole matrix as for its rows without the padding.
    for x, g in zip(theta.scratch, step, strict=True):
        x[:] = g
    theta.scratch.matrix[:] *= np.float32(rate)
    theta.matrix += theta.scratch.matrix
    return norm(step) if measured else 0.0


def zeros_like(a: Parameters) -> Parameters:
    """Return the direction 0."""
    return Parameters(*(np.zeros_like(x) for x in a))


def difference(positive: Parameters, negative: Parameters | Rows) -> Parameters:
    """Return the gradient, positive minus negative statistics (overwrites the positive ones)."""
    for p, q in zip(positive, negative, strict=True):
        p -= q
    return positive


def norm(theta: Iterable[np.ndarray]) -> float:
    """Return the Euclidean norm over all parameters."""
    return float(np.sqrt(sum(float(np.vdot(x, x)) for x in theta)))
