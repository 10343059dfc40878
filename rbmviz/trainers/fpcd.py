"""Fast persistent contrastive divergence: the chains see fast weights that push them on."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from rbmviz import rng
from rbmviz.rbm import RBM
from rbmviz.registry import trainer
from rbmviz.trainers import Progress, parts


@dataclass
class FastWeightSource:
    """Persistent chains, and the fast parameters theta_F under which they move."""

    chains: np.ndarray = field(metadata=parts.stored(bits=True))
    fast: parts.Parameters


@trainer("fpcd", label="FPCD", paper="Tieleman, Hinton (2009); rates-FPCD, section 2")
class FPCD:
    """PCD whose chains run under theta + theta_F, with theta_F <- alpha theta_F + eps_fast g.

    g is the gradient of the slow update; with eps_fast = 0 this is PCD, bit for bit.
    """

    chains: ClassVar[str] = "driven"
    inner: ClassVar[dict[str, str]] = {"fast_norm": "Norm of the fast weights"}

    k: int = parts.k()
    learning_rate: float = parts.learning_rate(0.01)
    schedule: str = parts.schedule("linear")
    iterations: int = parts.iterations()
    momentum: float = parts.momentum()
    weight_decay: float = parts.weight_decay()
    batch_size: int = parts.batch_size()
    average: bool = parts.average()
    box: float = parts.box()
    n_chains: int = parts.n_chains()
    eps_fast: float = parts.eps_fast()
    alpha: float = parts.alpha()

    def init(self, rbm: RBM, data: np.ndarray, seed: rng.Seed) -> parts.State:
        """Return the state of a training that begins at ``rbm``; see Trainer."""
        chains = parts.random_chains(self.n_chains, rbm.n_visible, seed)
        state = parts.start(self, rbm, data, seed)
        state.source = FastWeightSource(chains, parts.zeros_like(state.theta))
        return state

    def state_bytes(self, n_visible: int, n_hidden: int) -> int:
        """Return the bytes of the state; see Trainer."""
        fast = parts.parameter_bytes(n_visible, n_hidden)
        return parts.state_bytes(n_visible, n_hidden, parts.chain_bytes(self.n_chains, n_visible) + fast)

    def negative(self, state: parts.State, theta: parts.Fixed, data: np.ndarray) -> parts.Parameters:
        """Return the negative statistics of one update; see Trainer."""
        source: FastWeightSource = state.source
        together = parts.Fixed(*parts.plus(theta, source.fast))
        for _ in range(self.k):
            source.chains = parts.sweep(together, source.chains, state.rng)
        state.samples = source.chains
        return parts.statistics(source.chains, parts.mean_hidden(together, source.chains))

    def step(self, state: parts.State, n: int) -> Progress:
        """Advance by n updates."""
        alpha, eps_fast = np.float32(self.alpha), np.float32(self.eps_fast)
        fast_weights = state.source.fast
        for gradient in parts.updates(self, state, n):
            for fast, g in zip(fast_weights, gradient, strict=True):
                fast *= alpha
                fast += eps_fast * g
        return parts.progress(self, state, fast_norm=parts.norm(fast_weights))
