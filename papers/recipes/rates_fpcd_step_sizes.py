"""Rates-FPCD, section 5.1: the best step sizes of rates-FPCD and rates-herding, by samples and sweeps."""

import math
from itertools import product

import numpy as np

from papers.claims import Bound, Estimate, Size, bounds, claim
from papers.drawing import Drawing
from papers.drawing import Row as DrawnRow
from papers.recipe import Measurements, Recipe, Work, on_sample, seeds, sweep
from papers.tables import by_seed, difference, dots, mean, where
from rbmviz.sweeps import Axis, Budget

MODELS = ("usps_fpcd", "letters_fpcd", "mnist_fpcd")
STEPS = (0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3)
HALF_STEP = math.log10(3) / 2
"""Of the grid: a ratio on the paper's bounds counts whichever side its rounding is on."""

SETTINGS = ("rates_fpcd:k=1", "rates_fpcd:k=5", "rates_herding")
SAMPLES = {"quick": 10_000, "full": 100_000}


def work(size: Size) -> list[Work]:
    """Return a grid of step sizes on each model; a quick one is on USPS alone."""
    return [
        sweep(
            "steps",
            algorithms=SETTINGS,
            axes=(Axis("eps", STEPS),),
            models=MODELS[:1] if size == "quick" else MODELS,
            seeds=seeds(size, quick=12, full=8),
            budget=Budget("samples", SAMPLES[size]),
        )
    ]


def scores(
    measured: Measurements, part: str, model: str, text: str, at: int
) -> dict[float, dict[int, float]]:
    """Return the ISL of a setting on a part of the data by step size, and by seed."""
    name, _, k = text.partition(":k=")
    chosen = {"algorithm": name, **({"knob_k": float(k)} if k else {})}
    columns = where(measured.tables["steps"], model=model, **chosen)
    return {eps: by_seed(columns, f"isl_{part}", at, knob_eps=eps) for eps in STEPS}


def best_steps(measured: Measurements, model: str, text: str, at: int) -> dict[int, float]:
    """Return the step size that is best on the validation part, by seed."""
    each = scores(measured, "validation", model, text, at)
    return {seed: max(STEPS, key=lambda eps: each[eps][seed]) for seed in each[STEPS[0]]}


def log_ratios(measured: Measurements, model: str, k: int, at: int) -> dict[int, float]:
    """Return log10 of rates-herding's best step size over that of rates-FPCD, by seed."""
    herding = best_steps(measured, model, "rates_herding", at)
    fpcd = best_steps(measured, model, f"rates_fpcd:k={k}", at)
    return {seed: math.log10(herding[seed] / fpcd[seed]) for seed in herding}


def measured_models(measured: Measurements) -> list[str]:
    """Return the models of this size; each has two cases, k = 1 and 5."""
    return [model for model in MODELS if model in measured.tables["steps"]["model"]]


def share_of_cases(measured: Measurements, at: int) -> Estimate:
    """Return the share of cases in which herding's best step is 10 to 100 times as large, mean over seeds."""
    ratios = [log_ratios(measured, *case, at) for case in product(measured_models(measured), (1, 5))]
    is_within = [[1 - HALF_STEP <= each[seed] <= 2 + HALF_STEP for each in ratios] for seed in ratios[0]]
    return Estimate.of(np.mean(is_within, axis=1))


def less_lost(measured: Measurements, model: str, at: int) -> dict[int, float]:
    """Return how much less ISL rates-herding loses by a step of 0.3 than rates-FPCD (k = 5), by seed.

    The loss is relative to the step size that is best on the validation part.
    """
    losses = []
    for text in ("rates_fpcd:k=5", "rates_herding"):
        each = scores(measured, "test", model, text, at)
        best = best_steps(measured, model, text, at)
        losses.append({seed: each[best[seed]][seed] - each[max(STEPS)][seed] for seed in best})
    return {seed: losses[0][seed] - losses[1][seed] for seed in losses[0]}


def numbers(measured: Measurements, size: Size) -> dict[str, Estimate]:
    end = SAMPLES[size]
    result = {"share": share_of_cases(measured, end), "share_1000": share_of_cases(measured, 1000)}
    for model in measured_models(measured):
        tests = scores(measured, "test", model, "rates_fpcd:k=5", 100)
        early, late = (less_lost(measured, model, at) for at in (100, end))
        result[f"early_{model}"] = difference(tests[0.1], tests[0.001])
        result[f"robust_early_{model}"] = Estimate.of(list(early.values()))
        result[f"robust_late_{model}"] = difference(late, early)
    return result


def drawing(measured: Measurements, size: Size) -> Drawing:
    rows: list[DrawnRow] = []
    for model, k in product(measured_models(measured), (1, 5)):
        each = [(at, mean(log_ratios(measured, model, k, at))) for at in (100, 1000, SAMPLES[size])]
        rows += dots(each, model, f"k = {k}")
    return Drawing(rows, "Samples", "log10 of herding's best step over that of rates-FPCD", log_x=True)


RECIPE = Recipe(
    paper="rates_fpcd",
    place=80,
    title="Best step sizes",
    source="Section 5.1",
    claims=(
        claim(
            "below_herding",
            "The best step size of rates-FPCD is 10 to 100 times smaller than herding's.",
            "Lower by a factor of 10 to 100 in most cases",
            Bound("share", "share of cases in which it is, at the end", at_least=0.5),
            Bound("share_1000", "share of cases in which it is, at 1,000 samples", at_least=0.5),
            shortened={"quick": "A quick run has 10,000 samples: the best steps of the long run are others."},
        ),
        claim(
            "early_large",
            "Early, larger steps mix faster and score higher.",
            "The mixing rate increases as the step size increases",
            *bounds(
                "early", "ISL at 100 samples, eps = 0.1 less eps = 0.001, k = 5 (nats)", MODELS, at_least=1
            ),
            live_link=on_sample("usps_fpcd", "rates_fpcd:eps=0.1,k=5", "rates_fpcd:eps=0.001,k=5"),
        ),
        claim(
            "herding_robust",
            "Rates-herding bears large steps better than rates-FPCD, early more than late.",
            "More robust to larger step sizes, but this advantage subsides as more samples are drawn",
            *bounds(
                "robust_early", "less lost by herding with eps = 0.3, 100 samples (nats)", MODELS, at_least=0
            ),
            *bounds("robust_late", "the same at the end, less that at 100 samples (nats)", MODELS, at_most=0),
            live_link=on_sample("usps_fpcd", "rates_herding:eps=0.3", "rates_fpcd:eps=0.3,k=5"),
        ),
    ),
    about=(
        "One chain of each on models by FPCD, binary kernel; the best step size of each seed on the "
        "validation part, of a grid of factors of about 3. A case is a model and k of rates-FPCD, 1 or 5: "
        "six in all. A ratio counts as 10 to 100 within half a step of the grid. The order depends on the "
        "number of samples; in the long run the optimum is flat, and the best step mostly chance. The paper "
        "says *in most cases*; it warns, and does not promise."
    ),
    cost={"quick": 1.5, "full": 30.0},
    live_link="tune?tune_models=usps_fpcd&tune_samplers=rates_fpcd&tune_samplers=rates_herding&tune_x=eps&tune_y_n=5",
    needs=("usps", "letters"),
)
