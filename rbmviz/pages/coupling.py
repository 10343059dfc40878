"""Coupling: two chains of one model, sampled jointly until they meet."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rbmviz.coupling import STATISTICS
from rbmviz.models import list_models, random_rbm
from rbmviz.pages.settings import SettingSpec, Whole, seed_setting
from rbmviz.pages.spec import RANDOM_MODEL, PageSpec, Sources
from rbmviz.rbm import Model
from rbmviz.registry import Table
from rbmviz.session import Coupling, CouplingRun, CouplingSetup, CouplingSnapshot


def models() -> list[str]:
    """Return the names of the models whose chains can be coupled."""
    return [RANDOM_MODEL, *list_models()]


def setup(values: Mapping[str, Any], sources: Sources) -> CouplingSetup:
    """Return the model and the starts of all pairs."""
    name, seed = values["coupling_model"], values["coupling_seed"]
    if name == RANDOM_MODEL:
        size = values["coupling_visible"], values["coupling_hidden"], seed
        model = sources.once(("random", size), lambda: Model(random_rbm(*size)))
    else:
        model = sources.model(name)
    dataset = None if values["coupling_start"] == "random" else sources.data_of(model)
    return CouplingSetup(model.rbm, dataset, seed)


def first_pairs(snapshot: CouplingSnapshot, n: int) -> CouplingSnapshot:
    """Return a snapshot with the first n pairs of each algorithm, which count them at different speeds."""
    ended = [pair for pair in snapshot.displayed_pairs if pair.counted.n >= n]
    pairs = (pair._replace(counted=pair.counted.first(n)) for pair in ended)
    return replace(snapshot, displayed_pairs=tuple(pairs))


def count_pairs(run: CouplingRun, values: Mapping[str, Any], n: int) -> None:
    """Count n pairs of each algorithm, with the k that is set for estimates, or 1 if they are hidden."""
    run.request_results(k=values["estimate_k"] if values["coupling_more"] else 1, exact=False)
    while SPEC.count(run.view("paused")) < n:
        run.background_work(False)


COUPLINGS = Table("panel")
"""The table of the page's only algorithm."""
COUPLINGS.add(Coupling.name, Coupling)

SPEC = PageSpec(
    name="coupling",
    panels_key="c",
    algorithms=COUPLINGS,
    default_panels=("coupling:scale=0.5",),
    settings={
        "coupling_model": SettingSpec(
            RANDOM_MODEL,
            models,
            "Model",
            "A random model whose parameters you scale, or a trained one. With well-separated modes "
            "chains hardly meet.",
            makes_samples=True,
        ),
        "coupling_visible": SettingSpec(
            100,
            Whole(1, 1000),
            "Visible units",
            "Pixels of an image. The exact curves need at most about 20.",
            makes_samples=True,
        ),
        "coupling_hidden": SettingSpec(
            40,
            Whole(1, 1000),
            "Hidden units",
            "All parameters are drawn from N(0, 1) and then scaled, as in the UCD paper, appendix A.2.",
            makes_samples=True,
        ),
        "coupling_start": SettingSpec(
            "random",
            ("random", "data"),
            "Start from",
            "All couplings have the same starts. The trainer UCD starts from training data.",
            makes_samples=True,
        ),
        "coupling_seed": seed_setting(
            "Seed of random models, starts and chains: the same seed repeats every pair.",
        ),
        "tau_log": SettingSpec(True, (False, True), "Log scale", "Shows how heavy the tail is."),
        "lag": SettingSpec(
            10,
            (1, 2, 5, 10, 20, 50, 100, 200, 500),
            "Lag L",
            "Sweeps by which the first chain of a pair is ahead. A larger lag gives a sharper "
            "bound. Changing it starts new pairs.",
            fold="coupling_more",
        ),
        "tv_log": SettingSpec(
            False, (False, True), "Log scale", "Shows the rate of decay.", fold="coupling_more"
        ),
        "coupling_statistic": SettingSpec(
            "both units on",
            tuple(STATISTICS),
            "Statistic",
            "A mean under the model, of the two units with the largest weight.",
            fold="coupling_more",
        ),
        "estimate_k": SettingSpec(
            1,
            (1, 2, 3, 5, 10, 20, 50),
            "k",
            "Sweeps before the estimate begins. More sweeps reduce the bias of CD and the spread of UCD. "
            "Changing it restarts the pairs of all charts with lag 1.",
            fold="coupling_more",
        ),
        "coupling_more": SettingSpec(False, (False, True), left_alone=True),
        "coupling_speed": SettingSpec(
            10,
            (1, 2, 5, 10, 30, 100, math.inf),
            "Sweeps per second",
            "Speed of the displayed pairs. The charts count pairs in the background, at full speed.",
        ),
    },
    setup=setup,
    steps="pairs",
    speed="coupling_speed",
    only="coupling",
    single=True,
    # A trained model is coupled with default knobs; only random models begin with others.
    own_panels=lambda values: () if values["coupling_model"] == RANDOM_MODEL else (Coupling.name,),
    count=lambda snapshot: min((pair.counted.n for pair in snapshot.displayed_pairs), default=0),
    advance=count_pairs,
    first=first_pairs,
)
