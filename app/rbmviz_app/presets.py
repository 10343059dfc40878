"""Presets: the panels and settings behind a menu button, its caption, and the numbers behind the caption.

A preset sets every control of its page: controls it does not name get their defaults. Its claims are data: a
test performs the runs without a browser, at full speed, and compares the numbers that the panels would show.

A claim is written as in lessons (``rbmviz.lessons.claims``): ``panel2.isl > panel1.isl + 50 at 1800
samples``. ``panel1.likelihood@3000`` is the number after a different number of steps; ``, not of panel4`` at
the end names the negative control: with this panel in place of the claim's, the claim must not hold. On the
Tune page, panels after the first are settings of the sweep, and their numbers are measures, averaged over
seeds.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

KEY = "preset"


@dataclass(frozen=True)
class Preset:
    """A preset.

    label : text of its button
    caption : what to look for; above the panels while the screen shows the preset (``LivePage.caption``)
    panels : the panels, as in a link
    settings : values of settings by their names in the address; other settings have their defaults
    claims : the caption's statements as numbers, reached within about thirty seconds at the speed of the
        preset
    invites : names of knobs whose values do not matter for the caption (default: any turn removes it)
    variants : panels after such a turn, or settings of a sweep; claims may refer to them: their numbers
        continue after ``panels``
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


def picture_file(page: str, preset: Preset) -> Path:
    """Return the file of a preset's picture: its panels after a while. Some presets have none."""
    return Path(__file__).parent / "pages" / page / "pictures" / f"{preset.slug}.webp"
