"""Block Gibbs sampling: the baseline, and the simplest sampler with a kernel."""

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from rbmviz import kernels, rng
from rbmviz.knobs import knob
from rbmviz.rbm import RBM, Model
from rbmviz.registry import sampler
from rbmviz.samplers import Samples
from rbmviz.samplers.interleave import ChainKnobs, groups_of, on_threads, preactivations, starts


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


@dataclass
class GibbsChains:
    """State of many chains, in groups that advance together; see ``kernels.chains``.

    groups : list of tuple
        Numbers of the chains, their hidden and visible layers, and their random streams.
    n : int
        Samples of all chains so far.
    """

    rbm: RBM
    groups: "list[tuple[np.ndarray, kernels.chains.Layer, kernels.chains.Layer, np.ndarray]]"
    n: int = 0


@sampler("gibbs", label="Gibbs", colour="#2372a0", paper="rates-FPCD, section 5.1: the standard procedure")
class Gibbs(ChainKnobs):
    """Alternate h ~ p(h|v) and v ~ p(v|h); every pre-activation is divided by the temperature."""

    exact_chain: ClassVar[bool] = True  # at temperature 1
    deterministic: ClassVar[bool] = False
    needs_rates: ClassVar[bool] = False
    kernel: ClassVar[str] = "gibbs"
    forms: ClassVar[dict[str, dict[str, Any]]] = {"gibbs": {}, "gibbs in tiles": {"n_chains": 2}}
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

    @property
    def form(self) -> str:
        """Name of the compiled form that these knobs need."""
        return "gibbs" if self.n_chains == 1 else "gibbs in tiles"

    def init(self, model: Model, seed: rng.Seed, v0: np.ndarray | None = None) -> GibbsChain | GibbsChains:
        """Return chains started at v0; see Sampler."""
        rbm = model.rbm
        v, streams = map(np.stack, zip(*starts(self.n_chains, model, seed, v0), strict=True))
        if self.n_chains > 1:
            layers, groups = kernels.chains.make_layers(rbm.W, rbm.b, rbm.c), groups_of(self.n_chains)
            return GibbsChains(rbm, [(g, *kernels.chains.start(layers, v[g]), streams[g]) for g in groups])
        up, down = map(kernels.layers.share_preactivation, preactivations(rbm))
        h, sweeps = np.zeros(rbm.n_hidden, np.uint8), np.zeros(1, np.int64)
        v_flips, h_flips = map(kernels.layers.make_flips, rbm.W.shape)
        chain = GibbsChain(v[0], h, up, down, v_flips, h_flips, streams[0], sweeps)
        kernels.layers.start_at_input(chain.v_flips, chain.v, up)
        return chain

    def step(self, state: GibbsChain | GibbsChains, n: int) -> Samples:
        """Advance the chains by n samples of k sweeps each."""
        m = state.rbm.n_visible if isinstance(state, GibbsChains) else len(state.v)
        beta = np.float32(1.0 / self.temperature)
        v, p = np.empty((n, m), np.uint8), np.empty((n, m), np.float32)
        if isinstance(state, GibbsChains):
            self._step_all(state, beta, v, p)
        else:
            chain = state.up, state.down, state.v, state.h, state.v_flips, state.h_flips
            mean_h = np.empty(len(state.h), np.float32)
            kernels.gibbs.gibbs(*chain, state.stream, state.sweeps, beta, self.k, mean_h, v, p)
        return Samples(v, p, {"sweeps": np.full(n, self.k)})

    def _step_all(self, state: GibbsChains, beta: np.float32, v: np.ndarray, p: np.ndarray) -> None:
        chains = sum(len(numbers) for numbers, *_ in state.groups)
        rounds, more = divmod(len(v), chains)  # samples of each chain, and chains with one more
        next_chain, (m, n) = state.n % chains, state.rbm.W.shape
        no_c, no_b = np.zeros(n, np.float32), np.zeros(m, np.float32)  # in the pre-activations already

        def advance(group: Any) -> None:
            numbers, *layers = group
            turn, mean_h = (numbers - next_chain) % chains, np.empty((len(numbers), n), np.float32)
            scale = np.full(len(numbers), beta)
            sample = partial(kernels.chains.sample, *layers, scale, no_c, no_b, mean_h, self.k)
            if rounds:
                sample(rounds, 0, len(numbers), turn, chains, v, p)
            for begin in (next_chain - numbers[0], next_chain - chains - numbers[0]):
                first, last = max(begin, 0), min(begin + more, len(numbers))
                if first < last:
                    sample(1, first, last, turn + rounds * chains, chains, v, p)

        on_threads(advance, state.groups, len(v))
        state.n += len(v)

    def target(self, state: GibbsChain | GibbsChains) -> RBM:
        """Return theta / T; see Sampler."""
        if isinstance(state, GibbsChains):
            W, b, c = state.rbm.W, state.rbm.b, state.rbm.c
        else:
            m, n = len(state.v), len(state.h)
            W, b, c = state.up.weights[:m, :n], state.down.bias[:m], state.up.bias[:n]
        return RBM(W / self.temperature, b / self.temperature, c / self.temperature)
