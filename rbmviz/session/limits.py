"""Limits of the panels and the memory of a page, a visitor and the server, checked before a run is built."""

import os
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from rbmviz.errors import BadInput
from rbmviz.session.recorder import HELD_SAMPLES_BYTES
from rbmviz.session.slots import Group

if TYPE_CHECKING:
    from rbmviz.session.comparison import Comparison

BASE_MB = 500
"""Megabytes of a warmed-up server without visitors, which all visitors share."""

Wanted = tuple[Any, Any]
"""Plan and algorithm of a panel."""


@dataclass(frozen=True)
class Limits:
    """The limits of a server; each is set by an environment variable, ``RBMVIZ_`` and its name in capitals.

    Parameters
    ----------
    panels : int
        Panels on one page.
    runs : int
        Panels of one visitor that may run at the same moment, on all pages.
    session_mb : int
        Megabytes (10^6 bytes) of all runs, uploads and sent models of one visitor.
    server_mb : int
        Megabytes of the whole server, ``BASE_MB`` of which are what visitors share; the scores of the sweeps
        that have been looked at, or run, are part of it.
    release_seconds : int
        Seconds after a lost connection until the memory of the visitor's runs is given back.
    sweeps : int
        Sweeps that the server keeps, those that wait, run and have ended.
    visitor_sweeps : int
        Sweeps of one visitor that wait, run or rest.
    sweep_cells : int
        Cells of one sweep.
    watchers : int
        Browsers that watch one shared view.
    server_watchers : int
        Browsers that watch any shared view.
    copied_runs : int
        Panels of all visitors that may run when a watcher takes a copy of a shared view, its panels included.
    """

    panels: int = 12
    runs: int = 16
    session_mb: int = 500
    server_mb: int = 2000
    release_seconds: int = 10
    sweeps: int = 20
    visitor_sweeps: int = 5
    sweep_cells: int = 2000
    watchers: int = 120
    server_watchers: int = 300
    copied_runs: int = 48


def variable_of(name: str) -> str:
    """Return the name of the environment variable that sets a limit."""
    return f"RBMVIZ_{name.upper()}"


def limits() -> Limits:
    """Return the limits as the environment sets them.

    Raises
    ------
    BadInput
        If a variable is not a positive whole number of at most nine digits.
    """
    found = {}
    for field in fields(Limits):
        text = os.environ.get(variable_of(field.name))
        if not text:
            continue
        if not (text.isascii() and text.isdecimal()) or len(text) > 9 or int(text) < 1:
            raise BadInput(f"{variable_of(field.name)} = {text[:40]!r}: give a whole number from 1 up.")
        found[field.name] = int(text)
    return Limits(**found)


class VisitorUsage:
    """The memory and the turns that one visitor uses: of the runs on all pages, of uploads, of models.

    Parameters
    ----------
    server : WeakSet of VisitorUsage
        All visitors of the process; this one is added.
    """

    def __init__(self, server: "weakref.WeakSet[VisitorUsage]") -> None:
        self._comparisons: dict[str, tuple[str, Comparison[Any]]] = {}
        self._kept: dict[str, int] = {}
        self._here = ""
        self._server = server
        self.group = Group()  # its runs share the turns at the cores of this group
        server.add(self)

    def visit(self, page: str, name: str, comparison: "Comparison[Any]") -> None:
        """Note that ``page`` is open now, which shows the comparison ``name`` (possibly among others).

        One page is open at a time. If more panels run than the limit allows, those of the other pages sleep
        at once instead of after half a minute; they go on when their page is opened again.
        """
        self._here = page
        self._comparisons[name] = page, comparison
        left = self._left_behind()
        if sum(comparison.awake for comparison in left) + self._panels_here() > limits().runs:
            for other in left:
                other.sleep()

    def leave(self, name: str) -> None:
        """Forget a comparison."""
        self._comparisons.pop(name, None)

    def bytes(self, but: "Comparison[Any] | None" = None) -> int:
        """Return an upper bound of the bytes in use, without those of the comparison ``but``."""
        comparisons = (
            comparison for _, comparison in list(self._comparisons.values()) if comparison is not but
        )
        runs = sum(comparison.bytes() for comparison in comparisons)
        return sum(self._kept.values()) + runs + (HELD_SAMPLES_BYTES if runs or but is not None else 0)

    def keep(self, name: str, needed: int) -> None:
        """Count the bytes of something that is kept besides runs, an upload or a model; 0 removes it.

        Raises
        ------
        BadInput
            If there is no room for it.
        """
        before = self._kept.pop(name, 0)
        try:
            self._check(self.bytes(), needed)
        except BadInput:
            self._kept |= {name: before} if before else {}
            raise
        if needed:
            self._kept[name] = needed

    def awake(self) -> int:
        """Return how many panels may make steps now, those that are paused among them."""
        return sum(comparison.awake for _, comparison in list(self._comparisons.values()))

    def has_room(self) -> bool:
        """Return whether all that is in use now is within the limits."""
        return self.bytes() <= limits().session_mb * 10**6 and self.room() >= 0

    def room(self) -> int:
        """Return the bytes that the server has left, for all visitors; below 0 if they use more."""
        return _server_bytes() - self._elsewhere() - self.bytes()

    def allow(self, comparison: "Comparison[Any]", wanted: Sequence[Wanted]) -> None:
        """Check that a comparison may have these panels instead of those it has.

        If memory is short, the runs of the other pages are freed first; they are rebuilt when their page is
        opened again.

        Raises
        ------
        BadInput
            If a limit would be exceeded; nothing has changed but that runs of other pages have been freed,
            and that offers to undo may have been withdrawn.
        """
        most = limits()
        if len(wanted) > max(most.panels, len(comparison.panels)):
            raise BadInput(
                f"A page has room for {most.panels} panels: close one first, or start the server with a "
                f"larger {variable_of('panels')}."
            )
        others = self._panels_here() - len(comparison.panels)
        if len(wanted) > max(most.runs - others, len(comparison.panels)):
            raise BadInput(
                f"A visitor may run {most.runs} panels at a time: close one first, or start the server with "
                f"a larger {variable_of('runs')}."
            )
        self._check(
            self.bytes(but=comparison), sum(plan.bytes(algorithm) for plan, algorithm in wanted), comparison
        )

    def _left_behind(self) -> "list[Comparison[Any]]":
        return [comparison for page, comparison in self._comparisons.values() if page != self._here]

    def _panels_here(self) -> int:
        return sum(
            len(comparison.panels) for page, comparison in self._comparisons.values() if page == self._here
        )

    def _check(self, others: int, needed: int, comparison: "Comparison[Any] | None" = None) -> None:
        most, room = limits(), _server_bytes()
        if others + needed > most.session_mb * 10**6 or self._elsewhere() + others + needed > room:
            for session in list(self._server):
                for _, other in list(session._comparisons.values()):
                    other.free_undo()
            others = self.bytes(but=comparison) if comparison is not None else self.bytes()
        if others + needed > most.session_mb * 10**6:
            for other in self._left_behind():
                if other is not comparison:
                    other.close()
                    other.rest()
            others = self.bytes(but=comparison)
        if others + needed > most.session_mb * 10**6:
            raise BadInput(
                f"This would take {_mb(others + needed)} MB of memory and a visitor has {most.session_mb:,} "
                f"MB: close a panel, take fewer chains or a smaller model, or start the server with a larger "
                f"{variable_of('session_mb')}."
            )
        if self._elsewhere() + others + needed > room:
            # Free the runs of visitors without a connection early; a reconnect rebuilds them.
            for session in list(self._server):
                for other, closed_at in session._closed():
                    other.rest(closed_at)
        total = self._elsewhere() + others + needed
        if total > room:
            raise BadInput(
                f"The server is full: all visitors together may take {_mb(room)} MB of memory, this would "
                f"make it {_mb(total)} MB. Close tabs that you no longer need and try again in a minute, or "
                f"start the server with a larger {variable_of('server_mb')}."
            )

    def _elsewhere(self) -> int:
        return sum(session.bytes() for session in list(self._server) if session is not self)

    def _closed(self) -> "list[tuple[Comparison[Any], float]]":
        return [
            (comparison, closed_at)
            for _, comparison in list(self._comparisons.values())
            if (closed_at := comparison.closed_at) is not None
        ]


def _server_bytes() -> int:
    """Return the bytes of all visitors together."""
    return max(limits().server_mb - BASE_MB, 0) * 10**6


def _mb(n: int) -> str:
    return f"{n / 1e6:,.0f}"
