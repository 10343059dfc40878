"""Names and colours of algorithms and their settings in charts and panels."""

import itertools
from collections.abc import Sequence
from typing import Any

from rbmviz.knobs import knobs_of, value_text, values_of
from rbmviz.registry import samplers, trainers

GREY = "#808080"
"""Colour of lines; text needs more contrast (INK)."""
INK = "#4b4d57"
"""Colour of text in figures."""
COUPLING_COLOURS = {"rbm": "#618651", "general": "#cc840d", "half_step": "#a860f0"}
"""Colours of the couplings; UCD has the colour of the first."""
SPARE_COLOURS = ("#bf8a0c", "#855ef5", "#8c8c8c", "#b08968")
"""Colours of algorithms that declare none. They may meet another one in a chart; dashes are never shared."""
RAMP = ("#2952f8", "#6589fd", "#8354a7", "#af7cb6", "#e14784", "#925d48", "#ce7f56", "#b34905")
"""Colours of an increasing number, from blue through violet to orange: distinguishable with colour blindness
and clear on both themes."""


def colour(name: str) -> str:
    """Return the colour of a sampler, trainer or coupling.

    Algorithms declare theirs; a sampler and a trainer of the same method share one. Tests check how well
    protan, deutan and tritan eyes distinguish them, and their contrast with both backgrounds
    (``tests/app/test_colours.py``).
    """
    declared = {other: table[other].colour for table in (trainers, samplers) for other in table}
    others = [other for other in declared if not declared[other]]
    declared |= {other: SPARE_COLOURS[i % len(SPARE_COLOURS)] for i, other in enumerate(others)}
    return (declared | COUPLING_COLOURS).get(name, SPARE_COLOURS[0])  # one that stands in no list


def titles(algorithms: Sequence[Any], origins: Sequence[str] = (), marks: Sequence[str] = ()) -> list[str]:
    """Give algorithms unique names, by adding the knobs in which namesakes differ.

    origins : a word for each algorithm's start, "" for the default start
    marks : a word before each name, which also distinguishes them; none: no words
    """
    named = []
    for algorithm, origin in zip(algorithms, origins or [""] * len(algorithms), strict=True):
        namesakes = [other for other in algorithms if other.name == algorithm.name]
        # Each knob is named like its slider.
        labels = {knob: knobs_of(algorithm)[knob].label for knob in differing_knobs(namesakes)}
        knobs = ", ".join(
            f"{label[0].lower()}{label[1:]} {value_text(values_of(algorithm)[knob])}"
            for knob, label in labels.items()
        )
        named.append((f"{algorithm.label} ({knobs})" if knobs else algorithm.label) + origin)
    return (
        [f"{mark}: {name}" for mark, name in zip(marks, named, strict=True)] if marks else named_apart(named)
    )


def differing_knobs(namesakes: Sequence[Any]) -> list[str]:
    """Return the names of the knobs in which algorithms of one kind differ."""
    return [
        knob for knob in knobs_of(namesakes[0]) if len({values_of(other)[knob] for other in namesakes}) > 1
    ]


def labels(algorithms: Sequence[Any]) -> list[str]:
    """Return short names for the ends of curves: if all are of one kind, the knobs in which they differ.

    A knob is named by the first word of its slider: "step 0.03".
    """
    named = []
    for algorithm in algorithms:
        namesakes = [other for other in algorithms if other.name == algorithm.name]
        knobs = ", ".join(
            f"{knobs_of(algorithm)[knob].label.split()[0].lower()} {value_text(values_of(algorithm)[knob])}"
            for knob in differing_knobs(namesakes)
        )
        of_one_kind = len(namesakes) == len(algorithms)
        named.append(
            (knobs or algorithm.label) if of_one_kind or not knobs else f"{algorithm.label}, {knobs}"
        )
    return named_apart(named)


def named_apart(names: Sequence[str]) -> list[str]:
    """Return the names, numbered where several are equal."""
    counts: dict[str, itertools.count[int]] = {}
    return [
        name if names.count(name) == 1 else f"{name} #{next(counts.setdefault(name, itertools.count(1)))}"
        for name in names
    ]


DASHES = ([1, 0], [8, 3], [2, 2], [9, 2, 2, 2], [14, 4], [4, 2], [9, 2, 2, 2, 2, 2], [1, 3])
"""Dash patterns of lines, in pixels of line and gap."""


def dashes(slots: Sequence[int]) -> list[list[int]]:
    """Return the dashes of each curve of a chart by its slot: the first is solid, the first eight all differ.

    Colours alone do not distinguish curves in greyscale print or for colour-blind eyes.
    """
    return [DASHES[slot % len(DASHES)] for slot in slots]


def ramp(n: int) -> list[str]:
    """Return n colours of an increasing number, as far apart as possible; they repeat after len(RAMP)."""
    places = range(n) if n > len(RAMP) else [round(i * (len(RAMP) - 1) / max(n - 1, 1)) for i in range(n)]
    return [RAMP[place % len(RAMP)] for place in places]


def colours(algorithms: Sequence[Any]) -> list[str]:
    """Return the colour of each algorithm of a page: its own, or for namesakes a ramp in their order.

    If all are of one kind, the ramp uses all colours; otherwise it consists of shades of the kind's colour.
    It does not depend on knobs: a curve keeps its colour while one is turned.
    """
    tones = [colour(algorithm.name) for algorithm in algorithms]
    for name in {algorithm.name for algorithm in algorithms}:
        places = [i for i, algorithm in enumerate(algorithms) if algorithm.name == name]
        if len(places) == 1:
            continue
        of_one_kind = len(places) == len(algorithms)
        wide = of_one_kind or len(places) > MAX_SHADES
        ramped = ramp(len(places)) if wide else shades(colour(name), len(places))
        for i, tone in zip(places, ramped, strict=True):
            tones[i] = tone
    return tones


def colours_of_slots(slots: Sequence[int]) -> list[str]:
    """Return the colour of each panel of a page whose algorithms are of one kind, by its slot.

    A panel keeps its colour when others come and go. The first ones are as far apart as possible.
    """
    return [RAMP[(0, 2, 5, 7, 4, 1, 6, 3)[slot % len(RAMP)]] for slot in slots]


MAX_SHADES = 4
"""Maximum number of shades of a colour; more could not be distinguished."""

LUMINANCES = 0.125, 0.295
"""Luminance of the darkest and the brightest shade: both have a contrast of 3 with black and with white."""


def shades(tone: str, n: int) -> list[str]:
    """Return n shades of a colour, from dark to bright in even steps of lightness (L* of CIELAB)."""
    low, high = (luminance ** (1 / 3) for luminance in LUMINANCES)
    steps = [low + (high - low) * i / max(n - 1, 1) for i in range(n)]
    return [_with_luminance(tone, step**3) for step in steps]


def _with_luminance(tone: str, luminance: float) -> str:
    """Mix a colour with black or white to get this luminance (WCAG 2.2, 0 to 1)."""
    parts = [int(tone[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    own = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    if luminance <= own:
        mixed = [part * luminance / own for part in linear]
    else:
        mixed = [part + (1 - part) * (luminance - own) / (1 - own) for part in linear]
    screen = [12.92 * part if part <= 0.0031308 else 1.055 * part ** (1 / 2.4) - 0.055 for part in mixed]
    return "#" + "".join(f"{round(255 * part):02x}" for part in screen)


FREE_COLOURS = ("#bd4c0c", "#7a7a7a", "#618651", "#b583b4", "#8a6d1d", "#2f6f8f", "#a03b5a", "#4b4fa0")
"""Colours of series that are not algorithms, and of further settings of an algorithm."""


def colours_of_names(series: Sequence[str]) -> list[str]:
    """Return a colour per series: the colour of the algorithm that begins its name, unless taken."""
    colour_of = {}
    for table in (samplers, trainers):
        for name in table:
            for word in (name, table[name].label):
                colour_of[word.lower()] = table[name].colour
    taken: list[str] = []
    for label in series:
        own = max((word for word in colour_of if label.lower().startswith(word)), key=len, default="")
        free = [colour for colour in FREE_COLOURS if colour not in taken]
        colour = colour_of.get(own, "")
        taken.append(colour if colour and colour not in taken else free[0] if free else FREE_COLOURS[-1])
    return taken
