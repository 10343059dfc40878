"""What speaks against trusting a run's samples, found on another thread while the run goes on."""

import copy
import functools
import importlib
import logging
import time
from typing import Any

import numpy as np

from rbmviz.datasets import Dataset
from rbmviz.metrics.findings import FEWEST_SAMPLES, GROWTH, Findings, Watch
from rbmviz.rbm import RBM
from rbmviz.session.compiling import COMPILING
from rbmviz.session.pools import FULL_SPEED
from rbmviz.support.blas import one_blas_thread

LOOK_SHARE = 1500
"""Minimum time between the starts of two looks, as a multiple of the processor time of the last one."""

MAX_SECONDS, REST_SECONDS, PART = 60.0, 2.0, 4
"""Maxima of this time, of a run and of one at rest, and the part of a run's ``Watch.findings``."""

NEW_SAMPLES, NEWS_SECONDS = 1.5, 10.0
"""Factor by which the samples grow between two looks; one that is out of date comes after this time."""

log = logging.getLogger(__name__)


class Diagnosis:
    """The findings of a run's samples since the last turn of a knob, or of all if there was none.

    newest : the newest findings; None before the first, and after a turn
    """

    def __init__(self, rbm: RBM, dataset: Dataset | None, n_chains: int) -> None:
        self._new_watch = functools.partial(Watch, rbm, dataset, n_chains)
        self.begin_again()

    def begin_again(self) -> None:
        """Forget all samples, because a knob is turned."""
        self._watch = self._new_watch()
        self._kept = self._watch.kept  # grows with the run, while the watch looks at a copy
        self.newest: Findings | None = None
        self._busy = self.has_news = self._in_part = False
        self._began_at, self._took = 0.0, 0.0
        self._visited: object = None  # when the last look began

    def update(self, v: np.ndarray) -> None:
        """Take the next samples, uint8 (n, n_visible)."""
        self._kept.update(v)

    @property
    def is_open(self) -> bool:
        """Whether a look is in progress or due, or has ended with findings that nobody has taken."""
        return self._busy or self.has_news or self._is_due or self._in_part

    @property
    def _is_due(self) -> bool:
        looked_at = 0 if self.newest is None else self.newest.n
        return self._kept.n >= max(FEWEST_SAMPLES, NEW_SAMPLES * looked_at)

    def request(self, paused: bool = False, visited: object = None) -> None:
        """Begin to look at the samples on another thread, if there are enough new ones and it is time.

        visited : what the run itself says of its classes; another value makes the newest look out of date
        """
        now, longest = time.monotonic(), REST_SECONDS if paused else MAX_SECONDS
        due = self._is_due or (paused and self._in_part)
        looked_at = 0 if self.newest is None else self.newest.n
        if looked_at and visited != self._visited and self._kept.n >= GROWTH * looked_at:
            due, longest = True, min(longest, NEWS_SECONDS)
        if self._busy or not due or now < self._began_at + min(LOOK_SHARE * self._took, longest):
            return
        if not COMPILING.request(["findings"]):
            return
        self._busy, self._began_at, self._in_part, self._visited = True, now, not paused, visited
        watch, watch.kept = self._watch, copy.copy(self._kept)  # its arrays are replaced, never changed
        FULL_SPEED.submit(functools.partial(self._look, watch, 1 if paused else PART))

    def look_now(self) -> None:
        """Look at the samples on this thread."""
        self._watch.kept = self._kept
        self.newest = self._watch.findings()

    def _look(self, watch: Any, part: int) -> None:
        importlib.import_module("arviz_stats.base")  # a second, once in a process: no look is to wait for it
        begin, found = time.thread_time(), None
        try:
            with one_blas_thread():  # a second one would spin
                found = watch.findings(part)
        except Exception:  # the run goes on without a verdict
            log.exception("a run's samples could not be looked at")
        if watch is self._watch:  # no knob was turned meanwhile
            self.newest, self.has_news = found, True
            self._took, self._busy = time.thread_time() - begin, False
