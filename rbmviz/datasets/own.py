"""A user's own data, from a file."""

from pathlib import Path

import numpy as np

from rbmviz import rng
from rbmviz.datasets.raw import Arrays, read_npz
from rbmviz.datasets.record import Dataset
from rbmviz.errors import BadInput

SUFFIXES = (".npz", ".csv")
PARTS = ("train", "validation", "test")
MOST_CLASSES = 1000


def _read_csv(path: Path) -> np.ndarray:
    lines = path.read_text("utf-8-sig").splitlines()  # spreadsheets write a byte order mark
    if not any(line.strip() for line in lines):
        raise ValueError("it is empty")
    return np.loadtxt(lines, delimiter=",", ndmin=2)


def _rows(path: Path, name: str, values: np.ndarray) -> np.ndarray:
    """Return the examples as rows of numbers from 0 to 255."""
    if values.dtype.kind not in "biuf" or values.ndim < 2 or not values.size:
        raise BadInput(f"'{path}': {name} must be a table of numbers, one row an example.")
    rows = values.reshape(len(values), -1)
    if not np.isfinite(rows).all() or rows.min() < 0 or rows.max() > 255:
        raise BadInput(f"'{path}': {name} must lie between 0 and 1, or 0 and 255, without NaN.")
    return rows


def _labels(path: Path, part: str, arrays: Arrays, n: int) -> np.ndarray | None:
    labels = arrays.get(f"y_{part}")
    if labels is None:
        return None
    if (
        labels.shape != (n,)
        or labels.dtype.kind not in "iu"
        or not 0 <= labels.min() <= labels.max() < MOST_CLASSES
    ):
        raise BadInput(
            f"'{path}': y_{part} must hold one whole number from 0 to {MOST_CLASSES - 1} "
            f"for each row of x_{part}."
        )
    return labels.astype(np.int64)


def load_file(path: str | Path) -> Dataset:
    """Read .npz (x_train, x_test, perhaps x_validation; or x alone; perhaps y_*) or .csv (rows of 0 and 1).

    Grey values, 0 to 1 or 0 to 255 in the whole file, are cut at one half. Parts that are missing are taken
    out of the training rows by a fixed seed, a tenth each, at least one row.

    Raises
    ------
    BadInput
        Where the file is missing, unreadable, ragged, or holds what is not a number from 0 to 255.
    """
    path = Path(path)
    if not path.is_file():
        raise BadInput(f"There is no data file '{path}'; 'rbmviz list datasets' shows the known data sets.")
    try:
        arrays = {"x": _read_csv(path)} if path.suffix.lower() == ".csv" else read_npz(path)
    except (OSError, ValueError) as error:
        why = str(error).splitlines()[0].rstrip(".")
        raise BadInput(
            f"'{path}' cannot be read as data ({why}); give .npz or comma-separated rows."
        ) from None
    for other, name in (
        ("x", "x_train"),
        ("y", "y_train"),
        ("x_valid", "x_validation"),
        ("y_valid", "y_validation"),
    ):
        if name not in arrays and other in arrays:
            arrays[name] = arrays.pop(other)
    if "x_train" not in arrays:
        raise BadInput(f"'{path}' has no array x or x_train; it holds {', '.join(arrays) or 'nothing'}.")
    image = arrays["x_train"].shape[1:]
    x = {part: _rows(path, f"x_{part}", arrays[f"x_{part}"]) for part in PARTS if f"x_{part}" in arrays}
    y = {part: _labels(path, part, arrays, len(rows)) for part, rows in x.items()}
    # One scale for the file: a part that happens to be faint must not be read as bits.
    half = 0.5 if max(rows.max() for rows in x.values()) <= 1 else 127.5
    x = {part: (rows > half).astype(np.uint8) for part, rows in x.items()}
    rest, labels = x["train"], y["train"]
    order = rng.generator(0, "split own data").permutation(len(rest))
    share = max(len(rest) // 10, 1)
    for part in ("validation", "test"):
        if part not in x:
            if len(order) < 2:
                raise BadInput(f"'{path}' has too few rows to hold any out; give at least three.")
            taken, order = order[:share], order[share:]
            x[part], y[part] = rest[taken], None if labels is None else labels[taken]
    kept = np.sort(order)
    largest = max((int(part.max()) for part in y.values() if part is not None), default=-1)
    return Dataset(
        name=str(path),
        train=rest[kept],
        validation=x["validation"],
        test=x["test"],
        train_labels=None if labels is None else labels[kept],
        validation_labels=y["validation"],
        test_labels=y["test"],
        binarisation="0/1 as given, grey values cut at one half",
        source=f"the file {path.name}",
        classes=tuple(str(c) for c in range(largest + 1)),
        image_shape=(int(image[0]), int(image[1])) if len(image) == 2 else None,
    )
