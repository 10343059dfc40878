"""Read and check lessons, one TOML file each; nothing in a file is ever executed."""

import re
import tomllib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any

from rbmviz.errors import BadInput, known, quoted, unknown
from rbmviz.files.arrays import is_file, printable
from rbmviz.files.output import reason
from rbmviz.knobs import knobs_of
from rbmviz.lessons.claims import StepClaim, read_claim
from rbmviz.lessons.state import Branch, PageState, read_state
from rbmviz.pages import PAGES
from rbmviz.registry import trainers

SHIPPED = Path(str(resources.files("rbmviz.lessons"))) / "shipped"
"""Folder of the lessons that come with rbmviz."""

NAME = re.compile(r"[a-z][a-z0-9-]{0,39}", re.ASCII)
"""Pattern of lesson names, which are file names without the suffix."""

DOTTED = re.compile(rb"""(?<![\w"'-])(?:[\w"'-]++\s*\.\s*){50}""")
"""A key of so many parts that the standard library's reader, quadratic in them, would take seconds."""

MAX_LESSON_BYTES, MAX_STEPS_OF_LESSON, MAX_CLAIMS = 200_000, 40, 8

MAX_TITLE, MAX_CARD_TEXT = 80, 1500
"""Maximum number of characters in a title and in a card's text: cards are read beside moving pictures."""

MARKUP = re.compile(r"<[A-Za-z/!?]|!\[")
"""The beginning of HTML or of a picture."""

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")

LOOK = re.compile(
    r"panel([1-9])(?:\.([a-z][a-z0-9_]{0,30}))?|play|step|reset|speed|chart[2-9]?|presets|start|map|drawing|eigenvalues",
    re.ASCII,
)
"""Targets that a step can highlight: a panel, its numbers and knobs, a control, the chart."""

BRANCH = re.compile(r"panel([1-9]) at ([1-9][0-9]{0,4}) updates: ([a-z][a-z0-9_.,:=]{1,300})", re.ASCII)
"""Pattern of a branch, which continues a training with another trainer."""


@dataclass(frozen=True)
class Step:
    """One card.

    state : the page and all its settings when the step is opened; nothing runs yet
    do : instructions, as Markdown
    text : background to read first, as Markdown; "": none
    look : target to highlight: ``panel2``, ``panel2.crossings`` (a number or a knob of a panel), ``play``,
        ``step``, ``reset``, ``speed``, ``chart``, ``chart2``, ``presets``; on Tune ``start`` or ``map``; on
        How it works ``drawing`` (of the units) or ``eigenvalues`` (of the matrices); "": no target
    question : question as Markdown; "": none
    answers : 2 to 6 answers to choose from
    right : index of the right answer, from 0; -1: none
    hold : whether Play waits until an answer is chosen
    reveal : text shown by the Reveal button, as Markdown
    formula : LaTeX, collapsed on the card
    claims : claims that state in numbers what the reader sees
    goal : claims that must hold together to win a challenge. Empty: no challenge.
    won_by : in a challenge, a state of the page that wins
    blind : whether panels show only their pictures and strips until an answer is chosen
    """

    title: str
    state: PageState
    do: str
    text: str = ""
    look: str = ""
    question: str = ""
    answers: tuple[str, ...] = ()
    right: int = -1
    hold: bool = False
    reveal: str = ""
    formula: str = ""
    claims: tuple[StepClaim, ...] = ()
    goal: tuple[StepClaim, ...] = ()
    won_by: PageState | None = None
    blind: bool = False

    @property
    def watched(self) -> tuple[StepClaim, ...]:
        """The claims or, in a challenge, the goal."""
        return self.claims or self.goal


@dataclass(frozen=True)
class Lesson:
    """A lesson: its name in the address, title, one-sentence summary, minutes and steps.

    A lesson whose first step has a goal is a challenge.
    """

    name: str
    title: str
    about: str
    minutes: int
    steps: tuple[Step, ...]

    @property
    def is_challenge(self) -> bool:
        """Whether the first step has a goal."""
        return bool(self.steps[0].goal)


TYPES = {str: "a text", int: "a whole number", bool: "true or false", list: "a list"}
STEP_KEYS: Mapping[str, type] = {
    **dict.fromkeys(("title", "link", "do", "text", "look", "question", "reveal", "formula", "branch"), str),
    **{"answers": list, "right": int, "hold": bool, "blind": bool, "claims": list},
    **{"goal": list, "won_by": str},
}
LESSON_KEYS: Mapping[str, type] = {"title": str, "about": str, "minutes": int, "step": list}


def shipped_lessons() -> list[str]:
    """Return the names of the lessons that come with rbmviz, in course order, challenges last."""
    names = sorted(path.stem for path in SHIPPED.glob("*.toml"))
    return sorted(names, key=lambda name: (COURSE.index(name) if name in COURSE else len(COURSE), name))


COURSE = (
    *("rbm", "stick", "push", "herding", "score", "tell", "training", "yardsticks", "weighing", "meet"),
    *("tune", "quiz", "ten-by-heat", "one-step-size", "break-gibbs", "meet-in-ten", "where-pcd-falls"),
)
"""Course order: each lesson builds on earlier ones; challenges follow."""


def load_lesson(name: str | Path) -> Lesson:
    """Return a lesson by name, or from a file.

    name : a name from ``shipped_lessons()``, or a path that ends in .toml

    Raises BadInput if there is no such lesson, or if the file has an error; the message names the file and
    the step.
    """
    path = Path(name)
    if path.suffix != ".toml":
        path = SHIPPED / f"{known('lesson', str(name), shipped_lessons())}.toml"
    try:
        if not path.exists():
            raise BadInput(f"There is no lesson '{printable(str(path))}'; 'rbmviz lesson list' shows some.")
        if not is_file(path):  # opening a pipe would wait for its writer
            raise BadInput(f"The lesson '{printable(str(path))}' is not a regular file.")
        with path.open("rb") as file:
            content = file.read(MAX_LESSON_BYTES + 1)
    except OSError as error:
        raise BadInput(f"The lesson '{printable(str(path))}' cannot be read: {reason(error)}.") from None
    return read_lesson(content, path.name)


def load_folder(folder: str | Path) -> list[Lesson]:
    """Return the lessons in all .toml files of a folder, in order of their names.

    Raises BadInput if the folder has none, a file has an error, or a lesson has the name of one that comes
    with rbmviz.
    """
    path = Path(folder)
    files = sorted(path.glob("*.toml")) if path.is_dir() else []
    if not files:
        raise BadInput(
            f"The folder '{printable(str(path))}' holds no lesson, which is a file that ends in .toml."
        )
    for file in files:
        if file.stem in shipped_lessons():
            raise BadInput(
                f"The lesson '{printable(file.name)}' has the name of one that comes with rbmviz: give it "
                "another name."
            )
    return [load_lesson(file) for file in files]


def read_lesson(content: bytes, file: str) -> Lesson:
    """Return the lesson in the content of a file.

    content : TOML
    file : file name, from which the lesson takes its name; error messages quote it

    Raises BadInput if the content has an error.
    """
    name, where = file.removesuffix(".toml"), f"The lesson '{printable(file)}'"
    if not NAME.fullmatch(name):
        raise BadInput(f"{where} needs a name of lower-case letters, digits and '-', as 'my-lesson.toml'.")
    if len(content) > MAX_LESSON_BYTES or DOTTED.search(content):
        raise BadInput(f"{where} is over {MAX_LESSON_BYTES:,} bytes, or has a key of over 50 dotted parts.")
    try:
        said = tomllib.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:  # ValueError: also of texts that are not UTF-8
        first = next(iter(str(error).splitlines()), "")
        raise BadInput(f"{where} is not TOML in UTF-8: {first[:200]}.") from None
    try:
        _check_keys(said, LESSON_KEYS, ("title", "about", "minutes", "step"))
        steps = said["step"]
        if not 1 <= said["minutes"] <= 600:
            raise BadInput("minutes is a whole number from 1 to 600.")
        if not 1 <= len(steps) <= MAX_STEPS_OF_LESSON:
            raise BadInput(f"there are {len(steps)} steps: give from 1 to {MAX_STEPS_OF_LESSON}.")
        title, about = _text(said, "title", MAX_TITLE), _text(said, "about")
    except BadInput as error:
        raise BadInput(f"{where}: {error}") from None
    read = []
    for i, step in enumerate(steps, start=1):
        try:
            read.append(_read_step(step))
        except BadInput as error:
            raise BadInput(f"{where}, step {i}: {error}") from None
    return Lesson(name, title, about, said["minutes"], tuple(read))


def _check_keys(said: Any, types: Mapping[str, type], needed: Iterable[str]) -> None:
    """Check that no entry of a table is unknown or missing, and that each has the right type."""
    if not isinstance(said, dict):
        raise BadInput("it is not a table, which begins with [[step]].")
    for key, value in said.items():
        if key not in types:
            raise unknown("entry", key, types)
        if type(value) is not types[key]:
            raise BadInput(f"{key} = {quoted(value)} is not {TYPES[types[key]]}.")
    for key in needed:
        if key not in said:
            raise BadInput(f"it has no '{key}'.")


def _text(said: Mapping[str, Any], key: str, most: int = MAX_CARD_TEXT) -> str:
    return _checked_text(said.get(key, ""), key, most, needed=key in said)


def _checked_text(text: str, what: str, most: int, needed: bool = True) -> str:
    text = text.strip()
    if needed and not text:
        raise BadInput(f"{what} is empty.")
    if len(text) > most:
        raise BadInput(f"{what} has {len(text):,} characters and may have {most:,}.")
    markup = MARKUP.search(text)
    if markup:
        raise BadInput(
            f"{what} has {quoted(text[markup.start() :][:20])}: texts are Markdown without HTML or pictures "
            "(in a formula, put a space after '<')."
        )
    if CONTROL.search(text):
        raise BadInput(f"{what} holds a control character.")
    for formula in [text] if what == "formula" and text else text.split("$")[1::2]:
        _check_formula(formula)
    return text


def _check_formula(latex: str) -> None:
    """Check that pages can show a formula; without their libraries, nothing shows it."""
    with suppress(ImportError):
        from rbmviz.view.formulas import mathml

        mathml(latex)


def _list_of_texts(said: Mapping[str, Any], key: str, least: int, most: int, longest: int) -> tuple[str, ...]:
    texts = said.get(key, [])
    if not all(isinstance(text, str) for text in texts) or not least <= len(texts) <= most:
        raise BadInput(f"{key} is a list of {least} to {most} texts.")
    return tuple(_checked_text(text, key, longest) for text in texts)


def _read_step(said: Any) -> Step:
    _check_keys(said, STEP_KEYS, ("title", "link", "do"))
    title, do, text = _text(said, "title", MAX_TITLE), _text(said, "do"), _text(said, "text")
    question, reveal, formula = _text(said, "question"), _text(said, "reveal"), _text(said, "formula")
    state = read_state(said["link"])
    if "branch" in said:
        state = state._replace(branches=(_read_branch(said["branch"], state),))
    answers = _list_of_texts(said, "answers", 2 if question else 0, 6 if question else 0, 200)
    right = said.get("right", 0)
    if not 0 <= right <= len(answers):
        raise BadInput(f"right = {quoted(right)} is not the number of an answer: give 1 to {len(answers)}.")
    hold, blind = said.get("hold", False), said.get("blind", False)
    if (hold or blind) and not question:
        raise BadInput("hold = true and blind = true wait for an answer, and there is no question.")
    look = said.get("look", "")
    match = LOOK.fullmatch(look)
    if look and (match is None or (match[1] and int(match[1]) > len(state.panels))):
        raise BadInput(
            f"look = {quoted(look)} is not one of play, step, reset, speed, chart, presets, panel1 to "
            f"panel{len(state.panels)}, or a number or a knob of a panel, as panel1.{_parts(state, 0)[0]}."
        )
    if match is not None and match[2]:
        parts = _parts(state, int(match[1]) - 1)
        if match[2] not in parts:
            raise unknown(f"number or knob of panel {match[1]} to look at", match[2], parts)
    claims, goal = (
        tuple(_read_claim(text, state) for text in _list_of_texts(said, key, 0, MAX_CLAIMS, 200))
        for key in ("claims", "goal")
    )
    if claims and goal:
        raise BadInput("a step has claims to watch or a goal to reach: leave one of them out.")
    step = Step(
        *(title, state, do, text, look, question, answers, right - 1, hold, reveal, formula, claims),
        *(goal, None, blind),
    )
    return replace(step, won_by=_read_won_by(said["won_by"], step)) if "won_by" in said else step


def _read_claim(text: str, state: PageState) -> StepClaim:
    """Return a claim that a card can monitor: all its numbers are taken after the same number of steps."""
    claim = read_claim(text, state)
    if claim.n_of != claim.n or claim.control is not None:
        raise BadInput(f"the claim {quoted(text)} has '@' or 'not of', which only claims of presets have.")
    return claim


def _read_won_by(link: str, step: Step) -> PageState:
    """Return the state in a link that wins a challenge."""
    if not step.goal:
        raise BadInput("won_by says how a goal is reached, and there is no goal.")
    state = read_state(link)
    if state.page != step.state.page:
        raise BadInput(f"won_by is about the page {state.page}, and the challenge about {step.state.page}.")
    if [type(each) for each in state.algorithms()] != [type(each) for each in step.state.algorithms()]:
        raise BadInput("won_by has other panels than the challenge.")
    return state


def _read_branch(text: str, state: PageState) -> Branch:
    """Return the branch that a text describes: ``panel1 at 6000 updates: pop_cd:learning_rate=0.1``."""
    match = BRANCH.fullmatch(text)
    if match is None or state.page != "train" or int(match[1]) > len(state.panels):
        raise BadInput(
            f"branch = {quoted(text)} is not written as 'panel1 at 6000 updates: pop_cd', for a page train."
        )
    try:
        trainers.read(match[3])
    except BadInput as error:
        raise BadInput(f"branch: {error}") from None
    return Branch(int(match[1]) - 1, int(match[2]), match[3])


def _parts(state: PageState, panel: int) -> list[str]:
    """Return the targets within a panel that a step can highlight: its numbers, then its knobs."""
    algorithm = state.algorithms()[panel]
    numbers = PAGES[state.page].numbers(algorithm).values()
    return [*(number.name for number in numbers if number.help), *knobs_of(algorithm)]
