"""The state of a chain with fast weights: its half-steps, its history and its scalars."""

from typing import NamedTuple

import numpy as np

from rbmviz.kernels._jit import inline, private
from rbmviz.kernels.fast_weights.history import (
    CAPACITY,
    History,
    history_fits,
    make_history,
    sum_of_history,
)
from rbmviz.kernels.layers import (
    Flips,
    PreActivation,
    flips_fit,
    make_flips,
    preactivation_fits,
    share_preactivation,
    start_at_input,
    zero_preactivation,
)
from rbmviz.kernels.records import new_record, structured
from rbmviz.kernels.vectors import aligned_zeros


@structured
class Tracked:
    """Which pre-activations of a half-step are updated at every input; the others are stale.

    In rows M_coef is never 0, and M is always tracked.
    """

    theta: bool
    rates: bool
    M: bool


@structured
class ChainScalars:
    """The scalars of a chain."""

    sweeps: int  # so far
    samples: int  # so far
    history_length: int  # of the ring buffer of the newest samples, by alpha; 0 in rows
    samples_since_change: int  # samples since the history began or eps changed
    theta_coef: float  # coefficients of theta, R and M
    rates_coef: float
    absorbed_rates_coef: float  # coefficient of R in M where a history's M has absorbed theta, else 0
    M_coef: float
    F_F: float  # |theta_F|^2
    F_R: float  # <theta_F, R>
    R_R: float  # |R|^2
    norm_followed: bool  # whether |theta_F| is known after every sample; F_F and F_R are stale if not
    eps: float  # the knobs the chain is prepared for
    alpha: float
    mean_statistics: bool
    prepared_until: int  # the value of samples at which it must be prepared again


class HalfStep(NamedTuple):
    """Half a sweep (up: v to h, or down: h to v); n_out is the padded number of output units.

    The content of M depends on the regime, see the package. Its bias and its rows for active inputs have yet
    to receive ``pending``.
    """

    theta: PreActivation  # pre-activations under theta
    rates: PreActivation  # under R
    M: PreActivation  # under M
    pending: np.ndarray  # float32 (n_out,): pending64, rounded
    pending64: np.ndarray  # float64 (n_out,)
    total: np.ndarray  # float32 (n_out,): work space, pre-activations under theta + theta_F
    units: np.ndarray  # float32 (output units,): work space, the output or its means
    flips: Flips
    tracked: np.ndarray  # Tracked (1,)


class DrivenChain(NamedTuple):
    """A chain with fast weights; everything advances in place.

    Do not write to v: the next pre-activations come from ``flips.input``, the values and the overlaps, and
    ``herding`` checks whether v still changes.
    """

    v: np.ndarray  # uint8 (n_visible,): the newest sample
    h: np.ndarray  # uint8 (n_hidden,): the hidden state it was drawn from
    up: HalfStep  # from v to h
    down: HalfStep  # from h to v
    history: History
    scalars: np.ndarray  # ChainScalars (1,)
    stream: np.ndarray  # uint32 (4, STREAM_LANES)


def make_half_step(theta: PreActivation, rates: PreActivation, n_units: int) -> HalfStep:
    """Return a half-step of a new chain with n_units outputs and M = 0; weights of theta and R are shared."""
    n_in, n_out = theta.weights.shape
    return HalfStep(
        theta=share_preactivation(theta),
        rates=share_preactivation(rates),
        M=zero_preactivation(n_in, n_out),
        pending=aligned_zeros(n_out),
        pending64=np.zeros(n_out),
        total=aligned_zeros(n_out),
        units=np.zeros(n_units, np.float32),
        flips=make_flips(n_in),
        tracked=new_record(Tracked, theta=True, rates=True, M=True),
    )


def make_chain(
    v: np.ndarray,
    stream: np.ndarray,
    theta: tuple[PreActivation, PreActivation],
    rates: tuple[PreActivation, PreActivation],
    R_R: float,
) -> DrivenChain:
    """Return a chain at v with theta_F = 0. theta, rates: pre-activations up and down; R_R = |R|^2."""
    (n_visible,), n_hidden = v.shape, theta[1].weights.shape[0]
    up = make_half_step(theta[0], rates[0], n_hidden)
    down = make_half_step(theta[1], rates[1], n_visible)
    for preactivation in (up.theta, up.rates, up.M):
        start_at_input(up.flips, v, preactivation)
    h, history = np.zeros(n_hidden, np.uint8), make_history(n_visible, n_hidden)
    scalars = new_record(ChainScalars, theta_coef=1.0, M_coef=1.0, alpha=1.0, R_R=R_R)
    return DrivenChain(v, h, up, down, history, scalars, stream)


def current_parameters(chain: DrivenChain) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return theta + theta_F as (W, b, c), float64: the parameters of the next sample."""
    up, down, scalars = chain.up, chain.down, chain.scalars[0]
    m, n = len(chain.v), len(chain.h)
    P_W, P_b, P_c = sum_of_history(chain.history)

    def moved(M: np.ndarray, rates: np.ndarray, theta: np.ndarray, P: np.ndarray) -> np.ndarray:
        from_M = scalars.M_coef * M.astype(float)
        return (from_M + scalars.rates_coef * rates) + scalars.theta_coef * theta - P

    M_W = up.M.weights + np.outer(up.flips.input, up.pending)
    M_b, M_c = down.M.bias + down.pending, up.M.bias + up.pending
    W = moved(M_W, up.rates.weights, up.theta.weights, P_W[:m])[:, :n]
    b = moved(M_b, down.rates.bias, down.theta.bias, P_b)[:m]
    return W, b, moved(M_c, up.rates.bias, up.theta.bias, P_c)[:n]


@inline
def half_step_fits(half_step, n_in, n_out):
    """Return whether the arrays of a half-step fit n_in inputs and n_out outputs."""
    width = half_step.total.shape[0]
    theta = preactivation_fits(half_step.theta, n_in, n_out)
    rates = preactivation_fits(half_step.rates, n_in, n_out)
    alike = half_step.theta.value.shape[0] == width and half_step.rates.value.shape[0] == width
    M = preactivation_fits(half_step.M, n_in, n_out) and half_step.M.value.shape[0] == width
    pending = half_step.pending.shape[0] == width and half_step.pending64.shape[0] == width
    units = half_step.units.shape[0] == n_out
    flips = half_step.tracked.shape[0] == 1 and flips_fit(half_step.flips, n_in)
    return theta and rates and alike and M and pending and units and flips


@inline
def chain_fits(v, h, up, down, rows_regime, history, scalars, out_v, out_fast_norm):
    """Return whether the arrays of a chain fit each other and the arrays that receive its samples."""
    m, n = v.shape[0], h.shape[0]
    history_length = scalars[0].history_length if scalars.shape[0] == 1 else -1
    half_steps = half_step_fits(up, m, n) and half_step_fits(down, n, m)
    regime = False
    if rows_regime is not None:
        regime = history_length == 0
    if history is not None:
        regime = 0 < history_length <= CAPACITY and history_length % 8 == 0 and history_fits(history, m, n)
    return half_steps and regime and out_v.shape[1] == m and out_fast_norm.shape[0] == out_v.shape[0]


@private
def combine(M_coef, M, rates_coef, rates, theta_coef, theta, out):
    """Write M_coef M + rates_coef R + theta_coef theta for a row, bias or value to another array."""
    if rates_coef == np.float32(0.0) and theta_coef == np.float32(0.0):  # of M alone, as in a history's limit
        for j in range(out.shape[0]):
            out[j] = M_coef * M[j]
        return
    for j in range(out.shape[0]):
        out[j] = (M_coef * M[j] + rates_coef * rates[j]) + theta_coef * theta[j]
