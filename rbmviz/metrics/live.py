"""Live metrics: numbers that a sampler's run measures continuously and its panel shows.

A live metric is one class in one file of this folder, decorated with ``@live_metric("name")``. It declares
its numbers with their names, sentences, formulas and formats, and the app shows them. Copy ``agreement.py``.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Protocol

import numpy as np

from rbmviz.datasets import Dataset
from rbmviz.metrics.numbers import Format, Number, Value
from rbmviz.registry import live_metrics


def live_number(name: str, label: str, help: str, format: Format = "digits3", **more: Any) -> Number:
    """Return a number of a live metric; ``name`` is its key in values, unique on its panel."""
    return Number(name, label, help, lambda snapshot: snapshot.live_numbers.get(name), format, **more)


class LiveMetric(Protocol):
    """A metric of one run, if it ``applies``; each turn of a knob makes a new one, on the run's thread.

    dataset : data to score the samples against
    n_chains : chains that take turns: sample t belongs to chain t mod n_chains

    numbers : the numbers that panels show
    """

    numbers: ClassVar[tuple[Number, ...]]

    def __init__(self, dataset: Dataset, n_chains: int) -> None: ...

    @staticmethod
    def applies(n_chains: int) -> bool:
        """Return whether the metric applies to runs with ``n_chains`` chains."""

    def update(self, v: np.ndarray) -> None:
        """Take the next samples, uint8 (n, n_visible), in far less time than sampling them."""

    def values(self) -> Mapping[str, Value]:
        """Return the newest value of each number, by name."""


def live_metrics_of(n_chains: int) -> list[type[LiveMetric]]:
    """Return the live metrics for a run with ``n_chains`` chains, ordered by name."""
    return [cls for cls in map(live_metrics.__getitem__, live_metrics) if cls.applies(n_chains)]
