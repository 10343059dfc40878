"""USPS: handwritten digits of zip codes, the data of the experiments with rates-FPCD."""

from rbmviz.datasets import Dataset
from rbmviz.datasets.raw import published_images
from rbmviz.registry import dataset


@dataset("usps", label="USPS digits")
def usps(binarise: str | float = "0.3") -> Dataset:
    """Zip-code digits 16 x 16: 6,291 / 1,000 / 2,007 (rates-FPCD, section 5).

    binarise : threshold between 0 and 1, or ``bernoulli`` (default 0.3)

    Raises BadInput if the rule is not valid, or the data are not on this machine.
    """
    source = "US Postal Service / AT&T Bell Labs: USPS (Hastie, Tibshirani, Friedman)"
    return published_images("usps", binarise, 6291, "0.3", source=source, classes=tuple("0123456789"))
