"""A text as presence bits: which of its most common word stems occur in each document."""

import re
import sys
from typing import Any

import numpy as np

from rbmviz import rng
from rbmviz.array_files import printable
from rbmviz.budget import check_memory
from rbmviz.datasets.record import MAX_WORD_LENGTH, part_fields
from rbmviz.errors import BadInput, brought_by

WORD_PATTERN = re.compile(r"[^\W\d_]{2,}")
"""A word: a run of two or more letters."""

WORD_COST, LINE_COST = 500, 250
"""Bytes of Python objects per distinct word (the word, its stem, dictionary entries) and per document."""

MAX_WORDS = 300_000
"""Most distinct words, more than twenty million words of prose have; stemming them takes some ten seconds."""

LINE_ENDS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
"""What ``str.splitlines`` takes for the end of a line."""

WORDS_PER_CHECK = 4096
"""Distinct words between two checks of the memory budget."""


def documents_of(content: bytes, name: str) -> tuple[list[str], str]:
    """Return the documents of a text in UTF-8, and a description of how the text was split.

    The documents are paragraphs if blank lines separate them (blank lines at the two ends do not count), else
    lines.

    Raises BadInput if the content is not a text, or needs more than the memory budget, and UnicodeDecodeError
    if it is not in UTF-8.
    """
    if b"\0" in content:
        raise BadInput(f"'{name}' is not a text: it holds NUL bytes; save it as a text in UTF-8.")
    advice = "give a part of the text"
    # A Python string takes four bytes per character if a single one is outside the basic plane.
    check_memory(f"'{name}'", 6 * len(content), advice)
    text = content.decode("utf-8-sig").strip()
    marks = sum(map(text.count, LINE_ENDS))
    check_memory(f"'{name}'", len(content) + 4 * sys.getsizeof(text) + LINE_COST * marks, advice)
    lines = [line.strip() for line in text.splitlines()]
    if "" not in lines:
        return [line for line in lines if line], "one document a line"
    paragraphs = "\n".join(lines).split("\n\n")
    return [paragraph for paragraph in paragraphs if paragraph.strip()], "one document a paragraph"


def shuffled_parts(name: str, x: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """Return 80 / 10 / 10 % of labelled documents, shuffled with a fixed seed, as fields of a ``Dataset``.

    name : name of the data set, which seeds its shuffle
    x, y : uint8 (documents, words) and int (documents,); presence bits and labels
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

    Raises BadInput if there is no stemmer for the language, if there are too many distinct words, or if words
    or bits need more than the memory budget.
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
    taken = sum(map(sys.getsizeof, documents))
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
                if len(of_word) > MAX_WORDS:
                    raise BadInput(
                        f"'{name}' holds more than {MAX_WORDS:,} different words: give a part of the text."
                    )
                if len(of_word) % WORDS_PER_CHECK == 0:
                    check_memory(f"'{name}'", taken + WORD_COST * len(of_word), "give a part of the text")
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
    table = 2 * len(kept) * len(stems)  # bytes; twice, because the parts of the data set are copies
    check_memory(
        f"'{name}'", taken + WORD_COST * len(of_word) + table, "give a part of the text, or take fewer words"
    )
    column = np.full(len(of_stem), -1)
    column[[of_stem[text] for text in stems]] = np.arange(len(stems))
    bits = np.zeros((len(kept), len(stems)), np.uint8)
    for i, row in enumerate(kept):
        at = column[row]
        bits[i, at[at >= 0]] = 1
    return bits, stems
