"""The plan of a sweep (axes over knobs, models, seeds and a budget), with its checks, order and JSON form.

A plan only names models and data; ``rbmviz.sweeps.cell.cells`` loads them.
"""

import dataclasses
import itertools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple, Self, get_args

import numpy as np

from rbmviz.errors import BadInput, quoted, unknown
from rbmviz.files.arrays import Damaged, read_json
from rbmviz.knobs import Knob, knobs_of, write_algorithm
from rbmviz.metrics import Kernel
from rbmviz.metrics.effort import Unit
from rbmviz.registry import Table, samplers, trainers
from rbmviz.support.checks import MAX_EXACT_INTEGER, whole
from rbmviz.sweeps.axis import Axis, knob_named, refuse_twice
from rbmviz.sweeps.measures import CHOOSING, DEFAULT_MEASURES, list_measures

Kind = Literal["sampler", "trainer"]
"""Kind of sweep: over samplers on trained models, or over trainers on data."""

MAX_SWEEP_CELLS = 100_000
"""Maximum number of cells of a plan."""

MAX_NAME = 4096
"""Maximum number of characters in the name of a model or data set, which may be a path."""

_MAX_SEED = 2**53

TABLES: dict[str, Table] = {"sampler": samplers, "trainer": trainers}

COUNTED: dict[Kind, Unit] = {"sampler": "samples", "trainer": "updates"}
"""Unit in which the algorithms of a kind count their steps."""

LENGTH: dict[Kind, int] = {"sampler": 20_000, "trainer": 1000}
"""Default length of a cell, in any unit but seconds."""

REPLICATIONS = 5
"""Default number of seeds."""


@dataclass(frozen=True)
class Budget:
    """The length of each cell, in a unit of effort.

    Parameters
    ----------
    unit : "samples", "updates", "sweeps" or "seconds"
        Samples, Gibbs sweeps or seconds for samplers; updates, Gibbs sweeps or seconds for trainers. Samples
        and Gibbs sweeps are counted over all chains; seconds are processor time in the algorithm, without
        scores.
    amount : int, or float for seconds
        In Gibbs sweeps, the cell ends with the last complete sample, and has at least one. In seconds, the
        number of samples depends on the machine, and is in the table.

    Raises
    ------
    BadInput
        If the unit is unknown, or the amount is not a number above 0.
    """

    unit: Unit
    amount: float

    @classmethod
    def usual(cls, kind: Kind, unit: Unit | None = None, amount: float | None = None) -> Self:
        """Return a budget with defaults for what is not given."""
        return cls(unit or COUNTED[kind], LENGTH[kind] if amount is None else amount)

    @property
    def steps(self) -> int:
        """Number of samples or updates; as many as are exact if they are not counted."""
        return int(self.amount) if self.unit in COUNTED.values() else MAX_EXACT_INTEGER

    def used(self, steps: int, sweeps: int, seconds: float) -> float:
        """Return the share that is used after so many samples or updates, Gibbs sweeps, and seconds."""
        return min({"sweeps": sweeps, "seconds": seconds}.get(self.unit, steps) / self.amount, 1.0)

    def chunk(self, seconds: float, each: float) -> int:
        """Return how many samples or updates of ``each`` seconds are allowed at once after ``seconds``."""
        return int((self.amount - seconds) / each) + 1 if self.unit == "seconds" else MAX_EXACT_INTEGER

    def within(self, sweeps: np.ndarray) -> int:
        """Return how many of these rising numbers of Gibbs sweeps the budget has room for."""
        return int(np.searchsorted(sweeps, self.amount, side="right"))

    def __post_init__(self) -> None:
        if self.unit not in get_args(Unit):
            raise unknown("unit of a budget", str(self.unit), get_args(Unit))
        if self.unit == "seconds":
            number = isinstance(self.amount, int | float) and not isinstance(self.amount, bool)
            if not number or not 0 < self.amount <= 1e7:
                raise BadInput(
                    f"The budget {quoted(self.amount)} is not a number of seconds from 0 to 10,000,000."
                )
            object.__setattr__(self, "amount", float(self.amount))
        else:
            object.__setattr__(self, "amount", whole(f"The budget in {self.unit}", self.amount, 1, 10**12))


class GridSetting(NamedTuple):
    """One setting of the grid: an algorithm with all its knobs, on one model.

    algorithm : text with every knob, ``rates_fpcd:eps=0.03,alpha=1.0,...``
    model : name of the model; "" for trainers
    number : index of the algorithm in the plan, from 0
    at : index of the value on each axis, from 0; -1 if the algorithm does not have the knob
    """

    algorithm: str
    model: str
    number: int
    at: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class SweepPlan:
    """A grid of algorithms, axes, models and seeds, with the measures and the budget.

    Parameters
    ----------
    algorithms : sequence of str, Sampler or Trainer
        Algorithms of one kind, as texts ``name`` or ``name:knob=value,...``. They are stored with *all*
        knobs, so that a plan keeps its meaning if a default changes.
    axes : sequence of Axis
        Axes over different knobs of the algorithms. An algorithm without the knob of an axis is run only
        once along that axis.
    models : sequence of str
        For samplers, names of pretrained models, or files; for trainers, empty.
    data : str
        Data for scoring or for training (default "": the data that each model names).
    seeds : sequence of int
        Seeds of the replications (default 0 to 4); seed s means the same as in ``rbmviz sample --seed s``.
    budget : Budget
        Length of each cell (default 20,000 samples; for trainers, 1,000 updates).
    metrics : sequence of str
        Names of ``measures`` (default ``DEFAULT_MEASURES``).
    kernel : "binary" or "mean"
        Kernel of the ISL.
    start : "data" or "random"
        For samplers, whether chains start at validation examples, drawn from the seed and the same for all
        settings, or at random bits.
    n_hidden : int
        For trainers, number of hidden units (default 16).
    kind : "sampler" or "trainer"
        Kind of the algorithms (default "sampler").
    race : bool
        Seeds after the second only where they may decide, and measures only at the end (default False).

    Raises
    ------
    BadInput
        If a name is unknown, a value is out of range, an entry occurs twice, or there are more than
        ``MAX_SWEEP_CELLS`` cells.

    Examples
    --------
    >>> from rbmviz.sweeps import Axis, SweepPlan
    >>> eps = Axis("eps", (0.01, 0.1))
    >>> plan = SweepPlan(algorithms=["rates_fpcd"], axes=[eps], models=["bas_pcd"], seeds=[0, 1])
    >>> plan.size
    4
    """

    algorithms: tuple[str, ...]
    axes: tuple[Axis, ...] = ()
    models: tuple[str, ...] = ()
    data: str = ""
    seeds: tuple[int, ...] = tuple(range(REPLICATIONS))
    budget: Budget = None  # type: ignore[assignment]
    metrics: tuple[str, ...] = ()
    kernel: Kernel = "binary"
    start: Literal["data", "random"] = "data"
    n_hidden: int = 16
    kind: Kind = "sampler"
    race: bool = False

    def __post_init__(self) -> None:
        def keep(name: str, value: Any) -> None:
            object.__setattr__(self, name, value)

        for name, names in (("kind", TABLES), ("kernel", get_args(Kernel)), ("start", ("data", "random"))):
            if getattr(self, name) not in tuple(names):
                raise unknown(f"{name} of a sweep", str(getattr(self, name)), names)
        for name in ("algorithms", "axes", "models", "seeds", "metrics"):
            value = getattr(self, name)
            if isinstance(value, str) or not isinstance(value, Sequence):
                raise BadInput(f"The sweep's {name} are {quoted(value)}: give a list.")
            keep(name, tuple(value))
        self._check_names()
        keep("n_hidden", whole("The hidden units", self.n_hidden, 1, 10**6))
        keep("seeds", tuple(whole("A seed of the sweep", seed, 0, _MAX_SEED) for seed in self.seeds))
        keep("algorithms", tuple(self._named(algorithm) for algorithm in self.algorithms))
        keep("budget", self.budget or Budget.usual(self.kind))
        keep("metrics", self.metrics or DEFAULT_MEASURES[self.kind])
        keep("axes", tuple(self._checked(axis) for axis in self.axes))
        self._check_budget()
        self._check_twice()
        if not isinstance(self.race, bool):
            raise BadInput(f"The race of a sweep is {quoted(self.race)}: give true or false.")
        if self.race and self.first_measure not in CHOOSING:
            raise BadInput(f"A race chooses by {' or '.join(CHOOSING)}: measure it, too.")
        if self.size > MAX_SWEEP_CELLS:
            raise BadInput(
                f"The sweep has {self.size:,} cells, of which {MAX_SWEEP_CELLS:,} are allowed: give fewer "
                "values or seeds, or divide it."
            )

    @cached_property
    def _algorithms(self) -> list[Any]:
        """The algorithms themselves."""
        return [TABLES[self.kind].read(text) for text in self.algorithms]

    def _named(self, algorithm: Any) -> str:
        """Return an algorithm as text with every knob."""
        if not isinstance(algorithm, str):
            if not dataclasses.is_dataclass(algorithm) or not hasattr(algorithm, "name"):
                raise BadInput(
                    f"{quoted(algorithm)} is not a {self.kind}: give its name, perhaps with knobs."
                )
            algorithm = write_algorithm(algorithm)
        return write_algorithm(TABLES[self.kind].read(algorithm))

    def _check_names(self) -> None:
        for name in (*self.models, self.data):
            if not isinstance(name, str) or len(name) > MAX_NAME:
                raise BadInput(f"{quoted(name)} is not the name of a model or of data.")
        for what, there in (
            (self.kind, self.algorithms),
            ("model", self.models or self.kind == "trainer"),
            ("seed", self.seeds),
        ):
            if not there:
                raise BadInput(f"The sweep has no {what}: give at least one.")
        if self.kind == "trainer" and self.models:
            raise BadInput("A sweep over trainers takes no models: it trains its own, on the data.")
        if self.kind == "trainer" and not self.data:
            raise BadInput("A sweep over trainers needs the data to train on: name them.")
        for name in self.metrics:
            if name not in (names := list_measures(self.kind)):
                raise unknown(f"metric of {self.kind}s", str(name), names)

    def _checked(self, axis: Any) -> Axis:
        if not isinstance(axis, Axis):
            raise BadInput(f"{quoted(axis)} is not an axis: give an Axis, a knob with its values.")
        knob = self.knob(axis.knob).name  # refuses a knob that no algorithm has
        for algorithm in self._algorithms:
            if declared := knobs_of(algorithm).get(knob):
                values = tuple(declared.check(value, algorithm.name) for value in axis.values)
        return Axis(knob, values)

    def _check_budget(self) -> None:
        if not isinstance(self.budget, Budget):
            raise BadInput(f"{quoted(self.budget)} is not a budget: give a Budget, a unit with an amount.")
        units = (COUNTED[self.kind], "sweeps", "seconds")
        if self.budget.unit not in units:
            raise BadInput(
                f"A sweep over {self.kind}s has no budget in {self.budget.unit}: give {' or '.join(units)}."
            )
        if self.budget.unit == "updates" and any(axis.knob == "iterations" for axis in self.axes):
            raise BadInput(
                "The axis 'iterations' is the number of updates, which the budget gives: leave it out."
            )

    def _check_twice(self) -> None:
        knobs = [axis.knob for axis in self.axes]
        first = {axis.knob: axis.values[0] for axis in self.axes}
        along = [write_algorithm(self._with(algorithm, first)) for algorithm in self._algorithms]
        refuse_twice("axis", knobs)
        refuse_twice("model", self.models)
        refuse_twice(self.kind, self.algorithms)
        refuse_twice(f"{self.kind} with values of the axes", along)
        refuse_twice("seed", self.seeds)
        refuse_twice("metric", self.metrics)

    def _with(self, algorithm: Any, values: Mapping[str, Any]) -> Any:
        """Return an algorithm with these values of axes, ready to run."""
        if self.budget.unit == "updates":  # a decreasing schedule ends with the training
            values = {**values, "iterations": self.budget.amount}
        knobs = knobs_of(algorithm)
        return dataclasses.replace(algorithm, **{name: x for name, x in values.items() if name in knobs})

    def _lengths(self, algorithm: Any) -> tuple[int, ...]:
        knobs = knobs_of(algorithm)
        return tuple(len(axis.values) if axis.knob in knobs else 1 for axis in self.axes)

    @property
    def size(self) -> int:
        """Number of cells."""
        places = sum(math.prod(self._lengths(algorithm)) for algorithm in self._algorithms)
        return places * max(len(self.models), 1) * len(self.seeds)

    @property
    def first_measure(self) -> str:
        """The measure by which settings are chosen, unless another is named."""
        return next((name for name in CHOOSING if name in self.metrics), self.metrics[0])

    def knob(self, name: str) -> Knob:
        """Return the knob of an axis as declared by the first algorithm that has it."""
        return knob_named(name, self._algorithms)

    def differing_knobs(self) -> list[str]:
        """Return the knobs, apart from axes, in which algorithms of the same name differ (rates_fpcd:k=5)."""
        pairs = itertools.combinations(self._algorithms, 2)
        names = [(name, a, b) for a, b in pairs if a.name == b.name for name in knobs_of(a)]
        return list(dict.fromkeys(name for name, a, b in names if getattr(a, name) != getattr(b, name)))

    def settings(self) -> list[GridSetting]:
        """Return the settings of the grid in the order of execution, from coarse to fine.

        Each level of the grid is finished before the next finer level begins: indices 0, 8, 4, 12, ... of an
        axis come first, then the indices between. A sixteenth of a two-axis grid already shows its shape.
        """
        keyed = []
        for number, algorithm in enumerate(self._algorithms):
            knobs, lengths = knobs_of(algorithm), self._lengths(algorithm)
            for at in itertools.product(*(range(n) for n in lengths)):
                values = {axis.knob: axis.values[i] for axis, i in zip(self.axes, at, strict=True)}
                places = tuple(i if axis.knob in knobs else -1 for axis, i in zip(self.axes, at, strict=True))
                run = write_algorithm(self._with(algorithm, values))
                keyed += [
                    (_fineness(at, lengths), number, m, GridSetting(run, model, number, places))
                    for m, model in enumerate(self.models or ("",))
                ]
        return [setting for *_, setting in sorted(keyed, key=lambda entry: entry[:3])]

    def order(self) -> Iterator[tuple[int, GridSetting]]:
        """Yield seed and setting of each cell in the order of execution, with seeds outermost."""
        return itertools.product(self.seeds, self.settings())

    def to_json(self) -> str:
        """Return the plan as JSON for ``from_json``."""
        content = dataclasses.asdict(self)
        return json.dumps({"rbmviz_sweep": 1, **content}, indent=1)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Return the plan in a JSON text.

        Raises
        ------
        BadInput
            If the text is longer than 1 MB, not JSON, or not the plan of a sweep.
        """
        try:
            content = read_json(text)
        except Damaged as error:
            raise BadInput(
                f"This is not a plan of a sweep ({error}): write one with SweepPlan.to_json."
            ) from None
        if not isinstance(content, Mapping) or content.get("rbmviz_sweep") != 1:
            raise BadInput(
                "This is not a plan of a sweep, or of a newer rbmviz: it must say rbmviz_sweep: 1."
            )
        parts = {name: value for name, value in content.items() if name != "rbmviz_sweep"}
        fields = {field.name for field in dataclasses.fields(cls)}
        for name in parts.keys() - fields:
            raise unknown("part of a plan", name, fields)
        try:
            axes = [Axis(**axis) for axis in parts.pop("axes", ())]
            budget = Budget(**parts.pop("budget")) if parts.get("budget") is not None else None
            return cls(axes=axes, budget=budget, **parts)  # type: ignore[arg-type]
        except (TypeError, AttributeError):
            raise BadInput(
                "This is not a plan of a sweep: a part of it is missing or of another type."
            ) from None


def _fineness(at: Sequence[int], lengths: Sequence[int]) -> tuple[int, ...]:
    """Return the sort key of indices on the axes: the finest level on any axis, then bit-reversed indices.

    Index 0 of an axis is on level 0. On an axis with b-bit indices, an index that ends with z zero bits is on
    level b - z: of 8 indices, 4 is on level 1, 2 and 6 are on level 2, and odd indices are on level 3.
    """
    levels, reversed_places = [0], []
    for i, n in zip(at, lengths, strict=True):
        bits = max(n - 1, 0).bit_length()
        levels.append(bits - ((i & -i).bit_length() - 1) if i else 0)
        reversed_places.append(int(f"{i:0{bits}b}"[::-1], 2) if bits else 0)
    return max(levels), *reversed_places
