"""Unlearning the current state, seen on all states of a small model, and on a matrix."""

import streamlit as st

from rbmviz_app import controls, links, session
from rbmviz_app.pages.chain.landscape import PAGE, draw_landscape
from rbmviz_app.pages.chain.matrix import MATRIX_ABOUT, MATRIX_QUESTION, draw_matrix
from rbmviz_app.pages.chain.settings import Settings
from rbmviz_app.pages.chain.units import UNITS_ABOUT, UNITS_QUESTION, draw_units

TITLE, ICON, PLACE = "Little chain", "landscape", 5
HEADINGS = {"matrix": (MATRIX_QUESTION, MATRIX_ABOUT), "units": (UNITS_QUESTION, UNITS_ABOUT)}
"""Question, and what a newcomer has to know, of the parts that have others than the landscape."""


def main() -> None:
    """Draw the page."""
    PAGE.take_settings()  # a step of a lesson may set the part
    session.keep_hidden(Settings.values())  # the settings of the part that is not drawn
    present = links.presenting()
    with st.container(
        horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", key="parts"
    ):
        # The choice is drawn beside its heading, and read before: at first the link says which part it is.
        shown = Settings.little.chosen or next(iter(links.values(Settings.little.key)), "")
        PAGE.heading(*HEADINGS.get(shown, ()))
        part = controls.choose(Settings.little, label_visibility="collapsed")
    with st.container():
        if part == "landscape":
            draw_landscape(present)
        elif part == "matrix":
            draw_matrix(present)
        else:
            draw_units()


if __name__ == "__main__":
    main()
