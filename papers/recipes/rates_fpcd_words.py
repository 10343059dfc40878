"""Rates-FPCD, figure 3, right: a Gibbs chain on a CD model of words gets stuck."""

from collections.abc import Sequence

import numpy as np

from papers.claims import Bound, Estimate, Size, claim
from papers.drawing import Drawing
from papers.recipe import Measurements, Recipe, SweepRun, Work, on_sample, seeds
from papers.tables import by_seed, curve, difference, mean
from rbmviz.sweeps import Budget, SweepPlan, measures

MODELS = ("reviews_cd1", "reviews_fpcd")
SAMPLERS = ("gibbs", "rates_fpcd:eps=0.01")
SAMPLES = {"quick": 10_000, "full": 200_000}


def work(size: Size) -> list[Work]:
    """Return long chains on models of words."""
    plan = SweepPlan(
        algorithms=SAMPLERS,
        models=MODELS,
        seeds=seeds(size, quick=8, full=10),
        budget=Budget("samples", SAMPLES[size]),
        metrics=("isl_test", "isl_validation", "blank"),
    )
    return [SweepRun("words", plan)]


def numbers(measured: Measurements, size: Size) -> dict[str, Estimate]:
    columns, end = measured.tables["words"], SAMPLES[size]

    def isl(model: str, algorithm: str, at: int) -> dict[int, float]:
        return by_seed(columns, "isl_test", at, model=model, algorithm=algorithm)

    cd, fpcd = MODELS
    return {
        "gibbs_rise": difference(isl(cd, "gibbs", end), isl(cd, "gibbs", end // 10)),
        "rates_rise": difference(isl(cd, "rates_fpcd", end), isl(cd, "rates_fpcd", end // 10)),
        "blank": mean(by_seed(columns, "blank", end, model=cd, algorithm="gibbs")),
        "on_cd": difference(isl(cd, "rates_fpcd", end), isl(cd, "gibbs", end)),
        "on_fpcd": difference(isl(fpcd, "rates_fpcd", end), isl(fpcd, "gibbs", end)),
    }


def draw_models(measured: Measurements, models: Sequence[str]) -> Drawing:
    """Return the curves of both samplers, a panel per model."""
    columns, rows = measured.tables["words"], []
    for model in models:
        for algorithm in np.unique(columns["algorithm"]).tolist():
            rows += curve(columns, "isl_test", algorithm, model, least=10, model=model, algorithm=algorithm)
    return Drawing(rows, "Samples", measures["isl_test"].label, log_x=True)


def drawing(measured: Measurements, size: Size) -> Drawing:
    return draw_models(measured, MODELS)


RECIPE = Recipe(
    paper="rates_fpcd",
    place=40,
    title="Words: Gibbs gets stuck on a CD model",
    source="Section 5.1, figure 3, right",
    claims=(
        claim(
            "gibbs_stuck",
            "On a model of words trained by CD, Gibbs gets stuck in the empty document and its ISL falls.",
            "Gibbs quickly gets stuck in a very narrow mode (usually zeros), and the ISL decreases",
            Bound("gibbs_rise", "ISL of Gibbs, end less a tenth of the run (nats)", at_most=0),
            Bound("blank", "share of nearly empty samples of Gibbs", at_least=0.5),
        ),
        claim(
            "rates_consistent",
            "Rates-FPCD has no such trouble: its ISL goes on rising.",
            "Rates-FPCD does not encounter any obvious mixing problems",
            Bound("rates_rise", "ISL of rates-FPCD, end less a tenth of the run (nats)", at_least=0),
            Bound("on_cd", "ISL on the CD model, rates-FPCD less Gibbs (nats)", at_least=0),
        ),
        claim(
            "on_par",
            "On a model trained by FPCD, Gibbs is on a par with rates-FPCD.",
            "On par for some models (trained with SML or FPCD)",
            Bound("on_fpcd", "ISL on the FPCD model, rates-FPCD less Gibbs (nats)", -3, 3),
            live_link=on_sample("reviews_fpcd", *SAMPLERS),
        ),
    ),
    about=(
        "Reviews of restaurants, 1,000 word stems, in the place of the paper's OpenTable set, which is not "
        "public; `reviews_cd1` and `reviews_fpcd` have 100 hidden units. One chain, one sweep a sample."
    ),
    cost={"quick": 0.8, "full": 3.0},
    live_link=on_sample("reviews_cd1", *SAMPLERS),
    needs=("reviews",),
)
