"""A sweep by hand: one unit of a small RBM after the other is drawn, and each time all numbers are known."""

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from rbmviz import rng
from rbmviz.rbm import RBM, sigmoid

Layer = Literal["hidden", "visible"]


def drawn_rbm() -> RBM:
    """Return the RBM that is drawn: 2 x 3 pixels; hidden units that look for rows, a column and a corner.

    Its weights are so small that a few sweeps come everywhere.
    """
    W = np.array(
        [
            [2, -1, 0, 0],
            [2, -1, 1.5, 0],
            [2, -1, 0, -1],
            [-1, 2, 0, 0],
            [-1, 2, 1.5, 0],
            [-1, 2, 0, 2],
        ],
        np.float32,
    )
    return RBM(W, np.full(6, -1, np.float32), np.array([-2, -2, -1, 0], np.float32))


class Draw(NamedTuple):
    """One unit that was drawn.

    Parameters
    ----------
    layer : "hidden" or "visible"
    unit : int
        Its place in the layer, from 0.
    activation : float
        Its bias plus the weights to the units of the other layer that are on.
    p : float
        Probability of "on": the logistic function of the activation.
    u : float
        The random number, from 0 to 1: the unit is on if it is below p.
    on : bool
    energy_before, energy : float
        Energy of the whole state before and after.
    """

    layer: Layer
    unit: int
    activation: float
    p: float
    u: float
    on: bool
    energy_before: float
    energy: float


@dataclass(frozen=True, eq=False)
class UnitByUnit:
    """The state of a small RBM, and what was drawn last.

    Parameters
    ----------
    rbm : RBM
    v, h : uint8 (n_visible,) and (n_hidden,)
    seed : int
        Same seed, same random numbers in the same order.
    draws : int
        Units drawn so far.
    last : Draw or None
    following : int
        Place of the next unit in a sweep, from 0: first all hidden units, then all pixels.
    """

    rbm: RBM
    v: np.ndarray
    h: np.ndarray
    seed: int = 0
    draws: int = 0
    last: Draw | None = None
    following: int = 0

    @classmethod
    def begin(cls, seed: int = 0) -> "UnitByUnit":
        """Return the drawn RBM with its upper row on, and no hidden unit."""
        return cls(drawn_rbm(), np.array([1, 1, 1, 0, 0, 0], np.uint8), np.zeros(4, np.uint8), seed)

    @property
    def next_unit(self) -> tuple[Layer, int]:
        """Layer and place of the next unit of the sweep."""
        n_hidden = len(self.h)
        if self.following < n_hidden:
            return "hidden", self.following
        return "visible", self.following - n_hidden

    def activations(self, layer: Layer) -> np.ndarray:
        """Return bias plus weights to the units that are on, of all units of a layer, float64."""
        W, b, c = (x.astype(np.float64) for x in (self.rbm.W, self.rbm.b, self.rbm.c))
        return c + self.v @ W if layer == "hidden" else b + W @ self.h

    def probabilities(self, layer: Layer) -> np.ndarray:
        """Return the probability of "on" given the other layer, of all units of a layer, float64."""
        return sigmoid(self.activations(layer))

    @property
    def energy(self) -> float:
        """Energy of the state; less energy is more probability."""
        rbm = self.rbm
        return float(-(self.v @ rbm.W @ self.h) - self.v @ rbm.b - self.h @ rbm.c)

    def draw(self, layer: Layer, unit: int) -> "UnitByUnit":
        """Return the state after this unit was drawn; the sweep goes on behind it.

        Raises
        ------
        IndexError
            If the layer has no such unit.
        """
        units = self.h if layer == "hidden" else self.v
        if not 0 <= unit < len(units):
            raise IndexError(f"the {layer} layer has {len(units)} units")
        activation, p = self.activations(layer)[unit], self.probabilities(layer)[unit]
        u = float(rng.generator(self.seed, "unit by unit", self.draws).random())
        new = units.copy()
        new[unit] = u < p
        place = unit + (0 if layer == "hidden" else len(self.h))
        after = replace(
            self,
            draws=self.draws + 1,
            following=(place + 1) % (len(self.h) + len(self.v)),
            **{"h" if layer == "hidden" else "v": new},  # type: ignore[arg-type]
        )
        made = Draw(layer, unit, float(activation), float(p), u, bool(u < p), self.energy, after.energy)
        return replace(after, last=made)

    def sweep(self) -> "UnitByUnit":
        """Return the state at the end of the sweep: the next unit and all behind it have been drawn."""
        state = self.draw(*self.next_unit)
        while state.following:
            state = state.draw(*state.next_unit)
        return state
