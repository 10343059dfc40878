"""All visible states of a small model in the order of an energy landscape, valley beside valley."""

from typing import Literal, NamedTuple, get_args

import numpy as np

from rbmviz.errors import BadInput, quoted
from rbmviz.metrics.exact import probabilities
from rbmviz.metrics.gibbs_chain import transition_matrix
from rbmviz.rbm import RBM
from rbmviz.rbm.files import AnyModel, as_rbm

MAX_VISIBLE_LANDSCAPE = 10
"""Maximum number of visible units: a picture has room for 2^10 states."""

WIDTH_BY_PROBABILITY = 0.5
"""Share of the width that follows probability; the rest keeps every floor, a single state, visible."""

Order = Literal["valley", "gray", "index"]


class Valley(NamedTuple):
    """The states that lead down to a ``floor``, a local minimum; at positions ``first`` to ``last`` - 1."""

    first: int
    last: int
    floor: int


class Landscape(NamedTuple):
    """The position and width of each state in the picture.

    Parameters
    ----------
    law : float64 (2^n_visible,)
        p(v) of every state; the first unit is the most significant bit of a state's index.
    order : int64 (2^n_visible,)
        The state at each position.
    width : float64 (2^n_visible,)
        Share of the picture's width for each position.
    valley : int64 (2^n_visible,)
        Index in ``valleys`` for each state.
    valleys : tuple of Valley
        The valleys, the deepest first; their positions are set only with the order "valley".
    """

    law: np.ndarray
    order: np.ndarray
    width: np.ndarray
    valley: np.ndarray
    valleys: tuple[Valley, ...]


def codes(v: np.ndarray) -> np.ndarray:
    """Return the state index of each row of bits (n, n_visible), int64 (n,); first unit most significant."""
    return np.asarray(v).astype(np.int64) @ (1 << np.arange(v.shape[1] - 1, -1, -1))


def state_bits(state: int, n_visible: int) -> np.ndarray:
    """Return the bits of a state index, uint8 (n_visible,): the inverse of ``codes``."""
    return (state >> np.arange(n_visible - 1, -1, -1) & 1).astype(np.uint8)


def floors(law: np.ndarray) -> np.ndarray:
    """Return each state's floor by steepest descent, always to the most probable one-bit neighbour."""
    states = np.arange(len(law))
    near = states[:, None] ^ (1 << np.arange(len(law).bit_length() - 1))
    best = near[states, law[near].argmax(axis=1)]
    down = np.where(law[best] > law * (1 + 1e-9), best, states)  # equal up to rounding errors is no descent
    while (down != down[down]).any():
        down = down[down]
    return down


def landscape(rbm: AnyModel, order: Order = "valley") -> Landscape:
    """Return an arrangement of all visible states of a model.

    Parameters
    ----------
    rbm : RBM, Model, name or file
        Model with at most 10 visible units.
    order : "valley" (default), "gray", "index"
        "valley": valley beside valley, from the deepest, each followed by the one whose floor is closest in
        bits to its floor; within a valley, the energy rises from the floor to both sides, and more
        probable states are wider. "gray": Gray code, neighbours differ in one bit. "index": by index.

    Raises
    ------
    BadInput
        If the model has more visible units, or there is no such order.
    """
    rbm = as_rbm(rbm)
    if order not in get_args(Order):
        raise BadInput(f"landscape: order = {quoted(order)} is not one of {', '.join(get_args(Order))}.")
    if rbm.n_visible > MAX_VISIBLE_LANDSCAPE:
        raise BadInput(
            f"A landscape of 2^{rbm.n_visible} states cannot be drawn: choose a model of at most "
            f"{MAX_VISIBLE_LANDSCAPE} visible units."
        )
    law = probabilities(rbm)
    down = floors(law)
    left = list(np.unique(down)[np.argsort(-law[np.unique(down)], kind="stable")])
    placed = [int(left.pop(0))]
    while left:
        steps = [int(floor ^ placed[-1]).bit_count() for floor in left]
        placed.append(int(left.pop(int(np.argmin(steps)))))
    rank = {floor: i for i, floor in enumerate(sorted(placed, key=lambda floor: -law[floor]))}
    valley = np.array([rank[floor] for floor in down.tolist()])
    n = np.arange(len(law))
    if order != "valley":
        at = n ^ (n >> 1) if order == "gray" else n
        even = np.full(len(law), 1 / len(law))
        return Landscape(law, at, even, valley, tuple(Valley(0, 0, floor) for floor in rank))
    rows: list[np.ndarray] = []
    valleys, first = {}, 0
    for floor in placed:
        inside = np.flatnonzero(down == floor)
        inside = inside[np.argsort(-law[inside], kind="stable")]
        rows.append(np.concatenate([inside[2::2][::-1], inside[:1], inside[1::2]]))
        valleys[floor] = Valley(first, first + len(inside), floor)
        first += len(inside)
    at = np.concatenate(rows)
    root = np.sqrt(law[at])
    width = (1 - WIDTH_BY_PROBABILITY) / len(law) + WIDTH_BY_PROBABILITY * root / root.sum()
    return Landscape(law, at, width, valley, tuple(valleys[floor] for floor in rank))


def ordered_chain(rbm: RBM) -> tuple[np.ndarray, list[str]]:
    """Return the Gibbs chain of a small model with its states in valley order, and their bits.

    The matrix is float64 (2^n_visible, 2^n_visible); row i is the state with the bits of text i.
    """
    order = landscape(rbm).order
    names = [f"{state:0{rbm.n_visible}b}" for state in order]
    return transition_matrix(rbm)[np.ix_(order, order)], names
