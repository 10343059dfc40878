"""``rbmviz lesson``: list the lessons of the Learn page, and check their claims."""

from collections.abc import Sequence
from typing import Any, Literal

from tqdm import tqdm

from rbmviz.cli import Answer, print_message
from rbmviz.errors import BadInput
from rbmviz.lessons import Lesson, Measured, check_lesson, load_lesson, shipped_lessons

MAX_CLAIMS_NAMED = 3
"""Maximum number of failed claims that the final message names."""


def lesson(action: Literal["list", "check"] = "list", /, *files: str) -> Answer:
    """List the lessons, or check what their steps claim.

    Claims are measured without a browser, at full speed.

    The exit status of check is 3 if a claim does not hold.

    Parameters
    ----------
    action
        What to do.
    files
        Lessons to check: .toml files, or names of lessons that come with rbmviz; default all of these.

    Examples
    --------
    rbmviz lesson check my-lesson.toml
    """
    if action == "list" and files:
        raise BadInput("rbmviz lesson list: it takes no file (see 'rbmviz lesson --help').")
    lessons = [load_lesson(name) for name in files or shipped_lessons()]
    if action == "list":
        return _listed(lessons)
    with_claims = sum(bool(step.claims) + bool(step.won_by) for lesson in lessons for step in lesson.steps)
    with tqdm(total=with_claims, unit="step", disable=None) as bar:
        checked = [_checked(lesson, bar) for lesson in lessons]
    rows = [(each["name"], row) for each in checked for row in each["claims"]]
    failed = [f"{name}, step {row['step']}: {row['claim']}" for name, row in rows if not row["holds"]]
    if failed:
        more = f", and {len(failed) - MAX_CLAIMS_NAMED} more" if len(failed) > MAX_CLAIMS_NAMED else ""
        print_message(
            f"{len(failed)} of {len(rows)} claims do not hold: {'; '.join(failed[:MAX_CLAIMS_NAMED])}{more}."
        )
    lines = [line for each in checked for line in (_head(each), *map(_line, each["claims"]))]
    lines.append(f"{len(rows) - len(failed)} of {len(rows)} claims hold.")
    return {"lessons": checked, "claims_checked": len(rows), "claims_failed": len(failed)}, "\n".join(lines)


def _listed(lessons: Sequence[Lesson]) -> Answer:
    rows = [
        {name: getattr(lesson, name) for name in ("name", "title", "about", "minutes")}
        | {"steps": [step.title for step in lesson.steps]}
        for lesson in lessons
    ]
    lines = [
        line
        for row in rows
        for line in (_head(row), *(f"  {i}  {title}" for i, title in enumerate(row["steps"], start=1)))
    ]
    return {"lessons": rows}, "\n".join(lines)


def _checked(lesson: Lesson, bar: tqdm) -> dict[str, Any]:
    rows: list[dict[str, Any]] = []
    for step, measured in check_lesson(lesson):
        rows += [_row(step, claim) for claim in measured]
        bar.update()
    return {"name": lesson.name, "title": lesson.title, "claims": rows}


def _row(step: int, measured: Measured) -> dict[str, Any]:
    return {
        "step": step,
        "claim": measured.claim.text,
        "measured": measured.value,
        "compared_with": measured.other,
        "holds": measured.holds,
    }


def _head(lesson: dict[str, Any]) -> str:
    return f"{lesson['name']}: {lesson['title']}"


def _line(row: dict[str, Any]) -> str:
    sign = "holds" if row["holds"] else "FAILS"
    number = "unknown" if row["measured"] is None else f"{row['measured']:.4g}"
    return f"  {row['step']}  {sign}  {row['claim']}  (measured: {number})"
