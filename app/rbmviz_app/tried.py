"""The settings tried on the Sample page, which Tune shows beside the cells of its map."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import streamlit as st

from rbmviz.knobs import knobs_of, values_of, write_algorithm
from rbmviz.metrics.numbers import ISL_OF_SAMPLES
from rbmviz.pages.tried import MAX_TRIED, Tried
from rbmviz.registry import samplers
from rbmviz.session import SamplingSetup, SamplingSnapshot
from rbmviz.session.sweep_view import front_numbers
from rbmviz_app import session
from rbmviz_app.session import TRIED
from rbmviz_app.shared import title_of_model

MIN_SAMPLES = 100
"""Minimum number of samples for noting a setting; settings that a slider only passes through have fewer."""

MOST = 100
"""Maximum number of tried settings; the oldest is dropped first."""

COLUMNS = {
    "isl": ISL_OF_SAMPLES.label,
    "std_error": "±",
    "n": "Samples",
    "setting": "Setting",
    "model": "Model",
    "data": "Data",
    "start": "Start",
    "kernel": "ISL kernel",
    "seed": "Seed",
}


def note(setup: SamplingSetup, model_name: str, snapshots: Iterable[SamplingSnapshot]) -> None:
    """Note the settings of all panels with their newest scores."""
    records = TRIED.ensure()
    if setup.dataset is None:
        return
    common = (model_name, setup.dataset.name, setup.start_from, setup.kernel, setup.seed)
    for snapshot in snapshots:
        curve = snapshot.segments[-1].curve
        if not snapshot.too_few and curve and curve[-1].n >= MIN_SAMPLES:
            newest = curve[-1]
            algorithm = write_algorithm(snapshot.algorithm)
            _put(records, Tried(algorithm, *common, newest.n, newest.isl, newest.std_error))
    for setting in list(records)[:-MOST]:
        del records[setting]


def _put(records: dict[tuple[object, ...], Tried], record: Tried) -> None:
    """Replace another record of the same setting, unless it has more samples."""
    before = records.get(record.setting)
    if before is None or before.n <= record.n:
        records[record.setting] = record


def tried() -> list[Tried]:
    """Return the settings from the link and from this session, each with its score after the most samples."""
    records: dict[tuple[object, ...], Tried] = {}
    for record in (*map(Tried.read, session.ALL_SETTINGS["tried"].value), *TRIED.value.values()):
        _put(records, record)
    return list(records.values())


def keep() -> None:
    """Put the newest settings into the address, in a callback."""
    fitting = [record.write() for record in tried() if record.fits_link]
    session.show({"tried": fitting[-MAX_TRIED:]})


def forget() -> None:
    """Forget all settings, in a callback."""
    TRIED.set({})
    session.show({"tried": []})


def draw(
    page: str,
    label: str,
    draw_first: Callable[[], None] = lambda: None,
    more: Callable[[Tried], Mapping[str, Any]] = lambda record: {},
) -> None:
    """Draw the menu with the table of tried settings; the table is computed only while the menu is open.

    draw_first : draws the part above the table
    more : returns further columns for a setting, by title
    """
    # Opening it reruns the page for the newest names and scores: releasing a knob redraws only the panels.
    popover = st.popover(label, icon=":material/tune:", key=f"{page} tried", on_change="rerun")
    with popover:
        draw_first()
        if not popover.open:
            return
        st.caption(
            f"Settings tried on Sample, each run for {MIN_SAMPLES} samples or more and scored since its last "
            "knob change, ± standard error over the test images. A reload forgets them unless you keep them "
            "in the address. To know whether two differ, run a sweep with several seeds."
        )
        records = tried()
        if not records:
            return
        st.dataframe(
            [row_of(record, more(record)) for record in records],
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
            st.button("Forget them", key=f"{page} forget tried", on_click=forget)
        if kept := len(session.ALL_SETTINGS["tried"].value):
            st.caption(f"{kept} in the address.")


def row_of(record: Tried, more: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of the table: the columns ``COLUMNS``, with further ones after the setting."""
    algorithm = samplers.read(record.algorithm)
    row = record._asdict() | {"model": title_of_model(record.model)}
    row["setting"] = full_name(algorithm.label, algorithm)
    names = list(COLUMNS)
    return {name: row[name] for name in names[:4]} | dict(more) | {name: row[name] for name in names[4:]}


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
