"""The common part of all pages with live panels: race, transport, presets, link and charts.

A page creates one ``LivePage``, called ``PAGE`` here. Take ``pages/weights/page.py`` as the template. Its
``main`` draws, in this order:

1. ``PAGE.heading(notes=...)``: the question, and "About" with the notes on how to read the page;
2. ``with PAGE.toolbar():`` the page's own settings, from which it builds its setup, and ``PAGE.menu()``, the
    presets;
3. ``PAGE.open(setup)``: returns the race, and draws play, step, reset, undo and speed into the toolbar;
4. ``with PAGE.notes():`` the messages above the panels; call it even if there are none;
5. ``left, right = places()``: the grid of the first screen, for the panels and the main chart;
6. in ``left`` the panels: ``PAGE.draw_panels``, a fragment, so that a click there redraws nothing else. It
   calls the function of the page's ``panel.py`` that mounts the canvas, and writes the address;
7. in ``right`` the main chart, and below the grid the others, by ``live_chart``: a function that reads
   ``race.peek()``, which keeps no run awake, makes the chart whenever there is something new.
   Fragments that draw settings call ``catch_up_settings``;
8. downloads and code (see ``controls``), omitted while presenting.
"""

import math
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Generic, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from rbmviz import BadInput, Model
from rbmviz.charts.plot import Content
from rbmviz.charts.style import titles
from rbmviz.errors import MAX_SHOWN
from rbmviz.files.origin import origin
from rbmviz.knobs import knobs_of
from rbmviz.pages import PageSpec
from rbmviz.pages.links import NO_PANEL, address_text, read_panels, write_changed_panel, write_panels
from rbmviz.session import limits
from rbmviz.session.multiples import with_knob
from rbmviz.session.race import UNDO_SECONDS, Setup
from rbmviz.view import PANEL_FOLDER, VIEW_FOLDER
from rbmviz_app import (
    card,
    controls,
    embedding,
    links,
    messages,
    pages,
    presenting,
    presets,
    races,
    session,
    shared,
    transport,
)
from rbmviz_app.captions import Captions
from rbmviz_app.component import component
from rbmviz_app.controls import Download
from rbmviz_app.panel import algorithms_of
from rbmviz_app.parts import Make
from rbmviz_app.presets import Preset
from rbmviz_app.race import PageRace
from rbmviz_app.session import PageSettings, Setting
from rbmviz_app.share import publish
from rbmviz_app.share.prose import marked
from rbmviz_app.transport import Transport

PRESENTED_FONT_PIXELS = 20

S = TypeVar("S", bound=Setup)


@dataclass
class LivePage(Generic[S]):
    """A page with live panels.

    All visitors share it. Each script run of a visitor has its own thread, so state kept between calls is
    stored per thread.

    spec : its settings and panels; its name is the page's folder and the path in the address
    settings : session-state entries of the settings in ``spec``
    question : heading of the page
    about : explains the picture, the models and chains as far as a newcomer needs them, and what to do first
    presets : presets in the menu; the page opens with the first
    captions : yields captions of its panels, see ``caption`` (default: none but those of the presets)
    linkable : returns the algorithms of the panels that a link can describe (default: all panels)
    only_knobs : names of the knobs in the panels and the address; None (the default): all
    title : returns a distinct title for each algorithm in a list
    knob_labels : takes the values of the settings by name; returns the labels of knobs that the panels name
        differently from their algorithms, for use outside the panels: in *Presenting* and in challenges
    shows_settings : returns whether the screen matches the settings; if not, it shows no preset
    """

    spec: PageSpec
    settings: PageSettings
    question: str
    about: str
    presets: Sequence[Preset]
    transport: Transport
    captions: Captions = lambda panels, setup: iter(())
    linkable: Callable[[PageRace[Any]], list[Any]] = algorithms_of
    only_knobs: Sequence[str] | None = None
    title: Callable[[Sequence[Any]], list[str]] = titles
    knob_labels: Callable[[Mapping[str, Any]], dict[str, str]] = lambda values: {}
    shows_settings: Callable[[], bool] = lambda: True
    _of_run: threading.local = field(init=False, repr=False, default_factory=threading.local)

    @property
    def name(self) -> str:
        """Name of the page, and its path in the address."""
        return self.spec.name

    @property
    def speed(self) -> Setting[float]:
        """The setting of the steps per second."""
        return self.settings[self.spec.speed]

    def setup_of(self, values: Mapping[str, Any]) -> S:
        """Return the panels' common setup for these values of the settings, by name."""
        return self.spec.setup(values, shared.page_sources())

    def setup_now(self) -> tuple[S, str]:
        """Return the setup for the current settings, and why its data are missing ("" if they are not)."""
        values = self.settings.values_now()
        try:
            return self.spec.setup(values, shared.page_sources(lenient=False)), ""
        except BadInput as error:
            return self.spec.setup(values, shared.page_sources()), str(error)

    def heading(self, question: str = "", about: str = "", notes: Sequence[str] = ()) -> bool:
        """Draw the question; return whether the page is for a projector.

        question, about : texts for one part of the page, if they differ from the page's own
        notes : paragraphs on how to read the panels and charts, and what to try; below ``about``
        """
        publish.tell(question=question or self.question)
        links.forget_gone(self.name)
        present = links.presenting()
        with st.container(horizontal=True, vertical_alignment="center", gap="small", key="heading"):
            st.title(question or self.question, anchor=False, width="content")
            if not present:
                caption = "The *Glossary* explains all words and numbers."
                controls.about(self.name, about or self.about, *notes, caption=caption)
        return present

    @contextmanager
    def toolbar(self) -> Iterator[None]:
        """Draw the row above the panels: first a container for the transport, then the caller's elements."""
        with st.container(horizontal=True, vertical_alignment="bottom", key="toolbar"):
            self._of_run.transport_place = st.container(
                horizontal=True, vertical_alignment="bottom", width="content"
            )
            yield

    def notes(self) -> AbstractContextManager[object]:
        """Return the container of messages above the panels, without which they would move and be rebuilt."""
        return st.container(key="notes")

    def menu(self) -> None:
        """Draw the menu of presets."""
        key = session.popover_key(f"{self.name} presets")
        with st.popover("Presets", key=key), st.container(key=f"{self.name} cards of presets"):
            for preset in self.presets:
                key = f"{self.name} preset {preset.label}"
                with st.container(border=True):
                    if (file := presets.picture_file(self.name, preset)).is_file():
                        st.html(controls.picture(file))
                    st.button(preset.label, key=key, on_click=self.apply, args=(preset,), type="tertiary")
                    st.caption(preset.caption)

    def open(
        self,
        setup: S,
        fill: Callable[[PageRace[S], list[Any]], None] | None = None,
        on_change: Callable[[PageRace[S]], None] = lambda race: None,
        shown: tuple[str, Any] = ("", None),
    ) -> PageRace[S]:
        """Open this session's race with this setup, and draw the transport.

        fill : adds the panels of a new race; takes the race and the algorithms of the link's
            preset, an empty list if it has none (default: ``self.fill``)
        on_change : called with an open race after the visitor has changed a setting and the new setup
            has been accepted; not called for presets, lesson steps and Undo, which set panels themselves
        shown : name and model of this setup; ``PageRace.shown_model`` stays if the setup is refused

        If the limits allow no panel, the script run stops here with the reason on the page.
        """
        try:
            race, is_new = races.open_race(self.name, setup, self.speed.value)
            step = card.to_set(self.name)
            if step is not None:
                race.pause()  # nothing runs before Play
                race.replace(setup, step.algorithms())
                race.set_rate(self.speed.value)
                race.drop_undo()
                card.note_opened()
            elif is_new:
                asked, preset = links.link_values(self.name, presets.KEY), self.preset_of_link()
                if asked and preset is None:
                    session.add_link_warning(
                        f"The link names an unknown preset '{asked[0][:MAX_SHOWN]}'; there are "
                        f"{', '.join(each.slug for each in self.presets)}.",
                        self.name,
                    )
                (fill or self.fill)(race, self.read(preset.panels)[0] if preset else [])
                self._start(race)
            elif race.setup != setup:
                try:
                    race.change(setup)
                except BadInput as error:
                    messages.alert("setup", f"{error} The panels continue as they were.")
                else:
                    on_change(race)
                changed = session.changed_settings(race.drawn_settings)
                race.undo_settings = race.undoable_commands, changed
                if not changed:
                    race.drop_undo()  # a file was uploaded or removed: no setting restores it
        except BadInput as error:
            races.drop_empty_race(self.name)
            messages.note(error)
            st.stop()
        if race.setup == setup:
            race.shown_model = shown
        values = self.settings.values_now()
        knobs = [knob for panel in race.panels for knob in knobs_of(panel.algorithm).values()]
        labels = {knob.name: knob.label for knob in knobs} | self.knob_labels(values)
        if self.only_knobs is not None:
            labels = {name: labels[name] for name in self.only_knobs}
        if is_new:
            embedding.warn_of_unknown_knobs(self.name, list(labels))
        messages.draw_link_warnings(self.name)
        messages.show_toasts()
        self._note_shown_preset(race)
        race.drawn_settings = values
        with self._of_run.transport_place:
            draw_transport(self, race)
            if links.presenting():
                presenting.draw_settings(self.name, labels)
        return race

    def _start(self, race: PageRace[S]) -> None:
        """Start the runs of a newly opened page, or advance them to the steps in the link of a paused page.

        Training runs opened by a link stay at their own steps.
        """
        steps = links.paused_at(self.name, len(race.panels))
        if not steps and not (session.STARTS_PAUSED.ensure() or session.REDUCED_MOTION.value):
            race.resume()
        elif any(steps) and not any(panel.snapshot.n for panel in race.panels):
            most = links.MAX_REPEATED_STEPS
            if max(steps) > most:
                session.add_link_warning(
                    f"The link was made at step {max(steps):,}. A page makes at most {most:,} steps again "
                    "when it is opened: press Play to continue.",
                    self.name,
                )
            race.step([min(n, most) for n in steps])

    def read(self, texts: Sequence[str]) -> tuple[list[Any], list[str]]:
        """Return the algorithms of a link or preset, and a message for each refused text."""
        read, refused = read_panels(self.spec.algorithms, texts)
        only = self.spec.only
        others = [algorithm for algorithm in read if only and algorithm.name != only]
        refused += [
            f"The link's panel '{write_changed_panel(algorithm)}' is left out: this page has {only} only."
            for algorithm in others
        ]
        return [algorithm for algorithm in read if algorithm not in others], refused

    def fill(self, race: PageRace[S], wanted: list[Any]) -> None:
        """Add the panels in the link, as many as the limits allow.

        If there are none, add ``wanted`` or, if that is empty, the default panels.

        Raises BadInput if the limits allow none.
        """
        asked, single = links.link_values(self.name, self.spec.panels_key), self.spec.single
        if asked == [NO_PANEL] and not single:
            return
        most = 1 if single else limits().panels
        if len(asked) > most:
            session.add_link_warning(
                f"The link has {len(asked):,} panels and this page has room for {most}: the first "
                f"{f'{most} are' if most > 1 else 'is'} open.",
                self.name,
            )
        read, refused = self.read(asked[:most])
        for sentence in refused:
            session.add_link_warning(sentence, self.name)
        for algorithm in read or wanted or self.read(self.spec.default_panels)[0]:
            try:
                race.add(algorithm)
            except BadInput as error:
                if not race.panels:
                    raise
                session.add_link_warning(f"Not all panels are open. {error}", self.name)
                break

    # Presets

    def values_of(self, preset: Preset) -> dict[str, Any]:
        """Return the values of all settings that presets set, by name."""
        return {
            name: preset.settings.get(name, setting.default)
            for name, setting in self.settings.items()
            if not setting.spec.left_alone
        }

    def apply(self, preset: Preset) -> None:
        """Apply a preset, in a callback; if it is refused, show why and change nothing."""
        session.close_popover(f"{self.name} presets")
        values = self.values_of(preset)
        try:
            self.show(self.setup_of(values), self.read(preset.panels)[0], values)
        except BadInput as error:
            messages.refused(error)

    def show(self, setup: S, algorithms: Sequence[Any], values: Mapping[str, Any], plan: Any = None) -> None:
        """Set the page to these panels and settings, in a callback or before switching to it.

        Undo restores the previous state. A page that this session has not opened yet is opened. If the limits
        do not allow these panels, BadInput is raised and nothing changes.

        setup : the panels' common setup, according to the settings
        values : values of settings of the page, by name; other settings stay the same
        plan : plan of each panel's run (default: the setup's)
        """
        before = self.settings.values_now()
        race, is_new = races.open_race(self.name, setup, self.speed.value)
        try:
            race.replace(setup, algorithms, plan)
        except BadInput:
            if is_new:
                races.drop_empty_race(self.name)
            raise
        session.show(values)
        race.set_rate(self.speed.value)
        if is_new:
            race.drop_undo()
        else:
            race.undo_settings = race.undoable_commands, session.changed_settings(before)
        race.resume()

    def open_with(
        self, setup: S, algorithms: Sequence[Any], values: Mapping[str, Any], plan: Any = None
    ) -> None:
        """Open this page with these panels and settings, from another page; see ``show``."""
        try:
            self.show(setup, algorithms, values, plan)
        except BadInput as error:
            messages.note(error)
        else:
            st.switch_page(pages.file_of(self.name))

    def preset_of_link(self) -> Preset | None:
        """Return the preset in the link; None if there is none.

        Settings and panels in the link take precedence over the preset's.
        """
        asked = links.link_values(self.name, presets.KEY)
        return next((preset for preset in self.presets if [preset.slug] == asked[:1]), None)

    def _is_on_screen(self, preset: Preset, race: PageRace[S]) -> bool:
        panels = self.linkable(race)
        named = [text.partition(":")[0] for text in preset.panels]
        # Names first, because reading the knobs of all presets takes a millisecond.
        if len(panels) != len(race.panels) or named != [algorithm.name for algorithm in panels]:
            return False
        for algorithm, other in zip(panels, self.read(preset.panels)[0], strict=True):
            turned = {
                name: getattr(algorithm, name) for name in preset.invites if name in knobs_of(algorithm)
            }
            if replace(other, **turned) != algorithm:
                return False
        values = self.values_of(preset)
        of_page = [self.settings[name] for name in values if name in self.spec.settings]
        if any(setting.value != values[setting.key] and not setting.is_unchosen for setting in of_page):
            return False
        try:  # an uploaded file belongs to the setup, but not to the settings
            return race.setup == self.setup_of(values) and self.shows_settings()
        except BadInput:
            return False

    def _note_shown_preset(self, race: PageRace[S]) -> Preset | None:
        """Return the preset that the screen shows, and remember it."""
        on_screen = next((preset for preset in self.presets if self._is_on_screen(preset, race)), None)
        race.preset = on_screen.slug if on_screen else ""
        return on_screen

    def draw_caption(self, race: PageRace[S]) -> None:
        """Draw the place of the caption, whose sentences come with the frames."""
        self._note_shown_preset(race)
        in_lesson = card.opened(self.name) is not None  # the card of a lesson explains the page
        said = [] if in_lesson else self.caption(race)
        if not in_lesson:
            race.parts.offer("caption", lambda: (None, self.caption(race)), "")
        # Always present: otherwise the elements below would be rebuilt and jump.
        with st.container(key="caption"):
            data = {"url": "" if in_lesson else race.path, "said": said}
            pressed = _caption(key="words of the caption", data=data, on_why_change=lambda: None)
        publish.tell(caption=marked(" ".join(said[:1])))
        if pressed.why:
            session.show({"little": "landscape"})
            card.switch_page("chain")

    def caption(self, race: PageRace[S]) -> list[str]:
        """Return what to say about the panels now: a sentence, and the words of its link if it has one.

        A preset has the words as long as no knob is turned; those of the first, with which the page opens,
        last until ``captions`` yields a sentence.
        """
        preset, panels = self.shown_preset(race), self.named(race)
        own = preset.caption if preset is not None else ""
        opening = next(iter(self.presets), None)
        stays = preset is not opening and not any(shown.scored_from for _, shown in panels)
        first = own if own and stays else next(self.captions(panels, race.setup), own)
        return first.split("\n")

    def shown_preset(self, race: PageRace[S]) -> Preset | None:
        """Return the preset that the screen showed when it was last drawn; None if there was none."""
        return next((preset for preset in self.presets if preset.slug == race.preset), None)

    def write_address(
        self, race: PageRace[S], more: Mapping[str, Sequence[str]] = MappingProxyType({})
    ) -> None:
        """Write the panels, the preset that the screen shows, the settings and ``more`` into the address."""
        preset, panels = self.shown_preset(race), write_panels(self.linkable(race), self.only_knobs)
        parts = {self.spec.panels_key: panels, presets.KEY: [preset.slug] if preset else []}
        links.write(self.name, parts | links.texts_of(self.settings.values()) | dict(more))

    @st.fragment
    def draw_panels(
        self,
        race: PageRace[S],
        key: str,
        draw: Callable[..., None],
        offer: tuple[str, str, Callable[[], None]] | None = None,
    ) -> None:
        """Draw the caption and the live panels, and write the address.

        draw : draws the panels; takes the race and the keyword arguments that ``mounted`` returns
        offer : noun and icon for a panel, and a function that draws the buttons for adding one; None: panels
            cannot be added
        """
        self.draw_caption(race)
        draw(race, **self.mounted(race, key))
        if offer is not None:
            what, icon, draw_adders = offer
            if not race.panels:
                st.info(f"No panel is open: add a {what}.", icon=f":material/{icon}:")
            if not links.presenting():
                with st.popover(f"Add a {what}", icon=":material/add:", type="tertiary", key=f"add {what}"):
                    draw_adders()
        catch_up_page(race)
        self.write_address(race)

    def mounted(self, race: PageRace[S], key: str) -> dict[str, Any]:
        """Return the keyword arguments of ``Canvas.mount`` that are common to all canvases of panels."""

        def edited(edit: Any) -> None:
            try:
                race.apply_knobs(edit["key"], **edit["knobs"])
            except BadInput as error:
                messages.refused(error)

        def multiplied(asked: Any) -> None:
            try:
                others = with_knob(race[asked["key"]].algorithm, asked["knob"], asked["values"])
                race.add_beside(asked["key"], others, asked["instead"])
            except KeyError:
                return  # the panel has since been closed
            except BadInput as error:
                messages.refused(error)

        return {
            "present": links.presenting(),
            "key": key,
            "on": {
                "edit": edited,
                "remove": lambda asked: race.remove(asked["key"]),
                "multiply": multiplied,
            },
        }

    def named(self, race: PageRace[S]) -> list[tuple[str, Any]]:
        """Return (title, snapshot) of every panel, without renewing leases: this does not keep runs awake."""
        snapshots = [snapshot for _, snapshot in race.peek()]
        return list(zip(self.title([snapshot.algorithm for snapshot in snapshots]), snapshots, strict=True))


def places() -> tuple[DeltaGenerator, DeltaGenerator]:
    """Return the containers of the panels and the main chart, side by side on the first screen.

    ``style.css`` sets the size of both; while presenting, only the type is larger.
    """
    with st.container(key="live"):
        return st.container(key="live-panels"), st.container(key="live-chart")


def catch_up_page(race: PageRace[Any]) -> None:
    """Update the rest of the page after actions in the panels; call it at the end of their fragment.

    Redraws the page if the command to undo or the panels have changed, and shows why clicks and drags were
    refused.
    """
    keys = [panel.key for panel in race.panels]
    if race.drawn_command != race.undoable_commands or race.drawn_panels != keys:
        st.rerun()  # Undo and what depends on the panels are drawn with the whole page
    messages.show_toasts()


def catch_up_settings(race: PageRace[Any]) -> None:
    """Redraw the page if this fragment changed a setting, because the address is written elsewhere.

    Call it in each fragment with settings.
    """
    if session.changed_settings(race.drawn_settings):
        st.rerun()


@st.fragment
def draw_transport(live: LivePage[Any], race: PageRace[Any]) -> None:
    """Draw play, step, reset and speed."""
    page, speed, texts = live.name, live.speed, live.transport
    with st.container(horizontal=True, vertical_alignment="bottom"):
        held = "The lesson asks first: choose an answer on its card." if card.holds_play(page) else ""
        transport.draw(page, race.path, race.running, texts, held)
        number = race.undoable_commands
        race.drawn_command, race.drawn_panels = number, [panel.key for panel in race.panels]
        # The shell's style sheet hides the button when there is nothing to undo, and after UNDO_SECONDS. It
        # is never disabled, because that would lose a click made while there was something to undo. An
        # animation keeps the time, which restarts only if its name changes: hence one each for even and odd.
        state = ("even", "odd")[number % 2] if race.can_undo else "none"
        with st.container(key=f"{page}_undo_{state}_{number}", width="content"):
            if st.button(
                "Undo",
                icon=":material/undo:",
                on_click=undo,
                args=(page, race),
                key=f"{page}_undo",
                help=f"Undo the last reset, closed panel, preset or setting, within {UNDO_SECONDS:g} "
                "seconds: the runs continue where they were.",
            ):
                st.rerun()
        rate = controls.slide(
            speed,
            format_func=lambda rate: address_text(rate) + ("/s" if math.isfinite(rate) else ""),
            width=texts.width,
            label_visibility="collapsed",
        )
        if rate != race.rate:
            race.set_rate(rate)
    catch_up_settings(race)


def undo(page: str, race: PageRace[Any]) -> None:
    """Undo the newest command, including the settings that it changed."""
    try:
        if not race.undo():
            st.toast(f"Too late to undo: that was only possible for {UNDO_SECONDS:g} seconds.")
            return
    except BadInput as error:
        st.toast(messages.plain(error))  # a message on the page would disappear with the next run
        return
    command, settings = race.undo_settings
    session.show(settings if command == race.undoable_commands else {})


FOLDED_HEIGHT = 260
"""Pixels of a plot under *More charts*."""

TEXT = 1
"""Height of sentences without a chart, see ``live_chart``."""

_scripts = [PANEL_FOLDER / f"{name}.js" for name in ("readouts", "mosaic", "parts")]
_styles: list[str | Path] = [VIEW_FOLDER / "curves.css", "chart.css"]
_caption = component("caption", [PANEL_FOLDER / "parts.js", "caption.js"], ["caption.css"])
_chart = component("chart", [*_scripts, VIEW_FOLDER / "curves.js", "chart.js"], _styles)


def downloads(
    race: PageRace[Any],
    models: Mapping[str, Model] = MappingProxyType({}),
    code: Callable[[], str] | None = None,
    more: Sequence[Download] = (),
    by_link: bool = False,
    missing: str = "",
) -> None:
    """Draw the menu of files to save: the rows of the page's charts, ``more``, and its code.

    models : the models of the panels, by name; code : see ``controls.downloads``
    by_link : whether the page's address, and not its code, repeats the results
    missing : why a file is not offered
    """
    page = race.page
    address = links.address_of(page, links.LESSON, links.STEP)

    def file_origin() -> dict[str, Any]:
        command = f"rbmviz app; {address()}" if by_link or code is None else code()
        return origin_of(race, command, models)

    help = "The points of this page’s charts, once there are any, and where they come from (.csv)."
    rows = Download("Data (.csv)", race.parts.csv, f"{page}.csv", help)
    controls.downloads(page, [rows, *more], file_origin, code, missing)


def origin_of(
    race: PageRace[Any], command: str, models: Mapping[str, Model] = MappingProxyType({})
) -> dict[str, Any]:
    """Return the origin of a page's results, which a command or code repeats; see ``rbmviz.files.origin``."""
    setup = race.setup
    seeds = range(setup.seed, setup.seed + getattr(setup, "replicates", 1))
    return origin(command, models=models, data=[getattr(setup, "dataset", None)], seeds=seeds)


def live_chart(
    race: PageRace[Any],
    key: str,
    make: Make,
    alt: str,
    nothing: str = "",
    height: int = 0,
) -> None:
    """Draw the place of a chart whose content comes with the panels' frames.

    key : widget key; make : see ``Parts.offer``; alt : description for screen readers; nothing : text until
        there are rows; height : pixels; 0 (the default): a main chart, whose height a style sheet sets; TEXT:
        only the sentences
    """
    race.parts.offer(key, make, alt)
    with nullcontext() if height else st.container(key=f"main chart {key}"):
        _place(key, nothing, height, url=race.path)


def draw_chart(content: Content | None, key: str, nothing: str = "", height: int = 300) -> None:
    """Draw a chart that does not change while it is shown; see ``live_chart``."""
    if content is None:
        st.caption(nothing)
    else:
        _place(key, "", height, still=content)
        publish.chart(key, content)


def _place(key: str, nothing: str, height: int, url: str = "", still: Content | None = None) -> None:
    size = PRESENTED_FONT_PIXELS if links.presenting() else 0
    data = {"url": url, "part": key, "still": still, "nothing": nothing, "size": size, "height": height}
    # Lessons count the charts of a page by this name.
    _chart(key=f"{'said' if height == TEXT else 'plot'} {key}", data=data)
