"""Promises shared by samplers and trainers, and helpers for all checks."""

import dataclasses
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rbmviz.knobs import Value, knobs_of

Check = Callable[[Any], None]

DECLARATION = "its declaration is complete"
RESULT_SHAPES = "results have the promised shapes and types"
SEEDS = "the same seed gives the same results"
DIVISION = "how a run is divided into steps does not change it"
LIVE_KNOBS = "live knobs act from the next step on"


@dataclass(frozen=True)
class Runner:
    """Functions by which the checks run samplers, or trainers.

    begin : returns the state for an algorithm and a seed
    arrays : returns copies of everything that a seed determines in consecutive results of ``step``
    """

    begin: Callable[[Any, Any], Any]
    arrays: Callable[[Sequence[Any]], list[np.ndarray]]

    def run(self, algorithm: Any, n: int, seed: Any = 1) -> list[np.ndarray]:
        """Return the arrays of ``step(state, n)`` from a new state."""
        return self.arrays([algorithm.step(self.begin(algorithm, seed), n)])

    def turned(self, algorithm: Any, before: int, n: int, /, **knobs: Value) -> list[np.ndarray]:
        """Return the arrays of ``step(state, n)`` with these knobs, after ``step(state, before)`` without."""
        state = self.begin(algorithm, 1)
        algorithm.step(state, before)
        return self.arrays([dataclasses.replace(algorithm, **knobs).step(state, n)])


def require(holds: Any, sentence: str) -> None:
    """Raise an AssertionError with this sentence unless the promise holds."""
    if not holds:
        raise AssertionError(sentence)


def same(a: Sequence[np.ndarray], b: Sequence[np.ndarray]) -> bool:
    """Return whether all arrays are equal; NaN is equal to NaN."""
    pairs = zip(a, b, strict=False)
    return len(a) == len(b) and all(np.array_equal(x, y, equal_nan=x.dtype.kind == "f") for x, y in pairs)


def check_declaration(cls: Any, kind: str, **flags: Collection[Any]) -> None:
    """Check the decorator, the docstring, the flags (given with their allowed values), and the knobs."""
    decorated = dataclasses.is_dataclass(cls) and "name" in vars(cls)
    require(decorated, f"it is not decorated with rbmviz.registry.{kind}(name, label=..., paper=...).")
    # A dataclass without a docstring gets its signature as docstring.
    doc = (cls.__doc__ or "").strip()
    require(doc and not doc.startswith(f"{cls.__name__}("), "it has no docstring, which the pages show.")
    for flag, allowed in flags.items():
        require(getattr(cls, flag, None) in allowed, f"declare {flag} on the class, one of {list(allowed)}.")
    types, knobs = {field.name: field.type for field in dataclasses.fields(cls)}, knobs_of(cls)
    others = ", ".join(types.keys() - knobs.keys())
    require(not others, f"its fields {others} are not knobs: declare each by knob(...), or as a ClassVar.")
    for name, knob in knobs.items():
        whole = knob.kind is int and types[name] in (float, "float")
        require(not whole, f"the knob {name} is a float whose default {knob.default} is an int: write 1.0.")
        limited = knob.choices if knob.kind is str else np.isfinite([knob.lo, knob.hi]).all()
        require(limited or knob.kind is bool, f"the knob {name} has neither choices nor a range: give one.")


def check_seeds(runner: Runner, algorithms: Sequence[Any], n: int) -> None:
    """Check that equal seeds of each type give equal results, and other seeds give different results."""
    generator: Any = np.random.get_state()  # noqa: NPY002
    for algorithm in algorithms:
        for make in (int, np.random.SeedSequence, np.random.default_rng):
            a, b, other = (runner.run(algorithm, n, make(seed)) for seed in (7, 7, 8))
            require(same(a, b), f"two runs of {algorithm} with the seed {make(7)!r} differ.")
            require(not same(a, other), f"runs of {algorithm} with the seeds {make(7)!r} and 8 are the same.")
    after: Any = np.random.get_state()  # noqa: NPY002
    shared = after[2] == generator[2] and np.array_equal(after[1], generator[1])
    require(shared, "it draws from, or seeds, numpy's shared generator: use rbmviz.rng.")


def check_division(runner: Runner, algorithms: Sequence[Any], sizes: Sequence[int]) -> None:
    """Check that steps of these sizes equal a single step, even if another state steps in between."""
    calls = ", ".join(f"step({n})" for n in sizes)
    for algorithm in algorithms:
        whole = runner.run(algorithm, sum(sizes))
        for other in (None, runner.begin(algorithm, 2)):
            state, results, copies = runner.begin(algorithm, 1), [], []
            for n in sizes:
                results.append(algorithm.step(state, n))
                copies.append(runner.arrays(results[-1:]))
                if other is not None:
                    algorithm.step(other, n)
            unchanged = all(same(runner.arrays([x]), copy) for x, copy in zip(results, copies, strict=True))
            require(unchanged, "step writes to arrays that it has returned before: return new ones.")
            why = "draw per sample, not per call" if other is None else "states share an array or a generator"
            divided = same(runner.arrays(results), whole)
            require(divided, f"{algorithm}: {calls} give another result than step({sum(sizes)}): {why}.")


def check_live_knobs(
    runner: Runner, algorithms: Sequence[Any], names: Collection[str], when: Sequence[int], seldom: int
) -> None:
    """Check that each live knob, changed after one of these steps, acts within ``seldom`` further steps."""
    for name, values in live_values(algorithms[0]):
        acts = name not in names or any(
            not same(
                runner.turned(algorithm, before, n, **{name: value}), runner.turned(algorithm, before, n)
            )
            for n in (60, seldom)
            for before in when
            for algorithm in algorithms
            for value in values
        )
        require(
            acts,
            f"the live knob {name}, turned after {when[0]} steps, changes nothing in the next {seldom}: read "
            "it from self at each step, or declare live=False.",
        )


def variants(cls: Any, live: bool = False) -> Iterator[dict[str, Value]]:
    """Yield {} (the defaults), then each other value of a switch or choice; live: include live knobs."""
    yield {}
    for knob in knobs_of(cls).values():
        if live or not knob.live:
            values: Collection[Value] = (True, False) if knob.kind is bool else knob.choices
            yield from ({knob.name: value} for value in values if value != knob.default)


def live_values(algorithm: Any) -> Iterator[tuple[str, list[Any]]]:
    """Yield each live knob with new values, which are small: no training survives the largest."""
    for knob in knobs_of(algorithm).values():
        if knob.live and knob.kind in (int, float):
            numbers = [knob.lo, min(max(2 * float(knob.default), knob.lo), knob.hi), *[0.0] * knob.zero]
            yield knob.name, [knob.kind(x) for x in dict.fromkeys(numbers)]
        elif knob.live:
            yield knob.name, list(knob.choices or (False, True))


def bits(rows: int, width: int, seed: int) -> np.ndarray:
    """Return random bits, uint8 (rows, width)."""
    return np.random.default_rng(seed).integers(0, 2, (rows, width), dtype=np.uint8)
