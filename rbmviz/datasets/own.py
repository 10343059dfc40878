"""The user's own data: a file, a folder of images, or the bytes of an upload.

A reader takes the content of a file, the name of the data set, and its options, of which ``binarise`` is a
threshold between 0 and 1, or ``bernoulli``. It raises BadInput if the content is not as described, an option
is not valid.
"""

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rbmviz import rng
from rbmviz.datasets.bag_of_words import documents_of, presence
from rbmviz.datasets.binarise import binarised, rule_of, sentence, whole_option
from rbmviz.datasets.csv_table import read_table
from rbmviz.datasets.images import Files, grey_images, in_folder, in_zip
from rbmviz.datasets.raw import Arrays
from rbmviz.datasets.record import MAX_CLASSES, MAX_WORD_LENGTH, PARTS, Dataset, part_fields
from rbmviz.errors import BadInput, quoted
from rbmviz.files.arrays import Damaged, FileContent, is_file, is_folder, printable, read_arrays, read_file
from rbmviz.support import checks

MAX_OPTION = 999_999_999
"""Most words, and most stems of a document, that can be asked for."""

OTHER_NAMES = {"x": "x_train", "y": "y_train", "x_valid": "x_validation", "y_valid": "y_validation"}
"""Other accepted names of the arrays of an .npz, and the names used here."""

NPZ_NAMES = {
    *OTHER_NAMES,
    *(f"{kind}_{part}" for kind in "xy" for part in PARTS),
    "n_features",
    "stems",
}


def _highest(name: str, what: str, values: np.ndarray) -> float:
    """Return the largest value of a table of numbers; raise BadInput unless all are from 0 to 255."""
    if values.dtype.kind not in "biuf" or values.ndim < 2 or not values.size:
        raise BadInput(f"'{name}': {what} must be a table of numbers, one row per example.")
    if not np.isfinite(values).all() or values.min() < 0 or values.max() > 255:
        raise BadInput(
            f"'{name}': {what} must lie between 0 and 1, or between 0 and 255, without NaN: scale the "
            "values; they then become bits by a threshold, at one half unless another is chosen."
        )
    return float(values.max())


def _check_table(name: str, parts: Mapping[str, np.ndarray], rule: str, columns: Sequence[Any]) -> None:
    """Refuse a table in which a column of other numbers stands beside bits, or whose unit is not known.

    parts : examples by part; only rows of numbers are a table, images are not
    columns : names of the columns; empty: they are counted from 1
    """
    x = parts["train"]
    if x.ndim != 2 or (rule != "bernoulli" and float(rule) >= 1):
        return
    low = np.min([part.min(axis=0) for part in parts.values()], axis=0)
    high = np.max([part.max(axis=0) for part in parts.values()], axis=0)
    bits = np.all([((part == 0) | (part == 1)).all(axis=0) for part in parts.values()], axis=0)
    others = np.flatnonzero(~bits)
    if 0 < len(others) < (bits & (low < high)).sum():
        named = [f"'{printable(str(columns[i]))[:40]}'" if len(columns) else f"{i + 1}" for i in others[:5]]
        more = ", ..." if len(others) > 5 else ""
        raise BadInput(
            f"'{name}': most columns hold only 0 and 1, and {', '.join(named)}{more} (up to "
            f"{high[others].max():g}) {'does' if len(others) == 1 else 'do'} not: leave "
            "such columns out, or make bits of them."
        )
    if high.max() > 1 and x.dtype != np.uint8:
        raise BadInput(
            f"'{name}': the values reach {high.max():g}, and a table does not say whether they are grey "
            "levels from 0 to 255: give the threshold in their unit, as 127, or divide the values by their "
            "largest."
        )


def _labels(name: str, y: str, x: str, labels: np.ndarray | None, n: int) -> np.ndarray | None:
    if labels is None:
        return None
    if (
        labels.shape != (n,)
        or labels.dtype.kind not in "iu"
        or not 0 <= labels.min() <= labels.max() < MAX_CLASSES
    ):
        raise BadInput(
            f"'{name}': {y} must hold one whole number from 0 to {MAX_CLASSES - 1} for each row of {x}."
        )
    return labels.astype(np.int64)


def _in_parts(name: str, x: dict[str, np.ndarray], y: dict[str, np.ndarray | None], **fields: Any) -> Dataset:
    """Return the Dataset; missing parts are held out of the training rows at random, with a fixed seed.

    x, y : rows and labels by part, which are changed in place
    **fields : the other fields of the ``Dataset``
    """
    rows, labels = x["train"], y.get("train")
    order = rng.generator(0, "split own data").permutation(len(rows))
    share = max(len(rows) // 10, 1)
    for part in ("validation", "test"):
        if part not in x:
            if len(order) < 3:
                raise BadInput(f"'{name}' has too few examples to hold any out; give at least four.")
            taken, order = order[:share], order[share:]
            x[part], y[part] = rows[taken], None if labels is None else labels[taken]
    kept = np.sort(order)
    x["train"], y["train"] = rows[kept], None if labels is None else labels[kept]
    return Dataset(
        name=name,
        **part_fields((x[part] for part in PARTS), (y.get(part) for part in PARTS)),
        **fields,
    )


def _own_name(name: str, option: object, default: object) -> str:
    return name if str(option) == str(default) else f"{name}@{option}"


def _from_arrays(
    name: str,
    arrays: Arrays,
    rule: str,
    called: Callable[[str], str] = lambda array: array,
    vocabulary: tuple[str, ...] | None = None,
    columns: Sequence[Any] = (),
) -> Dataset:
    """Return the data set of x_train, y_train, ...; ``called`` gives an array's name in error messages."""
    image = arrays["x_train"].shape[1:]
    raw = {part: arrays.pop(f"x_{part}") for part in PARTS if f"x_{part}" in arrays}
    highest = max(_highest(name, called(f"x_{part}"), rows) for part, rows in raw.items())
    if len({part.shape[1:] for part in raw.values()}) == 1:  # else the record refuses them
        _check_table(name, raw, rule, columns)
    y = {
        part: _labels(name, called(f"y_{part}"), called(f"x_{part}"), arrays.get(f"y_{part}"), len(rows))
        for part, rows in raw.items()
    }
    # One scale for the whole file: a part whose grey levels are all below 1 must not be read as bits.
    bits = highest <= 1
    if bits and rule != "bernoulli" and float(rule) >= 1:
        raise BadInput(f"'{name}': the values lie between 0 and 1: give a threshold between 0 and 1.")
    x = {}
    for part in list(raw):
        x[part] = binarised(raw.pop(part), rule, "own", part, 255.0 if bits else 1.0)
    largest = max((int(part.max()) for part in y.values() if part is not None), default=-1)
    return _in_parts(
        _own_name(name, rule, "0.5"),
        x,
        y,
        binarisation=f"values from 0 to {1 if bits else 255}: {sentence(rule)}",
        source=f"the file {Path(name).name}",
        classes=tuple(str(c) for c in range(largest + 1)),
        image_shape=(int(image[0]), int(image[1])) if len(image) == 2 else None,
        vocabulary=vocabulary,
    )


def _unpack(name: str, arrays: Arrays) -> tuple[str, ...]:
    """Unpack presence bits (``np.packbits`` along axis 1) in the dictionary, and return their words."""
    n, stems = arrays["n_features"], arrays["stems"]
    if n.shape != () or n.dtype.kind not in "iu" or stems.shape != (int(n),) or stems.dtype.kind != "U":
        raise BadInput(f"'{name}': n_features must be one whole number, and stems hold that many words.")
    if stems.dtype.itemsize > 4 * MAX_WORD_LENGTH:
        raise BadInput(f"'{name}': the words in stems must have at most {MAX_WORD_LENGTH} letters.")
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
    own_names = {}
    for other, own in OTHER_NAMES.items():
        if own not in arrays and other in arrays:
            arrays[own] = arrays.pop(other)
            own_names[own] = other
    vocabulary = _unpack(name, arrays) if {"n_features", "stems"} <= set(arrays) else None
    return _from_arrays(name, arrays, rule, lambda array: own_names.get(array, array), vocabulary)


def npy(content: FileContent, name: str, binarise: str | float = "0.5") -> Dataset:
    """Read an .npy: one array whose first axis counts the examples; values as in an .npz; no pickles."""
    rule = rule_of(binarise, f"'{name}'", 255)
    try:
        rows = read_arrays(content, ".npy", list)[0][""]
    except Damaged as error:
        raise _unreadable(name, error, "an array of numbers, written by numpy.save") from None
    return _from_arrays(name, {"x_train": rows}, rule, lambda array: "the array")


def from_arrays(
    x: Any,
    y: Any = None,
    *,
    x_validation: Any = None,
    y_validation: Any = None,
    x_test: Any = None,
    y_test: Any = None,
    name: str = "your arrays",
    binarise: str | float = "0.5",
    image_shape: tuple[int, int] | None = None,
) -> Dataset:
    """Return your own arrays or data frames as a data set.

    Parameters
    ----------
    x : array or data frame (n, n_visible) or (n, rows, columns)
        Examples: bits, or grey levels, 0 to 1 or 0 to 255 in all parts.
    y : array (n,), optional
        Their classes: whole numbers from 0, or names.
    x_validation, y_validation, x_test, y_test : arrays, optional
        The other parts, as ``x`` and ``y``. A part that is not given is held out of ``x``: a tenth, at
        random, with a fixed seed.
    name : str
        Name of the data set in models trained on it (default "your arrays").
    binarise : str or float
        Threshold between 0 and 1, or ``bernoulli`` (default 0.5).
    image_shape : (rows, columns), optional
        Shape of a row as a picture (default: the shape of ``x[0]`` if ``x`` is three-dimensional).

    Raises
    ------
    BadInput
        If the arrays are not such numbers, or do not fit each other.
    """
    rule = rule_of(binarise, f"'{name}'", 255)
    given = {"x_train": x, "x_validation": x_validation, "x_test": x_test}
    arrays = {
        key: checks.numbers(f"'{name}': {key.removesuffix('_train')}", rows)
        for key, rows in given.items()
        if rows is not None
    }
    labels = {"y_train": y, "y_validation": y_validation, "y_test": y_test}
    labels = {key: _listed(name, key, values) for key, values in labels.items() if values is not None}
    for key in labels:
        if f"x{key[1:]}" not in arrays:
            raise BadInput(f"'{name}': there are labels {key} without x{key[1:]}: give both.")
    classes: tuple[str, ...] = ()
    if any(values.dtype.kind not in "iu" for values in labels.values()):
        words = {key: values.astype(str) for key, values in labels.items()}
        classes = tuple(np.unique(np.concatenate([values.ravel() for values in words.values()])).tolist())
        labels = {key: np.searchsorted(classes, values) for key, values in words.items()}
    columns = getattr(x, "columns", ())
    dataset = _from_arrays(name, arrays | labels, rule, lambda key: key.removesuffix("_train"), None, columns)
    shape = dataset.image_shape if image_shape is None else _picture_shape(name, image_shape)
    if shape is not None and math.prod(shape) != dataset.n_visible:
        raise BadInput(f"'{name}': a row has {dataset.n_visible} values, not {shape[0]} x {shape[1]}.")
    return replace(
        dataset, image_shape=shape, classes=classes or dataset.classes, source="arrays given in Python"
    )


def _listed(name: str, key: str, values: Any) -> np.ndarray:
    try:
        return np.asarray(values)
    except ValueError:  # rows of different lengths
        key = key.removesuffix("_train")
        raise BadInput(f"'{name}': {key} is not a list of classes, one for each row.") from None


def _picture_shape(name: str, shape: Any) -> tuple[int, int]:
    if not np.iterable(shape) or len(sides := tuple(shape)) != 2:
        raise BadInput(f"'{name}': image_shape = {quoted(shape)} is not two numbers, (rows, columns).")
    rows, columns = (checks.whole(f"'{name}': image_shape", side, 1) for side in sides)
    return rows, columns


def csv(content: bytes, name: str, binarise: str | float = "0.5") -> Dataset:
    """Read rows of numbers, one example per row, with optional labels; ``csv_table`` describes the format."""
    rule = rule_of(binarise, f"'{name}'", 255)
    table = read_table(content, name)
    arrays = {"x_train": table.rows} | ({} if table.labels is None else {"y_train": table.labels})
    called = {"x_train": "the values", "y_train": "the column of labels"}
    return _from_arrays(name, arrays, rule, called.__getitem__, columns=table.columns)


def text(
    content: bytes,
    name: str,
    n_words: int | str = 1000,
    min_stems: int = 5,
    language: str = "english",
) -> Dataset:
    """Read a text as presence bits of its most common word stems (``bag_of_words``).

    The documents are paragraphs if blank lines separate them, else lines.

    content : text in UTF-8
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
    return _in_parts(
        _own_name(name, n_words, 1000),
        {"train": bits},
        {},
        binarisation=(
            f"1 where the word stem occurs; the {len(stems):,} in the most documents (Snowball, {language})"
        ),
        source=f"the file {Path(name).name}, {split}; {dropped:,} with fewer than {min_stems} stems left out",
        vocabulary=stems,
    )


def _from_images(opened: AbstractContextManager[Files], name: str, binarise: str | float) -> Dataset:
    rule = rule_of(binarise, f"'{name}'", 255)
    with opened as files:
        grey, labels, classes, note = grey_images(files, name)
    return _in_parts(
        _own_name(name, rule, "0.5"),
        {"train": binarised(grey, rule, "own", "train")},
        {"train": labels},
        binarisation=f"{note}, made grey; {sentence(rule).replace('full ink', 'white')}",
        source=f"the images in {Path(name).name}",
        classes=classes,
        image_shape=(int(grey.shape[1]), int(grey.shape[2])),
    )


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
