"""Code shared by the samplers with fast weights: starts, samples, and the model they sample from.

``kernels.fast_weights`` describes how theta_F is stored.
"""

from dataclasses import dataclass
from typing import Any, TypeAlias, Union

import numpy as np

from rbmviz import kernels, rng
from rbmviz.errors import BadInput
from rbmviz.knobs import knob, values_of
from rbmviz.rbm import RBM, Model, Statistics
from rbmviz.samplers import machine_memory
from rbmviz.samplers.interleave import (
    ChainKnobs,
    Chains,
    next_chain,
    one_or_many,
    preactivations,
    starts,
)
from rbmviz.samplers.shared_fast_weights import SharedFastWeights, start_shared, target

DrivenChain: TypeAlias = "kernels.fast_weights.DrivenChain"
State = Union[DrivenChain, Chains[DrivenChain], SharedFastWeights]  # noqa: UP007, a text has no "|"

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
        return start_shared(model, R, sampler.n_chains, seed, v0)
    needed, memory = 8 * rbm.W.size * sampler.n_chains, machine_memory()  # M both ways
    if needed > memory / 2:
        raise BadInput(
            f"{sampler.name}: {sampler.n_chains} chains with their own fast weights need "
            f"{needed / 1e9:,.1f} GB, more than half of this machine's {memory / 1e9:,.1f} GB: "
            f"take fewer chains, or let them share (share = true)."
        )
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


def target_of(state: State) -> RBM:
    """Return the model of the next chain's sample, theta + theta_F; for shared theta_F, of the next round."""
    if isinstance(state, SharedFastWeights):
        return target(state)
    return RBM(*kernels.fast_weights.current_parameters(next_chain(state)))


def rates_of(model: Model, sampler: str) -> Statistics:
    """Return the model's rates, or raise BadInput if it has none."""
    if model.rates is None:
        raise BadInput(
            f"{sampler} needs the rates of the model's training set and this model file has none: "
            "'rbmviz export-model --model FILE --dataset DATA --out NEW' computes them, and RBM.rates(data) "
            "in Python; or choose gibbs or sample_penalization."
        )
    return model.rates
