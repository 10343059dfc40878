"""Taskar's OCR letters: handwritten words cut into letters."""

import numpy as np

from rbmviz.datasets import Dataset
from rbmviz.datasets.fields import part_fields
from rbmviz.datasets.raw import arrays
from rbmviz.registry import dataset


@dataset("letters", label="Handwritten letters")
def letters() -> Dataset:
    """Handwritten letters 16 x 8: Taskar's folds 1 to 9, every tenth word for validation; test is fold 0."""
    raw = arrays("letters")
    x, x_test = ((raw[f"x_{part}"] > 0).astype(np.uint8).reshape(-1, 128) for part in ("train", "test"))
    y, y_test = (raw[f"y_{part}"].astype(np.int64) for part in ("train", "test"))
    # The letters of a word are by one writer, so that a word is held out as a whole.
    held_out = raw["word_train"] % 10 == 0
    return Dataset(
        name="letters",
        **part_fields((x[~held_out], x[held_out], x_test), (y[~held_out], y[held_out], y_test)),
        binarisation="published as bits",
        source="Kassel, MIT; cleaned by Taskar, Guestrin, Koller (2003)",
        classes=tuple("abcdefghijklmnopqrstuvwxyz"),
        image_shape=(16, 8),
    )
