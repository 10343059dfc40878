"""The exact gradient, by enumeration: the reference for all other trainers, on small models."""

from typing import ClassVar

import numpy as np

from rbmviz import rng
from rbmviz.metrics import model_statistics
from rbmviz.rbm import RBM
from rbmviz.rbm.parameters import FixedParameters, Parameters
from rbmviz.registry import trainer
from rbmviz.trainers import Progress, training
from rbmviz.trainers.common_knobs import CommonKnobs
from rbmviz.trainers.training import TrainingState


@trainer("exact", label="Exact gradient", colour="#7c7f88", paper="enumeration; population CD, section 4.1")
class Exact(CommonKnobs):
    """Negative statistics summed over all states of the smaller layer (at most 25 units; quick up to 16)."""

    chains: ClassVar[str] = "fresh"
    about: ClassVar[str] = (
        r"The true gradient of the log-likelihood, $\langle s \rangle_{\text{data}} - \langle s "
        r"\rangle_{\text{model}}$ with the statistics $s = (v h^\top, v, h)$, summed over all states of the "
        "smaller layer, which may have 25 units at most. It is the yardstick for the other trainers."
    )
    equation: ClassVar[tuple[str, ...]] = (
        r"\langle s \rangle_{\text{model}} = \sum_h p(h)\, s(\mathbb{E}[v \mid h], h)",
    )
    own_stats: ClassVar[dict[str, str]] = {}

    def init(self, rbm: RBM, data: np.ndarray, seed: rng.Seed) -> TrainingState:
        """Return the state of a training that begins at ``rbm``; see Trainer."""
        return training.start(self, rbm, data, seed)

    def negative(self, state: TrainingState, theta: FixedParameters, batch: np.ndarray) -> Parameters:
        """Return the negative statistics of one update; see Trainer."""
        model = model_statistics(RBM(*theta))
        return Parameters(model.W, model.b, model.c)

    def step(self, state: TrainingState, n: int) -> Progress:
        """Advance by n updates."""
        training.advance(self, state, n)
        return training.progress(self, state)
