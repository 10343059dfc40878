"""Fashion-MNIST: garments in the format of MNIST."""

import numpy as np

from rbmviz.datasets import Dataset
from rbmviz.datasets.binarise import binarised, full_name, rule_of, sentence
from rbmviz.datasets.raw import arrays
from rbmviz.registry import dataset

CLASSES = (
    "T-shirt",
    "trouser",
    "pullover",
    "dress",
    "coat",
    "sandal",
    "shirt",
    "sneaker",
    "bag",
    "ankle boot",
)


@dataset("fashion_mnist")
def fashion_mnist(binarise: str | float = "0.5") -> Dataset:
    """Garments 28 x 28: 50,000 / 10,000 / 10,000.

    Parameters
    ----------
    binarise : str or float
        Threshold between 0 and 1, or ``bernoulli`` (default 0.5).

    Raises
    ------
    BadInput
        If the rule is not valid, or the data are not on this machine.
    """
    rule = rule_of(binarise, "fashion_mnist")
    raw = arrays("fashion_mnist")
    x, y = raw["x_train"], raw["y_train"].astype(np.int64)
    return Dataset(
        name=full_name("fashion_mnist", rule),
        train=binarised(x[:50_000], rule, "fashion_mnist", "train"),
        validation=binarised(x[50_000:], rule, "fashion_mnist", "validation"),
        test=binarised(raw["x_test"], rule, "fashion_mnist", "test"),
        train_labels=y[:50_000],
        validation_labels=y[50_000:],
        test_labels=raw["y_test"].astype(np.int64),
        binarisation=sentence(rule),
        source="Xiao, Rasul, Vollgraf: Fashion-MNIST (2017), MIT licence",
        classes=CLASSES,
        image_shape=(28, 28),
    )
