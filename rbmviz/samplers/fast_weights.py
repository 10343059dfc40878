"""Code shared by the samplers with fast weights: starts, samples, and the model they sample from.

``kernels.fast_weights`` describes how theta_F is stored.
"""

from dataclasses import dataclass
from typing import Any, TypeAlias, Union

import numpy as np

from rbmviz import kernels, rng
from rbmviz.errors import BadInput
from rbmviz.files.budget import check_machine
from rbmviz.knobs import knob, values_of
from rbmviz.rbm import RBM, Model, Statistics
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
from rbmviz.samplers.shared_fast_weights import Rounds, start_shared, step_rounds

DrivenChain: TypeAlias = "kernels.fast_weights.DrivenChain"
State = Union[DrivenChain, Chains[DrivenChain], Rounds]  # noqa: UP007, a text has no "|"

GIBBS_UNDER_FAST_WEIGHTS = (
    r"h \sim p(h \mid v;\ \theta + \theta_F)",
    r"v \sim p(v \mid h;\ \theta + \theta_F)",
    r"\knob{k}\ \text{sweeps, then}",
)
"""The first formulas of a Gibbs chain with fast parameters, see ``view.formulas``."""


@dataclass(frozen=True, kw_only=True)
class FastWeightKnobs(ChainKnobs):
    """The knobs that all samplers with fast weights share."""

    share: bool = knob(
        False,
        label="Share the push",
        live=False,
        help="One push for all chains, by their mean: a crowd that looks like the data is hardly pushed.",
    )

    @property
    def form(self) -> str:
        """Name of the compiled form that these knobs need: how theta_F is stored, see ``Sampler``."""
        if self.share and self.n_chains > 1:
            return "shared"
        knobs: dict[str, Any] = values_of(self)
        mean = knobs.get("statistics") == "mean"
        in_rows = mean or not kernels.fast_weights.history_length_of(knobs["alpha"])
        return f"{type(self).kernel} in {'rows' if in_rows else 'a history'}"  # type: ignore[attr-defined]

    def init(self, model: Model, seed: rng.Seed, v0: np.ndarray | None = None) -> State:
        """Return chains started at v0 with theta_F = 0; see Sampler."""
        name, needs_rates = type(self).name, type(self).needs_rates  # type: ignore[attr-defined]
        return start_driven(self, model, rates_of(model, name) if needs_rates else None, seed, v0)

    def step(self, state: State, n: int) -> Samples:
        """Advance the chains by n samples, and theta_F after every one."""
        return step_rounds(self, state, n) if isinstance(state, Rounds) else interleave(self, state, n)

    def target(self, state: State) -> RBM:
        """Return theta + theta_F of the next sample; for shared theta_F, of the next round."""
        if isinstance(state, Rounds):
            return state.target()
        return RBM(*kernels.fast_weights.current_parameters(next_chain(state)))


def start_driven(
    sampler: Any, model: Model, rates: Statistics | None, seed: rng.Seed, v0: np.ndarray | None
) -> State:
    """Return chains at v0 (or random bits) with theta_F = 0; R is 0 without rates.

    With a single chain the knob ``share`` has no effect.
    """
    rbm = model.rbm
    R = (
        (rates.W, rates.b, rates.c)
        if rates
        else (np.zeros_like(rbm.W), np.zeros_like(rbm.b), np.zeros_like(rbm.c))
    )
    if sampler.share and sampler.n_chains > 1:
        return Rounds([start_shared(model, R, sampler.n_chains, seed, v0)])
    check_own_weights(sampler, rbm)
    of_theta = preactivations(rbm)
    of_R = (
        preactivations(rates)
        if rates
        else (
            kernels.layers.zero_preactivation(*rbm.W.shape),
            kernels.layers.zero_preactivation(*rbm.W.T.shape),
        )
    )
    R_R = sum(float(np.sum(np.square(part, dtype=np.float64))) for part in R)
    chain_starts = starts(sampler.n_chains, model, seed, v0)
    return one_or_many(
        [kernels.fast_weights.make_chain(v, stream, of_theta, of_R, R_R) for v, stream in chain_starts]
    )


def check_own_weights(sampler: Any, rbm: RBM) -> None:
    """Refuse chains whose own fast weights do not fit into this machine's memory."""
    needed = 8 * rbm.W.size * sampler.n_chains  # M both ways
    what = f"{sampler.name}: {sampler.n_chains} chains with their own fast weights"
    check_machine(what, needed, "take fewer chains, or let them share (share = true)")


def follow_norm(state: Any) -> Any:
    """Return fresh chains, which from now on trace |theta_F| as ``fast_norm`` at a quarter more time.

    Other samplers' chains have none, and those that share theta_F always trace it.
    """
    for chain in state.each if isinstance(state, Chains) else [state]:
        if isinstance(chain, kernels.fast_weights.DrivenChain):
            if chain.scalars[0].samples:
                raise ValueError("follow_norm: the chain has made samples, without their norms")
            chain.scalars[0].norm_followed = True
    return state


def rates_of(model: Model, sampler: str) -> Statistics:
    """Return the model's rates, or raise BadInput if it has none."""
    if model.rates is None:
        raise BadInput(
            f"{sampler} needs the rates of the model's training set and this model file has none: "
            "'rbmviz export-model --model FILE --dataset DATA --out NEW' computes them, and RBM.rates(data) "
            "in Python; or choose gibbs or sample_penalization."
        )
    return model.rates
