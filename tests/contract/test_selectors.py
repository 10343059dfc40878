"""Streamlit's own names of elements that we select are few, and Streamlit has them."""

import re
from pathlib import Path

import streamlit

APP = Path(__file__).parents[2] / "app"
SCRIPTS = Path(streamlit.__file__).parent / "static/static/js"
FEW = 25


def test_selected_names_of_streamlit_are_few_and_exist():
    files = [*APP.rglob("*.css"), *APP.rglob("*.js"), *APP.rglob("*.py")]
    used = {name for file in files for name in re.findall(r"\bst[A-Z][A-Za-z]+\b", file.read_text())}
    assert 0 < len(used) <= FEW
    front = "".join(file.read_text() for file in SCRIPTS.glob("*.js"))
    assert all(name in front for name in used), used
