"""The live parts of a page besides its panels: its charts, which travel in the frames of the panels.

A page offers each chart with a function that makes it; the page's script then has nothing more to do. The
frames' encoders ask for the newest charts, and have them made on a thread when there is something new.
"""

import json
import logging
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType
from typing import Any

from rbmviz import BadInput
from rbmviz.charts import Chart
from rbmviz.charts.plot import Content
from rbmviz.session import Race
from rbmviz.session.pools import LATENESS

log = logging.getLogger(__name__)

LEAST_SECONDS, MOST_SECONDS = 0.25, 5.0
"""Minimum seconds between two makings of the charts, and maximum while the runs go on."""

MAX_SHARE = 0.02
"""Maximum share of a core for the charts of a page: the more they cost, the less often they are made."""

MIN_GROWTH = 0.13
"""Share of new steps of a run from which its curves have a new point."""

KINDS_OF_DATA = ("point", "past", "mark")
"""Kinds of rows that are data; others are lines and names of a chart."""

Make = Callable[[], tuple[Chart | None, Sequence[str]]]
"""Returns a chart, or None, and the sentences below it; runs on a thread that has no session."""

NO_CHARTS: Mapping[str, Content] = MappingProxyType({})

_threads = ThreadPoolExecutor(1, thread_name_prefix="charts")


class Parts:
    """The charts of one race, in the order of the page."""

    def __init__(self, race: Race[Any]) -> None:
        self.race = race
        self.newest = NO_CHARTS
        """The newest content of each chart; what has not changed is the same object."""
        self._offered: dict[str, tuple[Make, str]] = {}
        self._drawn: set[str] = set()  # by the current run of the whole script
        self._changed = self._working = False
        self._made_from: tuple[Any, ...] = ((), (), ())
        self._made_at, self._pace = -1e9, LEAST_SECONDS
        self._failed: set[str] = set()  # charts whose failure has been logged

    def offer(self, key: str, make: Make, label: str) -> None:
        """Offer a chart; label : description in words."""
        self._offered = {**self._offered, key: (make, label)}
        self._drawn.add(key)
        self._changed = True

    def csv(self) -> bytes:
        """Return the rows of all charts as CSV, the description of the chart in the first column.

        Raises BadInput if there are none yet.
        """
        import pandas as pd

        tables = []
        for make, label in self._offered.values():
            chart, _ = make()
            if chart is not None and label:
                rows = chart.rows
                rows = rows[rows["kind"].isin(KINDS_OF_DATA)] if "kind" in rows else rows
                tables.append(rows.assign(chart=label)[["chart", *rows.columns]])
        if not any(map(len, tables)):
            raise BadInput("There is nothing in the charts yet.")
        return pd.concat([rows for rows in tables if len(rows)]).to_csv(index=False).encode()

    def begin_run(self) -> None:
        """Record that a run of the whole page begins."""
        self._drawn = set()

    def end_run(self) -> None:
        """Drop the charts that the run of the whole page has not offered."""
        self._offered = {key: offer for key, offer in self._offered.items() if key in self._drawn}
        self._changed = True

    def renew(self) -> Mapping[str, Content]:
        """Return the newest contents, and have them made again if that is due; call it on the event loop."""
        if self._is_due() and not self._working:
            self._working = True
            _threads.submit(self._make)
        return self.newest

    def _is_due(self) -> bool:
        """Return whether a curve has a new point, or something else than steps has changed."""
        if not self._offered and not self.newest:
            return False
        passed = time.monotonic() - self._made_at
        if passed < LEAST_SECONDS:
            return False
        (runs, steps, snapshots), (runs_before, before, snapshots_before) = self._state(), self._made_from
        if self._changed or runs != runs_before:
            return True
        if snapshots == snapshots_before or passed < self._pace * LATENESS.slowdown:
            return False
        grown = any(n - n_before >= MIN_GROWTH * n for n, n_before in zip(steps, before, strict=True))
        goes_on = steps != before and any(status == "running" for _, _, status, _ in runs)
        return grown or not goes_on or passed >= MOST_SECONDS

    def _state(self) -> tuple[Any, ...]:
        """Return the runs, their steps, and references to their snapshots, which are equal for the same."""
        newest = self.race.peek()
        runs = [(key, each.run, each.status, each.algorithm) for key, each in newest]
        return runs, [each.n for _, each in newest], [weakref.ref(each) for _, each in newest]

    def _make(self) -> None:
        """Make all contents; runs on a thread."""
        try:
            self._changed, self._made_from = False, self._state()
            begun = time.thread_time()
            contents = {key: self._content(key, *offer) for key, offer in self._offered.items()}
            before = self.newest
            kept = {
                key: before[key] if before.get(key) == new else new for key, new in contents.items() if new
            }
            if list(kept) != list(before) or any(kept[key] is not before[key] for key in kept):
                self.newest = kept
            cost = time.thread_time() - begun  # the first one imports pandas, and says little
            self._pace = min(max(LEAST_SECONDS, cost / MAX_SHARE), MOST_SECONDS)
        finally:
            self._made_at, self._working = time.monotonic(), False

    def _content(self, key: str, make: Make, label: str) -> Content:
        """Return a chart's content; empty if it fails: one chart must not end the whole page."""
        try:
            chart, notes = make()
            drawn = chart.content(label) if chart is not None else None
            content = {"chart": drawn, "notes": [note for note in notes if note]}
            json.dumps(content, allow_nan=False)  # NaN would break the frame
        except Exception:
            if key not in self._failed:
                self._failed.add(key)
                log.exception("The chart '%s' cannot be drawn.", key)
            return {}
        return content
