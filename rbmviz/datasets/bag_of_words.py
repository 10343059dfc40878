"""Any text as presence bits: which of its most common word stems each document holds."""

import functools

import numpy as np

from rbmviz.errors import BadInput


def documents_of(text: str) -> tuple[list[str], str]:
    """Return the documents of a text, and what they are.

    Paragraphs where blank lines part the text (at its ends they do not count), else lines.
    """
    lines = [line.strip() for line in text.strip().splitlines()]
    if "" not in lines:
        return [line for line in lines if line], "one document a line"
    paragraphs = "\n".join(lines).split("\n\n")
    return [paragraph for paragraph in paragraphs if paragraph.strip()], "one document a paragraph"


def presence(
    documents: list[str], n_words: int, min_stems: int, language: str
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return uint8 bits (documents kept, stems) and the stems, those of the most documents first.

    Words are lower-cased runs of two letters or more, cut to their Snowball stem. Documents with fewer
    than ``min_stems`` different stems are dropped; of the others' stems the ``n_words`` that occur in the
    most documents are kept, equals in alphabetical order.

    Raises
    ------
    BadInput
        Where there is no stemmer for the language.
    """
    import snowballstemmer
    from sklearn.feature_extraction.text import CountVectorizer

    if language not in snowballstemmer.algorithms():
        known = ", ".join(snowballstemmer.algorithms())
        raise BadInput(f"There is no stemmer for the language '{language}'; choose one of {known}.")
    words = CountVectorizer(token_pattern=r"[^\W\d_]{2,}").build_analyzer()
    stem = functools.cache(snowballstemmer.stemmer(language).stemWord)
    stems = [sorted({stem(word) for word in words(document)}) for document in documents]
    stems = [row for row in stems if len(row) >= max(min_stems, 1)]
    if not stems:
        return np.zeros((0, 0), np.uint8), ()
    vectorizer = CountVectorizer(analyzer=list)
    table = vectorizer.fit_transform(stems)  # columns in alphabetical order
    often = np.argsort(-table.sum(axis=0).A1, kind="stable")[:n_words]
    names = vectorizer.get_feature_names_out()[often]
    return table[:, often].toarray().astype(np.uint8), tuple(map(str, names))
