"""The plans for teachers: every link opens what it says, and every figure of an answer is in its step."""

import re
from pathlib import Path

import pytest

from rbmviz.lessons import load_lesson
from rbmviz.lessons.state import read_state
from rbmviz_app.pages.learn.page import PLANS, with_links

TEXT = (Path(__file__).parents[2] / "docs" / "class_plans.md").read_text() + PLANS
LINKS = [link for link in re.findall(r"`([^`\s]*\?[^`]+)`", TEXT) if not link.startswith("http")]
STEP = re.compile(r"\?lesson=([a-z-]+)&step=(\d+)")
NUMBER = re.compile(r"\d[\d,.]*\d|\d")
WORDS = {"6": "six", "0": "nothing"}
"""Numbers that a step has in words."""


def test_every_link_opens_a_step_or_a_page():
    assert len(LINKS) > 30
    for link in LINKS:
        if found := STEP.fullmatch(link):
            assert 1 <= int(found[2]) <= len(load_lesson(found[1]).steps), link
        else:
            assert read_state(link).panels is not None, link


def test_every_address_is_a_link_of_the_door_on_learn():
    linked = with_links(PLANS)
    assert [link for link in LINKS if f"`{link}`" in linked] == []
    assert "[stick, step\u00a01](learn?lesson=stick&step=1) to [stick, step\u00a03](" in linked
    assert "](chain?little=matrix)" in linked


def rows():
    """Yield the steps and the answer of each row of a plan that names a step."""
    for line in TEXT.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if len(cells) == 4 and STEP.search(cells[1]) and "to" not in cells[1].split():
            yield [load_lesson(name).steps[int(step) - 1] for name, step in STEP.findall(cells[1])], cells[3]


@pytest.mark.parametrize(("steps", "answer"), list(rows()))
def test_a_figure_in_an_answer_is_that_of_the_step(steps, answer):
    said = " ".join(
        str(part) for step in steps for part in (step.text, step.question, step.answers, step.reveal, step.do)
    )
    missing = [n for n in NUMBER.findall(answer) if n not in said and WORDS.get(n, n) not in said]
    assert missing == [], answer
