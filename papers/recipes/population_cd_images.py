"""Population CD, figure 2: training curves on MNIST and Letters with 16 hidden units."""

from typing import Any

from papers.claims import Bound, Estimate, Size, claim
from papers.drawing import Drawing
from papers.recipe import Measurements, Recipe, Work, on_train, seeds, sweep
from papers.tables import by_seed, curve, difference, where
from rbmviz.metrics.numbers import LIKELIHOOD
from rbmviz.sweeps import Axis, Budget

TRAINERS = {"CD-1": "cd:k=1", "PCD": "pcd:k=1", "pop-CD-1": "pop_cd:k=1", "PT-10": "pt:n_temperatures=10"}
BATCH = {"mnist": 500, "letters": 246}
UPDATES = {
    "mnist": {"quick": 1000, "medium": 5000, "full": 20_000},
    "letters": {"quick": 2000, "medium": 10_000, "full": 30_000},
}
RATES = (0.1, 0.01)


def work(size: Size) -> list[Work]:
    """Return trainers on two data sets; only a full run has the smaller rate, and PT-10."""
    return [
        sweep(
            data,
            kind="trainer",
            algorithms=tuple(
                f"{text},schedule=constant,batch_size={BATCH[data]}"
                + (f",n_chains={BATCH[data]}" if label.startswith("P") else "")
                for label, text in TRAINERS.items()
                if size == "full" or label != "PT-10"
            ),
            axes=(Axis("learning_rate", RATES if size == "full" else RATES[:1]),),
            data=data,
            seeds=seeds(size, quick=5, medium=3, full=25),
            budget=Budget("updates", UPDATES[data][size]),
            metrics=("log_likelihood",),
        )
        for data in BATCH
    ]


def ends(measured: Measurements, label: str, data: str, rate: float) -> dict[int, float]:
    """Return the final log-likelihood by seed."""
    name = TRAINERS[label].partition(":")[0]
    rows = where(measured.tables[data], algorithm=name, knob_learning_rate=rate)
    return by_seed(rows, "log_likelihood", float(rows["n"].max()))


def numbers(measured: Measurements, size: Size) -> dict[str, Estimate]:
    result = {}
    for data in BATCH:
        pop = ends(measured, "pop-CD-1", data, 0.1)
        result[f"{data}_cd"] = difference(pop, ends(measured, "CD-1", data, 0.1))
        result[f"{data}_pcd"] = difference(pop, ends(measured, "PCD", data, 0.1))
        if size == "full":
            result[f"{data}_rates"] = difference(ends(measured, "pop-CD-1", data, 0.01), pop)
    return result


def drawing(measured: Measurements, size: Size) -> Drawing:
    rows = []
    for data in BATCH:
        for rate in RATES if size == "full" else RATES[:1]:
            for label, text in TRAINERS.items():
                if size == "full" or label != "PT-10":
                    wanted: dict[str, Any] = {"algorithm": text.partition(":")[0], "knob_learning_rate": rate}
                    panel = f"{data}, rate {rate:g}"
                    rows += curve(measured.tables[data], "log_likelihood", label, panel, least=20, **wanted)
    return Drawing(rows, "Updates", LIKELIHOOD.titled(unit="nats a row"), log_x=True)


RECIPE = Recipe(
    paper="population_cd",
    place=20,
    title="Training on MNIST and Letters, 16 hidden units",
    source="Section 4.2, figure 2",
    claims=(
        claim(
            "mnist",
            "On MNIST pop-CD-1 reaches higher likelihoods than CD-1.",
            "Pop-CD-1 still reaches higher likelihood values than CD-1, which stops improving after 3,000",
            Bound("mnist_cd", "end, pop-CD-1 less CD-1, MNIST, rate 0.1 (nats)", at_least=0),
            shortened={
                "quick": "A quick run ends at 1,000 updates, before the plateau of which the paper speaks."
            },
        ),
        claim(
            "letters",
            "On Letters all trainers are almost the same.",
            "All algorithms performed almost the same on Letters",
            Bound("letters_cd", "end, pop-CD-1 less CD-1, Letters, rate 0.1 (nats)", -0.5, 0.5),
            Bound("letters_pcd", "end, pop-CD-1 less PCD, Letters, rate 0.1 (nats)", -0.5, 0.5),
            shortened={"quick": "A quick run ends at 2,000 updates; the paper's has 10,000 and 30,000."},
            live_link=on_train(
                "letters",
                "cd:learning_rate=0.1,batch_size=246",
                "pop_cd:learning_rate=0.1,batch_size=246",
                "pcd:learning_rate=0.1,schedule=constant,batch_size=246,n_chains=246",
            ),
        ),
        claim(
            "smaller_rate",
            "Pop-CD is slightly better with the smaller rate.",
            "Slightly better with a smaller learning rate of 0.01 than with 0.1",
            *(
                Bound(f"{data}_rates", f"end, rate 0.01 less 0.1, pop-CD-1, {data} (nats)", at_least=0)
                for data in BATCH
            ),
            live_link=on_train(
                "mnist5k", *(f"pop_cd:learning_rate={rate:g},batch_size=500" for rate in RATES)
            ),
        ),
    ),
    about=(
        "16 hidden units, batches of 500 and 246 rows and as many chains, exact log-likelihood of the "
        "training part. A quick run has five seeds, rate 0.1, and fewer updates than the paper; PT-10 and "
        "the rate 0.01 are part of a full run."
    ),
    cost={"quick": 5.2, "medium": 6.0, "full": 2500.0},
    live_link=on_train("mnist5k", "cd:learning_rate=0.1", "pop_cd:learning_rate=0.1"),
    needs=("mnist", "letters"),
)
