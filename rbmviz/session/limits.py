"""Limits on the panels and memory of a page, a visitor and the server, checked before a run is built."""

import os
import threading
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Protocol

from rbmviz.errors import BadInput
from rbmviz.session.recorder import HELD_SAMPLES_BYTES
from rbmviz.session.scheduler import Tenant

BASE_MB = 500
"""Megabytes that a warmed-up server uses without visitors; all visitors share them."""

RELEASE_SECONDS = 10
"""Seconds after a lost connection until the visitor's runs are freed."""

MAX_CELLS_ON_SERVER = 2000
"""Maximum number of cells of one sweep."""

_SERVER_LOCK = threading.Lock()
"""Held while visitors are added or listed: a loop over a set fails if the set grows meanwhile."""

PlannedPanel = tuple[Any, Any]
"""Plan and algorithm of a panel."""


@dataclass(frozen=True)
class Limits:
    """The limits of a server, set by environment variables: ``RBMVIZ_`` and the name in capitals.

    panels : maximum number of panels on one page
    server_mb : megabytes (10^6 bytes) of the whole server, including the shared ``BASE_MB``. A visitor may
        use half of the memory that the others leave. The scores of sweeps count as one extra visitor, and
        uploaded files as another.
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

    @property
    def bytes_of_visitors(self) -> int:
        """Bytes available to all visitors together."""
        return max(self.server_mb - BASE_MB, 0) * 10**6


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


class Counted(Protocol):
    """The panels of a page (``Race``), whose memory counts towards a visitor's."""

    @property
    def panels(self) -> Sequence[Any]:
        """The panels, in order."""

    @property
    def awake(self) -> int:
        """Number of panels that may make steps now."""

    def bytes(self) -> int:
        """Return an upper bound on the bytes of all runs and of undo data."""

    def free_undo(self) -> None:
        """Free the memory of runs kept for undo."""


class VisitorUsage:
    """One visitor's memory (runs on all pages, uploads, models) and share of computing time.

    server : all visitors of the process, to which this one is added
    """

    def __init__(self, server: "weakref.WeakSet[VisitorUsage]") -> None:
        self._comparisons: dict[str, Counted] = {}
        self._kept: dict[str, int] = {}
        self._server = server
        self.tenant = Tenant()  # its runs share this tenant's computing time
        with _SERVER_LOCK:
            server.add(self)

    def visit(self, name: str, comparison: Counted) -> None:
        """Count a comparison of the visitor under this name."""
        self._comparisons[name] = comparison

    def leave(self, name: str) -> None:
        """Stop counting a comparison."""
        self._comparisons.pop(name, None)

    def bytes(self, but: Counted | None = None) -> int:
        """Return an upper bound on the bytes in use, without the comparison ``but``."""
        runs = sum(comparison.bytes() for comparison in self._all() if comparison is not but)
        return sum(self._kept.values()) + runs + (HELD_SAMPLES_BYTES if runs or but is not None else 0)

    def keep(self, name: str, needed: int) -> None:
        """Count the bytes of an upload or a model under this name; 0 removes the entry.

        Raises BadInput if there is not enough room.
        """
        before = self._kept.pop(name, 0)
        try:
            if needed > before:
                self._check(needed)
        except BadInput:
            self._kept |= {name: before} if before else {}
            raise
        if needed:
            self._kept[name] = needed

    def awake(self) -> int:
        """Return the number of panels that may make steps now, including paused panels."""
        return sum(comparison.awake for comparison in self._all())

    def most(self) -> int:
        """Return the bytes that this visitor may use: half of the memory that the others leave."""
        return max(self._left_by_others(), 0) // 2

    def has_room(self) -> bool:
        """Return whether the visitor's current use is within its limit."""
        return self.bytes() <= self.most()

    def room(self) -> int:
        """Return the bytes that visitors have left on the server; negative if they exceed the limit."""
        return self._left_by_others() - self.bytes()

    def allow(self, comparison: Counted, wanted: Sequence[PlannedPanel]) -> None:
        """Check that a comparison may replace its panels with these.

        Raises BadInput if this would exceed a limit; nothing changes, except that offers to undo may be
        withdrawn.
        """
        most = limits()
        if len(wanted) > max(most.panels, len(comparison.panels)):
            raise BadInput(
                f"A page has room for {most.panels} panels: close one first, or start the server with a "
                f"larger {variable_of('panels')}."
            )
        self._check(sum(plan.bytes(algorithm) for plan, algorithm in wanted), comparison)

    def _check(self, needed: int, instead_of: Counted | None = None) -> None:
        """Raise BadInput if there is no room for this many more bytes, once ``instead_of`` is replaced."""
        if self.bytes(but=instead_of) + needed > self.most():
            for visitor in visitors_of(self._server):
                for comparison in visitor._all():
                    comparison.free_undo()
        wanted, most = self.bytes(but=instead_of) + needed, self.most()
        if wanted > most and wanted > self.bytes():  # reducing use is always allowed
            raise BadInput(
                f"This would take {_mb(wanted)} MB of memory and a visitor may have {_mb(most)} MB, half of "
                "what the server has free: close a panel, take fewer chains or a smaller model, close tabs "
                f"that you no longer need, or start the server with a larger {variable_of('server_mb')}."
            )

    def _all(self) -> list[Counted]:
        return list(self._comparisons.values())

    def _left_by_others(self) -> int:
        others = sum(visitor.bytes() for visitor in visitors_of(self._server) if visitor is not self)
        return limits().bytes_of_visitors - others


def visitors_of(server: "weakref.WeakSet[VisitorUsage]") -> list[VisitorUsage]:
    """Return the visitors of a server; others may arrive meanwhile."""
    with _SERVER_LOCK:
        return list(server)


def _mb(n: int) -> str:
    return f"{n / 1e6:,.0f}"
