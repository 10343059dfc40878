"""What a step needs and asks for: its data; how often to press and how long to play, read from its text."""

import re

from rbmviz.files.metadata import data_name
from rbmviz.lessons import Step
from rbmviz.models import load_pretrained
from rbmviz.pages import PAGES

EVERYWHERE = {"bas", "modes", "digits", "mnist5k", "simulated"}
"""Data that every installation has: they are generated, or come with a package that is required."""

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


def data_of(values: dict) -> set[str]:
    """Return the names of the data, without their options, that settings of a page need."""
    models = {values[key] for key in ("model", "weights_model", "coupling_model") if key in values}
    models |= set(values.get("tune_models", ()))
    used = {values[key] for key in ("train_data", "tune_train_data") if key in values}
    used |= {data_name(load_pretrained(model).meta) for model in models - {"random"}}
    return {data.partition("@")[0] for data in used}
