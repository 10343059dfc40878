"""Trainings that recipes of several figures have in common, as pieces."""

import dataclasses
from typing import Any

import numpy as np

from rbmviz import rng
from rbmviz.datasets import load_dataset
from rbmviz.errors import BadInput
from rbmviz.gradient import enumerated, gradient_quality, tempered
from rbmviz.metrics import log_likelihood, tempered_ladders, too_large
from rbmviz.metrics.ais import ais_steps
from rbmviz.rbm import RBM
from rbmviz.registry import trainers
from rbmviz.trainers import make_trainer, train


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


def annealed(rbm: RBM, rows: np.ndarray, betas: int, seed: int) -> tuple[float, float]:
    """Return the mean log-likelihood of rows by annealed importance sampling, and its error (nats a row).

    It has 64 chains, and runs in the caller's thread, so that its time is counted as that of the piece.
    """
    steps = ais_steps(rbm, rows, n_chains=64, betas=betas, seed=seed)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            estimate = end.value
            return float(-rbm.free_energy(rows).mean() - estimate.log_z), estimate.std_error


def large_training(
    trainer: str,
    data: str,
    n_hidden: int,
    updates: int,
    points: int,
    betas: int,
    seed: int,
    data_options: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Train a model that cannot be enumerated; return its curves.

    Parameters
    ----------
    trainer : str
        The trainer with its knobs.
    data : str
        Name of the data.
    n_hidden, updates, points, seed : int
        Hidden units, updates, points of the curves, and the seed of the training.
    betas : int
        Temperatures of annealed importance sampling.
    data_options : dict, optional
        How the data are read: their binarisation.

    Returns
    -------
    dict
        By point: update, mean log-likelihood of the first 2,000 training rows with its error (nats a row),
        seconds of processor time of the training so far, and the trainer's tau_mean if it has one.
    """
    import time

    rows = load_dataset(data, **(data_options or {})).train
    found: dict[str, list[float]] = {"update": [], "log_likelihood": [], "error": [], "seconds": []}
    spent = 0.0
    training = train(rows, trainers.read(trainer), n_hidden, updates, seed, every=updates // points)
    while True:
        begin = time.thread_time()
        progress = next(training, None)
        spent += time.thread_time() - begin
        if progress is None:
            return found
        value, error = annealed(progress.rbm, rows[:2000], betas, seed)
        for name, one in zip(found, (progress.update, value, error, spent), strict=False):
            found[name].append(one)
        if "tau_mean" in progress.stats:
            found.setdefault("tau_mean", []).append(progress.stats["tau_mean"])


def estimator_biases(
    data: str,
    n_hidden: int,
    batch: int,
    rate: float,
    updates: int,
    replications: int,
    seed: int,
    samples: int = 0,
    burn_in: int = 0,
) -> dict[str, Any]:
    """Return bias and variance of CD and pop-CD, k = 1 and 10, on one model trained by CD-1.

    Parameters
    ----------
    data : str
        Name of the data.
    n_hidden, batch, updates, seed : int
        Hidden units, rows of a batch, updates, and the seed of training and estimates.
    rate : float
        Constant learning rate.
    replications : int
        Estimates.
    samples, burn_in : int
        Of the parallel tempering that is the reference of a model that cannot be enumerated.
    """
    rows = load_dataset(data).train
    trainer = make_trainer("cd", k=1, learning_rate=rate, schedule="constant", batch_size=batch)
    *_, last = train(rows, trainer, n_hidden, updates, seed, every=updates)
    if too_large(last.rbm):
        from_chains = rng.child(seed, "reference")
        ladders = tempered_ladders(last.rbm, samples=samples, burn_in=burn_in, seed=from_chains, workers=1)
        reference = tempered(last.rbm, rows, ladders)
    else:
        reference = enumerated(last.rbm, rows)
    found: dict[str, Any] = {"warning": reference.warning}
    for k in (1, 10):
        for name in ("cd", "pop_cd"):
            one = make_trainer(name, k=k, batch_size=batch)
            quality = gradient_quality(last.rbm, rows, one, replications, seed, reference=reference)
            found[f"{name}-{k}"] = dataclasses.asdict(quality) | {"resolved": quality.resolved}
    return found
