"""Taskar's OCR letters: handwritten words cut into letters."""

import numpy as np

from rbmviz.datasets import Dataset
from rbmviz.datasets.raw import arrays
from rbmviz.registry import dataset


@dataset("letters", label="Handwritten letters")
def letters() -> Dataset:
    """Handwritten letters 16 x 8: Taskar's folds 1 to 9, every tenth word for validation; test is fold 0."""
    raw = arrays("letters")
    x, y = (raw["x_train"] > 0).astype(np.uint8).reshape(-1, 128), raw["y_train"].astype(np.int64)
    # The letters of a word are by one writer, so that a word is held out as a whole.
    held_out = raw["word_train"] % 10 == 0
    return Dataset(
        name="letters",
        train=x[~held_out],
        validation=x[held_out],
        test=(raw["x_test"] > 0).astype(np.uint8).reshape(-1, 128),
        train_labels=y[~held_out],
        validation_labels=y[held_out],
        test_labels=raw["y_test"].astype(np.int64),
        binarisation="published as bits",
        source="Kassel, MIT; cleaned by Taskar, Guestrin, Koller (2003)",
        classes=tuple("abcdefghijklmnopqrstuvwxyz"),
        image_shape=(16, 8),
    )
