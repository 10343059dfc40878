"""Trainings that recipes of several figures have in common, as pieces."""

from typing import Any

import numpy as np

from rbmviz.datasets import load_dataset
from rbmviz.errors import BadInput
from rbmviz.metrics import log_likelihood
from rbmviz.rbm import RBM
from rbmviz.registry import trainers
from rbmviz.trainers import train


def small_training(
    trainer: str, data: str, n_hidden: int, updates: int, seed: int, scale: float, points: int
) -> dict[str, Any]:
    """Train a model that can be enumerated, from N(0, scale^2) in all parameters; return its curves.

    Parameters
    ----------
    trainer : str
        The trainer with its knobs.
    data : str
        Name of the data.
    n_hidden, updates, seed : int
        Hidden units, updates, and the seed of start and training.
    scale : float
        Standard deviation of all first weights and biases.
    points : int
        Points of the curves, at equal distances.

    Returns
    -------
    dict
        By point: update, total log-likelihood of the training rows (nats), seconds of processor time so far,
        and the trainer's statistics (tau_mean, rejected_mean and truncated of UCD are those of one update).
    """
    import time

    rows = load_dataset(data).train
    g = np.random.default_rng([seed, 16])
    m = rows.shape[1]
    start = RBM(*(g.normal(0, scale, shape) for shape in ((m, n_hidden), m, n_hidden)))
    every = updates // points
    training = train(rows, trainers.read(trainer), n_hidden, updates, seed, warm_start=start, every=every)
    next(training)  # compiled outside the clock, on another training
    training = train(rows, trainers.read(trainer), n_hidden, updates, seed, warm_start=start, every=every)
    found: dict[str, list[float]] = {"update": [], "log_likelihood": [], "seconds": []}
    spent, note = 0.0, ""
    try:
        while True:
            begin = time.thread_time()
            progress = next(training, None)
            spent += time.thread_time() - begin
            if progress is None:
                break
            found["update"].append(progress.update)
            found["log_likelihood"].append(len(rows) * log_likelihood(progress.rbm, rows))
            found["seconds"].append(spent)
            for name in ("tau_mean", "rejected_mean", "truncated", "gradient_norm"):
                if name in progress.stats:
                    found.setdefault(name, []).append(progress.stats[name])
    except BadInput as error:  # it diverged
        note = str(error)
    return {**found, "note": note}
