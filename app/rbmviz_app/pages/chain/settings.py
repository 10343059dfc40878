"""Settings of the Little-chain page, and the model of its landscape."""

import contextlib
from typing import Any

from rbmviz import BadInput, Model
from rbmviz.metrics.landscape import MAX_VISIBLE_LANDSCAPE
from rbmviz.models import LANDSCAPE_PATTERNS, pattern_model
from rbmviz.pages import PAGES
from rbmviz.session import LandscapeSetup
from rbmviz_app import controls, links, session
from rbmviz_app.session import COMPARISONS, TRAINED, PageSettings, Setting
from rbmviz_app.shared import once, random_landscape

RANDOM_WEIGHTS = "random weights"


Settings = PageSettings(PAGES["chain"].settings)


def choose_landscape() -> LandscapeSetup:
    """Draw the settings of the landscape; return what all its panels share."""
    small = {
        name: model for name, model in TRAINED.value.items() if model.rbm.n_visible <= MAX_VISIBLE_LANDSCAPE
    }
    name = controls.select(Settings.land, options=[*LANDSCAPE_PATTERNS, RANDOM_WEIGHTS, *small], width=170)
    depth = controls.slide_number(Settings.land_depth, format="%g", width=150, disabled=name in small)
    with controls.settings("chain"):
        seed = controls.number(Settings.land_seed)
        controls.choose(Settings.land_order)
    if name in small:
        model = small[name]
    elif name == RANDOM_WEIGHTS:
        model = random_landscape(depth / 4, seed)
    else:
        model = _patterns(name, depth)
    return LandscapeSetup(model, seed)


def _patterns(name: str, depth: float) -> Model:
    made_of = LANDSCAPE_PATTERNS[name], depth
    return once(("patterns", made_of), lambda: pattern_model(*made_of))


def landscape_model() -> Model:
    """Return the model of the landscape; if it has not been opened, the one that the address names."""
    comparison = COMPARISONS.value.get("chain")
    if comparison:
        return comparison[0].setup.model
    _begin_landscape_with_link()
    name, depth = Settings.land.value, Settings.land_depth.value
    if name == RANDOM_WEIGHTS:
        return random_landscape(depth / 4, Settings.land_seed.value)
    return _patterns(name if name in LANDSCAPE_PATTERNS else Settings.land.default, depth)


def _begin_landscape_with_link() -> None:
    """Take from the link what it says of the landscape, whose widgets are not drawn; nonsense is left out."""
    for text in links.values(Settings.land.key)[:1]:
        if text in (*LANDSCAPE_PATTERNS, RANDOM_WEIGHTS):
            session.start_with(Settings.land.key, text)
    for setting in (Settings.land_depth, Settings.land_seed):
        for text in links.values(setting.key)[:1]:
            with contextlib.suppress(BadInput):
                session.start_with(setting.key, setting.spec.read(setting.label, [text]))


def address_of(*settings: Setting[Any]) -> dict[str, list[str]]:
    """Return what the address says of settings, by name; those at their defaults are not written."""
    return {one.key: one.texts(one.value) for one in settings}
