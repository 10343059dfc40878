"""Block Gibbs sampling: the baseline, and the simplest sampler with a kernel."""

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
    preactivations,
    starts,
)


@dataclass
class GibbsChain:
    """State of one Gibbs chain; see the arguments of ``kernels.gibbs.gibbs``."""

    v: np.ndarray
    h: np.ndarray
    up: "kernels.layers.PreActivation"
    down: "kernels.layers.PreActivation"
    v_flips: "kernels.layers.Flips"
    h_flips: "kernels.layers.Flips"
    stream: np.ndarray
    sweeps: np.ndarray


@sampler("gibbs", label="Gibbs", colour="#2372a0", paper="rates-FPCD, section 5.1: the standard procedure")
class Gibbs(ChainKnobs):
    """Alternate h ~ p(h|v) and v ~ p(v|h); every pre-activation is divided by the temperature."""

    exact_chain: ClassVar[bool] = True  # at temperature 1
    deterministic: ClassVar[bool] = False
    needs_rates: ClassVar[bool] = False
    kernel: ClassVar[str] = "gibbs"
    about: ClassVar[str] = (
        r"The standard way to sample an RBM. A sweep draws all hidden units from $p(h \mid v)$, then all "
        r"pixels from $p(v \mid h)$. In the long run its samples follow the model, but a move from one "
        "mode to another may take longer than anybody waits. With a temperature $T$ the chain samples the "
        r"model with the parameters $\theta / T$."
    )
    equation: ClassVar[tuple[str, ...]] = (
        r"h \sim p(h \mid v;\ \theta / \knob{temperature})",
        r"v \sim p(v \mid h;\ \theta / \knob{temperature})",
        r"\knob{k}\ \text{sweeps a sample}",
    )

    temperature: float = knob(
        1.0,
        0.1,
        10.0,
        label="Temperature",
        symbol="T",
        scale="log",
        front=True,
        help="Divides every activation: above 1 the chain leaves its mode faster, and the digits blur.",
    )
    k: int = knob(
        1,
        1,
        100,
        label="Sweeps per sample",
        symbol="k",
        scale="log",
        help="Gibbs sweeps between two samples: see how little even 100 help a chain that sticks.",
    )

    def init(
        self, model: Model, seed: rng.Seed, v0: np.ndarray | None = None
    ) -> GibbsChain | Chains[GibbsChain]:
        """Return chains started at v0; see Sampler."""
        rbm = model.rbm
        up, down = preactivations(rbm)

        def start(v: np.ndarray, stream: np.ndarray) -> GibbsChain:
            chain = GibbsChain(
                v=v,
                h=np.zeros(rbm.n_hidden, np.uint8),
                up=kernels.layers.share_preactivation(up),
                down=kernels.layers.share_preactivation(down),
                v_flips=kernels.layers.make_flips(rbm.n_visible),
                h_flips=kernels.layers.make_flips(rbm.n_hidden),
                stream=stream,
                sweeps=np.zeros(1, np.int64),
            )
            kernels.layers.start_at_input(chain.v_flips, v, chain.up)
            return chain

        return one_or_many([start(v, stream) for v, stream in starts(self.n_chains, model, seed, v0)])

    def step(self, state: GibbsChain | Chains[GibbsChain], n: int) -> Samples:
        """Advance the chains by n samples of k sweeps each."""
        return interleave(self, state, n)

    def _step(self, chain: GibbsChain, n: int) -> Samples:
        v, p = np.empty((n, len(chain.v)), np.uint8), np.empty((n, len(chain.v)), np.float32)
        state = chain.up, chain.down, chain.v, chain.h, chain.v_flips, chain.h_flips
        mean_h, beta = np.empty(len(chain.h), np.float32), np.float32(1.0 / self.temperature)
        kernels.gibbs.gibbs(*state, chain.stream, chain.sweeps, beta, self.k, mean_h, v, p)
        return Samples(v, p, {"sweeps": np.full(n, self.k)})

    def target(self, state: GibbsChain | Chains[GibbsChain]) -> RBM:
        """Return theta / T; see Sampler."""
        chain = next_chain(state)
        m, n = len(chain.v), len(chain.h)
        W, b, c = chain.up.weights[:m, :n], chain.down.bias[:m], chain.up.bias[:n]
        return RBM(W / self.temperature, b / self.temperature, c / self.temperature)
