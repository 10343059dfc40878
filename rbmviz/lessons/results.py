"""Results of challenges: which knobs were turned when, as a text in a link; verified by making the runs.

``1~land_depth=8~1@0:eps=0.1~1@120:eps=0.02`` is of version 1 of the kernels: the setting ``land_depth`` was
chosen, and panel 1 had the step size 0.1 from the first sample on and 0.02 after sample 120. Such a text does
not say whether it wins: the runs are made again, and measured.
"""

import contextlib
import dataclasses
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import parse_qs, quote, urlsplit

from rbmviz.budget import check_memory
from rbmviz.errors import MAX_SHOWN, BadInput, shown, unknown
from rbmviz.knobs import read_knobs, values_of, write_knobs
from rbmviz.lessons.measuring import CoreTurn, Measured, measure_claims
from rbmviz.lessons.reading import Lesson, Step
from rbmviz.lessons.state import PageState
from rbmviz.links import address_text
from rbmviz.pages import PAGES
from rbmviz.pages.settings import read_value
from rbmviz.session.rebuild import MAX_CHANGES, Change

KERNELS_VERSION = 1
"""Counts up when a change of the kernels makes other samples from the same seed."""

MAX_RESULT_LINK = 2000
"""Longest link with a result, in characters; a longer one is a file."""

MAX_RESULT_FILE = 200_000
"""Largest file with such a link, in bytes."""

TURN_TEXT = re.compile(r"([1-9])@([0-9]{1,6}):([a-z][ -~]*)", re.ASCII)
SETTING_TEXT = re.compile(r"([a-z]\w*)=(.{1,100})", re.ASCII)
HOW = "copy the link whole, as the card of the challenge gives it"


class Result(NamedTuple):
    """What somebody has done in a challenge.

    Parameters
    ----------
    settings : dict
        The settings that were chosen, by name; those that stay as the challenge has them are left out.
    changes : tuple of tuple of Change
        The knobs of each panel, by the number of samples (updates, pairs) after which they were turned; the
        first change is at 0.
    kernels_version : int
        Version of the kernels that made the runs.
    """

    settings: dict[str, Any]
    changes: tuple[tuple[Change, ...], ...]
    kernels_version: int = KERNELS_VERSION


class VerifiedResult(NamedTuple):
    """What came out when the runs of a result were made again.

    Parameters
    ----------
    measured : tuple of Measured
        The goals of the challenge, in order.
    page : str
        Name of its page.
    names : tuple of str
        Titles of its panels; empty if there is only one.
    kernels_version : int
        Version of the kernels that the result is of.
    """

    measured: tuple[Measured, ...]
    page: str
    names: tuple[str, ...]
    kernels_version: int

    @property
    def won(self) -> bool:
        """Whether all goals were reached."""
        return all(one.holds for one in self.measured)

    @property
    def sentence(self) -> str:
        """What came out, in one sentence."""
        names = self.names or ("",) * len(self.measured)
        if self.won:
            said = []
            for one in self.measured:
                value = "unknown" if one.value is None else one.claim.with_unit(self.page, f"{one.value:.4g}")
                label = one.claim.number_words(self.page, names)
                said.append(f"{label} {value} at {one.n:,} {PAGES[self.page].steps}")
            return f"Verified: {'; '.join(said)}."
        missed = next(one for one in self.measured if not one.holds)
        value = "does not know it" if missed.value is None else "gives "
        if missed.value is not None:
            value += missed.claim.with_unit(self.page, f"{missed.value:.4g}")
        why = f"{missed.claim.words(self.page, names)}, and the replay {value}"
        other = (
            ""
            if self.kernels_version == KERNELS_VERSION
            else OTHER_KERNELS.format(self.kernels_version, KERNELS_VERSION)
        )
        return f"Not won: the goal is {why}.{other}"


OTHER_KERNELS = (
    " It was made with version {} of the kernels, and this is version {}: there it may have been won."
)


def what_is_not_allowed(step: Step, settings: Mapping[str, Any], algorithms: Sequence[Any]) -> str:
    """Return what of a page is not as a challenge allows, in words; "" if all is.

    Parameters
    ----------
    step : Step
        The challenge.
    settings : mapping of str to value
        Settings of its page as they are; those that are missing are as they should be.
    algorithms : sequence of Sampler or Trainer
        The panels as they are.
    """
    for name in PAGES[step.state.page].run_settings():
        meant_value = step.state.settings[name]
        if settings.get(name, meant_value) != meant_value and name not in step.choose:
            return f"the setting {name} may not be changed"
    meant = step.state.algorithms()
    if [type(one) for one in algorithms] != [type(one) for one in meant]:
        return "panels may not be added, or removed"
    for i, (algorithm, other) in enumerate(zip(algorithms, meant, strict=True), start=1):
        allowed = {*step.turns, *step.choose}
        values = values_of(algorithm)
        for name, value in values_of(other).items():
            if values[name] != value and name not in allowed:
                return f"the knob {name} of panel {i} may not be turned"
    return ""


def check_result(step: Step, result: Result) -> Result:
    """Return the result; BadInput if the challenge does not allow what was changed."""
    first = [changes[0].algorithm for changes in result.changes]
    refused = what_is_not_allowed(step, result.settings, first)
    for i, changes in enumerate(result.changes, start=1):
        if changes[0].n:
            refused = refused or f"the knobs with which panel {i} begins are missing"
        for before, change in itertools.pairwise(changes):
            now, then = values_of(change.algorithm), values_of(before.algorithm)
            late = [name for name in now if now[name] != then[name] and name not in step.turns]
            if late:
                refused = (
                    refused or f"the knob {late[0]} of panel {i} may not be turned once the panel has begun"
                )
            if change.n <= before.n:
                refused = refused or f"the turns of panel {i} are not in order"
    if refused:
        raise BadInput(f"This is no result of the challenge '{step.title}': {refused}.")
    return result


def result_of(step: Step, settings: Mapping[str, Any], changes: Sequence[Sequence[Change]]) -> Result:
    """Return the result of the runs of a challenge.

    Parameters
    ----------
    step : Step
        The challenge.
    settings : mapping of str to value
        Settings of its page as they are, by name.
    changes : sequence of sequence of Change
        The changes of the knobs of each run, as ``Worker.rebuild_data`` returns them.

    Raises
    ------
    BadInput
        If the challenge does not allow what was changed.
    """
    page = step.state.page
    end = max(goal.n for goal in step.goal)
    kept = []
    for of_panel in changes:
        if page == "coupling":  # pairs are those of the newest knobs, from the first pair on
            of_panel = [of_panel[-1]._replace(n=0)]
        newest: dict[int, Change] = {}
        for change in of_panel:
            if change.n < end:
                newest[change.n] = change  # before the first step, too, the last turn counts
        kept.append(tuple(newest.values()))
    chosen = {
        name: settings[name]
        for name in PAGES[page].run_settings()
        if settings.get(name, step.state.settings[name]) != step.state.settings[name]
    }
    return check_result(step, Result(chosen, tuple(kept)))


def write_result(step: Step, result: Result) -> str:
    """Write a result as it stands in a link: what differs from the challenge, and every turn."""
    parts = [str(result.kernels_version)]
    parts += [f"{name}={address_text(value)}" for name, value in result.settings.items()]
    for i, (changes, before) in enumerate(zip(result.changes, step.state.algorithms(), strict=True), start=1):
        for change in changes:
            then, now = values_of(before), values_of(change.algorithm)
            changed = [name for name in now if now[name] != then[name]]
            if changed:
                parts.append(f"{i}@{change.n}:{write_knobs(change.algorithm, changed)}")
            before = change.algorithm
    return "~".join(parts)


def read_result(step: Step, text: str) -> Result:
    """Return the result of a text.

    Raises
    ------
    BadInput
        If it cannot be read, or the challenge does not allow what it says.
    """
    wrong = "The result cannot be read: {}; " + HOW + "."
    kernels_version, *parts = text.split("~")
    if not re.fullmatch("[0-9]{1,6}", kernels_version, re.ASCII):
        raise BadInput(wrong.format("it does not begin with the version of the kernels"))
    if len(parts) > MAX_CHANGES:
        raise BadInput(f"The result has {len(parts):,} turns and may have {MAX_CHANGES:,}.")
    page, settings = step.state.page, dict[str, Any]()
    changes = [[Change(0, algorithm)] for algorithm in step.state.algorithms()]
    for part in parts:
        turn, setting = TURN_TEXT.fullmatch(part), SETTING_TEXT.fullmatch(part)
        if turn is not None and int(turn[1]) <= len(changes):
            of_panel, n = changes[int(turn[1]) - 1], int(turn[2])
            algorithm = of_panel[-1].algorithm
            try:
                algorithm = dataclasses.replace(algorithm, **read_knobs(type(algorithm), turn[3]))
            except BadInput as error:
                raise BadInput(f"The result cannot be read: {error}") from None
            if n == 0 and len(of_panel) == 1:
                of_panel.pop()
            of_panel.append(Change(n, algorithm))
        elif setting is not None and setting[1] in PAGES[page].run_settings():
            name = setting[1]
            settings[name] = read_value(
                f"The result's {name}", setting[2], PAGES[page].settings[name].allowed
            )
        else:
            raise BadInput(wrong.format(f"{shown(part)} is no turn of a knob"))
    return check_result(step, Result(settings, tuple(tuple(one) for one in changes), int(kernels_version)))


def verify(step: Step, result: Result, at_core: CoreTurn = contextlib.nullcontext) -> VerifiedResult:
    """Make the runs of a result again, and measure the goals of the challenge.

    It takes as many steps as the goals say, in this thread.

    Raises
    ------
    BadInput
        If data are not on this machine, or the runs would take more than the memory budget.
    """
    page = step.state.page
    state = PageState(page, step.state.panels, step.state.settings | result.settings)
    plan = state.setup().plan()
    needed = max(plan.bytes(change.algorithm) for changes in result.changes for change in changes)
    check_memory("The result", needed, "choose smaller values")
    measured = measure_claims(state, step.goal, changes=result.changes, at_core=at_core)
    labels = [type(one).label for one in step.state.algorithms()]
    return VerifiedResult(
        tuple(measured), page, tuple(labels) if len(labels) > 1 else (), result.kernels_version
    )


def result_link(lesson: str, number: int, step: Step, text: str) -> str:
    """Return the link of a result: ``sample?lesson=ten-by-heat&step=1&result=...``; ``number`` from 1."""
    return f"{step.state.page}?lesson={lesson}&step={number}&result={quote(text, safe='~@:,=')}"


def read_link(link: str, known: Mapping[str, Lesson]) -> tuple[Lesson, int, str]:
    """Return the challenge of a link with a result, the number of its step (from 1), and the result's text.

    known : lessons by name

    Raises
    ------
    BadInput
        If it is no such link.
    """
    wrong = f"This is no link with the result of a challenge: {HOW}."
    if len(link) > MAX_RESULT_FILE:
        raise BadInput(f"The result has {len(link):,} characters and may have {MAX_RESULT_FILE:,}.")
    try:
        said = parse_qs(urlsplit(link.strip()).query)
        name, number, text = (said[key][-1] for key in ("lesson", "step", "result"))
    except (ValueError, KeyError):
        raise BadInput(wrong) from None
    if name not in known:
        challenges = [one for one, lesson in known.items() if lesson.is_challenge]
        raise unknown("challenge", name[:MAX_SHOWN], challenges)
    lesson = known[name]
    if not re.fullmatch("[0-9]{1,2}", number, re.ASCII) or not 1 <= int(number) <= len(lesson.steps):
        raise BadInput(wrong)
    if not lesson.steps[int(number) - 1].goal:
        raise BadInput(f"Step {number} of '{name}' is no challenge: it has no result.")
    return lesson, int(number), text


def read_file(content: bytes) -> str:
    """Return the link that a file with a result holds; BadInput if it is too large, or no text."""
    if len(content) > MAX_RESULT_FILE:
        raise BadInput(f"The file is no result of a challenge: it has more than {MAX_RESULT_FILE:,} bytes.")
    try:
        return content.decode("ascii").strip()
    except UnicodeDecodeError:
        raise BadInput(f"The file is no result of a challenge: {HOW}.") from None


def check_lesson(lesson: Lesson) -> Iterator[tuple[int, list[Measured]]]:
    """Yield the number (from 1) and the measured claims of each step that claims something.

    A challenge claims that it is won by the result that its file names.

    Raises
    ------
    BadInput
        If the data of a step are not on this machine, or the result of a challenge is missing or wrong.
    """
    for i, step in enumerate(lesson.steps, start=1):
        if step.claims:
            yield i, measure_claims(step.state, step.claims)
        if step.goal and not step.won_by:
            raise BadInput(f"The challenge '{lesson.name}', step {i}, has no 'won_by': can it be won?")
        if step.goal:
            yield i, list(verify(step, read_result(step, step.won_by)).measured)
