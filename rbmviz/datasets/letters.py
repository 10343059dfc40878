"""Taskar's OCR letters: handwritten words cut into letters."""

import gzip

import numpy as np

from rbmviz.datasets import Dataset
from rbmviz.datasets.fields import part_fields
from rbmviz.datasets.raw import Arrays, Publication, arrays, parts
from rbmviz.registry import dataset


def _decoded(files: dict[str, bytes]) -> Arrays:
    """Read letter.data; a line is id, letter, next id, word, position, fold, 128 pixels by rows.

    Fold 0 is the test part. Words are numbered from 0 within each part, in the order of the file.
    """
    lines = gzip.decompress(files["letter.data.gz"]).decode().splitlines()
    n = len(lines)
    fold, y, last = np.empty(n, np.uint8), np.empty(n, np.uint8), np.empty(n, bool)
    x = np.empty((n, 128), np.uint8)
    for i, line in enumerate(lines):
        row = line.split()
        x[i], y[i], fold[i], last[i] = row[6:134], ord(row[1]) - ord("a"), row[5], row[2] == "-1"
    columns: Arrays = {"x": 255 * x.reshape(-1, 16, 8), "y": y}
    word = np.cumsum(last) - last
    arrays: Arrays = {}
    for part, rows in (("train", fold != 0), ("test", fold == 0)):
        arrays |= {f"{name}_{part}": x[rows] for name, x in columns.items()}
        arrays[f"word_{part}"] = np.unique(word[rows], return_inverse=True)[1].astype(np.uint16)
    return arrays


PUBLISHED_LETTERS = Publication(
    parts(47_535, 4617, 16, 8) | {"word_train": (47_535,)},
    ("https://ai.stanford.edu/~btaskar/ocr/",),
    files={"letter.data.gz": None},
    decode=_decoded,
    content="15e721f1f23bb7b160f75840433cfae6180c65fd0d275cda5b9063a20c2a9830",
    megabytes=1.3,
)


@dataset("letters", label="Handwritten letters", published=PUBLISHED_LETTERS)
def letters() -> Dataset:
    """Handwritten letters 16 x 8: Taskar's folds 1 to 9, every tenth word for validation; test is fold 0."""
    raw = arrays("letters")
    x, x_test = ((raw[f"x_{part}"] > 0).astype(np.uint8).reshape(-1, 128) for part in ("train", "test"))
    y, y_test = (raw[f"y_{part}"].astype(np.int64) for part in ("train", "test"))
    # The letters of a word are by one writer, so that a word is held out as a whole.
    held_out = raw["word_train"] % 10 == 0
    return Dataset(
        name="letters",
        **part_fields((x[~held_out], x[held_out], x_test), (y[~held_out], y[held_out], y_test)),
        binarisation="published as bits",
        source="Kassel, MIT; cleaned by Taskar, Guestrin, Koller (2003)",
        classes=tuple("abcdefghijklmnopqrstuvwxyz"),
        image_shape=(16, 8),
    )
