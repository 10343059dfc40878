"""Live metrics: what a sampler's run measures while it goes on, and what its panel shows of it.

A live metric is one class in one file of this folder, decorated with ``@live_metric("name")``: it says which
numbers it has, with their names, sentences, formulas and formats, and the app shows them. ``agreement.py`` is
the one to copy.
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
"""How a number is written: ``FORMATS`` in ``app/panel/readouts.js`` has the same names, as a test makes sure.

With "rate" the value is a counter, and the page shows by how much it grows in a second, as it sees it grow.
"""

Value = float | str | tuple[float, float] | None
"""A number, two ("with_error", "of", "pair"), words that are shown as they are, or None: not known yet."""


@dataclass(frozen=True)
class LiveNumber:
    """A number of a live metric, as people read it.

    Parameters
    ----------
    name : str
        Its key in ``values``; no other number of a panel may have it.
    label : str
        What people call it.
    help : str
        What it says, in plain words; LaTeX between dollars for a letter or two.
    format : str
        How it is written.
    unit : str
        What is written behind it; empty if the help names the unit.
    formula : str
        Its definition in LaTeX, without dollars; empty for what is only counted.
    source : str
        Paper and section, or how it is computed here.
    """

    name: str
    label: str
    help: str
    format: Format = "digits3"
    unit: str = ""
    formula: str = ""
    source: str = ""


class LiveMetric(Protocol):
    """A metric of one run, made where ``applies`` and anew at each turn of a knob, on the run's thread.

    Parameters
    ----------
    dataset : Dataset
        What the samples are scored against.
    n_chains : int
        Chains that take turns: sample t is of chain t mod n_chains.

    Attributes
    ----------
    numbers : tuple of LiveNumber
        What panels show.
    """

    numbers: ClassVar[tuple[LiveNumber, ...]]

    def __init__(self, dataset: Labelled, n_chains: int) -> None: ...

    @staticmethod
    def applies(n_chains: int) -> bool:
        """Return whether the metric says anything of a run of so many chains."""

    @staticmethod
    def bytes(n_chains: int) -> int:
        """Return the bytes that the metric of one run takes at most, beyond what all runs share."""

    def update(self, v: np.ndarray) -> None:
        """Take the next samples, uint8 (n, n_visible); this must take far less time than sampling."""

    def values(self) -> Mapping[str, Value]:
        """Return the newest value of each number, by its name."""


def live_metrics_of(n_chains: int) -> list[type[LiveMetric]]:
    """Return the live metrics of a run of so many chains, in the order of their names."""
    return [cls for cls in map(live_metrics.__getitem__, live_metrics) if cls.applies(n_chains)]
