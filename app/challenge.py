"""Challenges: steps of a lesson with a goal, scored live; a result is verified by making its runs again.

While the page runs, the card shows the numbers of the goal. Once they are reached, or the steps are over, the
page pauses, and a thread makes the runs again from the changes of knobs that its workers have logged. What
comes out there is the result, and so is what comes out for the result in a link that somebody opens.
"""

import contextlib
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import streamlit as st

from rbmviz import BadInput
from rbmviz.lessons import Step, measure, steps_of
from rbmviz.lessons.claims import StepClaim
from rbmviz.lessons.results import (
    MAX_RESULT_LINK,
    VerifiedResult,
    read_result,
    result_link,
    result_of,
    verify,
    what_is_not_allowed,
    write_result,
)
from rbmviz.pages import PAGES
from rbmviz.session import Comparison
from rbmviz.session.slots import SLOTS, Group, Kind
from rbmviz_app import messages, pages, session
from rbmviz_app.charts.style import number_text, titles
from rbmviz_app.session import ATTEMPTS, COMPARISONS, Attempt, LessonStep

MAX_REPLAY_SECONDS = 60.0
"""Seconds of computing that a result may take to be verified."""

MAX_WAITING_RESULTS = 20
"""Results of all visitors that wait to be verified; one at a time is."""

MAX_KNOWN = 100
"""Newest results of all visitors of which is known what came out."""


class Replays:
    """Verifies results of all visitors, one at a time on a thread of its own, in turns with their runs."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="rbmviz-verify")
        self._group = Group()
        self._known: OrderedDict[tuple[LessonStep, str], Future[VerifiedResult]] = OrderedDict()
        self._lock = threading.Lock()

    def submit(self, place: LessonStep, step: Step, text: str) -> Future[VerifiedResult]:
        """Return what will come out for a result; the same result is verified once.

        Raises
        ------
        BadInput
            If it cannot be read, the challenge does not allow it, or too many are waiting.
        """
        result = read_result(step, text)
        with self._lock:
            known = self._known.get((place, text))
            if known is not None:
                return known
            if sum(not one.done() for one in self._known.values()) >= MAX_WAITING_RESULTS:
                raise BadInput("Too many results wait to be verified on this server: try again in a minute.")
            self._known[place, text] = made = self._pool.submit(self._verify, step, result)
            while len(self._known) > MAX_KNOWN:
                self._known.popitem(last=False)
            return made

    def _verify(self, step: Step, result: Any) -> VerifiedResult:
        begin = time.thread_time()

        @contextlib.contextmanager
        def turn() -> Iterator[None]:
            if time.thread_time() - begin > MAX_REPLAY_SECONDS:
                raise BadInput(
                    f"To verify this result takes more than {MAX_REPLAY_SECONDS:.0f} seconds of computing: "
                    "'rbmviz challenge check' does it without a limit."
                )
            with SLOTS.turn(self._group, Kind.FULL):
                yield

        return verify(step, result, turn)


@st.cache_resource(show_spinner=False)
def replays() -> Replays:
    """Return what verifies the results of all visitors."""
    return Replays()


def open_result(place: LessonStep, step: Step, text: str) -> None:
    """Have the result of a link verified; BadInput if it cannot be read, or is not allowed."""
    ATTEMPTS.ensure()[place] = Attempt(text, replays().submit(place, step, text), (), given=True)


def is_pending(place: LessonStep) -> bool:
    """Return whether a result of this challenge is being verified."""
    attempt = ATTEMPTS.value.get(place)
    return attempt is not None and not attempt.replay.done()


def is_won(place: LessonStep) -> bool:
    """Return whether the newest result of this challenge has been verified, and wins."""
    attempt = ATTEMPTS.value.get(place)
    if attempt is None or not attempt.replay.done() or attempt.replay.exception() is not None:
        return False
    return attempt.replay.result().won


def result_in_link(place: LessonStep, step: Step) -> str:
    """Return the newest result of a challenge, for a link; "": there is none, or it is too long for one."""
    attempt = ATTEMPTS.value.get(place)
    return attempt.text if attempt is not None and len(_link(place, step, attempt)) <= MAX_RESULT_LINK else ""


def _link(place: LessonStep, step: Step, attempt: Attempt) -> str:
    return result_link(place.lesson, place.step + 1, step, attempt.text)


def draw(step: Step, place: LessonStep) -> None:
    """Draw what may be changed, the goals with their numbers now, and what came out for a result."""
    comparison, _ = COMPARISONS.value.get(step.state.page, (None, ""))
    shown: list[Any] = []
    if comparison is not None and not session.STEP_TO_SET.value:
        shown = [one for _, one in comparison.peek()]
    st.caption(messages.plain(_allowed(step)))
    _draw_goals(step, shown)
    reason = ""
    if comparison is not None and shown:
        reason = _follow(step, place, comparison, shown)
    if reason:
        st.markdown(f":material/block: {messages.plain(reason)}")
    attempt = ATTEMPTS.value.get(place)
    if attempt is not None:
        _draw_attempt(step, place, attempt)


def _allowed(step: Step) -> str:
    """Return in words what may be changed."""
    live = pages.found()[step.state.page].PAGE
    knobs = live.labels_of_knobs(step.state.algorithms(), step.state.settings)
    turned = [knobs[name] for name in step.turns]
    settings = pages.settings(step.state.page)
    chosen = [knobs.get(name) or settings[name].label for name in step.choose]
    said = [f"Turn at any time: {', '.join(turned)}."] if turned else []
    said += [f"Choose before Play: {', '.join(chosen)}."] if chosen else []
    return " ".join([*said, "All else stays as it is."])


def _draw_goals(step: Step, shown: list[Any]) -> None:
    page, names = step.state.page, titles(step.state.algorithms())
    names = names if len(names) > 1 else [""]
    n = min((steps_of(page, one) for one in shown), default=0)
    lines = []
    for goal in step.goal:
        value = _value(step, goal, shown)
        known = n > 0 and value is not None and goal.of is None
        holds = known and goal.holds({(goal.panel, goal.metric): value})
        mark = ":green[:material/check_circle:]" if holds else ":material/flag:"
        said = goal.words(page, names)
        said = said if names[0] else said[:1].upper() + said[1:]
        number = "" if value is None else f": **{goal.with_unit(page, number_text(value))}**"
        lines.append(f"{mark} {messages.plain(said)}{number}")
    end = max(goal.n for goal in step.goal)
    lines.append(f"{min(n, end):,} of {end:,} {PAGES[page].steps}")
    st.markdown("  \n".join(lines))


def _value(step: Step, goal: StepClaim, shown: list[Any]) -> float | None:
    if goal.panel >= len(shown):
        return None
    return measure(step.state, (goal.panel, goal.metric), shown[goal.panel], goal.n)


def _is_over(step: Step, shown: list[Any]) -> bool:
    """Return whether all goals can be decided: their steps have been made, or they have been reached."""
    page = step.state.page
    for goal in step.goal:
        value = _value(step, goal, shown)
        n = min(steps_of(page, shown[panel]) for panel, _ in goal.about)
        reached = goal.within and value is not None and goal.holds({(goal.panel, goal.metric): value})
        if n < goal.n and not reached:
            return False
    return True


def _follow(step: Step, place: LessonStep, comparison: Comparison[Any], shown: list[Any]) -> str:
    """If an attempt is over, pause the page and have its result verified; return why that cannot be.

    Before that, return what is not as the challenge allows; "" if all is.
    """
    workers = [panel.worker for panel in comparison.panels]
    algorithms = [worker.algorithm for worker in workers]
    settings = {name: session.setting_value(name) for name in PAGES[step.state.page].run_settings()}
    settings = {name: value for name, value in settings.items() if value is not None}
    if refused := what_is_not_allowed(step, settings, algorithms):
        return f"This is no attempt: {refused}. Again sets the page as at first."
    # Pairs are counted without Play, and those of other knobs are others: each setting is an attempt.
    waits = step.state.page == "coupling" and algorithms == step.state.algorithms()
    found = [worker.rebuild_data(lambda run: None) for worker in workers]
    result = None
    if not waits and all(one is not None for one in found):
        try:
            result = result_of(step, settings, [one[2] for one in found if one is not None])
        except BadInput as error:  # at once, and not when all steps have been made
            return f"{error} Reset begins anew."
    if waits or not _is_over(step, shown):
        return ""
    keys = [panel.key for panel in comparison.panels]
    runs: tuple[Any, ...] = tuple(zip(keys, (one.run for one in shown), strict=True))
    if step.state.page == "coupling":
        runs = (*runs, *algorithms)
    attempt = ATTEMPTS.value.get(place)
    if attempt is not None and attempt.runs == runs:
        return ""
    if result is None:
        return "" if any(worker.catching_up for worker in workers) else "These runs have no complete log."
    try:
        text = write_result(step, result)
        replay = replays().submit(place, step, text)
    except BadInput as error:
        return str(error)
    comparison.pause()
    ATTEMPTS.ensure()[place] = Attempt(text, replay, runs, given=False)
    st.rerun()


def _draw_attempt(step: Step, place: LessonStep, attempt: Attempt) -> None:
    whose = "The result of this link" if attempt.given else "Your result"
    with st.container(key="lesson_result"):
        if not attempt.replay.done():
            st.markdown(f":material/hourglass_top: {whose} is being verified: its runs are made again.")
            return
        error = attempt.replay.exception()
        if error is not None:
            said = str(error) if isinstance(error, BadInput) else f"Internal error: {error!r}"
            st.markdown(f":material/error: {messages.plain(said)}")
            return
        verdict = attempt.replay.result()
        mark = ":green[:material/trophy:] **Won.**" if verdict.won else ":material/flag:"
        st.markdown(f"{mark} {whose}. {messages.plain(verdict.sentence)}")
        link = _link(place, step, attempt)
        if len(link) <= MAX_RESULT_LINK:
            st.caption("*Copy link* above copies the link of this result.")
        else:
            st.download_button(
                "Download the result",
                link.encode(),
                f"{place.lesson}.txt",
                "text/plain",
                icon=":material/download:",
                on_click="ignore",
                key="lesson result file",
                help="It is too long for a link: open the file on the page Learn, or with 'rbmviz challenge "
                "check'.",
            )
