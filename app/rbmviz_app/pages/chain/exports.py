"""Files of the page How it works."""

from collections.abc import Sequence

import numpy as np

from rbmviz.models import LANDSCAPE_PATTERNS
from rbmviz.pages import link_to
from rbmviz.pages.chain import RANDOM_WEIGHTS
from rbmviz.session import LandscapeSnapshot
from rbmviz_app.charts.style import csv_bytes


def walks_csv(named: Sequence[tuple[str, LandscapeSnapshot]], law: np.ndarray) -> bytes:
    """Return the states as CSV, with bits, probability, and each panel's visits and current law."""
    names = [f"{name} {what}" for name, _ in named for what in ("visits", "law now")]
    units = len(law).bit_length() - 1
    return csv_bytes(
        ["state", "model law", *names],
        (
            [
                f"{state:0{units}b}",
                p,
                *(value for _, snapshot in named for value in (snapshot.visits[state], snapshot.law[state])),
            ]
            for state, p in enumerate(law)
        ),
    )


def command_of(panels: Sequence[str], land: str, depth: float, seed: int) -> str:
    """Return a link that repeats the walks, or the reason why no link can.

    panels : panels as written in links
    land : name of the landscape; in another session, no link opens a trained model or a model from a file
    depth : depth of the valleys, in nats
    """
    if land in (*LANDSCAPE_PATTERNS, RANDOM_WEIGHTS):
        return f"rbmviz app; {link_to('chain', panels, land=land, land_depth=depth, land_seed=seed)}"
    return (
        f"rbmviz app; page How it works, panels {' '.join(panels)}, seed {seed}. The landscape is that of "
        f"the model {land!r}, which no link opens: upload its file, or save one on the page Train by the "
        "button Model."
    )


def chain_csv(A: np.ndarray, reduced: np.ndarray, law: np.ndarray, names: Sequence[str]) -> bytes:
    """Return both matrices and the stationary law as CSV, with one row per chain and state."""
    return csv_bytes(
        ["chain", "from", *(f"to {name}" for name in names), "stationary"],
        (
            [chain, name, *row, p]
            for chain, matrix in (("A", A), ("A~", reduced))
            for name, row, p in zip(names, matrix, law, strict=True)
        ),
    )
