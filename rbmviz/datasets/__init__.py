"""Data sets: one module for each data set or generator, with a registered function that returns a Dataset."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from rbmviz import registry
from rbmviz.datasets.own import is_path, reader, reader_of_path
from rbmviz.datasets.raw import fetch, how_to_get, package_folder, path_of, source_of
from rbmviz.datasets.record import Dataset
from rbmviz.errors import BadInput
from rbmviz.files.arrays import is_file, is_folder

__all__ = [
    "Dataset",
    "MissingData",
    "describe",
    "fetch",
    "list_datasets",
    "load_bytes",
    "load_dataset",
    "load_registered",
    "missing_data",
]


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
    text = str(name)
    base, at, variant = text.rpartition("@")
    if not at or is_file(Path(text)) or is_folder(Path(text)):
        base, variant = text, ""
    if base not in list_datasets() and is_path(base):
        return _called(reader_of_path(Path(base)), base, variant, options)
    return _called(registry.datasets[base], base, variant, options)


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
            "them); a link or a file's metadata can name registered data sets only, not files."
        )
    return _called(registry.datasets[base], base, variant, {})


def load_bytes(content: bytes, name: str, **options: Any) -> Dataset:
    """Return a data set from the bytes of a file (an upload); the suffix of the name gives the format."""
    return _called(reader(content, name), name, "", options)


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
