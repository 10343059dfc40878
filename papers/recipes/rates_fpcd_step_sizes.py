"""Rates-FPCD, section 5.1: the best step sizes of rates-FPCD and rates-herding, by samples and sweeps."""

import math

from papers.claims import Bound, Estimate, Size, claim
from papers.drawing import Drawing
from papers.recipe import Measurements, Recipe, SweepRun, Work, on_sample, seeds
from papers.tables import by_seed, difference, dots, mean, where
from rbmviz.sweeps import Axis, Budget, SweepPlan, measures

MODEL = "usps_fpcd"
STEPS = (0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3)
GRID_ERROR = 0.2
"""Standard error of log10 of a ratio of two values of the half-decade grid: two uniform errors."""

SETTINGS = ("rates_fpcd:k=1", "rates_fpcd:k=5", "rates_herding")
SAMPLES = {"quick": 10_000, "full": 100_000}


def work(size: Size) -> list[Work]:
    """Return a grid of step sizes."""
    plan = SweepPlan(
        algorithms=SETTINGS,
        axes=(Axis("eps", STEPS),),
        models=(MODEL,),
        seeds=seeds(size, quick=12, full=20),
        budget=Budget("samples", SAMPLES[size]),
    )
    return [SweepRun("steps", plan)]


def chosen(text: str) -> dict[str, object]:
    """Return the values of columns that select a setting."""
    name, _, k = text.partition(":k=")
    return {"algorithm": name, **({"knob_k": float(k)} if k else {})}


def best_steps(measured: Measurements, text: str, at: int) -> dict[int, float]:
    """Return the step size that is best on the validation part, by seed."""
    columns = where(measured.tables["steps"], **chosen(text))
    scores = {eps: by_seed(columns, "isl_validation", at, knob_eps=eps) for eps in STEPS}
    common = scores[STEPS[0]]
    return {seed: max(STEPS, key=lambda eps: scores[eps][seed]) for seed in common}


def less_lost(measured: Measurements, at: int) -> dict[int, float]:
    """Return how much less ISL rates-herding loses by a step of 0.3 than rates-FPCD (k = 5), by seed.

    The loss is relative to the step size that is best on the validation part.
    """
    losses = []
    for text in ("rates_fpcd:k=5", "rates_herding"):
        columns = where(measured.tables["steps"], **chosen(text))
        scores = {eps: by_seed(columns, "isl_test", at, knob_eps=eps) for eps in STEPS}
        best = best_steps(measured, text, at)
        losses.append({seed: scores[best[seed]][seed] - scores[max(STEPS)][seed] for seed in best})
    return {seed: losses[0][seed] - losses[1][seed] for seed in losses[0]}


def numbers(measured: Measurements, size: Size) -> dict[str, Estimate]:
    end = SAMPLES[size]

    def ratio(k: int, at: int = end) -> Estimate:
        herding, fpcd = (best_steps(measured, text, at) for text in ("rates_herding", f"rates_fpcd:k={k}"))
        value, error, n = Estimate.of([math.log10(herding[seed] / fpcd[seed]) for seed in herding])
        return Estimate(value, math.hypot(error, GRID_ERROR), n)

    columns = where(measured.tables["steps"], **chosen("rates_fpcd:k=5"))
    large, small = (by_seed(columns, "isl_test", 100, knob_eps=eps) for eps in (0.1, 0.001))
    early, late = (less_lost(measured, at) for at in (100, end))
    return {
        "ratio_1": ratio(1),
        "ratio_5": ratio(5),
        "ratio_1_1000": ratio(1, 1000),
        "ratio_5_1000": ratio(5, 1000),
        "early": difference(large, small),
        "robust_early": Estimate.of(list(early.values())),
        "robust_late": difference(late, early),
    }


def drawing(measured: Measurements, size: Size) -> Drawing:
    rows = []
    for at in (100, 1000, SAMPLES[size]):
        for text in SETTINGS:
            columns = where(measured.tables["steps"], **chosen(text))
            each = [(eps, mean(by_seed(columns, "isl_test", at, knob_eps=eps))) for eps in STEPS]
            rows += dots(each, text, f"{at:,} samples")
    return Drawing(rows, "Step size eps", measures["isl_test"].label, log_x=True)


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
            *(
                Bound(
                    f"ratio_{k}{key}",
                    f"log10 of herding's best step over that of rates-FPCD, k = {k}, {words}",
                    1,
                    2,
                )
                for key, words in (("", "at the end"), ("_1000", "at 1,000 samples"))
                for k in (1, 5)
            ),
            shortened={"quick": "A quick run has 10,000 samples: the best steps of the long run are others."},
            if_undecided="More seeds alone would not decide it: the grid has an error of its own, and the "
            "optimum is flat, so that its place is mostly chance.",
        ),
        claim(
            "early_large",
            "Early, larger steps mix faster and score higher.",
            "The mixing rate increases as the step size increases",
            Bound("early", "ISL at 100 samples, eps = 0.1 less eps = 0.001, k = 5 (nats)", at_least=1),
            live_link=on_sample("usps_fpcd", "rates_fpcd:eps=0.1,k=5", "rates_fpcd:eps=0.001,k=5"),
        ),
        claim(
            "herding_robust",
            "Rates-herding bears large steps better than rates-FPCD, early more than late.",
            "More robust to larger step sizes, but this advantage subsides as more samples are drawn",
            Bound("robust_early", "less lost by herding with eps = 0.3, 100 samples (nats)", at_least=0),
            Bound("robust_late", "the same at the end, less that at 100 samples (nats)", at_most=0),
            live_link=on_sample(MODEL, "rates_herding:eps=0.3", "rates_fpcd:eps=0.3,k=5"),
        ),
    ),
    about=(
        "One chain on `usps_fpcd`, binary kernel; the best step size of each seed on the validation part, of "
        "a grid of factors of about 3. In the long run the optimum is flat: at the end, step sizes from "
        "0.001 to 0.03 at k = 5 are a nat or two apart, so that the best one is mostly chance. The order "
        "depends on the number of samples: by the means in the figure, herding's best step over that at k = "
        "5 is 1 time at 100 samples, 10 times at 1,000, and a tenth at 100,000. The paper says *in most "
        "cases*; it warns, and does not promise."
    ),
    cost={"quick": 1.5, "full": 12.0},
    live_link="tune?tune_models=usps_fpcd&tune_samplers=rates_fpcd&tune_samplers=rates_herding&tune_x=eps&tune_y_n=5",
    needs=("usps",),
)
