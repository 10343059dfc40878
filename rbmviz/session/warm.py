"""Compile kernels ahead of time: define the compile jobs, and find the jobs that a panel needs."""

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from rbmviz import kernels, rng
from rbmviz.datasets import Dataset
from rbmviz.metrics import ISL, Coverage, ais_log_z, log_z
from rbmviz.metrics.findings import FEWEST_SAMPLES, findings
from rbmviz.rbm import RBM, Model, Statistics
from rbmviz.rbm.parameters import FixedParameters
from rbmviz.registry import samplers, trainers
from rbmviz.samplers import Sampler, list_samplers, make_sampler, sample
from rbmviz.trainers import list_trainers, make_trainer
from rbmviz.trainers.batches import mean_hidden
from rbmviz.trainers.pop_cd import populate


def _rows() -> np.ndarray:
    return np.eye(4, dtype=np.uint8)


def _model() -> Model:
    zeros = np.zeros((4, 3)), np.zeros(4), np.zeros(3)
    return Model(RBM(*zeros), Statistics(*zeros))  # computed rates would compile kernels of their own


def _sample(name: str, **knobs: Any) -> Callable[[], object]:
    return lambda: sample(_model(), make_sampler(name, **knobs), 2, init="random")


def _train(name: str) -> Callable[[], object]:
    def train() -> None:
        trainer = make_trainer(name, batch_size=2)
        trainer.step(trainer.init(_model().rbm, _rows(), 0), 1)

    return train


def _score() -> None:
    rows = _rows()
    ISL(rows, rows).update(rows).value()
    Coverage(
        Dataset("toy", rows, rows, rows, "", "", train_labels=np.arange(4), classes=tuple("abcd"))
    ).update(rows)


def _look() -> None:
    findings(np.tile(_rows(), (FEWEST_SAMPLES, 1)), _model())


def _estimate() -> None:
    rows = _rows()
    for counters in (np.uint16, np.uint32):  # uint32 counters are for longer runs
        ISL(rows, rows, counters=counters).update(rows).value()
    ais_log_z(_model().rbm, n_chains=2, betas=3)


def _weigh() -> None:
    rbm = _model().rbm
    theta, v = FixedParameters(rbm.W, rbm.b, rbm.c), _rows().astype(np.float32)
    populate(theta, v, 1, "visible", 2, rng.kernel_state(0, "chain"))
    mean_hidden(theta, v)


def _draw_and_enumerate() -> None:
    rbm, h = _model().rbm, np.zeros((1, 3), np.float32)
    kernels.random.bernoulli_rows(rng.kernel_state(0, "fantasy"), h, rbm.c, h, h)
    log_z(rbm)


SAME_KERNELS = {"pcd": "cd"}
"""Trainers by those whose kernels they use, and no others."""

JOBS: dict[str, Callable[[], object]] = {
    "scores": _score,
    **{
        form: _sample(name, **knobs)
        for name in list_samplers()
        if not samplers.source(name)  # a plug-in brings its own kernels, and may be broken
        for form, knobs in vars(samplers[name]).get("forms", {name: {}}).items()
    },
    "findings": _look,
    **{
        f"trainer {name}": _train(name)
        for name in list_trainers()
        if not trainers.source(name) and name not in SAME_KERNELS
    },
    "pictures and log Z": _draw_and_enumerate,
    "estimates": _estimate,
    "weights": _weigh,
    "rates": lambda: _model().rbm.rates(_rows()),
}
"""The functions of all jobs, which run samplers, trainers and scores on toy models so that their kernels are
compiled. Jobs for the first page come first."""


def warm_up() -> float:
    """Do all jobs; return the seconds taken.

    Compiled kernels are cached on disk, so that only the first call on a machine is slow.
    """
    begin = time.perf_counter()
    for _ in compile_jobs(JOBS):
        pass
    return time.perf_counter() - begin


def compile_jobs(names: Iterable[str]) -> Iterator[str]:
    """Run these jobs one after another; record and yield the name of each finished job."""
    for name in names:
        JOBS[name]()
        kernels.compiled.note(name)
        yield name


def jobs_of_trainer(name: str) -> list[str]:
    """Return the names of the jobs that compile the kernels of the trainer with this name, if any."""
    job = f"trainer {SAME_KERNELS.get(name, name)}"
    return [job] if job in JOBS else []


def jobs_of_log_z(exact: bool) -> list[str]:
    """Return the names of the jobs that compile the kernels of log Z, exact or not, and of pictures."""
    return ["pictures and log Z"] if exact else ["pictures and log Z", "estimates"]


def jobs_of(sampler: Sampler, scored: bool = True) -> list[str]:
    """Return the names of the jobs that compile the kernels of a panel with this sampler, if any.

    scored : whether samples are scored against data
    """
    names = ["scores"] if scored else []
    return [name for name in (*names, getattr(sampler, "form", sampler.name)) if name in JOBS]
