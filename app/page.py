"""What all pages with live panels have in common: the comparison, its transport, presets, link and charts.

A page creates one ``LivePage`` with its name, link, speed and presets. It then calls, in this order,
``heading``, ``toolbar`` around its own settings, and ``open``, and draws its panels and its charts.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import streamlit as st

from app import controls, links, messages, presenting, session
from app.charts.style import Chart, readable, titles
from app.session import COMPARISONS, Setting
from app.stream.socket import live_path
from app.timer import wake
from rbmviz import BadInput
from rbmviz.knobs import knobs_of
from rbmviz.links import NO_PANEL, default_panels, read_panels, write_panels
from rbmviz.registry import Table, samplers
from rbmviz.session import Comparison, limits
from rbmviz.session.comparison import Setup

PRESENTED_WORDS = 20
"""Size of the words in charts while presenting, in pixels."""

S = TypeVar("S", bound=Setup)


class Preset(Protocol):
    """A preset: what its button says, and what to look for."""

    @property
    def label(self) -> str: ...  # noqa: D102
    @property
    def caption(self) -> str: ...  # noqa: D102


P = TypeVar("P", bound=Preset)


class Transport(NamedTuple):
    """The row of play, step, reset and speed: the speeds and their label, and what each control does."""

    label: str
    speeds: tuple[float, ...]
    speed_help: str
    play_help: str
    step_help: str
    reset_help: str
    width: int = 200


@dataclass
class LivePage(Generic[S, P]):
    """A page with live panels.

    Parameters
    ----------
    name : str
        Name of its folder, which is also its path in the address.
    question : str
        Heading of the page.
    about : str
        Three sentences: what the picture is; what a model, a sweep and a class are; what to do first.
    presets : sequence of presets
        Offered in a menu; while the screen shows one of them, its caption stands above the panels.
    speed : Setting
        Steps per second.
    transport : Transport
        Texts and speeds of the row of play, step, reset and speed.
    link : str
        Name of its panels in the address. "" (the default): the page adds and writes its only panel itself.
    table : Table
        Registry of the algorithms of its panels (default: the samplers).
    only_name : str
        The one algorithm that its panels can have; "" (the default): any of the table.
    only_knobs : sequence of str, optional
        Names of the knobs that its link holds; None (the default): all.
    title : callable
        Returns a different title for each of a list of algorithms.
    """

    name: str
    question: str
    about: str
    presets: Sequence[P]
    speed: Setting[float]
    transport: Transport
    link: str = ""
    table: Table = samplers
    only_name: str = ""
    only_knobs: Sequence[str] | None = None
    title: Callable[[Sequence[Any]], list[str]] = titles

    def heading(self) -> bool:
        """Draw the question; return whether the page is for a projector."""
        present = links.presenting()
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.title(self.question, anchor=False, width="content")
            if not present:
                self.draw_about()
        return present

    def draw_about(self) -> None:
        """Draw the button that opens what a newcomer has to know about the page."""
        with st.popover("About this page", icon=":material/info:", type="tertiary", key=f"{self.name} about"):
            st.markdown(self.about)
            st.caption("The page *Glossary* says what all words and numbers mean.")

    @contextmanager
    def toolbar(self) -> Iterator[None]:
        """Draw the row above the panels: a place for the transport, the page's own settings."""
        with st.container(horizontal=True, vertical_alignment="bottom", key="toolbar"):
            self._left = st.container(horizontal=True, vertical_alignment="bottom", width="content")
            yield

    def notes(self) -> AbstractContextManager[object]:
        """Return the place of sentences above the panels.

        It is always there, even if it is empty: if the panels moved to another place of the page, they would
        be rebuilt, and blink.
        """
        return st.container()

    def menu(self, apply: Callable[[P], None]) -> None:
        """Draw the menu of presets; ``apply`` is called with the one that was picked."""

        def pick(preset: P) -> None:
            session.close_popover(f"{self.name} presets")
            try:
                apply(preset)
            except BadInput as error:
                messages.error(error)

        key = session.popover_key(f"{self.name} presets")
        with st.popover("Presets", icon=":material/auto_stories:", key=key):
            for preset in self.presets:
                key = f"{self.name} preset {preset.label}"
                st.button(preset.label, key=key, on_click=pick, args=(preset,), type="tertiary")
                st.caption(preset.caption)

    def open(self, setup: S, fill: Callable[[Comparison[S]], None] | None = None) -> Comparison[S]:
        """Open this session's comparison with this setup, and draw the transport.

        fill : adds the panels of a new comparison; default: those of the link, or the default ones

        If the limits allow no panel, the script run stops here with the reason on the page.
        """
        try:
            comparison, self._token, fresh = session.open_comparison(self.name, setup, self.speed.value)
            if fresh:
                (fill or self._fill)(comparison)
                if not links.starts_paused():
                    comparison.resume()
            elif comparison.setup != setup:
                change(comparison, setup)
        except BadInput as error:
            session.leave_empty(self.name)
            messages.note(error)
            st.stop()
        with self._left:
            draw_transport(self.name, comparison, self.speed, self.transport)
            if links.presenting():
                knobs = [knobs_of(algorithm) for algorithm in self.algorithms(comparison)]
                labels = {name: knob.label for own in knobs for name, knob in own.items()}
                presenting.draw_settings(self.name, labels)
        return comparison

    def comparison(self) -> Comparison[S]:
        """Return this session's comparison, once the page has been drawn."""
        return COMPARISONS.value[self.name][0]

    def read(self, texts: Sequence[str], version: int | None = None) -> tuple[list[Any], list[str]]:
        """Return the algorithms of a link or preset, and a sentence for each text that is refused.

        version : of the link, for its defaults; None: the newest
        """
        read, refused = read_panels(self.table, texts, *([] if version is None else [version]))
        return [one for one in read if not self.only_name or one.name == self.only_name], refused

    def _fill(self, comparison: Comparison[S]) -> None:
        """Add the panels of the link, or the default ones of its version, as many as the limits allow.

        Raises
        ------
        BadInput
            If the limits allow none.
        """
        room, version, asked = limits().panels, links.version(), links.values(self.link)
        if asked == [NO_PANEL]:
            return
        if len(asked) > room:
            messages.left_out(
                f"The link has {len(asked):,} panels and a page has room for {room}: the first {room} are "
                "open."
            )
        read, refused = self.read(asked[:room], version)
        for sentence in refused:
            messages.left_out(sentence)
        for algorithm in read or self.read(default_panels(self.name, version), version)[0]:
            try:
                comparison.add(algorithm)
            except BadInput as error:
                if not comparison.panels:
                    raise
                messages.left_out(f"Not all panels are open. {error}")
                break

    def show_preset(self, setup: S, panels: Sequence[str], speed: float | None = None) -> None:
        """Begin anew with the setup and the panels of a preset."""
        comparison = self.comparison()
        comparison.replace(setup, self.read(panels)[0])
        if speed is not None:
            self.speed.set(speed)
            comparison.set_rate(speed)
        comparison.resume()

    def algorithms(self, comparison: Comparison[S]) -> list[Any]:
        """Return the algorithm of each panel."""
        return [panel.worker.algorithm for panel in comparison.panels]

    def write_address(self, algorithms: Sequence[Any]) -> None:
        """Write the panels of these algorithms into the address."""
        panels = write_panels(self.table, self.name, algorithms, self.only_knobs)
        links.write(self.name, {self.link: panels})

    def preset_caption(self, fits: Callable[[P], bool]) -> None:
        """Draw the caption of the first preset for which ``fits`` is true, if there is one."""
        # Always there, and a line high: otherwise the elements below would be rebuilt, and jump.
        with st.container(key="caption"):
            shown = next((preset.caption for preset in self.presets if fits(preset)), "")
            if shown:
                st.caption(shown)

    def shows(self, comparison: Comparison[S], panels: Sequence[str]) -> bool:
        """Return whether the panels are those of a preset, with all their knobs."""
        return self.algorithms(comparison) == self.read(panels)[0]

    def callbacks(self, comparison: Comparison[S], grid: str) -> dict[str, Callable[[], None]]:
        """Return the callbacks for "knob released" and "panel closed".

        grid : key of the canvas component
        """

        def edited() -> None:
            edit = session.sent_by(grid, "edit")
            try:
                comparison.tune(edit["key"], **edit["knobs"])
            except BadInput as error:
                messages.error(error)

        def removed() -> None:
            comparison.remove(session.sent_by(grid, "remove")["key"])

        return {"on_edit": edited, "on_remove": removed}

    def socket(self) -> str:
        """Return the path of the live socket."""
        return live_path() + self._token

    def named(self, comparison: Comparison[S]) -> list[tuple[str, Any]]:
        """Return (title, snapshot) of every panel; no lease is renewed."""
        shown = [snapshot for _, snapshot in comparison.peek()]
        return list(zip(self.title([snapshot.algorithm for snapshot in shown]), shown, strict=True))


def below_panels(
    comparison: Comparison[Any], what: str, icon: str, add: str, draw_adders: Callable[[], None]
) -> None:
    """Draw a note if there is no panel, and the row of buttons that add one.

    what, icon : noun and Material icon of the note; add : label of the row
    """
    if not comparison.panels:
        st.info(f"No panel is open: add a {what}.", icon=f":material/{icon}:")
    if not links.presenting():
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.caption(add, width="content")
            draw_adders()
    wake(comparison)


def change(comparison: Comparison[S], setup: S) -> None:
    """Begin anew with another setup; if the limits refuse it, show the reason and change nothing."""
    try:
        comparison.change(setup)
    except BadInput as error:
        messages.error(f"{error} The panels go on as they were.")


def play_or_pause(comparison: Comparison[Any]) -> None:
    """Pause a running comparison, or resume a paused one."""
    (comparison.pause if comparison.running else comparison.resume)()


@st.fragment
def draw_transport(
    page: str, comparison: Comparison[Any], speed: Setting[float], transport: Transport
) -> None:
    """Draw play, step, reset and speed."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        label, icon = ("Pause", "pause") if comparison.running else ("Play", "play_arrow")
        clicked = st.button(
            label,
            icon=f":material/{icon}:",
            on_click=play_or_pause,
            args=(comparison,),
            shortcut="P",
            key=f"{page}_play",
            type="secondary" if comparison.running else "primary",
            help=transport.play_help,
        )
        clicked |= st.button(
            "Step",
            icon=":material/skip_next:",
            on_click=comparison.step,
            shortcut="S",
            key=f"{page}_step",
            help=transport.step_help,
        )
        clicked |= st.button(
            "Reset",
            icon=":material/replay:",
            on_click=comparison.reset,
            shortcut="0",
            key=f"{page}_reset",
            help=transport.reset_help,
        )
        rate = controls.slide(
            speed,
            transport.label,
            transport.speeds,
            transport.speed_help,
            format_func=lambda rate: "full" if math.isinf(rate) else f"{rate:g}",
            width=transport.width,
        )
        if rate != comparison.rate:
            comparison.set_rate(rate)
        if clicked:
            wake(comparison, commanded=True)


def draw_chart(
    chart: Chart,
    key: str,
    alt: str,
    nothing: str = "",
    width: Any = "stretch",
) -> None:
    """Draw a chart, or the text ``nothing`` if there are no rows yet.

    chart : rows and Vega-Lite spec; key : of the widget; alt : description for screen readers
    """
    rows, spec = chart
    if nothing and rows.empty:
        st.caption(nothing)
    else:
        size = PRESENTED_WORDS if links.presenting() else 0
        spec = readable(spec, st.context.theme.type, size)
        st.vega_lite_chart(rows, spec, key=key, width=width, alt=alt)
