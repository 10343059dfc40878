"""What all pages with live panels have in common: the comparison, its transport, presets, link and charts.

A page creates one ``LivePage``, which is called ``PAGE`` here. The page to copy is ``pages/weights/page.py``.
Its ``main`` draws, in this order:

1. ``PAGE.heading()``: the question, and "About this page";
2. ``with PAGE.toolbar():`` the page's own settings, of which it makes its setup, and ``PAGE.menu()``, the
   presets;
3. ``PAGE.open(setup)``: returns the comparison, and draws play, step, reset, undo and speed into the toolbar;
4. ``with PAGE.notes():`` the place of sentences above the panels, always, even if there are none;
5. the panels, in a function with ``@st.fragment``, so that a click there draws nothing else again. It calls
   ``PAGE.preset_caption``, the grid of the page's ``panel.py`` with ``PAGE.socket()`` and
   ``**PAGE.callbacks(...)``, then ``offer_panels`` (where panels can be added), ``catch_up_page``, which may
   have the whole page drawn again, and last ``PAGE.write_address``, so that an address is written once;
6. charts, in functions with ``@every_second`` or ``@as_curves_grow`` (see ``timer``), which read
   ``comparison.peek()`` and call ``draw_chart``. ``peek`` renews no lease, so that a chart alone keeps no run
   awake: a run computes for 30 s after the last ``poll``, which the panels' socket calls for each frame.
   Where such functions draw settings that presets set, too, one of them ends with ``PAGE.withdraw_preset``;
7. downloads and code (see ``controls``), which a page for a projector leaves out.
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, TypedDict, TypeVar

import streamlit as st

from rbmviz import BadInput, Model
from rbmviz.errors import MAX_SHOWN
from rbmviz.knobs import knobs_of
from rbmviz.lessons import PageState
from rbmviz.links import NO_PANEL, address_text, read_panels, write_changed_panel, write_panels
from rbmviz.pages import PageSpec
from rbmviz.session import Comparison, limits
from rbmviz.session.comparison import Setup
from rbmviz.session.multiples import with_knob
from rbmviz_app import (
    card,
    comparisons,
    controls,
    embedding,
    keys,
    links,
    messages,
    pages,
    presenting,
    presets,
    session,
    shared,
    uploads,
)
from rbmviz_app.charts.style import Chart, readable, titles
from rbmviz_app.presets import Preset
from rbmviz_app.session import COMPARISONS, LAST_CAPTION, SHOWN_PRESET, PageSettings, Setting
from rbmviz_app.share import publish
from rbmviz_app.stream.socket import live_path
from rbmviz_app.timer import restart_timers

PRESENTED_FONT_PIXELS = 20
"""Size of the words in charts while presenting, in pixels."""

S = TypeVar("S", bound=Setup)


class Transport(NamedTuple):
    """The row of play, step, reset and speed.

    Parameters
    ----------
    play_help, step_help, reset_help : str
        What each control does.
    width : int
        Width of the slider of speeds, in pixels.
    """

    play_help: str
    step_help: str
    reset_help: str
    width: int = 200


def algorithms_of(comparison: Comparison[Any]) -> list[Any]:
    """Return the algorithm of each panel."""
    return [panel.worker.algorithm for panel in comparison.panels]


class PanelCallbacks(TypedDict):
    """Functions for a panel to call: when one of its knobs has been turned and let go, and when it closes."""

    on_edit: Callable[[], None]
    on_remove: Callable[[], None]


@dataclass
class LivePage(Generic[S]):
    """A page with live panels.

    It belongs to all visitors, whose runs of the script have a thread each: what it keeps between two calls
    it keeps for that thread alone.

    Parameters
    ----------
    spec : PageSpec
        Its settings and panels; its name is that of the page's folder, and its path in the address.
    settings : PageSettings
        The settings of ``spec`` as entries of the session state.
    question : str
        Heading of the page.
    about : str
        A few sentences: what the picture is; what a newcomer has to know of models and chains; what to do
        first.
    presets : sequence of Preset
        Offered in a menu; while the screen shows one of them, its caption stands above the panels.
    transport : Transport
        Texts of the row of play, step, reset and speed.
    linkable : callable
        Returns the algorithms of the panels that a link can describe (default: of all panels).
    only_knobs : sequence of str, optional
        Names of the knobs that the panels show, and the address holds; None (the default): all.
    title : callable
        Returns a different title for each of a list of algorithms.
    on_preset : callable
        Called with a preset when the page has been set to it.
    knob_labels : callable
        Returns, for values of its settings by name, the labels of knobs that its panels call otherwise than
        their algorithms do, for what names knobs beside the panels: *Presenting*, and challenges.
    shows_settings : callable
        Returns whether the screen shows what the settings say; if not, it shows no preset.
    """

    spec: PageSpec
    settings: PageSettings
    question: str
    about: str
    presets: Sequence[Preset]
    transport: Transport
    linkable: Callable[[Comparison[Any]], list[Any]] = algorithms_of
    only_knobs: Sequence[str] | None = None
    title: Callable[[Sequence[Any]], list[str]] = titles
    on_preset: Callable[[Preset], None] = lambda preset: None
    knob_labels: Callable[[Mapping[str, Any]], dict[str, str]] = lambda values: {}
    shows_settings: Callable[[], bool] = lambda: True
    _of_run: threading.local = field(init=False, repr=False, default_factory=threading.local)

    @property
    def name(self) -> str:
        """Name of the page, and its path in the address."""
        return self.spec.name

    @property
    def speed(self) -> Setting[float]:
        """The setting with the steps a second."""
        return self.settings[self.spec.speed]

    def setup_of(self, values: Mapping[str, Any]) -> S:
        """Return what all panels share, for values of the settings by name."""
        return self.spec.setup(values, shared.page_sources())

    def take_settings(self) -> None:
        """Let the settings be what a lesson, a preset or Undo has set; before any widget of the page."""
        session.keep_set()
        card.set_settings(self.name)

    def heading(self, question: str = "", about: str = "") -> bool:
        """Draw the question; return whether the page is for a projector.

        question, about : those of a part of the page, where they differ from the page's

        Settings are what a step of a lesson, a preset or Undo has set from here on: read none before, or call
        ``take_settings`` first.
        """
        self.take_settings()
        publish.heading(question or self.question)
        present = links.presenting()
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.title(question or self.question, anchor=False, width="content")
            if not present:
                self.draw_about(about or self.about)
        return present

    def draw_about(self, about: str) -> None:
        """Draw the button that opens what a newcomer has to know about the page."""
        with st.popover("About this page", icon=":material/info:", type="tertiary", key=f"{self.name} about"):
            st.markdown(about)
            st.caption("The page *Glossary* says what all words and numbers mean.")

    @contextmanager
    def toolbar(self) -> Iterator[None]:
        """Draw the row above the panels: first a place for the transport, then what the caller draws."""
        preset = self._preset_of_link()
        if preset is not None:  # a setting that the link itself gives precedes that of the preset
            for name, value in self.values_of(preset).items():
                if not links.values(name):
                    self.settings[name].set(value)
        with st.container(horizontal=True, vertical_alignment="bottom", key="toolbar"):
            self._of_run.transport_place = st.container(
                horizontal=True, vertical_alignment="bottom", width="content"
            )
            yield

    def notes(self) -> AbstractContextManager[object]:
        """Return the place of sentences above the panels.

        It is always there, even if it is empty: if the panels moved to another place of the page, they would
        be rebuilt, and blink.
        """
        return st.container(key="notes")

    def menu(self) -> None:
        """Draw the menu of presets."""
        key = session.popover_key(f"{self.name} presets")
        with st.popover("Presets", icon=":material/auto_stories:", key=key):
            for preset in self.presets:
                key = f"{self.name} preset {preset.label}"
                st.button(preset.label, key=key, on_click=self.apply, args=(preset,), type="tertiary")
                st.caption(preset.caption)

    def open(
        self,
        setup: S,
        fill: Callable[[Comparison[S], list[Any]], None] | None = None,
        on_change: Callable[[Comparison[S]], None] = lambda comparison: None,
    ) -> Comparison[S]:
        """Open this session's comparison with this setup, and draw the transport.

        fill : adds the panels of a new comparison; it is called with the comparison and the algorithms of the
            preset that the link asks for, an empty list if the link asks for none (default: ``self.fill``)
        on_change : called with a comparison that was open already, when a setting that the visitor has turned
            has given it this setup; not for presets, steps of lessons and Undo, which set panels themselves

        If the limits allow no panel, the script run stops here with the reason on the page.
        """
        try:
            preset = self._preset_of_link()
            comparison, is_new = comparisons.open_comparison(self.name, setup, self.speed.value)
            step = card.to_set(self.name)
            if step is not None:
                self._set_to_step(comparison, setup, step)
            elif is_new:
                self._warn_of_unknown_preset(links.values(presets.KEY))
                (fill or self.fill)(comparison, self.read(preset.panels)[0] if preset else [])
                self._start(comparison)
            elif comparison.setup != setup:
                change_setup(comparison, setup)
                if comparison.setup == setup:  # otherwise the limits have refused it
                    on_change(comparison)
                session.set_undo_settings(self.name, session.SHOWN_SETTINGS.value.get(self.name, {}))
                if not session.UNDO_SETTINGS.value[self.name]:
                    comparison.drop_undo()  # a file was uploaded or removed: no setting brings it back
        except BadInput as error:
            comparisons.drop_empty_comparison(self.name)
            messages.note(error)
            st.stop()
        values = {name: one.value for name, one in self.settings.items()}
        labels = self.labels_of_knobs(algorithms_of(comparison), values)
        if is_new:
            embedding.warn_of_unknown_knobs(self.name, list(labels))
        messages.draw_link_warnings(self.name)
        messages.show_toasts()
        self._note_shown_preset(comparison)
        session.SHOWN_SETTINGS.ensure()[self.name] = session.settings_now(
            self.name, pages.settings(self.name)
        )
        with self._of_run.transport_place:
            draw_transport(self, comparison)
            if links.presenting():
                presenting.draw_settings(self.name, labels)
        return comparison

    def labels_of_knobs(self, algorithms: Sequence[Any], values: Mapping[str, Any]) -> dict[str, str]:
        """Return the labels of the knobs that panels of these algorithms have, by name.

        values : of the settings, by name
        """
        labels = {name: knob.label for one in algorithms for name, knob in knobs_of(one).items()}
        labels |= self.knob_labels(values)
        shown = self.only_knobs
        return labels if shown is None else {name: labels[name] for name in shown}

    def shown_model(self, comparison: Comparison[S], setup: S, name: str, model: Model) -> tuple[str, Model]:
        """Return name and model of what the panels show: not those asked for if the limits refused them.

        setup, name, model : what the settings ask for, with the name and the model in it
        """
        shown = session.SHOWN_MODELS.ensure()
        if comparison.setup == setup or self.name not in shown:
            shown[self.name] = name, model
        return shown[self.name]

    def _set_to_step(self, comparison: Comparison[S], setup: S, state: PageState) -> None:
        """Open the panels of a step of a lesson, whose settings are set; nothing runs before Play."""
        comparison.pause()
        comparison.replace(setup, state.algorithms())
        comparison.set_rate(self.speed.value)
        comparison.drop_undo()
        self.on_preset(Preset("", "", state.panels, state.settings))
        card.note_opened()

    def _start(self, comparison: Comparison[S]) -> None:
        """Start the runs of a page that is opened; if the link has them paused at a step, go to that step.

        Trainings that a link has opened stay at their own steps.
        """
        steps = links.paused_at(len(comparison.panels))
        if not steps and not links.starts_paused():
            comparison.resume()
        elif any(steps) and not any(panel.worker.peek().n for panel in comparison.panels):
            most = links.MAX_REPEATED_STEPS
            if max(steps) > most:
                session.add_link_warning(
                    f"The link was made at step {max(steps):,}. A page makes at most {most:,} steps again "
                    "when it is opened, and stands there: press Play to go on.",
                    self.name,
                )
            comparison.step([min(n, most) for n in steps])

    def comparison(self) -> Comparison[S]:
        """Return this session's comparison, once the page has been drawn."""
        return COMPARISONS.value[self.name][0]

    def read(self, texts: Sequence[str]) -> tuple[list[Any], list[str]]:
        """Return the algorithms of a link or preset, and a sentence for each text that is refused."""
        read, refused = read_panels(self.spec.algorithms, texts)
        only = self.spec.only
        others = [algorithm for algorithm in read if only and algorithm.name != only]
        refused += [
            f"The link's panel '{write_changed_panel(algorithm)}' is left out: this page has {only} only."
            for algorithm in others
        ]
        return [algorithm for algorithm in read if algorithm not in others], refused

    def fill(self, comparison: Comparison[S], wanted: list[Any]) -> None:
        """Add the panels that the link names, as many as the limits allow.

        If it names none, ``wanted`` are added; if that is empty, the default panels.

        Raises
        ------
        BadInput
            If the limits allow none.
        """
        most, asked = limits().panels, links.values(self.spec.panels_key)
        if asked == [NO_PANEL]:
            return
        if len(asked) > most:
            session.add_link_warning(
                f"The link has {len(asked):,} panels and a page has room for {most}: the first {most} are "
                "open.",
                self.name,
            )
        read, refused = self.read(asked[:most])
        for sentence in refused:
            session.add_link_warning(sentence, self.name)
        for algorithm in read or wanted or self.read(self.spec.default_panels)[0]:
            try:
                comparison.add(algorithm)
            except BadInput as error:
                if not comparison.panels:
                    raise
                session.add_link_warning(f"Not all panels are open. {error}", self.name)
                break

    # Presets

    def values_of(self, preset: Preset) -> dict[str, Any]:
        """Return the value of every setting that presets set, by name."""
        return {
            name: preset.settings.get(name, setting.default)
            for name, setting in self.settings.items()
            if not setting.spec.left_alone
        }

    def apply(self, preset: Preset) -> None:
        """Set the page to a preset, in a callback; if it is refused, show why and change nothing."""
        session.keep_set()  # the browser that clicked may not know yet what the preset before has set
        session.close_popover(f"{self.name} presets")
        values, comparison = self.values_of(preset), self.comparison()
        before = session.settings_now(self.name, pages.settings(self.name))
        try:
            comparison.replace(self.setup_of(values), self.read(preset.panels)[0])
        except BadInput as error:
            messages.refused(error)
            return
        for name, value in values.items():
            self.settings[name].set(value)
        comparison.set_rate(self.speed.value)
        self.on_preset(preset)
        if uploads.put_aside(self.name):
            comparison.drop_undo()  # no setting would bring the file back
        else:
            session.set_undo_settings(self.name, before)
        comparison.resume()

    def _preset_of_link(self) -> Preset | None:
        """Return the preset that the link asks for; None if there is none, or once the page is open.

        Settings and panels that stand in the link precede those of the preset.
        """
        if self.name in COMPARISONS.value:
            return None
        asked = links.values(presets.KEY)
        return next((preset for preset in self.presets if [preset.slug] == asked[:1]), None)

    def _warn_of_unknown_preset(self, asked: Sequence[str]) -> None:
        """Show that the preset that a link asks for is none of this page."""
        slugs = [preset.slug for preset in self.presets]
        if asked and asked[0] not in slugs:
            session.add_link_warning(
                f"The link's preset '{asked[0][:MAX_SHOWN]}' is none of this page: {', '.join(slugs)}.",
                self.name,
            )

    def _is_on_screen(self, preset: Preset, comparison: Comparison[S]) -> bool:
        panels = self.linkable(comparison)
        named = [text.partition(":")[0] for text in preset.panels]
        # Names first: this is asked every second, and reading the knobs of all presets takes a millisecond.
        if len(panels) != len(comparison.panels) or named != [algorithm.name for algorithm in panels]:
            return False
        # The caption invites to turn some knobs: their values make no difference.
        for algorithm, other in zip(panels, self.read(preset.panels)[0], strict=True):
            turned = {
                name: getattr(algorithm, name) for name in preset.invites if name in knobs_of(algorithm)
            }
            if replace(other, **turned) != algorithm:
                return False
        values = self.values_of(preset)
        for name, value in values.items():
            # What a list begins with is known once it is drawn: when a page is opened, after the caption.
            setting = self.settings[name]
            if setting.value != value and (setting.chosen is not None or setting.default != ""):
                return False
        try:  # an uploaded file is part of the setup, but not of the settings
            return comparison.setup == self.setup_of(values) and self.shows_settings()
        except BadInput:
            return False

    def _note_shown_preset(self, comparison: Comparison[S]) -> Preset | None:
        """Return the preset that the screen shows, and remember it."""
        shown = next((preset for preset in self.presets if self._is_on_screen(preset, comparison)), None)
        SHOWN_PRESET.set(SHOWN_PRESET.value | {self.name: shown.slug if shown else ""})
        return shown

    def preset_caption(self, comparison: Comparison[S]) -> None:
        """Draw the caption of the preset that the screen shows, if it shows one."""
        # Always there: otherwise the elements below would be rebuilt, and jump.
        session.keep_set()  # this begins a fragment, which a click in it draws alone
        shown = self._note_shown_preset(comparison)
        in_lesson = card.is_open(self.name)  # whose card says what it asks
        text = shown.caption if shown and not in_lesson else ""
        if text:
            LAST_CAPTION.set(LAST_CAPTION.value | {self.name: text})
        # A sentence that goes leaves its place, so that the slider in hand stays where it is. The sheet
        # of all pages hides words that are struck out.
        gone = "" if in_lesson or links.presenting() else LAST_CAPTION.value.get(self.name, "")
        with st.container(key="caption"):
            # Streamlit draws no container that is empty.
            st.caption(text or (f"~~{gone}~~" if gone else "&nbsp;"))
        publish.caption(text)

    def shown_caption(self) -> str:
        """Return the caption of the preset that the screen shows; "" if it shows none."""
        shown = self.shown_preset()
        return shown.caption if shown else ""

    def shown_preset(self) -> Preset | None:
        """Return the preset that the screen showed when it was drawn last; None if it showed none."""
        slug = SHOWN_PRESET.value.get(self.name)
        return next((preset for preset in self.presets if preset.slug == slug), None)

    def withdraw_preset(self, comparison: Comparison[S]) -> None:
        """Draw the page again if a control of this fragment has made it another preset, or none.

        To be called at the end of a fragment with settings, because its run leaves the caption as it is.
        """
        before, now = SHOWN_PRESET.value.get(self.name), self._note_shown_preset(comparison)
        if before != (now.slug if now else ""):
            st.rerun()

    def write_address(
        self,
        comparison: Comparison[S],
        panels: Sequence[str] | None = None,
        more: Mapping[str, Sequence[str]] = MappingProxyType({}),
    ) -> None:
        """Write the panels, the preset that the screen shows, and the settings into the address.

        panels : their texts, if they are not written like those of other pages; more : further parts
        """
        shown = self.shown_preset()
        if panels is None:
            panels = write_panels(self.linkable(comparison), self.only_knobs)
        parts = {self.spec.panels_key: panels, presets.KEY: [shown.slug] if shown else []}
        hidden = session.NOT_IN_ADDRESS.value
        values = {
            name: [] if name in hidden else one.texts(one.chosen)
            for name, one in self.settings.items()
            if one.chosen is not None
        }
        links.write(self.name, {**parts, **more}, values)

    def callbacks(self, comparison: Comparison[S], grid: str) -> PanelCallbacks:
        """Return the callbacks for "knob released" and "panel closed".

        grid : key of the canvas component
        """

        def edited() -> None:
            edit = session.sent_by(grid, "edit")
            try:
                comparison.apply_knobs(edit["key"], **edit["knobs"])
            except BadInput as error:
                messages.refused(error)

        def removed() -> None:
            comparison.remove(session.sent_by(grid, "remove")["key"])
            session.set_undo_settings(self.name, {})

        return {"on_edit": edited, "on_remove": removed}

    def multiply_callback(self, comparison: Comparison[S], grid: str) -> Callable[[], None]:
        """Return the callback for "panels with other values of a knob beside one"; see ``callbacks``."""

        def multiplied() -> None:
            asked = session.sent_by(grid, "multiply")
            try:
                algorithm = comparison[asked["key"]].algorithm
                others = with_knob(algorithm, asked["knob"], asked["values"])
                comparison.add_beside(asked["key"], others, asked["instead"])
            except KeyError:
                return  # the panel has gone meanwhile
            except BadInput as error:
                messages.refused(error)
            else:
                session.set_undo_settings(self.name, {})

        return multiplied

    def socket(self) -> str:
        """Return the path of the live socket of this visitor's comparison."""
        return live_path() + COMPARISONS.value[self.name][1]

    def named(self, comparison: Comparison[S]) -> list[tuple[str, Any]]:
        """Return (title, snapshot) of every panel, without keeping the runs awake (no lease is renewed)."""
        shown = [snapshot for _, snapshot in comparison.peek()]
        return list(zip(self.title([snapshot.algorithm for snapshot in shown]), shown, strict=True))


def offer_panels(
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


def catch_up_page(comparison: Comparison[Any]) -> None:
    """Bring the rest of the page up to what was done in the panels; call it at the end of their fragment.

    Draws the page again if there is another command to undo, or if its timers have to start again, and shows
    why clicks and drags were refused.
    """
    if session.shown_undo(comparison) != comparison.undoable_commands:
        st.rerun()  # its button stands in the transport, which is drawn with the whole page
    restart_timers(comparison)
    messages.show_toasts()


def change_setup(comparison: Comparison[S], setup: S) -> None:
    """Begin anew with another setup; if the limits refuse it, show the reason and change nothing."""
    try:
        comparison.change(setup)
    except BadInput as error:
        messages.alert("setup", f"{error} The panels go on as they were.")


def hand_over(page: str, setup: Any, algorithms: Sequence[Any], settings: Mapping[str, Any]) -> None:
    """Give another page these panels, before it is opened; there, Undo brings back what it had.

    A page that this session has not opened yet begins with what its address says.

    Parameters
    ----------
    page : str
        Name of the other page.
    setup : Setup
        What its panels share; that of the settings.
    algorithms : sequence of Sampler or Trainer
        Its panels.
    settings : mapping of str to value
        Its settings, by key; those that are not named stay.

    Raises
    ------
    BadInput
        If the limits do not allow these panels; then nothing has changed.
    """
    comparison, _ = COMPARISONS.value.get(page, (None, ""))
    before = session.SHOWN_SETTINGS.value.get(page, {})
    if comparison is not None:
        comparison.replace(setup, algorithms)
    for name, value in settings.items():
        session.set_on_other_page(name, value)
    put_aside = uploads.put_aside(page)
    if comparison is not None:
        if put_aside:
            comparison.drop_undo()  # no setting would bring the file back
        else:
            session.set_undo_settings(page, before)
        comparison.resume()


def play_or_pause(comparison: Comparison[Any]) -> None:
    """Pause a running comparison, or resume a paused one."""
    (comparison.pause if comparison.running else comparison.resume)()


@st.fragment
def draw_transport(live: LivePage[Any], comparison: Comparison[Any]) -> None:
    """Draw play, step, reset and speed."""
    page, speed, transport = live.name, live.speed, live.transport
    with st.container(horizontal=True, vertical_alignment="bottom"):
        label, icon = ("Pause", "pause") if comparison.running else ("Play", "play_arrow")
        held = card.holds_play(page)
        clicked = st.button(
            label,
            icon=f":material/{icon}:",
            on_click=play_or_pause,
            args=(comparison,),
            shortcut=keys.PLAY.key,
            key=f"{page}_play",
            # Not another one while it runs: that would be another button, and the focus would be lost.
            type="primary",
            help="The lesson asks first: choose an answer on its card." if held else transport.play_help,
            disabled=held,
        )
        clicked |= st.button(
            "Step",
            icon=":material/skip_next:",
            on_click=comparison.step,
            shortcut=keys.ONE_STEP.key,
            key=f"{page}_step",
            help=transport.step_help,
            disabled=held,
        )
        clicked |= st.button(
            "Reset",
            icon=":material/replay:",
            on_click=reset,
            args=(page, comparison),
            shortcut=keys.RESET.key,
            key=f"{page}_reset",
            help=transport.reset_help,
        )
        draw_undo(page, comparison)
        rate = controls.slide(speed, format_func=address_text, width=transport.width)
        if rate != comparison.rate:
            comparison.set_rate(rate)
        if clicked:
            restart_timers(comparison, commanded=True)
    live.withdraw_preset(comparison)


def reset(page: str, comparison: Comparison[Any]) -> None:
    """Begin anew; Undo has no setting to change."""
    comparison.reset()
    session.set_undo_settings(page, {})


def draw_undo(page: str, comparison: Comparison[Any]) -> None:
    """Draw the button that takes the newest command back; it is there, unseen, when there is nothing to undo.

    The style sheet of the shell hides it after ten seconds, and where nothing can be undone. It is never
    disabled, because a disabled button would lose the click after which nothing is left to undo.
    """
    number = comparison.undoable_commands
    session.SHOWN_UNDO.ensure()[page] = number
    # The ten seconds are an animation. It begins anew only if its name changes: hence one for odd numbers.
    state = ("even", "odd")[number % 2] if comparison.can_undo else "none"
    with st.container(key=f"{page}_undo_{state}_{number}", width="content"):
        if st.button(
            "Undo",
            icon=":material/undo:",
            on_click=undo,
            args=(page, comparison),
            key=f"{page}_undo",
            help="Take the last reset, closed panel, preset or other setting back: the runs go on where they "
            "were. For ten seconds.",
        ):
            st.rerun()


def undo(page: str, comparison: Comparison[Any]) -> None:
    """Take the newest command back, and the settings that it has changed."""
    session.keep_set()  # the browser that clicked may not know yet what the command has set
    try:
        if not comparison.undo():
            st.toast("It was too late to undo: what was there has been given up after ten seconds.")
            return
    except BadInput as error:
        st.toast(messages.plain(error))  # a message on the page would go with the run that follows
        return
    session.undo_settings(page)


def draw_chart(
    chart: Chart,
    key: str,
    alt: str,
    nothing: str = "",
    width: Any = "stretch",
    height: Any = "content",
) -> None:
    """Draw a chart, or the text ``nothing`` if there are no rows yet.

    chart : rows and Vega-Lite spec; key : of the widget; alt : description for screen readers; height :
    "stretch" for that of its place, which a sheet sets
    """
    rows, spec = chart
    if nothing and rows.empty:
        with st.container(key=f"no chart {key}"):  # while presenting it has the place of the chart
            st.caption(nothing)
    else:
        size = PRESENTED_FONT_PIXELS if links.presenting() else 0
        height = "stretch" if size else height  # presenting.css makes it as high as the window lets it be
        spec = readable(spec, st.context.theme.type, size)
        st.vega_lite_chart(rows, spec, key=key, width=width, height=height, alt=alt)
        publish.chart(key, rows, spec, alt)
