"""How it works: an RBM unit by unit, a model small enough to draw all its states, an editable matrix."""

import math
from collections.abc import Mapping
from typing import Any, get_args

from rbmviz.metrics.landscape import Order
from rbmviz.models import LANDSCAPE_PATTERNS, pattern_model, random_model
from rbmviz.pages.settings import MultipleOf, SettingSpec, seed_setting
from rbmviz.pages.spec import PageSpec, Sources
from rbmviz.registry import samplers
from rbmviz.session import LandscapeSetup

MATRIX_NAMES = (
    *("two wells", "sticky ring", "one deep trap", "it backfires", "Gibbs on 3 units"),
    "the landscape’s Gibbs chain",
)
"""The available matrices; the last is computed from the landscape."""

RANDOM_WEIGHTS = "random weights"
"""The landscape choice for a model with random weights."""


def setup(values: Mapping[str, Any], sources: Sources) -> LandscapeSetup:
    """Return the small model shared by all panels."""
    name, depth, seed = values["land"], values["land_depth"], values["land_seed"]
    if name == RANDOM_WEIGHTS:
        model = sources.once((name, depth, seed), lambda: random_model(6, 4, depth / 4, seed))
    elif name in LANDSCAPE_PATTERNS:
        model = sources.once((name, depth), lambda: pattern_model(LANDSCAPE_PATTERNS[name], depth))
    else:  # trained on the Train page
        model = sources.model(name)
    return LandscapeSetup(model, seed)


SPEC = PageSpec(
    name="chain",
    panels_key="l",
    algorithms=samplers,
    default_panels=("gibbs", "rates_fpcd:eps=0.05", "sample_penalization:eps=0.05,alpha=0.9"),
    settings={
        "little": SettingSpec(
            "landscape",
            ("units", "landscape", "matrix"),
            "Look at",
            "A model drawn unit by unit; every state of a small model while chains move among them; then "
            "the idea itself, on a matrix.",
            left_alone=True,
        ),
        "land": SettingSpec(
            "two halves",
            (*LANDSCAPE_PATTERNS, RANDOM_WEIGHTS),
            "Landscape",
            "A small model with one valley for each pattern, a model with random weights, or a "
            "small one from the Train page.",
            makes_samples=True,
        ),
        "land_depth": SettingSpec(
            9.0,
            MultipleOf(2.0, 12.0, 0.5),
            "Depth",
            "Depth of each valley in nats. Each nat makes Gibbs stay about two and a half times as "
            "long. Random weights have a quarter of it as standard deviation.",
            makes_samples=True,
        ),
        "land_seed": seed_setting(
            "The same seed gives the same samples. All panels share it; random weights depend on it.",
        ),
        "land_order": SettingSpec(
            "valley",
            get_args(Order),
            "Order of the states",
            "Valleys side by side; neighbours that differ in one bit (Gray code); or states as "
            "binary numbers.",
        ),
        "land_curve": SettingSpec(
            "visits",
            ("visits", "moments"),
            "Compare",
            "The share of visits against the model’s distribution, or the mean sample against the rates.",
        ),
        "land_pace": SettingSpec(
            20,
            (1, 2, 5, 10, 20, 100, 1000, math.inf),
            "Samples per second",
            "Slow to follow every jump; fast to see where the visits end.",
        ),
        "chain_matrix": SettingSpec(
            "two wells",
            MATRIX_NAMES,
            "Chain",
            "A table to edit, or the Gibbs chain of the model that the landscape shows.",
            left_alone=True,
        ),
        "chain_steps": SettingSpec(40, (10, 20, 40, 100, 400, 2000), "Steps", left_alone=True),
        "chain_log": SettingSpec(False, (False, True), "Log scale", left_alone=True),
    },
    setup=setup,
    steps="samples",
    speed="land_pace",
)
