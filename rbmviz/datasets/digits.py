"""The small digits that come with scikit-learn."""

import numpy as np

from rbmviz import rng
from rbmviz.datasets import Dataset
from rbmviz.datasets.binarise import binarised, full_name, rule_of, sentence
from rbmviz.datasets.fields import part_fields
from rbmviz.datasets.raw import bundled
from rbmviz.registry import dataset


@dataset("digits", label="Digits 8 × 8", bundled_with="scikit-learn")
def digits(binarise: str | float = "0.5") -> Dataset:
    """Handwritten digits 8 x 8, bundled with scikit-learn: 1,197 / 300 / 300, shuffled with a fixed seed.

    binarise : threshold between 0 and 1, or ``bernoulli`` (default 0.5)

    Raises BadInput if the rule is not valid, or scikit-learn is not installed.
    """
    rule = rule_of(binarise, "digits")
    text = bundled("digits", "scikit-learn", "sklearn", "datasets/data/digits.csv.gz")
    table = np.loadtxt(text.splitlines(), delimiter=",")
    order = rng.generator(0, "split digits").permutation(len(table))
    bits = binarised(table[order, :64] * (255 / 16), rule, "digits", "all")
    labels = table[order, 64].astype(np.int64)
    cuts = [len(table) - 600, len(table) - 300]
    return Dataset(
        name=full_name("digits", rule),
        **part_fields(np.split(bits, cuts), np.split(labels, cuts)),
        binarisation=sentence(rule),
        source="Alpaydin, Kaynak: optical recognition of handwritten digits (1998), from scikit-learn",
        classes=tuple("0123456789"),
        image_shape=(8, 8),
    )
