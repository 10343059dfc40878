"""Unbiased CD, figure 3 by three yardsticks: training rows, held-out rows, and the paper's average."""

from typing import Any

from papers import trainings
from papers.claims import Bound, Estimate, Size, claim
from papers.drawing import Drawing
from papers.recipe import Measurements, Recipe, Work, on_train, per_seed, seeds
from papers.tables import band, falls, last, paired
from papers.trainings import AVERAGED_ROWS, scored_training
from rbmviz.datasets import load_dataset
from rbmviz.datasets.simulated import truth
from rbmviz.metrics import log_likelihood, monte_carlo_likelihood

TRAINERS = {"CD-1": "cd:k=1", "PCD": "pcd:k=1", "UCD": "ucd:k=1,t_max=100,algorithm=half_step"}
YARDSTICKS = dict(trainings.YARDSTICK_TEXTS)
KNOBS = "learning_rate=0.2,schedule=constant"
LARGE, SMALL = "100 hidden units, 1,000 rows", "12 hidden units, 100 rows"
NARROW, BATCHES = "100 hidden units, narrow start", "100 hidden units, batches of 100 rows"
SCALE = 0.1
"""Standard deviation of all first parameters, as in the authors' program. A narrow start has weights
N(0, 0.01^2) and the biases of the data, as trainings here have it: falls are about twice as large then."""


def of_its_own_truth(seed: int, **arguments: Any) -> dict[str, Any]:
    """Return ``scored_training`` on observations of the true model of this seed: truths are replications."""
    return scored_training(data="simulated", data_options={"seed": seed}, seed=seed, **arguments)


def true_scores(seed: int) -> dict[str, float]:
    """Return the yardsticks of the true model of this seed, the first two of them exact."""
    data, rbm = load_dataset("simulated", seed=seed), truth(seed)
    return {
        "train": log_likelihood(rbm, data.train),
        "held_out": log_likelihood(rbm, data.test),
        "monte_carlo": monte_carlo_likelihood(rbm, data.train[:AVERAGED_ROWS], seed=0),
    }


def work(size: Size) -> list[Work]:
    """Return trainings of a large model from two starts, and of a small one that the exact gradient can train.

    A full run also trains the large one with small batches, by the trainers that diverge.
    """
    updates = 500 if size == "quick" else 5000
    narrow = {"hidden": 100, "rows": 1000, "updates": updates, "points": 10}
    small = narrow | {"hidden": 12, "rows": 100, "updates": updates * 2 // 5}
    large = narrow | {"scale": SCALE}
    settings = [(label, LARGE, large, 1000) for label in TRAINERS]
    settings += [(label, SMALL, small, 100) for label in TRAINERS]
    settings += [(label, BATCHES, large, 100) for label in ("CD-1", "PCD") if size == "full"]
    settings += [(label, NARROW, narrow, 1000) for label in TRAINERS if size == "full"]
    each = seeds(size, quick=3, full=5)
    jobs = per_seed("truth", true_scores, {}, each)
    for label, key, setting, batch in settings:
        trainer = f"{TRAINERS[label]},{KNOBS},batch_size={batch},n_chains=1000"
        jobs += per_seed(f"{label}, {key}", of_its_own_truth, setting | {"trainer": trainer}, each)
    exact = small | {"trainer": f"exact:{KNOBS},batch_size=100"}
    return [*jobs, *per_seed(f"exact, {SMALL}", of_its_own_truth, exact, each)]


def numbers(measured: Measurements, size: Size) -> dict[str, Estimate]:
    result: dict[str, Estimate] = {}
    true = measured.each("truth-")
    for key, setting in (("", LARGE), ("narrow_", NARROW), ("small_", SMALL), ("batches_", BATCHES)):
        for name in YARDSTICKS:
            for label in (*TRAINERS, "exact"):
                if runs := measured.each(f"{label}, {setting}-"):
                    result[f"{key}fall_{name}_{label}"] = Estimate.of(falls(runs, name))
                    result[f"{key}over_truth_{name}_{label}"] = paired(
                        last(runs, name), [scores[name] for scores in true]
                    )
            ucd = last(measured.each(f"UCD, {setting}-"), name)
            for label in ("CD-1", "PCD") if ucd else ():
                result[f"{key}ucd_over_{name}_{label}"] = paired(
                    ucd, last(measured.each(f"{label}, {setting}-"), name)
                )
    return result


def drawing(measured: Measurements, size: Size) -> Drawing:
    rows = []
    for setting in (LARGE, NARROW, SMALL, BATCHES):
        for name, text in YARDSTICKS.items():
            for label in (*TRAINERS, "exact"):
                if runs := measured.each(f"{label}, {setting}-"):
                    curves = [run[name] for run in runs]
                    rows += band(runs[0]["update"], curves, series=label, panel=f"{text}; {setting}")
    return Drawing(rows, "Updates", "log-likelihood (nats a row)")


def _falls(yardstick: str, key: str = "") -> tuple[Bound, ...]:
    text = f"{YARDSTICKS[yardstick]}{', narrow start' * bool(key)} (nats a row)"
    return (
        *(
            Bound(f"{key}fall_{yardstick}_{label}", f"fall of {label} by {text}", at_least=0.5)
            for label in ("CD-1", "PCD")
        ),
        Bound(f"{key}fall_{yardstick}_UCD", f"fall of UCD by {text}", at_most=1),
        *(
            Bound(f"{key}ucd_over_{yardstick}_{label}", f"UCD's end less {label}'s by {text}", at_least=0)
            for label in ("CD-1", "PCD")
        ),
    )


SHORT = {"quick": "A quick run sees the first 500 updates of 5,000 only."}

RECIPE = Recipe(
    paper="unbiased_cd",
    place=25,
    title="A yardstick that punishes",
    source="Section 6.2, figure 3",
    claims=(
        claim(
            "converges",
            "By the paper's likelihood CD and PCD diverge in the end; UCD does not (figure 3).",
            "CD and PCD eventually diverge, whereas UCD follows the typical behavior of SG",
            *_falls("monte_carlo"),
            shortened=SHORT,
        ),
        claim(
            "held_out",
            "The same by the likelihood of held-out rows.",
            "No sentence of the paper, whose likelihood is of the training rows",
            *_falls("held_out"),
            shortened=SHORT,
            variant=True,
        ),
        claim(
            "narrow_start",
            "From a narrow start it is the same, by both.",
            "The start is not stated; the authors' program has N(0, 0.1²)",
            *_falls("monte_carlo", "narrow_"),
            *_falls("held_out", "narrow_"),
            shortened=SHORT,
            variant=True,
        ),
        claim(
            "training_rows",
            "The same by the likelihood of the training rows, estimated by annealed importance sampling.",
            "Approximated by Monte Carlo averages",
            *_falls("train"),
            shortened=SHORT,
            variant=True,
        ),
        claim(
            "memorised",
            "By the training rows CD and PCD end above the true model: they have memorised rows.",
            "No sentence of the paper",
            *(
                Bound(
                    f"over_truth_train_{label}",
                    f"{label} less the true model by training rows (nats a row)",
                    at_least=0,
                )
                for label in ("CD-1", "PCD")
            ),
            shortened=SHORT,
            variant=True,
        ),
        claim(
            "exact_gradient",
            "The exact gradient, which has no bias, falls by held-out rows, too (12 hidden units, 100 rows).",
            "No sentence of the paper, which explains the fall by the bias of CD",
            Bound(
                "small_fall_held_out_exact",
                "fall of the exact gradient by held-out rows (nats a row)",
                at_least=0.5,
            ),
            Bound(
                "small_fall_train_exact",
                "fall of the exact gradient by training rows (nats a row)",
                at_most=0.5,
            ),
            shortened=SHORT,
            variant=True,
        ),
        claim(
            "batches",
            "With batches of 100 of the 1,000 rows CD and PCD fall as well.",
            "The size of the batches is not stated",
            *(
                Bound(
                    f"batches_fall_{yardstick}_{label}",
                    f"fall of {label}, batches of 100, by {YARDSTICKS[yardstick]} (nats a row)",
                    at_least=0.5,
                )
                for yardstick in ("monte_carlo", "held_out")
                for label in ("CD-1", "PCD")
            ),
            variant=True,
        ),
    ),
    about=(
        "1,000 observations of a random model with 200 visible and 20 hidden units, all parameters N(0, 1); "
        "100 hidden units, rate 0.2, 1,000 chains, batches of all rows (a full run has also batches of 100), "
        "5,000 updates; UCD with the "
        "half-step coupling of the authors' program. Each model is scored three times: by the likelihood of "
        "the training rows and of 1,000 held-out rows, both from annealed importance sampling (64 chains, "
        "1,000 temperatures), and by the average that the authors' program computes: for each of the first "
        "100 training rows 100 chains that start at the row, 10 sweeps. The logarithm of a mean of few terms "
        "is too low for a model that has memorised the rows. The exact gradient trains 12 hidden units on "
        "100 rows for 2,000 updates, beside the other trainers; there likelihoods are exact."
    ),
    cost={"quick": 2.0, "full": 25.0},
    live_link=on_train(
        "simulated",
        "cd:learning_rate=0.2,n_chains=1000",
        "pcd:learning_rate=0.2,schedule=constant,n_chains=1000",
        "ucd:algorithm=half_step,learning_rate=0.2,schedule=constant,n_chains=1000",
        hidden=100,
    ),
)
