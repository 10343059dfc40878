"""The small digits that come with scikit-learn."""

import gzip

import numpy as np

from rbmviz import rng
from rbmviz.datasets import Dataset
from rbmviz.datasets.binarise import binarised, full_name, rule_of, sentence
from rbmviz.datasets.fields import part_fields
from rbmviz.datasets.raw import Arrays, Publication, arrays
from rbmviz.registry import dataset

DIGITS_FILE = "sklearn/datasets/data/digits.csv.gz"


def _decoded(files: dict[str, bytes]) -> Arrays:
    table = np.loadtxt(gzip.decompress(files[DIGITS_FILE]).decode().splitlines(), np.uint8, delimiter=",")
    return {"x": table[:, :64], "y": table[:, 64]}


SMALL_DIGITS = Publication(
    {"x": (1797, 64), "y": (1797,)}, package="scikit-learn", files={DIGITS_FILE: None}, decode=_decoded
)


@dataset("digits", label="Digits 8 × 8", published=SMALL_DIGITS)
def digits(binarise: str | float = "0.5") -> Dataset:
    """Handwritten digits 8 x 8, bundled with scikit-learn: 1,197 / 300 / 300, shuffled with a fixed seed.

    binarise : threshold between 0 and 1, or ``bernoulli`` (default 0.5)

    Raises BadInput if the rule is not valid, or scikit-learn is not installed.
    """
    rule = rule_of(binarise, "digits")
    raw = arrays("digits")
    order = rng.generator(0, "split digits").permutation(len(raw["x"]))
    bits = binarised(raw["x"][order] * (255 / 16), rule, "digits", "all")
    labels = raw["y"][order].astype(np.int64)
    cuts = [len(order) - 600, len(order) - 300]
    return Dataset(
        name=full_name("digits", rule),
        **part_fields(np.split(bits, cuts), np.split(labels, cuts)),
        binarisation=sentence(rule),
        source="Alpaydin, Kaynak: optical recognition of handwritten digits (1998), from scikit-learn",
        classes=tuple("0123456789"),
        image_shape=(8, 8),
    )
