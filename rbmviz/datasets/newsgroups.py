"""Twenty newsgroups: which of 100 words occur in a message."""

from rbmviz.datasets import Dataset
from rbmviz.datasets.bag_of_words import shuffled_parts
from rbmviz.datasets.raw import arrays
from rbmviz.registry import dataset


@dataset("newsgroups", label="Newsgroup words")
def newsgroups() -> Dataset:
    """Presence of 100 words in 16,242 messages: 80 / 10 / 10 %, shuffled with a fixed seed.

    Raises BadInput if the data are not on this machine.
    """
    raw = arrays("newsgroups")
    parts = shuffled_parts("newsgroups", raw["x"], raw["y"])
    return Dataset(
        name="newsgroups",
        **parts,
        binarisation="published as bits: 1 where the word occurs",
        source="Roweis: 20news_w100, from the 20 Newsgroups data (Lang)",
        classes=tuple(str(group) for group in raw["groups"]),
        vocabulary=tuple(str(word) for word in raw["words"]),
    )
