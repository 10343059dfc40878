"""Population CD, table 1: bias and variance of the gradient estimates of CD and pop-CD."""

from collections.abc import Sequence

import numpy as np

from papers.claims import Bound, Estimate, Size, claim
from papers.drawing import Drawing, Row
from papers.recipe import Measurements, Recipe, Work, on_weights, per_seed, seeds
from papers.tables import dots
from papers.trainings import estimator_biases

BATCH = {"bas": 32, "modes": 500, "letters": 246, "mnist": 500}
UPDATES = {"bas": 10_000, "modes": 10_000, "letters": 10_000, "mnist": 5000}
PAPER = {
    ("bas", 1): (0.0242761, 0.000156001, 5.34874e-05, 0.000527033),
    ("bas", 10): (0.0233395, 0.000139806, 0.000238678, 0.0011887),
    ("modes", 1): (0.177744, 7.99706e-09, 2.3712e-06, 0.000372144),
    ("modes", 10): (0.176977, 6.29318e-09, 5.07146e-06, 0.000372545),
    ("letters", 1): (0.00213099, 0.000681575, 0.000332673, 0.0168316),
    ("letters", 10): (0.0017085, 0.000300025, 0.000434146, 0.0148595),
    ("mnist", 1): (0.0145665, 0.000746869, 0.000143567, 0.00377791),
    ("mnist", 10): (0.0136011, 0.000694042, 0.000156719, 0.00244656),
}
"""Bias of CD and of pop-CD, variance of CD and of pop-CD, by data and k, with 16 hidden units."""

GENERATED = ("bas", "modes")


def models(data: str, replications: int, each: Sequence[int]) -> list[Work]:
    """Return models of a data set, one per seed, and the estimates on them."""
    arguments = {"data": data, "n_hidden": 16, "batch": BATCH[data], "rate": 0.1, "updates": UPDATES[data]}
    arguments |= {"replications": replications}
    return per_seed(data, estimator_biases, arguments, each)


def work(size: Size) -> list[Work]:
    """Return models of generated data."""
    n = 400 if size == "quick" else 20_000
    bas, modes = seeds(size, quick=12, full=12), seeds(size, quick=3, full=12)
    return [*models("bas", n, bas), *models("modes", n, modes)]


def ratios(measured: Measurements, data: str, k: int, what: str) -> list[float]:
    """Return log10 of CD's bias (or variance) over pop-CD's by model; noise replaces a smaller bias."""
    logs = []
    for run in measured.each(f"{data}-"):
        cd, pop = run[f"cd-{k}"], run[f"pop_cd-{k}"]
        below = max(pop["bias_corrected"], 2 * pop["std_error"]) if what == "bias" else pop["variance"]
        above = cd["bias_corrected"] if what == "bias" else cd["variance"]
        logs.append(float(np.log10(max(above, 1e-300) / below)))
    return logs


def logarithms(measured: Measurements, chosen: Sequence[str]) -> dict[str, Estimate]:
    """Return logarithms of ratios, and of measured over printed biases, by data and k."""
    result = {}
    for data, k in PAPER:
        if data not in chosen:
            continue
        for what in ("bias", "variance"):
            result[f"{data}_{k}_{what}"] = Estimate.of(ratios(measured, data, k, what))
        printed = PAPER[data, k][0]
        biases = [run[f"cd-{k}"]["bias_corrected"] for run in measured.each(f"{data}-")]
        result[f"{data}_{k}_printed"] = Estimate.of([np.log10(max(bias, 1e-12) / printed) for bias in biases])
    return result


def beside_the_paper(measured: Measurements, chosen: Sequence[str]) -> Drawing:
    """Return the ratios of bias and variance, with the paper's."""
    rows: list[Row] = []
    for data, k in PAPER:
        if data in chosen:
            name = f"{data}, k = {k}"
            cd, pop, of_cd, of_pop = PAPER[data, k]
            for what, printed in (("bias", cd / pop), ("variance", of_cd / of_pop)):
                rows += of_models(name, ratios(measured, data, k, what), float(np.log10(printed)), what)
    return Drawing(rows, "", "log10 of CD over pop-CD", mark="point")


def of_models(name: str, each: Sequence[float], printed: float, panel: str) -> list[Row]:
    """Return the rows of a setting: each model, their mean with its error, their median, and the paper."""
    rows: list[Row] = [{"x": name, "y": ratio, "series": "one model"} for ratio in each]
    rows += dots([(name, Estimate.of(each))], "mean of the models")
    rows.append({"x": name, "y": float(np.median(each)), "series": "median of the models"})
    rows.append({"x": name, "y": printed, "series": "paper"})
    return [row | {"panel": f"{panel}, CD over pop-CD"} for row in rows]


def numbers(measured: Measurements, size: Size) -> dict[str, Estimate]:
    return logarithms(measured, GENERATED)


def drawing(measured: Measurements, size: Size) -> Drawing:
    return beside_the_paper(measured, GENERATED)


def variance_bounds(data: str) -> tuple[Bound, ...]:
    """Return the bounds of "the variance is larger, often by an order of magnitude"."""
    return tuple(
        Bound(f"{data}_{k}_variance", f"log10 of variance, CD / pop-CD, {data}, k = {k}", at_most=-0.5)
        for k in (1, 10)
    )


def printed_bound(data: str) -> Bound:
    """Return the bound of "the bias of CD is as printed"."""
    return Bound(f"{data}_1_printed", f"log10 of bias of CD-1, over the printed one, {data}", -0.3, 0.3)


def bias_bounds(data: str) -> tuple[Bound, ...]:
    """Return the bounds of "the bias is much smaller"."""
    return tuple(
        Bound(f"{data}_{k}_bias", f"log10 of bias, CD over pop-CD, {data}, k = {k}", at_least=0.5)
        for k in (1, 10)
    )


RECIPE = Recipe(
    paper="population_cd",
    place=40,
    title="Bias and variance, generated data",
    source="Section 4.2, table 1, rows of Bars and Stripes and Artificial Modes",
    claims=(
        claim(
            "bias",
            "On generated data with 16 hidden units the bias of pop-CD is much smaller than that of CD.",
            "Bars and Stripes 156 times (k = 1) and 167 times (k = 10); Modes 2 x 10^7 times",
            *bias_bounds("bas"),
            *bias_bounds("modes"),
        ),
        claim(
            "variance",
            "The variance of pop-CD is larger, often by an order of magnitude or more.",
            "Bars and Stripes 9.9 times (k = 1) and 5.0 times; Modes 157 times and 73 times",
            *variance_bounds("bas"),
            *variance_bounds("modes"),
            live_link=on_weights("modes_cd1", "pop_cd:n_chains=500", weights_more=True),
        ),
        claim(
            "printed",
            "The bias of CD itself is as printed.",
            "Bars and Stripes 2.43e-2 (k = 1), Modes 1.78e-1",
            *(printed_bound(data) for data in GENERATED),
        ),
    ),
    about=(
        "Models trained by CD-1 at the rate 0.1 (10,000 updates), several for each data set: "
        "the table has one, and the ratio of biases varies by a factor of 20 from model to model. The exact "
        "gradient is enumerated, and the noise of the mean is subtracted from each bias; where a bias is "
        "lost in the noise, the noise stands in its place, so that a ratio is too small if anything."
    ),
    cost={"quick": 0.6, "full": 26.0},
    live_link=on_weights("bas_cd1", "pop_cd:n_chains=32"),
)
