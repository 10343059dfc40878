"""Rates-herding: the zero-temperature walk through the modes, driven by the data's rates."""

from typing import ClassVar

import numpy as np

from rbmviz import rng
from rbmviz.knobs import knob
from rbmviz.rbm import RBM, Model
from rbmviz.registry import sampler
from rbmviz.samplers import Samples
from rbmviz.samplers.fast_weights import (
    DrivenChain,
    State,
    driven_herding,
    rates_of,
    share,
    start,
    state_bytes,
    with_fast,
)
from rbmviz.samplers.interleave import interleave, n_chains_knob
from rbmviz.samplers.shared_fast_weights import SharedFastWeights, herding_round, step_all_chains


@sampler(
    "rates_herding",
    label="rates-herding",
    colour="#06a781",
    paper="rates-FPCD, section 4, algorithm 2: herding with fixed rates",
)
class RatesHerding:
    """Climb to a mode of theta + theta_F, emit it, theta_F <- alpha theta_F + eps (R - s).

    Units are set to 1 where their pre-activation is above 0 (ties to 0), h and v in turn, until v stays.
    Nothing is drawn: p is v. Walks that share theta_F and have met once go on as one, for nothing can part
    them: start them apart, and expect fewer of them in the end.
    """

    exact_chain: ClassVar[bool] = False
    deterministic: ClassVar[bool] = True
    needs_rates: ClassVar[bool] = True

    eps: float = knob(
        0.03,
        1e-4,
        10.0,
        label="Step size",
        scale="log",
        zero=True,
        front=True,
        help="How far each mode is pushed down: herding stands 10 to 100 times larger steps than rates-FPCD.",
    )
    alpha: float = knob(
        1.0,
        0.0,
        1.0,
        label="Decay",
        front=True,
        help="Share of the push that stays after each sample: below 1 the walk falls into a cycle.",
    )
    max_sweeps: int = knob(
        50,
        1,
        1000,
        label="Most sweeps",
        scale="log",
        help="Climbing stops after so many sweeps: watch sweeps per sample to see whether it ever has to.",
    )
    n_chains: int = n_chains_knob()
    share: bool = share()

    def init(self, model: Model, seed: rng.Seed, v0: np.ndarray | None = None) -> State:
        """Return walks started at v0 with theta_F = 0; see Sampler."""
        return start(self, model, rates_of(model, "rates_herding"), seed, v0)

    def state_bytes(self, n_visible: int, n_hidden: int) -> int:
        """Return the bytes of the state; see Sampler."""
        return state_bytes(self, n_visible, n_hidden)

    def step(self, state: State, n: int) -> Samples:
        """Advance the walks by n modes, and theta_F after every one."""
        if isinstance(state, SharedFastWeights):
            return step_all_chains(
                state, n, lambda shared: herding_round(shared, self.eps, self.alpha, self.max_sweeps)
            )
        return interleave(state, n, self._step)

    def _step(self, chain: DrivenChain, n: int) -> Samples:
        return driven_herding(chain, n, self.eps, self.alpha, self.max_sweeps)

    def target(self, state: State) -> RBM:
        """Return theta + theta_F."""
        return with_fast(state)
