"""Tuning from the Sample page: a sweep around a panel's knobs, and a table of tried settings."""

from typing import Any, NamedTuple

import streamlit as st

from rbmviz import BadInput
from rbmviz.charts.style import titles
from rbmviz.knobs import knobs_of, values_of, write_knobs
from rbmviz.metrics.numbers import ISL_OF_SAMPLES, SPURIOUS, VISITED
from rbmviz.models import list_models
from rbmviz.origin import origin
from rbmviz.session import Comparison, SamplingSetup, SamplingSnapshot
from rbmviz.session.sweep_view import front_numbers, range_around, spacing_of
from rbmviz.sweeps.cell import data_digest, model_digest
from rbmviz_app import controls, messages, pages
from rbmviz_app.charts.style import csv_bytes
from rbmviz_app.controls import Download
from rbmviz_app.session import TRIED

MAX_TRIED = 100
"""Maximum number of tried settings kept; the oldest goes first."""


class Tried(NamedTuple):
    """A setting with its panel's scores at the time it was kept.

    The scores belong to the common point of all panels and count samples since the last turn of a knob.
    Comparing rows is up to the reader, and valid only for equal model, data, kernel, start and number of
    samples. ``spurious`` is in percent.
    """

    setting: str
    model: str
    seed: int
    start: str
    kernel: str
    samples: int | None
    isl: float | None
    std_error: float | None
    classes: str
    spurious: float | None
    model_digest: str
    data: str
    data_digest: str


COLUMNS = {
    "setting": "Setting",
    "model": "Model",
    "seed": "Seed",
    "start": "Start",
    "kernel": "ISL kernel",
    "samples": "Samples",
    "isl": ISL_OF_SAMPLES.label,
    "std_error": "± over test images",
    "classes": VISITED.label,
    "spurious": SPURIOUS.titled(),
    "model_digest": "Model digest",
    "data": "Data",
    "data_digest": "Data digest",
}
SHOWN_COLUMNS = tuple(name for name in COLUMNS if "digest" not in name and name != "data")
"""Columns shown on the page; files have all."""


def draw_tuning(comparison: Comparison[SamplingSetup], model_name: str, data_choice: str) -> None:
    """Draw the two menus: sweep around a panel's knobs, and keep a panel's setting."""
    named = list(zip(titles([p.worker.algorithm for p in comparison.panels]), comparison.panels, strict=True))
    with st.container(horizontal=True):
        # Names are current when it opens: releasing a knob redraws only the panels.
        with st.popover("Sweep around here", icon=":material/tune:", key="sweep around", on_change="rerun"):
            st.caption(
                "Open the Tune page with a grid around a panel’s knobs, on the same model and data. Press "
                "Start there to run it."
            )
            if model_name not in list_models():
                messages.note("Sweeps run on the models that every installation has: choose one of the list.")
            for name, panel in named if model_name in list_models() else ():
                if st.button(messages.plain(name), key=f"sweep around {panel.key}", type="tertiary"):
                    sweep_around(comparison, panel.worker.algorithm, model_name, data_choice)
        draw_tried(comparison, named, model_name)


def sweep_around(
    comparison: Comparison[SamplingSetup], algorithm: Any, model_name: str, data_choice: str
) -> None:
    """Open the Tune page with a plan around one panel's knobs."""
    setup, known = comparison.setup, knobs_of(algorithm)
    axes = front_numbers(algorithm)[:2]
    others = [name for name in known if name not in [axis.name for axis in axes]]
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
            algorithm, [name for name in others if getattr(algorithm, name) != known[name].default]
        ),
        "tune_y": "none",
        "tune_z": "none",
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


def draw_tried(comparison: Comparison[SamplingSetup], named: list[tuple[str, Any]], model_name: str) -> None:
    """Draw the menu that keeps a panel's setting, with the table of kept settings."""

    def keep(name: str, key: int) -> None:
        setup = comparison.setup
        shown = dict(comparison.at_common_point(comparison.peek()))[key]
        scores = shown.compared.scores if shown.compared is not None else None
        newest = scores.isl if scores is not None else None
        n = newest.n if newest is not None else shown.since_turn.samples
        isl = None if newest is None else newest.isl
        std_error = None if newest is None else newest.std_error
        visited, spurious = shown.visited, shown.spurious
        tried = Tried(
            setting_text(name, shown),
            model_name,
            setup.seed,
            setup.start_from,
            setup.kernel,
            n,
            isl,
            std_error,
            "" if visited is None else f"{visited[0]} of {visited[1]}",
            None if spurious is None else 100 * spurious,
            model_digest(setup.model),
            "" if setup.dataset is None else setup.dataset.name,
            "" if setup.dataset is None else data_digest(setup.dataset),
        )
        TRIED.set([*TRIED.value, tried][-MAX_TRIED:])

    kept = TRIED.value

    def known() -> dict[str, Any]:
        settings = "; ".join(
            f"{one.model}, {one.setting}, seed {one.seed}, start {one.start}, ISL kernel {one.kernel}, "
            f"{one.samples} samples"
            for one in kept
        )
        command = f"rbmviz app; Sample: {settings}"
        return origin(command, seeds=sorted({one.seed for one in kept})) | {
            "models": {one.model: one.model_digest for one in kept},
            "data": {one.data: one.data_digest for one in kept if one.data},
        }

    with st.popover(
        f"Tried settings ({len(kept)})" if kept else "Keep this setting",
        icon=":material/bookmark:",
        key="keep settings",
        on_change="rerun",  # with current names
    ):
        st.caption(
            "Keep a panel’s current score to compare with what you try next. If you changed a knob, only the "
            "samples since then count."
        )
        for name, panel in named:
            st.button(
                f"Keep {messages.plain(name)}",
                key=f"keep setting {panel.key}",
                on_click=keep,
                args=(name, panel.key),
                type="tertiary",
            )
        if kept:
            st.dataframe(
                [one._asdict() for one in kept],
                hide_index=True,
                column_order=SHOWN_COLUMNS,
                column_config={name: st.column_config.Column(title) for name, title in COLUMNS.items()},
                key="tried settings",
            )
            st.caption(
                "One run each. To know whether two settings really differ, run a sweep with several seeds."
            )
            with st.container(horizontal=True):
                table = Download("Table", lambda: csv_bytes(list(COLUMNS), kept), "tried.csv", "")
                controls.downloads("tried", [table], known)
                st.button("Forget them", key="forget tried", on_click=TRIED.set, args=([],))


def setting_text(name: str, shown: SamplingSnapshot) -> str:
    """Return the name of a run with its numeric knobs and, after turns, the sample since which they hold."""
    text = full_name(name, shown.algorithm)
    if not shown.past:
        return text
    return f"{text}, from sample {shown.begin.samples + 1:,} of its run on"


def full_name(name: str, algorithm: Any) -> str:
    """Return the name of a sampler with its numeric knobs, and choices that differ from their defaults."""
    values = values_of(algorithm)
    texts = [f"{knob.label.lower()} {values[knob.name]:.15g}" for knob in front_numbers(algorithm)]
    texts += [
        f"{knob.label.lower()} {('off', 'on')[value] if isinstance(value, bool) else value}"
        for knob in knobs_of(algorithm).values()
        if knob.kind not in (int, float) and (value := values[knob.name]) != knob.default
    ]
    return f"{algorithm.label} ({', '.join(texts)})" if texts else name
