"""The controls that pages share: play, step, reset and speed, panels, presets, a model of one's own."""

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, ParamSpec, Protocol, TypeVar

import streamlit as st

from app import messages
from app.state import pretrained, trained_models, uploaded
from rbmviz import BadInput, Model
from rbmviz.session import Race
from rbmviz.session.race import Shared

R = TypeVar("R", bound=Shared)
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


class Speed(NamedTuple):
    """The speed of a page: its label, what may be chosen, the default, its key in the address, its help."""

    label: str
    choices: tuple[float, ...]
    default: float
    key: str
    help: str
    width: int = 200


@st.fragment
def transport(page: str, race: Race[Any], speed: Speed, play: str, step: str, reset: str) -> None:
    """Draw play, step, reset and speed; play, step and reset are the helps of these buttons."""

    def toggle() -> None:
        (race.pause if race.running else race.resume)()

    with st.container(horizontal=True, vertical_alignment="bottom"):
        label, icon = ("Pause", "pause") if race.running else ("Play", "play_arrow")
        st.button(
            label,
            icon=f":material/{icon}:",
            on_click=toggle,
            shortcut="P",
            key=f"{page}_play",
            type="secondary" if race.running else "primary",
            help=play,
        )
        st.button(
            "Step",
            icon=":material/skip_next:",
            on_click=race.step,
            shortcut="S",
            key=f"{page}_step",
            help=step,
        )
        st.button(
            "Reset",
            icon=":material/replay:",
            on_click=race.reset,
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
        if rate != race.rate:
            race.set_rate(rate)


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
        return name, chosen
    try:
        return upload.name, uploaded(upload.name, upload.getvalue())
    except BadInput as error:
        messages.error(error)
        return name, chosen


def edits(
    race: Race[R], grid: str, write_link: Callable[[Race[R]], None]
) -> tuple[Callable[[], None], Callable[[], None]]:
    """Return what happens where a knob of a panel is let go, and where its cross is clicked.

    grid : key of the live component, whose state says what was done
    """

    def edited() -> None:
        edit = st.session_state[grid].edit
        try:
            race.tune(edit["key"], **edit["knobs"])
        except BadInput as error:
            messages.error(error)
        write_link(race)

    def removed() -> None:
        race.remove(st.session_state[grid].remove["key"])
        write_link(race)

    return edited, removed


def adders(page: str, labels: Mapping[str, str], add: Callable[[str], None]) -> None:
    """Draw a button for each thing that a panel can be opened for, by name and label."""
    for name, label in labels.items():
        st.button(
            label,
            key=f"{page} add {name}",
            icon=":material/add:",
            on_click=add,
            args=(name,),
            type="tertiary",
        )


class Preset(Protocol):
    """A story: what its button says, and what to look for."""

    @property
    def label(self) -> str: ...  # noqa: D102
    @property
    def look(self) -> str: ...  # noqa: D102


P = TypeVar("P", bound=Preset)


def stories(page: str, presets: Sequence[P], tell: Callable[[P], None]) -> None:
    """Offer the presets; ``tell`` brings the page to the one that was picked."""
    told = f"{page}_told"

    def pick(story: P) -> None:
        st.session_state[told] = st.session_state.get(told, 0) + 1
        tell(story)

    # Another key is another popover, closed: a story that was picked must not cover what it shows.
    with st.popover(
        "Stories", icon=":material/auto_stories:", key=f"{page} stories {st.session_state.get(told)}"
    ):
        for story in presets:
            key = f"{page} story {story.label}"
            st.button(story.label, key=key, on_click=pick, args=(story,), type="tertiary")
            st.caption(story.look)
