"""A sampler that is broken on purpose, in one of six ways: to see what finds it.

>>> samples = rbmviz.sample("bas_pcd", "broken:fault=temperature", n=5000)
>>> rbmviz.metrics.findings(samples, "bas_pcd", "bas").verdict
'found'

It is found by its name, but stands in no list of samplers.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from rbmviz import rng
from rbmviz.knobs import knob
from rbmviz.rbm import RBM, Model
from rbmviz.registry import sampler
from rbmviz.samplers import Samples, make_sampler
from rbmviz.samplers.interleave import starts

FAULTS = {
    "temperature": "Gibbs sampling at temperature 1.5",
    "stuck_unit": "the visible unit with the largest weights keeps its first value",
    "no_burn_in": "the chain cools from temperature 5 to 1 during its first 1,000 samples, which are kept",
    "one_mode": "a step that leads away from the start by more than an eighth of the bits is not made",
    "noise": "every bit is on with probability 1/2",
    "periodic": "the first 50 samples again and again",
}
"""What is wrong, by the value of the knob."""

TOO_HOT, HOTTEST, BURN_IN, MODE_SHARE, PERIOD = 1.5, 5.0, 1000, 1 / 8, 50


@lru_cache
def _gibbs(k: int, temperature: float = 1.0) -> Any:
    return make_sampler("gibbs", k=k, temperature=temperature)


@dataclass
class BrokenChain:
    """State of the chain: where it began, its samples so far, those that it repeats, and a Gibbs chain."""

    model: Model
    start: np.ndarray
    generator: np.random.Generator
    gibbs: Any
    n: int
    newest: np.ndarray
    repeated: np.ndarray


@sampler("broken", label="Broken on purpose", paper="none: what findings must find")
class Broken:
    """Gibbs sampling with a fault."""

    exact_chain: ClassVar[bool] = False
    deterministic: ClassVar[bool] = False
    needs_rates: ClassVar[bool] = False
    n_chains: ClassVar[int] = 1

    fault: str = knob(
        "temperature",
        choices=tuple(FAULTS),
        label="Fault",
        live=False,
        help="; ".join(f"{name}: {what}" for name, what in FAULTS.items()) + ".",
    )
    k: int = knob(1, 1, 100, label="Sweeps per sample", live=False, help="As for Gibbs.")

    def init(self, model: Model, seed: rng.Seed, v0: np.ndarray | None = None) -> BrokenChain:
        """Return a chain started at v0; see Sampler."""
        seed = rng.seed_sequence(seed)
        ((v, _),) = starts(1, model, seed, v0)
        if self.fault == "stuck_unit":
            b, i = model.rbm.b.copy(), int((model.rbm.W**2).sum(axis=1).argmax())
            b[i] = 1000.0 if v[i] else -1000.0
            model = Model(RBM(model.rbm.W, b, model.rbm.c))
        generator, gibbs = rng.generator(seed, "broken"), _gibbs(self.k).init(model, seed, v)
        return BrokenChain(model, v, generator, gibbs, 0, v, np.zeros((0, len(v)), np.uint8))

    def step(self, state: BrokenChain, n: int) -> Samples:
        """Advance the chain by n samples."""
        parts = []
        while n:
            v, p = getattr(self, f"_{self.fault}")(state, n)
            parts.append((v, p))
            state.n, n = state.n + len(v), n - len(v)
        m = len(state.start)
        v = np.concatenate([np.zeros((0, m), np.uint8), *(v for v, _ in parts)])
        p = np.concatenate([np.zeros((0, m), np.float32), *(p for _, p in parts)])
        return Samples(v, p, {"sweeps": np.full(len(v), self.k)})

    def target(self, state: BrokenChain) -> RBM:
        """Return the model, with the bias of a unit that is stuck."""
        return state.model.rbm

    # Each fault makes one or more of the next n samples and, if they have any, their means.

    def _temperature(self, state: BrokenChain, n: int) -> tuple[np.ndarray, np.ndarray]:
        drawn = _gibbs(self.k, TOO_HOT).step(state.gibbs, n)
        return drawn.v, drawn.p

    def _stuck_unit(self, state: BrokenChain, n: int) -> tuple[np.ndarray, np.ndarray]:
        drawn = _gibbs(self.k).step(state.gibbs, n)
        return drawn.v, drawn.p

    def _no_burn_in(self, state: BrokenChain, n: int) -> tuple[np.ndarray, np.ndarray]:
        left = BURN_IN - state.n
        temperature = 1 + (HOTTEST - 1) * max(left, 0) / BURN_IN
        drawn = _gibbs(self.k, temperature).step(state.gibbs, 1 if left > 0 else n)
        return drawn.v, drawn.p

    def _one_mode(self, state: BrokenChain, n: int) -> tuple[np.ndarray, np.ndarray]:
        v = _gibbs(self.k).step(state.gibbs, 1).v
        if (v[0] != state.start).sum() > MODE_SHARE * len(state.start):
            v = state.newest[None]
            state.gibbs = _gibbs(self.k).init(state.model, state.generator, state.newest)
        state.newest = v[0].copy()
        return v, v.astype(np.float32)

    def _noise(self, state: BrokenChain, n: int) -> tuple[np.ndarray, np.ndarray]:
        # A sample at a time: numpy draws bytes in fours, so that the division into steps would count.
        v = state.generator.integers(0, 2, (1, len(state.start)), dtype=np.uint8) ^ state.start
        return v, np.full(v.shape, 0.5, np.float32)

    def _periodic(self, state: BrokenChain, n: int) -> tuple[np.ndarray, np.ndarray]:
        if state.n < PERIOD:
            v = _gibbs(self.k).step(state.gibbs, min(n, PERIOD - state.n)).v
            state.repeated = np.concatenate([state.repeated, v])
        else:
            v = state.repeated[np.arange(state.n, state.n + n) % PERIOD]
        return v, v.astype(np.float32)
