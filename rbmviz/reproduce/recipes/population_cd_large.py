"""Population CD, figure 3: training of larger models, where pop-CD loses its advantage."""

from typing import Any

import numpy as np

from rbmviz.links import link_to
from rbmviz.reproduce.claims import Number, PaperClaim, Part, Size
from rbmviz.reproduce.drawing import Drawing
from rbmviz.reproduce.recipe import Found, Piece, Recipe, Work
from rbmviz.reproduce.run import seeds
from rbmviz.reproduce.trainings import large_training

TRAINERS = {"CD-1": "cd:k=1", "CD-10": "cd:k=10", "pop-CD-1": "pop_cd:k=1", "pop-CD-10": "pop_cd:k=10"}
QUICK = ("CD-1", "pop-CD-1")
HIDDEN = {"letters": 100, "mnist": 500}
BATCH = {"letters": 246, "mnist": 500}
RATE: dict[str, dict[Size, float]] = {
    "letters": {"quick": 0.1, "full": 0.1},
    "mnist": {"quick": 0.1, "full": 0.01},
}
UPDATES: dict[str, dict[Size, int]] = {
    "letters": {"quick": 10_000, "full": 100_000},
    "mnist": {"quick": 1000, "full": 10_000},
}


def work(size: Size) -> list[Work]:
    """Return the work: a quick run has CD-1 and pop-CD-1 alone, and larger steps on MNIST."""
    quick = size == "quick"
    found: list[Work] = []
    for data in HIDDEN:
        given: dict[str, Any] = {"data": data, "n_hidden": HIDDEN[data], "updates": UPDATES[data][size]}
        given |= {"points": 8, "betas": 500} if quick else {"points": 50, "betas": 5000}
        knobs = f"learning_rate={RATE[data][size]:g},schedule=constant,batch_size={BATCH[data]}"
        for seed in seeds(size, quick=4 if data == "letters" else 3, full=10):
            for label in QUICK if quick else TRAINERS:
                trainer = f"{TRAINERS[label]},{knobs}"
                piece = given | {"trainer": trainer, "seed": seed}
                found.append(Piece(f"{data}-{label}-{seed}", large_training, piece))
    return found


def ends(found: Found, data: str, label: str) -> list[float]:
    """Return the last log-likelihood of each training."""
    return [one["log_likelihood"][-1] for one in found.each(f"{data}-{label}-")]


def falls(found: Found, data: str, label: str) -> list[float]:
    """Return how far each training ends below its maximum."""
    each = found.each(f"{data}-{label}-")
    return [max(one["log_likelihood"]) - one["log_likelihood"][-1] for one in each]


def less(one: list[float], other: list[float]) -> Number:
    """Return the mean of the paired differences."""
    return Number.of([a - b for a, b in zip(one, other, strict=True)])


def numbers(found: Found, size: Size) -> dict[str, Number]:
    """Return differences at the end, and falls."""
    result = {"letters": less(ends(found, "letters", "CD-1"), ends(found, "letters", "pop-CD-1"))}
    if size == "full":
        end = ends(found, "letters", "CD-10")
        result["letters_10"] = less(end, ends(found, "letters", "pop-CD-10"))
    fall = falls(found, "mnist", "CD-1")
    return result | {"fall": Number.of(fall), "mnist": less(fall, falls(found, "mnist", "pop-CD-1"))}


def drawing(found: Found, size: Size) -> Drawing:
    """Return the curves."""
    rows = []
    for data in HIDDEN:
        panel = f"{data}, {HIDDEN[data]} hidden units, rate {RATE[data][size]:g}"
        for label in TRAINERS:
            runs = found.each(f"{data}-{label}-")
            for i, update in enumerate(runs[0]["update"] if runs else ()):
                values = [one["log_likelihood"][i] for one in runs]
                row = {"x": update, "y": float(np.mean(values)), "low": min(values), "high": max(values)}
                rows.append({**row, "series": label, "panel": panel})
    return Drawing(rows, "Updates", "Log-likelihood (AIS, nats a row)")


RECIPE = Recipe(
    paper="population_cd",
    place=30,
    title="Training of larger models",
    source="Section 4.2, figure 3",
    claims=(
        PaperClaim(
            "letters_100",
            "On Letters with 100 hidden units CD is better than pop-CD.",
            "CD-1 and CD-10 performed better than pop-CD-1 and pop-CD-10 (10 trials)",
            (
                Part("letters", "end, CD-1 less pop-CD-1, Letters, 100 hidden (nats)", at_least=0),
                Part("letters_10", "end, CD-10 less pop-CD-10, Letters, 100 hidden (nats)", at_least=0),
            ),
        ),
        PaperClaim(
            "mnist_500",
            "On MNIST with 500 hidden units CD diverges, and pop-CD less so.",
            "All algorithms diverge in the long run, divergence was less pronounced for pop-CD (one trial)",
            (
                Part("fall", "fall of CD-1 from its maximum, MNIST, 500 hidden (nats)", at_least=1),
                Part("mnist", "fall of CD-1 less that of pop-CD-1, MNIST, 500 hidden (nats)", at_least=1),
            ),
            {
                "quick": "A quick run has a tenth of the paper's updates at ten times its rate: what it says "
                "of the paper's setting is an extrapolation."
            },
            live_link=link_to(
                "train",
                ("cd:learning_rate=0.1,batch_size=500", "pop_cd:learning_rate=0.1,batch_size=500"),
                train_data="mnist",
                hidden=500,
            ),
        ),
    ),
    about=(
        "Log-likelihood of the first 2,000 training rows by annealed importance sampling with 64 chains (the "
        "paper: 512 chains and 50,000 temperatures). The paper trains for 10^5 updates at the rate 0.1 and "
        "10^6 at 0.01 (Letters), 10^4 at 0.01 and 10^5 at 0.001 (MNIST). A full run has the first of each; a "
        "quick one 10^4 updates of Letters, and on MNIST 10^3 updates at the rate 0.1."
    ),
    cost={"quick": 6.0, "full": 1500.0},
    work=work,
    numbers=numbers,
    drawing=drawing,
    live_link=link_to(
        "train", ("cd:learning_rate=0.1", "pop_cd:learning_rate=0.1"), train_data="letters", hidden=100
    ),
    needs=("letters", "mnist"),
)
