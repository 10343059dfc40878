"""The card of a lesson, beside the page that its step is about.

A step sets every setting and every panel of its page, and nothing runs before Play. Opening a step sets the
settings and marks the panels as pending (``open_step``). The page sets its panels once its race exists
(``to_set``, ``note_opened``).

``lesson=stick&step=3`` in the address opens a step, on any page (``follow_address``); see ``links``.
"""

import contextlib
import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import streamlit as st

from rbmviz import BadInput
from rbmviz.charts.style import titles
from rbmviz.errors import MAX_SHOWN
from rbmviz.lessons import (
    Lesson,
    PageState,
    Step,
    StepClaim,
    load_lesson,
    measure_now,
    shipped_lessons,
)
from rbmviz.pages import PAGES
from rbmviz_app import keys, links, messages, pages, session
from rbmviz_app.component import APP_FOLDER, component, while_running
from rbmviz_app.session import OPEN_STEP, RACES, SHARED_PAGE, LessonStep
from rbmviz_app.share import publish
from rbmviz_app.shared import LESSONS_OF_COMMAND
from rbmviz_app.stream.requests import Hidden

_component = component("card", ["storage.js", "card.js"], ["card_parts.css"])
"""Three parts: the head of the card, the ring around its target, and, on the Learn page, the progress."""

_newcomers = component("doors", ["storage.js", "doors.js"], ["doors.css"])

LOOK_WORDS = {
    "play": "the button Play",
    "step": "the button Step",
    "reset": "the button Reset",
    "speed": "the speed",
    "chart": "the chart",
    "presets": "the presets",
    "start": "the button Start",
    "map": "the map",
    "drawing": "the drawing",
    "eigenvalues": "the second eigenvalue",
}


_shipped = functools.cache(load_lesson)


def lessons() -> dict[str, Lesson]:
    """Return all lessons by name: those shipped with rbmviz, then those from the command line."""
    return {name: _shipped(name) for name in shipped_lessons()} | LESSONS_OF_COMMAND


class Opened(NamedTuple):
    """The open step of a lesson."""

    lesson: Lesson
    step: Step
    place: LessonStep

    @property
    def page(self) -> str:
        """The page that the step is about."""
        return self.step.state.page

    @property
    def answer(self) -> int | None:
        """Index of the chosen answer."""
        return session.LESSON_ANSWERS.value.get(self.place)

    @property
    def asks(self) -> bool:
        """Whether the step has a question without an answer."""
        return bool(self.step.question) and self.answer is None

    @property
    def all_seen(self) -> bool:
        """Whether all claims have been seen, or the goal was reached."""
        return len(session.SEEN_CLAIMS.value.get(self.place, {})) == len(self.step.watched)

    @property
    def revealed(self) -> bool:
        """Whether the answer was revealed by hand or all claims have been seen."""
        return self.place in session.REVEALED.value or (bool(self.step.watched) and self.all_seen)

    @property
    def offers_reveal(self) -> bool:
        """Whether the answer is still to be revealed."""
        return bool(self.step.reveal) and not self.asks and not self.revealed


def _at(place: LessonStep) -> Opened:
    lesson = lessons()[place.lesson]
    return Opened(lesson, lesson.steps[place.step], place)


def opened(page: str = "") -> Opened | None:
    """Return the open step, if it is about this page ("", the default: any); None if there is none."""
    current = None if OPEN_STEP.value is None else _at(OPEN_STEP.value)
    return current if current is None or page in ("", current.page) else None


def open_step(lesson: str, step: int) -> PageState:
    """Open a step of a lesson (from 0) before any widget is drawn; return the state for its page."""
    state = lessons()[lesson].steps[step].state
    place = LessonStep(lesson, step)  # restarts without the answers and claims seen before
    session.LESSON_ANSWERS.ensure().pop(place, None)
    session.SEEN_CLAIMS.ensure().pop(place, None)
    session.REVEALED.set(session.REVEALED.value - {place})
    session.OPENED_STEPS.set(session.OPENED_STEPS.value + 1)
    session.LESSON_PROGRESS.ensure()[lesson] = max(step + 1, session.LESSON_PROGRESS.value.get(lesson, 0))
    defaults = {name: setting.default for name, setting in pages.settings(state.page).items()}
    session.show(defaults | state.settings)
    session.STEP_TO_SET.set(True)
    OPEN_STEP.set(place)  # last, because a click may interrupt a script run anywhere
    return state


def show_step(lesson: str, step: int, page: str) -> None:
    """Open a step, and its page unless that is ``page``; opening a page ends the script run."""
    state = open_step(lesson, step)
    if state.page == page:
        st.rerun()
    switch_page(state.page)


def switch_page(page: str) -> None:
    """Open a page; its card writes the open step into the address. This ends the script run.

    The browser's Back button returns to the page being left, with these parameters.
    """
    # What the page had written into its address: a step that has just opened may not be in the browser's yet.
    written = session.WRITTEN.ensure().get(session.OPENED_PAGE.value, {})
    left = {name: values for name, values in written.items() if values}
    left = left or {name: links.in_address(name) for name in st.query_params}
    session.OPENED_PAGE.set(page)
    st.switch_page(pages.file_of(page), query_params=left)


def leave() -> None:
    """Close the card; the page stays as it is."""
    OPEN_STEP.set(None)
    session.STEP_TO_SET.set(False)


def finished() -> tuple[str, Lesson | None]:
    """Return a sentence on the lesson just closed with *Finish*, and the next one; "" if none was closed."""
    place = session.FINISHED_STEP.value
    if place is None:
        return "", None
    in_order = sorted(lessons().values(), key=lambda lesson: lesson.is_challenge)  # in the page's order
    i = next(i for i, lesson in enumerate(in_order) if lesson.name == place.lesson)
    ended, following = in_order[i], in_order[i + 1 :]
    if not ended.is_challenge:
        said = f"That was the last step of the lesson “{ended.title}”"
    elif _at(place).all_seen:
        said = f"The challenge “{ended.title}” has been won"
    else:
        said = f"The challenge “{ended.title}” has not been won yet"
    if not following:
        return f"{said}; it is the last one of this page.", None
    return f"{said}.", following[0]


# Queries of pages


def to_set(page: str) -> PageState | None:
    """Return the state of a newly opened step for this page; None if there is none."""
    current = opened(page)
    return current.step.state if current is not None and session.STEP_TO_SET.value else None


def note_opened() -> None:
    """Record that the page is in the state of the step."""
    session.STEP_TO_SET.set(False)


def holds_play(page: str) -> bool:
    """Return whether Play waits until the question of the open step is answered."""
    current = opened(page)
    return current is not None and current.step.hold and current.answer is None


def hidden_from_watchers(page: str) -> Hidden:
    """Return the content to hide from watchers of this page until the open step's question is answered."""
    current = opened()
    blind = current is not None and current.step.blind and current.answer is None
    return "names" if blind else "numbers" if holds_play(page) else "nothing"


# Address


def follow_address(page: str) -> None:
    """Open the step named in the address when a session begins or another page opens.

    So the browser's Back button returns to the step of the earlier page. Opening another page in any other
    way leaves the lesson, because a card belongs to its step's page. This may end the script run.
    """
    before = session.OPENED_PAGE.value
    if before != page and not session.STEP_TO_SHOW.value:  # otherwise the card itself moves on
        place = _place_in_address()
        if place is None or (before and _at(place).page != page):  # Back to the link that led to another page
            leave()
        elif place != OPEN_STEP.value:
            open_step(*place)
            for entry in (session.PRESENTED, session.STARTS_PAUSED):
                entry.ensure()  # they read the address, too
            if _at(place).page != page:
                switch_page(_at(place).page)
    session.OPENED_PAGE.set(page)  # last, because a click may interrupt this run anywhere


def _place_in_address() -> LessonStep | None:
    """Return the step named in the address; None without one, or with a message if it does not exist."""
    names = links.in_address(links.LESSON)
    try:
        return _read_place(names[0], next(iter(links.in_address(links.STEP)), "1")) if names else None
    except BadInput as error:
        session.add_link_warning(error)
        return None


def _read_place(name: str, step: str) -> LessonStep:
    by_name = lessons()
    if name not in by_name:
        raise BadInput(
            f"The link names an unknown lesson '{name[:MAX_SHOWN]}'; there are {', '.join(by_name)}."
        )
    n = len(by_name[name].steps)
    if not (step.isascii() and step.isdigit() and len(step) < 4 and 1 <= int(step) <= n):
        raise BadInput(f"Lesson '{name}' has steps 1 to {n}; the link names step '{step[:MAX_SHOWN]}'.")
    return LessonStep(name, int(step) - 1)


def panel_names(step: Step) -> list[str]:
    """Return the names that a step's page gives its panels; "" for a single panel, which needs none.

    Panels of one algorithm are named by their differences only: "step size 0.3".
    """
    algorithms = step.state.all_algorithms()
    if len(algorithms) == 1:
        return [""]
    live = pages.live_page(step.state.page)
    names = (live.title if live is not None else titles)(algorithms)
    parts = [name.partition(" (") for name in names]
    if len({kind for kind, _, _ in parts}) == 1 and all(knobs for _, _, knobs in parts):
        return [knobs.removesuffix(")") for _, _, knobs in parts]
    return names


def watched_words(claim: StepClaim, page: str, names: Sequence[str]) -> str:
    """Return the card's words for a claim that has not been seen yet; ``names``: see ``panel_names``."""
    return f"{claim.number_words(page, names)} {claim.when(page)}"


def stated_words(claim: StepClaim, page: str, names: Sequence[str]) -> str:
    """Return the card's words for a goal, or for a claim that has been seen."""
    return claim.words(page, names)


def value_words(claim: StepClaim, page: str, value: float | None) -> str:
    """Return a claim's number with its unit; "" if it is unknown."""
    if value is None:
        return ""
    short = f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"
    return claim.with_unit(page, short)


# Card


def draw_progress_reader() -> None:
    """Mount the invisible component that reports this browser's progress in the lessons."""

    def take() -> None:
        said = session.sent_by("lesson progress", "progress")
        by_name = lessons()
        for name, step in said.items() if isinstance(said, dict) else ():
            if name in by_name and isinstance(step, int) and 1 <= step <= len(by_name[name].steps):
                progress = session.LESSON_PROGRESS.ensure()
                progress[name] = max(step, progress.get(name, 0))

    with st.container(key="lesson_progress"):
        _component(
            key="lesson progress",
            data={
                "index": True,
                "progress": session.LESSON_PROGRESS.value,
                "finished": session.FINISHED_STEP.value is not None,
            },
            on_progress_change=take,
        )


def draw(page: str) -> None:
    """Draw the card of the open step beside this page, if a lesson is open; card.css places it."""
    if page != "learn":
        session.FINISHED_STEP.set(None)
    current = opened()
    if current is None:
        publish.card(None)
        return
    if session.STEP_TO_SHOW.value:
        session.STEP_TO_SHOW.set(False)
        if current.page != page:
            switch_page(current.page)
    offers_reveal = current.offers_reveal

    with st.container(key="lesson"):
        st.html(APP_FOLDER / "card.css")
        while_running(functools.partial(_draw_open, offers_reveal), not current.all_seen)
        if current.step.question and SHARED_PAGE.value is not None:
            while_running(_draw_votes, True)
        # Outside the timed fragment: a click would be lost if the fragment disappeared at that moment.
        if offers_reveal:
            st.button(
                "Reveal" if not current.step.goal else "Hint",
                icon=":material/visibility:",
                key="lesson reveal",
                on_click=session.REVEALED.set,
                args=(session.REVEALED.value | {current.place},),
            )
        _draw_moves(current.place, len(current.lesson.steps))


def _draw_open(offers_reveal: bool) -> None:
    """Draw the open step; offers_reveal : whether the rest of the card has the reveal button."""
    current = opened()
    if current is None:  # the lesson was just left: this fragment is about to disappear
        return
    if session.STEP_TO_SHOW.value:  # Back or Forward, whose callback came before a run of this fragment alone
        st.rerun()
    lesson, step, place = current
    more_to_see = not current.all_seen
    now = _note_seen(current)
    seen = session.SEEN_CLAIMS.value.get(place, {})
    all_seen = bool(step.watched) and current.all_seen
    n = len(lesson.steps)
    alone = "Challenge" if step.goal else lesson.title
    # No spaces, so that the line cannot break on a phone.
    head = f"{lesson.title} · step\u00a0{place.step + 1}\u00a0of\u00a0{n}" if n > 1 else alone

    def go() -> None:
        """Open the step to which Back or Forward in the browser has led."""
        name, number = session.sent_by("lesson marks", "step")
        with contextlib.suppress(BadInput):
            open_step(*_read_place(name, number))
            session.STEP_TO_SHOW.set(True)

    _component(
        key="lesson marks",
        on_step_change=go,
        data={
            "lesson": place.lesson,
            "step": place.step + 1,
            "head": head,
            "seen": all_seen,
            "revealed": bool(step.reveal) and current.revealed,
            "blind": step.blind and current.answer is None,
            "asks": holds_play(current.page),
            "playing": current.page in RACES.value and RACES.value[current.page].running,
        },
    )
    st.header(step.title, anchor=False)
    if step.text:
        st.markdown(step.text)
    if step.question:
        _draw_question(current)
    st.markdown(f"**Do this.** {step.do}")
    if step.look:
        where = {"look": step.look, "words": look_words(step), "place": f"{place.lesson} {place.step}"}
        _component(key="lesson look", data=where)
    # The watched numbers would give the answer away: "blank", for example, can be an answer.
    lines = [] if current.asks else claim_lines(step, seen, now)
    if lines:
        marks = {True: ":green[:material/check_circle:]", False: ":material/radio_button_unchecked:"}
        st.markdown(
            "  \n".join(
                f"{marks[seen]} {messages.plain(said)}" + (f": **{number}**" if number else "")
                for said, number, seen in lines
            )
        )
    if step.goal and all_seen:
        st.markdown(":green[:material/trophy:] **Won.** The goal is reached.")
    revealed = bool(step.reveal) and not current.asks and current.revealed
    if revealed:
        _draw_reveal(step, current.answer)
    publish.card(
        {
            "head": head,
            "title": step.title,
            "text": step.text,
            "question": step.question,
            "answers": list(step.answers),
            "right": step.right if revealed else -1,  # hidden until it is revealed
            "do": step.do,
            "reveal": step.reveal if revealed else "",
            "claims": [{"text": text, "value": value, "seen": seen} for text, value, seen in lines],
        }
    )
    if (more_to_see and all_seen) or offers_reveal != current.offers_reveal:
        st.rerun()  # to remove the timer, or to add or remove the reveal button


def _draw_question(current: Opened) -> None:
    """Draw the question and its answers; an answer draws the page again, which has Play."""
    step, place, before = current.step, current.place, current.answer
    answer = st.radio(
        step.question,
        range(len(step.answers)),
        index=before,
        format_func=step.answers.__getitem__,
        # The same key after the answer keeps the focus; a restarted step has a new key.
        key=f"answer {place.lesson} {place.step} {session.OPENED_STEPS.value}",
        disabled=current.revealed,  # the earlier choice stays
    )
    if step.hold and before is None:
        has_play = current.page != "tune" and step.state.settings.get("little", "landscape") == "landscape"
        what = "*Play*, the numbers" if has_play else "The numbers"
        st.caption(f"{what} and the charts wait for your answer.")
    if answer != before:
        session.LESSON_ANSWERS.ensure()[place] = answer
        st.rerun()


def _draw_votes() -> None:
    """Draw the share of the watchers who chose each answer; the server does not know who they are."""
    share = SHARED_PAGE.value
    votes = share.votes() if share is not None else []
    rules = (
        f".st-key-lesson [role=radiogroup] > :nth-child({i}) "
        f"{{ --share: {n / sum(votes):.0%}; --votes: '{n} of {sum(votes)}'; }}"
        for i, n in enumerate(votes if any(votes) else [], 1)
    )
    st.html(f"<style>{''.join(rules)}</style>")


def _note_seen(current: Opened) -> dict[int, float]:
    """Record which claims of the step hold now; return the current number of each, by index."""
    step, place = current.step, current.place
    race = RACES.value.get(current.page)
    if race is None or session.STEP_TO_SET.value or current.asks:  # a number would give the answer away
        return {}
    snapshots: list[Any] = [snapshot for _, snapshot in race.peek()]
    spec = PAGES[step.state.page]
    if spec.sweep is not None:
        scores = session.SHOWN_SCORES.value
        if scores is None or scores.plan != spec.sweep(step.state.settings):
            return {}  # another sweep is on the screen
        snapshots = [scores]
    elif not step.goal and not any(snapshot.n for snapshot in snapshots):
        return {}  # pairs of chains are counted even before Play
    seen, now = session.SEEN_CLAIMS.ensure().setdefault(place, {}), {}
    held: dict[int, float] = {}
    for i, claim in enumerate(step.watched):
        if any(panel >= len(snapshots) for panel, _ in claim.about):
            continue
        measured = measure_now(step.state, claim, snapshots)
        if (value := measured.value) is None:
            continue
        now[i] = value
        if measured.holds and all(spec.count(snapshots[panel]) >= claim.n for panel, _ in claim.about):
            held[i] = value
    if not step.goal or len(held) == len(step.goal):  # a goal is reached as a whole
        seen |= {i: value for i, value in held.items() if i not in seen}
    return now


def claim_lines(step: Step, seen: dict[int, float], now: dict[int, float]) -> list[tuple[str, str, bool]]:
    """Return the numbers to watch: label, value, and whether their claims have been seen.

    A label states its claim only once the claim has been seen; that of a goal always does.
    """
    if not step.watched:
        return []
    page, names = step.state.page, panel_names(step)
    lines = []
    for i, claim in enumerate(step.watched):
        value = seen.get(i, now.get(i))
        words = stated_words if i in seen or step.goal else watched_words
        lines.append((words(claim, page, names), value_words(claim, page, value), i in seen))
    return list(dict.fromkeys(lines))  # two claims may be about the same number


def look_words(step: Step) -> str:
    """Describe the element that a step points at."""
    panel = step.look.partition(".")[0]
    if not panel.startswith("panel"):
        return LOOK_WORDS["chart"] if panel.startswith("chart") else LOOK_WORDS[panel]
    return f"panel {panel.removeprefix('panel')}" if len(step.state.panels) > 1 else "the panel"


def _draw_reveal(step: Step, answer: int | None) -> None:
    """Draw whether the answer was right, and the explanation."""
    if answer is not None and step.right >= 0:
        chosen, right = step.answers[answer], step.answers[step.right]
        if answer == step.right:
            st.markdown(":green[:material/check_circle:] **You were right.**")
        else:
            st.markdown(f":red[:material/cancel:] You chose “{chosen}”; the answer is **“{right}”**.")
    with st.container(key="lesson_reveal"):
        st.markdown(step.reveal)
        if step.formula:
            with st.expander("Formula"):
                st.latex(step.formula)


def _draw_moves(place: LessonStep, n: int) -> None:
    """Draw Back, Next and the other navigation of a lesson of n steps."""

    def show(step: int) -> None:
        open_step(place.lesson, step)
        session.STEP_TO_SHOW.set(True)

    with st.container(horizontal=True, key="lesson_moves"):
        i = place.step
        if n > 1:
            back: dict[str, Any] = {"shortcut": keys.BACK.key, "disabled": not i}
            st.button("Back", on_click=show, args=(i - 1,), key="lesson back", **back)
        more: dict[str, Any] = {"shortcut": keys.NEXT.key, "type": "primary"}
        if i + 1 < n:
            st.button("Next", on_click=show, args=(i + 1,), key="lesson next", **more)
        elif st.button("Finish", key="lesson finish", **more):
            leave()
            session.FINISHED_STEP.set(place)
            switch_page("learn")
        st.button(
            "Again",
            icon=":material/replay:",
            type="tertiary",
            on_click=show,
            args=(i,),
            key="lesson again",
            help="Set the page back to the beginning of this step.",
        )
        st.button("Leave", icon=":material/close:", type="tertiary", key="lesson leave", on_click=leave)


def draw_line() -> None:
    """Draw the line in the bar that leads newcomers to Learn, unless a lesson or a presentation is open."""
    if opened() is not None or links.presenting() or session.EMBEDDED.value:
        return
    with st.container(key="doors"):
        if _newcomers(key="doors line", data={}, on_open_change=lambda: None).open:
            switch_page("learn")
