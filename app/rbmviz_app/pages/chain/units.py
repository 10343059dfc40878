"""A small RBM as circles and lines: a click or the key S draws one unit."""

from typing import Any

import streamlit as st

from rbmviz.session.unit_by_unit import UnitByUnit
from rbmviz_app import card, keys, links, messages, session
from rbmviz_app.component import component
from rbmviz_app.pages.chain.panel import Settings
from rbmviz_app.session import Entry
from rbmviz_app.share import publish

DRAWN_UNITS: Entry[UnitByUnit] = Entry("drawn units", UnitByUnit.begin)
"""The small model whose units are drawn one by one."""


UNITS_QUESTION = "How does a model draw an image, one unit at a time?"
UNITS_ABOUT = (
    "Circles are the hidden units of a tiny model, squares its pixels, lines its weights. Filled units are "
    "on. A **sweep** draws all hidden units given the pixels, then all pixels given the hidden units. Press "
    "*Step*, or the key **S**: read the probability with which the unit was drawn, and how the energy "
    "changed; low energy means likely. Then click a unit and watch *p* of the units it is connected to."
)

_drawing = component("units", ["pages/chain/units.js"], ["pages/chain/units.css"])


@st.fragment
def draw_units() -> None:
    """Draw the model, its last draw, and the buttons of the sweep."""
    if card.to_set("chain") is not None:
        DRAWN_UNITS.set(UnitByUnit.begin())
        card.note_opened()
    messages.draw_link_warnings("chain")
    state = DRAWN_UNITS.ensure()

    def draw_unit(layer: Any, unit: int) -> None:
        DRAWN_UNITS.set(DRAWN_UNITS.value.draw(layer, unit))

    def clicked() -> None:
        asked = session.sent_by("chain units", "draw")
        if asked["at"] == DRAWN_UNITS.value.draws:  # otherwise the click was on an old drawing
            draw_unit(asked["layer"], asked["unit"])

    with st.container(horizontal=True, key="toolbar"):
        st.button(
            "Step",
            icon=":material/skip_next:",
            shortcut=keys.ONE_STEP.key,
            type="primary",
            on_click=draw_unit,
            args=state.next_unit,
            key="units_step",
            help="Draw the next unit of the sweep, the one with a thick border.",
        )
        st.button(
            "Sweep",
            icon=":material/fast_forward:",
            on_click=lambda: DRAWN_UNITS.set(DRAWN_UNITS.value.sweep()),
            key="units_sweep",
            help="Draw all units to the end of the sweep.",
        )
        st.button(
            "Reset",
            icon=":material/replay:",
            shortcut=keys.RESET.key,
            on_click=DRAWN_UNITS.set,
            args=(UnitByUnit.begin(),),
            key="units_reset",
            help="Restart with the same random numbers.",
        )
    data = {
        "hidden": units_of(state.h, state.probabilities("hidden")),
        "visible": units_of(state.v, state.probabilities("visible")),
        "weights": state.rbm.W.tolist(),
        "next": list(state.next_unit),
        "last": None if (last := state.last) is None else [last.layer, last.unit, last.p, last.u],
        "draws": state.draws,
        "said": sentence(state),
    }
    leads = {"leads": True}  # watchers cannot go on
    drawn = _drawing(
        key="chain units", data=data | leads, on_draw_change=clicked, on_onward_change=lambda: None
    )
    if drawn.onward:
        card.switch_page("sample")
    publish.tell(drawing=data)
    st.caption(
        "Orange lines are positive weights, blue dashed lines negative; thicker is stronger. A weight "
        "counts if both of its units are on. *p* is the probability that a unit is on if it is drawn now."
    )
    links.write("chain", links.texts_of([Settings.little]))


def units_of(on: Any, p: Any) -> list[dict[str, Any]]:
    """Return the units of a layer as JSON values."""
    return [{"on": bool(state), "p": float(x)} for state, x in zip(on, p, strict=True)]


def sentence(state: UnitByUnit) -> str:
    """Describe the last draw, with all its numbers."""
    last = state.last
    if last is None:
        return f"Energy {state.energy:.1f}. Nothing has been drawn yet: press Step, or click a unit."
    name = f"{'h' if last.layer == 'hidden' else 'v'}{last.unit + 1}"
    what, sign = ("on", "<") if last.on else ("off", "≥")
    digits = next(n for n in range(2, 18) if n == 17 or f"{last.p:.{n}f}" != f"{last.u:.{n}f}")
    changed = (
        f"energy {last.energy_before:.1f} → {last.energy:.1f}"
        if last.energy != last.energy_before
        else f"energy stays {last.energy:.1f}"
    )
    return (
        f"{name}: bias and weights from units that are on make {last.activation:.1f}, so p = "
        f"{last.p:.{digits}f}. Random number {last.u:.{digits}f} {sign} p: {what}; {changed}."
    )
