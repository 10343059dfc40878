"""Metropolis sampling that proposes to flip one visible unit at a time: a whole sampler in plain numpy."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rbmviz import rng
from rbmviz.knobs import knob
from rbmviz.rbm import RBM, Model
from rbmviz.registry import sampler
from rbmviz.samplers import Samples
from rbmviz.samplers.interleave import ChainKnobs, Chains, interleave, next_chain, one_or_many, starts


@dataclass
class Walk:
    """State of one chain: the model, v uint8 (n_visible,), its free energy, its random numbers."""

    rbm: RBM
    v: np.ndarray
    energy: float
    generator: np.random.Generator


@sampler("metropolis", label="Metropolis", paper="Metropolis et al. (1953)")
class Metropolis(ChainKnobs):
    """Flip one visible unit at a time, accepted with probability min(1, exp(F(v) - F(v')))."""

    exact_chain: ClassVar[bool] = True
    deterministic: ClassVar[bool] = False
    needs_rates: ClassVar[bool] = False
    equation: ClassVar[tuple[str, ...]] = (
        r"\Pr(v \to v') = \min(1,\, e^{F(v) - F(v')})",
        r"\knob{flips}\ \text{proposals a sample}",
    )

    flips: int = knob(
        16,
        1,
        10_000,
        label="Flips per sample",
        symbol="m",
        scale="log",
        help="Proposals between two samples: with few of them neighbouring samples are nearly the same.",
    )

    def init(self, model: Model, seed: rng.Seed, v0: np.ndarray | None = None) -> Walk | Chains[Walk]:
        """Return chains started at v0; see Sampler."""
        rbm = model.rbm
        begins = enumerate(starts(self.n_chains, model, seed, v0))
        return one_or_many(
            [
                Walk(rbm, v, float(rbm.free_energy(v)), rng.generator(seed, "metropolis", c))
                for c, (v, _) in begins
            ]
        )

    def step(self, state: Walk | Chains[Walk], n: int) -> Samples:
        """Advance the chains by n samples."""
        return interleave(self, state, n)

    def _step(self, walk: Walk, n: int) -> Samples:
        v = np.empty((n, len(walk.v)), np.uint8)
        for row in v:
            for _ in range(self.flips):
                self._propose(walk)
            row[:] = walk.v
        return Samples(v, v.astype(np.float32), {"sweeps": np.full(n, -(-self.flips // len(walk.v)))})

    def _propose(self, walk: Walk) -> None:
        unit = walk.generator.integers(len(walk.v))
        walk.v[unit] ^= 1
        energy = float(walk.rbm.free_energy(walk.v))
        # The logarithm of a uniform number is minus an exponential one.
        if -walk.generator.exponential() < walk.energy - energy:
            walk.energy = energy
        else:
            walk.v[unit] ^= 1

    def target(self, state: Walk | Chains[Walk]) -> RBM:
        """Return the model that the next sample is drawn from."""
        return next_chain(state).rbm
