"""The small digits that come with scikit-learn."""

import gzip
import importlib.util
from pathlib import Path

import numpy as np

from rbmviz import rng
from rbmviz.datasets import Dataset
from rbmviz.datasets.binarise import binarised, full_name, rule_of, sentence
from rbmviz.errors import lacking
from rbmviz.registry import dataset


@dataset("digits", label="Digits 8 × 8", bundled_with="scikit-learn")
def digits(binarise: str | float = "0.5") -> Dataset:
    """Handwritten digits 8 x 8, bundled with scikit-learn: 1,197 / 300 / 300, shuffled with a fixed seed.

    Parameters
    ----------
    binarise : str or float
        Threshold between 0 and 1, or ``bernoulli`` (default 0.5).

    Raises
    ------
    BadInput
        If the rule is not valid, or scikit-learn is not installed.
    """
    rule = rule_of(binarise, "digits")
    # find_spec does not import scikit-learn, which would take longer than everything else here.
    package = importlib.util.find_spec("sklearn")
    if package is None or package.origin is None:
        raise lacking("The data set digits", "scikit-learn", "data")
    file = Path(package.origin).parent / "datasets/data/digits.csv.gz"
    lines = gzip.decompress(file.read_bytes()).decode().splitlines()
    table = np.loadtxt(lines, delimiter=",")
    order = rng.generator(0, "split digits").permutation(len(table))
    bits = binarised(table[order, :64] * (255 / 16), rule, "digits", "all")
    labels = table[order, 64].astype(np.int64)
    cuts = [len(table) - 600, len(table) - 300]
    (train, validation, test), y = np.split(bits, cuts), np.split(labels, cuts)
    return Dataset(
        name=full_name("digits", rule),
        train=train,
        validation=validation,
        test=test,
        train_labels=y[0],
        validation_labels=y[1],
        test_labels=y[2],
        binarisation=sentence(rule),
        source="Alpaydin, Kaynak: optical recognition of handwritten digits (1998), from scikit-learn",
        classes=tuple("0123456789"),
        image_shape=(8, 8),
    )
