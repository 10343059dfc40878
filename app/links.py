"""The page's address, which holds what is on the screen; anybody may have written it."""

import math
from collections.abc import Collection
from typing import Any

import streamlit as st

from rbmviz import BadInput
from rbmviz.errors import MAX_SHOWN
from rbmviz.knobs import write_knobs
from rbmviz.registry import Table


def write_panel(algorithm: Any, only: Collection[str] | None = None) -> str:
    """Write a sampler or trainer: ``rates_fpcd:eps=0.03,alpha=1.0,k=1,statistics=sampled``."""
    return f"{algorithm.name}:{write_knobs(algorithm, only)}"


def read_panels(table: Table, texts: list[str]) -> tuple[list[Any], list[str]]:
    """Return the algorithms that can be read, and one sentence for each that cannot."""
    read, refused = [], []
    for text in texts:
        try:
            read.append(table.read(text))
        except BadInput as error:
            refused.append(f"The link's panel '{text[:MAX_SHOWN]}' is left out. {error}")
    return read, refused


def without_unreadable() -> None:
    """Begin the page again without what its widgets would fall over: empty values, and infinite numbers.

    Streamlit reads a widget's value from the address when it draws it, and leaves out what does not fit, but
    not these two.
    """
    broken = [key for key in st.query_params if not all(map(_readable, st.query_params.get_all(key)))]
    if broken:
        for key in broken:
            del st.query_params[key]
        names = ", ".join(key[:MAX_SHOWN] for key in broken[:5])
        st.session_state["link left out"] = f"The link gives no value that can be read to: {names}."
        st.rerun()


def _readable(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return text != ""
