"""Training to quality: seconds until a model of MNIST is as likely as the peers', by PCD-1 on the same terms.

All begin at the same parameters, and learn from the same examples in mini-batches of the same size, at a
constant rate, with as many chains. They take turns of one pass over the data. Likelihoods are of the test
examples, by AIS, and take no part in the time.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from benchmarks import peers as others
from benchmarks.environments import Absent, Peers
from benchmarks.speed import OURS
from benchmarks.timing import Contestant, Seconds
from rbmviz import rng
from rbmviz.datasets import Dataset
from rbmviz.metrics import ais_log_z
from rbmviz.rbm import RBM
from rbmviz.trainers import make_trainer, training

UNITS, PASSES, BATCH, RATE = 500, 10, 100, 0.05
"""Hidden units, passes over the data, examples in a mini-batch, as many chains, and learning rate."""

AIS_CHAINS, TEMPERATURES = 100, 1000

Pass = Callable[[], tuple[Seconds, Any]]
"""A function that makes one pass over the data, and returns its seconds and the parameters."""


def start_of(data: np.ndarray, seed: int, units: int) -> RBM:
    """Return the parameters at which all begin: small weights, visible biases by the means of the data."""
    mean = np.clip(data.mean(axis=0), 0.001, 0.999)
    W = rng.generator(seed, "model").normal(0, 0.01, (data.shape[1], units))
    return RBM(W, np.log(mean / (1 - mean)), np.zeros(units))


def _ours(rbm: RBM, data: np.ndarray, chains: np.ndarray, seed: int) -> Pass:
    size = len(chains)
    trainer: Any = make_trainer("pcd", batch_size=size, n_chains=size, learning_rate=RATE)
    state = trainer.init(rbm, data, seed)
    state.own_state = chains.astype(np.float32)
    once = Contestant(lambda: training.advance(trainer, state, len(data) // size))
    return lambda: (once.measure(1), state.theta)


def _passes(
    peers: Peers, rbm: RBM, data: np.ndarray, chains: np.ndarray, seed: int
) -> tuple[dict[str, Pass], dict[str, str]]:
    """Return a pass of each contestant, and the reasons of those that are absent."""
    running: dict[str, Pass] = {OURS: _ours(rbm, data, chains, seed)}
    absent = {}
    knobs = {"rbm": rbm, "rate": RATE, "data": data, "size": len(chains), "seed": seed, "chains": chains}
    for name, function in others.PCD.items():
        try:
            running[name] = peers.libraries[name].make("passes", function=function, **knobs).result
        except Absent as reason:
            absent[name] = str(reason)
    return running, absent


def likelihood(rbm: RBM, dataset: Dataset, seed: int) -> tuple[float, float]:
    """Return the mean log-likelihood of the test examples by AIS, and its standard error from log Z."""
    ais = ais_log_z(rbm, dataset.train, n_chains=AIS_CHAINS, betas=TEMPERATURES, seed=seed)
    return float(-rbm.free_energy(dataset.test).mean() - ais.log_z), float(ais.std_error)


def seconds_to(level: float, seconds: np.ndarray, likelihoods: np.ndarray) -> float:
    """Return the seconds at which a training first reaches a level after the start, linear between passes.

    seconds, likelihoods : float64 (passes + 1,), from the start on, where no time has passed; one is as high
    """
    i = 1 + int(np.argmax(likelihoods[1:] >= level))
    before, after = likelihoods[i - 1 : i + 1]
    share = (level - before) / (after - before) if before < level else 1.0
    return float(seconds[i - 1] + share * (seconds[i] - seconds[i - 1]))


def to_quality(
    dataset: Dataset, seed: int, peers: Peers, passes: int = PASSES, units: int = UNITS, batch: int = BATCH
) -> dict[str, Any]:
    """Train all contestants from one seed.

    The level is the lowest of their best likelihoods, so that all reach it.

    Returns
    -------
    dict
        seed, level; each contestant's processor and wall seconds of training so far, likelihoods (nats per
        test example) with their errors, from the start on, seconds to the level, and its ratio to rbmviz's;
        absent ones with their reason.
    """
    start = start_of(dataset.train, seed, units)
    chains = dataset.train[rng.generator(seed, "chains").integers(len(dataset.train), size=batch)]
    running, absent = _passes(peers, start, dataset.train, chains, seed)
    at_start = likelihood(start, dataset, seed)
    likelihoods = {name: [at_start] for name in running}
    times = {name: [Seconds(0.0, 0.0)] for name in running}
    for done in range(passes):
        names = list(running)
        for name in names[done % len(names) :] + names[: done % len(names)]:
            try:
                taken, theta = running[name]()
            except Absent as reason:
                absent[name] = str(reason)
                del running[name]
                continue
            times[name].append(Seconds(*np.add(times[name][-1], taken)))
            likelihoods[name].append(likelihood(RBM(*theta), dataset, seed))
    peers.forget()
    return {"seed": seed, "absent": absent, **_compared({name: times[name] for name in running}, likelihoods)}


def _compared(times: Mapping[str, Any], likelihoods: Mapping[str, Any]) -> dict[str, Any]:
    """Return the level, and what each contestant needed to reach it."""
    values = {name: np.array(likelihoods[name]) for name in times}
    level = min(float(each[1:, 0].max()) for each in values.values())
    found = {}
    for name, each in values.items():
        seconds = np.array(times[name])
        found[name] = {
            "processor": seconds[:, 0].tolist(),
            "wall": seconds[:, 1].tolist(),
            "likelihoods": each[:, 0].tolist(),
            "errors": each[:, 1].tolist(),
            "seconds_to_level": seconds_to(level, seconds[:, 0], each[:, 0]),
            "wall_to_level": seconds_to(level, seconds[:, 1], each[:, 0]),
        }
    for one in found.values():
        one["ratio"] = one["seconds_to_level"] / found[OURS]["seconds_to_level"]
    return {"level": level, "contestants": found}
