"""``rbmviz challenge``: the challenges of the Learn page, and whether a result wins one."""

import argparse
from pathlib import Path
from typing import Any

from rbmviz.array_files import is_file
from rbmviz.cli import add_command, print_message
from rbmviz.errors import BadInput
from rbmviz.lessons import Lesson, load_folder, load_lesson, shipped_lessons
from rbmviz.lessons.results import MAX_RESULT_FILE, read_file, read_link, read_result, verify
from rbmviz.output import reason

MAX_PATH = 1000
"""Longest path of a file, in characters; a longer text is no file."""


def add(commands: Any) -> None:
    """Add the command."""
    example = "rbmviz challenge check 'sample?lesson=one-step-size&step=1&result=1~1@0:eps=0.01'"
    command = add_command(commands, "challenge", example, run, text)
    command.epilog = f"{command.epilog}\nThe exit status of 'check' is 3 if a result does not win."
    command.add_argument("action", choices=("list", "check"))
    command.add_argument(
        "results",
        nargs="*",
        metavar="LINK-OR-FILE",
        help="link of a result, whole or from the name of the page on, in quotes; or a file with one",
    )
    command.add_argument("--lessons", metavar="DIR", help="folder with lessons and challenges of your own")


def _known(folder: str | None) -> dict[str, Lesson]:
    found = {name: load_lesson(name) for name in shipped_lessons()}
    return found | {lesson.name: lesson for lesson in (load_folder(folder) if folder else [])}


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Return the challenges, or what came out for each result."""
    if (args.action == "list") == bool(args.results):
        raise BadInput("rbmviz challenge: 'list' takes no result, and 'check' at least one.")
    known = _known(args.lessons)
    if args.action == "list":
        return {"challenges": [_described(lesson) for lesson in known.values() if lesson.is_challenge]}
    rows = [_checked(given, known) for given in args.results]
    lost = sum(not row["won"] for row in rows)
    if lost:
        print_message(f"{lost} of {len(rows)} results do not win: {rows_lost(rows)}")
    return {"results": rows, "results_lost": lost}


def rows_lost(rows: list[dict[str, Any]]) -> str:
    """Return the sentence of the first result that does not win."""
    return next(str(row["sentence"]) for row in rows if not row["won"])


def _described(lesson: Lesson) -> dict[str, Any]:
    step = lesson.steps[0]
    return {
        "name": lesson.name,
        "title": lesson.title,
        "about": lesson.about,
        "goal": [goal.text for goal in step.goal],
        "turns": list(step.turns),
        "choose": list(step.choose),
    }


def _link(given: str) -> str:
    """Return a link, given as such or in a file."""
    if "result=" in given:
        return given
    path = Path(given[:MAX_PATH])
    try:
        if path.exists() and not is_file(path):  # to open a pipe would be to wait for its writer
            raise BadInput("The result is no link, and as a file it cannot be read: it is no regular file.")
        with path.open("rb") as file:
            content = file.read(MAX_RESULT_FILE + 1)
    except FileNotFoundError:
        raise BadInput("The result is no link, and there is no such file.") from None
    except BadInput:
        raise
    except (OSError, ValueError) as error:
        why = reason(error) if isinstance(error, OSError) else "its name is none"
        raise BadInput(f"The result is no link, and as a file it cannot be read: {why}.") from None
    return read_file(content)


def _checked(given: str, known: dict[str, Lesson]) -> dict[str, Any]:
    lesson, number, result = read_link(_link(given), known)
    step = lesson.steps[number - 1]
    verdict = verify(step, read_result(step, result))
    goals = [
        {"goal": one.claim.text, "measured": one.value, "n": one.n, "holds": one.holds}
        for one in verdict.measured
    ]
    return {
        "challenge": lesson.name,
        "step": number,
        "won": verdict.won,
        "sentence": verdict.sentence,
        "goals": goals,
    }


def text(result: dict[str, Any]) -> str:
    """Return the result as text for the terminal."""
    lines = [f"{row['challenge']}: {row['sentence']}" for row in result.get("results", ())]
    for one in result.get("challenges", ()):
        lines += [f"{one['name']}: {one['title']}", f"  {one['about']}"]
        lines += [f"  goal: {goal}" for goal in one["goal"]]
        lines.append(f"  may be changed: {', '.join([*one['turns'], *one['choose']])}")
    return "\n".join(lines)
