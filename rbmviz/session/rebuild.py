"""Runs whose memory has been freed: the log of their knobs, and the computation of the same steps again."""

import dataclasses
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

from rbmviz.session.snapshot import Snapshot, Status

MAX_CHANGES = 2000
"""Changes of knobs that are logged, about 300 kB; a run with more is not freed, see ``Worker.rest``."""


class Change(NamedTuple):
    """From step ``n`` on the run used ``algorithm``, with these knobs."""

    n: int
    algorithm: Any


class Log:
    """The algorithms that one run has used, by step: with its plan they make the run again, bit for bit.

    This log frees the memory of a run of any kind, and is saved with a training. A ``Recorder`` logs the same
    changes of a sampler, by sample, to save them with the samples.
    """

    def __init__(self, n: int, algorithm: Any) -> None:
        self._changes = [Change(n, algorithm)]
        self.complete = True

    def note(self, n: int, algorithm: Any) -> None:
        """Log that ``algorithm`` makes the steps from ``n`` on."""
        # Keep the first entry, with which the run was made, even if knobs change before the first step.
        if len(self._changes) > 1 and self._changes[-1].n == n:
            self._changes.pop()
        if len(self._changes) < MAX_CHANGES:
            self._changes.append(Change(n, algorithm))
        else:
            self.complete = False

    @property
    def changes(self) -> tuple[Change, ...]:
        """The changes so far, the first one what the run began with."""
        return tuple(self._changes)


@runtime_checkable
class KeepsState(Protocol):
    """A run that keeps data while its memory is freed: what a rebuild cannot compute, or only slowly."""

    prepared: bool

    def kept_state(self) -> Any:
        """Return the data to keep, a few hundred kB at most."""

    def restore(self, kept: Any) -> None:
        """Restore the data that ``kept_state`` returned; called before ``prepare``."""


class Rebuild:
    """Takes the place of a run whose memory is freed; ``work`` computes the run again, up to the same step.

    Parameters
    ----------
    run : Run
        The run to be freed; no reference to it is kept.
    log : Log
        All changes of its knobs.
    shown : Snapshot
        The newest snapshot, which is shown without its large parts until the run is back.
    n : int or None
        Steps of the run that is to come back; None (the default): those of ``run``.
    kept : Any
        What a run of this kind has kept elsewhere (``kept_state``); None (the default): what ``run`` keeps.
    """

    def __init__(self, run: Any, log: Log, shown: Snapshot, n: int | None = None, kept: Any = None) -> None:
        self.plan, self.n, self.algorithm = run.plan, run.n, run.algorithm
        if n is not None:
            self.n, self.algorithm = n, log.changes[-1].algorithm
        self.number = shown.run
        self.prepared = True
        self.log = log
        self._shown = dataclasses.replace(shown.without_arrays(), n=self.n)
        if kept is None and isinstance(run, KeepsState) and run.prepared:
            kept = run.kept_state()
        self._kept = kept
        self._again: Any = None
        self._waiting: list[Change] = []
        self._begun = 0

    @property
    def failure(self) -> str | None:
        """Error sentence of the run; None if it had not failed."""
        return self._shown.error

    @property
    def share(self) -> float:
        """Share of the steps that have been computed again, from 0 to 1."""
        if self._again is None or self.n == self._begun:
            return 0.0
        return (self._again.n - self._begun) / (self.n - self._begun)

    def drop_steps(self) -> None:
        """Drop the steps that have been computed again; ``work`` begins from the start."""
        self._again = None

    def work(self) -> Any:
        """Make the run, prepare it, or do one chunk of its steps; return the run once complete, else None."""
        if self._again is None:
            first, *self._waiting = self.log.changes
            self._again = self.plan.run(self.number, first.algorithm)
            return None
        again = self._again
        if not again.prepared:
            if self._kept is not None:
                again.restore(self._kept)
            again.prepare()
            self._begun = min(self._begun or again.n, again.n)
            return None
        while self._waiting and self._waiting[0].n <= again.n:
            again.set_knobs(self._waiting.pop(0).algorithm)
        if not again.prepared:  # these knobs need a new state, which the next call prepares
            return None
        if again.n < self.n:
            end = min([self.n, *(change.n for change in self._waiting[:1])])
            again.record_steps(again.timed_advance(min(again.max_steps(), end - again.n)))
        return again if again.n >= self.n and not self._waiting else None

    # What a worker asks of a run.

    has_background_work: ClassVar[bool] = False
    """There is none."""

    def max_steps(self) -> int:
        """Return 0: no step can be made before the run is back."""
        return 0

    def background_work(self, paused: bool) -> bool:
        """Return False: there is no background work."""
        return False

    def view(self, status: Status) -> Snapshot:
        """Return the snapshot of the moment at which the run was put to rest, without its large parts."""
        return dataclasses.replace(self._shown, status=status, rebuilt=self.share, error=None)
