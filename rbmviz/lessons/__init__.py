"""Lessons: cards that guide a reader through the live pages, with questions and measured claims.

``state`` parses links, ``claims`` parses claims, ``reading`` loads lesson files, and ``measuring`` runs
the algorithms to check claims. Challenges are steps with a goal.
"""

from rbmviz.lessons.claims import Measured, StepClaim, measure, measure_now
from rbmviz.lessons.measuring import check_lesson, measure_claims
from rbmviz.lessons.reading import Lesson, Step, load_folder, load_lesson, read_lesson, shipped_lessons
from rbmviz.lessons.state import PageState, read_state
