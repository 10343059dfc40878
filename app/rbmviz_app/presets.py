"""Presets: what a button of the menu sets, the sentence beside it, and the numbers behind the sentence.

A preset sets every control of its page: what it does not name has its default. Its claims are data: a test
makes the runs without a browser, at full speed, and compares the numbers that the panels would show.

A claim is written like those of lessons (``rbmviz.lessons.claims``): ``panel2.isl > panel1.isl + 50 at 1800
samples``. ``panel1.likelihood@3000`` is the number after other steps; ``, not of panel4`` at the
end names the negative control: in place of the claim's panel it makes a claim that does not hold. On the Tune
page a panel beyond the first is a setting of the sweep, and its numbers are measures, means over seeds.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

KEY = "preset"
"""Name of the preset in the address."""


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
    claims : tuple of str
        What the caption says, in numbers, within some thirty seconds at the speed of the preset.
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
    claims: tuple[str, ...] = ()
    invites: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()

    @property
    def slug(self) -> str:
        """Its name in the address: ``gibbs-sticks``."""
        return re.sub(r"[^a-z0-9]+", "-", self.label.lower()).strip("-")
