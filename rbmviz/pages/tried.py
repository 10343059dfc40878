"""Settings tried on the Sample page, with their scores: as records, in links, and on the grid of a sweep."""

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Self, get_args

import numpy as np

from rbmviz.errors import BadInput, quoted
from rbmviz.knobs import knobs_of, write_algorithm
from rbmviz.links import read_number
from rbmviz.metrics import Kernel
from rbmviz.pages.settings import Whole, read_value
from rbmviz.registry import samplers
from rbmviz.session import Start
from rbmviz.sweeps import SweepPlan
from rbmviz.sweeps.plan import GridSetting

MAX_TRIED, MAX_LENGTH = 20, 500
"""Maximum number of settings in a link, and of characters of each."""

LINKED_NAME = re.compile(r"[^;]{1,100}")
LARGEST = 2**31 - 1
"""Largest seed, and number of samples, in a link."""


class Tried(NamedTuple):
    """A setting with its score, which counts samples since the last turn of a knob.

    Parameters
    ----------
    algorithm : str
        The sampler with all its knobs.
    model, data : str
        Names of the model and the data.
    start, kernel, seed
        See ``SamplingSetup``.
    n : int
        Number of samples.
    isl, std_error : float
        ISL on the test part, and its standard error over the test examples (NaN: unknown).
    """

    algorithm: str
    model: str
    data: str
    start: str
    kernel: str
    seed: int
    n: int
    isl: float
    std_error: float

    @property
    def setting(self) -> tuple[object, ...]:
        """All fields but the score."""
        return self[:6]

    @property
    def fits_link(self) -> bool:
        """Whether a link can hold the names of the model and the data."""
        return all(LINKED_NAME.fullmatch(name) and name.isprintable() for name in (self.model, self.data))

    def write(self) -> str:
        """Return the text for a link, which ``read`` parses."""
        return ";".join((*map(str, self[:7]), f"{self.isl:.6g}", f"{self.std_error:.3g}"))

    @classmethod
    def read(cls, text: str) -> Self:
        """Return the record in a text; BadInput if there is none."""
        try:
            *names, seed, n, isl, error = text.split(";")
            algorithm, model, data, start, kernel = names
            samplers.read(algorithm)
            record = cls(
                *(algorithm, model, data, start, kernel),
                seed=read_value("seed", seed, Whole(0, LARGEST)),
                n=read_value("n", n, Whole(1, LARGEST)),
                isl=read_number(isl, "isl"),
                std_error=math.nan if error == "nan" else read_number(error, "std_error"),
            )
            chosen = start in get_args(Start) and kernel in get_args(Kernel)
            if len(text) <= MAX_LENGTH and chosen and record.fits_link and not record.std_error < 0:
                return record
        except (BadInput, ValueError):
            pass
        raise BadInput(f"{quoted(text)} is not a setting with its score.")


def place_of(
    tried: Tried, plan: SweepPlan, settings: Sequence[GridSetting]
) -> tuple[int, float, float] | None:
    """Return the index of the sweep setting nearest to a tried one, and the tried one's places on two axes.

    A place is the index of a value of the axis, or lies between two; it is 0 on an axis that the sampler
    lacks. Returns None for another model, another sampler, or a setting beyond the grid.
    """
    if plan.kind != "sampler" or (tried.start, tried.kernel) != (plan.start, plan.kernel):
        return None
    algorithm = samplers.read(tried.algorithm)
    axes = {axis.knob: axis.values for axis in plan.axes if axis.knob in knobs_of(algorithm)}
    places = {knob: _index_among(getattr(algorithm, knob), values) for knob, values in axes.items()}
    further = [places.get(axis.knob, 0.0) for axis in plan.axes[2:]]
    if any(map(math.isnan, places.values())) or not all(map(float.is_integer, further)):
        return None
    nearest = replace(algorithm, **{knob: values[round(places[knob])] for knob, values in axes.items()})
    text = write_algorithm(nearest)
    x, y = ([places.get(axis.knob, 0.0) for axis in plan.axes] + [0.0, 0.0])[:2]
    named = [(setting.algorithm, setting.model) for setting in settings]
    return (named.index((text, tried.model)), x, y) if (text, tried.model) in named else None


def _index_among(value: Any, values: Sequence[Any]) -> float:
    """Return the index of a value among increasing ones, interpolated between two; NaN outside."""
    if value in values:
        return float(values.index(value))
    if any(isinstance(each, str | bool) for each in values) or not values[0] < value < values[-1]:
        return math.nan
    scale = np.log if values[0] > 0 else np.asarray
    return float(np.interp(scale(value), scale(values), range(len(values))))
