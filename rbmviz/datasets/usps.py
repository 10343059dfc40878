"""USPS: handwritten digits of zip codes, the data of the experiments with rates-FPCD."""

import bz2

import numpy as np

from rbmviz.datasets import Dataset
from rbmviz.datasets.raw import Arrays, Publication, parts, published_images
from rbmviz.registry import dataset


def _decoded(files: dict[str, bytes]) -> Arrays:
    """Read lines in libsvm format, ``label 1:value 2:value ...``; values in [-1, 1], labels 1 to 10."""
    arrays: Arrays = {}
    for part, name in (("train", "usps.bz2"), ("test", "usps.t.bz2")):
        lines = bz2.decompress(files[name]).decode().splitlines()
        x, y = np.full((len(lines), 256), -1.0), np.empty(len(lines), np.uint8)
        for i, line in enumerate(lines):
            label, *pairs = line.split()
            y[i] = int(float(label)) - 1
            for pair in pairs:
                place, value = pair.split(":")
                x[i, int(place) - 1] = float(value)
        arrays[f"x_{part}"] = np.rint(127.5 * (x + 1)).astype(np.uint8).reshape(-1, 16, 16)
        arrays[f"y_{part}"] = y
    return arrays


PUBLISHED_USPS = Publication(
    parts(7291, 2007, 16, 16),
    ("https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multiclass/",),
    files={
        "usps.bz2": "md5:ec16c51db3855ca6c91edd34d0e9b197",
        "usps.t.bz2": "md5:8ea070ee2aca1ac39742fdd1ef5ed118",
    },
    decode=_decoded,
    megabytes=8.4,
)


@dataset("usps", label="USPS digits", published=PUBLISHED_USPS)
def usps(binarise: str | float = "0.3") -> Dataset:
    """Zip-code digits 16 x 16: 6,291 / 1,000 / 2,007 (rates-FPCD, section 5).

    binarise : threshold between 0 and 1, or ``bernoulli`` (default 0.3)

    Raises BadInput if the rule is not valid, or the data are not on this machine.
    """
    source = "US Postal Service / AT&T Bell Labs: USPS (Hastie, Tibshirani, Friedman)"
    return published_images("usps", binarise, 6291, "0.3", source=source, classes=tuple("0123456789"))
