"""Runs as files that need no server: a page that replays them (``page``), a GIF (``charts.moving``)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from rbmviz.datasets import Dataset
from rbmviz.session import RunHistory
from rbmviz.session.history import Kinds

FASTEST = 5000
"""Maximum samples per second; at full speed nobody would see anything."""


@dataclass(frozen=True, eq=False)
class Replay:
    """Runs of one model, shown side by side, with the text around them.

    title : heading; user input, as the caption may be
    caption : a sentence below the heading; "": none
    histories : the runs, from left to right
    dataset : data that define the samples' classes; None: no classes
    shape : (rows, columns); size of a sample, in pixels
    side : rows and columns of the square of samples in a panel (default 10)
    speed : initial samples per second (default 60)
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
        """The class of each sample of each run."""
        return [history.kinds(self.dataset) for history in self.histories]

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the classes; empty without labels."""
        has_labels = self.dataset is not None and self.dataset.train_labels is not None
        return tuple(self.dataset.classes) if has_labels and self.dataset is not None else ()
