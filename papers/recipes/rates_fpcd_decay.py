"""Rates-FPCD, figure 3, left: the decay of the fast parameters hurts sampling."""

from papers.claims import Bound, Estimate, Size, claim
from papers.drawing import Drawing
from papers.recipe import Measurements, Recipe, SweepRun, Work, on_sample, seeds
from papers.tables import best_setting, by_seed, curve, difference, where
from rbmviz.sweeps import Axis, Budget, SweepPlan, measures

MODEL = "usps_fpcd"
SAMPLES = {"quick": 10_000, "full": 100_000}


def work(size: Size) -> list[Work]:
    """Return two decays over step sizes."""
    plan = SweepPlan(
        algorithms=("rates_fpcd",),
        axes=(Axis("alpha", (0.95, 1.0)), Axis("eps", (0.003, 0.01, 0.03, 0.1, 0.3))),
        models=(MODEL,),
        seeds=seeds(size, quick=4, full=10),
        budget=Budget("samples", SAMPLES[size]),
    )
    return [SweepRun("decay", plan)]


def best_step(measured: Measurements, alpha: float, at: int) -> float:
    """Return the step size that is best on the validation part with this decay."""
    step: float = best_setting(where(measured.tables["decay"], knob_alpha=alpha), "knob_eps", at)
    return step


def numbers(measured: Measurements, size: Size) -> dict[str, Estimate]:
    at = SAMPLES[size]

    def of(alpha: float) -> dict[int, float]:
        eps = best_step(measured, alpha, at)
        return by_seed(measured.tables["decay"], "isl_test", at, knob_alpha=alpha, knob_eps=eps)

    return {"gain": difference(of(1.0), of(0.95))}


def drawing(measured: Measurements, size: Size) -> Drawing:
    rows = []
    for alpha in (1.0, 0.95):
        eps = best_step(measured, alpha, SAMPLES[size])
        name = f"alpha = {alpha:g}, eps = {eps:g}"
        rows += curve(measured.tables["decay"], "isl_test", name, least=10, knob_alpha=alpha, knob_eps=eps)
    return Drawing(rows, "Samples", measures["isl_test"].label, log_x=True)


RECIPE = Recipe(
    paper="rates_fpcd",
    place=30,
    title="No decay is best for sampling",
    source="Section 5.1, figure 3, left",
    claims=(
        claim(
            "no_decay",
            "The best decay for sampling is none (alpha = 1); alpha = 0.95 is worse.",
            "The optimal value is 1; 0.95 yielded worse results",
            Bound("gain", "ISL, alpha = 1 less alpha = 0.95, each at its best step size (nats)", at_least=0),
        ),
    ),
    about=(
        "One chain of rates-FPCD on `usps_fpcd`, one sweep a sample; the step size of each decay is the best "
        "on the validation part."
    ),
    cost={"quick": 0.3, "full": 5.5},
    live_link=on_sample(MODEL, "rates_fpcd:eps=0.03", "rates_fpcd:eps=0.1,alpha=0.95"),
    needs=("usps",),
)
