"""*Run for ten minutes*: further seeds for an undecided or quick entry, and the results they add."""

import base64
import functools
from collections.abc import Mapping
from html import escape
from typing import Any

import streamlit as st

from rbmviz.errors import BadInput
from rbmviz.reproduce import Size, all_recipes
from rbmviz.reproduce.further import minutes_of_seed
from rbmviz.reproduce.recipe import minutes_text
from rbmviz.session.further_run import FurtherRun
from rbmviz_app import links, messages
from rbmviz_app.session import FURTHER_RUNS, VISITOR
from rbmviz_app.shared import sweep_queue
from rbmviz_app.timer import while_running

MINUTES = 10


def draw(result: Mapping[str, Any]) -> None:
    """Draw an entry's button and its further seeds' results, or nothing if one seed would take too long."""
    name = result["recipe"]
    a_seed, run = _minutes(name, result["size"]), FURTHER_RUNS.value.get(name)
    is_open = result["size"] == "quick" or any(c["verdict"] == "not decided" for c in result["claims"])
    if not is_open or a_seed > MINUTES:
        return
    active = run is not None and run.active
    if run is not None:
        while_running(lambda: _draw_run(run, active), active)
    if not active:
        with st.container(horizontal=True, vertical_alignment="center"):
            key, icon = f"further {name}", ":material/more_time:"
            st.button("Run for ten minutes", icon=icon, key=key, on_click=_start, args=(name,))
            st.caption(f"Further seeds, about {minutes_text(a_seed)} minutes each.", width="content")


@functools.cache
def _minutes(name: str, size: Size) -> float:
    return minutes_of_seed(all_recipes()[name], size)


def _start(name: str) -> None:
    run = FurtherRun(name, MINUTES, links.owner(), VISITOR.ensure())
    try:
        sweep_queue().start_further(run, links.owner())
    except BadInput as error:
        messages.refused(error)
        return
    runs = FURTHER_RUNS.ensure()
    runs[name] = run
    _until_disconnect(id(runs), runs)


def _stop(runs: dict[str, FurtherRun]) -> None:
    for run in list(runs.values()):
        run.stop(at_once=True)


@st.cache_resource(scope="session", on_release=_stop, show_spinner=False)
def _until_disconnect(number: int, _runs: dict[str, FurtherRun]) -> dict[str, FurtherRun]:
    return _runs


def _draw_run(run: FurtherRun, was_active: bool) -> None:
    if was_active and not run.active:
        st.rerun()
    if run.active:
        passed = min(run.minutes_passed / run.minutes, 1.0)
        waits = "It waits for another run." if run.status == "queued" else f"{passed:.0%} of ten minutes"
        st.progress(passed, waits)
        st.button("Stop", icon=":material/stop_circle:", key=f"stop {run.recipe}", on_click=run.stop)
    elif run.error:
        messages.error(run.error)
    else:
        lines = run.outcome["changes"] if run.outcome else ["Stopped before a seed was complete."]
        parts = [f"<p>{escape(line)}</p>" for line in lines]
        if run.figure:
            picture = base64.b64encode(run.figure).decode()
            parts.append(
                "<p>The figure of the seeds that were run here:</p>"
                '<div class="figure" tabindex="0" role="group" aria-label="Figure of the further seeds">'
                f'<img src="data:image/svg+xml;base64,{picture}" alt="The figure of the further seeds"></div>'
            )
        st.html(f'<div class="papers-entry" role="status">{"".join(parts)}</div>')
