"""Restaurant reviews as 1,000 word stems, instead of the OpenTable data of the paper rates-FPCD."""

import numpy as np

from rbmviz.datasets import Dataset
from rbmviz.datasets.raw import Publication, arrays
from rbmviz.registry import dataset

PUBLISHED_REVIEWS = Publication(
    {"x_train": (32_776, 125), "x_valid": (4097, 125), "x_test": (4098, 125)}
    | {"n_features": (), "stems": (1000,)},
    array_file="reviews_bow",
)


@dataset("reviews", label="Restaurant reviews", published=PUBLISHED_REVIEWS)
def reviews() -> Dataset:
    """Presence of 1,000 word stems in 40,971 restaurant reviews: 32,776 / 4,097 / 4,098 (no download).

    Raises BadInput if the data are not on this machine.
    """
    raw = arrays("reviews")
    n = len(raw["stems"])
    train, validation, test = (np.unpackbits(raw[f"x_{part}"], 1, n) for part in ("train", "valid", "test"))
    return Dataset(
        name="reviews",
        train=train,
        validation=validation,
        test=test,
        binarisation="published as bits: 1 where the stem occurs",
        source="word-presence bits of restaurant reviews, after the OpenTable data of paper rates-FPCD",
        vocabulary=tuple(str(stem) for stem in raw["stems"]),
    )
