"""Rates-FPCD, section 5.1: the step size trades mixing against spurious samples."""

import numpy as np

from papers.claims import Bound, Estimate, Size, claim
from papers.drawing import Drawing
from papers.recipe import Measurements, Recipe, SweepRun, Work, on_sample, seeds
from papers.tables import by_seed, dots, mean, where
from rbmviz.sweeps import Axis, Budget, SweepPlan

MODELS = ("mnist_fpcd", "mnist_cd1")
STEPS = (0.003, 0.01, 0.03, 0.1, 0.3)
SAMPLES = 2000


def work(size: Size) -> list[Work]:
    """Return runs over step sizes."""
    plan = SweepPlan(
        algorithms=("rates_fpcd",),
        axes=(Axis("eps", STEPS),),
        models=MODELS,
        seeds=seeds(size, quick=5, full=20),
        budget=Budget("samples", SAMPLES),
        metrics=("switches", "spurious", "isl_test"),
    )
    return [SweepRun("steps", plan)]


def slopes(measured: Measurements, measure: str, model: str) -> Estimate:
    """Return the change of a measure by tenfold larger steps: its slope over log10 of eps."""
    each = [by_seed(measured.tables["steps"], measure, SAMPLES, model=model, knob_eps=eps) for eps in STEPS]
    logs = np.log10(STEPS)
    return Estimate.of([np.polyfit(logs, [values[seed] for values in each], 1)[0] for seed in each[0]])


def numbers(measured: Measurements, size: Size) -> dict[str, Estimate]:
    return {
        f"{measure}_{model}": slopes(measured, measure, model)
        for measure in ("spurious", "switches")
        for model in MODELS
    }


def drawing(measured: Measurements, size: Size) -> Drawing:
    rows = []
    for measure, panel in (("switches", "class switches"), ("spurious", "spurious samples (share)")):
        for model in MODELS:
            columns = where(measured.tables["steps"], model=model)
            each = [(eps, mean(by_seed(columns, measure, SAMPLES, knob_eps=eps))) for eps in STEPS]
            rows += dots(each, model, panel)
    return Drawing(rows, "Step size eps", "in 2,000 samples", log_x=True)


RECIPE = Recipe(
    paper="rates_fpcd",
    place=90,
    title="Step size: mixing against spurious samples",
    source="Section 5.1",
    claims=(
        claim(
            "trade",
            "With a larger step the chain mixes faster, and more samples are spurious.",
            "Mixing rate increases with the step size, but so does the frequency of spurious samples",
            *(
                Bound(f"{measure}_{model}", f"{label} by tenfold larger steps, `{model}`", at_least=0)
                for measure, label in (
                    ("switches", "more class switches"),
                    ("spurious", "larger spurious share"),
                )
                for model in MODELS
            ),
        ),
    ),
    about=(
        "One chain of rates-FPCD, 2,000 samples with one sweep each, eps from 0.003 to 0.3; the slope over "
        "the logarithm of eps. A switch is a change of the class of the nearest training digit."
    ),
    cost={"quick": 0.4, "full": 1.4},
    live_link=on_sample("mnist_fpcd", *(f"rates_fpcd:eps={eps:g}" for eps in (0.003, 0.03, 0.3))),
)
