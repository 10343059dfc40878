"""Unbiased CD, figures 4, 10 and 11 and table 3: training on Fashion-MNIST."""

from typing import Any

import numpy as np

from rbmviz.coupling import couple
from rbmviz.datasets import load_dataset
from rbmviz.links import link_to
from rbmviz.registry import trainers
from rbmviz.reproduce.claims import Number, PaperClaim, Part, Size
from rbmviz.reproduce.drawing import Drawing
from rbmviz.reproduce.recipe import Found, Piece, Recipe, Work
from rbmviz.reproduce.run import seeds
from rbmviz.reproduce.tables import dots
from rbmviz.reproduce.trainings import large_training
from rbmviz.trainers import train

KNOBS = "learning_rate=0.1,schedule=constant,batch_size=1000,n_chains=1000"
TRAINERS = {"CD-1": "cd:k=1", "PCD": "pcd:k=1", "CD-30": "cd:k=30", "UCD": "ucd:k=1,t_max=1000"}
FULL_UPDATES = 5000
DATA = {"data": "fashion_mnist", "data_options": {"binarise": "bernoulli"}}
"""Each pixel is drawn with its brightness as its probability."""


def meeting_and_times(
    data: str, data_options: dict[str, Any], knobs: str, updates: int, pairs: int, made: int, seed: int
) -> dict[str, Any]:
    """Train 1,000 hidden units by PCD; return meeting times, rejected proposals, and what updates cost.

    Parameters
    ----------
    data : str
        Name of the data.
    data_options : dict
        How they are read.
    knobs : str
        Those of all trainers.
    updates, pairs, made, seed : int
        Updates of the training, coupled pairs, timed updates of each trainer, and the seed.
    """
    import time

    rows = load_dataset(data, **data_options).train
    *_, start = train(rows, trainers.read(f"pcd:k=1,{knobs}"), 1000, updates, seed, every=updates)
    v0 = rows[np.random.default_rng([seed, updates]).integers(len(rows), size=pairs)]
    found = couple(start.rbm, v0, "rbm", max_sweeps=1000, seed=seed)
    seconds = {}
    for label, text in (("CD-1", "cd:k=1"), ("CD-30", "cd:k=30"), ("UCD", "ucd:k=1,t_max=1000")):
        training = train(
            rows, trainers.read(f"{text},{knobs}"), 1000, made + 1, seed, warm_start=start.rbm, every=1
        )
        next(training)  # compiled, and past what the first update prepares
        begin = time.thread_time()
        for _ in training:
            pass
        seconds[label] = (time.thread_time() - begin) / made
    tau = np.where(found.truncated, 1001, found.tau)
    return {"tau": float(tau.mean()), "rejected": float(found.rejected.mean()), "seconds": seconds}


def work(size: Size) -> list[Work]:
    """Return the work: pairs and times after short trainings by PCD; a full run has the trainings, too."""
    quick = size == "quick"
    given: dict[str, Any] = DATA | {"knobs": KNOBS}
    given |= {"made": 1, "pairs": 200} if quick else {"made": 5, "pairs": 1000}
    lengths = (300,) if quick else (300, 2000)
    found: list[Work] = [
        Piece(f"short-{updates}-{seed}", meeting_and_times, given | {"updates": updates, "seed": seed})
        for updates in lengths
        for seed in seeds(size, quick=3, full=5)
    ]
    if not quick:
        long: dict[str, Any] = DATA | {"n_hidden": 1000, "updates": FULL_UPDATES, "points": 50}
        long |= {"betas": 5000}
        found += [
            Piece(f"{label}-{seed}", large_training, long | {"trainer": f"{text},{KNOBS}", "seed": seed})
            for label, text in TRAINERS.items()
            for seed in range(2)
        ]
    return found


def last_of(found: Found, size: Size) -> list[Any]:
    """Return what was found after the longest of the short trainings."""
    return found.each(f"short-{300 if size == 'quick' else 2000}-")


def numbers(found: Found, size: Size) -> dict[str, Number]:
    """Return meeting times, rejected proposals and ratios of times; in a full run ends and falls."""
    short = last_of(found, size)
    result = {
        "tau": Number.of([one["tau"] for one in short]),
        "rejected": Number.of([one["rejected"] for one in short]),
        "time": Number.of([one["seconds"]["UCD"] / one["seconds"]["CD-30"] for one in short]),
    }
    if size == "full":
        curves = {label: [one["log_likelihood"] for one in found.each(f"{label}-")] for label in TRAINERS}
        pairs = zip(curves["UCD"], curves["CD-1"], strict=True)
        result["end"] = Number.of([one[-1] - other[-1] for one, other in pairs])
        for key, label in (("fall_1", "CD-1"), ("fall_ucd", "UCD"), ("fall_30", "CD-30")):
            result[key] = Number.of([max(one) - one[-1] for one in curves[label]])
    return result


def drawing(found: Found, size: Size) -> Drawing:
    """Return what pairs do and what updates take after the short trainings."""
    rows = []
    lengths = (300,) if size == "quick" else (300, 2000)
    for updates in lengths:
        each = found.each(f"short-{updates}-")
        name = f"{updates:,} updates"
        rows += dots([(name, Number.of([one["tau"] for one in each]))], "pairs", "mean meeting time (sweeps)")
        rejected = Number.of([one["rejected"] for one in each])
        rows += dots([(name, rejected)], "pairs", "rejected proposals a pair")
        for label in ("CD-1", "CD-30", "UCD"):
            seconds = Number.of([one["seconds"][label] for one in each])
            rows += dots([(name, seconds)], label, "processor time of an update (s)")
    return Drawing(rows, "", "", mark="bar")


def ucd_alone(**settings: str) -> str:
    """Return a link to UCD alone on these data."""
    trainer = "ucd:learning_rate=0.1,schedule=constant"
    return link_to("train", (trainer,), train_data="fashion_mnist", hidden=1000, rule="bernoulli", **settings)


RECIPE = Recipe(
    paper="unbiased_cd",
    place=30,
    title="Training on Fashion-MNIST, 1,000 hidden units",
    source="Section 6.3, figure 4; appendix B.3, figures 10 and 11 and table 3",
    claims=(
        PaperClaim(
            "converges",
            "The likelihood of CD falls and that of PCD bounces; UCD rises steadily (figure 4).",
            "CD decreasing, PCD bounces among three paths",
            (
                Part("end", "end, UCD less CD-1 (nats)", at_least=0),
                Part("fall_1", "fall of CD-1 from its maximum (nats)", at_least=1),
                Part("fall_ucd", "fall of UCD from its maximum (nats)", at_most=1),
            ),
        ),
        PaperClaim(
            "cd_30",
            "Thirty sweeps do not help CD (figure 10).",
            "CD-k does not converge even if k is as large as 30",
            (Part("fall_30", "fall of CD-30 from its maximum (nats)", at_least=1),),
            live_link=link_to(
                "train", ("cd:k=30,learning_rate=0.1",), train_data="fashion_mnist", hidden=1000
            ),
        ),
        PaperClaim(
            "tau",
            "Meeting times settle near 27 to 30 sweeps (figure 11).",
            "Gets stable around 30 after 2000 iterations; about 27 on average",
            (Part("tau", "mean meeting time after the training (sweeps)", 20, 40),),
            {"quick": "A quick run has 300 updates, by PCD; the paper's sentence is about more than 2,000."},
            live_link=ucd_alone(),
        ),
        PaperClaim(
            "few_rejected",
            "The rejection step costs little (figure 11, right).",
            "The cost for rejection sampling can be ignored",
            (Part("rejected", "rejected proposals a pair after the training", at_most=2),),
            {"quick": "A quick run has 300 updates, by PCD."},
            live_link=ucd_alone(statistic="rejected_mean"),
        ),
        PaperClaim(
            "times",
            "UCD takes longer than CD-30 (table 3).",
            "Minutes: CD-1 25.63, CD-30 311.89, UCD 494.01: 19 times CD-1, 1.6 times CD-30",
            (Part("time", "time of an update, UCD over CD-30", at_least=1),),
            {"quick": "A quick run times single updates after 300 updates of PCD."},
        ),
    ),
    about=(
        "50,000 training images, each pixel drawn once with its brightness as its probability, 1,000 hidden "
        "units, batches of 1,000 rows, rate 0.1, 1,000 chains. Meeting times (algorithm 3) and the cost of "
        "an update are measured after short trainings by PCD, as UCD itself takes too long: 300 updates in "
        "a quick run, 2,000 in a full one. Only a full run has the trainings of figures 4 and 10, with 5,000 "
        "updates each; by the paper's own times one UCD training takes 494 minutes of 12 cores."
    ),
    cost={"quick": 1.4, "full": 5900.0},
    work=work,
    numbers=numbers,
    drawing=drawing,
    live_link=link_to(
        "train",
        ("cd:learning_rate=0.1", "ucd:learning_rate=0.1,schedule=linear"),
        train_data="fashion_mnist",
        hidden=1000,
        rule="bernoulli",
    ),
    needs=("fashion_mnist",),
)
