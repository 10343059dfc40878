"""Rates-FPCD, section 3: a chain that stays less often has the same distribution and mixes faster."""

from typing import Any

import numpy as np

from papers.claims import Bound, Estimate, Size, claim
from papers.drawing import Drawing
from papers.recipe import Measurements, Recipe, Work, per_seed, seeds
from rbmviz.metrics import (
    eigenvalues,
    probabilities,
    remove_self_transitions,
    stationary_law,
    total_variation,
    transition_matrix,
)
from rbmviz.models import random_model


def random_chains(kind: str, chains: int, seed: int) -> dict[str, Any]:
    """Remove the smallest self-transition of random chains; return the effect.

    kind : "dense" (rows of uniform numbers), "lazy" (the same, staying with probability 1/2), "two wells" (a
        lazy walk over a barrier), or "gibbs" (a sweep of a random RBM with 4 + 4 units)
    """
    g = np.random.default_rng([seed, len(kind)])
    apart, before, after = [], [], []
    for chain in range(chains):
        if kind == "gibbs":
            A = transition_matrix(random_model(4, 4, float(g.uniform(0.5, 2)), 1000 * seed + chain).rbm)
        elif kind == "two wells":
            depth = g.uniform(2, 6)
            energy = depth * np.cos(np.linspace(0, 4 * np.pi, 12)) / 2
            steps = np.minimum(1, np.exp(energy[:, None] - energy[None, :])) / 4
            A = np.where(abs(np.subtract.outer(np.arange(12), np.arange(12))) == 1, steps, 0.0)
            A += np.diag(1 - A.sum(axis=1))
        else:
            A = g.random((8, 8))
            A /= A.sum(axis=1, keepdims=True)
            A = (A + np.eye(8)) / 2 if kind == "lazy" else A
        B = remove_self_transitions(A, float(A.diagonal().min()) * 0.999)
        apart.append(total_variation(stationary_law(A), stationary_law(B)))
        before.append(abs(eigenvalues(A)[1]))
        after.append(abs(eigenvalues(B)[1]))
    faster = np.array(after) < np.array(before)
    result = {
        "apart": max(apart),
        "faster": faster.mean(),
        "before": np.mean(before),
        "after": np.mean(after),
    }
    if kind == "gibbs":  # stationary at the model's distribution
        model = random_model(4, 4, 1.0, seed).rbm
        result["model"] = total_variation(stationary_law(transition_matrix(model)), probabilities(model))
    return result


CONSTRUCTIONS = ("dense", "lazy", "two wells", "gibbs")


def work(size: Size) -> list[Work]:
    """Return random chains of four constructions."""
    jobs = []
    for kind in CONSTRUCTIONS:
        jobs += per_seed(kind, random_chains, {"kind": kind, "chains": 50}, seeds(size, quick=4, full=20))
    return jobs


def numbers(measured: Measurements, size: Size) -> dict[str, Estimate]:
    result = {f"faster_{kind}": measured.mean(kind, "faster") for kind in CONSTRUCTIONS}
    return result | {"apart": Estimate(max(run["apart"] for run in measured.jobs.values()))}


def drawing(measured: Measurements, size: Size) -> Drawing:
    rows = [
        {"x": kind, "y": measured.mean(kind, when).value, "series": when}
        for kind in CONSTRUCTIONS
        for when in ("before", "after")
    ]
    return Drawing(rows, "Construction", "Second eigenvalue (mean modulus)", mark="bar")


RECIPE = Recipe(
    paper="rates_fpcd",
    place=130,
    title="Staying less often",
    source="Section 3",
    claims=(
        claim(
            "same_law",
            "Removing mass from all self-transitions leaves the stationary law as it is.",
            "The new chain converges to the same asymptotic distribution (proved)",
            Bound("apart", "largest total variation distance of the two laws", at_most=1e-8),
            live_link="chain?little=matrix&chain_matrix=sticky+ring",
        ),
        claim(
            "mixes_faster",
            "A chain that stays less often mixes faster.",
            "A procedure that unlearns what it yields is likely to have good mixing (an argument)",
            *(
                Bound(
                    f"faster_{kind}", f"share of chains whose second eigenvalue falls, {kind}", at_least=0.9
                )
                for kind in CONSTRUCTIONS
            ),
        ),
    ),
    about=(
        "Random chains of four constructions, whose smallest self-transition probability is removed. The law "
        "is exact; whether the second eigenvalue falls depends on the construction: removing lambda moves an "
        "eigenvalue z to (z - lambda) / (1 - lambda), which is farther from 0 if z is small or negative."
    ),
    cost={"quick": 0.1, "full": 0.2},
    live_link="chain?little=matrix",
)
