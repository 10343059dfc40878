"""Runs as files that need no server: a page that plays them (``page``), a GIF (``charts.moving``)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from rbmviz.datasets import Dataset
from rbmviz.session import RunHistory
from rbmviz.session.history import Kinds

FASTEST = 5000
"""Samples per second at most; at full speed nobody would see anything."""


@dataclass(frozen=True, eq=False)
class Replay:
    """Runs of one model that are shown side by side, and what stands around them.

    Parameters
    ----------
    title : str
        Heading; from a person, as the caption may be.
    caption : str
        A sentence below the heading; "" : none.
    histories : sequence of RunHistory
        The runs, from left to right.
    dataset : Dataset or None
        Data whose classes the samples have; None: none.
    shape : (rows, columns)
        Of one sample, in pixels.
    side : int
        Rows and columns of the square of samples in a panel (default 10).
    speed : float
        Samples per second at first (default 60).
    """

    title: str
    caption: str
    histories: Sequence[RunHistory]
    dataset: Dataset | None
    shape: tuple[int, int]
    side: int = 10
    speed: float = 60

    @cached_property
    def kinds(self) -> list[Kinds]:
        """What each sample of each run shows."""
        return [history.kinds(self.dataset) for history in self.histories]

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the classes; empty without labels."""
        has_labels = self.dataset is not None and self.dataset.train_labels is not None
        return tuple(self.dataset.classes) if has_labels and self.dataset is not None else ()
