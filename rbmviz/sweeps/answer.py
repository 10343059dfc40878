"""Say in words which settings are as good as the best, and which knobs matter."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from rbmviz.knobs import value_text
from rbmviz.sweeps.choose import MOSTLY_BLANK, Choice, ScoredSetting, alike_of, knob_of
from rbmviz.sweeps.measures import measures


def answer(choice: Choice) -> str:
    """Say which settings are as good as the best, what the nearest others cost, and which knobs matter.

    "Decay 1. Any step size from 0.001 to 1 is as good (within 0.8 nats); decay 0.999 costs 1.2 nats at step
    size 0.001. Over the grid, scores differ by decay (63 %) and step size (23 %)."

    choice : what ``compare`` has chosen
    """
    best, alike, unit = choice.best, alike_of(choice.settings), _unit(choice.by)
    tied, unsure = [each for each in alike if each.tied], [each for each in alike if each.unsure]
    fixed, free = list[tuple[str, list[Any]]](), list[tuple[str, list[Any]]]()
    for name in best.knobs:
        tried = _sorted({each.knobs[name] for each in alike})
        (fixed if len({each.knobs[name] for each in tied}) == 1 else free).append((name, tried))
    named = ", ".join(_range(best, name, [best], tried) for name, tried in fixed)
    costs = [cost for each in fixed if (cost := _cost(choice, alike, *each))]
    if len(tied) == 1:
        end = "has the best mean" if choice.unsure else "is best"
        parts = [f"{named or best.setting.partition(':')[0]} {end}"]
    else:
        product = math.prod(len({each.knobs[name] for each in tied}) for name in best.knobs)
        ranges = [_range(best, name, tied, tried) for name, tried in free]
        which = f"{' with '.join(ranges)} is as good"
        if len(tied) < product:
            which = f"{len(tied)} settings with {' and '.join(ranges)} are as good"
        loss = max(abs(end) for each in tied for end in each.interval if math.isfinite(end))
        near = f" (within {_rounded_up(loss)}{unit})" if loss else ""
        parts = [f"{_capital(named)}. {_capital(which)}{near}" if named else f"{which}{near}"]
    sentences = [_capital("; ".join([*parts, *costs]))]
    if others := len(choice.tied) - len(tied):
        sentences.append(f"{others} of other algorithms {'are' if others > 1 else 'is'} tied with it")
    if n := len(choice.unsure):
        where = [_range(best, name, unsure, tried) for name, tried in (*fixed, *free) if unsure]
        where += [f"{n - len(unsure)} of other algorithms"] if n > len(unsure) else []
        which = f"{n} others ({', '.join(where)}) are" if n > 1 else f"one other ({', '.join(where)}) is"
        sentences.append(f"It cannot be told yet whether {which} as good")
    if shares := sorted(choice.importance.items(), key=lambda item: -item[1]):
        due_to = " and ".join(f"{_label(best, name)} ({100 * share:.0f} %)" for name, share in shares)
        sentences.append(f"Over the grid, scores differ by {due_to}")
    return f"{'. '.join(sentences)}."


def _label(scored: ScoredSetting, name: str) -> str:
    knob = knob_of(scored, name)
    return (knob.label if knob else name).lower()


def _range(best: ScoredSetting, name: str, some: Sequence[ScoredSetting], tried: list[Any]) -> str:
    """Return the label of a knob with its values in some settings."""
    good, label = {each.knobs[name] for each in some}, _label(best, name)
    if len(good) == 1:
        return f"{label} {value_text(*good)}"
    return f"{'any ' * (len(good) == len(tried))}{label} {_values(good, tried)}"


def _cost(choice: Choice, alike: Sequence[ScoredSetting], name: str, tried: list[Any]) -> str:
    """Say what the better neighbour of a value costs, all other knobs being those of the best setting."""
    best = choice.best
    at = tried.index(best.knobs[name])
    beside = [tried[i] for i in (at - 1, at + 1) if 0 <= i < len(tried)]
    found = [each for each in alike if each.knobs == {**best.knobs, name: each.knobs[name]}]
    found = [each for each in found if each.knobs[name] in beside and math.isfinite(each.difference)]
    if not found or (nearest := min(found, key=lambda each: abs(each.difference))).in_region:
        return ""
    rest = [f"{_label(best, other)} {value_text(x)}" for other, x in best.knobs.items() if other != name]
    where = f" at {', '.join(rest)}" if rest else ""
    cost = f"{abs(nearest.difference):.2g}{_unit(choice.by)}"
    return f"{_label(best, name)} {value_text(nearest.knobs[name])} costs {cost}{where}"


def _values(good: set[Any], tried: list[Any]) -> str:
    values = _sorted(good)
    together = tried[tried.index(values[0]) : tried.index(values[-1]) + 1] == values
    if (together and len(values) > 2) or (len(values) == len(tried) and isinstance(values[0], float)):
        return f"from {value_text(values[0])} to {value_text(values[-1])}"
    return f"{', '.join(map(value_text, values[:-1]))} or {value_text(values[-1])}"


def _sorted(values: Iterable[Any]) -> list[Any]:
    return sorted(values, key=lambda value: (isinstance(value, str), value))


def _rounded_up(x: float) -> str:
    """Return a number with one digit that is not smaller."""
    step = 10.0 ** math.floor(math.log10(x))
    return f"{math.ceil(x / step - 1e-9) * step:.3g}"


def _unit(by: str) -> str:
    number = measures[by].number if by in measures else None
    unit = (number.axis_unit or number.claimed_unit) if number else ""
    return f" {unit}" if unit else ""


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


SETTING_MARKS = {"*": "the best, or tied with it", "?": "cannot be told yet", "x": "mostly blank samples"}
"""Marks of settings in tables and figures, with their meanings."""


def mark_of(scored: ScoredSetting) -> str:
    """Return the mark of a setting; " " for one that is worse than the best."""
    return "*" if scored.tied else "?" if scored.unsure else "x" if scored.blank > MOSTLY_BLANK else " "


def marks_in_words(*choices: Choice) -> str:
    """Say what the marks of comparisons mean; the margin is that of the first."""
    used = {mark_of(each) for choice in choices for each in choice.settings}
    margin = f" (within {choices[0].margin:.2g}{_unit(choices[0].by)})" * (len(choices) == 1)
    return "; ".join(
        f"{mark} {text}{margin * (mark == '*')}" for mark, text in SETTING_MARKS.items() if mark in used
    )


def table_of(choice: Choice, most: int = 20) -> list[list[str]]:
    """Return the titles and the first settings as rows of texts."""
    rows = [["", "mean", "to the best", "seeds", "seconds"]]
    names = short([each.setting for each in choice.settings])
    for name, each in list(zip(names, choice.settings, strict=True))[:most]:
        error = "" if math.isnan(each.std_error) else f" +- {each.std_error:.3f}"  # unknown for one seed
        to_the_best = "" if each is choice.best else f"{each.difference:+.3f}{error}"
        seeds, seconds = str(len(each.by_seed)), f"{each.seconds:.2f}"
        rows.append([f"{mark_of(each)} {name}", f"{each.mean:.3f}", to_the_best, seeds, seconds])
    return rows


def short(settings: Sequence[str]) -> list[str]:
    """Return settings with only the knobs in which settings of the same algorithm differ."""
    parts = [(name, knobs.split(",")) for name, _, knobs in (setting.partition(":") for setting in settings)]
    common = {name: set.intersection(*(set(b) for a, b in parts if a == name)) for name, _ in parts}
    return [" ".join([name, *(pair for pair in knobs if pair not in common[name])]) for name, knobs in parts]
