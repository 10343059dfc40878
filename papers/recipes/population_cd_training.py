"""Population CD, figure 1: training curves on Bars and Stripes and on Artificial Modes."""

import numpy as np

from papers.claims import Bound, Estimate, Size, claim
from papers.drawing import Drawing
from papers.recipe import Measurements, Recipe, Work, on_train, seeds, sweep
from papers.tables import by_seed, curve, difference, where
from rbmviz.metrics.numbers import LIKELIHOOD
from rbmviz.sweeps import Axis, Budget

TRAINERS = {
    "CD-1": "cd:k=1",
    "CD-10": "cd:k=10",
    "PCD": "pcd:k=1",
    "pop-CD-1": "pop_cd:k=1",
    "pop-CD-10": "pop_cd:k=10",
    "PT-10": "pt:n_temperatures=10",
}
BATCH = {"bas": 32, "modes": 500}
UPDATES = {
    "bas": {"quick": 10_000, "full": 50_000},
    "modes": {"quick": 3000, "full": 10_000},
}
RATES = (0.1, 0.01)


def setting(label: str, data: str) -> str:
    """Return the trainer of a curve, with one chain per row of the batch."""
    persistent = label.startswith("P")
    chains = f",n_chains={BATCH[data]}" if persistent else ""
    return f"{TRAINERS[label]},schedule=constant,batch_size={BATCH[data]}{chains}"


def work(size: Size) -> list[Work]:
    """Return six trainers at two rates on two data sets."""
    return [
        sweep(
            data,
            kind="trainer",
            algorithms=tuple(setting(label, data) for label in TRAINERS),
            axes=(Axis("learning_rate", RATES if size == "full" else RATES[:1]),),
            data=data,
            seeds=seeds(size, quick=5, full=5),
            budget=Budget("updates", UPDATES[data][size]),
            metrics=("log_likelihood",),
        )
        for data in BATCH
    ]


def rows_of(measured: Measurements, label: str, data: str, rate: float) -> dict[str, np.ndarray]:
    """Return the rows of a curve."""
    name, _, knobs = TRAINERS[label].partition(":")
    knob, value = knobs.split("=")
    return where(
        measured.tables[data], algorithm=name, knob_learning_rate=rate, **{f"knob_{knob}": float(value)}
    )


def ends(measured: Measurements, label: str, data: str, rate: float) -> dict[int, float]:
    """Return the final log-likelihood by seed."""
    rows = rows_of(measured, label, data, rate)
    return by_seed(rows, "log_likelihood", float(rows["n"].max()))


def fall(measured: Measurements, label: str, data: str, rate: float) -> Estimate:
    """Return how far the last tenth of the curves is below the point where their mean is highest."""
    rows = rows_of(measured, label, data, rate)
    each = [rows["log_likelihood"][rows["seed"] == seed] for seed in np.unique(rows["seed"])]
    updates = rows["n"][rows["seed"] == rows["seed"][0]]
    highest = np.mean(each, axis=0).argmax()
    return Estimate.of([curve[highest] - curve[updates >= 0.9 * updates.max()].mean() for curve in each])


def numbers(measured: Measurements, size: Size) -> dict[str, Estimate]:
    result = {}
    for data in BATCH:
        for rate in RATES if size == "full" else RATES[:1]:
            key = f"{data}_{rate:g}"
            pop = ends(measured, "pop-CD-1", data, rate)
            for label in ("CD-1", "CD-10", "PT-10", "pop-CD-10"):
                result[f"{key}_{label}"] = difference(pop, ends(measured, label, data, rate))
            for label in ("CD-1", "PCD", "pop-CD-1"):
                result[f"{key}_fall_{label}"] = fall(measured, label, data, rate)
    return result


def drawing(measured: Measurements, size: Size) -> Drawing:
    rows = []
    for data in BATCH:
        for rate in RATES if size == "full" else RATES[:1]:
            for label in TRAINERS:
                panel = f"{data}, rate {rate:g}"
                rows += curve(rows_of(measured, label, data, rate), "log_likelihood", label, panel, least=30)
    return Drawing(rows, "Updates", LIKELIHOOD.titled(unit="nats a row"), log_x=True)


def each(data: str, rate: float, words: str) -> tuple[Bound, ...]:
    """Return the bounds of "pop-CD-1 ends above CD" for one panel of the figure."""
    key = f"{data}_{rate:g}"
    return (
        Bound(f"{key}_CD-1", f"end, pop-CD-1 less CD-1, {words}, rate {rate:g} (nats)", at_least=0),
        Bound(f"{key}_CD-10", f"end, pop-CD-1 less CD-10, {words}, rate {rate:g} (nats)", at_least=0),
    )


FALLS = {"CD-1": {"at_least": 0.1}, "PCD": {"at_least": 0.1}, "pop-CD-1": {"at_most": 0.1}}
PLOTS = (("bas", 0.1, "BAS"), ("modes", 0.1, "Modes"), ("bas", 0.01, "BAS"), ("modes", 0.01, "Modes"))

SHORT = {"quick": "A quick run has a fifth (Modes: a third) of the paper's updates."}

RECIPE = Recipe(
    paper="population_cd",
    place=10,
    title="Training on Bars and Stripes and Artificial Modes",
    source="Section 4.2, figure 1",
    claims=(
        claim(
            "outperforms",
            "Pop-CD reaches significantly higher likelihoods than CD-1 and CD-10.",
            "Pop-CD-1 as well as pop-CD-10 outperformed CD-1 and CD-10 (means of 25 trials)",
            *(bound for panel in PLOTS for bound in each(*panel)),
            shortened=SHORT,
        ),
        claim(
            "no_divergence",
            "CD and PCD diverge, pop-CD does not.",
            "While CD and PCD diverged, pop-CD did not show any sign of divergence",
            *(
                Bound(f"{data}_{rate:g}_fall_{label}", f"fall, {label}, {words}, {rate:g} (nats)", **limit)
                for data, rate, words in PLOTS
                for label, limit in FALLS.items()
            ),
            shortened=SHORT,
        ),
        claim(
            "k_does_not_matter",
            "One sweep is almost as good as ten for pop-CD.",
            "Almost the same performance; the two variants cannot be distinguished in the figure",
            *(
                Bound(
                    f"{data}_{rate:g}_pop-CD-10", f"end, k = 1 less 10, {words}, {rate:g} (nats)", -0.1, 0.1
                )
                for data, rate, words in PLOTS
            ),
            shortened=SHORT,
            live_link=on_train("bas", *(f"pop_cd:k={k},learning_rate=0.1,batch_size=32" for k in (1, 10))),
        ),
        claim(
            "on_a_par_with_pt",
            "Pop-CD-1 is on a par with or better than parallel tempering with 10 replicas.",
            "On a par or better than the computationally more expensive PT-10",
            *(
                Bound(
                    f"{data}_{rate:g}_PT-10", f"pop-CD-1 less PT-10, {words}, {rate:g} (nats)", at_least=-0.05
                )
                for data, rate, words in PLOTS
            ),
            shortened=SHORT,
            live_link=on_train(
                "bas",
                "pop_cd:learning_rate=0.1,batch_size=32",
                "pt:learning_rate=0.1,schedule=constant,batch_size=32,n_chains=32",
            ),
        ),
    ),
    about=(
        "16 hidden units, constant rates, exact log-likelihood of the training rows; batches of 32 and 500 "
        "rows and as many chains. A quick run has 5 seeds at the rate 0.1 and 10,000 (Bars and Stripes) and "
        "3,000 updates (Modes); a full one both rates and the paper's 50,000 and 10,000. The paper has 25 "
        "trials; five seeds leave intervals that are narrow beside most of its differences. A fall is that "
        "of the mean of all seeds, from its highest point to its last tenth."
    ),
    cost={"quick": 3.2, "full": 13.0},
    live_link=on_train(
        "bas", "cd:learning_rate=0.1", "pcd:learning_rate=0.1,schedule=constant", "pop_cd:learning_rate=0.1"
    ),
)
