"""Knobs: the parameters of an algorithm that a user may change, each declared once.

A knob is metadata of a dataclass field. Widgets, command-line flags, parameters of links, checks and
documentation are all generated from it.
"""

import dataclasses
import functools
import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass
from numbers import Real
from types import MappingProxyType
from typing import Any, Literal

from rbmviz.errors import BadInput, nearest, quoted

Value = int | float | bool | str


@dataclass(frozen=True)
class Knob:
    """One tunable parameter.

    name, kind, default : field name, type (int, float, bool or str) and default value. The default decides
        the type, not the annotation: a float knob has the default 1.0, not 1.
    label, help, unit : texts for the user; ``help`` is one sentence about the effect to look for
    lo, hi : smallest and largest value, both allowed (numbers only)
    scale : whether a slider runs from lo to hi linearly or logarithmically
    zero : whether 0, with a special meaning such as "switched off", is allowed although lo > 0, which log
        scales need
    live : whether the knob may change during a run; otherwise a change restarts the run
    choices : the allowed values of a str knob
    front : whether its slider is shown even where there is room for only a few; each page's ``panel.py``
        decides
    symbol : its symbol in the equation of the algorithm, in LaTeX (see ``view.formulas``); "": the equation
        does not contain it; None: not declared
    """

    name: str
    kind: type
    default: Value
    label: str
    help: str
    unit: str = ""
    lo: float = -math.inf
    hi: float = math.inf
    scale: Literal["linear", "log"] = "linear"
    zero: bool = False
    live: bool = True
    choices: tuple[str, ...] = ()
    front: bool = False
    symbol: str | None = None

    @property
    def range_text(self) -> str:
        """The allowed values in words: ``1 to 100``, ``0, or 0.001 to 1``, ``sampled | mean``."""
        if self.kind is bool:
            return "true | false"
        if self.kind is str:
            return " | ".join(self.choices)
        return f"{'0, or ' if self.zero else ''}{self.lo:g} to {self.hi:g}"

    def check(self, value: Any, owner: str) -> Value:
        """Return ``value`` as this knob's kind, so that 1 and 1.0 compile one kernel, or raise BadInput."""
        wrong = BadInput(f"{owner}: {self.name} = {quoted(value)} is outside {self.range_text}.")
        if self.kind is bool or self.kind is str:
            if not isinstance(value, self.kind) or (self.choices and value not in self.choices):
                raise wrong
            return self.kind(value)
        if not isinstance(value, Real) or isinstance(value, bool):
            raise wrong
        try:
            number = self.kind(value)
        except (ValueError, OverflowError):  # NaN or infinity as an int, an int that no float holds
            raise wrong from None
        within = self.lo <= number <= self.hi or (self.zero and number == 0)
        if within and self.kind is int and number != value:
            raise BadInput(f"{owner}: {self.name} = {quoted(value)} is not a whole number.")
        if not within or not math.isfinite(number):
            raise wrong
        return number

    def parse(self, text: str, owner: str) -> Value:
        """Read the text form (command line, URL) and check it."""
        if self.kind is bool and text.lower() in ("true", "false", "1", "0"):
            return text.lower() in ("true", "1")
        if self.kind is str:
            return self.check(text, owner)
        try:
            number = float(text)
        except ValueError:
            raise BadInput(f"{owner}: {self.name} = {quoted(text)} is outside {self.range_text}.") from None
        return self.check(number, owner)

    def text(self, value: Value) -> str:
        """Write a value as text that ``parse`` reads back exactly (whole numbers up to 2^53)."""
        if isinstance(value, bool):
            return str(value).lower()
        return repr(value) if isinstance(value, float) else str(value)


def value_text(value: Value) -> str:
    """Return a knob's value for the reader: on or off, numbers with three digits."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def knob(
    default: Value, lo: float = -math.inf, hi: float = math.inf, *, label: str, help: str, **more: Any
) -> Any:
    """Declare a dataclass field with a knob; ``more`` are further fields of ``Knob``."""
    return dataclasses.field(
        default=default, metadata={"knob": {"lo": lo, "hi": hi, "label": label, "help": help, **more}}
    )


def knobs_of(algorithm: Any) -> Mapping[str, Knob]:
    """Return the knobs of an algorithm (class or instance) by name: its own, then inherited ones.

    Each group is in order of declaration; a knob that is declared again keeps its place.
    """
    return _knobs_of_class(algorithm if isinstance(algorithm, type) else type(algorithm))


@functools.lru_cache(maxsize=100)
def _knobs_of_class(cls: type) -> Mapping[str, Knob]:
    bases = [base for base in cls.__mro__[1:] if dataclasses.is_dataclass(base)]
    inherited = {field.name for base in bases for field in dataclasses.fields(base)}
    knobs = {}
    for field in sorted(dataclasses.fields(cls), key=lambda field: field.name in inherited):
        if "knob" in field.metadata:
            assert field.default is not MISSING
            knobs[field.name] = Knob(
                name=field.name, kind=type(field.default), default=field.default, **field.metadata["knob"]
            )
    return MappingProxyType(knobs)


def values_of(algorithm: Any) -> dict[str, Value]:
    """Return the knob values of an algorithm instance."""
    return {name: getattr(algorithm, name) for name in knobs_of(algorithm)}


def check_all(algorithm: Any) -> None:
    """Check and convert every knob of a frozen instance in place (called once, when it is made)."""
    for name, declared in knobs_of(algorithm).items():
        value = declared.check(getattr(algorithm, name), type(algorithm).name)
        object.__setattr__(algorithm, name, value)


def check_names(cls: Any, names: Mapping[str, Any], arguments: Iterable[str] = ()) -> None:
    """Refuse a knob that the algorithm does not have, naming the nearest one, or the nearest argument."""
    knobs = knobs_of(cls)
    for name in names:
        if name not in knobs:
            hint = nearest(name, [*knobs, *arguments], f"it has {', '.join(knobs) or 'none'}.")
            raise BadInput(f"{cls.name} has no knob {quoted(name)}: {hint}")


def write_knobs(algorithm: Any, only: Collection[str] | None = None) -> str:
    """Write knobs as text, ``eps=0.03,alpha=1.0``; ``only`` limits them to these names (None: all)."""
    values = values_of(algorithm)
    return ",".join(
        f"{name}={declared.text(values[name])}"
        for name, declared in knobs_of(algorithm).items()
        if only is None or name in only
    )


def write_algorithm(algorithm: Any, only: Collection[str] | None = None) -> str:
    """Write a sampler or trainer, ``gibbs:temperature=1.0,k=1``; ``only`` is as in ``write_knobs``."""
    return f"{algorithm.name}:{write_knobs(algorithm, only)}".removesuffix(":")


def read_knobs(cls: Any, text: str) -> dict[str, Any]:
    """Read knobs in the format of ``write_knobs``; some may be left out.

    Raises BadInput if a knob is unknown, out of range, or given twice.
    """
    return parse_knobs(cls, split_knobs(text, cls.name))


def split_knobs(text: str, owner: str) -> dict[str, str]:
    """Return the text of each knob in ``eps=0.03,alpha=1.0``, by name; BadInput if one is given twice."""
    pairs = [pair.partition("=")[::2] for pair in text.replace(" ", "").split(",") if pair]
    texts = dict(pairs)
    if len(texts) < len(pairs):
        twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise BadInput(f"{owner}: {quoted(twice)} is given twice; give it once.")
    return texts


def read_algorithms(
    table: Any, texts: Sequence[str], shared: Mapping[str, str], arguments: Iterable[str] = ()
) -> list[Any]:
    """Return the algorithms described by texts like ``rates_fpcd:eps=0.1,k=2``, or by bare names.

    table : classes of algorithms by name
    texts : one for each algorithm; the knobs in a text are set for that algorithm only
    shared : texts of further knobs by name; each is set for every algorithm that has the knob, unless its own
        text names it
    arguments : what else an unknown knob may have been meant for

    Raises BadInput if an algorithm or a knob is unknown, a value is out of range, or a shared knob applies to
    none.
    """
    classes = [table[text.partition(":")[0]] for text in texts]
    accepted, used, algorithms = set(), set(), []
    for cls, text in zip(classes, texts, strict=True):
        own, knobs = read_knobs(cls, text.partition(":")[2]), knobs_of(cls)
        mine = [name for name in shared if name in knobs]
        free = [name for name in mine if name not in own]
        accepted.update(mine)
        used.update(free)
        algorithms.append(cls(**own, **parse_knobs(cls, {name: shared[name] for name in free})))
    check_names(classes[0], {name: "" for name in shared if name not in accepted}, arguments)
    if idle := accepted - used:
        raise BadInput(
            f"{texts[0]}: {min(idle)} is given twice, as a flag and after the colon; give it once."
        )
    return algorithms


def parse_knobs(cls: Any, texts: Mapping[str, str]) -> dict[str, Any]:
    """Return the values of knobs given as texts, by name; see ``read_knobs``."""
    check_names(cls, texts)
    knobs = knobs_of(cls)
    return {name: knobs[name].parse(value, cls.name) for name, value in texts.items()}
