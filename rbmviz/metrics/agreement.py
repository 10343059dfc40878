"""Whether the chains of a run agree: R-hat and ESS of their newest rounds."""

import functools
import time
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import ClassVar

import numpy as np

from rbmviz.datasets import Dataset
from rbmviz.metrics.diagnostics import MIN_DRAWS, Diagnostics, chains_apart, diagnostics_of
from rbmviz.metrics.live import live_number
from rbmviz.metrics.numbers import Number, Value
from rbmviz.registry import live_metric

COMPARED_ROUNDS, COMPARED_DRAWS = 1000, 100_000
"""Maximum number of rounds, and of draws over all chains, in a comparison of the chains."""

COMPARISON_SECONDS = 3.0
"""Seconds between two comparisons of the chains; a comparison takes up to 0.2 seconds."""

MAX_RHAT_SHOWN = 100
"""Larger values are shown as "over 100"; the R-hat of chains that never move is infinite."""


@functools.cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, thread_name_prefix="rbmviz-agreement")


@live_metric("agreement")
class Agreement:
    """R-hat and ESS of the number of active units in the newest rounds of several chains.

    Computed on a separate thread, a few seconds late.
    """

    numbers: ClassVar[tuple[Number, ...]] = (
        live_number(
            "rhat",
            "R-hat",
            "Whether the chains agree, by the number of pixels that are on in their newest rounds: near 1 "
            "they do, above 1.01 they do not yet.",
            "precision3",
            formula=r"\hat{R} = \sqrt{\frac{\text{variance over all chains}}"
            r"{\text{mean variance in a chain}}}",
            source="Vehtari et al. (2021), rank-normalised and split, by ArviZ; newest 1,000 rounds at most.",
        ),
        live_number(
            "ess",
            "ESS",
            "Effective sample size: as many independent samples would tell as much about the number of "
            "pixels that are on as these rounds of all chains do.",
            "compact",
            best="high",
            formula=r"\mathrm{ESS} = \frac{n}{1 + 2 \sum_{t \ge 1} \rho_t}",
            source="Vehtari et al. (2021), bulk ESS by ArviZ; ρ: autocorrelations of ranks; newest 1,000 "
            "rounds at most.",
        ),
    )

    def __init__(self, dataset: Dataset, n_chains: int) -> None:
        self.n_chains = n_chains
        self.rounds = min(COMPARED_ROUNDS, COMPARED_DRAWS // n_chains)
        self._n, self._compared_at = 0, 0.0
        self._ring = np.zeros(self.rounds * n_chains)
        self._computing: Future[Diagnostics] | None = None
        self._newest: Diagnostics | None = None

    @staticmethod
    def applies(n_chains: int) -> bool:
        """Return whether there are several chains."""
        return n_chains > 1

    def update(self, v: np.ndarray) -> None:
        """Take the next samples, uint8 (n, n_visible), interleaved over the chains."""
        newest = v[-len(self._ring) :].sum(axis=1)
        self._n += len(v)
        self._ring[np.arange(self._n - len(newest), self._n) % len(self._ring)] = newest
        now, rounds = time.monotonic(), self._n // self.n_chains
        if (
            rounds < MIN_DRAWS
            or now - self._compared_at < COMPARISON_SECONDS
            or (self._computing and not self._computing.done())
        ):
            return
        # Skip the oldest round: an unfinished newest round has overwritten part of it.
        first = max(rounds - self.rounds + 1, 0) * self.n_chains
        values = self._ring[np.arange(first, rounds * self.n_chains) % len(self._ring)]
        self._newest, self._compared_at = self.newest, now
        self._computing = _pool().submit(diagnostics_of, chains_apart(values, self.n_chains))

    @property
    def newest(self) -> Diagnostics | None:
        """The newest comparison; None before there is one."""
        return self._computing.result() if self._computing and self._computing.done() else self._newest

    def values(self) -> Mapping[str, Value]:
        """Return both numbers; none before the first comparison."""
        newest = self.newest
        if newest is None:
            return {}
        rhat = newest.rhat if not newest.rhat >= MAX_RHAT_SHOWN else f"over {MAX_RHAT_SHOWN}"
        return {"rhat": rhat, "ess": newest.ess}
