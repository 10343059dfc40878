"""The allowed values of a page's settings, and their conversion from a link's text."""

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from rbmviz.errors import BadInput, quoted
from rbmviz.pages.links import address_text


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
    """A short text of names and knob values, which are checked when they are used.

    pattern : regular expression that the whole text matches
    """

    pattern: str = r"[a-z0-9_.,:=]{0,100}"


class Several(NamedTuple):
    """A list of names from a registry."""

    names: Callable[[], list[str]]


Allowed = tuple[Any, ...] | Whole | MultipleOf | RealNumber | FreeText | Several | Callable[[], list[str]]
"""Some values, a range, or the names in a registry, which is read when needed."""


@dataclass(frozen=True)
class SettingSpec:
    """A setting of a page: a widget on screen, a name in the address, a value that a lesson can set.

    default : value on a page opened without a link
    allowed : values that a link, a lesson or a widget may set
    label : name of its widget (default "": no widget)
    help : text behind the widget's question mark (default "": none)
    makes_samples : whether runs depend on it, not only their display (default False). Every link includes
        such settings, unless they are empty.
    left_alone : whether presets leave it unchanged, for example an open fold and the choices in it (default
        False)
    fold : name of the setting that opens the fold with its widget (default "": not in a fold)
    """

    default: Any
    allowed: Allowed
    label: str = ""
    help: str = ""
    makes_samples: bool = False
    left_alone: bool = False
    fold: str = ""

    def options(self) -> list[Any]:
        """Return the values that a widget offers: ``allowed``, if it is a list or a registry."""
        return list(self.allowed() if callable(self.allowed) else self.allowed)

    def read(self, name: str, texts: list[str]) -> Any:
        """Return the value of one or more texts from a link.

        Raises BadInput if it is not allowed; ``name`` is the setting's name in the error message.
        """
        if isinstance(self.allowed, Several):
            return [read_value(name, text, self.allowed.names) for text in dict.fromkeys(texts)]
        return read_value(name, texts[-1], self.allowed)


def seed_setting(help: str) -> SettingSpec:
    """Return the setting of a page's seed; ``help`` says what the same seed repeats."""
    return SettingSpec(0, Whole(0, 2**31 - 1), "Seed", help, makes_samples=True)


def read_value(name: str, text: str, allowed: Any) -> Any:
    """Return the value in a text, one of ``Allowed`` but Several; BadInput if it is not allowed."""
    if isinstance(allowed, Whole):
        if re.fullmatch("[0-9]{1,10}", text, re.ASCII) and allowed.lo <= int(text) <= allowed.hi:
            return int(text)
        raise BadInput(
            f"{name} = {quoted(text)} is not a whole number from {allowed.lo:,} to {allowed.hi:,}."
        )
    if isinstance(allowed, RealNumber):
        with suppress(ValueError):
            if allowed.lo <= (number := float(text)) <= allowed.hi:
                return number
        raise BadInput(f"{name} = {quoted(text)} is not a number from {allowed.lo:g} to {allowed.hi:g}.")
    if isinstance(allowed, FreeText):
        if re.fullmatch(allowed.pattern, text, re.ASCII):
            return text
        raise BadInput(f"{name} = {quoted(text)} is not a list of names and numbers, such as k=2,alpha=1.")
    values: tuple[Any, ...] | list[Any]
    if isinstance(allowed, MultipleOf):
        n_steps = round((allowed.hi - allowed.lo) / allowed.step)
        values = [allowed.lo + i * allowed.step for i in range(n_steps + 1)]
    else:
        values = allowed() if callable(allowed) else allowed
    by_text = {address_text(value): value for value in values} | {str(value): value for value in values}
    if name == "train_data" and text.partition("@")[0] in by_text:  # a binarisation, mnist5k@0.3
        return text
    if text not in by_text:
        texts = list(dict.fromkeys(address_text(value) for value in by_text.values()))
        raise BadInput(f"{name} = {quoted(text)} is not one of {', '.join(texts)}.")
    return by_text[text]
