"""Binarisation of grey levels: by a threshold, or by one Bernoulli draw per pixel with a fixed seed."""

import numpy as np

from rbmviz import rng
from rbmviz.errors import BadInput, quoted

VALUES_PER_BLOCK = 2**20
"""Values that are binarised at a time, because intermediate results take up to 16 times their size."""


def rule_of(rule: str | float, dataset: str, most: int = 1) -> str:
    """Return the rule in the form that data set names use: ``0.5``, or ``bernoulli``.

    Raises BadInput if the rule is neither ``bernoulli`` nor a number between 0 and ``most``.
    """
    if rule == "bernoulli":
        return "bernoulli"
    try:
        threshold = float(rule)
    except (TypeError, ValueError, OverflowError):
        threshold = np.nan
    if not 0 < threshold < most:
        level = "" if most == 1 else f", a grey level from 1 to {most - 1}"
        raise BadInput(
            f"{dataset}: cannot binarise by {quoted(rule)}; give a threshold between 0 and 1{level}, or "
            "bernoulli."
        )
    return f"{threshold:g}"


def whole_option(what: str, value: object, lo: int, hi: int | None = None) -> int:
    """Return an option of a data set, a whole number or its text, as an int; BadInput outside lo to hi."""
    try:
        number = int(text) if (text := str(value)).isdecimal() else -1
    except ValueError:  # more digits than Python converts
        number = -1
    if number < lo or (hi is not None and number > hi):
        upper = "up" if hi is None else f"to {hi:,}"
        raise BadInput(f"{what} = {quoted(value)} is not a whole number from {lo} {upper}.")
    return number


def full_name(dataset: str, rule: str, default: str = "0.5") -> str:
    """Return the name for ``load_dataset``: ``usps``, or ``usps@0.5`` if the rule is not the default."""
    return dataset if rule == default else f"{dataset}@{rule}"


def binarised(grey: np.ndarray, rule: str, dataset: str, part: str, scale: float | None = None) -> np.ndarray:
    """Return binarised images, uint8 (n, pixels).

    grey : array (n, ...); grey levels: from 0 to 255, or from 0 to ``255 / scale``
    rule : a threshold: a pixel is on if its grey level, as a share of 255 (from 1 on: itself), is above it.
        Or ``bernoulli``: a pixel is on with its grey level as the probability, drawn once, with a fixed seed.
    dataset, part : names of data set and part, which name the random stream of the draws
    scale : factor that brings the grey levels to 0 to 255 (default 1)
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
            bits[at : at + step] = rows > float(rule) * (255 if float(rule) < 1 else 1)
    return bits


def sentence(rule: str) -> str:
    """Return the sentence that describes the binarisation rule."""
    if rule == "bernoulli":
        return "each bit drawn once with its grey level as the probability (fixed seed)"
    return f"a bit is 1 where the grey level is above {rule}{' of full ink' if float(rule) < 1 else ''}"
