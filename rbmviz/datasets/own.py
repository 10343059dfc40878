"""A user's own data, from a file."""

import zipfile
from pathlib import Path

import numpy as np

from rbmviz import rng
from rbmviz.datasets import Dataset
from rbmviz.errors import BadInput


def _bits(path: Path, name: str, values: np.ndarray) -> np.ndarray:
    """Return uint8 0/1 rows of values that are bits, shares of 1, or 255ths."""
    if values.dtype == object or values.dtype.kind not in "biuf" or values.ndim < 2 or not values.size:
        raise BadInput(f"'{path}': {name} must be a table of numbers, one row an example.")
    rows = values.reshape(len(values), -1)
    if not np.isfinite(rows).all() or rows.min() < 0 or rows.max() > 255:
        raise BadInput(f"'{path}': {name} must lie between 0 and 1, or 0 and 255, without NaN.")
    return (rows > (0.5 if rows.max() <= 1 else 127.5)).astype(np.uint8)


def load_file(path: str | Path) -> Dataset:
    """Read .npz (x_train, x_test, perhaps x_validation; or x alone; perhaps y_*) or .csv (rows of 0 and 1).

    Grey values are cut at one half. Parts that are missing are taken out of the training rows by a fixed
    seed, a tenth each, at least one row.

    Raises
    ------
    BadInput
        Where the file is missing, unreadable, ragged, or holds what is not a number from 0 to 255.
    """
    path = Path(path)
    if not path.is_file():
        raise BadInput(f"There is no data file '{path}'; 'rbmviz list datasets' shows the known data sets.")
    try:
        if path.suffix == ".csv":
            arrays = {"x": np.loadtxt(path, delimiter=",", ndmin=2)}
        else:
            with np.load(path, allow_pickle=False) as archive:
                arrays = dict(archive)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        why = str(error).splitlines()[0]
        raise BadInput(
            f"'{path}' cannot be read as data ({why}); give .npz or comma-separated rows."
        ) from None
    for other, name in (("x", "x_train"), ("y", "y_train"), ("x_valid", "x_validation")):
        if name not in arrays and other in arrays:
            arrays[name] = arrays.pop(other)
    if "x_train" not in arrays:
        raise BadInput(f"'{path}' has no array x or x_train; it holds {', '.join(arrays) or 'nothing'}.")
    image = arrays["x_train"].shape[1:]
    rest = _bits(path, "x_train", arrays["x_train"])
    labels = arrays.get("y_train")
    if labels is not None and (
        labels.shape != (len(rest),) or labels.dtype.kind not in "iu" or labels.min() < 0
    ):
        raise BadInput(f"'{path}': y_train must hold one whole number from 0 up for each row of x_train.")
    order = rng.generator(0, "split own data").permutation(len(rest))
    parts = {}
    for part in ("validation", "test"):
        if f"x_{part}" in arrays:
            parts[part] = _bits(path, f"x_{part}", arrays[f"x_{part}"])
        else:
            if len(order) < 2:
                raise BadInput(f"'{path}' has too few rows to hold any out; give at least three.")
            share = max(len(rest) // 10, 1)
            parts[part], order = rest[order[:share]], order[share:]
    kept = np.sort(order)
    return Dataset(
        name=str(path),
        train=rest[kept],
        binarisation="0/1 as given, grey values cut at one half",
        source=f"the file {path.name}",
        validation=parts["validation"],
        test=parts["test"],
        train_labels=None if labels is None else labels[kept].astype(np.int64),
        classes=() if labels is None else tuple(str(c) for c in range(int(labels.max()) + 1)),
        image_shape=(int(image[0]), int(image[1])) if len(image) == 2 else None,
    )
