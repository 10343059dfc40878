"""Panels as text in the page's address, so that a link reproduces what is on the screen."""

from collections.abc import Collection
from typing import Any

from rbmviz import BadInput
from rbmviz.knobs import write_knobs
from rbmviz.registry import Table


def write_panel(algorithm: Any, only: Collection[str] | None = None) -> str:
    """Write a sampler or trainer: ``rates_fpcd:eps=0.03,alpha=1.0,k=1,statistics=sampled``."""
    return f"{algorithm.name}:{write_knobs(algorithm, only)}"


def read_panels(table: Table, texts: list[str]) -> tuple[list[Any], list[str]]:
    """Return the algorithms that can be read, and one sentence for each that cannot."""
    read, refused = [], []
    for text in texts:
        try:
            read.append(table.read(text))
        except BadInput as error:
            refused.append(f"The link's panel '{text}' is left out. {error}")
    return read, refused
