"""Challenges: lesson steps with a goal that turns green on the card once it is reached.

While the page runs, the card shows the goal's numbers. After the number of steps in the goal, the page pauses
and the card says whether the goal was reached.
"""

import itertools
from typing import Any

import streamlit as st

from rbmviz.knobs import values_of
from rbmviz.lessons import Step, measure_now, steps_of
from rbmviz.pages import PAGES
from rbmviz.session import Comparison
from rbmviz_app import claims, messages, pages, session
from rbmviz_app.session import ATTEMPTS, COMPARISONS, Attempt, LessonStep


def is_won(place: LessonStep) -> bool:
    """Return whether the goal of this challenge has been reached since it was opened."""
    attempt = ATTEMPTS.value.get(place)
    return attempt is not None and not attempt.missed


def draw(step: Step, place: LessonStep) -> None:
    """Draw the allowed changes, and the goals with their current numbers and whether they were reached."""
    comparison, _ = COMPARISONS.value.get(step.state.page, (None, ""))
    snapshots: list[Any] = []
    if comparison is not None and not session.STEP_TO_SET.value:
        snapshots = [snapshot for _, snapshot in comparison.peek()]
    st.caption(messages.plain(_allowed(step)))
    _draw_goals(step, snapshots)
    if comparison is None or not snapshots:
        return
    if not is_won(place):
        reason = _why_it_does_not_count(step, comparison)
        if reason:
            st.markdown(f":material/block: {messages.plain(reason)}")
        else:
            _judge(step, place, comparison, snapshots)
    attempt = ATTEMPTS.value.get(place)
    if attempt is not None and (not attempt.missed or attempt.runs == _runs(comparison, snapshots)):
        _draw_verdict(attempt)


def _labels(step: Step) -> dict[str, str]:
    """Return the page's labels of its settings and of its panels' knobs, by name."""
    page = step.state.page
    knobs = pages.page_modules()[page].PAGE.labels_of_knobs(step.state.algorithms(), step.state.settings)
    return {name: setting.label for name, setting in pages.settings(page).items()} | knobs


def _allowed(step: Step) -> str:
    """Describe the allowed changes."""
    labels = _labels(step)
    said = [
        f"{when}: {', '.join(labels[name] for name in names)}."
        for when, names in (
            ("You may change while it runs", step.turns),
            ("You may choose before Play", step.choose),
        )
        if names
    ]
    return " ".join([*said, "Leave everything else as it is."])


def _draw_goals(step: Step, snapshots: list[Any]) -> None:
    page, names = step.state.page, claims.panel_names(step)
    n = min((steps_of(page, snapshot) for snapshot in snapshots), default=0)
    lines = []
    for goal in step.goal:
        values = measure_now(step.state, goal, snapshots)
        mark = ":green[:material/check_circle:]" if n and goal.holds(values) else ":material/flag:"
        number = claims.value_words(goal, page, values[goal.panel, goal.metric])
        lines.append(claims.line(mark, claims.stated_words(goal, page, names), number))
    end = max(goal.n for goal in step.goal)
    lines.append(f"{min(n, end):,} of {end:,} {PAGES[page].steps}")
    st.markdown("  \n".join(lines))


def _why_it_does_not_count(step: Step, comparison: Comparison[Any]) -> str:
    """Describe a change that the challenge does not allow; "" if there is none."""
    workers, labels = [panel.worker for panel in comparison.panels], _labels(step)
    settings = session.settings_now(PAGES[step.state.page].run_settings())
    changed = step.not_allowed(settings, [worker.algorithm for worker in workers])
    if changed is not None:
        name, panel = changed
        what = f"{labels[name]}{f' of panel {panel}' if panel else ''}" if name else "The row of panels"
        return f"This does not count: {what} has been changed. Again sets the page as at first."
    for worker in workers if {*step.choose} - {*PAGES[step.state.page].run_settings()} else ():
        data = worker.rebuild_data(lambda run: None)
        for before, after in itertools.pairwise(data[2] if data else ()):
            now, then = values_of(after.algorithm), values_of(before.algorithm)
            late = [name for name in now if now[name] != then[name] and name not in step.turns]
            if late and after.n:
                return (
                    f"This does not count: {labels[late[0]]} was changed during the run. Press Reset first."
                )
    return ""


def _runs(comparison: Comparison[Any], snapshots: list[Any]) -> tuple[Any, ...]:
    """Return a value that identifies an attempt; Reset begins another attempt."""
    panels = zip(comparison.panels, snapshots, strict=True)
    runs = [(panel.key, snapshot.run) for panel, snapshot in panels]
    # Pairs of chains are counted without Play, and other knobs give other pairs.
    pairs = [snapshot.algorithm for snapshot in snapshots if hasattr(snapshot, "displayed_pairs")]
    return (*runs, *pairs)


def _judge(step: Step, place: LessonStep, comparison: Comparison[Any], snapshots: list[Any]) -> None:
    """Pause the page after the goal's number of steps; record whether the goal was reached."""
    page, attempt, runs = step.state.page, ATTEMPTS.value.get(place), _runs(comparison, snapshots)
    passed = all(steps_of(page, snapshots[i]) >= goal.n for goal in step.goal for i, _ in goal.about)
    if not passed or (attempt is not None and attempt.runs == runs):
        return
    if page == "coupling" and [snapshot.algorithm for snapshot in snapshots] == step.state.algorithms():
        return  # nothing has been changed yet
    if comparison.running:
        comparison.pause()  # forces a score at exactly this step
    if comparison.running or any(each.status not in ("paused", "finished", "failed") for each in snapshots):
        return
    missed = ""
    for goal in step.goal:
        values = measure_now(step.state, goal, snapshots)
        if not missed and not goal.holds(values):
            number = claims.value_words(goal, page, values[goal.panel, goal.metric]) or "unknown"
            missed = f"{goal.words(page, claims.panel_names(step))}, and it is {number}"
    ATTEMPTS.ensure()[place] = Attempt(runs, missed)
    st.rerun()


def _draw_verdict(attempt: Attempt) -> None:
    with st.container(key="lesson_result"):
        if attempt.missed:
            missed = messages.plain(attempt.missed)
            st.markdown(f":material/flag: Not yet: the goal is {missed}. Press *Reset* to try again.")
        else:
            st.markdown(":green[:material/trophy:] **Won.** The goal is reached.")
