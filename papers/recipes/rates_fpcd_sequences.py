"""Rates-FPCD, figure 1: how sequences of samples on MNIST move from digit to digit."""

from papers.claims import Bound, Estimate, Size, claim
from papers.drawing import Drawing
from papers.recipe import Measurements, Recipe, SweepRun, Work, on_sample, seeds
from papers.tables import by_seed, difference, dots, mean
from rbmviz.sweeps import Budget, SweepPlan

MODEL, SAMPLES = "mnist_fpcd", 1000
SAMPLERS = {
    "Gibbs": "gibbs",
    "rates-FPCD": "rates_fpcd:eps=0.03",
    "rates-herding": "rates_herding:eps=0.03",
    "Sample penalization": "sample_penalization",
}


def work(size: Size) -> list[Work]:
    """Return short runs with many seeds."""
    plan = SweepPlan(
        algorithms=tuple(SAMPLERS.values()),
        models=(MODEL,),
        seeds=seeds(size, quick=12, full=60),
        budget=Budget("samples", SAMPLES),
        metrics=("coverage", "switches", "spurious", "isl_test"),
    )
    return [SweepRun("sequences", plan)]


def numbers(measured: Measurements, size: Size) -> dict[str, Estimate]:
    columns = measured.tables["sequences"]

    def of(measure: str, algorithm: str) -> dict[int, float]:
        return by_seed(columns, measure, SAMPLES, algorithm=algorithm)

    def more(measure: str, *algorithms: str) -> Estimate:
        return difference(*(of(measure, algorithm) for algorithm in algorithms))

    return {
        "herding": more("switches", "rates_herding", "gibbs"),
        "rates": more("switches", "rates_fpcd", "gibbs"),
        "sp": more("switches", "sample_penalization", "gibbs"),
        "rates_sp": more("isl_test", "rates_fpcd", "sample_penalization"),
        "spurious": more("spurious", "rates_fpcd", "gibbs"),
    }


def drawing(measured: Measurements, size: Size) -> Drawing:
    columns, rows = measured.tables["sequences"], []
    for measure, panel in (("switches", "class switches"), ("spurious", "spurious samples (share)")):
        for label, text in SAMPLERS.items():
            number = mean(by_seed(columns, measure, SAMPLES, algorithm=text.partition(":")[0]))
            rows += dots([(label, number)], label, panel)
    return Drawing(rows, "", "", mark="point")


RECIPE = Recipe(
    paper="rates_fpcd",
    place=10,
    title="Sequences of samples on MNIST",
    source="Section 5.1, figure 1",
    claims=(
        claim(
            "leaders",
            "Rates-herding and rates-FPCD go from digit to digit; Gibbs is a distant last.",
            "Rates-herding and rates-FPCD leading and Gibbs a distant last (by eye)",
            Bound("herding", "class switches in 1,000 samples, rates-herding less Gibbs", at_least=50),
            Bound("rates", "class switches in 1,000 samples, rates-FPCD less Gibbs", at_least=50),
            Bound("sp", "class switches in 1,000 samples, SP less Gibbs", at_least=0),
            Bound("rates_sp", "ISL at 1,000 samples, rates-FPCD less SP (nats)", at_least=0),
        ),
        claim(
            "spurious",
            "Faster mixing sometimes has more spurious samples, on the way from one mode to another.",
            "Sometimes mitigated by a higher proportion of spurious samples",
            Bound("spurious", "share of spurious samples, rates-FPCD less Gibbs", at_least=0),
        ),
    ),
    about=(
        "One chain on `mnist_fpcd`, 1,000 samples with one sweep each, from a validation digit. The paper "
        "judges pictures by eye; here a switch is a change of the class of the nearest training digit, and a "
        "sample is spurious if it is farther from the training digits than 99 % of held-out digits are, or "
        "nearly empty."
    ),
    cost={"quick": 0.6, "full": 1.2},
    live_link=on_sample(MODEL, "gibbs", *(text for text in SAMPLERS.values() if text != "gibbs")),
)
