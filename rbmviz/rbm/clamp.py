"""Clamped units: given some units, the others of an RBM have the law of another RBM. Recoded ink."""

import base64
import io
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from rbmviz.errors import BadInput, quoted
from rbmviz.files.arrays import Damaged, damaged, read_arrays, read_file
from rbmviz.rbm import RBM, Model, Statistics, softplus
from rbmviz.support import checks

FREE = -1

NEAREST_EXAMPLES = 20
"""Training examples whose statistics are the rates of the free units; with 50 they fit much less well."""

MOST_NEAREST = 5000
"""Maximum number of them, where many differ in as few units: all of MNIST would take seconds."""


@dataclass(frozen=True, eq=False)
class Clamp:
    """Units that are held at values, while the others are sampled; and the value that stands for ink.

    Given the clamped units, the free ones have the law of the RBM with the rows and columns of W of the free
    units, where a unit that is held on adds its weights to the biases of the other layer. So every sampler
    runs on that RBM as it is, and clamped units cost nothing.

    Parameters
    ----------
    units : int8 (n_visible,)
        The values, 0 or 1, and -1 for a free unit.
    hidden : int8 (n_hidden,)
        The same of the hidden units; empty (the default) if all are free.
    ink : int
        1 (the default), or 0: samplers see the model of 1 - v, and what they make is turned back.
    """

    units: np.ndarray
    hidden: np.ndarray = field(default_factory=lambda: np.empty(0, np.int8))
    ink: int = 1

    @property
    def free(self) -> np.ndarray:
        """Whether each visible unit is free, bool (n_visible,)."""
        return self.units == FREE

    @property
    def holds(self) -> bool:
        """Whether any unit is held."""
        return len(self.hidden) > 0 or not self.free.all()

    @property
    def text(self) -> str:
        """A short text for links and code, which ``as_clamp`` reads: the mask, then the values that are held.

        Both are packed into bits, eight to a byte, and written in base64url without padding. If hidden units
        are held, a dot and the same of the hidden units follow.
        """
        return ".".join(_text(layer) for layer in (self.units, self.hidden) if len(layer))

    @property
    def _kept(self) -> Any:
        return self.hidden == FREE if len(self.hidden) else slice(None)

    def rbm(self, rbm: RBM) -> RBM:
        """Return the RBM of the free units, as samplers see it."""
        free, held, on = self.free, ~self.free, np.flatnonzero(self.hidden == 1)
        c = rbm.c + self.units[held].astype(np.float64) @ rbm.W[held].astype(np.float64)
        b = rbm.b[free] + rbm.W[free][:, on].sum(axis=1, dtype=np.float64)
        W, c = rbm.W[free][:, self._kept], c[self._kept]
        return RBM(W, b, c) if self.ink else RBM(-W, -b, c + W.sum(axis=0, dtype=np.float64))

    def model(self, model: Model, examples: np.ndarray | None = None) -> Model:
        """Return the model of the free units, as samplers see it, with their rates.

        examples : uint8 (n, n_visible), the training examples. The rates are the statistics of the
            NEAREST_EXAMPLES to the clamped visible units, and of all that differ in as few, weighted by the
            probability of the clamped hidden units given each. Without them, the rates are those of all data,
            which pull samplers to examples that the clamped units exclude.
        """
        rbm, rates, free = self.rbm(model.rbm), model.rates, self.free
        if examples is not None:
            differ = self.differing(examples)
            rows = examples[differ <= np.sort(differ)[:NEAREST_EXAMPLES][-1]]
            rows = rows[:: -(-len(rows) // MOST_NEAREST)]
            # In float64 before it is rounded, so that a page without a server has the same bits.
            weights = self._weights(model.rbm, rows)
            v = self._seen(rows[:, free]).astype(np.float64)
            w = np.ones((len(v), 1)) if weights is None else weights[:, None]
            h, weighted = rbm.mean_hidden(v), w * v
            sums = weighted.T @ h, weighted.sum(axis=0), (w * h).sum(axis=0)
            rates = Statistics(*(total / w.sum() for total in sums))
        elif rates is not None:
            W, b, c = rates.W[free][:, self._kept], rates.b[free], rates.c[self._kept]
            rates = Statistics(W, b, c) if self.ink else Statistics(c - W, 1 - b, c)
        return Model(rbm, rates, model.meta)

    def _weights(self, rbm: RBM, rows: np.ndarray) -> np.ndarray | None:
        """Return p(clamped hidden units | row), in proportion; None if no hidden unit is held."""
        if not len(self.hidden):
            return None
        held = self.hidden != FREE
        a = rows @ rbm.W[:, held] + rbm.c[held]
        log_p = -softplus(np.where(self.hidden[held] == 1, -a, a)).sum(axis=1)
        return np.exp(log_p - log_p.max())

    def _seen(self, part: np.ndarray) -> np.ndarray:
        """Return values of free units as samplers see them; twice, as they were."""
        return part if self.ink else 1 - part

    def free_part(self, v: Any) -> np.ndarray:
        """Return what samplers see of rows (..., n_visible), the free units; else BadInput."""
        rows, n = checks.numbers("The start", v), len(self.units)
        if rows.ndim < 1 or rows.shape[-1] != n:
            raise BadInput(f"The start has shape {rows.shape}; the model requires {n} values 0 or 1.")
        return self._seen(rows[..., self.free])

    def differing(self, examples: np.ndarray) -> np.ndarray:
        """Return in how many clamped units each of the rows (n, n_visible) differs, (n,)."""
        return np.count_nonzero(examples[:, ~self.free] != self.units[~self.free], axis=1)

    def fill(self, part: np.ndarray) -> np.ndarray:
        """Return whole rows (..., n_visible) from those that samplers make, of the same dtype."""
        rows = np.empty((*part.shape[:-1], len(self.units)), part.dtype)
        rows[..., self.free], rows[..., ~self.free] = self._seen(part), self.units[~self.free]
        return rows


def upper_half(image: np.ndarray, rows: int, columns: int) -> Clamp:
    """Return the clamp of the upper half of an image of bits, (rows * columns,); an odd row is free."""
    units = np.full(len(image), FREE, np.int8)
    units[: rows // 2 * columns] = image[: rows // 2 * columns]
    return Clamp(units)


def as_clamp(clamp: Any, n_visible: int, n_hidden: int = 0) -> Clamp:
    """Return a ``Clamp`` of what users give.

    clamp : Clamp; array (n_visible,) with 0 and 1 for clamped units and -1 or NaN for free ones; or (mask,
        values), arrays (n_visible,), where a unit whose mask is not 0 is held at its value; or ``Clamp.text``
    n_hidden : arrays of n_visible + n_hidden values hold hidden units, too (default 0: none)

    Raises BadInput if sizes or values do not fit, or no unit of a layer is free.
    """
    if isinstance(clamp, tuple) and len(clamp) == 2:
        mask, values = (checks.numbers("clamp", part) for part in clamp)
        if mask.shape != values.shape:
            raise BadInput(f"clamp: the mask has shape {mask.shape}, and the values {values.shape}.")
        units = np.where(mask != 0, values.astype(np.float64), FREE)  # FREE is no unsigned number
    elif isinstance(clamp, str):
        visible, dot, others = clamp.partition(".")
        layers = [_units_of_text(visible, n_visible, "visible")]
        units = np.concatenate([*layers, *([_units_of_text(others, n_hidden, "hidden")] if dot else [])])
    else:
        given = np.concatenate([clamp.units, clamp.hidden]) if isinstance(clamp, Clamp) else clamp
        units = checks.numbers("clamp", given)
        units = np.where(np.isnan(units), FREE, units)
    if units.shape not in ((n_visible,), (n_visible + n_hidden,)):
        raise BadInput(f"clamp has shape {units.shape}; the model has {n_visible:,} visible units.")
    if not np.isin(units, (FREE, 0, 1)).all():
        raise BadInput("clamp: give 0 or 1 for a clamped unit, and -1 for a free one.")
    units, hidden = units[:n_visible].astype(np.int8), units[n_visible:].astype(np.int8)
    for name, layer in (("", units), ("hidden ", hidden)):
        if len(layer) and (layer != FREE).all():
            raise BadInput(f"clamp: all {name}units are held; leave at least one free.")
    return Clamp(units, hidden if (hidden != FREE).any() else hidden[:0])


def clamp_of(clamp: Any, ink: int, rbm: RBM) -> Clamp | None:
    """Return what users hold in a model, see ``as_clamp``; None: ``clamp`` is None, and ink is 1."""
    if ink not in (0, 1):
        raise BadInput(f"ink = {quoted(ink)}: give the value that stands for ink, 0 or 1.")
    if clamp is None and ink == 1:
        return None
    held = np.full(rbm.n_visible, FREE) if clamp is None else clamp
    return replace(as_clamp(held, *rbm.W.shape), ink=int(ink))


def _text(units: np.ndarray) -> str:
    """Return the units of a layer as text, see ``Clamp.text``."""
    held = units != FREE
    packed = np.packbits(held).tobytes() + np.packbits(units[held]).tobytes()
    return base64.urlsafe_b64encode(packed).rstrip(b"=").decode()


def _units_of_text(text: str, n: int, layer: str) -> np.ndarray:
    """Return the units of the text of a layer; BadInput if no layer of this size has this text."""
    units = np.full(n, FREE, np.int8)
    with suppress(ValueError):  # other characters, or another size
        packed = base64.b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True)
        bits = np.unpackbits(np.frombuffer(packed, np.uint8))
        held = bits[:n] == 1
        first = -(-n // 8) * 8
        units[np.flatnonzero(held)] = bits[first : first + np.count_nonzero(held)]
        if _text(units) == text:  # nothing is left over
            return units
    raise BadInput(f"clamp: this drawing does not fit a model with {n:,} {layer} units.")


def read_clamp(path: str | Path, n_visible: int) -> Clamp:
    """Return the ``Clamp`` of a file: an array (.npy) with 0, 1 and -1, or a picture.

    In a picture, read row by row, white is a unit that is held on, black one that is held off, and grey or
    transparent a free one.

    Raises BadInput if the file cannot be read, or does not fit the model.
    """
    path = Path(path)
    try:
        if path.suffix == ".npy":
            (units,) = read_arrays(path, ".npy", lambda names: names)[0].values()
        else:
            units = _picture(read_file(path, f"'{path}'"))
    except Damaged as error:
        raise BadInput(
            f"'{path}' cannot be read as clamped units: {error}. Give an .npy or a picture."
        ) from None
    return as_clamp(units.reshape(-1), n_visible)


def _picture(content: bytes) -> np.ndarray:
    from PIL import Image  # only files need it

    with damaged(), Image.open(io.BytesIO(content)) as picture:
        grey, opacity = np.moveaxis(np.asarray(picture.convert("LA")), -1, 0)
    held = (opacity > 127) & ((grey < 64) | (grey > 191))
    return np.where(held, grey > 127, FREE)
