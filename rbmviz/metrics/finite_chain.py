"""Finite Markov chains: stationary distribution, eigenvalues, and the chain with fewer self-transitions."""

import math

import numpy as np

from rbmviz.errors import BadInput
from rbmviz.support import checks

ROUNDING = 1e-6
"""Largest accepted difference between the sum of a row and 1, for tables typed with few digits."""


def check_chain(A: np.ndarray) -> np.ndarray:
    """Return a transition matrix as float64 (states, states), with rows scaled to sum to 1 exactly.

    Parameters
    ----------
    A : array_like (states, states)
        Probability of the step from state i (row) to state j (column); at least 2 states.

    Raises
    ------
    BadInput
        If the matrix is not square, if a value is not a probability, or if a row does not sum to 1 within
        1e-6.
    """
    A = checks.numbers("The matrix", A).astype(np.float64)
    if A.ndim != 2 or A.shape[0] != A.shape[1] or len(A) < 2:
        raise BadInput(f"The matrix has shape {A.shape}; a chain needs as many columns as rows, 2 or more.")
    wrong = np.argwhere(~(np.isfinite(A) & (A >= 0)))
    if len(wrong):
        i, j = wrong[0]
        raise BadInput(
            f"The step from state {i + 1} to {j + 1} is {A[i, j]:g}; give a probability from 0 to 1."
        )
    sums = A.sum(axis=1)
    i = int(np.abs(sums - 1).argmax())
    if abs(sums[i] - 1) > ROUNDING:
        raise BadInput(f"Row {i + 1} sums to {sums[i]:.6g}; the steps out of a state must sum to 1.")
    return A / sums[:, None]


def normalise_rows(table: np.ndarray) -> np.ndarray | None:
    """Return a table, float64 (states, states), with every row scaled to sum to 1; None if a row is 0."""
    sums = table.sum(axis=1, keepdims=True)
    return table / sums if (sums > 0).all() else None


def resize_chain(table: np.ndarray, n: int) -> np.ndarray:
    """Return a transition matrix of n states: remove the last states, or connect new ones to the first.

    The probability of steps to a removed state is divided among the others in proportion. State 1 steps to a
    new state with probability 0.1; the new state stays or steps back with probability 0.5 each. Rounded to 4
    digits (``round_rows``).
    """
    A = table[:n, :n]
    A = A / np.maximum(A.sum(axis=1, keepdims=True), 1e-12)
    while len(A) < n:
        k = len(A)
        A = np.pad(A, ((0, 1), (0, 1)))
        A[0] *= 0.9
        A[0, k], A[k, 0], A[k, k] = 0.1, 0.5, 0.5
    return round_rows(A)


def round_rows(A: np.ndarray) -> np.ndarray:
    """Return a transition matrix rounded to 4 digits; the largest entry of each row restores its sum to 1.

    A row without any steps stays as it is.
    """
    A = A.round(4)
    rest = np.where(A.any(axis=1), 1 - A.sum(axis=1), 0)
    A[np.arange(len(A)), A.argmax(axis=1)] += rest
    return A.round(4)


REMOVAL_EQUATION = (r"\tilde{A} = (A - \knob{lam}\, I) / (1 - \knob{lam})",)
"""The formula of ``remove_self_transitions``, with its term lam marked; see ``view.formulas``."""


def remove_self_transitions(A: np.ndarray, lam: float) -> np.ndarray:
    """Return A~ = (A - lam I) / (1 - lam), which stays less often with the same stationary distribution.

    This is rates-FPCD, section 3: the probability lam is taken from every self-transition P(s_t = i | s_{t-1}
    = i), and the row is scaled to sum to 1 again. An eigenvalue z becomes (z - lam) / (1 - lam): 1 stays, all
    others move away from it. Mixing becomes faster if the largest modulus of the others falls, and slower if
    it rises, as with a negative eigenvalue.

    Parameters
    ----------
    A : float64 (states, states)
        Transition matrix; rows sum to 1.
    lam : float
        From 0 to the smallest A_ii, and below 1.

    Raises
    ------
    BadInput
        If a probability would be negative.
    """
    A = check_chain(A)
    stay = A.diagonal()
    i = int(stay.argmin())
    if not 0 <= lam <= stay[i] + ROUNDING or lam >= 1:
        most = f"{stay[i]:.6g}" if stay[i] < 1 else "below 1"
        raise BadInput(
            f"lambda = {lam:g} cannot be taken from the diagonal: state {i + 1} stays with probability "
            f"{stay[i]:.6g}; choose from 0 to {most}."
        )
    lam = min(lam, stay[i])
    return (A - lam * np.eye(len(A))) / (1 - lam)


def stationary_law(A: np.ndarray) -> np.ndarray:
    """Return the stationary distribution of a chain, float64 (states,).

    Parameters
    ----------
    A : float64 (states, states)
        Transition matrix; rows sum to 1.

    Raises
    ------
    BadInput
        If there are several, because the chain has several closed classes of states.
    """
    A = check_chain(A)
    n = len(A)
    reach = (A > 0) | np.eye(n, dtype=bool)
    for _ in range(n.bit_length()):
        reach = (reach.astype(np.float64) @ reach) > 0
    ends = ~(reach & ~reach.T).any(axis=1)  # states of closed classes: every state they reach leads back
    first = int(np.flatnonzero(ends)[0])
    apart = np.flatnonzero(ends & ~reach[first])
    if len(apart):
        raise BadInput(
            f"This chain has several stationary distributions: states {first + 1} and {apart[0] + 1} never "
            "lead to each other; give one of them a step that leads to the other."
        )
    equations = np.vstack([A.T - np.eye(n), np.ones(n)])
    law = np.linalg.lstsq(equations, np.append(np.zeros(n), 1.0), rcond=None)[0]
    law = np.maximum(law, 0)
    return law / law.sum()


def eigenvalues(A: np.ndarray) -> np.ndarray:
    """Return the eigenvalues of a transition matrix, complex128 (states,), the largest modulus first.

    The first is 1. In the long run, each step multiplies the distance to the stationary distribution by the
    modulus of the second.

    Parameters
    ----------
    A : float64 (states, states)
        Transition matrix; rows sum to 1.

    Raises
    ------
    BadInput
        If A is not a transition matrix.
    """
    values = np.linalg.eigvals(check_chain(A))
    values = values[np.argsort(np.abs(values - 1), kind="stable")]
    rest = values[1:]
    return np.append(values[:1], rest[np.argsort(-np.abs(rest), kind="stable")]).astype(np.complex128)


def second_modulus(values: np.ndarray) -> float:
    """Return the modulus of the second of the ``eigenvalues``."""
    return float(abs(values[1]))


def speed_up(before: float, after: float) -> float | None:
    """Return how many steps of a first chain equal one step of a second chain in the long run.

    before, after : moduli of the second eigenvalues of the first and the second chain

    It is log(after) / log(before); 0 if the second chain never converges (modulus 1); None if either
    converges in one step, or the first never converges.
    """
    if after >= 1 - 1e-9:
        return 0.0
    if min(before, after) <= 1e-12 or before >= 1 - 1e-12:
        return None
    return math.log(after) / math.log(before)


def likeliest(law: np.ndarray, most: int) -> list[int]:
    """Return at most ``most`` states of a distribution, float64 (states,), the most probable first."""
    return [int(i) for i in np.argsort(-law, kind="stable")[:most]]
