"""Compare stored results of three papers with what the plain programs of this folder give.

``python -m tests.papers.independent.compare`` prints the table of docs/reproduce.md, in some ten minutes;
``RBMVIZ_DATA_DIR`` names the folder with usps.npz.
"""

import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from . import coupling, fast_weights, plain, population, verdicts
from .plain import ROOT

RESULTS = ROOT / "rbmviz" / "ledger" / "stored"
PRINTED = {"bas": 0.0242761, "modes": 0.177744}
"""Bias of CD-1 in table 1 of the paper population CD."""


HEAD = "| recipe | number | stored | recomputed | difference in standard errors |\n|---|---|--:|--:|--:|"


class Race(NamedTuple):
    """A stored number and the recomputed one, with standard errors, and how far apart they are."""

    recipe: str
    number: str
    stored: float
    stored_error: float
    ours: float
    our_error: float
    z: float

    def row(self) -> str:
        """Return a row of the table in Markdown."""
        error = "" if np.isnan(self.our_error) else f" ± {self.our_error:.3g}"
        return (
            f"| `{self.recipe}` | `{self.number}` | {self.stored:.4g} ± {self.stored_error:.3g} "
            f"| {self.ours:.4g}{error} | {self.z:+.1f} |"
        )


def stored(recipe: str, number: str) -> tuple[float, float, int]:
    """Return a number of the stored quick run, or else of a longer one: value, error, replications.

    Of some recipes the full run has longer chains or more pairs, and so other numbers: for this comparison
    the quick result is kept beside it.
    """
    files = [RESULTS / f"{recipe}-{size}.json" for size in ("quick", "medium", "full")]
    record = json.loads(next(path for path in files if path.exists()).read_text())
    found = [part for claim in record["claims"] for part in claim["measured"] if part["number"] == number]
    return found[0]["value"], found[0]["error"], found[0]["n"]


def compare(recipe: str, number: str, values: Iterable[float]) -> Race:
    """Compare a stored number with replications of ours.

    The difference is divided by its standard error, with one variance for both, from all replications.
    """
    value, error, n = stored(recipe, number)
    ours = np.array(list(values))
    own = ours.var(ddof=1) if len(ours) > 1 else 0.0
    variance = ((n - 1) * error**2 * n + (len(ours) - 1) * own) / (n + len(ours) - 2)
    z = (ours.mean() - value) / np.sqrt(variance * (1 / n + 1 / len(ours)))
    our_error = np.sqrt(own / len(ours)) if len(ours) > 1 else np.nan
    return Race(recipe, number, value, error, float(ours.mean()), float(our_error), float(z))


def decay(folder: Path, seeds: int, steps: dict[float, tuple[float, ...]]) -> list[Race]:
    """Rates-FPCD: what decay costs, with the best of these step sizes, after 10,000 samples."""
    found = fast_weights.decay(folder, 10_000, seeds, steps)
    return [compare("rates_fpcd_decay", "gain", fast_weights.gains(found))]


def bias_and_variance(data: str, k: int, models: int) -> list[Race]:
    """Population CD: bias and variance of CD over those of pop-CD, on models trained here."""
    each = [population.ratios(data, k, seed) for seed in range(models)]
    recipe = "population_cd_bias_variance"
    found = [
        compare(recipe, f"{data}_{k}_{what}", [one[what] for one in each]) for what in ("bias", "variance")
    ]
    if k == 1:
        printed = np.log10(PRINTED[data])
        found.append(compare(recipe, f"{data}_1_printed", [one["of_cd"] - printed for one in each]))
    return found


def meeting(models: int, pairs: int, general: bool) -> list[Race]:
    """Unbiased CD: shares of pairs that meet within 10 sweeps, and of algorithm 1 not in 1,000."""
    recipe = "unbiased_cd_meeting_times"
    each = [coupling.shares_met(not general, seed, pairs) for seed in range(models)]
    found = [compare(recipe, ("general_" if general else "") + "within_10", [one[0] for one in each])]
    if general:
        found.append(compare(recipe, "general_truncated", [one[1] for one in each]))
    return found


def unbiased(most: int, seeds: int) -> list[Race]:
    """Unbiased CD: distance of the mean estimate from the exact expectation, in standard errors."""
    z = [coupling.distance_in_errors(most, seed)[0] for seed in range(seeds)]
    return [compare("unbiased_cd_unbiased", f"z_{most}", z)]


def changed(folder: Path, times: int) -> list[Race]:
    """Numbers behind five verdicts that changed, with ``times`` as many replications as a test has."""
    modes = population.artificial_modes(np.random.default_rng(5))
    model, each = plain.shipped("modes_pop_cd"), range(2 * times)
    curves = np.array([verdicts.curve_of_cd1(seed) for seed in each])
    turned = [verdicts.turned_by_one_out(model, modes, seed) for seed in each]
    joint = map(verdicts.joint_over_visible, range(100 * times))
    return [
        compare("unbiased_cd_bas", "fall_CD-1", verdicts.falls(curves)),
        compare("population_cd_weights", "off_one out_modes_pop_cd", turned),
        compare("population_cd_weights", "joint_bas_cd1", joint),
        compare("population_cd_consistency", "slope_pop_cd", map(verdicts.slope_of_bias, each)),
        compare(
            "rates_fpcd_fewer_samples", "usps_fpcd_100", [verdicts.times_as_many(folder, x) for x in each]
        ),
    ]


def long_form(folder: Path) -> list[Callable[[], list[Race]]]:
    """Return all comparisons, each of which takes seconds to minutes."""
    steps = dict.fromkeys((1.0, 0.95), fast_weights.EPS)
    return [
        lambda: decay(folder, 4, steps),
        *(lambda k=k: bias_and_variance("bas", k, 12) for k in (1, 10)),  # type: ignore[misc]
        *(lambda k=k: bias_and_variance("modes", k, 3) for k in (1, 10)),  # type: ignore[misc]
        lambda: meeting(16, 400, general=False),
        lambda: meeting(8, 400, general=True),
        lambda: unbiased(100, 20),
        lambda: unbiased(100_000, 20),
        lambda: changed(folder, 4),
    ]


if __name__ == "__main__":
    print(HEAD)  # noqa: T201
    for part in long_form(Path(os.environ["RBMVIZ_DATA_DIR"])):
        for one in part():
            print(one.row(), flush=True)  # noqa: T201
