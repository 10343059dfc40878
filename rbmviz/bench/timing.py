"""The clock: contestants take turns, so that what else the machine does hits all of them alike."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

LEAST_ROUNDS = 3


@dataclass(frozen=True)
class Contestant:
    """Something to time.

    Parameters
    ----------
    run : callable
        Does the work; its result is thrown away.
    work : float
        Units of work that one call does (default 1), so that contestants may be called in blocks.
    """

    run: Callable[[], object]
    work: float = 1.0


class TimingBudget(NamedTuple):
    """How long to measure: rounds of one turn each, least seconds a turn, most seconds in all.

    The last gives way to ``LEAST_ROUNDS`` rounds of at least one call each.
    """

    rounds: int
    turn: float
    most: float


USUAL, QUICK = TimingBudget(15, 0.1, 20.0), TimingBudget(3, 0.01, 1.0)


@dataclass(frozen=True, eq=False)
class Times:
    """What the clock saw: for each contestant the seconds a unit of work, float64 (rounds,)."""

    seconds: Mapping[str, np.ndarray]

    def median(self, name: str) -> float:
        """Return the median over the rounds, in seconds a unit."""
        return float(np.median(self.seconds[name]))

    def best(self, name: str) -> float:
        """Return the shortest round, in seconds a unit."""
        return float(self.seconds[name].min())

    def ratio(self, one: str, other: str) -> tuple[float, float, float]:
        """Return how many times the time of ``other`` is that of ``one``: median and quartiles over rounds.

        Divided round by round: a round that was slow for both says nothing about either.
        """
        middle, low, high = np.quantile(self.seconds[one] / self.seconds[other], [0.5, 0.25, 0.75])
        return float(middle), float(low), float(high)


def interleave(contestants: Mapping[str, Contestant], pace: TimingBudget = USUAL) -> Times:
    """Time contestants in turns, with BLAS limited to one thread.

    The first call of each (compilation, caches) is outside the clock; a second one sets how many calls fill a
    turn. Each round begins with another contestant.
    """
    names = list(contestants)
    calls = {}
    # A peer may overflow where it is right to: 1 / (1 + exp(large)).
    with threadpool_limits(limits=1), np.errstate(over="ignore"):
        for name in names:
            contestants[name].run()
            calls[name] = _seconds(contestants[name], 1)
        round_seconds = sum(max(pace.turn, taken) for taken in calls.values())
        rounds = max(LEAST_ROUNDS, min(pace.rounds, int(pace.most / round_seconds)))
        repeats = {name: max(1, round(pace.turn / taken)) for name, taken in calls.items()}
        seconds = {name: np.empty(rounds) for name in names}
        for r in range(rounds):
            first = r % len(names)
            for name in names[first:] + names[:first]:
                one, n = contestants[name], repeats[name]
                seconds[name][r] = _seconds(one, n) / (n * one.work)
    return Times(seconds)


def _seconds(one: Contestant, calls: int) -> float:
    begin = time.perf_counter()
    for _ in range(calls):
        one.run()
    return time.perf_counter() - begin
