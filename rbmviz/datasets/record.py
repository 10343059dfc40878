"""The one record that every data set returns."""

from dataclasses import dataclass, fields

import numpy as np

from rbmviz.errors import BadInput


@dataclass(frozen=True, eq=False)
class Dataset:
    """Binary data in three parts.

    Parameters
    ----------
    name : str
        Registered name, with the binarisation or size where it is not the usual one (``usps@0.5``,
        ``bas@3``); ``load_dataset`` takes it back.
    train, validation, test : uint8 (n, n_visible), values 0 and 1, read-only
        Validation and test may be empty where the data has none; the training examples must differ.
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

    Raises
    ------
    BadInput
        Where a part is not uint8 rows of 0 and 1, or the training examples are none or all the same.
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
                raise BadInput(
                    f"{self.name}: {part} holds values other than 0 and 1; binarise it first, by a threshold "
                    "(rows > 127) or a draw."
                )
        if not self.train.size:
            raise BadInput(f"{self.name} has no training examples, or none with a value; give it some.")
        if not (self.train[1:] != self.train[0]).any():
            raise BadInput(
                f"{self.name}: there is nothing to learn, as no training example differs from another "
                f"({len(self.train):,} of them; binarisation: {self.binarisation}); choose other data, or "
                "another threshold."
            )
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

    @property
    def n_visible(self) -> int:
        """Number of visible units, the width of a row."""
        return self.train.shape[1]
