"""Unbiased CD, figure 3 on five true models, each by three yardsticks."""

from typing import Any

from papers import trainings
from papers.claims import Bound, Estimate, Size, claim
from papers.drawing import Drawing
from papers.recipe import Measurements, Recipe, Work, on_train, per_seed, seeds
from papers.tables import band, falls, late, paired
from papers.trainings import AVERAGED_ROWS, scored_training
from rbmviz.datasets import load_dataset
from rbmviz.datasets.simulated import truth
from rbmviz.metrics import log_likelihood, monte_carlo_likelihood

TRAINERS = {"CD-1": "cd:k=1", "PCD": "pcd:k=1", "UCD": "ucd:k=1,t_max=100,algorithm=half_step"}
YARDSTICKS = dict(trainings.YARDSTICK_TEXTS)
KNOBS = "learning_rate=0.2,schedule=constant,batch_size=1000,n_chains=1000"
SCALE = 0.1
"""Standard deviation of all first parameters, as in the authors' program."""


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
    """Return the true models, and the trainings on the data of each."""
    updates, each = 500 if size == "quick" else 5000, seeds(size, quick=3, full=5)
    arguments = {"hidden": 100, "rows": 1000, "updates": updates, "points": 10, "scale": SCALE}
    jobs = per_seed("truth", true_scores, {}, each)
    for label, text in TRAINERS.items():
        jobs += per_seed(label, of_its_own_truth, arguments | {"trainer": f"{text},{KNOBS}"}, each)
    return jobs


def numbers(measured: Measurements, size: Size) -> dict[str, Estimate]:
    result: dict[str, Estimate] = {}
    runs = {label: measured.each(f"{label}-") for label in TRAINERS}
    for name in YARDSTICKS:
        ends = {label: late(each, name) for label, each in runs.items()}
        true = [scores[name] for scores in measured.each("truth-")]
        for label, each in runs.items():
            result[f"fall_{name}_{label}"] = Estimate.of(falls(each, name))
            result[f"over_truth_{name}_{label}"] = paired(ends[label], true)
            if label != "UCD":
                result[f"ucd_over_{name}_{label}"] = paired(ends["UCD"], ends[label])
    return result


def drawing(measured: Measurements, size: Size) -> Drawing:
    rows = []
    for name, text in YARDSTICKS.items():
        for label in TRAINERS:
            runs = measured.each(f"{label}-")
            rows += band(runs[0]["update"], [run[name] for run in runs], series=label, panel=text)
    return Drawing(rows, "Updates", "log-likelihood (nats a row)")


def falls_by(yardstick: str) -> tuple[Bound, ...]:
    """Return the bounds of falls and leads by a yardstick."""
    text = f"by {YARDSTICKS[yardstick]} (nats a row)"
    return (
        *(
            Bound(f"fall_{yardstick}_{label}", f"fall of {label} {text}", at_least=0.5)
            for label in ("CD-1", "PCD")
        ),
        Bound(f"fall_{yardstick}_UCD", f"fall of UCD {text}", at_most=1),
        *(
            Bound(f"ucd_over_{yardstick}_{label}", f"UCD's end less {label}'s {text}", at_least=0)
            for label in ("CD-1", "PCD")
        ),
    )


SHORT = {"quick": "A quick run sees the first 500 updates of 5,000 only."}

HELD_OUT = claim(
    "held_out",
    "The same by the likelihood of held-out rows.",
    "No sentence of the paper, whose likelihood is of the training rows",
    *falls_by("held_out"),
    shortened=SHORT,
    variant=True,
)

MEMORISED = claim(
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
)

RECIPE = Recipe(
    paper="unbiased_cd",
    place=24,
    title="Five true models",
    source="Section 6.2, figure 3",
    claims=(
        claim(
            "converges",
            "By the paper's likelihood CD and PCD diverge in the end; UCD does not (figure 3).",
            "CD and PCD eventually diverge, whereas UCD follows the typical behavior of SG",
            *falls_by("monte_carlo"),
            shortened=SHORT,
        ),
        HELD_OUT,
        MEMORISED,
    ),
    about=(
        "*A yardstick that punishes* on five true models, one training of each kind on the data of each, so "
        "that truths are replications: three seeds on one truth share its hidden states, of which one may "
        "have nearly all of the mass. All first parameters are N(0, 0.1²), as in the authors' program; the "
        "paper does not state them, and they decide how far CD and PCD fall. 1,000 observations, 100 hidden "
        "units, rate 0.2, batches of all rows, 1,000 chains, 5,000 updates; UCD with the coupling of the "
        "authors' program."
    ),
    cost={"quick": 2.0, "full": 12.0},
    live_link=on_train(
        "simulated@1",
        "cd:learning_rate=0.2,n_chains=1000",
        "pcd:learning_rate=0.2,schedule=constant,n_chains=1000",
        "ucd:algorithm=half_step,learning_rate=0.2,schedule=constant,n_chains=1000",
        hidden=100,
    ),
)
