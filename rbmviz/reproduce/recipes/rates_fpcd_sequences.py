"""Rates-FPCD, figure 1: how sequences of samples on MNIST move from digit to digit."""

from rbmviz.links import link_to
from rbmviz.reproduce.claims import Number, PaperClaim, Part, Size
from rbmviz.reproduce.drawing import Drawing
from rbmviz.reproduce.recipe import Found, Recipe, SweepRun, Work
from rbmviz.reproduce.run import seeds
from rbmviz.reproduce.tables import by_seed, difference, dots, mean
from rbmviz.sweeps import Budget, SweepPlan

MODEL, SAMPLES = "mnist_fpcd", 1000
SAMPLERS = {
    "Gibbs": "gibbs",
    "rates-FPCD": "rates_fpcd:eps=0.03",
    "rates-herding": "rates_herding:eps=0.03",
    "Sample penalization": "sample_penalization",
}


def work(size: Size) -> list[Work]:
    """Return the work: short runs with many seeds."""
    plan = SweepPlan(
        algorithms=tuple(SAMPLERS.values()),
        models=(MODEL,),
        seeds=seeds(size, quick=12, full=60),
        budget=Budget("samples", SAMPLES),
        metrics=("coverage", "switches", "spurious", "isl_test"),
    )
    return [SweepRun("sequences", plan)]


def numbers(found: Found, size: Size) -> dict[str, Number]:
    """Return differences between samplers, paired over seeds."""
    columns = found.tables["sequences"]

    def of(measure: str, algorithm: str) -> dict[int, float]:
        return by_seed(columns, measure, SAMPLES, algorithm=algorithm)

    def more(measure: str, one: str, other: str) -> Number:
        return difference(of(measure, one), of(measure, other))

    return {
        "herding": more("switches", "rates_herding", "gibbs"),
        "rates": more("switches", "rates_fpcd", "gibbs"),
        "sp": more("switches", "sample_penalization", "gibbs"),
        "rates_sp": more("isl_test", "rates_fpcd", "sample_penalization"),
        "spurious": more("spurious", "rates_fpcd", "gibbs"),
    }


def drawing(found: Found, size: Size) -> Drawing:
    """Return class switches and spurious shares of the samplers."""
    columns, rows = found.tables["sequences"], []
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
        PaperClaim(
            "leaders",
            "Rates-herding and rates-FPCD go from digit to digit; Gibbs is a distant last.",
            "Rates-herding and rates-FPCD leading and Gibbs a distant last (by eye)",
            (
                Part("herding", "class switches in 1,000 samples, rates-herding less Gibbs", at_least=50),
                Part("rates", "class switches in 1,000 samples, rates-FPCD less Gibbs", at_least=50),
                Part("sp", "class switches in 1,000 samples, SP less Gibbs", at_least=0),
                Part("rates_sp", "ISL at 1,000 samples, rates-FPCD less SP (nats)", at_least=0),
            ),
        ),
        PaperClaim(
            "spurious",
            "Faster mixing sometimes has more spurious samples, on the way from one mode to another.",
            "Sometimes mitigated by a higher proportion of spurious samples",
            (Part("spurious", "share of spurious samples, rates-FPCD less Gibbs", at_least=0),),
        ),
    ),
    about=(
        "One chain on `mnist_fpcd`, 1,000 samples with one sweep each, from a validation digit. The paper "
        "judges pictures by eye; here a switch is a change of the class of the nearest training digit, and a "
        "sample is spurious if it is farther from the training digits than 99 % of held-out digits are, or "
        "nearly empty."
    ),
    cost={"quick": 0.6, "full": 1.2},
    work=work,
    numbers=numbers,
    drawing=drawing,
    live_link=link_to(
        "sample", ("gibbs", *(text for text in SAMPLERS.values() if text != "gibbs")), model=MODEL
    ),
)
