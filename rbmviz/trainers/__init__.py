"""Trainers: one file an algorithm; ``parts.py`` holds what they are composed of.

A trainer is a frozen record of its knobs. ``init(rbm, data, seed)`` makes the state, ``step(state, n)``
advances it by n updates in place and returns where it stands; how steps are cut changes nothing.
"""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np

from rbmviz import rng
from rbmviz.datasets import Dataset
from rbmviz.errors import BadInput
from rbmviz.knobs import values_of
from rbmviz.rbm import RBM, Model
from rbmviz.registry import trainers

STATS = {
    "gradient_norm": "Gradient norm",
    "weight_norm": "Weight norm",
    "reconstruction": "Reconstruction error (share of a bit)",
    "free_energy_gap": "Free energy, data - model (nats)",
}
"""Labels of the statistics that every trainer gives; a trainer's ``inner`` has those of its own.

gradient_norm is that of the last update, weight_norm that of W. reconstruction is the mean of
|v - E[v|E[h|v]]| over the last mini-batch, free_energy_gap its mean free energy minus that of the last
update's samples from the model (NaN where a trainer has none): near 0 where the model looks like the data.
"""


@dataclass(frozen=True, eq=False)
class Progress:
    """Where training stands.

    Parameters
    ----------
    update : int
        Updates so far.
    rbm : RBM
        The model now.
    stats : dict of float
        ``STATS`` and what the trainer adds, by name; NaN where there is nothing to tell yet.
    seconds : float
        Time spent in updates so far.
    iterations : int
        Updates that the schedule was laid out for.
    inner_samples : dict of arrays (n,)
        Quantities of which the last update has many, by label: stopping times (UCD), log weights (pop-CD).
    """

    update: int
    rbm: RBM
    stats: dict[str, float]
    seconds: float
    iterations: int
    inner_samples: dict[str, np.ndarray] = field(default_factory=dict)


class Trainer(Protocol):
    """What every trainer offers.

    ``inner`` names the statistics of its own that are worth a curve, in order, with their labels. Knobs that
    are ``live`` may change between two steps (``dataclasses.replace``) and act from the next update on.
    """

    name: ClassVar[str]
    label: ClassVar[str]
    paper: ClassVar[str]
    inner: ClassVar[dict[str, str]]

    def init(self, rbm: RBM, data: np.ndarray, seed: rng.Seed) -> Any:
        """Return the state of a training that begins at ``rbm`` on the rows of data, uint8 (n, n_visible)."""

    def negative(self, state: Any, theta: Any, data: np.ndarray) -> Any:
        """Return the negative statistics of one update, ``parts.Parameters``, and move the chains.

        theta are the state's parameters, data the mini-batch, float32 (n, n_visible).
        """

    def step(self, state: Any, n: int) -> Progress:
        """Advance the state by n updates, in place."""


def make_trainer(name: str, **knobs: Any) -> Trainer:
    """Return the trainer ``name`` with these knobs, the others at their defaults."""
    return trainers.make(name, **knobs)


def list_trainers() -> list[str]:
    """Return the registered names."""
    return list(trainers)


def initial_rbm(data: np.ndarray, n_hidden: int, seed: rng.Seed) -> RBM:
    """Return the usual start: W ~ N(0, 0.01^2), b = logit of the clipped data mean, c = 0."""
    mean = np.clip(data.mean(axis=0), 0.001, 0.999)
    W = rng.generator(seed, "init").normal(0, 0.01, (data.shape[1], n_hidden))
    return RBM(W, np.log(mean / (1 - mean)), np.zeros(n_hidden))


def train(
    dataset: Dataset | np.ndarray,
    trainer: Trainer,
    n_hidden: int = 16,
    iterations: int = 1000,
    seed: rng.Seed = 0,
    warm_start: RBM | None = None,
    every: int | None = None,
) -> Iterator[Progress]:
    """Train on the training part and yield progress every ``every`` updates (default: a hundredth).

    Parameters
    ----------
    dataset : Dataset, or uint8 rows (n, n_visible)
    trainer : Trainer
        Its knob ``iterations``, the length of a falling schedule, is set to ``iterations``.
    n_hidden, iterations, seed
        Hidden units, updates, seed.
    warm_start : RBM, optional
        Begin at these parameters (paper UCD, figure 9) instead of ``initial_rbm``.

    Raises
    ------
    BadInput
        Where sizes do not fit, or the parameters are no longer finite: the last progress is the last
        model that was.
    """
    data = dataset.train if isinstance(dataset, Dataset) else dataset
    if warm_start is not None and warm_start.n_visible != data.shape[1]:
        raise BadInput(f"The warm start has {warm_start.n_visible} visible units, the data {data.shape[1]}.")
    if iterations < 1 or n_hidden < 1:
        raise BadInput("Training needs at least one hidden unit and one update.")
    trainer = dataclasses.replace(trainer, iterations=iterations)  # type: ignore[type-var]
    state = trainer.init(warm_start or initial_rbm(data, n_hidden, seed), data, seed)
    every = every or max(iterations // 100, 1)
    for at in range(0, iterations, every):
        yield trainer.step(state, min(every, iterations - at))


def trained_model(dataset: Dataset, trainer: Trainer, progress: Progress, seed: int, **more: Any) -> Model:
    """Return a trained RBM as a Model: with the rates of its training set and its provenance.

    ``more`` goes into the provenance as it is: scores, reference lines, the data to score against.
    """
    meta = {
        "dataset": dataset.name,
        "scored_on": dataset.scored_on or dataset.name,
        "binarisation": dataset.binarisation,
        "source": dataset.source,
        "image_shape": list(dataset.image_shape) if dataset.image_shape else None,
        "trainer": trainer.name,
        "knobs": values_of(trainer) | {"iterations": progress.iterations},
        "seed": seed,
        "updates": progress.update,
        **more,
    }
    return Model(progress.rbm, progress.rbm.rates(dataset.train), meta)
