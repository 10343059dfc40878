"""The exact gradient, by enumeration: the yardstick of every other trainer, for small models."""

from typing import ClassVar

import numpy as np

from rbmviz import rng
from rbmviz.metrics import model_statistics
from rbmviz.rbm import RBM
from rbmviz.registry import trainer
from rbmviz.trainers import Progress, parts


@trainer("exact", label="Exact gradient", paper="enumeration; population CD, section 4.1")
class Exact:
    """Negative statistics summed over all states of the smaller layer (at most 25 units; quick up to 16)."""

    chains: ClassVar[str] = "fresh"
    inner: ClassVar[dict[str, str]] = {}

    learning_rate: float = parts.learning_rate()
    schedule: str = parts.schedule()
    iterations: int = parts.iterations()
    momentum: float = parts.momentum()
    weight_decay: float = parts.weight_decay()
    batch_size: int = parts.batch_size()
    average: bool = parts.average()
    box: float = parts.box()

    def init(self, rbm: RBM, data: np.ndarray, seed: rng.Seed) -> parts.State:
        """Return the state of a training that begins at ``rbm``; see Trainer."""
        return parts.start(self, rbm, data, seed)

    def state_bytes(self, n_visible: int, n_hidden: int) -> int:
        """Return the bytes of the state; see Trainer."""
        return parts.state_bytes(n_visible, n_hidden)

    def negative(self, state: parts.State, theta: parts.Fixed, data: np.ndarray) -> parts.Parameters:
        """Return the negative statistics of one update; see Trainer."""
        model = model_statistics(RBM(*theta))
        return parts.Parameters(model.W, model.b, model.c)

    def step(self, state: parts.State, n: int) -> Progress:
        """Advance by n updates."""
        parts.advance(self, state, n)
        return parts.progress(self, state)
