"""Long parallel tempering: mean statistics, with errors, of a model too large to enumerate."""

import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rbmviz import kernels, rng
from rbmviz.files.budget import check_memory
from rbmviz.rbm import RBM, sigmoid
from rbmviz.rbm.files import AnyModel, as_rbm
from rbmviz.registry import metric
from rbmviz.support import checks
from rbmviz.support.blas import in_threads

LADDER_TEMPERATURES = 100
"""Temperatures of a ladder, as in population CD, section 4.1."""

LADDERS = 10
"""Independent ladders: standard errors come from their spread."""

TEMPERED_SAMPLES = 20_000
"""Samples of all ladders together; the paper uses 200,000."""

TEMPERED_BURN_IN = 1000
"""Sweeps of each ladder before its first sample; the paper uses 50,000, on a single ladder."""

MAX_TEMPERATURES, MAX_LADDERS, MAX_TEMPERED_SWEEPS = 1000, 1000, 1_000_000_000

SAMPLE_BLOCK = 64
"""Samples per sum of products v h'."""

MIN_SWAP_RATE = 0.1
"""Below this swap rate between two neighbours, the ladder is nearly cut there."""


def inverse_temperatures(n: int) -> np.ndarray:
    """Return n inverse temperatures, uniform from 1 to 0, coldest first, float32; only 1 if n is 1."""
    return np.linspace(1, 0, n, dtype=np.float32)


def swaps_taken(
    generator: np.random.Generator,
    beta: np.ndarray | np.floating,
    other_beta: np.ndarray | np.floating,
    energies: np.ndarray,
    other_energies: np.ndarray,
) -> np.ndarray:
    """Return which pairs of states swap their temperatures by the Metropolis rule, bool (pairs,).

    A pair swaps with probability min(1, exp((beta - other beta) (E - other E))).
    """
    gain = (beta - other_beta) * (energies - other_energies)
    return np.log1p(-generator.random(len(gain))) < gain


@dataclass(frozen=True, eq=False)
class Ladder:
    """The result of one ladder of temperatures.

    Parameters
    ----------
    W, b, c : float64 (n_visible, n_hidden), (n_visible,), (n_hidden,)
        Means of v E[h | v]', v and E[h | v] over its samples at beta = 1.
    swap_rates : float64 (n_temperatures - 1,)
        Share of accepted swaps per pair of neighbours, burn-in included, coldest pair first; NaN for a pair
        without proposals, in very short runs.
    trips : int
        Number of times a state has moved from the hottest to the coldest temperature, burn-in included.
    """

    W: np.ndarray
    b: np.ndarray
    c: np.ndarray
    swap_rates: np.ndarray
    trips: int


@dataclass(frozen=True, eq=False)
class Tempered:
    """Mean statistics of a model by long parallel tempering.

    Parameters
    ----------
    ladders : tuple of Ladder
        Independent of each other, at least 3.
    """

    ladders: tuple[Ladder, ...]

    def each(self, name: str) -> np.ndarray:
        """Return the means of all ladders: of v h' ("W"), v ("b") or h ("c"), float64 (ladders, ...)."""
        return np.array([getattr(ladder, name) for ladder in self.ladders])

    def mean(self, name: str) -> np.ndarray:
        """Return the mean over the ladders, float64, of the shape of W, b or c."""
        return self.each(name).mean(axis=0)

    def std_error(self, name: str) -> np.ndarray:
        """Return the standard error of ``mean``, from the spread of the ladders."""
        return self.each(name).std(axis=0, ddof=1) / np.sqrt(len(self.ladders))

    @property
    def warning(self) -> str:
        """One sentence if states rarely move from hot to cold, else empty."""
        if not all(len(ladder.swap_rates) for ladder in self.ladders):
            return (
                "With one temperature nothing helps the chains from mode to mode: the error may be too small."
            )
        swap_rates = np.concatenate([ladder.swap_rates for ladder in self.ladders])
        rate = float(np.min(swap_rates, where=~np.isnan(swap_rates), initial=1.0))
        trips = sum(ladder.trips for ladder in self.ladders)
        if rate >= MIN_SWAP_RATE and trips >= len(self.ladders):
            return ""
        return (
            f"{trips} states came from the hottest temperature to the coldest, and the rarest swap was made "
            f"in {rate:.1%} of all proposals: the error may be too small; take more temperatures or samples."
        )


def tempered_ladders(
    rbm: AnyModel,
    *,
    samples: int = TEMPERED_SAMPLES,
    burn_in: int = TEMPERED_BURN_IN,
    n_temperatures: int = LADDER_TEMPERATURES,
    n_ladders: int = LADDERS,
    seed: rng.Seed = 0,
    workers: int | None = None,
) -> Iterator[Ladder]:
    """Yield the ladders of ``tempered_statistics`` one by one, for callers with a progress bar.

    Closing the iterator stops the running ladders. Parameters and errors: see ``tempered_statistics``.
    """
    rbm = as_rbm(rbm)
    n_ladders = checks.whole("tempering: n_ladders", n_ladders, 3, MAX_LADDERS)
    n_temperatures = checks.whole("tempering: n_temperatures", n_temperatures, 1, MAX_TEMPERATURES)
    samples = checks.whole("tempering: samples", samples, n_ladders, MAX_TEMPERED_SWEEPS)
    burn_in = checks.whole("tempering: burn_in", burn_in, 0, MAX_TEMPERED_SWEEPS)
    workers = checks.whole("tempering: workers", workers or os.cpu_count() or 1, 1)
    states = n_temperatures * (rbm.n_visible + rbm.n_hidden)
    needed = 8 * (rbm.W.size * (n_ladders + 2) + 2 * states * workers)
    check_memory(f"Parallel tempering of {n_ladders} ladders", needed, "take fewer ladders or temperatures")
    betas, seed = inverse_temperatures(n_temperatures), rng.seed_sequence(seed)

    def run(index: int, stop: threading.Event) -> Ladder:
        return _ladder(rbm, betas, -(-samples // n_ladders), burn_in, seed, index, stop)

    return in_threads(run, range(n_ladders), workers)


@metric("tempered_statistics")
def tempered_statistics(
    rbm: AnyModel,
    *,
    samples: int = TEMPERED_SAMPLES,
    burn_in: int = TEMPERED_BURN_IN,
    n_temperatures: int = LADDER_TEMPERATURES,
    n_ladders: int = LADDERS,
    seed: rng.Seed = 0,
    workers: int | None = None,
) -> Tempered:
    """Estimate <v h'>, <v> and <h> of a model by long parallel tempering, with standard errors.

    Population CD, section 4.1, measures biases against such means: 100 replicas, 50,000 sweeps of burn-in,
    200,000 samples. A *ladder* has one replica per inverse temperature, uniform from 0 to 1. After each sweep
    of all replicas, even and odd neighbours alternately propose swaps; then the state at beta = 1 is one
    sample, in which hidden units enter by their means. Here several independent ladders share the samples:
    the spread of their means is the error, and reveals modes that some ladders have missed.

    Parameters
    ----------
    rbm : RBM, Model, name or file
        The model.
    samples : int
        Samples of all ladders together (default 20,000), rounded up to a multiple of ``n_ladders``.
    burn_in : int
        Sweeps of each ladder, from fair bits, before its first sample (default 1000).
    n_temperatures : int
        Replicas of a ladder (default 100). With one it is plain Gibbs sampling.
    n_ladders : int
        Independent ladders, at least 3 (default 10).
    seed : int, SeedSequence or Generator
        The same seed gives the same means on any number of threads.
    workers : int, optional
        Threads; each runs one ladder at a time (default: one per core).

    Returns
    -------
    Tempered
        ``mean``, ``std_error``, ``ladders``, ``warning``. The error misses a mode that no ladder has reached.

    Raises
    ------
    BadInput
        If a number is out of range, or the ladders need more than the memory budget.

    Examples
    --------
    >>> import numpy as np
    >>> model = rbmviz.load_model("bas_cd1").rbm
    >>> tempered = rbmviz.metrics.tempered_statistics(model, samples=4000, burn_in=100, n_temperatures=20)
    >>> exact = rbmviz.metrics.model_statistics(model)
    >>> bool(np.sqrt(np.mean((tempered.mean("b") - exact.b) ** 2)) < 0.05)
    True
    """
    rbm = as_rbm(rbm)
    ladders = tempered_ladders(
        rbm,
        samples=samples,
        burn_in=burn_in,
        n_temperatures=n_temperatures,
        n_ladders=n_ladders,
        seed=seed,
        workers=workers,
    )
    return Tempered(tuple(ladders))


def _ladder(
    rbm: RBM,
    betas: np.ndarray,
    samples: int,
    burn_in: int,
    seed: np.random.SeedSequence,
    index: int,
    stop: threading.Event,
) -> Ladder:
    """Run one ladder; if ``stop`` is set, return the means of the samples so far."""
    n, n_visible, n_hidden = len(betas), rbm.n_visible, rbm.n_hidden
    stream, swaps = rng.kernel_state(seed, "tempering", index), rng.generator(seed, "swaps", index)
    transposed, c = np.ascontiguousarray(rbm.W.T), rbm.c.astype(np.float64)
    no_b, no_c = np.zeros(n_visible, np.float32), np.zeros(n_hidden, np.float32)  # added to x already
    v, h = np.zeros((n, n_visible), np.float32), np.empty((n, n_hidden), np.float32)
    kernels.random.bernoulli_rows(stream, v, no_b, v, v)  # fair bits
    # The pre-activations of h and v at beta = 1, and work space in which they become means at each beta.
    x_h, x_v = np.empty_like(h), np.empty_like(v)
    mean_h, mean_v = np.empty_like(h), np.empty_like(v)
    # Replicas keep their states and swap their temperatures: replica_at[0] is the coldest.
    replica_at, beta = np.arange(n), betas.astype(np.float32)[:, None].copy()
    tried, taken, was_hot, trips = np.zeros(n - 1), np.zeros(n - 1), np.zeros(n, bool), 0
    kept_v, kept_x_h = (np.empty((SAMPLE_BLOCK, size)) for size in (n_visible, n_hidden))
    sum_W, sum_v, sum_h = np.zeros(rbm.W.shape), np.zeros(n_visible), np.zeros(n_hidden)
    kept, done = 0, 0  # samples in the block, and all so far
    for t in range(burn_in + samples + 1):
        np.matmul(v, rbm.W, out=x_h)
        x_h += rbm.c
        if t > burn_in:
            kept_v[kept], kept_x_h[kept] = v[replica_at[0]], x_h[replica_at[0]]
            kept, done = kept + 1, done + 1
        last = done == samples or stop.is_set()
        if kept == SAMPLE_BLOCK or last:
            means = sigmoid(kept_x_h[:kept])
            sum_W += kept_v[:kept].T @ means
            sum_v += kept_v[:kept].sum(axis=0)
            sum_h += means.sum(axis=0)
            kept = 0
        if last:
            break
        np.multiply(x_h, beta, out=mean_h)
        kernels.random.bernoulli_rows(stream, mean_h, no_c, mean_h, h)
        np.matmul(h, transposed, out=x_v)
        x_v += rbm.b
        np.multiply(x_v, beta, out=mean_v)
        kernels.random.bernoulli_rows(stream, mean_v, no_b, mean_v, v)
        energies = -np.einsum("ri,ri->r", v, x_v, dtype=np.float64) - h @ c
        pairs = np.arange(t % 2, n - 1, 2)
        colder, hotter = replica_at[pairs], replica_at[pairs + 1]
        swap = swaps_taken(swaps, betas[pairs], betas[pairs + 1], energies[colder], energies[hotter])
        replica_at[pairs] = np.where(swap, hotter, colder)
        replica_at[pairs + 1] = np.where(swap, colder, hotter)
        beta[replica_at, 0] = betas
        tried[pairs] += 1
        taken[pairs] += swap
        if n > 1:
            was_hot[replica_at[-1]] = True
            trips += int(was_hot[replica_at[0]])
            was_hot[replica_at[0]] = False
    done = max(done, 1)
    rates = np.divide(taken, tried, out=np.full(n - 1, np.nan), where=tried > 0)
    return Ladder(sum_W / done, sum_v / done, sum_h / done, rates, trips)
