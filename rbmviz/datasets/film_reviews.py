"""Film reviews as 1,000 word stems: public data in place of the OpenTable data of the paper rates-FPCD."""

import numpy as np

from rbmviz import rng
from rbmviz.datasets import Dataset
from rbmviz.datasets.raw import arrays
from rbmviz.registry import dataset


@dataset("film_reviews")
def film_reviews() -> Dataset:
    """Presence of 1,000 word stems in 25,000 reviews of films: 80 / 10 / 10 %, shuffled with a fixed seed.

    They are the labelled training part of the Large Movie Review Dataset, half of them negative and half
    positive: lower-cased words of two letters or more, reduced by the English Snowball stemmer, of which the
    1,000 that occur in most reviews are kept. Some hundred reviews occur twice.

    Raises
    ------
    BadInput
        If the data are not on this machine.
    """
    raw = arrays("film_reviews")
    n = len(raw["stems"])
    order = rng.generator(0, "split film_reviews").permutation(len(raw["x"]))
    x, y = np.unpackbits(raw["x"], 1, n)[order], raw["y"][order].astype(np.int64)
    cuts = [8 * len(x) // 10, 9 * len(x) // 10]
    (train, validation, test), labels = np.split(x, cuts), np.split(y, cuts)
    return Dataset(
        name="film_reviews",
        train=train,
        validation=validation,
        test=test,
        train_labels=labels[0],
        validation_labels=labels[1],
        test_labels=labels[2],
        binarisation="1 where the stem occurs in the review",
        source=(
            "Maas, Daly, Pham, Huang, Ng, Potts (2011): Large Movie Review Dataset, from IMDb; the texts "
            "belong to their writers"
        ),
        classes=("negative", "positive"),
        vocabulary=tuple(str(stem) for stem in raw["stems"]),
    )
