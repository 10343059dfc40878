"""Say in words which settings are as good as the best."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from rbmviz.knobs import value_text
from rbmviz.sweeps.choose import Choice, ScoredSetting, alike_of, knob_of
from rbmviz.sweeps.measures import measures


def answer(choice: Choice) -> str:
    """Say which settings are as good as the best, and what the nearest others cost, in one sentence or two.

    "Decay 1. Any step size from 0.001 to 1 is as good (within 0.5 nats); decay 0.999 costs 2.1 at step size
    0.1."

    choice : what ``compare`` has chosen
    """
    best, scored = choice.best, choice.settings
    alike, unit = alike_of(scored), _unit(choice.by)
    region = [each for each in alike if each.in_region]
    fixed, free = [], []
    for name, value in best.knobs.items():
        good = {each.knobs[name] for each in region}
        knob, tried = knob_of(best, name), _sorted({each.knobs[name] for each in alike})
        label = (knob.label if knob else name).lower()
        if len(good) == 1 or len(tried) == 1:
            fixed.append((name, label, value, tried))
        else:
            free.append(f"{'any ' * (len(good) == len(tried))}{label} {_values(good, tried)}")
    named = ", ".join(f"{label} {value_text(value)}" for _, label, value, _ in fixed)
    costs = [cost for each in fixed if (cost := _cost(choice, alike, *each))]
    if len(region) == 1:
        parts = [f"{named or best.setting.partition(':')[0]} is best"]
    else:
        product = math.prod(len({each.knobs[name] for each in region}) for name in best.knobs)
        which = (
            f"{' with '.join(free)} is as good"
            if len(region) == product
            else (f"{len(region)} settings with {' and '.join(free)} are as good")
        )
        loss = max((abs(each.difference) for each in region if math.isfinite(each.difference)), default=0.0)
        near = f" (within {_rounded_up(loss)}{unit})" if loss else ""
        parts = [f"{_capital(named)}. {_capital(which)}{near}" if named else f"{which}{near}"]
    others = [each for each in choice.region if each not in region]
    end = f" {len(others)} of other algorithms are tied with it." if others else ""
    return f"{_capital('; '.join([*parts, *costs]))}.{end}"


def _cost(
    choice: Choice,
    alike: Sequence[ScoredSetting],
    name: str,
    label: str,
    value: float | str,
    tried: list[Any],
) -> str:
    """Say what the better neighbour of a value costs, all other knobs being those of the best setting."""
    best, at = choice.best, tried.index(value)
    beside = [tried[i] for i in (at - 1, at + 1) if 0 <= i < len(tried)]
    found = [each for each in alike if each.knobs == {**best.knobs, name: each.knobs[name]}]
    found = [each for each in found if each.knobs[name] in beside and math.isfinite(each.difference)]
    if not found:
        return ""
    nearest = min(found, key=lambda each: abs(each.difference))
    rest = [
        f"{(knob.label if (knob := knob_of(best, other)) else other).lower()} {value_text(x)}"
        for other, x in best.knobs.items()
        if other != name
    ]
    where = f" at {', '.join(rest)}" if rest else ""
    cost = f"{abs(nearest.difference):.2g}{_unit(choice.by)}"
    return f"{label} {value_text(nearest.knobs[name])} costs {cost}{where}"


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
