"""What the *Do this* of a step asks for, read from its text: how often to press, how long to play."""

import re

from rbmviz.lessons import Step
from rbmviz.pages import PAGES

PRESSES = re.compile(r"Press the key \*\*S\*\*, or the button \*Step\*, (\w+)")
TIMES = {"once": 1, "ten": 10, "twelve": 12, "thirty": 30}
NUMBER = re.compile(r"([0-9][0-9,]*) ([a-z]+)")


def presses(step: Step) -> int:
    """Return how often the text has Step pressed."""
    found = PRESSES.search(step.do)
    return TIMES[found[1]] if found else 0


def plays(step: Step) -> list[int]:
    """Return the numbers of samples (updates, pairs, ...) up to which the text has the page run, in order."""
    unit = PAGES[step.state.page].steps
    return [int(n.replace(",", "")) for n, called in NUMBER.findall(step.do) if called == unit]
