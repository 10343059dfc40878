"""Sweep by hand: draw the units of a small RBM one by one, and see all numbers behind each draw."""

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from rbmviz import rng
from rbmviz.rbm import RBM, sigmoid

Layer = Literal["hidden", "visible"]


def drawn_rbm() -> RBM:
    """Return the small RBM: 2 x 3 pixels, and hidden units that detect rows, a column and a corner.

    The weights are small enough that a few sweeps reach all states.
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
    """The draw of one unit.

    unit : index of the unit in its layer, from 0
    activation : bias plus the weights to the active units of the other layer
    p : probability of "on": the logistic function of the activation
    u : random number from 0 to 1; the unit is on if u is below p
    energy_before, energy : energy of the whole state before and after
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
    """The state of a small RBM, and its last draw.

    v, h : uint8 (n_visible,) and (n_hidden,)
    seed : random seed; the same seed gives the same random numbers in the same order
    draws : number of units drawn so far
    following : position of the next unit in a sweep, from 0; hidden units come first, then pixels
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
        """Return the small RBM with its upper row on, and all hidden units off."""
        return cls(drawn_rbm(), np.array([1, 1, 1, 0, 0, 0], np.uint8), np.zeros(4, np.uint8), seed)

    @property
    def next_unit(self) -> tuple[Layer, int]:
        """Layer and index of the next unit in the sweep."""
        n_hidden = len(self.h)
        if self.following < n_hidden:
            return "hidden", self.following
        return "visible", self.following - n_hidden

    def activations(self, layer: Layer) -> np.ndarray:
        """Return a layer's activations, float64: bias plus weights to active units of the other layer."""
        W, b, c = (x.astype(np.float64) for x in (self.rbm.W, self.rbm.b, self.rbm.c))
        return c + self.v @ W if layer == "hidden" else b + W @ self.h

    def probabilities(self, layer: Layer) -> np.ndarray:
        """Return the probability of "on" for each unit of a layer, given the other layer, float64."""
        return sigmoid(self.activations(layer))

    @property
    def energy(self) -> float:
        """Energy of the state; lower energy means higher probability."""
        rbm = self.rbm
        return float(-(self.v @ rbm.W @ self.h) - self.v @ rbm.b - self.h @ rbm.c)

    def random(self, draw: int) -> float:
        """Return the random number from 0 to 1 used by a draw; draws are numbered from 0."""
        return float(rng.generator(self.seed, "unit by unit", draw).random())

    def draw(self, layer: Layer, unit: int) -> "UnitByUnit":
        """Return the state after drawing this unit; the sweep continues with the next unit.

        Raises IndexError if the layer has no such unit.
        """
        units = self.h if layer == "hidden" else self.v
        if not 0 <= unit < len(units):
            raise IndexError(f"the {layer} layer has {len(units)} units")
        activation, p = self.activations(layer)[unit], self.probabilities(layer)[unit]
        u = self.random(self.draws)
        new = units.copy()
        new[unit] = u < p
        place = unit + (0 if layer == "hidden" else len(self.h))
        after = replace(
            self,
            draws=self.draws + 1,
            following=(place + 1) % (len(self.h) + len(self.v)),
            **{"h" if layer == "hidden" else "v": new},  # type: ignore[arg-type]
        )
        draw = Draw(layer, unit, float(activation), float(p), u, bool(u < p), self.energy, after.energy)
        return replace(after, last=draw)

    def sweep(self) -> "UnitByUnit":
        """Return the state at the end of the sweep, after drawing all remaining units."""
        state = self.draw(*self.next_unit)
        while state.following:
            state = state.draw(*state.next_unit)
        return state
