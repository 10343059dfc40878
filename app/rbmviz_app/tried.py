"""The settings tried on the Sample page, which Tune shows beside the cells of its map."""

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from rbmviz.knobs import knobs_of, values_of, write_algorithm
from rbmviz.metrics.numbers import ISL_OF_SAMPLES
from rbmviz.origin import origin
from rbmviz.pages.tried import MAX_TRIED, Tried
from rbmviz.registry import samplers
from rbmviz.session import Comparison, SamplingSetup
from rbmviz.session.sweep_view import front_numbers
from rbmviz_app import controls, session
from rbmviz_app.charts.style import csv_bytes
from rbmviz_app.controls import Download
from rbmviz_app.session import TRIED
from rbmviz_app.shared import title_of_model

MIN_SAMPLES = 100
"""Settings with fewer samples, such as those that a slider passes, are not noted."""

MOST = 100
"""Maximum number of tried settings; the oldest goes first."""

COLUMNS = {
    "setting": "Setting",
    "model": "Model",
    "data": "Data",
    "start": "Start",
    "kernel": "ISL kernel",
    "seed": "Seed",
    "n": "Samples",
    "isl": ISL_OF_SAMPLES.label,
    "std_error": "± over test images",
}


def note(comparison: Comparison[SamplingSetup], model_name: str) -> None:
    """Note the settings of all panels with their newest scores."""
    setup, known = comparison.setup, TRIED.ensure()
    if setup.dataset is None:
        return
    common = (model_name, setup.dataset.name, setup.start_from, setup.kernel, setup.seed)
    for _, shown in comparison.peek():
        curve = shown.segments[-1].curve
        if not curve or shown.too_few or curve[-1].n < MIN_SAMPLES:
            continue
        one = Tried(
            write_algorithm(shown.algorithm), *common, curve[-1].n, curve[-1].isl, curve[-1].std_error
        )
        if one.setting not in known or known[one.setting].n < one.n:
            known[one.setting] = one
    for setting in list(known)[:-MOST]:
        del known[setting]


def tried() -> list[Tried]:
    """Return the settings of the link and of this session, each with its newest score."""
    of_link = map(Tried.read, session.ALL_SETTINGS["tried"].value)
    return list(({one.setting: one for one in of_link} | TRIED.value).values())


def keep() -> None:
    """Put the newest settings into the address, in a callback."""
    fitting = [one.write() for one in tried() if one.fits_link]
    session.show({"tried": fitting[-MAX_TRIED:]})


def forget() -> None:
    """Forget all settings, in a callback."""
    TRIED.set({})
    session.show({"tried": []})


def draw(page: str, more: Callable[[Tried], Mapping[str, Any]] = lambda one: {}) -> None:
    """Draw the menu with the table of tried settings.

    more : further columns of a setting, by title, computed while the table is open
    """
    known = tried()
    popover = st.popover(
        f"Tried settings ({len(known)})" if known else "Tried settings",
        icon=":material/bookmark:",
        key=f"{page} tried",
        on_change="rerun",  # with the newest scores
    )
    with popover:
        st.caption(
            f"Every setting that the Sample page has run for {MIN_SAMPLES} samples, with the score of its "
            "samples since the last turn of a knob: one run each. To know whether two settings differ, run a "
            "sweep with several seeds. Reloading the page forgets them, unless you keep them in its address."
        )
        if not known:
            return
        rows = [row_of(one) for one in known]
        st.dataframe(
            [{**row, **(more(one) if popover.open else {})} for row, one in zip(rows, known, strict=True)],
            hide_index=True,
            column_config={name: st.column_config.Column(title) for name, title in COLUMNS.items()},
            key=f"{page} tried settings",
        )
        with st.container(horizontal=True):
            st.button(
                "Keep",
                icon=":material/link:",
                key=f"{page} keep tried",
                on_click=keep,
                help=f"Put the newest {MAX_TRIED} into the page’s address: a link and a reload have them.",
            )
            content = [list(row.values()) for row in rows]
            table = Download("Table", lambda: csv_bytes(list(COLUMNS), content), "tried.csv", "")
            controls.downloads(f"{page} tried", [table], lambda: origin_of(known))
            st.button("Forget them", key=f"{page} forget tried", on_click=forget)
        if kept := len(session.ALL_SETTINGS["tried"].value):
            st.caption(f"{kept} in the address.")


def row_of(one: Tried) -> dict[str, Any]:
    """Return a row of the table, with the columns ``COLUMNS``."""
    algorithm = samplers.read(one.algorithm)
    row = one._asdict() | {"model": title_of_model(one.model)}
    row["setting"] = full_name(algorithm.label, algorithm)
    return {name: row[name] for name in COLUMNS}


def origin_of(known: list[Tried]) -> dict[str, Any]:
    """Return where the table comes from."""
    settings = "; ".join(one.write() for one in known)
    return origin(f"rbmviz app; Sample: {settings}", seeds=sorted({one.seed for one in known}))


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
