"""What the samplers with fast parameters share: the state of a chain whose parameters move."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from rbmviz import rng
from rbmviz.errors import BadInput
from rbmviz.kernels import fast_weights as kernels
from rbmviz.kernels.gibbs import find_flips, make_affine, rebuild
from rbmviz.kernels.window import Window, make_window
from rbmviz.knobs import knob
from rbmviz.rbm import RBM, Model, Statistics
from rbmviz.samplers import Samples, chains, machine_memory
from rbmviz.samplers.chains import Chains
from rbmviz.samplers.crowd import Crowd, start_crowd, target


@dataclass
class Chain:
    """v, h, the kept pre-activations both ways, the newest samples, the scalars, the random stream."""

    v: np.ndarray
    h: np.ndarray
    up: kernels.Direction
    down: kernels.Direction
    window: Window
    clock: kernels.Clock
    rng: np.ndarray


State = Chain | Chains[Chain] | Crowd


def share() -> Any:
    """Knob: one theta_F for all chains; a dataclass field belongs to one class, hence a function."""
    text = (
        "One push for all chains, by their mean: a crowd that already looks like the data is hardly pushed."
    )
    return knob(False, label="Share the push", live=False, help=text)


def start(
    sampler: Any, model: Model, rates: Statistics | None, seed: rng.Seed, v0: np.ndarray | None
) -> State:
    """Return chains at v0 (or random bits) with theta_F = 0; rates None: nothing pulls back (R = 0).

    One chain shares its theta_F with nobody: with ``share`` or without, it is the same chain.
    """
    rbm = model.rbm
    R = (
        (rates.W, rates.b, rates.c)
        if rates
        else (np.zeros_like(rbm.W), np.zeros_like(rbm.b), np.zeros_like(rbm.c))
    )
    if sampler.share and sampler.n_chains > 1:
        return start_crowd(model, R, sampler.n_chains, seed, v0)
    needed, memory = 8 * rbm.W.size * sampler.n_chains, machine_memory()  # M both ways
    if needed > memory / 2:
        raise BadInput(
            f"{sampler.name}: {sampler.n_chains} chains with fast weights of their own need "
            f"{needed / 1e9:,.1f} GB, more than half of this machine's {memory / 1e9:,.1f} GB: "
            f"give fewer, or let them share."
        )
    R_W, R_b, R_c = R
    up_theta, up_rates = make_affine(rbm.W, rbm.c), make_affine(R_W, R_c)
    down_theta, down_rates = make_affine(rbm.W.T, rbm.b), make_affine(R_W.T, R_b)

    def chain(v: np.ndarray, stream: np.ndarray) -> Chain:
        up = kernels.make_direction(up_theta, up_rates, rbm.n_hidden)
        down = kernels.make_direction(down_theta, down_rates, rbm.n_visible)
        find_flips(up.flips, v)
        for affine in (up.theta, up.rates, up.fast):
            rebuild(affine, up.flips)
        h, window = np.zeros(rbm.n_hidden, np.uint8), make_window(*rbm.W.shape)
        return Chain(v, h, up, down, window, kernels.make_clock(R), stream)

    return chains.gather([chain(*of) for of in chains.starts(sampler.n_chains, model, seed, v0)])


def pieces(chain: Chain, n: int, eps: float, alpha: float, mean_field: bool) -> Iterator[slice]:
    """Cut the next n samples where the chain has to be prepared anew, and prepare it."""
    at = 0
    while at < n:
        allowed = kernels.prepare(chain.up, chain.down, chain.window, chain.clock, eps, alpha, mean_field)
        yield slice(at, min(n, at + allowed))
        at += allowed


def driven_gibbs(chain: Chain, n: int, eps: float, alpha: float, mean_field: bool, k: int) -> Samples:
    """Make n samples of k sweeps each, and the step of theta_F after every one."""
    v = np.empty((n, len(chain.v)), np.uint8)
    p = np.empty((n, len(chain.v)), np.float32)
    drift = np.empty(n)
    for piece in pieces(chain, n, eps, alpha, mean_field):
        kernels.driven_gibbs(
            chain.up,
            chain.down,
            chain.window,
            chain.v,
            chain.h,
            chain.clock,
            chain.rng,
            eps,
            alpha,
            mean_field,
            k,
            v[piece],
            p[piece],
            drift[piece],
        )
    return Samples(v, p, {"sweeps": np.full(n, k), "drift": drift})


def with_fast(state: State) -> RBM:
    """Return the model that the next sample is drawn from: theta + theta_F of the chain whose turn it is."""
    if isinstance(state, Crowd):
        return target(state)
    chain = chains.due(state)
    return RBM(*kernels.parameters(chain.up, chain.down, chain.window, chain.clock))


def rates_of(model: Model, sampler: str) -> Statistics:
    """Return the model's rates, or refuse: without them there is nothing to be driven by."""
    if model.rates is None:
        raise BadInput(
            f"{sampler} needs the rates of the model's training set and this model file has none; "
            f"add rates.W, rates.b, rates.c (RBM.rates(data)), or choose gibbs or sample_penalization."
        )
    return model.rates
