"""Population CD, sections 3.1 and 3.2: the estimate is consistent, and costs little more than that of CD."""

import time
from typing import Any

import numpy as np

from rbmviz.datasets import load_dataset
from rbmviz.gradient import enumerated, gradient_quality
from rbmviz.links import link_to
from rbmviz.models import load_model
from rbmviz.registry import trainers
from rbmviz.reproduce.claims import Number, PaperClaim, Part, Size
from rbmviz.reproduce.drawing import Drawing
from rbmviz.reproduce.recipe import Found, Piece, Recipe, Work
from rbmviz.reproduce.run import seeds
from rbmviz.reproduce.tables import dots
from rbmviz.trainers import make_trainer, train

POPULATIONS = (8, 32, 128, 512)
HIDDEN = (16, 500)


def biases(model: str, data: str, populations: list[int], replications: int, seed: int) -> dict[str, Any]:
    """Return the squared bias per parameter of pop-CD by the size of its population, and that of CD."""
    rbm, rows = load_model(model).rbm, load_dataset(data).train
    reference = enumerated(rbm, rows)
    found = {}
    for n in populations:
        for name in ("pop_cd", "cd"):
            one = make_trainer(name, k=1, n_chains=n)
            quality = gradient_quality(rbm, rows, one, replications, seed, reference=reference)
            found[f"{name}-{n}"] = {"bias": quality.bias_corrected, "error": quality.std_error}
    return found


def seconds(data: str, n_hidden: int, updates: int, seed: int) -> dict[str, Any]:
    """Return seconds of processor time of an update of each trainer; they take turns."""
    rows = load_dataset(data).train
    common = "schedule=constant,batch_size=500"
    texts = {
        "cd": "cd:k=1",
        "pop_cd": "pop_cd:k=1",
        "pt": "pt:n_temperatures=10,n_chains=500,learning_rate=0.01",
    }
    running = {
        name: train(rows, trainers.read(f"{text},{common}"), n_hidden, 6 * updates, seed, every=updates)
        for name, text in texts.items()
    }
    spent = dict.fromkeys(texts, 0.0)
    for turn in range(6):
        for name, one in running.items():
            begin = time.thread_time()
            next(one)
            # The first turn compiles.
            spent[name] += (time.thread_time() - begin) * (turn > 0)
    return {name: value / (5 * updates) for name, value in spent.items()}


def work(size: Size) -> list[Work]:
    """Return the work: biases over populations, and times of updates."""
    quick = size == "quick"
    given: dict[str, Any] = {"model": "bas_cd1", "data": "bas", "populations": list(POPULATIONS)}
    given |= {"replications": 2000 if quick else 50_000}
    found: list[Work] = [
        Piece(f"bias-{seed}", biases, given | {"seed": seed}) for seed in seeds(size, quick=6, full=12)
    ]
    for n in HIDDEN:
        timed: dict[str, Any] = {"data": "mnist5k", "n_hidden": n, "updates": 10 if quick else 50}
        found += [
            Piece(f"time-{n}-{seed}", seconds, timed | {"seed": seed})
            for seed in seeds(size, quick=5, full=10)
        ]
    return found


def resolved(one: Any, name: str, n: int) -> float:
    """Return a squared bias; the noise of the estimates stands for one that is lost in it."""
    found = one[f"{name}-{n}"]
    return max(found["bias"], 2 * found["error"])


def numbers(found: Found, size: Size) -> dict[str, Number]:
    """Return slopes of the bias over the population, and ratios of times."""
    logs = np.log10(POPULATIONS)
    result = {
        f"slope_{name}": Number.of(
            [
                float(np.polyfit(logs, [np.log10(resolved(one, name, n)) for n in POPULATIONS], 1)[0])
                for one in found.each("bias-")
            ]
        )
        for name in ("pop_cd", "cd")
    }
    for n in HIDDEN:
        each = found.each(f"time-{n}-")
        result[f"time_{n}"] = Number.of([one["pop_cd"] / one["cd"] for one in each])
        result[f"pt_{n}"] = Number.of([one["pt"] / one["pop_cd"] for one in each])
    return result


def drawing(found: Found, size: Size) -> Drawing:
    """Return the biases over populations."""
    rows = []
    for name in ("pop_cd", "cd"):
        each = [
            (n, Number.of([float(np.log10(resolved(one, name, n))) for one in found.each("bias-")]))
            for n in POPULATIONS
        ]
        rows += dots(each, name)
    return Drawing(rows, "Samples of an estimate", "log10 of the squared bias per parameter", log_x=True)


RECIPE = Recipe(
    paper="population_cd",
    place=48,
    title="Consistency and cost",
    source="Abstract, sections 3.1 and 3.2",
    claims=(
        PaperClaim(
            "consistent",
            "The bias of pop-CD vanishes as its population grows; that of CD does not.",
            "Compared to CD, it leads to a consistent estimate",
            (
                Part("slope_pop_cd", "slope of log squared bias over log samples, pop-CD-1", at_most=-0.5),
                Part("slope_cd", "the same, CD-1", -0.1, 0.1),
            ),
        ),
        PaperClaim(
            "negligible_cost",
            "The cost of the weights is negligible.",
            "Its computational overhead is negligible compared to CD",
            tuple(
                Part(f"time_{n}", f"time of an update, pop-CD-1 over CD-1, {n} hidden units", at_most=1.2)
                for n in HIDDEN
            ),
            live_link=link_to("train", ("cd:batch_size=500", "pop_cd:batch_size=500"), train_data="mnist5k"),
        ),
        PaperClaim(
            "pt_costs_more",
            "Parallel tempering with 10 temperatures costs far more.",
            "The computationally more expensive PT-10",
            tuple(
                Part(f"pt_{n}", f"time of an update, PT-10 over pop-CD-1, {n} hidden units", at_least=2)
                for n in HIDDEN
            ),
            live_link=link_to(
                "train",
                (
                    "pop_cd:batch_size=500",
                    "pt:learning_rate=0.01,schedule=linear,batch_size=500,n_chains=500",
                ),
                train_data="mnist5k",
            ),
        ),
    ),
    about=(
        "Bias: estimates of 8 to 512 samples on `bas_cd1`, against the exact gradient; a self-normalised "
        "mean of n weighted samples has a bias of order 1/n, which is a slope of -2 of its square, once n is "
        "large enough. Cost: processor time of one thread in updates of 500 rows of MNIST digits, in turns. "
        "It is one of this program: a weight needs a logarithm for each pixel of a sample, which CD never "
        "computes, and the fewer hidden units there are, the more that weighs."
    ),
    cost={"quick": 1.7, "full": 20.0},
    work=work,
    numbers=numbers,
    drawing=drawing,
    live_link=link_to("weights", ("pop_cd:n_chains=32", "pop_cd:n_chains=500"), weights_model="bas_cd1"),
)
