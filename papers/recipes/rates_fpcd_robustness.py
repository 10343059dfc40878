"""Rates-FPCD, section 5.1: the comparison holds for models of all trainers, and rates-FPCD varies least."""

import numpy as np

from papers.claims import Bound, Estimate, Size, claim
from papers.drawing import Drawing
from papers.recipe import Measurements, Recipe, Work, on_sample, seeds, sweep
from papers.tables import by_seed, difference, dots, mean
from rbmviz.sweeps import Budget

DATA = ("mnist", "usps", "letters", "newsgroups")
TRAINERS = ("cd1", "pcd", "fpcd")
MODELS = {data: tuple(f"{data}_{trainer}" for trainer in TRAINERS) for data in DATA}
SAMPLERS = ("gibbs", "rates_fpcd:eps=0.03", "rates_herding:eps=0.03")
SAMPLES = {"quick": 5000, "full": 50_000}


def work(size: Size) -> list[Work]:
    """Return three samplers on the models of each data set."""
    return [
        sweep(
            data,
            algorithms=SAMPLERS,
            models=MODELS[data],
            seeds=seeds(size, quick=12 if data == "mnist" else 5, full=40),
            budget=Budget("samples", SAMPLES[size]),
            metrics=("isl_test", "isl_validation", "blank"),
        )
        for data in DATA
    ]


def of(measured: Measurements, size: Size, model: str, algorithm: str) -> dict[int, float]:
    """Return the final ISL by seed."""
    data = model.rpartition("_")[0]
    return by_seed(measured.tables[data], "isl_test", SAMPLES[size], model=model, algorithm=algorithm)


def spread(measured: Measurements, size: Size, data: str, algorithm: str) -> dict[int, float]:
    """Return the standard deviation over the models of a data set, by seed."""
    each = [of(measured, size, model, algorithm) for model in MODELS[data]]
    return {seed: float(np.std([values[seed] for values in each], ddof=1)) for seed in each[0]}


def numbers(measured: Measurements, size: Size) -> dict[str, Estimate]:
    result = {
        model: difference(of(measured, size, model, "rates_fpcd"), of(measured, size, model, "gibbs"))
        for models in MODELS.values()
        for model in models
    }
    for data in DATA:
        gibbs, fpcd = (spread(measured, size, data, name) for name in ("gibbs", "rates_fpcd"))
        result[f"spread_{data}"] = difference(gibbs, fpcd)
    return result


def drawing(measured: Measurements, size: Size) -> Drawing:
    rows = []
    for data in DATA:
        for text in SAMPLERS:
            name = text.partition(":")[0]
            each = [(model, mean(of(measured, size, model, name))) for model in MODELS[data]]
            rows += dots(each, name, f"{data}: ISL, test part (nats)")
    return Drawing(rows, "", "", mark="point")


RECIPE = Recipe(
    paper="rates_fpcd",
    place=70,
    title="Models of all trainers",
    source="Section 5.1",
    claims=(
        claim(
            "every_model",
            "Rates-FPCD is better than Gibbs whatever trainer has made the model.",
            "In general, the results of the comparison hold regardless of the trained model",
            *(
                Bound(model, f"ISL on `{model}`, rates-FPCD less Gibbs (nats)", at_least=0)
                for models in MODELS.values()
                for model in models
            ),
        ),
        claim(
            "less_spread",
            "Its ISL varies less from model to model.",
            "Mean and variance of the ISL, respectively, higher and lower",
            *(
                Bound(
                    f"spread_{data}",
                    f"standard deviation over the models of {data}, Gibbs less rates-FPCD (nats)",
                    at_least=0,
                )
                for data in DATA
            ),
            live_link=on_sample("mnist_pcd", *SAMPLERS),
        ),
    ),
    about=(
        "Models of MNIST, USPS, letters and newsgroups, each trained by CD-1, PCD and FPCD; one chain each, "
        "one sweep a sample. The second claim is one about models of words in the paper."
    ),
    cost={"quick": 2.0, "full": 18.0},
    live_link=on_sample("mnist_cd1", *SAMPLERS),
    needs=("usps", "letters", "newsgroups"),
)
