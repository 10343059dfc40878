"""Streamlit's own names of elements are few, and each one that is selected has its reason in one file."""

import re
from pathlib import Path

from rbmviz_app.insides import SELECTORS

APP = Path(__file__).parents[2] / "app"
FEW = 25


def test_each_selected_name_of_streamlit_has_a_reason_and_there_are_few():
    files = [*APP.rglob("*.css"), *APP.rglob("*.js"), *APP.rglob("*.py")]
    texts = [file.read_text() for file in files if file.name != "insides.py"]
    used = {name for text in texts for name in re.findall(r"\bst[A-Z][A-Za-z]+\b", text)}
    assert used == set(SELECTORS)
    assert len(used) <= FEW
