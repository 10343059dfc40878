"""Twenty newsgroups: which of 100 words occur in a message."""

import io

import numpy as np

from rbmviz.datasets import Dataset
from rbmviz.datasets.bag_of_words import shuffled_parts
from rbmviz.datasets.raw import Arrays, Publication, arrays
from rbmviz.registry import dataset


def _decoded(files: dict[str, bytes]) -> Arrays:
    from scipy.io import loadmat

    names = ["documents", "newsgroups", "wordlist", "groupnames"]
    content = loadmat(io.BytesIO(files["20news_w100.mat"]), variable_names=names)
    return {
        "x": content["documents"].toarray().T.astype(np.uint8),
        "y": (content["newsgroups"].ravel() - 1).astype(np.uint8),
        "words": np.array([str(word.item()) for word in content["wordlist"].ravel()]),
        "groups": np.array([str(group.item()) for group in content["groupnames"].ravel()]),
    }


PUBLISHED_NEWSGROUPS = Publication(
    {"x": (16_242, 100), "y": (16_242,), "words": (100,), "groups": (4,)},
    ("https://cs.nyu.edu/~roweis/data/", "http://www.cs.toronto.edu/~roweis/data/"),
    files={"20news_w100.mat": None},
    decode=_decoded,
    content="e431d852ee63bb0357ab8379c11bf523815617b14867a6f605acdfdd16f6b2a3",
    megabytes=0.3,
)


@dataset("newsgroups", label="Newsgroup words", published=PUBLISHED_NEWSGROUPS)
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
