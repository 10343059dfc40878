"""Rates-FPCD, section 5.1: the comparison holds for models of all trainers, and rates-FPCD varies least."""

import numpy as np

from rbmviz.reproduce.claims import Number, PaperClaim, Part, Size
from rbmviz.reproduce.drawing import Drawing
from rbmviz.reproduce.recipe import Found, Recipe, SweepPart, Work, live
from rbmviz.reproduce.run import seeds
from rbmviz.reproduce.tables import by_seed, difference, dots, mean
from rbmviz.sweeps import Budget, SweepPlan

MODELS = ("mnist_cd1", "mnist_pcd", "mnist_fpcd")
SAMPLERS = ("gibbs", "rates_fpcd:eps=0.03", "rates_herding:eps=0.03")


def length(size: Size) -> int:
    """Return the samples of a run."""
    return 5000 if size == "quick" else 50_000


def work(size: Size) -> list[Work]:
    """Return the work: three samplers on three models."""
    plan = SweepPlan(
        algorithms=SAMPLERS,
        models=MODELS,
        seeds=seeds(size, 4, 40),
        budget=Budget("samples", length(size)),
        metrics=("isl_test", "isl_validation", "blank"),
    )
    return [SweepPart("models", plan)]


def of(found: Found, size: Size, model: str, algorithm: str) -> dict[int, float]:
    """Return the ISL of each seed at the end."""
    return by_seed(found.tables["models"], "isl_test", length(size), model=model, algorithm=algorithm)


def numbers(found: Found, size: Size) -> dict[str, Number]:
    """Return differences on each model, and the spread over models and seeds of each sampler."""
    result = {
        model: difference(of(found, size, model, "rates_fpcd"), of(found, size, model, "gibbs"))
        for model in MODELS
    }
    one = of(found, size, MODELS[0], "gibbs")

    def spread(algorithm: str) -> dict[int, float]:
        each = [of(found, size, model, algorithm) for model in MODELS]
        return {seed: float(np.std([values[seed] for values in each], ddof=1)) for seed in one}

    return result | {"spread": difference(spread("gibbs"), spread("rates_fpcd"))}


def drawing(found: Found, size: Size) -> Drawing:
    """Return the ISL on each model."""
    rows = []
    for text in SAMPLERS:
        name = text.partition(":")[0]
        rows += dots([(model, mean(of(found, size, model, name))) for model in MODELS], name)
    return Drawing(rows, "", "ISL, test part (nats)", mark="point")


RECIPE = Recipe(
    paper="rates_fpcd",
    place=70,
    title="Models of all trainers",
    source="Section 5.1",
    claims=(
        PaperClaim(
            "every_model",
            "Rates-FPCD is better than Gibbs whatever trainer has made the model.",
            "In general, the results of the comparison hold regardless of the trained model",
            tuple(
                Part(model, f"ISL on `{model}`, rates-FPCD less Gibbs (nats)", at_least=0) for model in MODELS
            ),
        ),
        PaperClaim(
            "less_spread",
            "Its ISL varies less from model to model.",
            "Mean and variance of the ISL, respectively, higher and lower",
            (Part("spread", "standard deviation over models, Gibbs less rates-FPCD (nats)", at_least=0),),
            live=live("sample", SAMPLERS, model="mnist_pcd"),
        ),
    ),
    about=(
        "Three models of MNIST with 500 hidden units, trained by CD-1, PCD and FPCD; one chain each, one "
        "sweep a sample. The second claim is one about models of words in the paper."
    ),
    cost={"quick": 0.4, "full": 35.0},
    work=work,
    numbers=numbers,
    drawing=drawing,
    live=live("sample", SAMPLERS, model="mnist_cd1"),
)
