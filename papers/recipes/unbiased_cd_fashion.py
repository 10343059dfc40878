"""Unbiased CD, figures 4, 10 and 11 and table 3: training on Fashion-MNIST."""

from typing import Any

import numpy as np

from papers.claims import Bound, Estimate, Size, claim
from papers.drawing import Drawing, Row
from papers.recipe import Measurements, Recipe, Work, on_train, per_seed, seeds
from papers.tables import band, dots, falls, last, paired
from papers.trainings import TAU_OFFSET, YARDSTICK_TEXTS, scored_training
from rbmviz.coupling import couple
from rbmviz.datasets import load_dataset
from rbmviz.registry import trainers
from rbmviz.trainers import train

KNOBS = "learning_rate=0.1,schedule=constant,batch_size=1000,n_chains=1000"
UCD = "ucd:k=1,t_max=100,algorithm=half_step"
TRAINERS = {"CD-1": "cd:k=1", "PCD": "pcd:k=1", "CD-30": "cd:k=30", "UCD": UCD}
LABELS = {"medium": ("CD-1", "PCD", "UCD"), "full": tuple(TRAINERS)}
UPDATES = {"medium": 3000, "full": 5000}
"""The long trainings, and their updates; those of UCD are the dearest, and get dearer."""

DATA = {"data": "fashion_mnist", "data_options": {"binarise": "bernoulli"}}
"""Each pixel is 1 with its brightness as probability."""


def meeting_and_times(
    data: str,
    data_options: dict[str, Any],
    knobs: str,
    updates: int,
    pairs: int,
    timed: int,
    program: bool,
    seed: int,
) -> dict[str, Any]:
    """Train 1,000 hidden units by PCD; return meeting times, rejected proposals, and seconds per update.

    knobs: of all trainers; pairs: coupled pairs; timed: timed updates of each trainer; program: whether to
    couple as the authors' program does, too.
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
    result = {"tau": float(tau.mean()), "rejected": float(coupled.rejected.mean()), "seconds": seconds}
    if program:
        result["tau_program"] = float(
            couple(start.rbm, v0, "half_step", max_sweeps=100, seed=seed).tau.mean()
        )
    return result


def lengths(size: Size) -> tuple[int, ...]:
    """Return the updates of the short trainings."""
    return (300, 2000) if size == "full" else (300,)


def work(size: Size) -> list[Work]:
    """Return pairs and times after short trainings by PCD; a full run also has the long trainings."""
    arguments: dict[str, Any] = DATA | {"knobs": KNOBS}
    arguments |= {"timed": 5, "pairs": 1000} if size == "full" else {"timed": 1, "pairs": 200}
    arguments["program"] = size != "quick"
    jobs: list[Work] = []
    for updates in lengths(size):
        each = seeds(size, quick=3, medium=3, full=5)
        jobs += per_seed(f"short-{updates}", meeting_and_times, arguments | {"updates": updates}, each)
    for label in LABELS.get(size, ()):
        points, betas = (10, 3000) if size == "medium" else (50, 5000)
        scored: dict[str, Any] = DATA | {"hidden": 1000, "updates": UPDATES[size], "points": points}
        scored |= {"betas": betas, "trainer": f"{TRAINERS[label]},{KNOBS}"}
        jobs += per_seed(f"{label}, scored", scored_training, scored, range(3 if size == "full" else 1))
    return jobs


def numbers(measured: Measurements, size: Size) -> dict[str, Estimate]:
    short = f"short-{lengths(size)[-1]}-"  # the longest of the short trainings
    result = {
        "tau": measured.mean(short, lambda run: run["tau"] - TAU_OFFSET),
        "rejected": measured.mean(short, "rejected"),
        "time": measured.mean(short, lambda run: run["seconds"]["UCD"] / run["seconds"]["CD-30"]),
    }
    if size != "quick":
        result["tau_program"] = measured.mean(short, lambda run: run["tau_program"] - TAU_OFFSET)
    runs = {label: measured.each(f"{label}, scored-") for label in LABELS.get(size, ())}
    for name, _ in YARDSTICK_TEXTS if runs else ():
        result[f"end_{name}"] = paired(last(runs["UCD"], name), last(runs["CD-1"], name))
        for label, each in runs.items():
            result[f"fall_{name}_{label}"] = Estimate.of(falls(each, name))
    return result


def drawing(measured: Measurements, size: Size) -> Drawing:
    rows: list[Row] = []
    for label in LABELS.get(size, ()):
        runs = measured.each(f"{label}, scored-")
        for name, text in YARDSTICK_TEXTS:
            rows += band(runs[0]["update"], [run[name] for run in runs], series=label, panel=text)
    if rows:
        return Drawing(rows, "Updates", "log-likelihood (nats a row)")
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
    return on_train("fashion_mnist", trainer, hidden=1000, rule="bernoulli", **settings)


def _bounds(yardstick: str) -> tuple[Bound, ...]:
    text = dict(YARDSTICK_TEXTS)[yardstick]
    return (
        Bound(f"end_{yardstick}", f"end, UCD less CD-1, by {text} (nats a row)", at_least=0),
        *(
            Bound(
                f"fall_{yardstick}_{label}",
                f"fall of {label} from its maximum, by {text} (nats a row)",
                **{"at_most" if label == "UCD" else "at_least": 1},
            )
            for label in ("CD-1", "PCD", "UCD")
        ),
    )


def too_short(reason: str) -> dict[str, str]:
    """Return the reason why a quick and a medium run are too short."""
    return dict.fromkeys(("quick", "medium"), reason)


SHORT = {"medium": "A medium run has one training of each, 3,000 updates of 5,000."}

RECIPE = Recipe(
    paper="unbiased_cd",
    place=30,
    title="Training on Fashion-MNIST, 1,000 hidden units",
    source="Section 6.3, figure 4; appendix B.3, figures 10 and 11 and table 3",
    claims=(
        claim(
            "converges",
            "By the paper's likelihood CD falls and PCD bounces; UCD rises steadily (figure 4).",
            "CD decreasing, PCD bounces among three paths",
            *_bounds("monte_carlo"),
            shortened=SHORT,
        ),
        claim(
            "held_out",
            "The same by the likelihood of held-out rows.",
            "No sentence of the paper, whose likelihood is of the training rows",
            *_bounds("held_out"),
            shortened=SHORT,
            variant=True,
        ),
        claim(
            "cd_30",
            "Thirty sweeps do not help CD (figure 10).",
            "CD-k does not converge even if k is as large as 30",
            Bound("fall_monte_carlo_CD-30", "fall of CD-30 from its maximum (nats a row)", at_least=1),
            live_link=on_train("fashion_mnist", "cd:k=30,learning_rate=0.1", hidden=1000),
        ),
        claim(
            "tau",
            "Meeting times settle near 27 to 30 sweeps (figure 11).",
            "Gets stable around 30 after 2000 iterations; about 27 on average",
            Bound("tau", "mean of min(τ, 1,001) − 1 after the training (sweeps)", 20, 40),
            shortened=too_short("Measured after 300 updates by PCD; the sentence is about more than 2,000."),
            live_link=ucd_alone(),
        ),
        claim(
            "tau_program",
            "The same with the coupling of the authors' program, and pairs cut off at 100 sweeps, as there.",
            "Gets stable around 30 after 2000 iterations; about 27 on average",
            Bound("tau_program", "mean of min(τ, 100) − 1, half-step, after the training (sweeps)", 20, 40),
            shortened=too_short("Measured after 300 updates by PCD; the sentence is about more than 2,000."),
            live_link=ucd_alone(),
            variant=True,
        ),
        claim(
            "few_rejected",
            "The rejection step costs little (figure 11, right).",
            "The cost for rejection sampling can be ignored",
            Bound("rejected", "rejected proposals of both chains of a pair after the training", at_most=2),
            shortened=too_short("Measured after 300 updates by PCD."),
            live_link=ucd_alone(statistic="rejected_mean"),
        ),
        claim(
            "times",
            "UCD takes longer than CD-30 (table 3).",
            "Minutes: CD-1 25.63, CD-30 311.89, UCD 494.01: 19 times CD-1, 1.6 times CD-30",
            Bound("time", "time of an update, UCD over CD-30", at_least=1),
            shortened=too_short("Single updates are timed, after 300 updates by PCD."),
            timed=True,
        ),
    ),
    about=(
        "50,000 training images, each pixel drawn once with its brightness as its probability, 1,000 hidden "
        "units, batches of 1,000 rows, rate 0.1, 1,000 chains. Meeting times (algorithm 3, cut off at 1,000 "
        "sweeps, and beyond a quick run also the coupling of the authors' program, cut off at 100 sweeps, "
        "as there; in the paper's count, which starts at 1) and the cost of an update are measured after "
        "short trainings by PCD: 300 updates, in a full run 2,000. Rejected proposals are those of both "
        "chains; the authors' program counts rounds, in which both propose, and so fewer. A medium run also "
        "has one training each of CD-1, PCD and half-step UCD, 3,000 updates, scored by the "
        "three yardsticks of *A yardstick that punishes*: 2,000 training and 2,000 held-out rows by "
        "annealed importance sampling (64 chains, 3,000 temperatures) and the paper's Monte Carlo average "
        "over 100 rows. One run has no error, so they decide nothing. A full run has the trainings of "
        "figures 4 and 10, 5,000 updates each; by the paper's own times one UCD training takes 494 minutes "
        "of 12 cores."
    ),
    cost={"quick": 1.4, "medium": 45.0, "full": 8800.0},
    live_link=on_train(
        "fashion_mnist",
        "cd:learning_rate=0.1",
        "ucd:learning_rate=0.1,schedule=linear",
        hidden=1000,
        rule="bernoulli",
    ),
    needs=("fashion_mnist",),
)
