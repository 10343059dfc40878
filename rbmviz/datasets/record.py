"""``Dataset``: the record that every data set is returned as."""

import functools
import threading
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from rbmviz.datasets.fields import MAX_CLASSES, MAX_WORD_LENGTH, PARTS, given_fields
from rbmviz.errors import BadInput
from rbmviz.files.provenance import digest_of
from rbmviz.support import checks
from rbmviz.support.notebook import notebook_html


@dataclass(frozen=True, eq=False)
class Dataset:
    """Binary data in three parts.

    Parameters
    ----------
    name : str
        Registered name, with the variant if it is not the default (``usps@0.5``, ``bas@3``);
        ``load_dataset`` accepts it.
    train, validation, test : uint8 (n, n_visible), values 0 and 1, read-only
        Validation and test may be empty; the training examples must not all be equal.
    binarisation : str
        One sentence: the rule that made the bits.
    source : str
        Authors of the data, and the licence if it is known.
    train_labels, validation_labels, test_labels : int64 (n,) or None
        Indices into ``classes``.
    classes : tuple of str
        Names of the classes; empty without labels.
    image_shape : (rows, columns) or None
        Shape of a row as a picture; None if a row is not a picture.
    vocabulary : tuple of str or None
        The word of each visible unit; None if the units are not words.
    scored_on : str
        Name of a data set that has the same validation and test parts and needs no download; default "".

    Raises
    ------
    BadInput
        If a part is not rows of 0 and 1, if there are no training examples or they are all equal, if
        labels are not indices into the classes, or if there is not one word for each visible unit.
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

    def __repr__(self) -> str:
        rows = " + ".join(f"{len(part):,}" for part in (self.train, self.validation, self.test))
        classes = f", {len(self.classes)} classes" if self.classes else ""
        shape = f", {self.image_shape[0]} x {self.image_shape[1]} pixels" if self.image_shape else ""
        return (
            f"Dataset({self.name or 'unnamed'}: {rows} examples of {self.n_visible:,} units{shape}{classes})"
        )

    def __post_init__(self) -> None:
        for part in PARTS:
            width = None if part == "train" else self.train.shape[1]
            rows = checks.bits(f"{self.name}: {part}", getattr(self, part), width, 0)
            object.__setattr__(self, part, rows)
        if not self.train.size:
            raise BadInput(f"{self.name} has no training examples, or none with a value; give it some.")
        if (self.train.min(axis=0) == self.train.max(axis=0)).all():
            raise BadInput(
                f"{self.name or 'The data'}: there is nothing to learn, as no training example differs from "
                f"another ({len(self.train):,} of them; binarisation: {self.binarisation}); choose other "
                "data, or another threshold."
            )
        self._check_names()
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

    def _check_names(self) -> None:
        for part in PARTS:
            labels = getattr(self, f"{part}_labels")
            if labels is not None and (
                labels.shape != (len(getattr(self, part)),)
                or labels.dtype.kind not in "iu"
                or (labels.size and not 0 <= labels.min() <= labels.max() < len(self.classes))
            ):
                raise BadInput(
                    f"{self.name}: the labels of the {part} part must be one whole number for each row, an "
                    f"index into the {len(self.classes)} classes."
                )
        if self.vocabulary is not None and len(self.vocabulary) != self.train.shape[1]:
            raise BadInput(
                f"{self.name}: there are {len(self.vocabulary)} words for {self.train.shape[1]} visible "
                "units; give one for each."
            )
        for what, words in (("classes", self.classes), ("words", self.vocabulary or ())):
            longest = max(map(len, words), default=0)
            if longest > MAX_WORD_LENGTH:
                raise BadInput(
                    f"{self.name}: one of the {what} has {longest:,} letters; give at most {MAX_WORD_LENGTH}."
                )
        if len(self.classes) > MAX_CLASSES:
            raise BadInput(f"{self.name} has {len(self.classes):,} classes; give at most {MAX_CLASSES:,}.")

    @classmethod
    def from_arrays(
        cls,
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
    ) -> "Dataset":
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

        Examples
        --------
        >>> import numpy as np
        >>> grey = np.random.default_rng(0).random((200, 8, 8))
        >>> data = rbmviz.Dataset.from_arrays(grey, binarise=0.7)
        >>> data.train.shape, data.test.shape, data.image_shape
        ((160, 64), (20, 64), (8, 8))
        """
        rows = {"x_train": x, "x_validation": x_validation, "x_test": x_test}
        labels = {"y_train": y, "y_validation": y_validation, "y_test": y_test}
        return cls(**given_fields(name, rows, labels, binarise, image_shape))

    def _repr_html_(self) -> str:
        return notebook_html(self, self.train, self.image_shape)

    def digest(self) -> str:
        """Return a hash of all rows, and of the labels of the training part, 16 hexadecimal digits."""
        labels = np.zeros(0, np.int64) if self.train_labels is None else self.train_labels
        return digest_of([self.train, self.validation, self.test, labels])

    @property
    def n_visible(self) -> int:
        """Number of visible units, the width of a row."""
        return self.train.shape[1]


def once_per_dataset(make: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of a data set, and of hashable values, which keeps its results with the data set."""
    kept: WeakKeyDictionary[Dataset, dict[Any, Any]] = WeakKeyDictionary()
    lock = threading.Lock()

    @functools.wraps(make)
    def get(dataset: Dataset, *values: Any) -> Any:
        with lock:
            results = kept.setdefault(dataset, {})
            if values not in results:
                results[values] = make(dataset, *values)
            return results[values]

    return get
