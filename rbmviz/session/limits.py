"""What one page, one visitor and all visitors together may take, checked before anything is built."""

import os
import weakref
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from rbmviz.errors import BadInput
from rbmviz.session.recorder import KEEP_BYTES
from rbmviz.session.slots import Group

if TYPE_CHECKING:
    from rbmviz.session.comparison import Comparison

BASE_MB = 500
"""Megabytes of a server that has no visitor, warmed up: what visitors share."""

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
        Megabytes of the whole server, ``BASE_MB`` of which are what visitors share.
    release_seconds : int
        Seconds after a lost connection until the memory of the visitor's runs is given back.
    """

    panels: int = 12
    runs: int = 16
    session_mb: int = 500
    server_mb: int = 2000
    release_seconds: int = 10


def setup(name: str) -> str:
    """Return the environment variable that sets a limit."""
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
        text = os.environ.get(setup(field.name))
        if not text:
            continue
        if not (text.isascii() and text.isdecimal()) or len(text) > 9 or int(text) < 1:
            raise BadInput(f"{setup(field.name)} = {text[:40]!r}: give a whole number from 1 up.")
        found[field.name] = int(text)
    return Limits(**found)


class Session:
    """The runs of one visitor on all pages, and what else is kept for them.

    Parameters
    ----------
    server : set of Session
        All visitors of the process; a weak one, which this visitor joins.
    """

    def __init__(self, server: "weakref.WeakSet[Session]") -> None:
        self._comparisons: dict[str, tuple[str, Comparison[Any]]] = {}
        self._kept: dict[str, int] = {}
        self._here = ""
        self._server = server
        self.group = Group()  # whose turns at the cores its runs share
        server.add(self)

    def visit(self, page: str, name: str, comparison: "Comparison[Any]") -> None:
        """Note that ``page`` is looked at, which shows the comparison ``name`` (perhaps among others).

        One page is looked at at a time. Where more panels run than may, those of the pages left behind sleep
        at once, which they would do half a minute later anyway; they go on when their page is opened again.
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
        """Return the bytes that are taken at most, those of the comparison ``but`` alone left out."""
        comparisons = (
            comparison for _, comparison in list(self._comparisons.values()) if comparison is not but
        )
        runs = sum(comparison.bytes() for comparison in comparisons)
        return sum(self._kept.values()) + runs + (KEEP_BYTES if runs or but is not None else 0)

    def keep(self, name: str, needed: int) -> None:
        """Count something that is kept besides runs, an upload or a model; 0 bytes: no longer.

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

    def allow(self, comparison: "Comparison[Any]", wanted: Sequence[Wanted]) -> None:
        """Check that a comparison may have these panels instead of those it has.

        Where memory is short, the pages left behind are put to rest first: they are rebuilt when they are
        opened again.

        Raises
        ------
        BadInput
            One sentence for the page; nothing has been changed that cannot be seen.
        """
        most = limits()
        if len(wanted) > max(most.panels, len(comparison.panels)):
            raise BadInput(
                f"A page has room for {most.panels} panels: close one first, or start the server with a "
                f"larger {setup('panels')}."
            )
        others = self._panels_here() - len(comparison.panels)
        if len(wanted) > max(most.runs - others, len(comparison.panels)):
            raise BadInput(
                f"A visitor may run {most.runs} panels at a time: close one first, or start the server with "
                f"a larger {setup('runs')}."
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
        most = limits()
        if others + needed > most.session_mb * 10**6:
            _rest(other for other in self._left_behind() if other is not comparison)
            others = self.bytes(but=comparison)
        if others + needed > most.session_mb * 10**6:
            raise BadInput(
                f"This would take {_mb(others + needed)} MB of memory and a visitor has {most.session_mb:,} "
                f"MB: close a panel, take fewer chains or a smaller model, or start the server with a larger "
                f"{setup('session_mb')}."
            )
        room = max(most.server_mb - BASE_MB, 0) * 10**6
        if self._elsewhere() + others + needed > room:
            # Whoever has lost the connection gives way before its time; runs are rebuilt on a reconnect.
            _rest(other for session in list(self._server) for other in session._closed())
        total = self._elsewhere() + others + needed
        if total > room:
            raise BadInput(
                f"The server is full: all visitors together may take {_mb(room)} MB of memory, this would "
                f"make it {_mb(total)} MB. Close tabs that you no longer need and try again in a minute, or "
                f"start the server with a larger {setup('server_mb')}."
            )

    def _elsewhere(self) -> int:
        return sum(session.bytes() for session in list(self._server) if session is not self)

    def _closed(self) -> "list[Comparison[Any]]":
        return [
            comparison
            for _, comparison in list(self._comparisons.values())
            if comparison.closed_at is not None
        ]


def _rest(comparisons: "Iterable[Comparison[Any]]") -> None:
    for comparison in comparisons:
        comparison.close()
        comparison.rest()


def _mb(n: int) -> str:
    return f"{n / 1e6:,.0f}"
