"""Population CD, table 1, rows with 100 and 500 hidden units, where pop-CD loses."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from papers.claims import Bound, Estimate, Size, claim
from papers.drawing import Drawing
from papers.drawing import Row as DrawnRow
from papers.recipe import Measurements, Recipe, Work, on_weights, per_seed, seeds
from papers.recipes.population_cd_bias_variance import of_models, printed_bound, variance_bounds
from papers.tables import dots
from papers.trainings import estimator_biases


class Row(NamedTuple):
    """A row of the table: model, updates by size, and the paper's biases and variances (CD, pop-CD) by k."""

    n_hidden: int
    batch: int
    rate: float
    updates: dict[Size, int]
    paper: dict[int, tuple[float, float]]
    printed_variance: dict[int, tuple[float, float]]


ROWS = {
    "letters": Row(
        n_hidden=100,
        batch=246,
        rate=0.1,
        updates={"quick": 10_000, "medium": 10_000, "full": 100_000},
        paper={1: (0.00321983, 0.0133755), 10: (0.00297003, 0.00942309)},
        printed_variance={1: (7.72345e-05, 0.0115259), 10: (0.000186199, 0.0128639)},
    ),
    "mnist": Row(
        n_hidden=500,
        batch=500,
        rate=0.01,
        updates={"quick": 1500, "medium": 15_000, "full": 15_000},
        paper={1: (0.00756879, 0.00974112), 10: (0.00670447, 0.00289032)},
        printed_variance={1: (2.98891e-05, 0.00581998), 10: (6.47712e-05, 0.0059567)},
    ),
}


def work(size: Size) -> list[Work]:
    """Return models of both data sets, each with its own long parallel tempering."""
    jobs: list[Work] = []
    for data, row in ROWS.items():
        arguments = {"data": data, "n_hidden": row.n_hidden, "batch": row.batch, "rate": row.rate}
        arguments |= {"updates": row.updates[size], "replications": 20_000 if size == "full" else 100}
        tempering = {"quick": (10_000, 500), "medium": (20_000, 500), "full": (200_000, 5000)}[size]
        arguments |= dict(zip(("samples", "burn_in"), tempering, strict=True))
        each = seeds(
            size, quick=8 if data == "letters" else 4, medium=24 if data == "letters" else 6, full=12
        )
        jobs += per_seed(data, estimator_biases, arguments, each)
    return jobs


def ratios(measured: Measurements, data: str, k: int) -> Estimate:
    """Return log10 of CD's bias over pop-CD's, averaged over models; NaN if a bias is not resolved."""

    def log_ratio(run: Mapping[str, Any]) -> float:
        cd, pop = run[f"cd-{k}"], run[f"pop_cd-{k}"]
        resolved = cd["resolved"] and pop["resolved"]
        return float(np.log10(cd["bias_corrected"] / pop["bias_corrected"])) if resolved else np.nan

    return measured.mean(f"{data}-", log_ratio)


def sweeps_over_one(run: Mapping[str, Any]) -> float:
    """Return log10 of pop-CD's bias with ten sweeps over that with one; NaN if one is not resolved."""
    one, ten = run["pop_cd-1"], run["pop_cd-10"]
    resolved = one["resolved"] and ten["resolved"]
    return float(np.log10(ten["bias_corrected"] / one["bias_corrected"])) if resolved else np.nan


def variances(measured: Measurements, data: str, k: int) -> list[float]:
    """Return log10 of CD's variance over pop-CD's by model."""
    each = measured.each(f"{data}-")
    return [float(np.log10(run[f"cd-{k}"]["variance"] / run[f"pop_cd-{k}"]["variance"])) for run in each]


def numbers(measured: Measurements, size: Size) -> dict[str, Estimate]:
    result = {}
    for data, row in ROWS.items():
        for k in (1, 10):
            result[f"{data}_{k}"] = ratios(measured, data, k)
            result[f"{data}_{k}_variance"] = Estimate.of(variances(measured, data, k))
        result[f"{data}_sweeps"] = measured.mean(f"{data}-", sweeps_over_one)
        biases = [run["cd-1"]["bias_corrected"] for run in measured.each(f"{data}-")]
        logs = [float(np.log10(max(bias, 1e-12) / row.paper[1][0])) for bias in biases]
        result[f"{data}_1_printed"] = Estimate.of(logs)
    return result


def drawing(measured: Measurements, size: Size) -> Drawing:
    rows: list[DrawnRow] = []
    for data, row in ROWS.items():
        panel = f"{data}, {row.n_hidden} hidden units: log10 of the squared bias per parameter"
        each = measured.each(f"{data}-")
        for k in (1, 10):
            for label, key, printed in (("CD", "cd", row.paper[k][0]), ("pop-CD", "pop_cd", row.paper[k][1])):
                name = f"{label}, k = {k}"
                logs = np.log10([max(run[f"{key}-{k}"]["bias_corrected"], 1e-12) for run in each])
                rows += dots([(name, Estimate.of(logs))], "measured", panel)
                rows.append({"x": name, "y": float(np.log10(printed)), "series": "paper", "panel": panel})
                error = Estimate.of(np.log10([run[f"{key}-{k}"]["reference_error"] for run in each]))
                rows += dots([(name, error)], "squared error of the reference", panel)
            cd, pop = row.printed_variance[k]
            each_ratio = variances(measured, data, k)
            rows += of_models(f"{data}, k = {k}", each_ratio, float(np.log10(cd / pop)), "log10 of variance")
    return Drawing(rows, "", "", mark="point")


SHORT = {
    "medium": "A medium run trains a tenth of the paper's updates on Letters, and its tempering has a tenth "
    "of the samples.",
    "quick": "A quick run trains a tenth of the paper's updates, and its tempering has a twentieth of the "
    "paper's samples; what it says of the paper's models is an extrapolation.",
}

RECIPE = Recipe(
    paper="population_cd",
    place=50,
    title="Bias and variance of gradient estimates, larger models",
    source="Section 4.2, table 1, rows with 100 and 500 hidden units",
    claims=(
        claim(
            "letters_100",
            "On Letters with 100 hidden units the bias of pop-CD is larger than that of CD.",
            "1.34e-2 against 3.2e-3 (k = 1); 9.4e-3 against 3.0e-3 (k = 10)",
            Bound("letters_1", "log10 of bias, CD over pop-CD, letters, 100 hidden, k = 1", at_most=0),
            Bound("letters_10", "log10 of bias, CD over pop-CD, letters, 100 hidden, k = 10", at_most=0),
            shortened=SHORT,
        ),
        claim(
            "mnist_500",
            "On MNIST with 500 hidden units it is larger at k = 1, and smaller at k = 10.",
            "9.7e-3 against 7.6e-3 (k = 1); 2.9e-3 against 6.7e-3 (k = 10)",
            Bound("mnist_1", "log10 of bias, CD over pop-CD, MNIST, 500 hidden, k = 1", at_most=0),
            Bound("mnist_10", "log10 of bias, CD over pop-CD, MNIST, 500 hidden, k = 10", at_least=0),
            shortened=SHORT,
            live_link=on_weights("mnist_cd1", "pop_cd:n_chains=500", "pop_cd:k=10,n_chains=500"),
        ),
        claim(
            "more_sweeps",
            "More sweeps help pop-CD on larger models: its bias is smaller.",
            "More steps of Gibbs-sampling help when using pop-CD for larger models (table 1: 0.70 and 0.30 "
            "times)",
            *(
                Bound(f"{data}_sweeps", f"log10 of pop-CD's bias, k = 10 over k = 1, {data}", at_most=0)
                for data in ROWS
            ),
            shortened=SHORT,
        ),
        claim(
            "variance_large",
            "Its variance is larger on both, by two orders of magnitude.",
            "Letters 149 times (k = 1) and 69 times (k = 10); MNIST 195 times and 92 times",
            *variance_bounds("letters"),
            *variance_bounds("mnist"),
            shortened=SHORT,
        ),
        claim(
            "printed_large",
            "The bias of CD itself is as printed.",
            "Letters 3.22e-3 (k = 1), MNIST 7.57e-3",
            *(printed_bound(data) for data in ROWS),
            shortened=SHORT,
        ),
    ),
    about=(
        "Such models cannot be enumerated. The reference is parallel tempering: ten independent ladders of "
        "100 temperatures, whose spread is its error (the paper: one ladder of 100, 50,000 sweeps of "
        "burn-in, 200,000 samples). That error is subtracted from each bias; a bias below it is not "
        "resolved, and the ratio is then unknown. CD-1 trains the models: Letters at the rate 0.1 with 10^5 "
        "updates in a full run and 10^4 in shorter ones, MNIST at 0.01 with 15,000, in a quick one 1,500."
    ),
    cost={"quick": 7.5, "medium": 20.0, "full": 700.0},
    live_link=on_weights("letters_fpcd", "pop_cd:n_chains=100"),
    needs=("letters", "mnist"),
)
