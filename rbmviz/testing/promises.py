"""What the promises of samplers and trainers have in common, with the checks of what both declare."""

import dataclasses
import gc
import re
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from rbmviz.equations import equation_of, knobs_in
from rbmviz.errors import BadInput
from rbmviz.knobs import knobs_of

Check = Callable[[Any], None]


def promise(promises: dict[str, Check], name: str) -> Callable[[Check], Check]:
    """Return a decorator that adds a check to these promises under this name."""

    def register(check: Check) -> Check:
        promises[name] = check
        return check

    return register


def require(holds: Any, sentence: str) -> None:
    """Raise an AssertionError with this sentence unless the promise holds."""
    if not holds:
        raise AssertionError(sentence)


def refused(what: str, function: Callable[..., Any], *args: Any, **more: Any) -> None:
    """Require that a call raises BadInput with one sentence; ``what`` names the argument in the message."""
    try:
        function(*args, **more)
    except BadInput as error:
        check_sentence(what, error)
        return
    raise AssertionError(f"{what} is not refused with rbmviz.BadInput.")


def check_sentence(what: str, error: BadInput) -> None:
    """Require that the refusal of ``what`` is one sentence."""
    text = str(error)
    require(0 < len(text) < 400 and "\n" not in text, f"the refusal of {what} is not one sentence.")


def check_record(cls: Any, kind: str, flags: dict[str, Callable[[Any], bool]]) -> None:
    """Check what the decorator and the class attributes declare; flags: test of the value by attribute."""
    decorated = dataclasses.is_dataclass(cls) and "name" in vars(cls)
    require(decorated, f"it is not decorated with rbmviz.registry.{kind}(name, label=..., paper=...).")
    word = isinstance(cls.name, str) and re.fullmatch(r"[a-z][a-z0-9_]*", cls.name)
    require(
        word,
        f"its name {cls.name!r} is not one word of small letters, digits and underscores "
        "that begins with a letter.",
    )
    for field in ("label", "paper"):
        text = getattr(cls, field)
        require(isinstance(text, str) and text.strip(), f"its {field} is empty.")
    colour = isinstance(cls.colour, str) and re.fullmatch(r"(#[0-9a-f]{6})?", cls.colour)
    require(colour, f"its colour {cls.colour!r} is neither '' nor of the form '#rrggbb' in small letters.")
    # A dataclass without a docstring gets its signature for one.
    doc = (cls.__doc__ or "").strip()
    require(
        doc and not doc.startswith(f"{cls.__name__}("), "it has no docstring, which people read on the pages."
    )
    for flag, legal in flags.items():
        require(hasattr(cls, flag), f"it does not declare {flag}.")
        require(
            legal(getattr(cls, flag)),
            f"its {flag} has the value {getattr(cls, flag)!r}, which is not allowed.",
        )


def check_knobs(cls: Any, needed: tuple[str, ...]) -> None:
    """Check the declarations of all knobs, and that the algorithm has the needed attributes."""
    for name in needed:
        require(hasattr(cls(), name), f"it has no {name}.")
    types = {field.name: field.type for field in dataclasses.fields(cls)}
    plain = ", ".join(name for name in types if name not in knobs_of(cls))
    require(not plain, f"its fields are no knobs: {plain}; declare each by knob(...), or as a ClassVar.")
    for knob in knobs_of(cls).values():
        at = f"the knob {knob.name}"
        require(
            knob.kind is not int or types[knob.name] not in (float, "float"),
            f"{at} is a float whose default {knob.default} is an int: write {knob.default}.0.",
        )
        require(knob.label.strip(), f"{at} has no label.")
        require(
            knob.help.rstrip().endswith("."), f"the help of {at} is not a sentence that ends with a stop."
        )
        numeric = knob.kind in (int, float)
        require(numeric or knob.kind is bool or knob.choices, f"{at} has text values, but no choices.")
        if numeric:
            require(np.isfinite([knob.lo, knob.hi]).all(), f"{at} has no smallest and largest value.")
            require(
                knob.scale == "linear" or knob.lo > 0, f"{at} has a log scale that begins at {knob.lo:g}."
            )
        require(
            knob.parse(knob.text(knob.default), cls.name) == knob.default,
            f"{at}: its default, written as text and read, is another value.",
        )
        outside = knob.hi + abs(knob.hi) + 1 if numeric else "no such value"
        for wrong in (outside, None, float("nan"), object()):
            refused(f"{knob.name} = {wrong!r}", cls, **{knob.name: wrong})
            refused(
                f"{knob.name} = {wrong!r} in a replacement", dataclasses.replace, cls(), **{knob.name: wrong}
            )
        numbers = (knob.lo, knob.hi, *([0.0] if knob.zero else []))
        for value in knob.choices or (numbers if numeric else (False, True)):
            cls(**{knob.name: knob.kind(value)})
    try:
        cls().name_of_no_field = 1
    except dataclasses.FrozenInstanceError:
        return
    raise AssertionError("its instances can be changed, so that a run could keep state in them.")


def check_equation(cls: Any) -> None:
    """Check that the equation, if it has one, contains its knobs that have a symbol."""
    if not hasattr(cls, "equation"):
        return
    knobs = knobs_of(cls)
    others: list[dict[str, Any]] = [{one.name: value} for one in knobs.values() for value in one.choices]
    others += [{one.name: not one.default} for one in knobs.values() if one.kind is bool]
    equations = [equation_of(cls(**values)) for values in ({}, *others)]
    for formulas in equations:
        texts = all(isinstance(one, str) and one for one in formulas)
        require(isinstance(cls().equation, tuple) and texts, "its equation is not a tuple of formulas.")
        for name in sorted(knobs_in(formulas)):
            require(name in knobs, f"its equation marks {name!r}, which is none of its knobs.")
            require(knobs[name].symbol, f"its equation marks the knob {name}, which has no symbol.")
    marked = set().union(*map(knobs_in, equations))
    for one in knobs.values():
        require(not one.symbol or one.name in marked, f"its equation lacks the knob {one.name}.")
        said = one.symbol is not None or not one.live
        require(said, f"the live knob {one.name} has no symbol; '' says that the equation lacks it.")


def values_of_live(algorithm: Any) -> Iterator[tuple[str, list[Any]]]:
    """Yield each live knob with values to turn it to: small ones, as no training survives the largest."""
    for knob in knobs_of(algorithm).values():
        if not knob.live:
            continue
        values: list[Any] = list(knob.choices or (False, True))
        if knob.kind in (int, float):
            numbers = [knob.lo, min(max(2 * float(knob.default), knob.lo), knob.hi)]
            values = [knob.kind(x) for x in dict.fromkeys([*numbers, *([0.0] if knob.zero else [])])]
        yield knob.name, values


def variants(cls: Any, live: bool = False) -> Iterator[dict[str, Any]]:
    """Yield {} (the defaults), and other values of switches and choices; live: of live ones, too."""
    yield {}
    for knob in knobs_of(cls).values():
        if live or not knob.live:
            others = (True, False) if knob.kind is bool else knob.choices
            yield from ({knob.name: value} for value in others if value != knob.default)


def bytes_of(make: Callable[[], Any]) -> int:
    """Return the bytes of what ``make`` returns at its second call; the first compiles and fills caches."""
    gc.freeze()  # otherwise the collection below would visit all earlier objects
    make()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    kept = make()
    gc.collect()
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    gc.unfreeze()
    del kept
    return after - before


def check_bytes(algorithm: Any, n_visible: int, n_hidden: int, make: Callable[[], Any]) -> None:
    """Require that ``state_bytes`` is at least the bytes of a state, and at most twice as much."""
    taken, bound = bytes_of(make), algorithm.state_bytes(n_visible, n_hidden)
    state = f"a state of {algorithm} for {n_visible} x {n_hidden} units"
    require(taken <= bound, f"{state} takes {taken:,} bytes, and state_bytes returns {bound:,}.")
    require(bound <= 2 * taken, f"{state} takes only {taken:,} bytes, and state_bytes returns {bound:,}.")


def shared_generator() -> tuple[bytes, int]:
    """Return the state of numpy's shared generator, from which an algorithm must not draw."""
    state: Any = np.random.get_state()  # noqa: NPY002
    return state[1].tobytes(), state[2]


def bits(rows: int, width: int, seed: int) -> np.ndarray:
    """Return random bits, uint8 (rows, width)."""
    return np.random.default_rng(seed).integers(0, 2, (rows, width), dtype=np.uint8)
