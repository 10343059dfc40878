"""Unbiased CD, figure 9: PCD first, and UCD with a smaller rate from there."""

from typing import Any

from papers.claims import Bound, Estimate, Size, claim
from papers.drawing import Drawing
from papers.recipe import Measurements, Recipe, Work, on_train, per_seed, seeds
from papers.recipes.unbiased_cd_truths import SCALE
from papers.tables import dots, paired
from papers.trainings import AVERAGED_ROWS, YARDSTICK_TEXTS, annealed, first_parameters
from rbmviz.datasets import load_dataset
from rbmviz.metrics import monte_carlo_likelihood
from rbmviz.rbm import RBM
from rbmviz.registry import trainers
from rbmviz.trainers import train

FIRST = 500
"""Updates by PCD from which the others go on."""

KNOBS = "schedule=constant,batch_size=1000,n_chains=1000"
THEN = {
    "PCD": f"pcd:k=1,learning_rate=0.2,{KNOBS}",
    "slow PCD": f"pcd:k=1,learning_rate=0.02,{KNOBS}",
    "UCD": f"ucd:k=1,t_max=100,algorithm=half_step,learning_rate=0.02,{KNOBS}",
}


def warm_training(updates: int, scale: float, seed: int) -> dict[str, Any]:
    """Return the yardsticks after 500 updates by PCD ("start"), and after as many updates by each of THEN.

    The data are observations of the true model of this seed.
    """
    data = load_dataset("simulated", seed=seed)

    def scores(rbm: RBM) -> dict[str, float]:
        value, _ = annealed(rbm, data.train, 1000, seed)
        ahead = float(rbm.free_energy(data.train).mean() - rbm.free_energy(data.test).mean())
        average = monte_carlo_likelihood(rbm, data.train[:AVERAGED_ROWS], seed=seed)
        return {"train": value, "held_out": value + ahead, "monte_carlo": average}

    first = first_parameters(data.train.shape[1], 100, seed, scale)
    *_, start = train(data, trainers.read(THEN["PCD"]), 100, FIRST, seed, first, every=FIRST)
    result = {"start": scores(start.rbm)}
    for name, text in THEN.items():
        *_, end = train(data, trainers.read(text), 100, updates, seed + 1, start.rbm, every=updates)
        result[name] = scores(end.rbm)
    return result


def work(size: Size) -> list[Work]:
    """Return trainings on several truths."""
    updates = 200 if size == "quick" else 1000
    arguments = {"updates": updates, "scale": SCALE}
    return per_seed("warm", warm_training, arguments, seeds(size, quick=3, full=5))


def scores(measured: Measurements, name: str, yardstick: str) -> list[float]:
    """Return where each training ends, by truth."""
    return [run[name][yardstick] for run in measured.each("warm-")]


def numbers(measured: Measurements, size: Size) -> dict[str, Estimate]:
    return {
        f"{yardstick}_{other}": paired(*(scores(measured, name, yardstick) for name in ("UCD", other)))
        for yardstick, _ in YARDSTICK_TEXTS
        for other in ("start", "PCD", "slow PCD")
    }


def drawing(measured: Measurements, size: Size) -> Drawing:
    rows = []
    for yardstick, text in YARDSTICK_TEXTS:
        each = [(name, Estimate.of(scores(measured, name, yardstick))) for name in ("start", *THEN)]
        rows += dots(each, "mean of the truths", text)
    return Drawing(rows, "", "log-likelihood (nats a row)", mark="point")


def _over(yardstick: str, *others: str) -> tuple[Bound, ...]:
    text, words = dict(YARDSTICK_TEXTS)[yardstick], {"start": "where it began", "PCD": "PCD all along"}
    words["slow PCD"] = "PCD with the reduced rate, too"
    return tuple(
        Bound(
            f"{yardstick}_{other}",
            f"UCD after PCD, less {words[other]}, by {text} (nats a row)",
            at_least=0,
        )
        for other in others
    )


RECIPE = Recipe(
    paper="unbiased_cd",
    place=26,
    title="PCD first, and then UCD",
    source="Appendix B.2, figure 9",
    claims=(
        claim(
            "warm_start",
            "By the paper's likelihood PCD first and UCD after it is efficient and converges.",
            "500 iterations by PCD, then UCD with a reduced rate",
            *_over("monte_carlo", "start", "PCD"),
        ),
        claim(
            "held_out",
            "The same by the likelihood of held-out rows.",
            "No sentence of the paper, whose likelihood is of the training rows",
            *_over("held_out", "start", "PCD"),
            variant=True,
        ),
        claim(
            "training_rows",
            "The same by the likelihood of the training rows, estimated by annealed importance sampling.",
            "Approximated by Monte Carlo averages",
            *_over("train", "start", "PCD"),
            variant=True,
        ),
        claim(
            "not_the_rate",
            "It is UCD, and not the reduced rate, that makes the gain.",
            "No sentence of the paper, which reduces the rate for UCD alone",
            *(bound for name, _ in YARDSTICK_TEXTS for bound in _over(name, "slow PCD")),
            variant=True,
        ),
    ),
    about=(
        "The data and the start of *Five true models*, truths as replications. 500 updates by PCD at the "
        "rate 0.2, and 1,000 from there by PCD at that rate, by PCD at a tenth of it, and by half-step UCD "
        "at a tenth of it, each scored by the three yardsticks at its end."
    ),
    cost={"quick": 1.0, "full": 6.0},
    live_link=on_train(
        "simulated",
        "pcd:learning_rate=0.2,schedule=constant,n_chains=1000",
        "ucd:algorithm=half_step,learning_rate=0.2,schedule=constant,n_chains=1000",
        hidden=100,
    ),
)
