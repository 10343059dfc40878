"""Data sets: one module for each data set or generator, with a registered function that returns a Dataset."""

import inspect
import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rbmviz import registry
from rbmviz.datasets.fields import PARTS, in_parts
from rbmviz.datasets.own import is_path, reader, reader_of_path
from rbmviz.datasets.raw import fetch, how_to_get, package_folder, path_of, source_of
from rbmviz.datasets.record import Dataset
from rbmviz.errors import BadInput, quoted
from rbmviz.files.arrays import is_file, is_folder
from rbmviz.files.metadata import data_name
from rbmviz.rbm import Model
from rbmviz.support import checks

__all__ = [
    "AnyData",
    "Dataset",
    "MissingData",
    "as_dataset",
    "data_of",
    "dataset_bytes",
    "describe",
    "fetch",
    "list_datasets",
    "load_bytes",
    "load_dataset",
    "load_registered",
    "missing_data",
    "rows_of",
]

AnyData = Dataset | str | Path | ArrayLike
"""What stands for data: a data set, its name or file, or rows of 0 and 1, an array or a data frame."""


def load_dataset(name: str | Path, **options: Any) -> Dataset:
    """Return a registered data set by name, or the user's own data from a file or a folder of images.

    Parameters
    ----------
    name : str or Path
        A name of ``list_datasets()``, a file (``.npz``, ``.npy``, ``.csv``, ``.txt``, ``.zip``; ``own.py``
        describes their formats), or a folder. A registered name takes precedence: the folder ``bas`` is
        ``./bas``. The text after an ``@`` is the variant, the value of the first option: ``usps@0.5``,
        ``mnist@bernoulli``, ``bas@3``, ``photos/@0.3``, ``letters.txt@200``.
    **options : int, float or str
        Options by name instead: ``load_dataset("bas", size=3)``.

    Raises
    ------
    BadInput
        If there is no such data set or file, if it is not on this machine, or if its content is not valid.

    Examples
    --------
    >>> data = rbmviz.load_dataset("bas@3")
    >>> data.train.shape, data.image_shape
    ((16, 9), (3, 3))
    """
    if not isinstance(name, str | Path):
        raise BadInput(f"{quoted(name)} is no name and no file: Dataset.from_arrays makes data of rows.")
    text = str(name)
    base, at, variant = text.rpartition("@")
    if not at or is_file(Path(text)) or is_folder(Path(text)):
        base, variant = text, ""
    if base not in list_datasets() and is_path(base):
        return _called(reader_of_path(Path(base)), base, variant, options)
    return _called(registry.datasets[base], base, variant, options)


def _rows(what: str, data: ArrayLike, n_visible: int | None = None) -> tuple[np.ndarray, Any]:
    """Return the rows of an array, of pictures too, and the shape of a picture; ``what`` is as in checks."""
    rows = checks.numbers(what, data)
    shape = (int(rows.shape[1]), int(rows.shape[2])) if rows.ndim == 3 else None
    return checks.bits(what, rows.reshape(len(rows), -1) if shape else rows, n_visible), shape


def as_dataset(data: AnyData, what: str = "The data", *, held_out: bool = False) -> Dataset:
    """Return a data set, also by its name or file; or of the rows of an array or data frame.

    what : name of the rows in an error message
    held_out : whether a tenth of an array's rows is held out for validation, and a tenth for testing, as by
        ``Dataset.from_arrays`` (default False: all are training examples)

    Raises BadInput if there is no such data set, the rows are not bits, or all are equal.
    """
    if isinstance(data, str | Path):
        data = load_dataset(data)
    if not isinstance(data, Dataset):
        rows, shape = _rows(what, data)
        rows = rows.copy()  # what is kept with a model must not change with the caller's array, nor lock it
        none = rows[:0]
        data = Dataset("", rows, none, none, "bits as they were given", "an array", image_shape=shape)
    if held_out and not (data.name or len(data.validation) or len(data.test)):
        parts = in_parts(what, {"train": data.train}, {}, binarisation=data.binarisation, source=data.source)
        return replace(data, **parts | {"name": ""})
    return data


def rows_of(
    what: str, data: AnyData, n_visible: int | None = None, part: Literal["train", "test"] = "test"
) -> np.ndarray:
    """Return rows of 0 and 1, uint8 (n, n_visible): those of an array or data frame, or a part of a data set.

    what : name of the rows in an error message
    n_visible : required number of columns (default: any)
    """
    if isinstance(data, str | Path):
        data = load_dataset(data)
    if isinstance(data, Dataset):
        name, rows = data.name, getattr(data, part)
        data = rows if len(rows) or name else data.train
        if not len(data):
            raise BadInput(f"{name} has no {part} part: give an array of rows, or other data.")
        what = name or what
    return _rows(what, data, n_visible)[0]


MAX_NAME_LENGTH = 60
"""Most characters of a registered name with its variant."""


def load_registered(name: object) -> Dataset:
    """Return a registered data set, or a variant of one (``usps@0.5``); unlike ``load_dataset`` never a file.

    Use it for names from a link or from the metadata of somebody else's file, which the user did not type:
    such a name must not make this machine open a file.

    Raises BadInput if the name is not registered, or the data set is not on this machine.
    """
    base, _, variant = name.partition("@") if isinstance(name, str) else ("", "", "")
    if base not in list_datasets() or len(str(name)) > MAX_NAME_LENGTH:
        raise BadInput(
            f"'{str(name)[:MAX_NAME_LENGTH]}' is not the name of a data set ('rbmviz list datasets' shows "
            "them); a link or a file's metadata can name registered data sets only, not files: name the file "
            "yourself, or put it beside the model's."
        )
    return _called(registry.datasets[base], base, variant, {})


def data_of(
    model: Model, name: str | None = None, load: Callable[[str], Dataset] = load_registered
) -> Dataset:
    """Return the data that a model is scored on, or else was trained on.

    name : other registered data to take instead (default: what it was trained on in this program, or the data
        that it names)
    load : loads data by name: ``load_registered``, or something that keeps what it has loaded

    Raises BadInput if the model names no data, they are not on this machine, or are not as wide as the model.
    """
    if name is None and model.data is not None:
        return as_dataset(model.data, held_out=True)
    name = name or data_name(model.meta)
    if name is None:
        raise BadInput("This model does not say what it was trained on: name the data.")
    dataset = load(name)
    if dataset.n_visible != model.rbm.n_visible:
        raise BadInput(f"{name} has {dataset.n_visible} units and the model {model.rbm.n_visible}.")
    return dataset


def load_bytes(content: bytes, name: str, **options: Any) -> Dataset:
    """Return a data set from the bytes of a file (an upload); the suffix of the name gives the format."""
    return _called(reader(content, name), name, "", options)


def dataset_bytes(dataset: Dataset) -> bytes:
    """Return the content of an .npz from which ``load_dataset`` reads the same rows and labels."""
    arrays: dict[str, np.ndarray] = {}
    for part in PARTS:
        rows, labels = getattr(dataset, part), getattr(dataset, f"{part}_labels")
        arrays[f"x_{part}"] = rows.reshape(len(rows), *(dataset.image_shape or (dataset.n_visible,)))
        arrays |= {} if labels is None else {f"y_{part}": labels}
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)  # type: ignore[arg-type]
    return content.getvalue()


def _called(function: Callable[..., Dataset], name: str, variant: str, options: dict[str, Any]) -> Dataset:
    """Call the function with the options; the variant, if there is one, is the value of the first option."""
    names = list(inspect.signature(function).parameters)
    if variant:
        if not names:
            raise BadInput(f"The data set {name} comes in one form only: leave '@{variant}' out.")
        options = {names[0]: variant, **options}
    for option in options:
        if option not in names:
            raise BadInput(f"The data set {name} has no option '{option}'.")
    return function(**options)


def list_datasets() -> list[str]:
    """Return the registered names."""
    return list(registry.datasets)


class MissingData(NamedTuple):
    """Downloadable data: the name for ``fetch``, and the size of the download in megabytes."""

    name: str
    megabytes: float


def missing_data(name: object) -> MissingData | None:
    """Return what must be downloaded before a registered data set can be loaded, if it can be downloaded.

    name : name of a data set, perhaps with a variant; anything else needs no download
    """
    base = name.partition("@")[0] if isinstance(name, str) else ""
    if base not in list_datasets():
        return None
    source = source_of(file := registry.datasets[base].file)
    return MissingData(file, source.megabytes) if source.hosts and not path_of(file) else None


def describe() -> list[dict[str, str | None]]:
    """Return a row for each data set: name, description, origin (``where``), and its file or None (``path``).

    ``where`` is ``bundled with ...``, ``generated``, the path of the file, or how to get missing data.
    """
    rows = []
    for name in registry.datasets:
        entry = registry.datasets[name]
        source, path, where = source_of(entry.file), path_of(entry.file), "generated"
        if source.package and package_folder(source):
            where = f"bundled with {source.package}"
        elif source.shapes:
            where = str(path) if path else f"missing: {how_to_get(entry.file)}"
        about = (entry.__doc__ or "").splitlines()[0]
        rows.append({"name": name, "description": about, "where": where, "path": str(path) if path else None})
    return rows
