"""Rates-FPCD: a Gibbs chain pushed away from where it has just been, and pulled to the data's rates."""

from typing import Any, ClassVar

from rbmviz import kernels
from rbmviz.knobs import knob
from rbmviz.registry import sampler
from rbmviz.samplers import Samples
from rbmviz.samplers.fast_weights import GIBBS_UNDER_FAST_WEIGHTS, DrivenChain, FastWeightKnobs
from rbmviz.samplers.shared_fast_weights import SharedFastWeights, gibbs_round


@sampler(
    "rates_fpcd",
    label="rates-FPCD",
    colour="#bd4c0c",
    paper="rates-FPCD, section 4, algorithm 2: FPCD with fixed rates",
)
class RatesFPCD(FastWeightKnobs):
    """Gibbs under theta + theta_F, with theta_F <- alpha theta_F + eps (R - s) after each sample.

    R are the training set's rates, s = (v h', v, h) the sample's statistics. With eps = 0 this is Gibbs
    sampling, bit for bit.
    """

    exact_chain: ClassVar[bool] = False
    deterministic: ClassVar[bool] = False
    needs_rates: ClassVar[bool] = True
    kernel: ClassVar[str] = "driven"
    forms: ClassVar[dict[str, dict[str, Any]]] = {
        "driven in rows": {},
        "driven in a history": {"alpha": 0.9},
        "shared": {"statistics": "mean", "n_chains": 2, "share": True},
    }
    about: ClassVar[str] = (
        "A Gibbs chain that is pushed away from where it has just been, and pulled back to the mean of the "
        r"data. It runs under $\theta + \theta_F$. After each sample, with statistics $s = (v h^\top, v, "
        r"h)$, the fast parameters move: $\theta_F \leftarrow \alpha\, \theta_F + \varepsilon\, (R - s)$, "
        r"where $R$ are the mean statistics of the training set. With $\varepsilon = 0$ this is Gibbs "
        "sampling."
    )

    eps: float = knob(
        0.03,
        1e-4,
        1.0,
        label="Step size",
        symbol=r"\varepsilon",
        scale="log",
        zero=True,
        front=True,
        help="How hard each sample pushes the chain away from itself: larger moves faster, and spoils more.",
    )
    alpha: float = knob(
        1.0,
        0.0,
        1.0,
        label="Decay",
        symbol=r"\alpha",
        front=True,
        help="Share of the push that stays after each sample: 1 samples best, 0.95 already forgets too soon.",
    )
    k: int = knob(
        1,
        1,
        100,
        label="Sweeps per sample",
        symbol="k",
        scale="log",
        help="Gibbs sweeps between two samples: more give cleaner samples, and fewer pushes per sweep.",
    )
    statistics: str = knob(
        "sampled",
        label="Statistics",
        symbol="s",
        choices=("sampled", "mean"),
        help="The h of each push: the drawn bits, or their means, which push more smoothly and cost more.",
    )

    @property
    def equation(self) -> tuple[str, ...]:
        """The formulas of a sample; see ``view.formulas``."""
        h = "h" if self.statistics == "sampled" else r"\mathbb{E}[h \mid v]"
        return (
            *GIBBS_UNDER_FAST_WEIGHTS,
            r"\theta_F \leftarrow \knob{alpha}\, \theta_F + \knob{eps}\, (R - \knob{statistics})",
            rf"\knob{{statistics}} = (v\, {h}^\top,\ v,\ {h})",
        )

    def _step(self, chain: DrivenChain, n: int) -> Samples:
        mean = self.statistics == "mean"
        return Samples(*kernels.fast_weights.sample_chain(chain, n, self.eps, self.alpha, mean, self.k))

    def _round(self, shared: SharedFastWeights) -> Samples:
        return gibbs_round(shared, self.eps, self.alpha, self.k, self.statistics == "mean")
