"""Lessons: cards that lead through the live pages, with questions, and claims that are measured.

``state`` reads a link, ``claims`` what a step claims, ``reading`` the files; ``measuring`` makes the runs.
Challenges are steps with a goal; ``results`` writes what somebody has done in one, and verifies it.
"""

from rbmviz.lessons.claims import StepClaim, measure, steps_of
from rbmviz.lessons.measuring import Measured, measure_claims
from rbmviz.lessons.reading import Lesson, Step, load_folder, load_lesson, read_lesson, shipped_lessons
from rbmviz.lessons.results import check_lesson
from rbmviz.lessons.state import PageState, read_state

__all__ = [
    "Lesson",
    "Measured",
    "PageState",
    "Step",
    "StepClaim",
    "check_lesson",
    "load_folder",
    "load_lesson",
    "measure",
    "measure_claims",
    "read_lesson",
    "read_state",
    "shipped_lessons",
    "steps_of",
]
