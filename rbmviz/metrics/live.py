"""Live metrics: numbers that a sampler's run measures as it goes on, and that its panel shows.

A live metric is one class in one file of this folder, decorated with ``@live_metric("name")``. It declares
its numbers with their names, sentences, formulas and formats, and the app shows them. Copy ``agreement.py``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol

import numpy as np

from rbmviz.metrics.coverage import Labelled
from rbmviz.registry import live_metrics

Format = Literal[
    "fixed1",
    "fixed2",
    "fixed3",
    "signed2",
    "digits3",
    "precision2",
    "precision3",
    "compact",
    "share",
    "rate",
    "plus_minus",
    "with_error",
    "of",
    "pair",
]
"""How a number is written; ``FORMATS`` in ``rbmviz_app/panel/readouts.js`` has the same names (tested).

With "rate" the value is a counter, and the page shows its growth per second.
"""

Value = float | str | tuple[float, float] | None
"""A number, two ("with_error", "of", "pair"), words shown as they are, or None: not yet known."""


@dataclass(frozen=True)
class LiveNumber:
    """A number of a live metric, as people read it; LaTeX is between dollars in ``help`` only."""

    name: str  # key in values, unique among the numbers of a panel
    label: str  # name on the page
    help: str  # meaning in plain words
    format: Format = "digits3"  # how the value is written
    unit: str = ""  # written behind it; empty if the help names it
    formula: str = ""  # definition in LaTeX; empty for plain counts
    source: str = ""  # paper and section, or how it is computed here


class LiveMetric(Protocol):
    """A metric of one run, made where ``applies`` and again after each turn of a knob, on the run's thread.

    Parameters
    ----------
    dataset : Dataset
        The data that samples are scored against.
    n_chains : int
        Chains that take turns: sample t belongs to chain t mod n_chains.

    Attributes
    ----------
    numbers : tuple of LiveNumber
        The numbers that panels show.
    """

    numbers: ClassVar[tuple[LiveNumber, ...]]

    def __init__(self, dataset: Labelled, n_chains: int) -> None: ...

    @staticmethod
    def applies(n_chains: int) -> bool:
        """Return whether the metric applies to runs of ``n_chains`` chains."""

    @staticmethod
    def bytes(n_chains: int) -> int:
        """Return an upper bound of the bytes per run, beyond what all runs share."""

    def update(self, v: np.ndarray) -> None:
        """Take the next samples, uint8 (n, n_visible), in far less time than sampling them."""

    def values(self) -> Mapping[str, Value]:
        """Return the newest value of each number, by name."""


def live_metrics_of(n_chains: int) -> list[type[LiveMetric]]:
    """Return the live metrics of a run of ``n_chains`` chains, ordered by name."""
    return [cls for cls in map(live_metrics.__getitem__, live_metrics) if cls.applies(n_chains)]
