"""Settings of the Little-chain page, and the model of its landscape."""

from rbmviz import Model
from rbmviz.pages import PAGES
from rbmviz.session import LandscapeSetup
from rbmviz_app import controls, links
from rbmviz_app.session import COMPARISONS, PageSettings
from rbmviz_app.shared import page_sources

Settings = PageSettings(PAGES["chain"].settings)


def choose_landscape() -> LandscapeSetup:
    """Draw the settings of the landscape; return its panels' common setup."""
    own = links.own_names("land")
    name = controls.select(
        Settings.land,
        options=[*Settings.land.spec.options(), *own],
        width=170,
        label_visibility="collapsed",
    )
    controls.slide_number(Settings.land_depth, format="%g", width=220, disabled=name in own)
    with controls.settings("chain"):
        controls.number(Settings.land_seed)
        controls.choose(Settings.land_order)
    return setup_now()


def setup_now() -> LandscapeSetup:
    """Return the common setup of the landscape's panels."""
    setup: LandscapeSetup = PAGES["chain"].setup(Settings.values_now(), page_sources())
    return setup


def landscape_model() -> Model:
    """Return the model of the landscape, opened or not."""
    comparison = COMPARISONS.value.get("chain")
    return comparison[0].setup.model if comparison else setup_now().model
