"""Any text as presence bits: which of its most common word stems each document holds."""

import re
import sys

import numpy as np

from rbmviz.array_files import printable
from rbmviz.budget import check_memory
from rbmviz.datasets.record import MOST_WORD
from rbmviz.errors import BadInput

WORD_PATTERN = re.compile(r"[^\W\d_]{2,}")
"""A run of two letters or more."""

WORD_COST, LINE_COST = 500, 250
"""Bytes that Python takes for a word not seen before (it, its stem, their places), and for a document."""

MOST_WORDS = 300_000
"""Different words, more than twenty million words of prose have; their stems take some ten seconds."""

EVERY = 4096
"""Words not seen before, between two looks at the memory budget."""


def documents_of(content: bytes, name: str) -> tuple[list[str], str]:
    """Return the documents of a text in UTF-8, and what they are.

    Paragraphs where blank lines part the text (at its ends they do not count), else lines.

    Raises
    ------
    BadInput
        Where it is no text, or the memory budget does not allow it.
    UnicodeDecodeError
        Where it is in another encoding.
    """
    if b"\0" in content:
        raise BadInput(f"'{name}' is no text: it holds NUL bytes; save it as a text in UTF-8.")
    advice = "give a part of the text"
    check_memory(f"'{name}'", 6 * len(content), advice)  # a text with one rare letter takes four bytes each
    text = content.decode("utf-8-sig").strip()
    marks = content.count(b"\n") + content.count(b"\r")
    check_memory(f"'{name}'", len(content) + 4 * sys.getsizeof(text) + LINE_COST * marks, advice)
    lines = [line.strip() for line in text.splitlines()]
    if "" not in lines:
        return [line for line in lines if line], "one document a line"
    paragraphs = "\n".join(lines).split("\n\n")
    return [paragraph for paragraph in paragraphs if paragraph.strip()], "one document a paragraph"


def presence(
    documents: list[str], n_words: int, min_stems: int, language: str, name: str
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return uint8 bits (documents kept, stems) and the stems, those of the most documents first.

    Words are lower-cased runs of two letters or more, at most a hundred, cut to their Snowball stem.
    Documents with fewer than ``min_stems`` different stems are dropped; of the others' stems the
    ``n_words`` that occur in the most documents are kept, equals in alphabetical order.

    Raises
    ------
    BadInput
        Where there is no stemmer for the language, there are too many different words, or the memory budget
        does not allow them or so large a table; ``name`` is the text as the person knows it.
    """
    import snowballstemmer

    if language not in snowballstemmer.algorithms():
        known = ", ".join(snowballstemmer.algorithms())
        raise BadInput(
            f"There is no stemmer for the language '{printable(str(language))[:40]}'; choose one of {known}."
        )
    stem = snowballstemmer.stemmer(language).stemWord
    of_word: dict[str, int] = {}
    of_stem: dict[str, int] = {}
    taken = sum(map(sys.getsizeof, documents))
    kept: list[np.ndarray] = []
    for document in documents:
        found = set()
        for match in WORD_PATTERN.finditer(document.lower()):
            if match.end() - match.start() > MOST_WORD:
                continue
            word = match.group()
            number = of_word.get(word)
            if number is None:
                number = of_word[word] = of_stem.setdefault(stem(word), len(of_stem))
                if len(of_word) > MOST_WORDS:
                    raise BadInput(
                        f"'{name}' holds more than {MOST_WORDS:,} different words: give a part of the text."
                    )
                if len(of_word) % EVERY == 0:
                    check_memory(f"'{name}'", taken + WORD_COST * len(of_word), "give a part of the text")
            found.add(number)
        if len(found) >= max(min_stems, 1):
            kept.append(np.fromiter(found, np.int32, len(found)))
    if not kept:
        return np.zeros((0, 0), np.uint8), ()
    counts = np.zeros(len(of_stem), np.int64)
    for row in kept:
        counts[row] += 1
    ranked = sorted((-int(counts[number]), text) for text, number in of_stem.items() if counts[number])
    stems = tuple(text for _, text in ranked[:n_words])
    table = 2 * len(kept) * len(stems)  # twice: the parts are copies
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
