"""Twenty newsgroups: which of 100 words occur in a message."""

import numpy as np

from rbmviz import rng
from rbmviz.datasets import Dataset
from rbmviz.datasets.raw import arrays
from rbmviz.registry import dataset


@dataset("newsgroups")
def newsgroups() -> Dataset:
    """Presence of 100 words in 16,242 messages: 80 / 10 / 10 %, shuffled with a fixed seed.

    Raises
    ------
    BadInput
        If the data are not on this machine.
    """
    raw = arrays("newsgroups")
    order = rng.generator(0, "split newsgroups").permutation(len(raw["x"]))
    x, y = raw["x"][order], raw["y"][order].astype(np.int64)
    cuts = [8 * len(x) // 10, 9 * len(x) // 10]
    (train, validation, test), labels = np.split(x, cuts), np.split(y, cuts)
    return Dataset(
        name="newsgroups",
        train=train,
        validation=validation,
        test=test,
        train_labels=labels[0],
        validation_labels=labels[1],
        test_labels=labels[2],
        binarisation="published as bits: 1 where the word occurs",
        source="Roweis: 20news_w100, from the 20 Newsgroups data (Lang)",
        classes=tuple(str(group) for group in raw["groups"]),
        vocabulary=tuple(str(word) for word in raw["words"]),
    )
