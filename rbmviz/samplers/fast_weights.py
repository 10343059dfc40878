"""What the samplers with fast parameters share: the state of a chain whose parameters move."""

from dataclasses import dataclass

import numpy as np

from rbmviz import rng
from rbmviz.errors import BadInput
from rbmviz.kernels import fast_weights as kernels
from rbmviz.kernels.gibbs import find_flips, make_affine, make_flips, rebuild
from rbmviz.rbm import RBM, Model, Statistics
from rbmviz.samplers import starting_state


@dataclass
class Chain:
    """v, h, the kept pre-activations under theta, R and M both ways, the scalars, the random stream."""

    v: np.ndarray
    h: np.ndarray
    up: kernels.Direction
    down: kernels.Direction
    clock: kernels.Clock
    rng: np.ndarray


def start_chain(model: Model, rates: Statistics | None, seed: rng.Seed, v0: np.ndarray | None) -> Chain:
    """Return a chain at v0 (or random bits) with theta_F = 0; rates None: nothing pulls back (R = 0)."""
    rbm = model.rbm
    R = (
        (rates.W, rates.b, rates.c)
        if rates
        else (np.zeros_like(rbm.W), np.zeros_like(rbm.b), np.zeros_like(rbm.c))
    )
    R_W, R_b, R_c = R
    v = starting_state(model, seed, v0)
    h = np.zeros(rbm.n_hidden, np.uint8)
    up = kernels.Direction(
        make_affine(rbm.W, rbm.c),
        make_affine(R_W, R_c),
        make_affine(np.zeros_like(rbm.W), np.zeros_like(rbm.c)),
        make_flips(rbm.n_visible),
    )
    down = kernels.Direction(
        make_affine(rbm.W.T, rbm.b),
        make_affine(R_W.T, R_b),
        make_affine(np.zeros_like(rbm.W.T), np.zeros_like(rbm.b)),
        make_flips(rbm.n_hidden),
    )
    find_flips(up.flips, v)
    for affine in (up.theta, up.rates, up.fast):
        rebuild(affine, up.flips)
    return Chain(v, h, up, down, kernels.make_clock(R), rng.kernel_state(seed, "chain"))


def with_fast(chain: Chain) -> RBM:
    """Return the model that the chain samples from at this moment: theta + theta_F."""
    pull, push = chain.clock.scale
    m, n = len(chain.v), len(chain.h)

    def moved(theta: np.ndarray, rates: np.ndarray, fast: np.ndarray) -> np.ndarray:
        return theta + (pull * rates + push * fast)

    up, down = chain.up, chain.down
    W = moved(up.theta.rows, up.rates.rows, up.fast.rows)[:m, :n]
    b = moved(down.theta.bias, down.rates.bias, down.fast.bias)[:m]
    return RBM(W, b, moved(up.theta.bias, up.rates.bias, up.fast.bias)[:n])


def rates_of(model: Model, sampler: str) -> Statistics:
    """Return the model's rates, or refuse: without them there is nothing to be driven by."""
    if model.rates is None:
        raise BadInput(
            f"{sampler} needs the rates of the model's training set and this model file has none; "
            f"add rates.W, rates.b, rates.c (RBM.rates(data)), or choose gibbs or sample_penalization."
        )
    return model.rates
