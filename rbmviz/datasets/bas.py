"""Bars and Stripes."""

import numpy as np

from rbmviz.datasets import Dataset
from rbmviz.datasets.binarise import full_name, whole_option
from rbmviz.datasets.fields import part_fields
from rbmviz.registry import dataset


@dataset("bas", label="Bars and Stripes")
def bas(size: int | str = 4) -> Dataset:
    """Bars and Stripes (size x size, default 4): 2^size patterns of whole rows, 2^size of whole columns.

    The patterns of all 0 and of all 1 are in both families and appear twice: 32 rows for size 4, 30 of them
    distinct (Fischer and Igel; the paper UCD prints 36). Because the list is complete, nothing is held out:
    validation and test are the training part itself.

    size : from 2 to 12 (default 4)

    Raises BadInput if the size is not a whole number from 2 to 12.
    """
    size = whole_option("bas: size", size, 2, 12)
    lines = (np.arange(2**size)[:, None] >> np.arange(size - 1, -1, -1) & 1).astype(np.uint8)
    stripes = np.repeat(lines[:, :, None], size, axis=2).reshape(-1, size * size)
    bars = np.repeat(lines[:, None, :], size, axis=1).reshape(-1, size * size)
    rows = np.concatenate([stripes, bars])
    labels = np.repeat([0, 1], 2**size)
    return Dataset(
        name=full_name("bas", str(size), default="4"),
        **part_fields([rows] * 3, [labels] * 3),
        binarisation="made as bits",
        source="MacKay (2003); as in Fischer and Igel, and in the papers' code",
        classes=("stripes", "bars"),
        image_shape=(size, size),
    )
