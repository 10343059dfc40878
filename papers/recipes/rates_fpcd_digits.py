"""Rates-FPCD, section 5.1, on digits: heat in place of moving parameters, and Gibbs chains that sink."""

from typing import Any

from papers.claims import Estimate, Size, bounds, claim
from papers.drawing import Drawing
from papers.recipe import Measurements, Recipe, SweepRun, Work, on_sample, seeds
from papers.tables import by_seed, curve, difference, mean, where
from rbmviz.sweeps import Axis, Budget, SweepPlan, measures

RATES = "rates_fpcd:eps=0.03"
HEATED = ("mnist_fpcd", "usps_fpcd")
TEMPERATURES = (1.0, 1.1, 1.2, 1.35, 1.5, 1.75, 2.0, 2.5, 3.0)
SUNK, CONTROL = ("mnist_cd1", "usps_cd1"), "mnist_fpcd"
SHORT, LONG = 2000, 5000


def work(size: Size) -> list[Work]:
    """Return chains of several temperatures, and long chains on CD models."""

    def plan(samples: int, *metrics: str, **parts: Any) -> SweepPlan:
        budget = Budget("samples", samples)
        return SweepPlan(algorithms=("gibbs", RATES), budget=budget, metrics=metrics, **parts)

    heat = plan(
        *(SHORT, "switches", "spurious", "isl_test"),
        axes=(Axis("temperature", TEMPERATURES),),
        models=HEATED,
        seeds=seeds(size, quick=4, full=20),
    )
    sunk = plan(
        *(LONG, "isl_test", "isl_validation", "blank"),
        models=(*SUNK, CONTROL),
        seeds=seeds(size, quick=8, full=20),
    )
    return [SweepRun("heat", heat), SweepRun("sunk", sunk)]


def of(measured: Measurements, measure: str, **wanted: Any) -> dict[int, float]:
    """Return a measure of the short chains by seed."""
    return by_seed(measured.tables["heat"], measure, SHORT, **wanted)


def hot(measured: Measurements, model: str) -> float:
    """Return the lowest temperature with as many switches as rates-FPCD, or the one with the most."""
    each = {t: mean(of(measured, "switches", model=model, knob_temperature=t)).value for t in TEMPERATURES}
    least = mean(of(measured, "switches", model=model, algorithm="rates_fpcd")).value
    return next((t for t in TEMPERATURES if each[t] >= least), max(TEMPERATURES, key=each.__getitem__))


def numbers(measured: Measurements, size: Size) -> dict[str, Estimate]:
    result = {}
    for model in HEATED:
        for measure in ("spurious", "isl_test"):
            heated = of(measured, measure, model=model, knob_temperature=hot(measured, model))
            rates = of(measured, measure, model=model, algorithm="rates_fpcd")
            result[f"{measure}_{model}"] = difference(heated, rates)
    for model in (*SUNK, CONTROL):
        for name in ("gibbs", "rates_fpcd"):
            own = where(measured.tables["sunk"], model=model, algorithm=name)
            rise = difference(by_seed(own, "isl_test", LONG), by_seed(own, "isl_test", LONG // 10))
            result[f"{name}_rise_{model}"] = rise
            result[f"{name}_blank_{model}"] = mean(by_seed(own, "blank", LONG))
    return result


def drawing(measured: Measurements, size: Size) -> Drawing:
    rows = []
    for model in SUNK:
        for name in ("gibbs", "rates_fpcd"):
            of_model = {"model": model, "algorithm": name}
            rows += curve(measured.tables["sunk"], "isl_test", name, model, least=10, **of_model)
    return Drawing(rows, "Samples", measures["isl_test"].label, log_x=True)


RECIPE = Recipe(
    paper="rates_fpcd",
    place=92,
    title="Digits: heat and sinking chains",
    source="Section 5.1",
    claims=(
        claim(
            "heat",
            "A Gibbs chain hot enough to mix as fast has more spurious samples, and scores lower.",
            "The samples look faithful to the training set, unlike samples from a Gibbs chain with a "
            "temperature high enough to mix well",
            *bounds("spurious", "spurious samples (share), hot less rates-FPCD", HEATED, at_least=0),
            *bounds("isl_test", "ISL, hot less rates-FPCD (nats)", HEATED, at_most=0),
            live_link=on_sample("mnist_fpcd", "gibbs:temperature=2", RATES),
        ),
        claim(
            "sinks",
            "On CD models of digits, Gibbs sinks into the empty image, and its ISL falls.",
            "Of words: Gibbs quickly and systemically gets stuck in a very narrow mode (usually, this mode "
            "is a vector of zeros). This causes the ISL measure to decrease",
            *bounds("gibbs_rise", "ISL of Gibbs, end less a tenth (nats)", SUNK, at_most=0),
            *bounds("gibbs_blank", "nearly empty samples of Gibbs (share)", SUNK, at_least=0.5),
            variant=True,
        ),
        claim(
            "rates_rise",
            "Rates-FPCD does not: its ISL goes on rising, and few of its samples are empty.",
            "Of words: rates-FPCD does not encounter any obvious mixing problems",
            *bounds("rates_fpcd_rise", "ISL, end less a tenth (nats)", SUNK, at_least=0),
            *bounds("rates_fpcd_blank", "nearly empty samples (share)", SUNK, at_most=0.1),
            variant=True,
        ),
        claim(
            "not_fpcd",
            "On a model of digits by FPCD, Gibbs does not sink.",
            "Of words: Gibbs failed badly on other models, in particular those trained using CD",
            *bounds("gibbs_blank", "nearly empty samples of Gibbs (share)", (CONTROL,), at_most=0.1),
            live_link=on_sample("mnist_fpcd", "gibbs", RATES),
            variant=True,
        ),
    ),
    about=(
        "One chain, one sweep a sample, from a validation digit. Heat: 2,000 samples at nine temperatures "
        "from 1 to 3 on models by FPCD. The hot chain is the one of the lowest temperature that changes its "
        "class (of the nearest training digit) as often as rates-FPCD with eps = 0.03; if none does, the one "
        "that changes it most. The paper judges by eye; a sample is spurious if it is farther from the "
        "training digits than 99 % of held-out digits are, or nearly empty: with fewer than half the units "
        "of the emptiest percent of the training digits on. Changes of the class count such samples, too. "
        "Sinking: 5,000 samples, with the bounds of the recipe for words (at least half of the samples of "
        "Gibbs nearly empty); the paper says it of words alone."
    ),
    cost={"quick": 0.6, "full": 1.8},
    live_link=on_sample("mnist_cd1", "gibbs", RATES),
    needs=("usps",),
)
