"""Readouts: numbers under the pictures of a panel, declared once in Python and drawn by ``readouts.js``."""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rbmviz.metrics.live import Format, LiveNumber, Value
from rbmviz_app.formulas import mathml, prose


@dataclass(frozen=True)
class Readout:
    """A number that a panel shows while its run goes on.

    Its label is a button: it opens what the number says in words, then its formula, then where it is from.

    Parameters
    ----------
    name : str
        Its key in the frames.
    label : str
        What the page calls it.
    help : str
        What it says, in plain words; LaTeX between dollars for a letter or two.
    value : callable
        Its value in a snapshot. NaN and infinity are shown as not known.
    format : str
        How numbers are written: one of ``rbmviz.metrics.live.Format``, see ``FORMATS`` in ``readouts.js``.
        "share" takes 0 to 1, other formats the number as it is shown; "of", "pair" and "with_error" take two.
    unit : str
        What is written behind a number; empty if the help names the unit.
    formula : str
        Its definition in LaTeX, without dollars; empty for what is only counted.
    source : str
        Paper and section, or how it is computed here.
    lead : bool
        Whether it is one of a panel's two large numbers, which answer the page's question; the others are
        folded.
    slow : bool
        Whether it is sent only with the slow parts of a frame, for values that take long to compute: the
        page's ``encode`` then has to say that such a part is due (``client.after`` with ``slow=True``).
    """

    name: str
    label: str
    help: str
    value: Callable[[Any], Value]
    format: Format = "digits3"
    unit: str = ""
    formula: str = ""
    source: str = ""
    lead: bool = False
    slow: bool = False

    def spec(self) -> dict[str, Any]:
        """Return what the page needs to draw it, as JSON values."""
        return {
            name: getattr(self, name) for name in ("name", "label", "format", "unit", "source", "lead")
        } | {
            "help": prose(self.help),
            "formula": mathml(self.formula, "block") if self.formula else "",
        }


def rate_readout(steps: str) -> Readout:
    """Return the readout of the steps that a run makes in a second; ``steps``: what they are, "Samples"."""
    return Readout(
        "rate",
        f"{steps}/s",
        f"{steps} in a second now, as you see them come: the speed that you have set, or less where the "
        "machine cannot keep it.",
        lambda shown: shown.n,
        "rate",
        source="Counted on this page over the last three seconds.",
    )


@functools.cache
def readout_of(number: LiveNumber) -> Readout:
    """Return the readout of a number of a live metric."""
    return Readout(
        number.name,
        number.label,
        number.help,
        lambda shown: shown.live_numbers.get(number.name),
        number.format,
        number.unit,
        number.formula,
        number.source,
    )


def finite(value: Any) -> Any:
    """Return a value for JSON: None in the place of every number that is not finite, lists for tuples."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, tuple):
        return [finite(part) for part in value]
    return value


def digits3(x: float) -> str:
    """Return a number as text, as the format "digits3" writes it."""
    return f"{float(f'{x:.3g}'):.15g}"
