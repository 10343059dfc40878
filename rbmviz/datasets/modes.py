"""Artificial Modes: noisy copies of four distant prototypes."""

import numpy as np

from rbmviz import rng
from rbmviz.datasets import Dataset
from rbmviz.datasets.binarise import full_name
from rbmviz.datasets.fields import PARTS, part_fields
from rbmviz.errors import BadInput, quoted
from rbmviz.registry import dataset

UNITS = 16
COPIES = 2500


@dataset("modes", label="Four prototypes")
def modes(p: float | str = 0.001) -> Dataset:
    """Four 16-bit prototypes, 2,500 copies each, every bit flipped with probability p (default 0.001).

    The prototypes are all 0, all 1, left half 0 and right half 1, and the complement of the latter
    (Desjardins et al., 2010; population CD, section 4). The parts are independent draws: 10,000 / 1,000 /
    1,000.

    p : probability that a bit is flipped, from 0 to 0.5 (default 0.001)

    Raises BadInput if p is not a number from 0 to 0.5.
    """
    try:
        p_flip = float(p)
    except (TypeError, ValueError, OverflowError):
        p_flip = np.nan
    if not 0 <= p_flip <= 0.5:
        raise BadInput(f"modes: p = {quoted(p)} is outside 0 to 0.5.")
    half = np.arange(UNITS) * 2 // UNITS % 2
    prototypes = np.array([np.zeros(UNITS), np.ones(UNITS), half, 1 - half], np.uint8)
    rows, labels = [], []
    for part, copies in zip(PARTS, (COPIES, COPIES // 10, COPIES // 10), strict=True):
        g = rng.generator(0, f"modes {part}")
        labels.append(g.permutation(np.repeat(np.arange(4), copies)))
        flips = g.random((4 * copies, UNITS)) < p_flip
        rows.append(prototypes[labels[-1]] ^ flips)
    return Dataset(
        name=full_name("modes", str(p_flip), default="0.001"),
        **part_fields(rows, labels),
        binarisation="made as bits",
        source="Desjardins, Courville, Bengio, Vincent, Delalleau (2010)",
        classes=("all 0", "all 1", "right half", "left half"),
        image_shape=(4, 4),
    )
