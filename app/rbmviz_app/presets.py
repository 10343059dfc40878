"""Presets: what a button of the menu sets, the sentence beside it, and the numbers behind the sentence.

A preset sets every control of its page: what it does not name has its default. Its claims are data: a test
makes the runs without a browser, at full speed, and compares the numbers that the panels would show.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

KEY = "preset"
"""Name of the preset in the address."""

PLAYED_SECONDS = 30
"""Claims are about what a visitor sees after this many seconds at the speed of the preset."""


class Claim(NamedTuple):
    """After ``n`` steps a number of one panel is above, or below, another number.

    Parameters
    ----------
    panel : int
        Place of the panel, from 0. On the Tune page it is a setting of the sweep, whose seeds are averaged.
    metric : str
        Name of a readout of the page, of a measure of sweeps, or of a number in ``tests/app/preset_runs.py``.
    operator : ">" or "<"
    number : float
        What it is compared with; if ``of`` is given, it is added to the number of that panel.
    of : int, optional
        Place of the panel that it is compared with. It may be the same one at another step.
    n : int, optional
        Steps (samples, updates, batches, pairs); default ``PLAYED_SECONDS`` at the speed of the preset.
    n_of : int, optional
        Steps of the panel ``of``; default ``n``.
    not_of : int, optional
        Place of a panel for which the claim does not hold: the negative control.
    """

    panel: int
    metric: str
    operator: Literal[">", "<"]
    number: float
    of: int | None = None
    n: int | None = None
    n_of: int | None = None
    not_of: int | None = None


@dataclass(frozen=True)
class Preset:
    """A preset.

    Parameters
    ----------
    label : str
        What its button says.
    caption : str
        What to look for; it stands above the panels while the screen shows the preset.
    panels : tuple of str
        The panels, as in a link.
    settings : mapping of str to value
        Values of settings by their names in the address; those that it does not name have their defaults.
    claims : tuple of Claim
        What the caption says, in numbers.
    invites : tuple of str
        Names of knobs that the caption invites to turn: it stays when they are turned.
    variants : tuple of str
        Panels after such a turn, or settings of a sweep; claims may be about them, too: they are counted on
        from ``panels``.
    """

    label: str
    caption: str
    panels: tuple[str, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    claims: tuple[Claim, ...] = ()
    invites: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()

    @property
    def slug(self) -> str:
        """Its name in the address: ``gibbs-sticks``."""
        return re.sub(r"[^a-z0-9]+", "-", self.label.lower()).strip("-")
