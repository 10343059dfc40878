"""Clamped units: given some units, the others of an RBM have the law of another RBM."""

import base64
import io
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rbmviz.errors import BadInput
from rbmviz.files.arrays import Damaged, damaged, read_arrays, read_file
from rbmviz.rbm import RBM, Model, Statistics
from rbmviz.support import checks

FREE = -1

NEAREST_EXAMPLES = 20
"""Training examples whose statistics are the rates of the free units; with 50 they fit much less well."""


@dataclass(frozen=True, eq=False)
class Clamp:
    """Visible units that are held at values, while the others are sampled.

    Given the clamped units, the free ones have the law of the RBM with the rows of W and b of the free units
    and with the hidden biases c + values @ W of the clamped rows. So every sampler runs on that RBM as it is,
    and clamped units cost nothing.

    Parameters
    ----------
    units : int8 (n_visible,)
        The values, 0 or 1, and -1 for a free unit.
    """

    units: np.ndarray

    @property
    def free(self) -> np.ndarray:
        """Whether each unit is free, bool (n_visible,)."""
        return self.units == FREE

    @property
    def text(self) -> str:
        """A short text for links and code, which ``as_clamp`` reads: the mask, then the values that are held.

        Both are packed into bits, eight to a byte, and written in base64url without padding.
        """
        held = ~self.free
        packed = np.packbits(held).tobytes() + np.packbits(self.units[held]).tobytes()
        return base64.urlsafe_b64encode(packed).rstrip(b"=").decode()

    def rbm(self, rbm: RBM) -> RBM:
        """Return the RBM of the free units."""
        free, held = self.free, ~self.free
        c = rbm.c + self.units[held].astype(np.float64) @ rbm.W[held].astype(np.float64)
        return RBM(rbm.W[free], rbm.b[free], c)

    def model(self, model: Model, examples: np.ndarray | None = None) -> Model:
        """Return the model of the free units, with their rates.

        examples : uint8 (n, n_visible), the training examples. The rates are the statistics of the
            NEAREST_EXAMPLES to the clamped units, and of all that differ in as few. Without them, the rates
            are those of all data, which pull samplers to examples that the clamped units exclude.
        """
        rbm, rates, free = self.rbm(model.rbm), model.rates, self.free
        if examples is not None:
            differ = self.differing(examples)
            most = np.sort(differ)[:NEAREST_EXAMPLES][-1]
            # In float64 before it is rounded, so that a page without a server has the same bits.
            rates = rbm.mean_statistics(examples[differ <= most][:, free], np.float64)
        elif rates is not None:
            rates = Statistics(rates.W[free], rates.b[free], rates.c)
        return Model(rbm, rates, model.meta)

    def free_part(self, v: Any) -> np.ndarray:
        """Return the columns of the free units, of rows (..., n_visible); else BadInput."""
        rows, n = checks.numbers("The start", v), len(self.units)
        if rows.ndim < 1 or rows.shape[-1] != n:
            raise BadInput(f"The start has shape {rows.shape}; the model requires {n} values 0 or 1.")
        return rows[..., self.free]

    def differing(self, examples: np.ndarray) -> np.ndarray:
        """Return in how many clamped units each of the rows (n, n_visible) differs, (n,)."""
        return np.count_nonzero(examples[:, ~self.free] != self.units[~self.free], axis=1)

    def fill(self, part: np.ndarray) -> np.ndarray:
        """Return whole rows (..., n_visible) from those of the free units, of the same dtype."""
        rows = np.empty((*part.shape[:-1], len(self.units)), part.dtype)
        rows[..., self.free], rows[..., ~self.free] = part, self.units[~self.free]
        return rows


def upper_half(image: np.ndarray, rows: int, columns: int) -> Clamp:
    """Return the clamp of the upper half of an image of bits, (rows * columns,); an odd row is free."""
    units = np.full(len(image), FREE, np.int8)
    units[: rows // 2 * columns] = image[: rows // 2 * columns]
    return Clamp(units)


def as_clamp(clamp: Any, n_visible: int) -> Clamp:
    """Return a ``Clamp`` of what users give.

    clamp : Clamp; array (n_visible,) with 0 and 1 for clamped units and -1 or NaN for free ones; or (mask,
        values), arrays (n_visible,), where a unit whose mask is not 0 is held at its value; or ``Clamp.text``

    Raises BadInput if sizes or values do not fit, or no unit is free.
    """
    if isinstance(clamp, tuple) and len(clamp) == 2:
        mask, values = (checks.numbers("clamp", part) for part in clamp)
        if mask.shape != values.shape:
            raise BadInput(f"clamp: the mask has shape {mask.shape}, and the values {values.shape}.")
        units = np.where(mask != 0, values.astype(np.float64), FREE)  # FREE is no unsigned number
    elif isinstance(clamp, str):
        units = _units_of_text(clamp, n_visible)
    else:
        units = clamp.units if isinstance(clamp, Clamp) else checks.numbers("clamp", clamp)
        units = np.where(np.isnan(units), FREE, units)
    if units.shape != (n_visible,):
        raise BadInput(f"clamp has shape {units.shape}; the model has {n_visible:,} visible units.")
    if not np.isin(units, (FREE, 0, 1)).all():
        raise BadInput("clamp: give 0 or 1 for a clamped unit, and -1 for a free one.")
    if not (units == FREE).any():
        raise BadInput("clamp: all units are held; leave at least one free.")
    return Clamp(units.astype(np.int8))


def _units_of_text(text: str, n_visible: int) -> np.ndarray:
    """Return the units of ``Clamp.text``; BadInput if no clamp of this size has this text."""
    units = np.full(n_visible, FREE, np.int8)
    with suppress(ValueError):  # other characters, or another size
        packed = base64.b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True)
        bits = np.unpackbits(np.frombuffer(packed, np.uint8))
        held = bits[:n_visible] == 1
        first = -(-n_visible // 8) * 8
        units[np.flatnonzero(held)] = bits[first : first + np.count_nonzero(held)]
        if Clamp(units).text == text:  # nothing is left over
            return units
    raise BadInput(f"clamp: this drawing does not fit a model with {n_visible:,} visible units.")


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
