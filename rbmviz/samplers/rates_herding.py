"""Rates-herding: the chain at temperature 0 climbs from mode to mode, driven by the data's rates."""

from typing import Any, ClassVar

from rbmviz import kernels
from rbmviz.knobs import knob
from rbmviz.registry import sampler
from rbmviz.samplers import Samples
from rbmviz.samplers.fast_weights import DrivenChain, FastWeightKnobs
from rbmviz.samplers.shared_fast_weights import SharedFastWeights, herding_round


@sampler(
    "rates_herding",
    label="rates-herding",
    colour="#06a781",
    paper="rates-FPCD, section 4, algorithm 2: herding with fixed rates",
)
class RatesHerding(FastWeightKnobs):
    """Climb to a mode of theta + theta_F, emit it, theta_F <- alpha theta_F + eps (R - s).

    h and v are set in turn until v no longer changes: a unit becomes 1 if its pre-activation is above 0, else
    0. No random numbers are used, so p is v. Chains that share theta_F and have met stay equal forever: start
    them at different states, and expect fewer distinct chains in the end.
    """

    exact_chain: ClassVar[bool] = False
    deterministic: ClassVar[bool] = True
    needs_rates: ClassVar[bool] = True
    kernel: ClassVar[str] = "herding"
    forms: ClassVar[dict[str, dict[str, Any]]] = {
        "herding in rows": {},
        "herding in a history": {"alpha": 0.9},
    }
    about: ClassVar[str] = (
        r"A walk that climbs to a mode of $\theta + \theta_F$, setting each unit to its likelier value "
        r"until nothing changes, shows that mode, and then unlearns it: $\theta_F \leftarrow \alpha\, "
        r"\theta_F + \varepsilon\, (R - s)$, where $s$ are the statistics of the sample and $R$ those of "
        "the training set. Nothing is left to chance after the start."
    )
    equation: ClassVar[tuple[str, ...]] = (
        r"h \leftarrow [\, c + W^\top v > 0 \,]",
        r"v \leftarrow [\, b + W h > 0 \,]",
        r"\text{at}\ \theta + \theta_F,\ \text{at most}\ \knob{max_sweeps}\ \text{sweeps, then}",
        r"\theta_F \leftarrow \knob{alpha}\, \theta_F + \knob{eps}\, (R - s)",
        r"s = (v h^\top,\ v,\ h)",
    )

    eps: float = knob(
        0.03,
        1e-4,
        10.0,
        label="Step size",
        symbol=r"\varepsilon",
        scale="log",
        zero=True,
        front=True,
        help="How far each mode is pushed down: large steps reach more modes soon, and some no data have.",
    )
    alpha: float = knob(
        1.0,
        0.0,
        1.0,
        label="Decay",
        symbol=r"\alpha",
        front=True,
        help="Share of the push that stays: far below 1 the walk ends in a cycle, or in one state.",
    )
    max_sweeps: int = knob(
        50,
        1,
        1000,
        label="Most sweeps",
        symbol=r"k_{\max}",
        scale="log",
        help="Climbing stops after this many sweeps: watch sweeps per sample to see whether it ever has to.",
    )

    def _step(self, chain: DrivenChain, n: int) -> Samples:
        climb = kernels.fast_weights.climb_chain
        return Samples(*climb(chain, n, self.eps, self.alpha, self.max_sweeps))

    def _round(self, shared: SharedFastWeights) -> Samples:
        return herding_round(shared, self.eps, self.alpha, self.max_sweeps)
