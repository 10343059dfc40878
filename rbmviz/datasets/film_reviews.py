"""Film reviews as 1,000 word stems: public data instead of the OpenTable data of the paper rates-FPCD."""

import numpy as np

from rbmviz.datasets import Dataset
from rbmviz.datasets.bag_of_words import shuffled_parts
from rbmviz.datasets.raw import arrays
from rbmviz.registry import dataset


@dataset("film_reviews", label="Film reviews")
def film_reviews() -> Dataset:
    """Presence of 1,000 word stems in 25,000 reviews of films: 80 / 10 / 10 %, shuffled with a fixed seed.

    They are the labelled training part of the Large Movie Review Dataset, half of them negative and half
    positive: lower-cased words of two letters or more, reduced by the English Snowball stemmer, of which the
    1,000 that occur in most reviews are kept. Some hundred reviews occur twice.

    Raises BadInput if the data are not on this machine.
    """
    raw = arrays("film_reviews")
    x = np.unpackbits(raw["x"], 1, len(raw["stems"]))
    parts = shuffled_parts("film_reviews", x, raw["y"])
    return Dataset(
        name="film_reviews",
        **parts,
        binarisation="1 where the stem occurs in the review",
        source=(
            "Maas, Daly, Pham, Huang, Ng, Potts (2011): Large Movie Review Dataset, from IMDb; the texts "
            "belong to their writers"
        ),
        classes=("negative", "positive"),
        vocabulary=tuple(str(stem) for stem in raw["stems"]),
    )
