"""The user's own data: a file, a folder of images, or the bytes of an upload.

A reader takes the content of a file, the name of the data set, and its options, of which ``binarise`` is a
threshold between 0 and 1, or ``bernoulli``. It raises BadInput if the content is not as described, or an
option is not valid.
"""

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import numpy as np

from rbmviz.datasets.bag_of_words import documents_of, presence
from rbmviz.datasets.binarise import binarised, full_name, rule_of, sentence, whole_option
from rbmviz.datasets.csv_table import read_table
from rbmviz.datasets.fields import PARTS, fields_of, in_parts
from rbmviz.datasets.images import Files, grey_images, in_folder, in_zip
from rbmviz.datasets.raw import Arrays
from rbmviz.datasets.record import Dataset
from rbmviz.errors import BadInput
from rbmviz.files.arrays import Damaged, FileContent, is_file, is_folder, printable, read_arrays, read_file

MAX_OPTION = 999_999_999
"""Most words, and most stems of a document, that can be asked for."""

OTHER_NAMES = {"x": "x_train", "y": "y_train", "x_valid": "x_validation", "y_valid": "y_validation"}
"""Other accepted names of the arrays of an .npz, and the names used here."""

NPZ_NAMES = {*OTHER_NAMES, *(f"{kind}_{part}" for kind in "xy" for part in PARTS), "n_features", "stems"}


def _unpack(name: str, arrays: Arrays) -> tuple[str, ...]:
    """Unpack presence bits (``np.packbits`` along axis 1) in the dictionary, and return their words."""
    n, stems = arrays["n_features"], arrays["stems"]
    if n.shape != () or n.dtype.kind not in "iu" or stems.shape != (int(n),) or stems.dtype.kind != "U":
        raise BadInput(f"'{name}': n_features must be one whole number, and stems hold that many words.")
    for array in [array for array in arrays if array.startswith("x_")]:
        packed = arrays[array]
        if packed.dtype != np.uint8 or packed.ndim != 2 or packed.shape[1] != -(-int(n) // 8):
            raise BadInput(
                f"'{name}': {array} must be uint8 rows of {-(-int(n) // 8)} bytes: np.packbits(bits, axis=1) "
                f"of {n} features."
            )
        arrays[array] = np.unpackbits(packed, axis=1, count=int(n))
    return tuple(printable(str(stem)) for stem in stems)


def _unreadable(name: str, error: Exception, give: str) -> BadInput:
    return BadInput(f"'{name}' cannot be read as data ({error}); give {give}.")


def npz(content: FileContent, name: str, binarise: str | float = "0.5") -> Dataset:
    """Read an .npz with x_train, and optionally x_validation and x_test; or with x alone.

    Labels are in y_train, y_validation, y_test (or y). Grey levels, 0 to 1 or 0 to 255 in the whole file, are
    binarised by the rule. Presence bits may be packed, as in reviews_bow.npz: rows of ``np.packbits`` along
    axis 1, with the arrays n_features and stems.
    """
    rule = rule_of(binarise, f"'{name}'", 255)

    def choose(names: list[str]) -> list[str]:
        if not {"x", "x_train"} & set(names):
            holds = ", ".join(printable(array)[:60] for array in names[:20]) or "nothing"
            raise BadInput(f"'{name}' has no array x or x_train; it holds {holds}.")
        for other, own in OTHER_NAMES.items():
            if other in names and own in names:
                raise BadInput(f"'{name}' holds {other} and {own}, which mean the same: keep one of them.")
        return [array for array in names if array in NPZ_NAMES]

    try:
        arrays, _ = read_arrays(content, ".npz", choose)
    except Damaged as error:
        raise _unreadable(name, error, "an .npz with x, or with x_train and x_test") from None
    other_of = {own: other for other, own in OTHER_NAMES.items() if other in arrays}
    for own, other in other_of.items():
        arrays[own] = arrays.pop(other)
    vocabulary = _unpack(name, arrays) if {"n_features", "stems"} <= set(arrays) else None
    return Dataset(**fields_of(name, arrays, rule, lambda array: other_of.get(array, array), vocabulary))


def npy(content: FileContent, name: str, binarise: str | float = "0.5") -> Dataset:
    """Read an .npy: one array whose first axis counts the examples; values as in an .npz; no pickles."""
    rule = rule_of(binarise, f"'{name}'", 255)
    try:
        rows = read_arrays(content, ".npy", list)[0][""]
    except Damaged as error:
        raise _unreadable(name, error, "an array of numbers, written by numpy.save") from None
    return Dataset(**fields_of(name, {"x_train": rows}, rule, lambda array: "the array"))


def csv(content: bytes, name: str, binarise: str | float = "0.5") -> Dataset:
    """Read rows of numbers, one example per row, with optional labels; ``csv_table`` describes the format."""
    rule = rule_of(binarise, f"'{name}'", 255)
    table = read_table(content, name)
    arrays = {"x_train": table.rows} | ({} if table.labels is None else {"y_train": table.labels})
    called = {"x_train": "the values", "y_train": "the column of labels"}
    return Dataset(**fields_of(name, arrays, rule, called.__getitem__, columns=table.columns))


def text(
    content: bytes, name: str, n_words: int | str = 1000, min_stems: int = 5, language: str = "english"
) -> Dataset:
    """Read a text as presence bits of its most common word stems (``bag_of_words``).

    The documents are paragraphs if blank lines separate them, else lines.

    n_words : visible units: the stems that occur in the most documents (default 1000)
    min_stems : documents with fewer distinct stems are dropped (default 5); at least four must be left
    language : a language that Snowball stems (default english)
    """
    n_words = whole_option(f"'{name}': n_words", n_words, 1, MAX_OPTION)
    min_stems = whole_option(f"'{name}': min_stems", min_stems, 0, MAX_OPTION)
    try:
        documents, split = documents_of(content, name)
    except UnicodeDecodeError:
        raise BadInput(f"'{name}' is not a text in UTF-8; save it in that encoding.") from None
    bits, stems = presence(documents, n_words, min_stems, language, name)
    dropped = len(documents) - len(bits)
    if len(bits) < 4:
        raise BadInput(
            f"'{name}' has {len(bits)} documents of at least {min_stems} different word stems ({split}); "
            "give at least four, one per line, or separated by blank lines."
        )
    said = f"{split}; {dropped:,} with fewer than {min_stems} stems left out"
    return Dataset(
        **in_parts(
            full_name(name, str(n_words), "1000"),
            {"train": bits},
            {},
            binarisation="1 where the word stem occurs; "
            f"the {len(stems):,} in the most documents (Snowball, {language})",
            source=f"the file {Path(name).name}, {said}",
            vocabulary=stems,
        )
    )


def _from_images(opened: AbstractContextManager[Files], name: str, binarise: str | float) -> Dataset:
    rule = rule_of(binarise, f"'{name}'", 255)
    with opened as files:
        grey, labels, classes, note = grey_images(files, name)
    fields = in_parts(
        full_name(name, rule),
        {"train": binarised(grey, rule, "own", "train")},
        {"train": labels},
        binarisation=f"{note}, made grey; {sentence(rule).replace('full ink', 'white')}",
        source=f"the images in {Path(name).name}",
        classes=classes,
        image_shape=(int(grey.shape[1]), int(grey.shape[2])),
    )
    return Dataset(**fields)


def zipped_images(content: bytes, name: str, binarise: str | float = "0.5") -> Dataset:
    """Read the PNG and JPEG files of a zip archive as ``image_folder`` does."""
    return _from_images(in_zip(content, name), name, binarise)


def image_folder(folder: str | Path, binarise: str | float = "0.5") -> Dataset:
    """Read PNG and JPEG files, converted to grey levels and binarised; sub-folders are classes.

    Images that all have one size of at most 64 x 64 pixels keep it; others are resized to 28 x 28. Either all
    are in sub-folders or none is.
    """
    return _from_images(nullcontext(in_folder(Path(folder))), str(folder), binarise)


READERS: dict[str, Callable[..., Dataset]] = {
    ".npz": npz,
    ".npy": npy,
    ".csv": csv,
    ".txt": text,
    ".zip": zipped_images,
}


def reader(content: FileContent, name: str) -> Callable[..., Dataset]:
    """Return the function that reads this file, by the suffix of the name; its arguments are options."""
    suffix = Path(name).suffix.lower()
    if suffix not in READERS:
        raise BadInput(
            f"'{name}' is not a data file; give .npz, .npy, .csv, .txt (one document per line), or a .zip of "
            "images."
        )
    if isinstance(content, Path) and suffix not in (".npz", ".npy"):
        try:
            content = read_file(content, f"'{name}'")
        except Damaged as error:
            raise _unreadable(name, error, "a file that can be read") from None
    return functools.partial(READERS[suffix], content, name)


def reader_of_path(path: Path) -> Callable[..., Dataset]:
    """Return the function that reads this file or folder of images; its arguments are options."""
    if is_folder(path):
        return functools.partial(image_folder, path)
    if not is_file(path):
        raise BadInput(f"There is no data file '{path}'; 'rbmviz list datasets' shows the known data sets.")
    return reader(path, str(path))


def is_path(name: str) -> bool:
    """Return whether a name that is not registered means a file or a folder."""
    path = Path(name)
    return path.suffix.lower() in READERS or "/" in name or is_file(path) or is_folder(path)
