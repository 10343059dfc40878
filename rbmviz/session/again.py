"""Runs that are made again, bit for bit, from a plan, the log of the knobs and the number of steps."""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np

from rbmviz import checks
from rbmviz.errors import BadInput, shown
from rbmviz.knobs import Value, check_names, knobs_of, values_of
from rbmviz.registry import samplers
from rbmviz.session.snapshot import Snapshot, Status

MAX_CHANGES = 10_000
"""Changes of knobs that are logged, about 2 MB: minutes of dragging without a pause. A run with more is never
freed, see ``Worker.rest``, and its samples cannot be repeated."""


class Change(NamedTuple):
    """From step ``n`` on the run used ``algorithm``, with these knobs."""

    n: int
    algorithm: Any


class Log:
    """The algorithms that one run has used, by step: with its plan they make the run again, bit for bit."""

    def __init__(self, n: int, algorithm: Any) -> None:
        self._changes = [Change(n, algorithm)]
        self.complete = True

    @classmethod
    def of(cls, changes: tuple[Change, ...]) -> Self:
        """Return the log with these changes, at least one."""
        log = cls(*changes[0])
        log._changes += changes[1:]
        return log

    def note(self, n: int, algorithm: Any) -> None:
        """Log that ``algorithm`` makes the steps from ``n`` on."""
        # Keep the first entry, with which the run was made, even if knobs change before the first step.
        if len(self._changes) > 1 and self._changes[-1].n == n:
            self._changes.pop()
        if algorithm == self._changes[-1].algorithm:
            return
        if len(self._changes) < MAX_CHANGES:
            self._changes.append(Change(n, algorithm))
        else:
            self.complete = False

    @property
    def changes(self) -> tuple[Change, ...]:
        """The changes so far, the first one what the run began with."""
        return tuple(self._changes)


@dataclass(frozen=True, eq=False)
class RunLog:
    """The run log of a sampler as it is written to a file: names and values.

    Parameters
    ----------
    sampler : str
        Registered name.
    seed : int
    start : uint8 (n_visible,) or (n_chains, n_visible) or None
        First state of the chain, or of each; None means random bits of the seed.
    changes : tuple of (n, knobs)
        The knobs from sample number n on; the first n is 0.
    """

    sampler: str
    seed: int
    start: np.ndarray | None
    changes: tuple[tuple[int, dict[str, Value]], ...]

    @classmethod
    def of(cls, log: Log, seed: int, start: np.ndarray | None) -> Self:
        """Return the log of a sampler's run.

        Raises
        ------
        BadInput
            If knobs have changed too often for a log.
        """
        name = log.changes[0].algorithm.name
        if not log.complete:
            raise BadInput(
                f"Knobs of {name} have changed more than {MAX_CHANGES:,} times in this run: it has no "
                "complete log. Reset it to begin another one."
            )
        changes: dict[int, dict[str, Value]] = {}
        for n, sampler in log.changes:  # of several changes before one sample the last counts
            changes[n] = values_of(sampler)
        return cls(name, seed, start, tuple(changes.items()))

    def check(self) -> Log:
        """Return the log with the samplers; BadInput if no run can have written this log.

        Raises
        ------
        BadInput
            If the sampler or a knob is unknown or out of range, the sample numbers do not begin at 0 and
            increase, or a knob changes that is not live.
        """
        if not isinstance(self.sampler, str):
            raise BadInput(f"The log names no sampler, but {shown(self.sampler)}.")
        cls = samplers[self.sampler]
        if not self.changes:
            raise BadInput("The log has no knobs: it must begin with those of sample 0.")
        log, last = [], -1
        for change in self.changes:
            match change:
                case (n, dict(knobs)) if all(isinstance(name, str) for name in knobs):
                    check_names(cls, knobs)
                    made = cls(**knobs)
                case _:
                    raise BadInput(f"The log holds {shown(change)}: each change is a pair (n, knobs).")
            log.append(Change(n, made))
            fixed = [name for name, knob in knobs_of(cls).items() if not knob.live]
            if any(getattr(made, name) != getattr(log[0].algorithm, name) for name in fixed):
                raise BadInput(f"The log changes {' or '.join(fixed)} at sample {n}: no run can do so.")
            if checks.whole("The log: a change at n", n, last + 1) and last < 0:
                raise BadInput(f"The log begins at sample {n}: it must begin at 0.")
            last = n
        return Log.of(tuple(log))

    def as_json(self) -> dict[str, Any]:
        """Return the log as JSON values."""
        return {
            "sampler": self.sampler,
            "seed": self.seed,
            "start": None if self.start is None else self.start.tolist(),
            "changes": [{"n": n, "knobs": knobs} for n, knobs in self.changes],
        }


@runtime_checkable
class KeepsState(Protocol):
    """A run that keeps data while its memory is freed: what a rebuild cannot compute, or only slowly."""

    prepared: bool

    def kept_state(self) -> Any:
        """Return the data to keep, a few hundred kB at most."""

    def restore(self, kept: Any) -> None:
        """Restore the data that ``kept_state`` returned; called before ``prepare``."""


def again(plan: Any, log: Log, n: int, number: int = 1, kept: Any = None) -> Iterator[tuple[Any, Any]]:
    """Make a run again up to its step n; yield the run and the steps just made, piece by piece.

    A piece is the preparation of the run (without steps: None) or a chunk of its steps.

    number : of the run in its worker; kept : what the run could not compute, see ``KeepsState``
    """
    first, *waiting = log.changes
    run = plan.run(number, first.algorithm)
    while True:
        while waiting and waiting[0].n <= run.n:
            run.set_knobs(waiting.pop(0).algorithm)
        if not run.prepared:  # the run is new, or these knobs need a new state
            if kept is not None:
                run.restore(kept)
            run.prepare()
            yield run, None
            continue
        if run.n >= n and not waiting:
            run.log = log  # restored, it has skipped steps at which knobs changed
            return
        end = min([n, *(change.n for change in waiting[:1])])
        steps = run.timed_advance(min(run.max_steps(), end - run.n))
        run.record_steps(steps)
        yield run, steps


class Rebuild:
    """Takes the place of a run whose memory is freed; ``work`` computes the run again, up to the same step.

    Parameters
    ----------
    run : Run
        The run to be freed; no reference to it is kept.
    shown : Snapshot
        The newest snapshot, which is shown without its large parts until the run is back.
    log : Log or None
        Of the run that is to come back; None (the default): that of ``run``.
    n : int or None
        Steps of the run that is to come back; None (the default): those of ``run``.
    kept : Any
        What a run of this kind has kept elsewhere (``kept_state``); None (the default): what ``run`` keeps.
    """

    def __init__(
        self, run: Any, shown: Snapshot, log: Log | None = None, n: int | None = None, kept: Any = None
    ) -> None:
        self.plan = run.plan
        self.log: Log = log or run.log
        self.n: int = run.n if n is None else n
        self.algorithm = self.log.changes[-1].algorithm
        self.number = shown.run
        self.prepared = True
        self._shown = dataclasses.replace(shown.without_arrays(), n=self.n)
        if kept is None and isinstance(run, KeepsState) and run.prepared:
            kept = run.kept_state()
        self._kept = kept
        self._pieces: Iterator[tuple[Any, Any]] | None = None
        self._again: Any = None
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
        self._pieces = self._again = None

    def work(self) -> Any:
        """Do the next piece of ``again``; return the run once it is complete, else None."""
        pieces = self._pieces or again(self.plan, self.log, self.n, self.number, self._kept)
        self._pieces = None  # if a piece fails, the next call begins from the start
        piece = next(pieces, None)
        self._pieces = pieces
        if piece is None:
            return self._again
        self._again, steps = piece
        if steps is None:
            self._begun = min(self._begun or self._again.n, self._again.n)
        return None

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
