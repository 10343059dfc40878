"""What trainers with their default knobs gain over independent units, on small data of four kinds.

``python -m benchmarks.gains`` prints the table of docs/algorithms/index.md, in some five minutes.
"""

import argparse
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rbmviz import load_dataset, make_trainer, train
from rbmviz.trainers.likelihood import likelihood, scored_examples

STOCHASTIC = ("cd", "pcd", "fpcd", "pop_cd", "pt", "ucd")
OWN = "own.csv"
EXACT_UPDATES = 3000
"""Updates of the exact gradient on Bars and Stripes: each enumerates 65,536 states."""


class Condition(NamedTuple):
    """Data, hidden units, and updates."""

    data: str
    n_hidden: int
    updates: int


CONDITIONS = (
    Condition("bas", 16, 5000),
    Condition("digits", 64, 2000),
    Condition("mnist5k", 64, 1000),
    Condition("film_reviews", 50, 1000),
    Condition(OWN, 16, 2000),
)


@dataclass(frozen=True)
class Gain:
    """Mean log-likelihood of the training examples less that of independent units, in nats; its error."""

    value: float
    error: float


def write_own(path: Path) -> Path:
    """Write handwritten digits as a table of one's own: a header, labels, and bits."""
    digits = load_dataset("digits")
    table = np.column_stack([np.asarray(digits.train_labels), digits.train])
    header = ",".join(["label", *(f"pixel{i}" for i in range(digits.n_visible))])
    np.savetxt(path, table, fmt="%d", delimiter=",", header=header, comments="")
    return path


def gain(trainer: str, data: str | Path, n_hidden: int, updates: int, seed: int = 0) -> Gain:
    """Train with default knobs, and return the gain; its error is that of annealed importance sampling."""
    dataset = load_dataset(str(data))
    *_, last = train(dataset, make_trainer(trainer), n_hidden, updates, seed, every=updates)
    rows = scored_examples(dataset.train)
    value, error, _, independent = likelihood(rows, last.rbm, seed).values()
    return Gain(value - independent, error)


def row(condition: Condition, folder: Path, seed: int = 0) -> dict[str, Gain]:
    """Return the gain of every trainer that is judged on these data, by name."""
    name, n_hidden, updates = condition
    data = write_own(folder / OWN) if name == OWN else name
    found = {trainer: gain(trainer, data, n_hidden, updates, seed) for trainer in STOCHASTIC}
    if condition.data == "bas" and seed == 0:
        found["exact"] = gain("exact", data, n_hidden, EXACT_UPDATES, seed)
    return found


def main() -> None:
    """Print the table: means over seeds, and their standard errors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--data", nargs="*", default=[condition.data for condition in CONDITIONS])
    options = parser.parse_args()
    print("| data | hidden | updates |", " | ".join(f"`{name}`" for name in STOCHASTIC), "| `exact` |")  # noqa: T201
    print("|---|--:|--:|" + "--:|" * (len(STOCHASTIC) + 1))  # noqa: T201
    for condition in (one for one in CONDITIONS if one.data in options.data):
        with tempfile.TemporaryDirectory() as folder:
            rows = [row(condition, Path(folder), seed) for seed in range(options.seeds)]
        cells = []
        for name in (*STOCHASTIC, "exact"):
            values = np.array([one[name].value for one in rows if name in one])
            error = f" ± {values.std(ddof=1) / np.sqrt(len(values)):.2f}" if len(values) > 1 else ""
            cells.append(f"{values.mean():.2f}{error}" if len(values) else "")
        line = (f"`{condition.data}`", str(condition.n_hidden), f"{condition.updates:,}", *cells)
        print(f"| {' | '.join(line)} |", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
