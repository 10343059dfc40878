"""Rates-FPCD, figure 2: ISL against the number of samples on USPS, with the training set as yardstick."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from papers.claims import Bound, Estimate, Size, claim
from papers.drawing import Drawing
from papers.recipe import Job, Measurements, Recipe, SweepRun, Work, on_sample, seeds
from papers.tables import best_curve, best_setting, by_seed, difference, where
from rbmviz.datasets import load_dataset
from rbmviz.metrics import reference
from rbmviz.sweeps import Axis, Budget, SweepPlan, measures

MODEL = "usps_fpcd"
SAMPLERS = ("gibbs:k=5", "rates_fpcd:k=5", "rates_herding", "sample_penalization:k=5")
STEPS = (0.0003, 0.001, 0.003, 0.01, 0.03, 0.1)
SMALL_STEPS = (0.00001, 0.00003, 0.0001, 0.0003)
PENALIZED = ("sample_penalization:k=5", "sample_penalization:k=5,alpha=0.99")
"""Sample penalization has smaller steps, too, so that its best one is not at an end of the grid."""

EARLY = 100
"""Samples at which a fast start shows."""


def yardstick(data: str) -> dict[str, Any]:
    """Return the ISL with the training set as samples."""
    dataset = load_dataset(data)
    score = reference(dataset.train, dataset.test, dataset.validation)
    return {"isl": score.isl, "n": len(dataset.train)}


SAMPLES = {"quick": 20_000, "medium": 100_000, "full": 100_000}


def work(size: Size) -> list[Work]:
    """Return all samplers over step sizes."""
    plan = SweepPlan(
        algorithms=SAMPLERS,
        axes=(Axis("eps", STEPS),),
        models=(MODEL,),
        seeds=seeds(size, quick=5, medium=12, full=20),
        budget=Budget("samples", SAMPLES[size]),
    )
    small = replace(plan, algorithms=PENALIZED, axes=(Axis("eps", SMALL_STEPS),))
    return [SweepRun("binary", plan), SweepRun("sp", small), Job("training-set", yardstick, {"data": "usps"})]


def best(columns: Mapping[str, np.ndarray], algorithm: str, at: int) -> tuple[str, dict[int, float]]:
    """Return an algorithm's best setting on the validation part at a point, and its test ISL by seed."""
    setting = best_setting(where(columns, algorithm=algorithm), "setting", at)
    return setting, by_seed(columns, "isl_test", at, setting=setting)


def all_settings(measured: Measurements) -> dict[str, np.ndarray]:
    """Return the table of all samplers, with the smaller steps of sample penalization."""
    tables = list(measured.tables.values())
    names = set.intersection(*map(set, tables))  # not the knobs of other samplers
    return {name: np.concatenate([table[name] for table in tables]) for name in sorted(names)}


def numbers(measured: Measurements, size: Size) -> dict[str, Estimate]:
    binary, end = all_settings(measured), SAMPLES[size]

    def at(n: int, *algorithms: str) -> Estimate:
        return difference(*(best(binary, algorithm, n)[1] for algorithm in algorithms))

    return {
        "gibbs_early": at(1000, "rates_fpcd", "gibbs"),
        "gibbs": at(end, "rates_fpcd", "gibbs"),
        "herding_early": at(EARLY, "rates_herding", "rates_fpcd"),
        "herding_late": at(end, "rates_fpcd", "rates_herding"),
        "sp_gibbs": at(end, "sample_penalization", "gibbs"),
        "sp_gibbs_early": at(1000, "sample_penalization", "gibbs"),
        "sp_rates": at(end, "rates_fpcd", "sample_penalization"),
        "sp_rates_early": at(1000, "rates_fpcd", "sample_penalization"),
    }


def drawing(measured: Measurements, size: Size) -> Drawing:
    columns, rows = all_settings(measured), []
    for algorithm in np.unique(columns["algorithm"]).tolist():
        rows += best_curve(where(columns, algorithm=algorithm), "isl_test", algorithm, least=10)
    line = measured.jobs["training-set"]["isl"]
    rows += [{"x": x, "y": line, "series": "training set"} for x in (10.0, float(SAMPLES[size]))]
    return Drawing(rows, "Samples", measures["isl_test"].label, log_x=True)


RECIPE = Recipe(
    paper="rates_fpcd",
    place=20,
    title="ISL against samples on USPS",
    source="Section 5.1, figure 2",
    claims=(
        claim(
            "gibbs_last",
            "A Gibbs chain covers the test digits far worse than rates-FPCD.",
            "Gibbs sampling performs very poorly",
            Bound("gibbs_early", "rates-FPCD less Gibbs at 1,000 samples (nats)", at_least=5),
            Bound("gibbs", "rates-FPCD less Gibbs at the end (nats)", at_least=5),
        ),
        claim(
            "herding_first",
            "Rates-herding rises first, and rates-FPCD catches up with it.",
            "Rates-herding starts out with the fastest rise but is caught up with by rates-FPCD",
            Bound("herding_early", "rates-herding less rates-FPCD at 100 samples (nats)", at_least=0),
            Bound("herding_late", "rates-FPCD less rates-herding at the end (nats)", at_least=0),
            live_link=on_sample("usps_fpcd", "rates_herding:eps=0.01", "rates_fpcd:eps=0.01,k=5"),
        ),
        claim(
            "sp_between",
            "Sample penalization is better than Gibbs and significantly worse than rates-FPCD.",
            "SP performed systematically better than Gibbs but significantly worse than the other methods",
            Bound("sp_gibbs_early", "SP less Gibbs at 1,000 samples (nats)", at_least=0),
            Bound("sp_gibbs", "SP less Gibbs at the end (nats)", at_least=0),
            Bound("sp_rates_early", "rates-FPCD less SP at 1,000 samples (nats)", at_least=0),
            Bound("sp_rates", "rates-FPCD less SP at the end (nats)", at_least=0),
            live_link=on_sample("usps_fpcd", "sample_penalization", "gibbs:k=5", "rates_fpcd:eps=0.01,k=5"),
        ),
    ),
    about=(
        "One chain on `usps_fpcd` from a validation digit, 5 sweeps a sample (rates-herding: to its fixed "
        "point). As in the paper every sampler has the step size that is best, chosen on the validation part "
        "at the number of samples compared; in the figure, at each point. Sample penalization has steps down "
        "to 0.00001, too, and decays of 0.9 and 0.99: with its smallest step it is Gibbs. A quick run has "
        "20,000 samples, a full one 100,000; longer ones, and the mean kernel, are in *Passing the training "
        "set on USPS*. The binarisation of the paper's USPS digits is not stated: here pixels are cut at "
        "0.3, and the training set scores lower than in the paper."
    ),
    cost={"quick": 3.0, "medium": 20.0, "full": 33.0},
    live_link=on_sample(MODEL, "gibbs:k=5", "rates_fpcd:eps=0.01,k=5", "rates_herding:eps=0.01"),
    needs=("usps",),
)
