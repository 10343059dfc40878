"""Files of the Little-chain page."""

from collections.abc import Sequence

import numpy as np

from rbmviz.session import LandscapeSnapshot
from rbmviz_app.charts.style import csv_bytes


def walks_csv(named: Sequence[tuple[str, LandscapeSnapshot]], law: np.ndarray) -> bytes:
    """Return every state as CSV: its bits, its probability, and for each panel the visits and the law now."""
    names = [f"{name} {what}" for name, _ in named for what in ("visits", "law now")]
    units = len(law).bit_length() - 1
    return csv_bytes(
        ["state", "model law", *names],
        (
            [
                f"{state:0{units}b}",
                p,
                *(value for _, shown in named for value in (shown.visits[state], shown.law[state])),
            ]
            for state, p in enumerate(law)
        ),
    )


def chain_csv(A: np.ndarray, reduced: np.ndarray, law: np.ndarray, names: Sequence[str]) -> bytes:
    """Return both matrices and the stationary law as CSV, one row per chain and state."""
    return csv_bytes(
        ["chain", "from", *(f"to {name}" for name in names), "stationary"],
        (
            [chain, name, *row, p]
            for chain, matrix in (("A", A), ("A~", reduced))
            for name, row, p in zip(names, matrix, law, strict=True)
        ),
    )
