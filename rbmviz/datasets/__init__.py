"""Data sets: one file a data set or generator, each a registered function returning one Dataset."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rbmviz.array_files import is_file, is_folder
from rbmviz.datasets.own import is_path, reader, reader_of_path
from rbmviz.datasets.raw import SOURCES, fetch, how_to_get, path_of
from rbmviz.datasets.record import Dataset
from rbmviz.errors import BadInput
from rbmviz.registry import datasets

__all__ = ["Dataset", "describe", "fetch", "list_datasets", "load_bytes", "load_dataset", "load_registered"]


def load_dataset(name: str | Path, **options: Any) -> Dataset:
    """Return a data set by name, or one's own from a file or a folder of images.

    A registered name comes before a file or folder of that name (``./bas`` is the folder). Files are
    ``.npz``, ``.csv``, ``.txt`` or ``.zip``; ``own.py`` says what is read from each.

    What follows an ``@`` is the first option, the variant: ``usps@0.5``, ``mnist@bernoulli``, ``bas@3``,
    ``photos/@0.3``, ``letters.txt@200``. Options may also be given by name: ``load_dataset("bas", size=3)``.

    Raises
    ------
    BadInput
        Where there is no such data set or file, it is not on this machine, or holds what it should not.

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
    return _called(datasets[base], base, variant, options)


LONGEST_NAME = 60
"""Characters of a registered name with its variant."""


def load_registered(name: object) -> Dataset:
    """Return a registered data set, or a variant of one (``usps@0.5``); never a file.

    For a name that the person did not type: it stands in a link, or in the metadata of a file that came from
    somebody else, and must not make this machine read what it names.

    Raises
    ------
    BadInput
        Where the name is no such name, or the data set is not on this machine.
    """
    base, _, variant = name.partition("@") if isinstance(name, str) else ("", "", "")
    if base not in list_datasets() or len(str(name)) > LONGEST_NAME:
        raise BadInput(
            f"'{str(name)[:LONGEST_NAME]}' is not the name of a data set ('rbmviz list datasets' shows "
            "them); a link, or a file that names its data, cannot name a file."
        )
    return _called(datasets[base], base, variant, {})


def load_bytes(content: bytes, name: str, **options: Any) -> Dataset:
    """Return a data set from the bytes of a file (an upload); the name's suffix says what they are."""
    return _called(reader(content, name), name, "", options)


def _called(function: Callable[..., Dataset], name: str, variant: str, options: dict[str, Any]) -> Dataset:
    """Return what the function makes of the options, the variant being its first."""
    known = list(inspect.signature(function).parameters)
    if variant:
        if not known:
            raise BadInput(f"The data set {name} comes in one form only: leave '@{variant}' out.")
        options = {known[0]: variant, **options}
    for option in options:
        if option not in known:
            raise BadInput(f"The data set {name} has no option '{option}'.")
    return function(**options)


def list_datasets() -> list[str]:
    """Return the registered names."""
    return list(datasets)


def describe() -> list[dict[str, str | None]]:
    """Return each data set for lists: name, description, where it comes from, and its file if it has one.

    ``where`` is ``bundled with ...``, ``generated``, the path of the file, or how to get what is missing.
    """
    rows = []
    for name in datasets:
        needs, bundled_with = datasets[name].file, datasets[name].bundled_with
        path = path_of(needs) if needs in SOURCES else None
        if path:
            where = str(path)
        elif needs in SOURCES:
            where = f"missing: {how_to_get(needs)}"
        else:
            where = f"bundled with {bundled_with}" if bundled_with else "generated"
        about = (datasets[name].__doc__ or "").splitlines()[0]
        rows.append({"name": name, "description": about, "where": where, "path": str(path) if path else None})
    return rows
