"""The Gibbs chain of an enumerable model, exactly: transition matrix, law after t sweeps, total variation."""

from collections.abc import Generator, Iterator

import numpy as np

from rbmviz import checks
from rbmviz.errors import BadInput
from rbmviz.metrics.exact import MOST_PROBABILITIES, probabilities
from rbmviz.rbm import RBM, sigmoid
from rbmviz.registry import metric

MOST_MATRIX = 34
"""Most 2 n_visible + n_hidden of a transition matrix: some 10^10 products, and at most 1 GB."""

MAX_UNITS_MATRIX = 32
"""Most n_visible + n_hidden of a law that is followed: about a second a sweep, on one core."""

MATRIX_ROWS = 1024
"""States of one step."""


def _product_law(p: np.ndarray) -> np.ndarray:
    """Return the law of independent bits of means p (rows, n), float64 (rows, 2^n); first unit slowest."""
    law = np.ones((len(p), 1))
    for mean in p.T[::-1]:
        law = np.concatenate([law * (1 - mean)[:, None], law * mean[:, None]], axis=1)
    return law


def _blocks(n: int) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield consecutive states of n units, float64 (rows, n), and where they are."""
    for first in range(0, 2**n, MATRIX_ROWS):
        index = np.arange(first, min(first + MATRIX_ROWS, 2**n))
        yield slice(first, first + len(index)), (index[:, None] >> np.arange(n - 1, -1, -1) & 1).astype(float)


def transition_matrix(rbm: RBM) -> np.ndarray:
    """Return ``A[v, v'] = sum_h p(h|v) p(v'|h)``: the law of v' after one sweep from v.

    float64 (2^n_visible, 2^n_visible), rows sum to 1, states in the order of ``probabilities`` (the first
    unit is the slowest bit), which is its stationary law.

    Raises
    ------
    BadInput
        Where 2 n_visible + n_hidden is above 34.
    """
    m, n = rbm.W.shape
    if 2 * m + n > MOST_MATRIX:
        raise BadInput(
            f"A transition matrix of {m} visible and {n} hidden units is too large: it is made where "
            f"2 n_visible + n_hidden is at most {MOST_MATRIX}; 'sweep_law' needs no matrix."
        )
    W, b, c = (x.astype(np.float64) for x in (rbm.W, rbm.b, rbm.c))
    visible = np.concatenate([v for _, v in _blocks(m)])
    matrix = np.zeros((2**m, 2**m))
    low = min(n, 10)  # hidden states in blocks of 2^low
    to_low = _product_law(sigmoid(visible @ W[:, n - low :] + c[n - low :]))
    to_high = _product_law(sigmoid(visible @ W[:, : n - low] + c[: n - low]))
    for i, high in enumerate(np.concatenate([h for _, h in _blocks(n - low)])):
        for where, h in _blocks(low):
            down = _product_law(sigmoid(h @ W[:, n - low :].T + W[:, : n - low] @ high + b))
            matrix += (to_high[:, i, None] * to_low[:, where]) @ down
    return matrix


def _half_sweep(law: np.ndarray, W: np.ndarray, bias: np.ndarray) -> Generator[None, None, np.ndarray]:
    """Return, in steps, the law of the layer that W (from, to) leads to, given that of the other layer.

    Given one layer the units of the other are independent, so that the matrix is a product of one of its
    first half of units and one of its second half, and is never made.
    """
    half = W.shape[1] // 2
    out = np.zeros((2**half, 2 ** (W.shape[1] - half)))
    for where, x in _blocks(len(W)):
        p = sigmoid(x @ W + bias)
        out += (_product_law(p[:, :half]) * law[where, None]).T @ _product_law(p[:, half:])
        yield
    return out.ravel()


def sweep_law(rbm: RBM, law: np.ndarray) -> np.ndarray:
    """Return the law of v one Gibbs sweep later, float64 (2^n_visible,), given the law of v now.

    Raises
    ------
    BadInput
        Where the law does not fit the model, or n_visible + n_hidden is above 32.
    """
    steps = sweep_law_steps(rbm, law)
    while True:
        try:
            next(steps)
        except StopIteration as done:
            return done.value


def sweep_law_steps(rbm: RBM, law: np.ndarray) -> Generator[None, None, np.ndarray]:
    """Return what ``sweep_law`` does, in steps of some milliseconds: for a page that must stay alive.

    Raises
    ------
    BadInput
        Where the law does not fit the model, or n_visible + n_hidden is above 32.
    """
    m, n = rbm.W.shape
    if m + n > MAX_UNITS_MATRIX:
        raise BadInput(
            f"The law of a chain of {m} visible and {n} hidden units is too large to follow: at most "
            f"{MAX_UNITS_MATRIX} units in all; coupled chains bound its distance ('rbmviz couple')."
        )
    law = checks.numbers("The law", law).astype(np.float64)
    if law.shape != (2**m,):
        raise BadInput(f"The law has shape {law.shape}; {m} visible units ask for ({2**m},).")
    W, b, c = (x.astype(np.float64) for x in (rbm.W, rbm.b, rbm.c))
    return (yield from _half_sweep((yield from _half_sweep(law, W, c)), W.T, b))


def start_law(v0: np.ndarray) -> np.ndarray:
    """Return the law of a row of v0 (n, n_visible) picked at random, float64 (2^n_visible,)."""
    v0 = checks.bits("start_law: v0", v0)
    if v0.shape[1] > MOST_PROBABILITIES:
        raise BadInput(f"start_law: {v0.shape[1]} visible units are more than {MOST_PROBABILITIES}.")
    code = v0.astype(np.int64) @ (1 << np.arange(v0.shape[1] - 1, -1, -1))
    return np.bincount(code, minlength=2 ** v0.shape[1]) / len(v0)


def total_variation(p: np.ndarray, q: np.ndarray) -> float:
    """Return the largest difference that two laws give to any event: half the L1 distance, 0 to 1."""
    return float(0.5 * np.abs(np.asarray(p, dtype=np.float64) - q).sum())


def chain_distances(A: np.ndarray, start: np.ndarray, stationary: np.ndarray, steps: int) -> np.ndarray:
    """Return the total variation distance to ``stationary`` after 0, 1, ..., ``steps`` steps of any chain.

    Parameters
    ----------
    A : float64 (states, states)
        Transition matrix, rows sum to 1.
    start, stationary : float64 (states,)
        Law of the first state, and the law to compare with.
    steps : int
        Steps to follow.

    Returns
    -------
    float64 (steps + 1,)
        The distance after each number of steps, between 0 and 1.
    """
    law, found = np.asarray(start, dtype=np.float64), []
    for _ in range(steps + 1):
        found.append(total_variation(law, stationary))
        law = law @ A
    return np.array(found)


def distances_from(A: np.ndarray, state: int, stationary: np.ndarray, steps: int) -> np.ndarray:
    """Return ``chain_distances`` of a chain, float64 (steps + 1,), that begins in one state for sure."""
    return chain_distances(A, np.eye(len(A))[state], stationary, steps)


@metric("sweep_distances")
def sweep_distances(rbm: RBM, start: np.ndarray, sweeps: int) -> np.ndarray:
    """Return the exact total variation distance of Gibbs sampling to the model after 0, ..., sweeps sweeps.

    Of v, and of (v, h) with h drawn from p(h|v), too: both laws have the same distance.

    Parameters
    ----------
    rbm : RBM
        n_visible + n_hidden at most 32, n_visible at most 20.
    start : float64 (2^n_visible,)
        Law of v before the first sweep (``start_law`` of given rows).
    sweeps : int
        Sweeps to follow.

    Returns
    -------
    float64 (sweeps + 1,)
        The distance after each number of sweeps, between 0 and 1.
    """
    model, law, found = probabilities(rbm), checks.numbers("The law", start).astype(np.float64), []
    if law.shape != model.shape:
        raise BadInput(f"The law has shape {law.shape}; {rbm.n_visible} visible units ask for {model.shape}.")
    for t in range(checks.whole("sweep_distances: sweeps", sweeps) + 1):
        law = sweep_law(rbm, law) if t else law
        found.append(total_variation(law, model))
    return np.array(found)
