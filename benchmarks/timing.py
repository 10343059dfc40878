"""Timing in interleaved rounds, so that other load on the machine affects all contestants alike."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

MIN_ROUNDS = 3


class Seconds(NamedTuple):
    """Time of all threads of a process, and time on the clock."""

    processor: float
    wall: float


@dataclass(frozen=True)
class Contestant:
    """A function to time.

    Parameters
    ----------
    run : callable
        Does the work; its result is ignored.
    work : float
        Units of work per call (default 1), because some contestants work in blocks.
    """

    run: Callable[[], object]
    work: float = 1.0

    def measure(self, calls: int) -> Seconds:
        """Return the seconds that some calls take."""
        processor, wall = time.process_time(), time.perf_counter()
        for _ in range(calls):
            self.run()
        return Seconds(time.process_time() - processor, time.perf_counter() - wall)


class TimingBudget(NamedTuple):
    """Limits of a measurement.

    Attributes
    ----------
    rounds : int
        Maximum number of rounds.
    turn : float
        Minimum seconds of one contestant in one round.
    most : float
        Maximum seconds in all, unless ``MIN_ROUNDS`` rounds take longer.
    """

    rounds: int
    turn: float
    most: float


USUAL, QUICK = TimingBudget(15, 0.1, 20.0), TimingBudget(3, 0.01, 1.0)


@dataclass(frozen=True, eq=False)
class Times:
    """The result of timing: for each contestant the seconds per unit of work, float64 (rounds,).

    ``seconds`` of processor time, which other programs affect only through the caches; ``wall`` of the clock.
    """

    seconds: Mapping[str, np.ndarray]
    wall: Mapping[str, np.ndarray]

    def median(self, name: str) -> float:
        """Return the median over the rounds, in seconds per unit."""
        return float(np.median(self.seconds[name]))

    def best(self, name: str) -> float:
        """Return the time of the fastest round, in seconds per unit."""
        return float(self.seconds[name].min())

    def ratio(self, one: str, other: str) -> tuple[float, float, float]:
        """Return the time of ``one`` over the time of ``other``: median and quartiles over the rounds.

        The times are divided round by round, so that a round that is slow for both does not matter.
        """
        middle, low, high = np.quantile(self.seconds[one] / self.seconds[other], [0.5, 0.25, 0.75])
        return float(middle), float(low), float(high)


def interleave(contestants: Mapping[str, Contestant], pace: TimingBudget = USUAL) -> Times:
    """Time contestants in interleaved rounds, with BLAS limited to one thread.

    The first call of each contestant is not timed (compilation, caches); the second one decides how many
    calls fill a turn. Each round begins with a different contestant.

    Parameters
    ----------
    contestants : mapping of str to Contestant
        Contestants by name.
    pace : TimingBudget
        Limits of the measurement (default ``USUAL``).
    """
    names = list(contestants)
    calls = {}
    # Peers may overflow harmlessly, in 1 / (1 + exp(large)).
    with threadpool_limits(limits=1), np.errstate(over="ignore"):
        for name in names:
            contestants[name].measure(1)
            calls[name] = contestants[name].measure(1).wall
        round_seconds = sum(max(pace.turn, taken) for taken in calls.values())
        rounds = max(MIN_ROUNDS, min(pace.rounds, int(pace.most / round_seconds)))
        repeats = {name: max(1, round(pace.turn / taken)) for name, taken in calls.items()}
        seconds = {name: np.empty((2, rounds)) for name in names}
        for r in range(rounds):
            first = r % len(names)
            for name in names[first:] + names[:first]:
                one, n = contestants[name], repeats[name]
                seconds[name][:, r] = np.array(one.measure(n)) / (n * one.work)
    processor, wall = ({name: both[i] for name, both in seconds.items()} for i in (0, 1))
    return Times(processor, wall)
