"""USPS: handwritten digits of zip codes, the data of the experiments with rates-FPCD."""

import numpy as np

from rbmviz.datasets import Dataset
from rbmviz.datasets.binarise import binarised, full_name, rule_of, sentence
from rbmviz.datasets.raw import arrays
from rbmviz.registry import dataset

TRAIN = 6291


@dataset("usps")
def usps(binarise: str | float = "0.3") -> Dataset:
    """Zip-code digits 16 x 16: 6,291 / 1,000 / 2,007 (rates-FPCD, section 5).

    Parameters
    ----------
    binarise : str or float
        Threshold between 0 and 1, or ``bernoulli`` (default 0.3).

    Raises
    ------
    BadInput
        If the rule is not valid, or the data are not on this machine.
    """
    rule = rule_of(binarise, "usps")
    raw = arrays("usps")
    x, y = raw["x_train"], raw["y_train"].astype(np.int64)
    return Dataset(
        name=full_name("usps", rule, default="0.3"),
        train=binarised(x[:TRAIN], rule, "usps", "train"),
        validation=binarised(x[TRAIN:], rule, "usps", "validation"),
        test=binarised(raw["x_test"], rule, "usps", "test"),
        train_labels=y[:TRAIN],
        validation_labels=y[TRAIN:],
        test_labels=raw["y_test"].astype(np.int64),
        binarisation=sentence(rule),
        source="US Postal Service / AT&T Bell Labs: USPS (Hastie, Tibshirani, Friedman)",
        classes=tuple("0123456789"),
        image_shape=(16, 16),
    )
