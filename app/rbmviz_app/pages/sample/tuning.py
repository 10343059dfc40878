"""Tuning from the Sample page: a sweep around a panel's knobs."""

from typing import Any

import streamlit as st

from rbmviz import BadInput
from rbmviz.charts.style import titles
from rbmviz.knobs import knobs_of, write_knobs
from rbmviz.session import Race, SamplingSetup
from rbmviz.sweeps.scores import front_numbers, range_around, spacing_of
from rbmviz_app import messages, pages
from rbmviz_app.panel import algorithms_of


def draw_tuning(comparison: Race[SamplingSetup], model_name: str, data_choice: str) -> None:
    """Draw the menu of sweeps around a panel's knobs."""
    # Opening it reruns the page for the newest names: releasing a knob redraws only the panels.
    with st.popover("Tuning", icon=":material/tune:", key="sample tuning", on_change="rerun"):
        st.caption("Open Tune with a grid around the knobs of one panel, on the same model and data:")
        with st.container(horizontal=True):
            for name, panel in zip(titles(algorithms_of(comparison)), comparison.panels, strict=True):
                if st.button(messages.plain(name), key=f"sweep around {panel.key}"):
                    sweep_around(comparison, panel.algorithm, model_name, data_choice)


def sweep_around(comparison: Race[SamplingSetup], algorithm: Any, model_name: str, data_choice: str) -> None:
    """Open the Tune page with a plan around one panel's knobs."""
    setup, knobs = comparison.setup, knobs_of(algorithm)
    axes = front_numbers(algorithm)[:2]
    others = [name for name in knobs if name not in [axis.name for axis in axes]]
    settings: dict[str, Any] = {
        "sweep": "",
        "on": "",
        "tune_what": "samplers",
        "tune_models": [model_name],
        "tune_samplers": [algorithm.name],
        "tune_data": data_choice,
        "tune_kernel": setup.kernel,
        "tune_start": setup.start_from,
        "tune_knobs": write_knobs(
            algorithm, [name for name in others if getattr(algorithm, name) != knobs[name].default]
        ),
        "tune_y": "none",
    }
    for axis, knob in zip("xy", axes, strict=False):
        lo, hi = range_around(knob, getattr(algorithm, knob.name))
        settings |= {f"tune_{axis}": knob.name, f"tune_{axis}_from": float(lo), f"tune_{axis}_to": float(hi)}
        settings |= {f"tune_{axis}_scale": spacing_of(knob)}
    try:
        pages.live_page("tune").show(comparison.setup._replace(seed=0), [algorithm], settings)
    except BadInput as error:
        messages.note(error)
        return
    st.switch_page(pages.file_of("tune"))
