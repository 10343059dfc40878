"""The exact Gibbs chain of a small model: transition matrix, distribution after t sweeps, total variation."""

from collections.abc import Generator, Iterator

import numpy as np

from rbmviz.errors import BadInput
from rbmviz.files.budget import check_memory
from rbmviz.metrics.exact import MAX_PROBABILITIES, probabilities
from rbmviz.rbm import sigmoid
from rbmviz.rbm.files import AnyModel, as_rbm
from rbmviz.registry import metric
from rbmviz.support import checks

MAX_MATRIX_UNITS = 34
"""Largest 2 n_visible + n_hidden for a transition matrix: about 10^10 products."""

MAX_SWEEP_LAW_UNITS = 32
"""Largest n_visible + n_hidden for ``sweep_law``: about one second per sweep on one core."""

MATRIX_ROWS = 1024
"""States computed at a time."""


def _product_law(p: np.ndarray) -> np.ndarray:
    """Return the distributions of independent bits with means p (rows, n), float64 (rows, 2^n)."""
    law = np.ones((1, len(p)))  # its transpose: long rows are several times as fast
    for mean in p.T[::-1]:
        law = np.concatenate([law * (1 - mean), law * mean])
    return law.T


def _blocks(n: int) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield blocks of consecutive states of n units: their indices and the states, float64 (rows, n)."""
    for first in range(0, 2**n, MATRIX_ROWS):
        index = np.arange(first, min(first + MATRIX_ROWS, 2**n))
        yield slice(first, first + len(index)), (index[:, None] >> np.arange(n - 1, -1, -1) & 1).astype(float)


def transition_matrix(rbm: AnyModel) -> np.ndarray:
    """Return the transition matrix of one Gibbs sweep, ``A[v, v'] = sum_h p(h|v) p(v'|h)``.

    Its stationary distribution is ``probabilities(rbm)``.

    Parameters
    ----------
    rbm : RBM, Model, name or file
        Model with 2 n_visible + n_hidden of at most 34.

    Returns
    -------
    float64 (2^n_visible, 2^n_visible)
        Rows sum to 1; the first unit is the most significant bit of a state's index.

    Raises
    ------
    BadInput
        If 2 n_visible + n_hidden is above 34, or the matrix needs more than the memory budget.
    """
    rbm = as_rbm(rbm)
    m, n = rbm.W.shape
    if 2 * m + n > MAX_MATRIX_UNITS:
        raise BadInput(
            f"The transition matrix of {m} visible and {n} hidden units is too large: 2 n_visible + n_hidden "
            f"must be at most {MAX_MATRIX_UNITS}; 'sweep_law' needs no matrix."
        )
    check_memory(f"The transition matrix of {m} visible units", 8 * 4**m, "choose a smaller model")
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
    """Compute the distribution of a layer from the other layer's; a generator that pauses between blocks.

    W has the shape (units of the other layer, units of this layer). Given one layer, the units of the other
    are independent, so each row of the transition matrix is an outer product over two halves of the units,
    and the matrix itself is never computed.
    """
    half = W.shape[1] // 2
    out = np.zeros((2**half, 2 ** (W.shape[1] - half)))
    for where, x in _blocks(len(W)):
        p = sigmoid(x @ W + bias)
        out += (_product_law(p[:, :half]) * law[where, None]).T @ _product_law(p[:, half:])
        yield
    return out.ravel()


def sweep_law(rbm: AnyModel, law: np.ndarray) -> np.ndarray:
    """Return the distribution of v after one Gibbs sweep, float64 (2^n_visible,).

    Parameters
    ----------
    rbm : RBM, Model, name or file
        Model with n_visible + n_hidden of at most 32.
    law : float64 (2^n_visible,)
        Distribution of v before the sweep.

    Raises
    ------
    BadInput
        If ``law`` does not fit the model, n_visible + n_hidden is above 32, or the distribution of a layer
        needs more than the memory budget.
    """
    rbm = as_rbm(rbm)
    steps = sweep_law_steps(rbm, law)
    while True:
        try:
            next(steps)
        except StopIteration as done:
            return done.value


def sweep_law_steps(rbm: AnyModel, law: np.ndarray) -> Generator[None, None, np.ndarray]:
    """Compute ``sweep_law`` in steps of some milliseconds, for callers that do other work in between.

    The generator returns the distribution; parameters and errors: see ``sweep_law``.
    """
    rbm = as_rbm(rbm)
    m, n = rbm.W.shape
    if m + n > MAX_SWEEP_LAW_UNITS:
        raise BadInput(
            f"The distribution of a chain of {m} visible and {n} hidden units is too large to compute: at "
            f"most {MAX_SWEEP_LAW_UNITS} units; coupled chains bound its distance ('rbmviz couple')."
        )
    law = checks.numbers("The distribution", law).astype(np.float64)
    if law.shape != (2**m,):
        raise BadInput(f"The distribution has shape {law.shape}; {m} visible units need ({2**m},).")
    check_memory(f"The distribution of {max(m, n)} units", 8 * 2 ** max(m, n), "choose a smaller model")
    W, b, c = (x.astype(np.float64) for x in (rbm.W, rbm.b, rbm.c))
    return (yield from _half_sweep((yield from _half_sweep(law, W, c)), W.T, b))


def start_law(v0: np.ndarray) -> np.ndarray:
    """Return the distribution of a random row of v0, float64 (2^n_visible,).

    Parameters
    ----------
    v0 : uint8 (n, n_visible)
        Rows of 0 and 1, with at most 20 columns.

    Raises
    ------
    BadInput
        If v0 has another shape or other values.
    """
    v0 = checks.bits("start_law: v0", v0)
    if v0.shape[1] > MAX_PROBABILITIES:
        raise BadInput(
            f"start_law: v0 has {v0.shape[1]} visible units; give at most {MAX_PROBABILITIES} of them."
        )
    code = v0.astype(np.int64) @ (1 << np.arange(v0.shape[1] - 1, -1, -1))
    return np.bincount(code, minlength=2 ** v0.shape[1]) / len(v0)


def total_variation(p: np.ndarray, q: np.ndarray) -> float:
    """Return the total variation distance of two distributions, half their L1 distance: from 0 to 1.

    Parameters
    ----------
    p, q : float64 (states,)
        The two distributions.
    """
    return float(0.5 * np.abs(np.asarray(p, dtype=np.float64) - q).sum())


def noise_floor(p: np.ndarray, n: int) -> float:
    """Return the total variation distance that n independent draws have, on average, from their distribution.

    A chain cannot be told from independent draws below it. It is half the sum of the mean absolute deviations
    of binomial counts, which are exact (De Moivre; Diaconis and Zabell, 1991).

    Parameters
    ----------
    p : float64 (states,)
        The distribution.
    n : int
        Number of draws.

    Examples
    --------
    >>> round(rbmviz.metrics.noise_floor([0.5, 0.5], 100), 3)
    0.04
    """
    from scipy.special import gammaln, xlog1py, xlogy

    p = np.clip(np.asarray(p, dtype=np.float64), 0, 1)
    m = np.minimum(np.floor(n * p) + 1, n)  # p = 1 has no deviation
    log_chance = gammaln(n + 1) - gammaln(m + 1) - gammaln(n - m + 1) + xlogy(m, p) + xlog1py(n - m + 1, -p)
    return float((m * np.exp(log_chance)).sum() / n)


def chain_distances(A: np.ndarray, start: np.ndarray, stationary: np.ndarray, steps: int) -> np.ndarray:
    """Return the total variation distance to ``stationary`` after 0, 1, ..., ``steps`` steps of a chain.

    Parameters
    ----------
    A : float64 (states, states)
        Transition matrix; rows sum to 1.
    start, stationary : float64 (states,)
        Distribution of the first state, and the distribution to compare with.
    steps : int
        Number of steps.

    Returns
    -------
    float64 (steps + 1,)
        The distance after each number of steps, between 0 and 1.
    """
    law, distances = np.asarray(start, dtype=np.float64), []
    for _ in range(steps + 1):
        distances.append(total_variation(law, stationary))
        law = law @ A
    return np.array(distances)


@metric("sweep_distances")
def sweep_distances(rbm: AnyModel, start: np.ndarray, sweeps: int) -> np.ndarray:
    """Return the exact total variation distance of a Gibbs chain to the model after 0, 1, ..., sweeps sweeps.

        The distance is the same for v and for (v, h) with h drawn from p(h|v).

    Parameters
    ----------
    rbm : RBM, Model, name or file
        Model with n_visible + n_hidden of at most 32, and n_visible of at most 20.
    start : float64 (2^n_visible,)
        Distribution of v before the first sweep (``start_law`` computes it from rows).
    sweeps : int
        Number of sweeps.

    Returns
    -------
    float64 (sweeps + 1,)
        The distance after each number of sweeps, between 0 and 1.

    Raises
    ------
    BadInput
        If the model is too large, or ``start`` does not fit it.
    """
    rbm = as_rbm(rbm)
    model, distances = probabilities(rbm), []
    law = checks.numbers("The distribution", start).astype(np.float64)
    if law.shape != model.shape:
        raise BadInput(
            f"The distribution has shape {law.shape}; {rbm.n_visible} visible units need {model.shape}."
        )
    for t in range(checks.whole("sweep_distances: sweeps", sweeps) + 1):
        law = sweep_law(rbm, law) if t else law
        distances.append(total_variation(law, model))
    return np.array(distances)
