"""Limits of a server, set by environment variables, and of a page's panels."""

import os
from dataclasses import dataclass, fields

from rbmviz.errors import BadInput

RELEASE_SECONDS = 10
"""Seconds after a lost connection until the visitor's runs are freed."""

MAX_CELLS_ON_SERVER = 2000
"""Maximum number of cells of one sweep."""


@dataclass(frozen=True)
class Limits:
    """The limits of a server, set by environment variables: ``RBMVIZ_`` and the name in capitals.

    panels : maximum number of panels on one page
    server_mb : megabytes (10^6 bytes) of the server's process, above which panels and files are refused
    sweeps : maximum number of sweeps on the server, whether waiting, running or finished
    watchers : maximum number of browsers that watch shared views
    step_seconds : maximum estimated seconds of one step (an update, a sample) of a run on a page
    """

    panels: int = 12
    server_mb: int = 2000
    sweeps: int = 20
    watchers: int = 300
    step_seconds: int = 10

    @property
    def sweeps_of_visitor(self) -> int:
        """Maximum number of sweeps of one visitor, in any state: a quarter of ``sweeps``."""
        return max(self.sweeps // 4, 1)

    @property
    def panels_with_copies(self) -> int:
        """Maximum number of panels of all visitors together when a watcher makes a copy: four full pages."""
        return 4 * self.panels


def variable_of(name: str) -> str:
    """Return the name of the environment variable that sets a limit."""
    return f"RBMVIZ_{name.upper()}"


def limits() -> Limits:
    """Return the limits set in the environment.

    Raises BadInput if a variable is not a positive whole number of at most nine digits.
    """
    values = {}
    for field in fields(Limits):
        text = os.environ.get(variable_of(field.name))
        if not text:
            continue
        if not (text.isascii() and text.isdecimal()) or len(text) > 9 or int(text) < 1:
            raise BadInput(f"{variable_of(field.name)} = {text[:40]!r}: give a whole number from 1 up.")
        values[field.name] = int(text)
    return Limits(**values)


def check_panels(wanted: int) -> None:
    """Raise BadInput if a page has no room for this many panels."""
    most = limits().panels
    if wanted > most:
        raise BadInput(
            f"A page has room for {most} panels: close one first, or start the server with a larger "
            f"{variable_of('panels')}."
        )
