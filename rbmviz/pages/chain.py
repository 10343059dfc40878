"""Little chain: a model small enough to draw every state, a matrix to edit, and an RBM unit by unit."""

import math
from collections.abc import Mapping
from typing import Any, get_args

from rbmviz.metrics.landscape import Order
from rbmviz.metrics.numbers import NUMBERS
from rbmviz.models import LANDSCAPE_PATTERNS, pattern_model
from rbmviz.pages.settings import MultipleOf, SettingSpec, Whole
from rbmviz.pages.spec import PageSpec, Sources
from rbmviz.registry import samplers
from rbmviz.session import LandscapeSetup

MATRIX_NAMES = (
    *("two wells", "sticky ring", "one deep trap", "it backfires", "Gibbs on 3 units"),
    "the landscape’s Gibbs chain",
)
"""The matrices that can be chosen; the last is made from the landscape."""


def setup(values: Mapping[str, Any], sources: Sources) -> LandscapeSetup:
    """Return the small model that all panels share."""
    made_of = LANDSCAPE_PATTERNS[values["land"]], values["land_depth"]
    model = sources.once(("patterns", made_of), lambda: pattern_model(*made_of))
    return LandscapeSetup(model, values["land_seed"])


SPEC = PageSpec(
    name="chain",
    panels_key="l",
    algorithms=samplers,
    default_panels=("gibbs", "rates_fpcd:eps=0.05", "sample_penalization:eps=0.05,alpha=0.9"),
    settings={
        "little": SettingSpec("landscape", ("landscape", "matrix", "units"), left_alone=True),
        "land": SettingSpec("two halves", tuple(LANDSCAPE_PATTERNS), "Landscape", makes_samples=True),
        "land_depth": SettingSpec(9.0, MultipleOf(2.0, 12.0, 0.5), "Depth", makes_samples=True),
        "land_seed": SettingSpec(0, Whole(0, 2**31 - 1), "Seed", makes_samples=True),
        "land_order": SettingSpec("valley", get_args(Order), "Order of the states"),
        "land_curve": SettingSpec("visits", ("visits", "moments")),
        "land_pace": SettingSpec(20, (1, 2, 5, 10, 20, 100, 1000, math.inf), "Samples per second"),
        "chain_matrix": SettingSpec("two wells", MATRIX_NAMES, left_alone=True),
        "chain_steps": SettingSpec(40, (10, 20, 40, 100, 400, 2000), left_alone=True),
        "chain_log": SettingSpec(False, (False, True), left_alone=True),
    },
    setup=setup,
    numbers=lambda algorithm: NUMBERS["chain"],
    steps="samples",
    speed="land_pace",
    own_parts={"A": "a matrix", "lam": "a matrix"},
)
