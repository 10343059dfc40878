"""The switch of the shortcuts that are a single key, which the browser remembers (WCAG 2.2, 2.1.4)."""

from pathlib import Path

import streamlit as st

_switch = st.components.v2.component(
    "rbmviz_keys",
    js=Path(__file__).with_name("keys.js").read_text(),
    css="label { font: .82rem var(--st-font); color: var(--st-text-color); cursor: pointer; }"
    "input { width: 1rem; height: 1rem; vertical-align: -.15rem; accent-color: var(--st-primary-color); }",
)


def draw_switch() -> None:
    """Draw the switch; with it the shortcuts stop to count in text fields, in those of the panels, too."""
    _switch(
        key="keys",
        data={
            "label": "Shortcuts of a single key, as the buttons show them",
            "help": "Off: no key alone does anything, for those who speak to their computer or whose hand "
            "shakes. This browser remembers it.",
        },
    )
