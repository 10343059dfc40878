"""A sampler's run on a model small enough to display all states, and the current distribution."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rbmviz.errors import BadInput
from rbmviz.metrics import Landscape, landscape, noise_floor, probabilities, total_variation
from rbmviz.metrics.landscape import codes, state_bits
from rbmviz.rbm import Model
from rbmviz.samplers import Sampler, Samples
from rbmviz.session.sampling import SamplingPlan, SamplingRun
from rbmviz.session.snapshot import Snapshot, Status

TRAIL = 240
"""Number of newest states in a snapshot; pages show fewer."""

VISIT_COUNTS = np.unique(np.round(10 ** np.arange(0, 9, 0.06)).astype(np.int64))
"""Sample counts at which the walk is compared with the model."""


class Visited(NamedTuple):
    """A comparison of the first n samples with the model.

    visits : total variation distance between the shares of visits and the model's distribution; moments :
    distance between the mean of v and the model's rates <v>, exact or from its training set (NaN: none);
    floor : what ``visits`` of n independent draws would be on average
    """

    n: int
    visits: float
    moments: float
    floor: float


@dataclass(frozen=True, eq=False, kw_only=True)
class LandscapeSnapshot(Snapshot):
    """A walk at one moment; states are numbered by their bits, the first unit the most significant.

    trail : int64 (up to 240,); newest states, ending with the current one; before the first sample, the
        starting state
    visits : int64 (2^n_visible,); samples in each state so far
    law : float64 (2^n_visible,); distribution of v under the target of the next sample: theta + theta_F, or
        theta / T
    raised : -log p(v) of the current state under ``law`` minus -log p(v) under the model, in nats
    bent : total variation distance between ``law`` and the model's distribution
    crossings : number of samples in a different valley from the previous sample
    fast_norm : norm of theta_F, None for samplers without fast parameters
    curve : comparisons with the model at log-spaced numbers of samples, and now
    """

    algorithm: Sampler
    trail: np.ndarray
    visits: np.ndarray
    law: np.ndarray
    raised: float
    bent: float
    crossings: int
    fast_norm: float | None
    curve: tuple[Visited, ...]


class LandscapeSetup(NamedTuple):
    """The setup of a race of samplers on one landscape, and the plan of each run.

    A run walks over the states of a model with at most 10 visible units, starting at the likeliest state.
    """

    model: Model
    seed: int = 0

    def plan(self) -> "LandscapeSetup":
        """Return the plan of each run."""
        return self

    def run(self, number: int, algorithm: Sampler) -> "LandscapeRun":
        """Return the ``number``-th run of a panel."""
        return LandscapeRun(number, self, algorithm)

    def seconds_of_step(self, sampler: Sampler) -> float:
        """Estimate the seconds of a sample: no time at all for so small a model."""
        return 0.0


class LandscapeRun(SamplingRun):
    """One chain over all states of the model; a step is a sample."""

    def __init__(self, number: int, plan: LandscapeSetup, sampler: Sampler) -> None:
        rbm = plan.model.rbm
        self._land: Landscape = landscape(rbm)
        start = self._land.valleys[0].floor
        v0 = state_bits(start, rbm.n_visible)
        super().__init__(number, SamplingPlan(plan.model, plan.seed, v0), sampler)
        self.plan = plan
        self._target = rbm
        self._trail = np.array([start])
        self._visits = np.zeros(len(self._land.law), np.int64)
        self._sum = np.zeros(rbm.n_visible, np.int64)
        self._crossings = 0
        self._curve: list[Visited] = []

    def prepare(self) -> None:
        """Make the chain, and compile the kernels; ``seconds`` excludes this time."""
        if self.algorithm.n_chains > 1:
            raise BadInput(
                f"{self.algorithm.name}: n_chains = {self.algorithm.n_chains} chains each have a ground of "
                f"their own and one is drawn here: give n_chains = 1, or look at them on the Sample page."
            )
        super().prepare()
        self._target = self.target()

    def record_steps(self, samples: Samples) -> None:
        """Count the samples of ``advance``, and compare them with the model at the counts of the curve."""
        states, before = codes(samples.v), self.n
        super().record_steps(samples)
        marks = VISIT_COUNTS[(VISIT_COUNTS > before) & (VISIT_COUNTS <= self.n)] - before
        for part in np.split(np.arange(len(states)), marks):
            self._visits += np.bincount(states[part], minlength=len(self._visits))
            self._sum += samples.v[part].sum(axis=0, dtype=np.int64)
            if len(self._curve) < np.searchsorted(VISIT_COUNTS, self._visits.sum(), side="right"):
                self._curve.append(self._visited())
        valleys = self._land.valley[np.append(self._trail[-1:], states)]
        self._crossings += int((valleys[1:] != valleys[:-1]).sum())
        self._trail = np.append(self._trail, states)[-TRAIL:]
        self._target = self.target()

    def _visited(self) -> Visited:
        n, rates = int(self._visits.sum()), self.plan.model.rates
        moments = np.nan if rates is None else float(np.linalg.norm(self._sum / n - rates.b))
        law = self._land.law
        return Visited(n, total_variation(self._visits / n, law), moments, noise_floor(law, n))

    def set_knobs(self, algorithm: Sampler) -> None:
        """Use new values of live knobs from the next sample on."""
        super().set_knobs(algorithm)
        self._target = self.target()

    def view(self, status: Status) -> LandscapeSnapshot:
        """Return the snapshot of this run."""
        model_law, now = self._land.law, probabilities(self._target)
        here = self._trail[-1]
        newest = (self._visited(),) if self.n and self._curve[-1].n < self.n else ()
        with np.errstate(divide="ignore"):
            raised = float(np.log(model_law[here]) - np.log(now[here]))
        return LandscapeSnapshot(
            **self.common(status),
            trail=self._trail,
            visits=self._visits.copy(),
            law=now,
            raised=raised,
            bent=total_variation(now, model_law),
            crossings=self._crossings,
            fast_norm=self.fast_norm,
            curve=(*self._curve, *newest),
        )
