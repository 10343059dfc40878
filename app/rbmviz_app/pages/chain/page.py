"""The page How it works: a model unit by unit, then all states of a small model, then a matrix."""

import itertools

import streamlit as st

from rbmviz_app import card, controls, links, pages, session
from rbmviz_app.pages.chain.landscape import PAGE, draw_landscape, reading_notes
from rbmviz_app.pages.chain.matrix import draw_matrix
from rbmviz_app.pages.chain.matrix_texts import MATRIX_ABOUT, MATRIX_NOTES, MATRIX_QUESTION
from rbmviz_app.pages.chain.panel import Settings
from rbmviz_app.pages.chain.units import UNITS_ABOUT, UNITS_QUESTION, draw_units

TITLE, ICON, PLACE = "How it works", "route", 2
HEADINGS = {
    "matrix": (MATRIX_QUESTION, MATRIX_ABOUT, MATRIX_NOTES),
    "units": (UNITS_QUESTION, UNITS_ABOUT),
}
"""Question, introduction and notes for parts whose texts differ from the landscape's."""
JOURNEY = {
    "units": "Next: every image this size as a landscape",
    "landscape": "Next: why pushing away helps, on a matrix",
    "matrix": "Next: four samplers on real digits",
}
"""The parts in order, each with the label of the button that leads to the next part or page."""


def main() -> None:
    """Draw the page."""
    present = links.presenting()
    with st.container(
        horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", key="parts"
    ):
        PAGE.heading(*HEADINGS.get(Settings.little.value, ("", "", reading_notes())))
        with st.container(horizontal=True, vertical_alignment="center", width="content"):
            part = controls.choose(
                Settings.little,
                list(JOURNEY),
                format_func=lambda name: f"{list(JOURNEY).index(name) + 1} {name.capitalize()}",
                label_visibility="collapsed",
            )
            if not present and card.opened(PAGE.name) is None:  # a lesson has its own navigation
                pressed = st.button(
                    JOURNEY[part],
                    icon=":material/arrow_forward:",
                    icon_position="right",
                    key=f"next of {part}",
                )
                following = dict(itertools.pairwise(JOURNEY)).get(part)
                if pressed and following is None:
                    st.switch_page(pages.file_of("sample"))
                elif pressed:
                    session.show({"little": following})
                    st.rerun()
    with st.container():
        if part == "landscape":
            draw_landscape(present)
        elif part == "matrix":
            draw_matrix()
        else:
            draw_units()


if __name__ == "__main__":
    main()
