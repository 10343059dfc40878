"""A user's own data: a file, a folder of images, or the bytes of an upload."""

import functools
import io
from collections.abc import Callable
from pathlib import Path

import numpy as np

from rbmviz import rng
from rbmviz.datasets.bag_of_words import documents_of, presence
from rbmviz.datasets.binarise import binarised, rule_of, sentence
from rbmviz.datasets.images import Files, grey_images, in_folder, in_zip
from rbmviz.datasets.raw import Arrays, read_npz
from rbmviz.datasets.record import Dataset
from rbmviz.errors import BadInput

PARTS = ("train", "validation", "test")
MOST_CLASSES = 1000


def _rows(name: str, array: str, values: np.ndarray) -> np.ndarray:
    """Return the examples as rows of numbers from 0 to 255."""
    if values.dtype.kind not in "biuf" or values.ndim < 2 or not values.size:
        raise BadInput(f"'{name}': {array} must be a table of numbers, one row an example.")
    rows = values.reshape(len(values), -1)
    if not np.isfinite(rows).all() or rows.min() < 0 or rows.max() > 255:
        raise BadInput(
            f"'{name}': {array} must lie between 0 and 1, or 0 and 255, without NaN: scale it; it is then "
            "binarised at one half, or as an ending of the name says (@0.3, @bernoulli)."
        )
    return rows


def _labels(name: str, part: str, arrays: Arrays, n: int) -> np.ndarray | None:
    labels = arrays.get(f"y_{part}")
    if labels is None:
        return None
    if (
        labels.shape != (n,)
        or labels.dtype.kind not in "iu"
        or not 0 <= labels.min() <= labels.max() < MOST_CLASSES
    ):
        raise BadInput(
            f"'{name}': y_{part} must hold one whole number from 0 to {MOST_CLASSES - 1} "
            f"for each row of x_{part}."
        )
    return labels.astype(np.int64)


def _in_parts(
    name: str,
    x: dict[str, np.ndarray],
    y: dict[str, np.ndarray | None],
    *,
    binarisation: str,
    source: str,
    classes: tuple[str, ...] = (),
    image_shape: tuple[int, int] | None = None,
    vocabulary: tuple[str, ...] | None = None,
) -> Dataset:
    """Return the record; parts that are missing are held out of the training rows by a fixed seed."""
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
    return Dataset(
        name=name,
        train=rows[kept],
        validation=x["validation"],
        test=x["test"],
        train_labels=None if labels is None else labels[kept],
        validation_labels=y.get("validation"),
        test_labels=y.get("test"),
        binarisation=binarisation,
        source=source,
        classes=classes,
        image_shape=image_shape,
        vocabulary=vocabulary,
    )


def _own_name(name: str, option: object, default: object) -> str:
    return name if str(option) == str(default) else f"{name}@{option}"


def _from_arrays(name: str, arrays: Arrays, rule: str) -> Dataset:
    for other, own in (
        ("x", "x_train"),
        ("y", "y_train"),
        ("x_valid", "x_validation"),
        ("y_valid", "y_validation"),
    ):
        if own not in arrays and other in arrays:
            arrays[own] = arrays.pop(other)
    if "x_train" not in arrays:
        raise BadInput(f"'{name}' has no array x or x_train; it holds {', '.join(arrays) or 'nothing'}.")
    vocabulary = None
    if {"n_features", "stems"} <= set(arrays):
        vocabulary = _unpack(name, arrays)
    image = arrays["x_train"].shape[1:]
    x = {part: _rows(name, f"x_{part}", arrays[f"x_{part}"]) for part in PARTS if f"x_{part}" in arrays}
    y = {part: _labels(name, part, arrays, len(rows)) for part, rows in x.items()}
    # One scale for the file: a part that happens to be faint must not be read as bits.
    bits = max(rows.max() for rows in x.values()) <= 1
    x = {part: binarised(rows * (255.0 if bits else 1.0), rule, "own", part) for part, rows in x.items()}
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
    """Unpack presence bits (np.packbits along axis 1) in place and return their words."""
    n, stems = arrays["n_features"], arrays["stems"]
    if n.shape != () or n.dtype.kind not in "iu" or stems.shape != (int(n),):
        raise BadInput(f"'{name}': n_features must be one whole number, and stems hold that many words.")
    for array in [array for array in arrays if array.startswith("x_")]:
        packed = arrays[array]
        if packed.dtype != np.uint8 or packed.ndim != 2 or packed.shape[1] != -(-int(n) // 8):
            raise BadInput(
                f"'{name}': {array} must be uint8 rows of {-(-int(n) // 8)} bytes: np.packbits(bits, axis=1) "
                f"of {n} features."
            )
        arrays[array] = np.unpackbits(packed, axis=1, count=int(n))
    return tuple(str(stem) for stem in stems)


def _unreadable(name: str, error: Exception) -> BadInput:
    why = (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
    return BadInput(f"'{name}' cannot be read as data ({why}); give .npz or comma-separated rows.")


def npz(content: bytes, name: str, binarise: str | float = "0.5") -> Dataset:
    """Read x_train, x_test, perhaps x_validation; or x alone; perhaps y_*; perhaps packed presence bits.

    Grey values, 0 to 1 or 0 to 255 in the whole file, are binarised by the rule. Presence bits are those
    of reviews_bow.npz: rows packed by np.packbits along axis 1, n_features, stems.
    """
    rule = rule_of(binarise, f"'{name}'")
    try:
        arrays = read_npz(io.BytesIO(content))
    except ValueError as error:
        raise _unreadable(name, error) from None
    return _from_arrays(name, arrays, rule)


def csv(content: bytes, name: str, binarise: str | float = "0.5") -> Dataset:
    """Read comma-separated rows of numbers, one an example, as ``npz`` reads x."""
    rule = rule_of(binarise, f"'{name}'")
    try:
        lines = content.decode("utf-8-sig").splitlines()  # spreadsheets write a byte order mark
        if not any(line.strip() for line in lines):
            raise ValueError("it is empty")
        rows = np.loadtxt(lines, delimiter=",", ndmin=2)
    except ValueError as error:
        raise _unreadable(name, error) from None
    return _from_arrays(name, {"x": rows}, rule)


def text(
    content: bytes,
    name: str,
    n_words: int | str = 1000,
    min_stems: int = 5,
    language: str = "english",
) -> Dataset:
    """Read a text as presence bits of its most common word stems (``bag_of_words``).

    Documents are the paragraphs where blank lines part the text, else its lines; those with fewer than
    ``min_stems`` different stems are dropped. A visible unit is one of the ``n_words`` stems that occur in
    the most documents; ``language`` is one that Snowball stems.
    """
    if not str(n_words).isdecimal() or int(n_words) < 1:
        raise BadInput(f"'{name}': n_words = {n_words} is not a whole number from 1 up.")
    try:
        documents, split = documents_of(content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise BadInput(f"'{name}' is not a text in UTF-8; save it in that encoding.") from None
    bits, stems = presence(documents, int(n_words), min_stems, language)
    dropped = len(documents) - len(bits)
    if len(bits) < 4:
        raise BadInput(
            f"'{name}' has {len(bits)} documents of at least {min_stems} different word stems ({split}); "
            "give at least four, one a line, or parted by blank lines."
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


def _from_images(files: Files, name: str, binarise: str | float) -> Dataset:
    rule = rule_of(binarise, f"'{name}'")
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
    """Read the PNG and JPEG files of a zip archive as ``image_folder`` reads those of a folder."""
    return _from_images(in_zip(content, name), name, binarise)


def image_folder(folder: str | Path, binarise: str | float = "0.5") -> Dataset:
    """Read PNG and JPEG files, perhaps one sub-folder a class, made grey and binarised by the rule.

    Images of one common size of at most 64 x 64 pixels keep it; others are resized to 28 x 28.
    """
    return _from_images(in_folder(Path(folder)), str(folder), binarise)


READERS: dict[str, Callable[..., Dataset]] = {
    ".npz": npz,
    ".csv": csv,
    ".txt": text,
    ".zip": zipped_images,
}


def reader(content: bytes, name: str) -> Callable[..., Dataset]:
    """Return the function that reads these bytes, by the name's suffix; its arguments are its options."""
    suffix = Path(name).suffix.lower()
    if suffix not in READERS:
        raise BadInput(
            f"'{name}' is no data file; give .npz, .csv, .txt (one document a line), or a .zip of images."
        )
    return functools.partial(READERS[suffix], content, name)


def reader_of_path(path: Path) -> Callable[..., Dataset]:
    """Return the function that reads a file or a folder of images."""
    if path.is_dir():
        return functools.partial(image_folder, path)
    if not path.is_file():
        raise BadInput(f"There is no data file '{path}'; 'rbmviz list datasets' shows the known data sets.")
    try:
        return reader(path.read_bytes(), str(path))
    except OSError as error:
        raise _unreadable(str(path), error) from None


def is_path(name: str) -> bool:
    """Say whether a name that is not registered means a file or a folder."""
    return Path(name).suffix.lower() in READERS or "/" in name or Path(name).exists()
