"""Definitions of terms, and of the numbers of all panels."""

from collections.abc import Iterable

import streamlit as st

from rbmviz.glossary import Words, glossary
from rbmviz.metrics.numbers import Number
from rbmviz.pages import PAGES
from rbmviz_app import controls, links, messages, pages

TITLE, ICON, PLACE = "Glossary", "menu_book", 9

ABOUT = (
    "What the words on the pages mean, in the order in which a newcomer needs them; the **numbers** on the "
    "panels, page by page, with formulas and sources (a click on a number's name on its panel opens the same "
    "help); and the **words of the program**, for those who use it from Python or read its code. Read the "
    "*First words*, open *Sample*, and come back when a word is new."
)

OF_THE_PROGRAM = ("The model", "Chains", "Training", "Runs", "Kernels")
"""Parts of the glossary for readers of the source code; they come last."""


def main() -> None:
    """Draw the page."""
    controls.heading("glossary", "What do the words and numbers mean?", ABOUT)
    parts = glossary()
    words(part for part in parts if part.title not in OF_THE_PROGRAM)
    st.header("Numbers on the panels", anchor=False)
    for title, readouts in numbers():
        with st.expander(title):
            for number in readouts:
                st.markdown(f"**{messages.plain(number.label)}**  \n{number.help}")
                if number.formula:
                    st.latex(number.formula)
                st.caption(number.source)
    st.header("Words of the program", anchor=False)
    words(part for part in parts if part.title in OF_THE_PROGRAM)
    links.write("glossary", {})


def words(parts: Iterable[Words]) -> None:
    """Write parts of the glossary as folds, the first one open, with one term per line."""
    for part in parts:
        with st.expander(part.title, expanded=part.title == "First words"):
            st.markdown(
                "\n".join(
                    f"- **{messages.plain(word)}**: {messages.plain(meaning)}"
                    for word, meaning in part.meanings.items()
                )
            )


def numbers() -> list[tuple[str, list[Number]]]:
    """Return the title and numbers of each page whose panels have numbers, in navigation order."""
    titled = []
    for path, page in pages.page_modules().items():
        readouts = PAGES[path].numbers(None).values() if path in PAGES else ()
        by_label = {number.label: number for number in readouts if number.help}  # columns repeat labels
        titled += [(page.TITLE, list(by_label.values()))] if by_label else []
    return titled


if __name__ == "__main__":
    main()
