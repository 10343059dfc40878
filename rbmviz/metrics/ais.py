"""Annealed importance sampling (AIS): an estimate of log Z for models too large to enumerate."""

import threading
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from rbmviz import kernels, rng
from rbmviz.datasets import AnyData, rows_of
from rbmviz.errors import BadInput, known_keywords
from rbmviz.files.budget import check_memory
from rbmviz.rbm import RBM, softplus
from rbmviz.rbm.files import AnyModel, as_model
from rbmviz.registry import metric
from rbmviz.support import checks
from rbmviz.support.blas import in_threads, one_blas_thread
from rbmviz.support.notebook import short_repr

DEFAULT_CHAINS = 128
TEMPERATURES = 1000
MAX_AIS_CHAINS, MAX_AIS_TEMPERATURES = 1_000_000, 100_000_000

CHAIN_BLOCK = 32
"""Chains that a thread advances together."""

CHAIN_COST = 80
"""Bytes per chain: its weight, functions of the weight, its share of a waiting block."""

MIN_ESS, MIN_ESS_SHARE = 10.0, 0.05
"""With fewer effective chains, or a smaller share, the standard error is unreliable; of fewer than 20 chains,
half must be effective."""


@dataclass(frozen=True, eq=False)
class Annealed:
    """The result of annealed importance sampling: one weight per chain, and the estimate of log Z from them.

    Parameters
    ----------
    log_weights : float64 (n_chains,)
        Log of the importance weights, including log Z of the base model. The mean weight is an unbiased
        estimate of Z; its logarithm is therefore too low on average (Jensen's inequality).
    n_temperatures : int
        Number of inverse temperatures from the base model (0) to the model (1), both included.
    """

    log_weights: np.ndarray
    n_temperatures: int

    __repr__ = short_repr

    @property
    def n_chains(self) -> int:
        """Number of weights."""
        return len(self.log_weights)

    @property
    def log_z(self) -> float:
        """Estimate of log Z: the logarithm of the mean weight, in nats."""
        return float(np.logaddexp.reduce(self.log_weights) - np.log(self.n_chains))

    @property
    def ess(self) -> float:
        """Effective sample size, 1 / sum of the squared normalised weights: between 1 and n_chains."""
        return float(
            np.exp(-np.logaddexp.reduce(2 * (self.log_weights - self.log_z - np.log(self.n_chains))))
        )

    @property
    def std_error(self) -> float:
        """Standard error of log Z, in nats: the relative standard error of the mean weight (delta method)."""
        weights = np.exp(self.log_weights - self.log_z)
        return float(weights.std(ddof=1) / np.sqrt(self.n_chains))

    @property
    def warning(self) -> str:
        """A sentence if a few chains hold nearly all the weight, or there are few chains; else empty."""
        if self.n_chains < MIN_ESS:
            return f"{self.n_chains} chains are too few to know the error: take {MIN_ESS:.0f} or more."
        if self.ess >= max(min(MIN_ESS, self.n_chains / 2), MIN_ESS_SHARE * self.n_chains):
            return ""
        return (
            f"Only {self.ess:.1f} of {self.n_chains} chains are effective: log Z is probably too low and "
            f"its error too small; use more temperatures (now {self.n_temperatures:,}) or more chains."
        )


def _inverse_temperatures(betas: int | np.ndarray) -> np.ndarray:
    betas = checks.numbers("AIS: betas", betas)
    if betas.ndim == 0:
        if betas < 2:
            raise BadInput(
                f"AIS needs at least 2 temperatures, the base's and the model's; betas is {betas}."
            )
        n = checks.whole("AIS: betas", betas[()], 2, MAX_AIS_TEMPERATURES)
        check_memory(f"AIS of {n:,} temperatures", 16 * n, "take fewer")
        return np.linspace(0, 1, n)
    betas = betas.astype(np.float64)
    if (
        betas.ndim != 1
        or len(betas) < 2
        or betas[0] != 0
        or betas[-1] != 1
        or not (np.diff(betas) >= 0).all()
    ):
        raise BadInput("The betas of AIS must rise from 0 to 1, both included.")
    return betas


def _base(model: AnyModel, data: AnyData | None) -> tuple[RBM, np.ndarray]:
    """Return the RBM and the visible biases of the base model, float64 (n_visible,)."""
    model = as_model(model)
    rbm, rates = model.rbm, model.rates
    if data is not None:
        mean = rows_of("The data", data, rbm.n_visible, "train").mean(axis=0, dtype=np.float64)
    elif rates is not None:
        mean = rates.b.astype(np.float64)
    else:
        return rbm, rbm.b.astype(np.float64)
    mean = np.clip(mean, 0.001, 0.999)
    return rbm, np.log(mean / (1 - mean))


def _anneal(
    layers: Any, rbm: RBM, base: np.ndarray, betas: np.ndarray, streams: np.ndarray
) -> Generator[None, None, np.ndarray]:
    """Return the log weights of one block, float64 (chains,), without log Z of the base model.

    The generator yields at every temperature. layers : ``kernels.chains`` of the model without biases
    """
    tilt, c = rbm.b - base, rbm.c.astype(np.float64)
    chains = kernels.annealing.start(layers, base, tilt, c, streams)
    for warm, cold in pairwise(betas):
        yield
        kernels.annealing.anneal(chains, warm, cold)
    return chains.log_weights


def _blocks(
    model: AnyModel, data: AnyData | None, n_chains: int, betas: int | np.ndarray, seed: rng.Seed
) -> tuple[list[Generator[None, None, np.ndarray]], float]:
    """Return a generator for each block of chains, and log Z of the base model."""
    rbm, base = _base(model, data)
    betas, seed = _inverse_temperatures(betas), rng.seed_sequence(seed)
    n_chains = checks.whole("AIS: n_chains", n_chains)
    if n_chains < 2:
        raise BadInput(f"AIS needs at least 2 chains for a standard error; n_chains is {n_chains}.")
    if n_chains > MAX_AIS_CHAINS:
        raise BadInput(f"AIS: n_chains = {n_chains:,} is more than {MAX_AIS_CHAINS:,}: give fewer.")
    check_memory(f"AIS of {n_chains:,} chains", CHAIN_COST * n_chains, "take fewer")
    layers = kernels.chains.make_layers(rbm.W, np.zeros_like(rbm.b), np.zeros_like(rbm.c))

    def block(first: int) -> Generator[None, None, np.ndarray]:
        chains = range(first, min(first + CHAIN_BLOCK, n_chains))
        streams = np.stack([rng.kernel_state(seed, "ais", chain) for chain in chains])
        return (yield from _anneal(layers, rbm, base, betas, streams))

    blocks = [block(first) for first in range(0, n_chains, CHAIN_BLOCK)]
    return blocks, float(softplus(base).sum() + rbm.n_hidden * np.log(2))


def ais_blocks(
    model: AnyModel,
    data: AnyData | None = None,
    *,
    n_chains: int = DEFAULT_CHAINS,
    betas: int | np.ndarray = TEMPERATURES,
    seed: rng.Seed = 0,
) -> Iterator[np.ndarray]:
    """Yield the log weights of ``ais_log_z`` block by block, float64 (at most 32,), for a progress bar.

    Blocks run in parallel, one per core; closing the generator stops them. Parameters and errors: see
    ``ais_log_z``.
    """
    blocks, base_log_z = _blocks(model, data, n_chains, betas, seed)

    def finish(block: Generator[None, None, np.ndarray], stop: threading.Event) -> np.ndarray:
        while not stop.is_set():
            try:
                next(block)
            except StopIteration as end:
                log_weights: np.ndarray = base_log_z + end.value
                return log_weights
        return np.zeros(0)

    yield from in_threads(finish, blocks)


def _step(block: Generator[None, None, np.ndarray]) -> np.ndarray | None:
    """Advance a block by one temperature; return its log weights after the last, None before."""
    with one_blas_thread():
        try:
            next(block)
        except StopIteration as end:
            log_weights: np.ndarray = end.value
            return log_weights
    return None


def ais_steps(
    model: AnyModel,
    data: AnyData | None = None,
    *,
    n_chains: int = DEFAULT_CHAINS,
    betas: int | np.ndarray = TEMPERATURES,
    seed: rng.Seed = 0,
) -> Generator[None, None, Annealed]:
    """Compute ``ais_log_z`` in the caller's thread, in steps of one temperature of one block of 32 chains.

    For callers that do other work in between: ``annealed = yield from ais_steps(...)``. Parameters, weights
    and errors: see ``ais_log_z``.
    """
    blocks, base_log_z = _blocks(model, data, n_chains, betas, seed)
    log_weights = []
    for block in blocks:
        while (block_weights := _step(block)) is None:
            yield
        log_weights.append(base_log_z + block_weights)
    return Annealed(np.concatenate(log_weights), len(_inverse_temperatures(betas)))


@metric("ais_log_z")
@known_keywords
def ais_log_z(
    model: AnyModel,
    data: AnyData | None = None,
    *,
    n_chains: int = DEFAULT_CHAINS,
    betas: int | np.ndarray = TEMPERATURES,
    seed: rng.Seed = 0,
) -> Annealed:
    """Estimate log Z by annealed importance sampling (Neal, 2001; Salakhutdinov and Murray, 2008).

    Chains start at a base model without weights, whose Z is known, and are annealed to the model: at inverse
    temperature beta the weights are beta W, the hidden biases beta c, and the visible biases (1 - beta) times
    the base model's plus beta b. Each step adds log p~_beta(v), hidden units summed out, at the new beta
    minus the old beta to the log weight, and makes one Gibbs sweep at the new beta.

    Parameters
    ----------
    model : RBM, Model, name or file
        The model; with rates, a Model gives a better base model than an RBM.
    data : uint8 (n, n_visible), or a data set, name or file, optional
        Training data. The base model has the visible means of ``data`` or else of the model's rates, clipped
        to [0.001, 0.999]; without either, the model's visible biases. The choice changes the standard error,
        not the expected weight.
    n_chains : int
        Independent chains, at least 2 (default 128). Population CD, section 4.1, uses 512.
    betas : int or float64 (n,)
        Number of evenly spaced inverse temperatures (default 1000; the paper uses 50,000), or the inverse
        temperatures themselves, rising from 0 to 1. The time grows with chains times temperatures.
    seed : int, SeedSequence or Generator
        The same seed gives the same weights on any number of threads.

    Returns
    -------
    Annealed
        ``log_z``, ``std_error``, ``ess``, ``log_weights``, ``warning``. The standard error is estimated from
        the weights and misses a mode that no chain has reached. As a check, ten times as many temperatures
        should give the same log Z.

    Raises
    ------
    BadInput
        If the data do not fit the model, or a number is out of range.

    Examples
    --------
    >>> model = rbmviz.load_model("bas_cd1")
    >>> annealed = rbmviz.metrics.ais_log_z(model, n_chains=64, betas=300, seed=0)
    >>> len(annealed.log_weights), annealed.std_error < 1
    (64, True)
    """
    n_temperatures = len(_inverse_temperatures(betas))
    blocks = ais_blocks(model, data, n_chains=n_chains, betas=betas, seed=seed)
    return Annealed(np.concatenate(list(blocks)), n_temperatures)
