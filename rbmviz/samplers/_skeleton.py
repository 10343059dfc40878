"""A sampler in plain numpy to copy: block Gibbs sampling, k sweeps per sample. It is not registered."""

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
class SkeletonChain:
    """State of one chain: the model, v uint8 (n_visible,), and its random generator."""

    rbm: RBM
    v: np.ndarray
    generator: np.random.Generator


@sampler("skeleton", label="Skeleton", paper="the paper, its section, its equation")
class Skeleton(ChainKnobs):
    """Draw h ~ p(h|v), then v ~ p(v|h): describe a sample in one line here."""

    exact_chain: ClassVar[bool] = True
    deterministic: ClassVar[bool] = False
    needs_rates: ClassVar[bool] = False
    equation: ClassVar[tuple[str, ...]] = (
        r"h \sim p(h \mid v)",
        r"v \sim p(v \mid h)",
        r"\knob{k}\ \text{sweeps}",
    )

    k: int = knob(1, 1, 100, label="Sweeps per sample", symbol="k", scale="log", help="Say what to look for.")

    def init(
        self, model: Model, seed: rng.Seed, v0: np.ndarray | None = None
    ) -> SkeletonChain | Chains[SkeletonChain]:
        """Return chains started at v0; see Sampler."""
        # ``starts`` also yields a random stream for kernels, which numpy does not need.
        numbered = enumerate(starts(self.n_chains, model, seed, v0))
        return one_or_many(
            [SkeletonChain(model.rbm, v, rng.generator(seed, "skeleton", c)) for c, (v, _) in numbered]
        )

    def step(self, state: SkeletonChain | Chains[SkeletonChain], n: int) -> Samples:
        """Advance the chains by n samples of k sweeps each."""
        return interleave(self, state, n)

    def _step(self, chain: SkeletonChain, n: int) -> Samples:
        v, p = np.empty((n, len(chain.v)), np.uint8), np.empty((n, len(chain.v)), np.float32)
        for t in range(n):
            for _ in range(self.k):
                h = chain.generator.random(chain.rbm.n_hidden) < chain.rbm.mean_hidden(chain.v)
                p[t] = chain.rbm.mean_visible(h)
                chain.v[:] = chain.generator.random(len(p[t])) < p[t]
            v[t] = chain.v
        return Samples(v, p, {"sweeps": np.full(n, self.k)})

    def target(self, state: SkeletonChain | Chains[SkeletonChain]) -> RBM:
        """Return the model that the next sample is drawn from."""
        return next_chain(state).rbm
