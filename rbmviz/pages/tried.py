"""Settings tried on the Sample page, with the score that each had: as records, and as text in links."""

import math
import re
from typing import NamedTuple, Self, get_args

from rbmviz.errors import BadInput, shown
from rbmviz.metrics import Kernel
from rbmviz.registry import samplers
from rbmviz.session import Start

MAX_TRIED, MAX_LENGTH = 20, 500
"""Maximum number of settings in a link, and of characters of each."""

LINKED_NAME = re.compile(r"[^;]{1,100}")


class Tried(NamedTuple):
    """A setting with its score, which counts samples since the last turn of a knob.

    Parameters
    ----------
    algorithm : str
        The sampler with all its knobs.
    model, data : str
        Their names.
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
        """All but the score."""
        return self[:6]

    @property
    def fits_link(self) -> bool:
        """Whether a link can hold the names of its model and data."""
        return all(LINKED_NAME.fullmatch(name) and name.isprintable() for name in (self.model, self.data))

    def write(self) -> str:
        """Return the text in a link, which ``read`` reads."""
        return ";".join((*map(str, self[:7]), f"{self.isl:.6g}", f"{self.std_error:.3g}"))

    @classmethod
    def read(cls, text: str) -> Self:
        """Return the record of a text; BadInput if it is none."""
        try:
            *names, seed, n, isl, error = text[:MAX_LENGTH].split(";")
            algorithm, model, data, start, kernel = names
            scored = int(n), float(isl), float(error)
            one = cls(algorithm, model, data, start, kernel, int(seed), *scored)
            samplers.read(one.algorithm)
            known = one.start in get_args(Start) and one.kernel in get_args(Kernel)
            if known and one.fits_link and one.seed >= 0 < one.n and math.isfinite(one.isl):
                return one
        except (BadInput, ValueError):
            pass
        raise BadInput(f"{shown(text)} is not a setting with its score.")
