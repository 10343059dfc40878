"""Trainings shared by several recipes, as functions of jobs."""

import dataclasses
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from rbmviz import rng
from rbmviz.datasets import load_dataset
from rbmviz.errors import BadInput
from rbmviz.gradient import enumerated, gradient_quality, tempered
from rbmviz.metrics import log_likelihood, log_z, monte_carlo_likelihood, tempered_ladders, too_large
from rbmviz.metrics.ais import ais_steps
from rbmviz.rbm import RBM
from rbmviz.registry import trainers
from rbmviz.trainers import Progress, make_trainer, train

TAU_OFFSET = 1
"""The paper's meeting times less than ours: the authors' program counts coupling loops from 1, algorithm 1 as
printed from 2."""


def timed(training: Iterator[Progress]) -> Iterator[tuple[Progress, float]]:
    """Yield the states of a training, each with the processor seconds spent so far."""
    spent, begin = 0.0, time.thread_time()
    for progress in training:
        spent += time.thread_time() - begin
        yield progress, spent
        begin = time.thread_time()


def first_parameters(n_visible: int, n_hidden: int, seed: int, scale: float) -> RBM:
    """Return a model with all parameters N(0, scale^2)."""
    g = np.random.default_rng([seed, 16])
    return RBM(*(g.normal(0, scale, shape) for shape in ((n_visible, n_hidden), n_visible, n_hidden)))


def small_training(
    trainer: str, data: str, n_hidden: int, updates: int, seed: int, scale: float, points: int
) -> dict[str, Any]:
    """Train a model that can be enumerated, from N(0, scale^2) in all parameters; return its curves.

    trainer : the trainer with its knobs
    scale : standard deviation of all initial weights and biases
    points : evenly spaced points of the curves

    By point: update, total log-likelihood of the training rows (nats), processor seconds so far, and the
    trainer's statistics (for UCD of one update: tau_mean, rejected_mean, truncated).
    """
    rows = load_dataset(data).train
    start = first_parameters(rows.shape[1], n_hidden, seed, scale)
    every = updates // points
    training = train(rows, trainers.read(trainer), n_hidden, updates, seed, warm_start=start, every=every)
    next(training)  # compiles before the clock starts, in another training
    training = train(rows, trainers.read(trainer), n_hidden, updates, seed, warm_start=start, every=every)
    result: dict[str, list[float]] = {"update": [], "log_likelihood": [], "seconds": []}
    note = ""
    try:
        for progress, spent in timed(training):
            result["update"].append(progress.update)
            result["log_likelihood"].append(len(rows) * log_likelihood(progress.rbm, rows))
            result["seconds"].append(spent)
            for name in ("tau_mean", "rejected_mean", "truncated", "gradient_norm"):
                if name in progress.stats:
                    result.setdefault(name, []).append(progress.stats[name])
    except BadInput as error:  # it diverged
        note = str(error)
    return {**result, "note": note}


def annealed(rbm: RBM, rows: np.ndarray, betas: int, seed: int) -> tuple[float, float]:
    """Return the mean log-likelihood of rows by annealed importance sampling, and its error (nats per row).

    It has 64 chains and runs in the caller's thread, so that its time counts for the job.
    """
    steps = ais_steps(rbm, rows, n_chains=64, betas=betas, seed=seed)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            estimate = end.value
            return float(-rbm.free_energy(rows).mean() - estimate.log_z), estimate.std_error


YARDSTICK_TEXTS = (
    ("train", "training rows"),
    ("held_out", "held-out rows"),
    ("monte_carlo", "the paper's Monte Carlo average"),
)
"""Names and labels of the curves of ``scored_training``."""

SCORED_ROWS, AVERAGED_ROWS = 2000, 100
"""Rows of a likelihood, and training rows of a Monte Carlo average: the first ones."""


def scored_training(
    trainer: str,
    data: str,
    hidden: int,
    updates: int,
    points: int,
    seed: int,
    betas: int = 1000,
    rows: int = 0,
    data_options: dict[str, Any] | None = None,
    scale: float = 0.0,
) -> dict[str, Any]:
    """Train a model; return the curve of each yardstick (nats a row).

    trainer : the trainer with its knobs
    betas : temperatures of annealed importance sampling, if the model cannot be enumerated
    rows : first rows to train on; 0 are all
    data_options : binarisation of the data, or the seed of simulated ones
    scale : standard deviation of all first parameters; 0 is the start that ``train`` has

    By point: update, the likelihood of training rows and of held-out rows, the paper's Monte Carlo average
    over training rows, the error of the first two, processor seconds of the training so far, and the
    trainer's tau_mean if it has one.
    """
    dataset = load_dataset(data, **(data_options or {}))
    known = dataset.train[: rows or None]
    scored, held_out = known[:SCORED_ROWS], dataset.test[:SCORED_ROWS]
    result: dict[str, list[float]] = {"update": [], "train": [], "held_out": [], "monte_carlo": []}
    result |= {"error": [], "seconds": []}
    start = first_parameters(known.shape[1], hidden, seed, scale) if scale else None
    training = train(known, trainers.read(trainer), hidden, updates, seed, start, every=updates // points)
    for progress, spent in timed(training):
        rbm = progress.rbm
        free = -float(rbm.free_energy(scored).mean())
        value, error = annealed(rbm, scored, betas, seed) if too_large(rbm) else (free - log_z(rbm), 0.0)
        result["update"].append(progress.update)
        result["train"].append(value)
        result["held_out"].append(-float(rbm.free_energy(held_out).mean()) - (free - value))
        result["monte_carlo"].append(monte_carlo_likelihood(rbm, known[:AVERAGED_ROWS], seed=seed))
        result["error"].append(error)
        result["seconds"].append(spent)
        if "tau_mean" in progress.stats:
            result.setdefault("tau_mean", []).append(progress.stats["tau_mean"])
    return result


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
    """Return bias and variance of CD and pop-CD, k = 1 and 10, on a model trained by CD-1 at a constant rate.

    batch: rows of a batch. replications: estimates. samples, burn_in: of the parallel tempering that gives
    the reference if the model cannot be enumerated.
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
    result: dict[str, Any] = {"warning": reference.warning}
    for k in (1, 10):
        for name in ("cd", "pop_cd"):
            estimator = make_trainer(name, k=k, batch_size=batch)
            quality = gradient_quality(last.rbm, rows, estimator, replications, seed, reference=reference)
            result[f"{name}-{k}"] = dataclasses.asdict(quality) | {"resolved": quality.resolved}
    return result
