"""The restricted Boltzmann machine: parameters and their statistics; ``files`` reads and writes its files.

``rbmviz.glossary`` explains the terms.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rbmviz.errors import BadInput, quoted
from rbmviz.files import metadata
from rbmviz.files.provenance import digest_of
from rbmviz.support import checks
from rbmviz.support.notebook import data_frame, notebook_html, picture_shape, short_repr

MAX_PARAMETER = 1e30
"""Largest absolute value of a parameter: sums of larger values could overflow float32."""

ENTRIES_PER_BLOCK = 2**22
"""Most numbers in a block of rows: bounds the temporary memory of row-wise results."""


def sigmoid(x: np.ndarray) -> np.ndarray:
    """Return 1 / (1 + exp(-x)) without overflow."""
    return 0.5 * (1.0 + np.tanh(0.5 * x))


def softplus(x: np.ndarray) -> np.ndarray:
    """Return log(1 + exp(x)) without overflow."""
    return np.logaddexp(0.0, x)


def _parameter(name: str, value: Any, shape: tuple[int, ...] | None = None) -> np.ndarray:
    """Return a parameter as a read-only float32 copy, or raise BadInput; ``shape`` is what W requires."""
    with np.errstate(over="ignore"):  # infinite, and refused below
        array = np.array(checks.numbers(name, value), dtype=np.float32, order="C")
    if array.ndim != (2 if name.endswith("W") else 1) or 0 in array.shape:
        want = "(n_visible, n_hidden)" if name.endswith("W") else "one-dimensional"
        raise BadInput(f"{name} has shape {array.shape}; it must be {want} and not empty.")
    if shape is not None and array.shape != shape:
        raise BadInput(f"{name} has shape {array.shape}; W requires {shape}.")
    if not np.isfinite(array).all():
        raise BadInput(f"{name} holds NaN or infinite values; give finite parameters.")
    if max(array.max(), -array.min()) > MAX_PARAMETER:
        raise BadInput(f"{name} holds values beyond ±{MAX_PARAMETER:g}; their sums overflow float32.")
    array.flags.writeable = False
    return array


def _layer(name: str, value: Any, units: int) -> np.ndarray:
    """Return states of one layer, (..., units), as an array of numbers, or raise BadInput."""
    array = checks.numbers(name, value)
    if not array.ndim or array.shape[-1] != units:
        raise BadInput(f"{name} has shape {array.shape}; the model requires (..., {units}).")
    return array


@dataclass(frozen=True, eq=False)
class Statistics:
    """Sufficient statistics, or a direction in parameter space: float32 arrays shaped like (W, b, c)."""

    W: np.ndarray
    b: np.ndarray
    c: np.ndarray

    __repr__ = short_repr

    def __post_init__(self) -> None:
        object.__setattr__(self, "W", _parameter("rates.W", self.W))
        object.__setattr__(self, "b", _parameter("rates.b", self.b, self.W.shape[:1]))
        object.__setattr__(self, "c", _parameter("rates.c", self.c, self.W.shape[1:]))


@dataclass(frozen=True, eq=False)
class RBM:
    """A binary RBM with energy E(v, h) = -v'Wh - b'v - c'h.

    Parameters
    ----------
    W, b, c : array, float32 (n_visible, n_hidden), (n_visible,), (n_hidden,)
        All are copied, made C-ordered and read-only.

    Raises
    ------
    BadInput
        If shapes do not fit, or a value is not finite or beyond ±1e30.

    Examples
    --------
    >>> import numpy as np
    >>> rbm = rbmviz.RBM(W=np.eye(3, 2), b=np.zeros(3), c=np.zeros(2))
    >>> rbm.n_visible, rbm.n_hidden
    (3, 2)
    >>> v = np.array([[1, 0, 0], [0, 0, 0]], np.uint8)
    >>> rbm.mean_hidden(v).round(3)
    array([[0.731, 0.5  ],
           [0.5  , 0.5  ]], dtype=float32)
    """

    W: np.ndarray
    b: np.ndarray
    c: np.ndarray

    def __post_init__(self) -> None:
        object.__setattr__(self, "W", _parameter("W", self.W))
        object.__setattr__(self, "b", _parameter("b", self.b, self.W.shape[:1]))
        object.__setattr__(self, "c", _parameter("c", self.c, self.W.shape[1:]))

    def __repr__(self) -> str:
        return f"RBM({self.n_visible} visible, {self.n_hidden} hidden units)"

    @property
    def n_visible(self) -> int:
        """Number of visible units."""
        return self.W.shape[0]

    @property
    def n_hidden(self) -> int:
        """Number of hidden units."""
        return self.W.shape[1]

    def mean_hidden(self, v: np.ndarray) -> np.ndarray:
        """Return E[h|v], float (..., n_hidden), for v (..., n_visible)."""
        v = _layer("v", v, self.n_visible)
        return sigmoid(v @ self.W + self.c)

    def mean_visible(self, h: np.ndarray) -> np.ndarray:
        """Return E[v|h], float (..., n_visible), for h (..., n_hidden)."""
        h = _layer("h", h, self.n_hidden)
        return sigmoid(h @ self.W.T + self.b)

    def free_energy(self, v: np.ndarray) -> np.ndarray:
        """Return ``F(v) = -b'v - sum_j softplus(c_j + v'W_:j)``, float64 (...), in nats.

        Rows (n, n_visible) are processed in blocks, because float64 takes eight times their memory.
        """
        v = _layer("v", v, self.n_visible)
        rows = max(ENTRIES_PER_BLOCK // max(self.W.shape), 1)
        if v.ndim == 2 and len(v) > rows:
            blocks = [self.free_energy(v[at : at + rows]) for at in range(0, len(v), rows)]
            return np.concatenate(blocks)
        v = v.astype(np.float64)
        return -(v @ self.b) - softplus(v @ self.W.astype(np.float64) + self.c).sum(axis=-1)

    def rates(self, v: np.ndarray) -> Statistics:
        """Return the mean statistics <v E[h|v]'>, <v>, <E[h|v]> of the rows of v (n, n_visible).

        For the whole training set these are the positive statistics of training, which rates-FPCD keeps fixed
        (section 4 of that paper). Summed in float64.
        """
        return self.mean_statistics(checks.bits("The data", v, self.n_visible))

    def mean_statistics(self, v: np.ndarray) -> Statistics:
        """Return the ``rates`` of rows v (n, n_visible) of any values; bits take a third of the time.

        Blocks of rows are summed in float32, and these sums in float64.
        """
        from rbmviz import kernels  # which compile: models alone are read without them
        from rbmviz.rbm.parameters import FixedParameters, Padded, Rows

        theta = FixedParameters(self.W, self.b, self.c)
        totals = [np.zeros(a.shape) for a in theta]
        for at in range(0, len(v), 4096):
            part = Padded.zeros(*self.W.shape)
            for first in range(at, min(at + 4096, len(v)), 256):  # whose means stay in the second cache
                x = v[first : first + 256].astype(np.float32)
                h = np.empty((len(x), self.n_hidden), np.float32)
                kernels.updates.means(theta.inputs(x), np.float32(1), h)
                Rows(x, h, np.ones(len(x), np.float32)).add_to(part)
            for total, summed in zip(totals, part, strict=True):
                total += summed
        return Statistics(*(total / len(v) for total in totals))


@dataclass(frozen=True, eq=False)
class Model:
    """An RBM with its rates and provenance.

    Parameters
    ----------
    rbm : RBM
        The parameters.
    rates : Statistics or None
        Mean statistics of its training set, which rates-FPCD and rates-herding need.
    meta : mapping
        Provenance, JSON values only: data set, binarisation, trainer, knobs, seed, updates, scores.
        ``metadata.SCHEMA_OF_KEYS`` lists the known keys and their types.
    history : dict of arrays (records,)
        The course of its training, if ``fit`` or ``train`` has made it: ``update``, ``seconds``, ``sweeps``,
        and the statistics of the trainer. Files do not keep it.
    data : Dataset, Path or None
        What ``fit`` or ``train`` has trained it on: the default data of scores, starts and sweeps. A model
        file keeps its name only; ``load_model`` finds the file of that name in the same folder.

    Raises
    ------
    BadInput
        If ``rbm`` is no RBM, the rates have another shape than W, or a known key of the metadata has an
        invalid value.
    """

    rbm: RBM
    rates: Statistics | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)
    history: Mapping[str, np.ndarray] = field(default_factory=dict)
    data: Any = None

    def __repr__(self) -> str:
        said = [f"{self.rbm.n_visible} visible, {self.rbm.n_hidden} hidden units"]
        said += [str(self.meta[key]) for key in ("dataset", "trainer") if self.meta.get(key)]
        if self.meta.get("updates"):
            said.append(f"{self.meta['updates']:,} updates")
        return f"Model({', '.join(said)}{'' if self.rates is None else ', with rates'})"

    def _repr_html_(self) -> str:
        shape = picture_shape(self.rbm.n_visible, self.meta.get("image_shape"))
        return notebook_html(self, None if shape is None else self.rbm.W.T, shape)

    def digest(self) -> str:
        """Return a hash of the parameters and rates, 16 hexadecimal digits; the metadata do not count."""
        parts = (self.rbm,) if self.rates is None else (self.rbm, self.rates)
        return digest_of(array for part in parts for array in (part.W, part.b, part.c))

    def history_frame(self) -> Any:
        """Return the history as a pandas DataFrame, a row for each record."""
        return data_frame(self.history)

    def __post_init__(self) -> None:
        if not isinstance(self.rbm, RBM):
            raise BadInput(f"{quoted(self.rbm)} is not an RBM: load a model by rbmviz.load_model.")
        if self.rates is not None and self.rates.W.shape != self.rbm.W.shape:
            raise BadInput(f"The rates have shape {self.rates.W.shape}; the model has {self.rbm.W.shape}.")
        object.__setattr__(self, "meta", metadata.checked(self.meta))
