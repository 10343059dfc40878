"""Unbiased CD, figures 4, 10 and 11 and table 3: training on Fashion-MNIST."""

from typing import Any

import numpy as np

from rbmviz.coupling import couple
from rbmviz.datasets import load_dataset
from rbmviz.pages import link_to
from rbmviz.registry import trainers
from rbmviz.reproduce.claims import Bound, Estimate, Size, claim
from rbmviz.reproduce.drawing import Drawing
from rbmviz.reproduce.recipe import Measurements, Recipe, Work, per_seed, seeds
from rbmviz.reproduce.tables import dots, falls, last, paired
from rbmviz.reproduce.trainings import TAU_OFFSET, large_training
from rbmviz.trainers import train

KNOBS = "learning_rate=0.1,schedule=constant,batch_size=1000,n_chains=1000"
TRAINERS = {"CD-1": "cd:k=1", "PCD": "pcd:k=1", "CD-30": "cd:k=30", "UCD": "ucd:k=1,t_max=1000"}
FULL_UPDATES = 5000
DATA = {"data": "fashion_mnist", "data_options": {"binarise": "bernoulli"}}
"""Each pixel is 1 with its brightness as probability."""


def meeting_and_times(
    data: str, data_options: dict[str, Any], knobs: str, updates: int, pairs: int, timed: int, seed: int
) -> dict[str, Any]:
    """Train 1,000 hidden units by PCD; return meeting times, rejected proposals, and seconds per update.

    knobs: of all trainers; pairs: coupled pairs; timed: timed updates of each trainer.
    """
    import time

    rows = load_dataset(data, **data_options).train
    *_, start = train(rows, trainers.read(f"pcd:k=1,{knobs}"), 1000, updates, seed, every=updates)
    v0 = rows[np.random.default_rng([seed, updates]).integers(len(rows), size=pairs)]
    coupled = couple(start.rbm, v0, "rbm", max_sweeps=1000, seed=seed)
    seconds = {}
    for label, text in (("CD-1", "cd:k=1"), ("CD-30", "cd:k=30"), ("UCD", "ucd:k=1,t_max=1000")):
        training = train(
            rows, trainers.read(f"{text},{knobs}"), 1000, timed + 1, seed, warm_start=start.rbm, every=1
        )
        next(training)  # compiled, and past the preparations of the first update
        begin = time.thread_time()
        for _ in training:
            pass
        seconds[label] = (time.thread_time() - begin) / timed
    tau = np.where(coupled.truncated, 1001, coupled.tau)
    return {"tau": float(tau.mean()), "rejected": float(coupled.rejected.mean()), "seconds": seconds}


def lengths(size: Size) -> tuple[int, ...]:
    """Return the updates of the short trainings."""
    return (300,) if size == "quick" else (300, 2000)


def work(size: Size) -> list[Work]:
    """Return pairs and times after short trainings by PCD; a full run also has the long trainings."""
    quick = size == "quick"
    arguments: dict[str, Any] = DATA | {"knobs": KNOBS}
    arguments |= {"timed": 1, "pairs": 200} if quick else {"timed": 5, "pairs": 1000}
    jobs: list[Work] = []
    for updates in lengths(size):
        each = seeds(size, quick=3, medium=3, full=5)
        jobs += per_seed(f"short-{updates}", meeting_and_times, arguments | {"updates": updates}, each)
    for label, text in TRAINERS.items() if size == "full" else ():
        long: dict[str, Any] = DATA | {"n_hidden": 1000, "updates": FULL_UPDATES, "points": 50}
        long |= {"betas": 5000, "trainer": f"{text},{KNOBS}"}
        jobs += per_seed(label, large_training, long, range(3))
    return jobs


def numbers(measured: Measurements, size: Size) -> dict[str, Estimate]:
    short = f"short-{lengths(size)[-1]}-"  # the longest of the short trainings
    result = {
        "tau": measured.mean(short, lambda run: run["tau"] - TAU_OFFSET),
        "rejected": measured.mean(short, "rejected"),
        "time": measured.mean(short, lambda run: run["seconds"]["UCD"] / run["seconds"]["CD-30"]),
    }
    if size == "full":
        result["end"] = paired(last(measured.each("UCD-")), last(measured.each("CD-1-")))
        for key, label in (("fall_1", "CD-1"), ("fall_ucd", "UCD"), ("fall_30", "CD-30")):
            result[key] = Estimate.of(falls(measured.each(f"{label}-")))
    return result


def drawing(measured: Measurements, size: Size) -> Drawing:
    rows = []
    for updates in lengths(size):
        short, name = f"short-{updates}-", f"{updates:,} updates"
        rows += dots([(name, measured.mean(short, "tau"))], "pairs", "mean of min(τ, 1,001) (sweeps)")
        rows += dots([(name, measured.mean(short, "rejected"))], "pairs", "rejected proposals a pair")
        for label in ("CD-1", "CD-30", "UCD"):
            seconds = Estimate.of([run["seconds"][label] for run in measured.each(short)])
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
        claim(
            "converges",
            "The likelihood of CD falls and that of PCD bounces; UCD rises steadily (figure 4).",
            "CD decreasing, PCD bounces among three paths",
            Bound("end", "end, UCD less CD-1 (nats)", at_least=0),
            Bound("fall_1", "fall of CD-1 from its maximum (nats)", at_least=1),
            Bound("fall_ucd", "fall of UCD from its maximum (nats)", at_most=1),
        ),
        claim(
            "cd_30",
            "Thirty sweeps do not help CD (figure 10).",
            "CD-k does not converge even if k is as large as 30",
            Bound("fall_30", "fall of CD-30 from its maximum (nats)", at_least=1),
            live_link=link_to(
                "train", ("cd:k=30,learning_rate=0.1",), train_data="fashion_mnist", hidden=1000
            ),
        ),
        claim(
            "tau",
            "Meeting times settle near 27 to 30 sweeps (figure 11).",
            "Gets stable around 30 after 2000 iterations; about 27 on average",
            Bound("tau", "mean of min(τ, 1,001) − 1 after the training (sweeps)", 20, 40),
            shortened={
                "quick": "A quick run has 300 updates, by PCD; the paper's sentence is about more than 2,000."
            },
            live_link=ucd_alone(),
        ),
        claim(
            "few_rejected",
            "The rejection step costs little (figure 11, right).",
            "The cost for rejection sampling can be ignored",
            Bound("rejected", "rejected proposals a pair after the training", at_most=2),
            shortened={"quick": "A quick run has 300 updates, by PCD."},
            live_link=ucd_alone(statistic="rejected_mean"),
        ),
        claim(
            "times",
            "UCD takes longer than CD-30 (table 3).",
            "Minutes: CD-1 25.63, CD-30 311.89, UCD 494.01: 19 times CD-1, 1.6 times CD-30",
            Bound("time", "time of an update, UCD over CD-30", at_least=1),
            shortened={"quick": "A quick run times single updates after 300 updates of PCD."},
        ),
    ),
    about=(
        "50,000 training images, each pixel drawn once with its brightness as its probability, 1,000 hidden "
        "units, batches of 1,000 rows, rate 0.1, 1,000 chains. Meeting times (algorithm 3, in the paper's "
        "count, which starts at 1) and the cost of an update are measured after short trainings by PCD, as "
        "UCD itself takes too long: 300 updates in a quick run, 2,000 in a full one. Only a full run has "
        "the trainings of figures 4 and 10, with 5,000 updates each; by the paper's own times one UCD "
        "training takes 494 minutes of 12 cores."
    ),
    cost={"quick": 1.4, "medium": 20.0, "full": 8800.0},
    live_link=link_to(
        "train",
        ("cd:learning_rate=0.1", "ucd:learning_rate=0.1,schedule=linear"),
        train_data="fashion_mnist",
        hidden=1000,
        rule="bernoulli",
    ),
    needs=("fashion_mnist",),
)
