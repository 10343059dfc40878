"""The controls that pages share: play, step, reset and speed, panels, presets, a model of one's own."""

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, ParamSpec, Protocol, TypeVar

import streamlit as st

from app import messages
from app.links import read_panels
from app.state import drop_upload, leave_empty, pretrained, session_comparison, trained_models, uploaded
from rbmviz import BadInput, Model
from rbmviz.registry import Table
from rbmviz.session import Comparison, limits
from rbmviz.session.comparison import Setup

R = TypeVar("R", bound=Setup)
Args = ParamSpec("Args")


def every_second(draw: Callable[Args, None]) -> Callable[Args, None]:
    """Draw again once a second, without the rest of the page.

    In a container of its own: where the timer fires just as the whole page has been drawn, Streamlit takes
    the fragment away for a moment, and without one what stands below would move up into its place.
    """
    fragment = st.fragment(run_every=1.0)(draw)

    @functools.wraps(draw)
    def placed(*args: Args.args, **kwargs: Args.kwargs) -> None:
        with st.container():
            fragment(*args, **kwargs)

    return placed


def visit(
    page: str, setup: R, rate: float, fill: Callable[[Comparison[R]], None]
) -> tuple[Comparison[R], str]:
    """Return this session's comparison of a page and its token, on this setting where there is room for it.

    fill : gives a new comparison its panels; where there is room for none, or none to make those at rest
    again, the page ends here with the reason.
    """
    try:
        comparison, token, fresh = session_comparison(page, setup, rate)
        if fresh:
            fill(comparison)
        elif comparison.setup != setup:
            change(comparison, setup)
    except BadInput as error:
        leave_empty(page)
        messages.note(error)
        st.stop()
    return comparison, token


def change(comparison: Comparison[R], setup: R) -> None:
    """Begin anew with another setting; where there is no room for it say so, and leave all as it is."""
    try:
        comparison.change(setup)
    except BadInput as error:
        messages.error(f"{error} The panels go on as they were.")


def open_panels(
    comparison: Comparison[Any], table: Table, asked: Sequence[str], defaults: Sequence[str], only: str = ""
) -> None:
    """Give a new comparison the panels of the link, or the default ones, as far as there is room; start it.

    only : the name that algorithms must have; default: any

    Raises
    ------
    BadInput
        Where there is room for none.
    """
    room = limits().panels
    if len(asked) > room:
        messages.left_out(
            f"The link has {len(asked):,} panels and a page has room for {room}: the first {room} are open."
        )
    read, refused = read_panels(table, list(asked[:room]) or list(defaults))
    for sentence in refused:
        messages.left_out(sentence)
    read = [algorithm for algorithm in read if not only or algorithm.name == only]
    for algorithm in read or read_panels(table, list(defaults))[0]:
        try:
            comparison.add(algorithm)
        except BadInput as error:
            if not comparison.panels:
                raise
            messages.left_out(f"Not all panels are open. {error}")
            break
    comparison.resume()


class Speed(NamedTuple):
    """The speed of a page: its label, what may be chosen, the default, its key in the address, its help."""

    label: str
    choices: tuple[float, ...]
    default: float
    key: str
    help: str
    width: int = 200


@st.fragment
def transport(page: str, comparison: Comparison[Any], speed: Speed, play: str, step: str, reset: str) -> None:
    """Draw play, step, reset and speed; play, step and reset are the helps of these buttons."""

    def toggle() -> None:
        (comparison.pause if comparison.running else comparison.resume)()

    with st.container(horizontal=True, vertical_alignment="bottom"):
        label, icon = ("Pause", "pause") if comparison.running else ("Play", "play_arrow")
        st.button(
            label,
            icon=f":material/{icon}:",
            on_click=toggle,
            shortcut="P",
            key=f"{page}_play",
            type="secondary" if comparison.running else "primary",
            help=play,
        )
        st.button(
            "Step",
            icon=":material/skip_next:",
            on_click=comparison.step,
            shortcut="S",
            key=f"{page}_step",
            help=step,
        )
        st.button(
            "Reset",
            icon=":material/replay:",
            on_click=comparison.reset,
            shortcut="0",
            key=f"{page}_reset",
            help=reset,
        )
        rate = st.select_slider(
            speed.label,
            speed.choices,
            value=speed.default,
            format_func=lambda rate: "full" if math.isinf(rate) else f"{rate:g}",
            key=speed.key,
            bind="query-params",
            width=speed.width,
            help=speed.help,
        )
        if rate != comparison.rate:
            comparison.set_rate(rate)


def own_model(name: str, key: str, label: str) -> tuple[str, Model]:
    """Offer an upload; return its model with the file's name, without one the chosen model ``name``."""
    chosen = trained_models().get(name) or pretrained(name)
    upload = st.file_uploader(
        label,
        type=["safetensors", "npz"],
        key=key,
        help="Arrays W (visible, hidden), b and c; rates.W, rates.b and rates.c where you have them. "
        "It takes the place of the chosen model until you remove it here.",
    )
    if upload is None:
        drop_upload(key)
        return name, chosen
    try:
        return upload.name, uploaded(upload.name, upload.getvalue(), key)
    except BadInput as error:
        messages.error(error)
        return name, chosen


def edits(
    comparison: Comparison[R], grid: str, write_link: Callable[[Comparison[R]], None]
) -> tuple[Callable[[], None], Callable[[], None]]:
    """Return what happens where a knob of a panel is let go, and where its cross is clicked.

    grid : key of the live component, whose state says what was done
    """

    def edited() -> None:
        edit = st.session_state[grid].edit
        try:
            comparison.tune(edit["key"], **edit["knobs"])
        except BadInput as error:
            messages.error(error)
        write_link(comparison)

    def removed() -> None:
        comparison.remove(st.session_state[grid].remove["key"])
        write_link(comparison)

    return edited, removed


def adders(page: str, labels: Mapping[str, str], add: Callable[[str], None]) -> None:
    """Draw a button for each thing that a panel can be opened for, by name and label."""

    def try_to_add(name: str) -> None:
        try:
            add(name)
        except BadInput as error:
            messages.error(error)

    for name, label in labels.items():
        st.button(
            label,
            key=f"{page} add {name}",
            icon=":material/add:",
            on_click=try_to_add,
            args=(name,),
            type="tertiary",
        )


class Preset(Protocol):
    """A preset: what its button says, and what to look for."""

    @property
    def label(self) -> str: ...  # noqa: D102
    @property
    def caption(self) -> str: ...  # noqa: D102


P = TypeVar("P", bound=Preset)


def preset_menu(page: str, presets: Sequence[P], apply_preset: Callable[[P], None]) -> None:
    """Offer the presets; ``apply_preset`` brings the page to the one that was picked."""
    preset_caption = f"{page}_told"

    def pick(preset: P) -> None:
        st.session_state[preset_caption] = st.session_state.get(preset_caption, 0) + 1
        try:
            apply_preset(preset)
        except BadInput as error:
            messages.error(error)

    # Another key is another popover, closed: a preset that was picked must not cover what it shows.
    with st.popover(
        "Presets",
        icon=":material/auto_stories:",
        key=f"{page} presets {st.session_state.get(preset_caption)}",
    ):
        for preset in presets:
            key = f"{page} preset {preset.label}"
            st.button(preset.label, key=key, on_click=pick, args=(preset,), type="tertiary")
            st.caption(preset.caption)
