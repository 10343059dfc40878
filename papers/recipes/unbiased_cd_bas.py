"""Unbiased CD, figures 2 and 6 and table 1: training on Bars and Stripes."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from papers.claims import Bound, Estimate, Size, claim
from papers.drawing import Drawing, Row
from papers.recipe import Job, Measurements, Recipe, Work, on_train, seeds
from papers.tables import band, central, falls, last, late, paired, ratio
from papers.trainings import TAU_OFFSET, small_training

TRAINERS = {
    "CD-1": "cd:k=1",
    "CD-5": "cd:k=5",
    "CD-10": "cd:k=10",
    "CD-20": "cd:k=20",
    "PCD": "pcd:k=1",
    "UCD": "ucd:k=1,t_max=100,algorithm=rbm",
    "half-step UCD": "ucd:k=1,t_max=100,algorithm=half_step",
}
KNOBS = "schedule=constant,batch_size=32,n_chains=1000"
UPDATES, POINTS, SCALE = 10_000, 100, 0.1
"""Updates of a run, points of its curve, and the standard deviation of its first parameters."""

SMALL_RATE = 0.01
"""The rate that the paper prints; the numbers of its figure belong to ten times this rate."""


def jobs(labels: Sequence[str], rate: float, each: Sequence[int]) -> list[Work]:
    """Return trainings at a rate, with 1,000 chains and batches of all 32 rows."""
    return [
        Job(
            f"{label}-rate{rate:g}-{seed}",
            small_training,
            {
                "trainer": f"{TRAINERS[label]},learning_rate={rate:g},{KNOBS}",
                **{"data": "bas", "n_hidden": 16, "updates": UPDATES, "seed": seed},
                **{"scale": SCALE, "points": POINTS}
            }
        )
        for seed in each
        for label in labels
    ]  # fmt: skip


def work(size: Size) -> list[Work]:
    """Return trainings at the rate of the numbers and at the printed rate.

    A quick run has no CD with more sweeps, and a medium one few of it; neither has UCD at the small rate.
    """
    small = ("CD-1", "PCD", "UCD") if size == "full" else ("CD-1", "PCD")
    return [
        *jobs(("CD-1", "PCD", "UCD", "half-step UCD"), 0.1, seeds(size, quick=8, medium=20, full=100)),
        *jobs(("CD-5", "CD-10", "CD-20"), 0.1, seeds(size, quick=0, medium=20, full=100)),
        *jobs(small, SMALL_RATE, seeds(size, quick=3, medium=3, full=20)),
    ]


def curves(measured: Measurements, label: str, rate: float = 0.1) -> list[Any]:
    """Return the trainings of a trainer."""
    return measured.each(f"{label}-rate{rate:g}-")


def mean_tau(runs: Sequence[Any]) -> Estimate:
    """Return the mean meeting time over whole trainings, in the paper's count (``TAU_OFFSET``)."""
    return Estimate.of([float(np.mean(run["tau_mean"])) - TAU_OFFSET for run in runs])


def peak(run: Any) -> float:
    """Return the update at which the mean meeting time, smoothed over 3 points, is longest."""
    tau = np.convolve(run["tau_mean"], np.ones(3) / 3, mode="valid")
    return float(run["update"][int(np.argmax(tau)) + 1])


def band_width(runs: Sequence[Any]) -> float:
    """Return the mean width over the last tenth of the band that holds 95 % of the trainings."""
    values = np.array([run["log_likelihood"][-POINTS // 10 :] for run in runs])
    return float(np.ptp(np.quantile(values, (0.025, 0.975), axis=0), axis=0).mean())


def narrower(runs: Sequence[Any], others: Sequence[Any]) -> Estimate:
    """Return log10 of the ratio of the bands of two trainers at their ends, with the error for normal ends.

    The variance of the logarithm of a standard deviation of n values is about 1 / (2 n - 2); that of a band
    of 95 % of 20 values is 1.4 times as large.
    """
    n, widths = len(runs), [band_width(each) for each in (runs, others)]
    if n < 2 or min(widths) == 0:
        return Estimate(float("nan"), float("nan"), n)
    error = math.sqrt(1.4 * 2 / (2 * n - 2)) / math.log(10)
    return Estimate(float(np.log10(widths[0] / widths[1])), error, n)


def of_common_seeds(values: list[float], others: list[float]) -> tuple[list[float], list[float]]:
    """Return the values of the seeds that both trainers have, which are the first ones."""
    n = min(len(values), len(others))
    return values[:n], others[:n]


def numbers(measured: Measurements, size: Size) -> dict[str, Estimate]:
    runs = {label: curves(measured, label) for label in TRAINERS}
    runs = {label: each for label, each in runs.items() if each}
    ends = {label: late(each) for label, each in runs.items()}
    ucd, half = runs["UCD"], "half-step UCD"
    result = {f"fall_{label}": Estimate.of(falls(runs[label])) for label in ("CD-1", "PCD", "UCD")}
    result |= {
        f"small_fall_{label}": Estimate.of(falls(curves(measured, label, SMALL_RATE)))
        for label in ("CD-1", "PCD")
    }
    result |= {
        f"over_{label}": paired(*of_common_seeds(ends["UCD"], ends[label]))
        for label in runs
        if "UCD" not in label
    }
    if half in runs:
        result |= {
            f"half_over_{label}": paired(*of_common_seeds(ends[half], ends[label]))
            for label in runs
            if label[:3] == "CD-"
        }
        result["fall_half"] = Estimate.of(falls(runs[half]))
        result["late_half"] = Estimate.of(ends[half])
        result["half_over_UCD"] = paired(ends[half], ends["UCD"])
        result["tau_half"] = mean_tau(runs[half])
    result |= {
        "peak": Estimate.of([peak(run) for run in ucd]),
        "narrower_cd": narrower(ucd, runs["CD-1"]),
        "narrower_pcd": narrower(ucd, runs["PCD"]),
        "tau": mean_tau(ucd),
        "rejected": Estimate.of([float(np.quantile(run["rejected_mean"], 0.95)) for run in ucd]),
    }
    seconds = {label: last(each, "seconds") for label, each in runs.items()}
    for name, slow, fast in (
        ("time_ucd", "UCD", "CD-1"),
        ("time_20", "CD-20", "UCD"),
        ("time_pcd", "PCD", "CD-1"),
        ("time_5", "CD-5", "CD-1"),
        ("time_10", "CD-10", "CD-1"),
    ):
        if slow in seconds:
            result[name] = ratio(*of_common_seeds(seconds[slow], seconds[fast]))
    return result


def drawing(measured: Measurements, size: Size) -> Drawing:
    rows: list[Row] = []

    def add(label: str, rate: float, key: str, panel: str) -> None:
        runs = curves(measured, label, rate)
        values = [run[key] for run in runs if len(run[key]) == POINTS]
        if values:
            rows.extend(band(runs[0]["update"], values, central, series=label, panel=panel))

    for label in TRAINERS:
        add(label, 0.1, "log_likelihood", "log-likelihood, rate 0.1")
    for label in ("CD-1", "PCD", "UCD"):
        add(label, SMALL_RATE, "log_likelihood", "log-likelihood, rate 0.01 (as printed)")
    for label in ("UCD", "half-step UCD"):
        add(label, 0.1, "tau_mean", "mean meeting time, rate 0.1")
        add(label, 0.1, "truncated", "pairs cut off at 100 sweeps (share), rate 0.1")
    return Drawing(rows, "Updates", "")


ALGORITHM_3 = "learning_rate=0.1,schedule=constant,n_chains=1000"
HALF_STEP = f"algorithm=half_step,{ALGORITHM_3}"

BOTH_COUPLINGS = on_train("bas", f"ucd:{ALGORITHM_3}", f"ucd:{HALF_STEP}")


def ucd_alone(statistic: str) -> str:
    """Return a link to a training by UCD that draws one of its statistics."""
    return on_train("bas", f"ucd:{ALGORITHM_3}", statistic=statistic)


def beside_cd(ucd: str) -> str:
    """Return a link to trainings by UCD and by CD with 5, 10 and 20 sweeps."""
    rivals = (f"cd:k={k},learning_rate=0.1,n_chains=1000" for k in (5, 10, 20))
    return on_train("bas", ucd, *rivals)


RECIPE = Recipe(
    paper="unbiased_cd",
    place=10,
    title="Training on Bars and Stripes",
    source="Section 6.1, figure 2; appendix B.1, figure 6 and table 1",
    claims=(
        claim(
            "converges",
            "CD and PCD fall away from the maximum; UCD does not, and ends higher than both.",
            "CD and PCD fail to converge to the maximum likelihood value, UCD does (100 runs)",
            Bound("fall_CD-1", "fall of CD-1, rate 0.1 (nats in all)", at_least=5),
            Bound("fall_PCD", "fall of PCD, rate 0.1 (nats in all)", at_least=5),
            Bound("fall_UCD", "fall of UCD, rate 0.1 (nats in all)", at_most=5),
            Bound("over_CD-1", "last 1,000 updates, UCD less CD-1 (nats in all)", at_least=0),
            Bound("over_PCD", "last 1,000 updates, UCD less PCD (nats in all)", at_least=0),
        ),
        claim(
            "printed_rate",
            "CD and PCD fall with the rate that is printed, 0.01.",
            "Learning rate 0.01 (its numbers are those of 0.1)",
            *(
                Bound(
                    f"small_fall_{label}",
                    f"fall of {label}, rate 0.01, 10,000 updates (nats in all)",
                    at_least=5,
                )
                for label in ("CD-1", "PCD")
            ),
            live_link=on_train(
                "bas",
                *(f"{name}:learning_rate=0.01,schedule=constant,n_chains=1000" for name in ("cd", "pcd")),
            ),
        ),
        claim(
            "steep_rise",
            "Meeting times rise steeply near update 1,200.",
            "A steep increase around the 1200th iteration",
            Bound("peak", "update at which the mean meeting time is longest, rate 0.1", 800, 1600),
            live_link=ucd_alone("tau_mean"),
        ),
        claim(
            "narrow_band",
            "At the end the band of UCD's trainings is much narrower than those of CD and PCD.",
            "At the end of training the quantile band for UCD is much narrower than those of CD and PCD",
            Bound(
                "narrower_cd", "log10 of the width of the band, last 1,000 updates, UCD over CD-1", at_most=0
            ),
            Bound(
                "narrower_pcd", "log10 of the width of the band, last 1,000 updates, UCD over PCD", at_most=0
            ),
        ),
        claim(
            "mean_tau",
            "The mean meeting time over a whole training is 2.40 sweeps: with the coupling of the authors' "
            "program, which also couples the hidden units, and with the printed one.",
            "2.40",
            Bound("tau_half", "mean of min(τ, 100) − 1, half-step UCD, rate 0.1 (sweeps)", 2.1, 2.7),
            Bound("tau", "mean of min(τ, 100) − 1, algorithm 3, rate 0.1 (sweeps)", 2.1, 2.7),
            live_link=BOTH_COUPLINGS,
        ),
        claim(
            "few_rejected",
            "Hardly any proposals are rejected.",
            "The number of rejected samples rarely goes above two",
            Bound("rejected", "95th percentile over a training of rejected proposals a pair", at_most=2),
            live_link=ucd_alone("rejected_mean"),
        ),
        claim(
            "like_cd_20",
            "With the coupling that is printed UCD is comparable to CD-20: CD with fewer sweeps ends lower.",
            "The smallest k to make the result comparable to UCD is about 20",
            Bound("over_CD-5", "last 1,000 updates, UCD less CD-5 (nats in all)", at_least=0),
            Bound("over_CD-10", "last 1,000 updates, UCD less CD-10 (nats in all)", at_least=0),
            Bound("over_CD-20", "last 1,000 updates, UCD less CD-20 (nats in all)", -3, 3),
            live_link=beside_cd(f"ucd:{ALGORITHM_3}"),
            variant=True,
        ),
        claim(
            "half_step_like_cd_20",
            "UCD is comparable to CD-20: CD with fewer sweeps ends lower.",
            "The smallest k to make the result comparable to UCD is about 20",
            Bound("fall_half", "fall of half-step UCD (nats in all)", at_most=5),
            Bound("half_over_CD-5", "last 1,000 updates, half-step UCD less CD-5 (nats in all)", at_least=0),
            Bound(
                "half_over_CD-10", "last 1,000 updates, half-step UCD less CD-10 (nats in all)", at_least=0
            ),
            Bound("half_over_CD-20", "last 1,000 updates, half-step UCD less CD-20 (nats in all)", -3, 3),
            live_link=beside_cd(f"ucd:{HALF_STEP}"),
        ),
        claim(
            "coupling_decides",
            "With the coupling of the authors' program UCD ends higher than with the printed one.",
            "No sentence of the paper: algorithm 3 is printed, and its program has another coupling",
            Bound("half_over_UCD", "half-step UCD less UCD, mean of the last 1,000 updates", at_least=0),
            Bound("late_half", "half-step UCD, mean of the last 1,000 updates (nats)", at_least=-123),
            live_link=BOTH_COUPLINGS,
            variant=True,
        ),
        claim(
            "times",
            "UCD takes three times as long as CD-1, and CD-20 four times as long as UCD.",
            "Table 1, seconds: CD-1 5.38, CD-20 63.51, PCD 5.18, UCD 15.99: ratios 2.97, 3.97, 0.96",
            Bound("time_ucd", "time, UCD over CD-1", 2, 4.5),
            Bound("time_20", "time, CD-20 over UCD", 2.5, 6),
            Bound("time_pcd", "time, PCD over CD-1", 0.7, 1.3),
            timed=True,
        ),
        claim(
            "times_of_sweeps",
            "The time of CD grows a little less than its number of sweeps.",
            "Table 1, seconds: CD-1 5.38, CD-5 17.89, CD-10 33.17: ratios 3.3 and 6.2",
            Bound("time_5", "time, CD-5 over CD-1", 2.2, 5),
            Bound("time_10", "time, CD-10 over CD-1", 4.1, 9.3),
            live_link=on_train(
                "bas",
                *(f"cd:k={k},learning_rate=0.1,n_chains=1000" for k in (1, 5, 10)),
                train_axis="seconds",
            ),
            timed=True,
        ),
    ),
    about=(
        "16 hidden units, 1,000 chains, batches of all 32 rows, 10,000 updates at a constant rate, first "
        "parameters N(0, 0.1²), which the paper does not state; UCD with the coupling of algorithm 3 (and "
        "half-step UCD, which also couples the hidden units, as the authors' C++ program does), pairs cut "
        "off at 100 sweeps. Meeting times are compared in the paper's count, which starts at 1: algorithm 1 "
        "as printed, and τ everywhere else here, start at 2. Log-likelihoods are sums over the 32 rows, as "
        "in the paper. A fall is that of the mean of all trainings, from its highest 1,000 updates to its "
        "last: each training's own maximum would be that of its noise. Where CD *begins to fail* is not "
        "judged: its mean curve is 2.5 nats behind half-step UCD at update 400, 6 at 700 and 17 at 1,200, "
        "and no number of nats is named. Figures 2 and 6 are of the authors' program, so that UCD is "
        "compared with CD-20 by its coupling, and by the printed one in a variant. The printed rate of 0.01 "
        "is measured beside 0.1, with which meeting times rise where the paper's do. A quick run has three "
        "to eight trainings of each, and no CD with more sweeps; a medium one has twenty, and three at the "
        "printed rate; the stored one has four of CD-5, and eight at the printed rate."
    ),
    cost={"quick": 6.1, "medium": 38.0, "full": 400.0},
    live_link=on_train(
        "bas",
        "cd:learning_rate=0.1,n_chains=1000",
        "pcd:learning_rate=0.1,schedule=constant,n_chains=1000",
        "ucd:learning_rate=0.1,schedule=constant,n_chains=1000",
    ),
)
