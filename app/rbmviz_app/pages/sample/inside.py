"""The fold *Inside the model* of the Sample page: its hidden units, which can be held, and free energies."""

from typing import Any

import streamlit as st

from rbmviz import BadInput
from rbmviz.charts import Chart, Style, catalogue
from rbmviz.charts.style import GREY
from rbmviz.pages import PAGES
from rbmviz.rbm.clamp import FREE, as_clamp
from rbmviz.session import SamplingSetup
from rbmviz.view import PANEL_FOLDER
from rbmviz.view.specs import shape_of
from rbmviz_app import messages, session
from rbmviz_app.compared import curves_of
from rbmviz_app.component import component
from rbmviz_app.page import FOLDED_HEIGHT, TEXT, catch_up_settings, live_chart
from rbmviz_app.race import PageRace
from rbmviz_app.session import NEWEST_EVENTS, Entry, PageSettings, set_undrawn
from rbmviz_app.stream.tiles import energies_of_data, energies_of_samples, hidden_units, share_on, unit_facts

Settings = PageSettings(PAGES["sample"].settings)

UNIT: Entry[int] = Entry("hidden unit", lambda: FREE)
"""Number of the hidden unit that the reader has chosen, from 0; FREE: none."""

INSIDE_KEY = "inside"
TWO_PARTS = (Style("training data", GREY), Style("test data", GREY, (2, 2)))
HOW_TO_LOOK = (
    "Each picture is a hidden unit: orange pixels switch it on, blue ones off. Choose one to see what it "
    "responds to, and hold it on or off: all samplers then draw from the model given that unit."
)

_scripts = [PANEL_FOLDER / f"{name}.js" for name in ("frame", "mosaic", "loupe")]
_inside = component(INSIDE_KEY, [*_scripts, "pages/sample/inside.js"], ["pages/sample/inside.css"])


@st.fragment
def draw_inside(race: PageRace[SamplingSetup]) -> None:
    """Draw the hidden units, how often the chosen one is on, and the histogram of free energies."""
    catch_up_settings(race)  # a unit has just been held or set free: all of the page restarts with it
    dataset = race.setup.dataset
    if dataset is None or dataset.vocabulary is None:
        st.caption(HOW_TO_LOOK)
        draw_units(race)
    live_chart(race, "energies", lambda: energies_chart(race), "Free energies", height=FOLDED_HEIGHT)


def hold_unit(setup: SamplingSetup, unit: int, value: int) -> None:
    """Hold a hidden unit in all panels, or set it free; BadInput if no hidden unit would be free."""
    held = setup.held_units()
    hidden = held.hidden.tolist() or [FREE] * setup.model.rbm.n_hidden
    hidden[unit] = value
    clamp = as_clamp(held.units.tolist() + hidden, *setup.model.rbm.W.shape)
    set_undrawn({Settings.clamp.key: clamp.text if clamp.holds else ""})


def free_units() -> None:
    """Set all hidden units free: another model has others. Pixels stay held."""
    units, dot, _ = Settings.clamp.value.partition(".")
    if dot:  # a text of As holds nothing, see ``Clamp.text``
        session.show({Settings.clamp.key: units if units.strip("A") else ""})


def draw_units(race: PageRace[SamplingSetup]) -> None:
    """Draw the filters, and facts about the chosen unit with its buttons."""
    setup, rbm, dataset = race.setup, race.setup.model.rbm, race.setup.dataset
    hidden = setup.held_units().hidden.tolist() or [FREE] * rbm.n_hidden
    held = [unit for unit, value in enumerate(hidden) if value != FREE]
    chosen = [UNIT.value] if 0 <= UNIT.value < rbm.n_hidden else held[:1]
    units, filters = hidden_units(rbm, [*chosen, *held])
    unit = (chosen or units)[0]

    def acted() -> None:
        """Take a choice, or a button; one whose number is not newer is repeated by a late message."""
        match session.sent_by(INSIDE_KEY, "act"):
            case {"n": int(n), "unit": int(of), "value": value} if n > NEWEST_EVENTS.value.get(INSIDE_KEY, 0):
                NEWEST_EVENTS.ensure()[INSIDE_KEY] = n
                UNIT.set(of)
                try:
                    if value in (FREE, 0, 1) and 0 <= of < rbm.n_hidden:
                        hold_unit(setup, of, value)
                except BadInput as error:
                    messages.refused(str(error).removeprefix("clamp: ").capitalize())

    shape = shape_of(rbm.n_visible, setup.model.meta.get("image_shape"), dataset)
    facts = None if dataset is None else unit_facts(rbm, dataset, unit)
    data = {"shape": shape, "units": units, "filters": filters, "held": [hidden[i] for i in units]}
    more = {"chosen": unit, "taken": NEWEST_EVENTS.value.get(INSIDE_KEY, 0), "facts": facts}
    _inside(key=INSIDE_KEY, data=data | more, on_act_change=acted)

    def said() -> tuple[None, list[str]]:
        snapshots: list[Any] = [snapshot for _, snapshot in race.peek()]
        curves = [curve for curve in curves_of(snapshots, race.slots) if curve.snapshot.n]
        shares = [f"{curve.name} {share_on(rbm, curve.snapshot, unit)}" for curve in curves]
        text = f"The newest samples switch it on with probability: {', '.join(shares)}."
        return None, [text] if shares else []

    live_chart(race, "unit", said, "", height=TEXT)


def energies_chart(race: PageRace[SamplingSetup]) -> tuple[Chart | None, list[str]]:
    """Return the histogram of free energies of data and samples, and the medians in a sentence."""
    snapshots: list[Any] = [snapshot for _, snapshot in race.peek()]
    curves, rbm, dataset = curves_of(snapshots, race.slots), race.setup.model.rbm, race.setup.dataset
    energies = {} if dataset is None else energies_of_data(rbm, dataset)
    energies = energies | {curve.name: energies_of_samples(rbm, curve.snapshot) for curve in curves}
    return catalogue.energies([*TWO_PARTS, *(curve.style for curve in curves)], energies)
