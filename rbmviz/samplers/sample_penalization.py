"""Sample penalization: each sample is made less likely, and nothing pulls back to the data."""

from typing import Any, ClassVar

import numpy as np

from rbmviz import kernels, rng
from rbmviz.knobs import knob
from rbmviz.rbm import Model
from rbmviz.registry import sampler
from rbmviz.samplers import Samples
from rbmviz.samplers.fast_weights import GIBBS_UNDER_FAST_WEIGHTS, DrivenChain, FastWeightKnobs, State
from rbmviz.samplers.shared_fast_weights import SharedFastWeights, gibbs_round
from rbmviz.samplers.symmetric_units import penalise, start_symmetric


@sampler(
    "sample_penalization",
    label="Sample penalization",
    colour="#b583b4",
    paper="rates-FPCD, section 4: sample penalization (SP)",
)
class SamplePenalization(FastWeightKnobs):
    """Gibbs under theta + theta_F, with theta_F <- alpha theta_F - eps s after each sample.

    The paper says that without decay the samples converge to a uniform distribution. That depends on the
    units of s. With units 0 and 1 they converge to the empty state instead: only active units contribute to
    s, so updates end only at s = 0. With units -1 and +1, s is never 0, all states are treated alike, and the
    limit is the uniform distribution.
    """

    exact_chain: ClassVar[bool] = False
    deterministic: ClassVar[bool] = False
    needs_rates: ClassVar[bool] = False
    kernel: ClassVar[str] = "driven"
    forms: ClassVar[dict[str, dict[str, Any]]] = {"driven in a history": {}}
    about: ClassVar[str] = (
        r"A Gibbs chain under $\theta + \theta_F$ that makes what it has just shown less likely: "
        r"$\theta_F \leftarrow \alpha\, \theta_F - \varepsilon\, s$ after each sample, with its statistics "
        r"$s = (v h^\top, v, h)$. Nothing pulls it back to the data. Without decay ($\alpha = 1$) the end "
        "depends on the units that $s$ is made of: with 0 and 1 only those that are on are penalised, and "
        "the chain ends at the empty image; with -1 and +1 it is the uniform distribution of the paper."
    )

    eps: float = knob(
        0.0003,
        1e-5,
        1.0,
        label="Step size",
        symbol=r"\varepsilon",
        scale="log",
        zero=True,
        front=True,
        help="How much less likely each sample becomes: the chain leaves its mode, and soon also the digits.",
    )
    alpha: float = knob(
        0.9,
        0.0,
        1.0,
        label="Decay",
        symbol=r"\alpha",
        front=True,
        help="Share of the penalty that stays: at 1 pictures end empty, or as noise with symmetric units.",
    )
    k: int = knob(
        1,
        1,
        100,
        label="Sweeps per sample",
        symbol="k",
        scale="log",
        help="Gibbs sweeps between two samples: more sweeps per penalty slow the drift down.",
    )
    units: str = knob(
        "binary",
        label="Units of the penalty",
        symbol="s",
        choices=("binary", "symmetric"),
        live=False,
        help="The values of the penalised units: with 0 and 1 the chain ends at the empty state, with -1 and "
        "+1 at the uniform distribution.",
    )
    share: bool = knob(
        False,
        label="Share the penalty",
        live=False,
        help="One penalty for all chains, by the mean of their statistics: what most of them have is "
        "avoided.",
    )

    @property
    def equation(self) -> tuple[str, ...]:
        """The formulas of a sample; see ``view.formulas``."""
        if self.units == "symmetric":
            s = [r"\knob{units} = (x y^\top,\ x,\ y)", r"x = 2v - 1,\ y = 2h - 1"]
        else:
            s = [r"\knob{units} = (v h^\top,\ v,\ h)"]
        return (
            *GIBBS_UNDER_FAST_WEIGHTS,
            r"\theta_F \leftarrow \knob{alpha}\, \theta_F - \knob{eps}\, \knob{units}",
            *s,
        )

    def init(self, model: Model, seed: rng.Seed, v0: np.ndarray | None = None) -> State:
        """Return chains started at v0 with theta_F = 0; see Sampler."""
        if self.units == "symmetric":
            return start_symmetric(self, model, seed, v0)
        return super().init(model, seed, v0)

    def _step(self, chain: DrivenChain, n: int) -> Samples:
        return Samples(*kernels.fast_weights.sample_chain(chain, n, self.eps, self.alpha, False, self.k))

    def _round(self, shared: SharedFastWeights) -> Samples:
        update = penalise if self.units == "symmetric" else None
        return gibbs_round(shared, self.eps, self.alpha, self.k, False, update)
