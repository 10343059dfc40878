"""Grey levels to bits: by a threshold, or by one Bernoulli draw with a fixed seed."""

import numpy as np

from rbmviz import rng
from rbmviz.errors import BadInput

VALUES_PER_BLOCK = 2**20
"""Values that are binarised at once."""


def rule_of(rule: str | float, dataset: str) -> str:
    """Return the rule as it stands in a data set's name: ``0.5``, or ``bernoulli``."""
    if rule == "bernoulli":
        return "bernoulli"
    try:
        threshold = float(rule)
    except (TypeError, ValueError):
        threshold = np.nan
    if not 0 < threshold < 1:
        raise BadInput(
            f"{dataset}: cannot binarise by '{rule}'; give a threshold between 0 and 1, or bernoulli."
        )
    return f"{threshold:g}"


def full_name(dataset: str, rule: str, default: str = "0.5") -> str:
    """Return the name that load_dataset takes back: ``usps``, or ``usps@0.5`` off the default."""
    return dataset if rule == default else f"{dataset}@{rule}"


def binarised(grey: np.ndarray, rule: str, dataset: str, part: str, scale: float | None = None) -> np.ndarray:
    """Return uint8 0/1 rows (n, pixels) of images in 255ths, or in ``1 / scale`` of them.

    A threshold turns a pixel on where its grey level is above it; bernoulli with the grey level as the
    probability, one draw for good (stream named by data set and part). Some rows are taken at a time: what
    is computed of them is up to sixteen times their size.
    """
    bits = np.empty((len(grey), grey[:1].size), np.uint8)
    drawn = rng.generator(0, f"binarise {dataset} {part}")
    step = max(VALUES_PER_BLOCK // max(bits.shape[1], 1), 1)
    for at in range(0, len(grey), step):
        rows = grey[at : at + step].reshape(-1, bits.shape[1])
        if scale is not None:
            rows = rows * scale
        if rule == "bernoulli":
            bits[at : at + step] = drawn.random(rows.shape, dtype=np.float32) * 255 < rows
        else:
            bits[at : at + step] = rows > float(rule) * 255
    return bits


def sentence(rule: str) -> str:
    """Say how the bits were made."""
    if rule == "bernoulli":
        return "each bit drawn once with its grey level as the probability (fixed seed)"
    return f"a bit is 1 where the grey level is above {rule} of full ink"
