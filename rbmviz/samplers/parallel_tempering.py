"""Parallel tempering: replicas at a ladder of temperatures hand their states down to the model."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rbmviz import kernels, rng
from rbmviz.knobs import knob
from rbmviz.rbm import RBM, Model
from rbmviz.registry import sampler
from rbmviz.samplers import Samples
from rbmviz.samplers.interleave import (
    ChainKnobs,
    Chains,
    interleave,
    next_chain,
    one_or_many,
    starts,
)

LOWEST_GEOMETRIC = 0.01
"""Lowest inverse temperature of a geometric ladder, which cannot reach 0."""

RATE_BOUND = 0.001
"""Bound of the rates whose log-odds are the biases of the independent model."""

RARE = 0.01
"""Share of swaps below which a ladder is as good as cut."""

FEWEST_TRIES = 50
"""Tries before a pair of neighbours is judged."""


@dataclass(frozen=True, eq=False)
class LadderReport:
    """What a ladder has done so far.

    Parameters
    ----------
    beta : float32 (replicas,)
        Inverse temperatures now, coldest first.
    tried : int64 (replicas - 1,)
        Proposed swaps of neighbours since the last spacing, coldest pair first.
    swap_rates : float64 (replicas - 1,)
        Share of them that was accepted; NaN without any.
    trips : int
        Replicas that came from the hottest to the coldest temperature.
    samples, burn_in : int
        Samples so far, and of the burn-in in which the ladder is spaced; 0 without one.
    path : int16 (n, replicas)
        Place of each replica, 0 the coldest, at the newest n samples, at most 240.
    """

    beta: np.ndarray
    tried: np.ndarray
    swap_rates: np.ndarray
    trips: int
    samples: int
    burn_in: int
    path: np.ndarray

    @property
    def barrier(self) -> float:
        """The communication barrier: the sum of the shares of refused swaps (Syed et al., 2022)."""
        return float(np.nansum(1 - self.swap_rates))

    @property
    def warning(self) -> str:
        """One sentence if, after the burn-in, two neighbours as good as never swap; else empty."""
        judged = np.flatnonzero(self.tried >= FEWEST_TRIES)
        if self.samples < self.burn_in or not len(judged) or self.swap_rates[judged].min() >= RARE:
            return ""
        i = int(judged[self.swap_rates[judged].argmin()])
        advice = "take more replicas" + ("." if self.burn_in else ", or adapted spacing.")
        between = f"{self.beta[i]:.2g} and {self.beta[i + 1]:.2g}"
        return f"Replicas at {between} swap in {self.swap_rates[i]:.1%} of all tries: {advice}"


@dataclass
class TemperedChain:
    """State of one chain: the model, and its ladder of replicas."""

    rbm: RBM
    ladder: "kernels.tempering.Replicas"


@sampler(
    "parallel_tempering",
    label="Parallel tempering",
    colour="#825b57",
    paper="Desjardins et al. (2010); Syed et al. (2022); population CD, section 4",
)
class ParallelTempering(ChainKnobs):
    """Sweep replicas at inverse temperatures from 1 to 0, and let neighbours swap; emit the one at 1.

    Even and odd pairs of neighbours try in turn (non-reversible: Syed et al., 2022). The models in between
    have the parameters (beta W, base + beta (b - base), beta c): at 0, independent units with the rates of
    the data or, if the model has none, with its visible biases. With one replica this is Gibbs sampling, bit
    for bit.
    """

    exact_chain: ClassVar[bool] = True  # after the burn-in
    deterministic: ClassVar[bool] = False
    needs_rates: ClassVar[bool] = False
    kernel: ClassVar[str] = "tempering"
    about: ClassVar[str] = (
        r"Replicas of the chain run at inverse temperatures $\beta$ from 1 down to 0, one sweep each; then "
        "neighbours may swap, by the Metropolis rule. Hot replicas move freely and hand down what they find. "
        r"Only the replica at $\beta = 1$ is shown; all of their sweeps count."
    )
    equation: ClassVar[tuple[str, ...]] = (
        r"1 = \beta_1 > \dots > \beta_{\knob{n_replicas}} = \knob{lowest}",
        r"v_i\ \knob{k}\ \text{sweeps on, at}\ \beta_i",
        r"v_i \leftrightarrow v_{i+1}:\ \min(1,\, e^{\Delta\beta\, \Delta E})",
        r"\text{emit}\ v_1",
    )

    n_replicas: int = knob(
        20,
        1,
        100,
        front=True,
        label="Replicas",
        symbol="R",
        scale="log",
        live=False,
        help="Temperatures of the ladder: with too few, most swaps are refused; each more costs a sweep.",
    )
    k: int = knob(
        1,
        1,
        100,
        label="Sweeps per sample",
        symbol="k",
        scale="log",
        help="Sweeps of every replica between two rounds of swaps.",
    )
    spacing: str = knob(
        "adapted",
        label="Spacing",
        choices=("adapted", "linear", "geometric"),
        live=False,
        help="How the inverse temperatures are spaced: adapted, so that all neighbours swap equally often.",
    )
    burn_in: int = knob(
        1000,
        8,
        100_000,
        label="Burn-in",
        unit="samples",
        scale="log",
        live=False,
        help="Samples in which an adapted ladder is spaced; from then on it stays, and the chain is exact.",
    )
    lowest: float = knob(
        0.0,
        0.0,
        1.0,
        label="Lowest inverse temperature",
        symbol=r"\beta_{\min}",
        live=False,
        help="At 0 the hottest replica is drawn afresh at every sweep.",
    )
    reference: str = knob(
        "independent",
        label="Hottest model",
        choices=("independent", "uniform"),
        live=False,
        help="The model at 0: independent units with the rates of the data, or fair bits.",
    )

    def init(
        self, model: Model, seed: rng.Seed, v0: np.ndarray | None = None
    ) -> TemperedChain | Chains[TemperedChain]:
        """Return chains whose replicas all start at v0; see Sampler."""
        rbm, base = model.rbm, self._base(model)
        layers = kernels.chains.make_layers(rbm.W, rbm.b - base, rbm.c)
        burn_in = self.burn_in if self.spacing == "adapted" else 0

        def chain(c: int, v: np.ndarray, stream: np.ndarray) -> TemperedChain:
            others = (rng.kernel_state(seed, f"replicas of chain {c}", i) for i in range(self.n_replicas))
            streams = np.stack([stream, *others])
            return TemperedChain(rbm, kernels.tempering.start(layers, v, self.betas, base, streams, burn_in))

        numbered = enumerate(starts(self.n_chains, model, seed, v0))
        return one_or_many([chain(c, *started) for c, started in numbered])

    @property
    def betas(self) -> np.ndarray:
        """Inverse temperatures at the start, coldest first, float32 (n_replicas,)."""
        if self.spacing == "geometric":
            return np.geomspace(1, max(self.lowest, LOWEST_GEOMETRIC), self.n_replicas, dtype=np.float32)
        return np.linspace(1, self.lowest, self.n_replicas, dtype=np.float32)

    def _base(self, model: Model) -> np.ndarray:
        """Return the visible biases of the model at 0, float32; 0 where it is never reached."""
        if self.reference == "uniform" or self.n_replicas == 1:
            return np.zeros(model.rbm.n_visible, np.float32)
        if model.rates is None:
            return model.rbm.b.copy()  # not read-only, for which kernels would compile again
        rate = np.clip(model.rates.b.astype(np.float64), RATE_BOUND, 1 - RATE_BOUND)
        return np.log(rate / (1 - rate)).astype(np.float32)

    def step(self, state: TemperedChain | Chains[TemperedChain], n: int) -> Samples:
        """Advance the chains by n samples of k sweeps of every replica."""
        return interleave(self, state, n)

    def _step(self, chain: TemperedChain, n: int) -> Samples:
        v, p = np.empty((n, chain.rbm.n_visible), np.uint8), np.empty((n, chain.rbm.n_visible), np.float32)
        kernels.tempering.sample(chain.ladder, self.k, v, p)
        return Samples(v, p, {"sweeps": np.full(n, self.k * self.n_replicas)})

    def target(self, state: TemperedChain | Chains[TemperedChain]) -> RBM:
        """Return the model; see Sampler."""
        return next_chain(state).rbm

    def ladder(self, state: TemperedChain | Chains[TemperedChain]) -> LadderReport:
        """Return what the ladder of the chain that makes the next sample has done so far."""
        own = next_chain(state).ladder
        tried, taken, samples = own.tried[:-1], own.taken[:-1], int(own.samples[0])
        rates = np.divide(taken, tried, out=np.full(len(tried), np.nan), where=tried > 0)
        kept = np.arange(max(samples - len(own.path), 0), samples) % len(own.path)
        done = int(own.trips[0]), samples, int(own.burn_in[0])
        return LadderReport(own.beta.copy(), tried.copy(), rates, *done, own.path[kept])
