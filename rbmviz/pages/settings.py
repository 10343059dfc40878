"""What a setting of a page may be, and how a link's text becomes its value."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from rbmviz.errors import BadInput, shown
from rbmviz.links import address_text, read_number
from rbmviz.session.equal_points import CostUnit


class Whole(NamedTuple):
    """Any whole number from lo to hi."""

    lo: int
    hi: int


class MultipleOf(NamedTuple):
    """Any multiple of ``step`` from lo to hi."""

    lo: float
    hi: float
    step: float


class RealNumber(NamedTuple):
    """Any number from lo to hi."""

    lo: float
    hi: float


class FreeText(NamedTuple):
    """A short text of names and knob values, which are checked where they are used.

    pattern : regular expression that the whole text matches
    """

    pattern: str = r"[a-z0-9_.,:=]{0,100}"


class Several(NamedTuple):
    """A list of names from a registry."""

    names: Callable[[], list[str]]


Allowed = tuple[Any, ...] | Whole | MultipleOf | RealNumber | FreeText | Several | Callable[[], list[str]]
"""A few values, a range, or the names of a registry, which is read when it is needed."""


@dataclass(frozen=True)
class SettingSpec:
    """A setting of a page: a widget on the screen, a name in the address, a value that a lesson can set.

    Parameters
    ----------
    default : int, float, bool, str or list of str
        Its value on a page that is opened without a link.
    allowed : Allowed
        What a link, a lesson or a widget may set it to.
    label : str
        Name of its widget (default "": it has none).
    help : str
        What the widget's question mark says (default "": it has none).
    makes_samples : bool
        Whether the runs depend on it, and not only how they are shown (default False). Every link gives it.
    left_alone : bool
        Whether presets leave it as it is: an open fold, and what is chosen in it (default False).
    fold : str
        Name of the setting that opens the fold in which its widget is drawn (default "": it is in none).
    """

    default: Any
    allowed: Allowed
    label: str = ""
    help: str = ""
    makes_samples: bool = False
    left_alone: bool = False
    fold: str = ""

    def options(self) -> list[Any]:
        """Return the values that a widget offers: ``allowed``, where that is a list or a registry."""
        return list(self.allowed() if callable(self.allowed) else self.allowed)

    def read(self, name: str, texts: list[str]) -> Any:
        """Return the value that a link gives as one or more texts.

        Raises
        ------
        BadInput
            If it is not allowed; ``name`` is what the sentence calls the setting.
        """
        if isinstance(self.allowed, Several):
            return [read_value(name, text, self.allowed.names) for text in dict.fromkeys(texts)]
        return read_value(name, texts[-1], self.allowed)


def compared_at(made_unit: CostUnit) -> str:
    """Return the help of the choice of the unit at equal numbers of which panels are compared.

    made_unit : what the runs of the page make: samples or updates
    """
    newest = " All other numbers are those of the newest samples." if made_unit == "samples" else ""
    return (
        f"All scores are taken at the last number of {made_unit}, of sweeps, or of seconds of computing that "
        f"every panel has passed.{newest} This changes what is compared, not the pace. Seconds are those of "
        "this machine and depend on its load."
    )


def read_value(name: str, text: str, allowed: Allowed) -> Any:
    """Return the value of one text; BadInput if it is not allowed."""
    if isinstance(allowed, Whole):
        if re.fullmatch("[0-9]{1,10}", text, re.ASCII) and allowed.lo <= int(text) <= allowed.hi:
            return int(text)
        raise BadInput(f"{name} = {shown(text)} is not a whole number from {allowed.lo:,} to {allowed.hi:,}.")
    if isinstance(allowed, RealNumber):
        number = read_number(text, name)
        if allowed.lo <= number <= allowed.hi:
            return number
        raise BadInput(f"{name} = {shown(text)} is not a number from {allowed.lo:g} to {allowed.hi:g}.")
    if isinstance(allowed, FreeText):
        if re.fullmatch(allowed.pattern, text, re.ASCII):
            return text
        raise BadInput(f"{name} = {shown(text)} is not a list of names and numbers, such as k=2,alpha=1.")
    values: tuple[Any, ...] | list[Any]
    if isinstance(allowed, MultipleOf):
        n_steps = round((allowed.hi - allowed.lo) / allowed.step)
        values = [allowed.lo + i * allowed.step for i in range(n_steps + 1)]
    elif isinstance(allowed, Several):
        values = allowed.names()
    else:
        values = allowed() if callable(allowed) else allowed
    by_text = {address_text(value): value for value in values} | {str(value): value for value in values}
    if name == "train_data" and text.partition("@")[0] in by_text:  # a binarisation, mnist5k@0.3
        return text
    if text not in by_text:
        texts = list(dict.fromkeys(address_text(value) for value in by_text.values()))
        raise BadInput(f"{name} = {shown(text)} is none of {', '.join(texts)}.")
    return by_text[text]
