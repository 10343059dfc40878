"""Unlearning the current state, shown on all states of a small model and on a matrix."""

import streamlit as st

from rbmviz_app import controls, links
from rbmviz_app.pages.chain.landscape import PAGE, draw_landscape, reading_notes
from rbmviz_app.pages.chain.matrix import MATRIX_ABOUT, MATRIX_QUESTION, draw_matrix
from rbmviz_app.pages.chain.settings import Settings
from rbmviz_app.pages.chain.units import UNITS_ABOUT, UNITS_QUESTION, draw_units

TITLE, ICON, PLACE = "Little chain", "landscape", 5
HEADINGS = {"matrix": (MATRIX_QUESTION, MATRIX_ABOUT), "units": (UNITS_QUESTION, UNITS_ABOUT)}
"""Question and introduction of the parts whose texts differ from the landscape's."""


def main() -> None:
    """Draw the page."""
    present = links.presenting()
    with st.container(
        horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", key="parts"
    ):
        PAGE.heading(*HEADINGS.get(Settings.little.value, ("", "", reading_notes())))
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
