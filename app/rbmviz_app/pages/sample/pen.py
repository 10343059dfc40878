"""The pen of the Sample page: a drawing, or the upper half of an image, is held; the samplers complete it."""

from typing import Any

import streamlit as st

from rbmviz import BadInput
from rbmviz.pages import PAGES
from rbmviz.rbm.clamp import FREE, as_clamp, upper_half
from rbmviz.session import SamplingSetup, SamplingSnapshot
from rbmviz.view import PANEL_FOLDER, VIEW_FOLDER
from rbmviz.view.specs import shape_of
from rbmviz_app import messages, session
from rbmviz_app.component import component
from rbmviz_app.page import catch_up_settings
from rbmviz_app.pages.sample.panel import units_of
from rbmviz_app.race import PageRace
from rbmviz_app.session import NEWEST_EVENTS, Entry, PageSettings, set_undrawn
from rbmviz_app.stream.tiles import drawing_facts, energies_of_test

Settings = PageSettings(PAGES["sample"].settings)

TEST_IMAGES: Entry[int] = Entry("test images held", int)
"""Number of test images whose upper halves have been held."""

STRIDE = 7919
"""Step through the test images, which may be sorted by class: a prime, so that all have their turn."""

PEN_KEY = "pen"

_scripts = [PANEL_FOLDER / f"{name}.js" for name in ("frame", "mosaic", "loupe")]
_pen = component("pen", [*_scripts, VIEW_FOLDER / "pen.js", "pages/sample/pen.js"], [VIEW_FOLDER / "pen.css"])


def draw_pen(race: PageRace[SamplingSetup]) -> None:
    """Draw the surface with its buttons, in a fragment."""
    catch_up_settings(race)  # the drawing has just changed: all of the page restarts with it
    setup = race.setup
    n_visible, dataset = setup.model.rbm.n_visible, setup.dataset
    if dataset is not None and dataset.vocabulary is not None:
        st.info("This model has words, not pixels: hold words in Settings.", icon=":material/draw:")
        return
    clamp = setup.held_units()
    facts = None if clamp.free.all() else drawing_facts(setup.model.rbm, dataset, clamp)
    energies = None
    if dataset is not None and len(dataset.test):
        energies = energies_of_test(setup.model.rbm, dataset)

    def acted() -> None:
        """Take a drawing, or a button; one whose number is not newer is repeated by a late message."""
        sent = session.sent_by(PEN_KEY, "act")
        match sent:
            case {"n": int(n), "act": act} if n > NEWEST_EVENTS.value.get(PEN_KEY, 0):
                NEWEST_EVENTS.ensure()[PEN_KEY] = n
                try:
                    hold(held_by(race, act, sent.get("units")), n_visible, setup.clamp)
                except BadInput as error:
                    said = str(error).removeprefix("clamp: ")
                    messages.refused(said[0].upper() + said[1:])

    _pen(
        key=PEN_KEY,
        data={
            "shape": shape_of(n_visible, setup.model.meta.get("image_shape"), dataset),
            "units": clamp.units.tolist(),
            "taken": NEWEST_EVENTS.value.get(PEN_KEY, 0),
            "facts": facts,
            "energies": energies,
        },
        on_act_change=acted,
    )


def hold(units: Any, n_visible: int, before: str = "") -> None:
    """Hold pixels, and hidden units as ``before``; BadInput if pixels do not fit, or none is left free."""
    clamp = as_clamp(units, n_visible)
    _, dot, hidden = before.partition(".")
    set_undrawn({Settings.clamp.key: clamp.text + dot + hidden if clamp.holds or dot else ""})


def held_by(race: PageRace[SamplingSetup], act: Any, units: Any) -> Any:
    """Return the units that a drawing, or a button, holds: -1 for free ones."""
    setup = race.setup
    n_visible = setup.model.rbm.n_visible
    image = None
    if act == "draw":
        return units
    if act == "test" and setup.dataset is not None and len(test := setup.dataset.test):
        TEST_IMAGES.set(TEST_IMAGES.value + 1)
        image = test[STRIDE * TEST_IMAGES.value % len(test)]
    elif act == "upper" and not (clamp := setup.held_units()).free.all():
        image = clamp.units == 1
    elif act == "upper" and race.panels:
        shown = race.panels[0].snapshot
        assert isinstance(shown, SamplingSnapshot)
        image = shown.newest_image
        if image is None:
            raise BadInput("there is no sample yet: draw, or press Play.")
    if image is None:
        return [FREE] * n_visible
    return upper_half(image, *shape_of(n_visible, setup.model.meta.get("image_shape"), setup.dataset))


def choose_words(setup: SamplingSetup) -> None:
    """Draw the choice of words that are held on, for models of texts."""
    dataset = setup.dataset
    if dataset is None or dataset.vocabulary is None:
        return
    words = list(dataset.vocabulary)
    units = units_of(setup) if setup.clamp else []
    key = f"held words {session.SETTINGS_STATE.value.revision % session.KEYS}"

    def chosen() -> None:
        on = session.widget_value(key)
        hold([1 if word in on else FREE for word in words], len(words), setup.clamp)

    st.multiselect(
        "Hold words on",
        words,
        default=[word for word, unit in zip(words, units, strict=False) if unit == 1],
        key=key,
        on_change=chosen,
        help="All samplers keep these words in every sample, and complete the rest of the text.",
    )
