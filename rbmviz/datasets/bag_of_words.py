"""A text as presence bits: which of its most common word stems occur in each document."""

import re
from typing import Any

import numpy as np

from rbmviz import rng
from rbmviz.datasets.fields import MAX_WORD_LENGTH, part_fields
from rbmviz.errors import BadInput, brought_by
from rbmviz.files.arrays import printable

WORD_PATTERN = re.compile(r"[^\W\d_]{2,}")
"""A word: a run of two or more letters."""


def documents_of(content: bytes, name: str) -> tuple[list[str], str]:
    """Return the documents of a text in UTF-8, and a description of how the text was split.

    The documents are paragraphs if blank lines separate them (blank lines at the two ends do not count), else
    lines.

    Raises BadInput if the content is not a text, and UnicodeDecodeError if it is not in UTF-8.
    """
    if b"\0" in content:
        raise BadInput(f"'{name}' is not a text: it holds NUL bytes; save it as a text in UTF-8.")
    text = content.decode("utf-8-sig").strip()
    lines = [line.strip() for line in text.splitlines()]
    if "" not in lines:
        return [line for line in lines if line], "one document a line"
    paragraphs = "\n".join(lines).split("\n\n")
    return [paragraph for paragraph in paragraphs if paragraph.strip()], "one document a paragraph"


def shuffled_parts(name: str, x: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """Return 80 / 10 / 10 % of labelled documents, shuffled with a fixed seed, as fields of a ``Dataset``.

    The name of the data set seeds its shuffle.
    """
    order = rng.generator(0, f"split {name}").permutation(len(x))
    cuts = [8 * len(x) // 10, 9 * len(x) // 10]
    return part_fields(np.split(x[order], cuts), np.split(y[order].astype(np.int64), cuts))


def presence(
    documents: list[str], n_words: int, min_stems: int, language: str, name: str
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return presence bits, uint8 (kept documents, stems), and the stems, the most frequent first.

    Words are lower-cased runs of 2 to 100 letters, reduced to their Snowball stem. Documents with fewer than
    ``min_stems`` distinct stems are dropped. Of the stems of the others, the ``n_words`` that occur in the
    most documents are kept; ties are in alphabetical order.

    documents : the documents
    n_words, min_stems : most stems that are kept; fewest distinct stems of a kept document
    language : a language that Snowball stems
    name : name of the text in error messages

    Raises BadInput if there is no stemmer for the language.
    """
    with brought_by("data", f"Reading '{name}'"):
        import snowballstemmer

    if language not in snowballstemmer.algorithms():
        languages = ", ".join(snowballstemmer.algorithms())
        raise BadInput(
            f"There is no stemmer for the language '{printable(str(language))[:40]}'; choose one of "
            f"{languages}."
        )
    stem = snowballstemmer.stemmer(language).stemWord
    of_word: dict[str, int] = {}
    of_stem: dict[str, int] = {}
    kept: list[np.ndarray] = []
    for document in documents:
        stems_here = set()
        for match in WORD_PATTERN.finditer(document.lower()):
            if match.end() - match.start() > MAX_WORD_LENGTH:
                continue
            word = match.group()
            number = of_word.get(word)
            if number is None:
                number = of_word[word] = of_stem.setdefault(stem(word), len(of_stem))
            stems_here.add(number)
        if len(stems_here) >= max(min_stems, 1):
            kept.append(np.fromiter(stems_here, np.int32, len(stems_here)))
    if not kept:
        return np.zeros((0, 0), np.uint8), ()
    counts = np.zeros(len(of_stem), np.int64)
    for row in kept:
        counts[row] += 1
    ranked = sorted((-int(counts[number]), text) for text, number in of_stem.items() if counts[number])
    stems = tuple(text for _, text in ranked[:n_words])
    column = np.full(len(of_stem), -1)
    column[[of_stem[text] for text in stems]] = np.arange(len(stems))
    bits = np.zeros((len(kept), len(stems)), np.uint8)
    for i, row in enumerate(kept):
        at = column[row]
        bits[i, at[at >= 0]] = 1
    return bits, stems
