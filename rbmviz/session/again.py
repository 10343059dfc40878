"""Make a run again, bit for bit, from its plan, its knob log and its step count."""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from rbmviz.errors import BadInput, quoted
from rbmviz.knobs import Value, check_names, knobs_of, values_of
from rbmviz.registry import samplers
from rbmviz.session.pools import LONG_SECONDS
from rbmviz.session.snapshot import Snapshot, Status
from rbmviz.support import checks

MAX_CHANGES = 10_000
"""Maximum number of logged knob changes (about 2 MB, or minutes of continuous dragging). A run with more
changes is never freed, and its samples cannot be reproduced."""


class Change(NamedTuple):
    """A knob change: from step ``n`` on, the run uses ``algorithm``."""

    n: int
    algorithm: Any


class Log:
    """The algorithms of a run by step, enough to rebuild the run bit for bit from its plan."""

    def __init__(self, n: int, algorithm: Any) -> None:
        self._changes = [Change(n, algorithm)]
        self.complete = True

    @classmethod
    def of(cls, changes: tuple[Change, ...]) -> Self:
        """Return a log of these changes, at least one."""
        log = cls(*changes[0])
        log._changes += changes[1:]
        return log

    def note(self, n: int, algorithm: Any) -> None:
        """Log that ``algorithm`` makes the steps from ``n`` on."""
        # Keep the entry for step 0, the run's first algorithm, even if knobs change before the first step.
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
        """All changes so far; the first is the run's initial algorithm."""
        return tuple(self._changes)


@dataclass(frozen=True, eq=False)
class RunLog:
    """A sampler's run log as names and values, ready to be written to a file.

    sampler : registered name
    start : uint8 (n_visible,) or (n_chains, n_visible) or None; first state of the chain, or one row per
        chain; None: random bits from the seed
    changes : tuple of (n, knobs), the knobs from sample number n on; the first n is 0
    """

    sampler: str
    seed: int
    start: np.ndarray | None
    changes: tuple[tuple[int, dict[str, Value]], ...]

    @classmethod
    def of(cls, log: Log, seed: int, start: np.ndarray | None) -> Self:
        """Return the log of a sampler's run; BadInput if there were too many knob changes to log."""
        name = log.changes[0].algorithm.name
        if not log.complete:
            raise BadInput(
                f"Knobs of {name} have changed more than {MAX_CHANGES:,} times in this run: it has no "
                "complete log. Reset it to begin another one."
            )
        changes: dict[int, dict[str, Value]] = {}
        for n, sampler in log.changes:  # of several changes at one sample, the last wins
            changes[n] = values_of(sampler)
        return cls(name, seed, start, tuple(changes.items()))

    def check(self) -> Log:
        """Check the log, and return it with sampler objects instead of names.

        Raises BadInput if the sampler or a knob is unknown or out of range, the sample numbers do not start
        at 0 and increase, or a knob that is not live changes.
        """
        if not isinstance(self.sampler, str):
            raise BadInput(f"The log names no sampler, but {quoted(self.sampler)}.")
        cls = samplers[self.sampler]
        if not self.changes:
            raise BadInput("The log has no knobs: it must begin with the knobs at sample 0.")
        log, last = [], -1
        for change in self.changes:
            match change:
                case (n, dict(knobs)) if all(isinstance(name, str) for name in knobs):
                    check_names(cls, knobs)
                    algorithm = cls(**knobs)
                case _:
                    raise BadInput(f"The log holds {quoted(change)}: each change is a pair (n, knobs).")
            log.append(Change(n, algorithm))
            fixed = [name for name, knob in knobs_of(cls).items() if not knob.live]
            if any(getattr(algorithm, name) != getattr(log[0].algorithm, name) for name in fixed):
                raise BadInput(f"The log changes {' or '.join(fixed)} at sample {n}: no run can do so.")
            if checks.whole("The log: a change at n", n, last + 1) and last < 0:
                raise BadInput(f"The log begins at sample {n}: it must begin at 0.")
            last = n
        return Log.of(tuple(log))


def again(plan: Any, log: Log, n: int, number: int = 1, kept: Any = None) -> Iterator[tuple[Any, Any]]:
    """Make a run again up to step n, piece by piece; yield the run and the steps just made.

    A piece is either the preparation of the run, with None for the steps, or a chunk of steps.

    number : number of the run on its page; kept : data from ``Run.kept_state``
    """
    first, *waiting = log.changes
    run = plan.run(number, first.algorithm)
    while True:
        while waiting and waiting[0].n <= run.n:
            run.set_knobs(waiting.pop(0).algorithm)
        if not run.prepared:  # a new run, or knobs that need a new state
            if kept is not None:
                run.restore(kept)
            run.prepare()
            yield run, None
            continue
        if run.n >= n:
            run.log = log  # a restored run skipped some of the knob changes
            return
        end = min([n, *(change.n for change in waiting[:1])])
        steps = run.timed_advance(min(run.max_steps(), end - run.n))
        run.record_steps(steps)
        yield run, steps


class Freed:
    """All that is kept of a run whose memory is freed; ``repeat`` makes the run again up to the same step.

    run : the run to free, of which no reference is kept
    snapshot : its newest snapshot, shown without its large arrays until the run is made again
    """

    def __init__(self, run: Any, snapshot: Snapshot) -> None:
        self.plan, self.algorithm = run.plan, run.algorithm
        self.log: Log = run.log
        self.n: int = run.n
        self.number, self.prepared, self.over = snapshot.run, True, False
        self._snapshot = dataclasses.replace(snapshot.without_arrays(), n=self.n)
        self._kept = run.kept_state()
        self._pieces: Iterator[tuple[Any, Any]] | None = None
        self._again: Any = None
        self.watched, self.is_left = False, run.is_left

    @property
    def share(self) -> float:
        """Share of the steps that have been repeated, from 0 to 1."""
        return self._again.n / self.n if self._again is not None and self.n else 0.0

    @property
    def is_long(self) -> bool:
        """Whether the next piece takes long."""
        seconds: float = self.plan.seconds_of_step(self.algorithm)
        return seconds > LONG_SECONDS if self._again is None else self._again.is_long

    def drop_steps(self) -> None:
        """Drop the repeated steps; ``repeat`` starts over."""
        self._pieces = self._again = None

    def repeat(self) -> Any:
        """Do the next piece of ``again``; return the run when it is complete, else None."""
        pieces = self._pieces or again(self.plan, self.log, self.n, self.number, self._kept)
        self._pieces = None  # if a piece fails, the next call starts over
        piece = next(pieces, None)
        self._pieces = pieces
        if piece is None:
            return self._again
        self._again = piece[0]
        self._again.is_left = self.is_left
        return None

    def view(self, status: Status) -> Snapshot:
        """Return the snapshot taken when the run was freed, without its large arrays."""
        return dataclasses.replace(self._snapshot, status=status, rebuilt=self.share, error=None)
