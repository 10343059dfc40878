"""Data sets: one file a data set or generator, each a registered function returning one Dataset."""

import importlib
import inspect
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from rbmviz.errors import BadInput
from rbmviz.registry import datasets


@dataclass(frozen=True, eq=False)
class Dataset:
    """Binary data in three parts.

    Parameters
    ----------
    name : str
        Registered name, with the binarisation where it is not the usual one (``usps@0.5``);
        ``load_dataset`` takes it back.
    train, validation, test : uint8 (n, n_visible), values 0 and 1, read-only
        Parts may be empty where the data has none.
    train_labels, validation_labels, test_labels : int64 (n,) or None
        Indices into ``classes``.
    classes : tuple of str
    image_shape : (rows, columns) or None
    vocabulary : tuple of str or None
        The word of each visible unit.
    binarisation : str
        One sentence: the rule that made the bits.
    source : str
        Whose data, and under which terms where they are known.
    scored_on : str
        Name of a data set with the same validation and test parts that needs no download; else "".
    """

    name: str
    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray
    binarisation: str
    source: str
    train_labels: np.ndarray | None = None
    validation_labels: np.ndarray | None = None
    test_labels: np.ndarray | None = None
    classes: tuple[str, ...] = ()
    image_shape: tuple[int, int] | None = None
    vocabulary: tuple[str, ...] | None = None
    scored_on: str = ""

    def __post_init__(self) -> None:
        for part in ("train", "validation", "test"):
            rows = getattr(self, part)
            if rows.dtype != np.uint8 or rows.ndim != 2 or rows.shape[1] != self.train.shape[1]:
                raise BadInput(f"{self.name}: {part} must be uint8 rows as wide as the training part.")
            if rows.size and rows.max() > 1:
                raise BadInput(f"{self.name}: {part} holds values other than 0 and 1; binarise it first.")
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

    @property
    def n_visible(self) -> int:
        """Number of visible units, the width of a row."""
        return self.train.shape[1]


def load_dataset(name: str | Path, **options: Any) -> Dataset:
    """Return a data set by name, or read one from a file (.npz or .csv; see ``datasets.own``).

    An ``@`` names another binarisation: ``usps@0.5``, ``mnist@bernoulli``. Options go to the data set's
    function: ``load_dataset("bas", size=3)``.

    Raises
    ------
    BadInput
        Where there is no such data set or file, it is not on this machine, or holds what it should not.
    """
    if Path(name).suffix in (".npz", ".csv"):
        return importlib.import_module("rbmviz.datasets.own").load_file(name)
    base, _, rule = str(name).partition("@")
    function = datasets[base]
    if rule:
        options["binarise"] = rule
    for option in options:
        if option not in inspect.signature(function).parameters:
            raise BadInput(f"The data set {base} has no option '{option}'.")
    return function(**options)


def list_datasets() -> list[str]:
    """Return the registered names."""
    return list(datasets)


def describe() -> list[dict[str, str]]:
    """Return name, description and whereabouts of every data set, for lists."""
    raw = importlib.import_module("rbmviz.datasets.raw")
    rows = []
    for name in datasets:
        function = datasets[name]
        needs = {"mnist55k": "mnist"}.get(name, name)
        where = "at hand"
        if needs in raw.SOURCES:
            path = raw.path_of(needs)
            where = str(path) if path else f"missing: run 'rbmviz data get {needs}'"
        about = (function.__doc__ or "").splitlines()[0]
        rows.append({"name": name, "description": about, "where": where})
    return rows
