"""The settings tried on the Sample page, which Tune shows beside the cells of its map."""

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from rbmviz.knobs import knobs_of, values_of, write_algorithm
from rbmviz.metrics.numbers import ISL_OF_SAMPLES
from rbmviz.pages.tried import MAX_TRIED, Tried
from rbmviz.registry import samplers
from rbmviz.session import Comparison, SamplingSetup
from rbmviz.session.sweep_view import front_numbers
from rbmviz_app import session
from rbmviz_app.session import TRIED
from rbmviz_app.shared import title_of_model

MIN_SAMPLES = 100
"""Settings with fewer samples, such as those that a slider passes, are not noted."""

MOST = 100
"""Maximum number of tried settings; the oldest goes first."""

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
    """Return the settings of the link and of this session, each with its score after most samples."""
    found: dict[tuple[object, ...], Tried] = {}
    for one in (*map(Tried.read, session.ALL_SETTINGS["tried"].value), *TRIED.value.values()):
        if one.setting not in found or found[one.setting].n <= one.n:
            found[one.setting] = one
    return list(found.values())


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
        "Tried settings",
        icon=":material/bookmark:",
        key=f"{page} tried",
        on_change="rerun",  # with the newest scores
    )
    with popover:
        st.caption(
            f"Settings that Sample has run for {MIN_SAMPLES} samples or more: one run each, scored since the "
            "last turn of a knob, ± its standard error over the test images. Reloading forgets them, unless "
            "you keep them in the address. To know whether two differ, run a sweep with several seeds."
        )
        if not known:
            return
        st.dataframe(
            [row_of(one, more(one) if popover.open else {}) for one in known],
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


def row_of(one: Tried, more: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of the table: the columns ``COLUMNS``, with further ones after the setting."""
    algorithm = samplers.read(one.algorithm)
    row = one._asdict() | {"model": title_of_model(one.model)}
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
