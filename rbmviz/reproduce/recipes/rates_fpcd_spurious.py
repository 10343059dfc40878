"""Rates-FPCD, section 5.1: the step size trades mixing against spurious samples."""

import numpy as np

from rbmviz.links import link_to
from rbmviz.reproduce.claims import Number, PaperClaim, Part, Size
from rbmviz.reproduce.drawing import Drawing
from rbmviz.reproduce.recipe import Found, Recipe, SweepRun, Work
from rbmviz.reproduce.run import seeds
from rbmviz.reproduce.tables import by_seed, dots, mean
from rbmviz.sweeps import Axis, Budget, SweepPlan

MODELS = ("mnist_fpcd", "mnist_cd1")
STEPS = (0.003, 0.01, 0.03, 0.1, 0.3)
SAMPLES = 2000


def work(size: Size) -> list[Work]:
    """Return the work: runs over step sizes."""
    plan = SweepPlan(
        algorithms=("rates_fpcd",),
        axes=(Axis("eps", STEPS),),
        models=MODELS,
        seeds=seeds(size, quick=5, full=20),
        budget=Budget("samples", SAMPLES),
        metrics=("switches", "spurious", "isl_test"),
    )
    return [SweepRun("steps", plan)]


def slopes(found: Found, measure: str, model: str) -> Number:
    """Return the change of a measure by tenfold larger steps: the slope over log10 of eps, by seed."""
    each = [by_seed(found.tables["steps"], measure, SAMPLES, model=model, knob_eps=eps) for eps in STEPS]
    logs = np.log10(STEPS)
    return Number.of([np.polyfit(logs, [one[seed] for one in each], 1)[0] for seed in each[0]])


def numbers(found: Found, size: Size) -> dict[str, Number]:
    """Return the slopes."""
    return {
        f"{measure}_{model}": slopes(found, measure, model)
        for measure in ("spurious", "switches")
        for model in MODELS
    }


def drawing(found: Found, size: Size) -> Drawing:
    """Return both measures over step sizes."""
    rows = []
    for measure, panel in (("switches", "class switches"), ("spurious", "spurious samples (share)")):
        for model in MODELS:
            each = [
                (eps, mean(by_seed(found.tables["steps"], measure, SAMPLES, model=model, knob_eps=eps)))
                for eps in STEPS
            ]
            rows += dots(each, model, panel)
    return Drawing(rows, "Step size eps", "in 2,000 samples", log_x=True)


RECIPE = Recipe(
    paper="rates_fpcd",
    place=90,
    title="Step size: mixing against spurious samples",
    source="Section 5.1",
    claims=(
        PaperClaim(
            "trade",
            "With a larger step the chain mixes faster, and more samples are spurious.",
            "Mixing rate increases with the step size, but so does the frequency of spurious samples",
            tuple(
                Part(f"{measure}_{model}", f"{label} by tenfold larger steps, `{model}`", at_least=0)
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
    work=work,
    numbers=numbers,
    drawing=drawing,
    live_link=link_to(
        "sample", tuple(f"rates_fpcd:eps={eps:g}" for eps in (0.003, 0.03, 0.3)), model="mnist_fpcd"
    ),
)
