"""Several chains in one sampler: each has its own state, and their samples are interleaved.

Sample t belongs to chain t % n_chains. Chains advance in parallel on threads, each with its own random
stream, so that samples depend neither on the number of threads nor on the division into steps. The state of a
single chain is that chain's state, not a list.
"""

import contextlib
import functools
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, Generic, Literal, TypeAlias, TypeVar, get_args
from weakref import WeakKeyDictionary

import numpy as np

from rbmviz import kernels, rng
from rbmviz.datasets import Dataset, as_dataset, load_registered
from rbmviz.errors import BadInput, quoted
from rbmviz.files.metadata import data_name
from rbmviz.knobs import knob
from rbmviz.rbm import RBM, Model, Statistics
from rbmviz.rbm.clamp import Clamp
from rbmviz.samplers import Samples
from rbmviz.support import checks

MAX_CHAINS = 1000
"""Maximum number of chains of a sampler."""

THREADS = os.cpu_count() or 1
"""Maximum number of blocks of chains that advance at the same time."""

SAMPLES_PER_THREAD = 32
"""Minimum number of samples per thread: for fewer, waking the thread costs more than it saves."""

GROUP = 128
"""Most chains of a group: their pre-activations stay in the second cache, beside a tile of the weights."""

S = TypeVar("S")


@dataclass(frozen=True, kw_only=True)
class ChainKnobs:
    """The knobs that all samplers share."""

    n_chains: int = knob(
        1,
        1,
        MAX_CHAINS,
        label="Chains",
        scale="log",
        live=False,
        help="Number of chains, which take turns. With 100, each cell of a 10 x 10 grid shows one chain.",
    )


@dataclass
class Chains(Generic[S]):
    """State of two or more chains.

    Attributes
    ----------
    each : list
        The state of each chain.
    n : int
        Samples of all chains so far.
    """

    each: list[S]
    n: int = 0


_UpAndDown: TypeAlias = "tuple[kernels.layers.PreActivation, kernels.layers.PreActivation]"

_PREACTIVATIONS: WeakKeyDictionary[RBM | Statistics, _UpAndDown] = WeakKeyDictionary()
"""Results of ``preactivations`` by parameters, kept while the parameters are alive."""


def preactivations(parameters: RBM | Statistics) -> _UpAndDown:
    """Return the pre-activations of h as a function of v, and of v as a function of h.

    All chains share these read-only rows, so that many chains fit into the cache.
    """
    if parameters not in _PREACTIVATIONS:
        W, b, c = parameters.W, parameters.b, parameters.c
        _PREACTIVATIONS[parameters] = (
            kernels.layers.make_preactivation(W, c),
            kernels.layers.make_preactivation(W.T, b),
        )
    return _PREACTIVATIONS[parameters]


def one_or_many(each: list[S]) -> S | Chains[S]:
    """Return ``Chains`` of several states, or the single state itself."""
    return each[0] if len(each) == 1 else Chains(each)


def next_chain(state: S | Chains[S]) -> S:
    """Return the chain that makes the next sample."""
    return state.each[state.n % len(state.each)] if isinstance(state, Chains) else state


def starts(
    n_chains: int, model: Model, seed: rng.Seed, v0: np.ndarray | None
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the start and the random stream of each chain.

    n_chains : chains
    model : its visible units must fit v0
    seed : chain c has the stream "chain" number c
    v0 : uint8 (n_visible,) or (n_chains, n_visible); the start of all chains, or one row per chain; default:
        chain c starts at fair bits from the stream "init" number c

    A start is uint8 (n_visible,), a copy that the chain may write to. A stream is uint32 (4, STREAM_LANES),
    for kernels; a sampler in numpy uses ``rng.generator`` instead.

    Raises BadInput if v0 has another shape or other values than 0 and 1, or the seed is invalid.
    """
    n = model.rbm.n_visible
    if v0 is not None:
        v = checks.numbers("The start", v0)
        if v.shape not in ((n,), (n_chains, n)) or not np.isin(v, (0, 1)).all():
            raise BadInput(
                f"The start has shape {v.shape}; the model requires {n} values 0 or 1"
                + (f", or {n_chains} rows of them." if n_chains > 1 else ".")
            )
        rows = np.broadcast_to(v, (n_chains, n)).astype(np.uint8)
    for c in range(n_chains):
        drawn = v0 is None
        start = rng.generator(seed, "init", c).integers(0, 2, n, dtype=np.uint8) if drawn else rows[c].copy()
        yield start, rng.kernel_state(seed, "chain", c)


Init = Literal["data", "random"]


@functools.lru_cache(maxsize=8)
def _examples(name: str, part: Literal["train", "validation"], folder: str | None) -> np.ndarray:
    """Return a part of data, the validation part for chains to start at; kept, as some take seconds to load.

    folder : RBMVIZ_DATA_DIR, where they may be from
    """
    rows: np.ndarray = getattr(load_registered(name), part)
    return rows


def start_of(
    model: Model, seed: rng.Seed, n_chains: int, init: Init | None = None, examples: Dataset | None = None
) -> tuple[np.ndarray | None, str]:
    """Return the default start of chains: at data where the model names them, else at random bits.

    model, seed, n_chains : as for ``sample``
    init : the start that is wanted; default: data where there are some
    examples : data to start at (default: those that the model was trained on, if they are on this machine)

    The start is uint8 (n_chains, n_visible), see ``starts_at_data``, or None: random bits from the seed. The
    second value says in words what it is.

    Raises BadInput if data are wanted, and there are none.
    """
    if init not in (None, *get_args(Init)):
        raise BadInput(f"init = {quoted(init)}: give 'data' or 'random'.")
    kept = model.data if examples is None else examples
    name = data_name(model.meta) if kept is None else kept.name or "its own data"
    if init == "random" or (init is None and name is None):
        return None, "random bits"
    if name is None:
        raise BadInput("The model does not say what data it learned: name the data, or start at random bits.")
    why, n_visible = f"no validation examples of {name} were found", model.rbm.n_visible
    try:
        if kept is None:
            rows = _examples(name, "validation", os.environ.get("RBMVIZ_DATA_DIR"))
        else:
            rows = as_dataset(kept, held_out=True).validation
        if not len(rows):
            why = f"{name} has no validation examples"
        elif rows.shape[1] != n_visible:
            why = f"examples of {name} have {rows.shape[1]:,} bits, and the model {n_visible:,} visible units"
        else:
            return starts_at_data(rows, seed, n_chains), f"validation examples of {name}"
    except BadInput:
        if init == "data":
            raise
    if init == "data":
        raise BadInput(f"The chains cannot start at data, because {why}: start at random bits.")
    return None, f"random bits, because {why}"


def given(clamp: Clamp, model: Model, sampler: Any, examples: Dataset | None = None) -> Model:
    """Return the model of the free units, given the clamped ones.

    The rates of a sampler that needs them are of the training examples that are nearest to the clamped units
    (``Clamp.model``): of ``examples`` (default: the data that the model names, if they are on this machine).
    """
    name, rows, wanted = data_name(model.meta), None, sampler.needs_rates and clamp.holds
    if wanted and examples is not None:
        rows = examples.train
    elif wanted and name is not None:
        with contextlib.suppress(BadInput):
            rows = _examples(name, "train", os.environ.get("RBMVIZ_DATA_DIR"))
    fit = rows is not None and len(rows) > 0 and rows.shape[1] == model.rbm.n_visible
    return clamp.model(model, rows if fit else None)


def begin(
    sampler: Any,
    model: Model,
    seed: rng.Seed,
    v0: np.ndarray | None,
    clamp: Clamp | None = None,
    examples: Dataset | None = None,
) -> Any:
    """Return the state of fresh chains; while units are clamped, of the free ones: see ``whole``."""
    if clamp is None:
        return sampler.init(model, seed, v0)
    free = given(clamp, model, sampler, examples)
    return sampler.init(free, seed, v0 if v0 is None else clamp.free_part(v0))


def whole(samples: Samples, clamp: Clamp | None) -> Samples:
    """Return samples of all units from those of the free ones."""
    if clamp is None:
        return samples
    return replace(samples, v=clamp.fill(samples.v), p=clamp.fill(samples.p))


def starts_at_data(examples: np.ndarray, seed: rng.Seed, n_chains: int) -> np.ndarray:
    """Return examples for chains to start at, uint8 (n_chains, n_visible).

    They are drawn with replacement from the seed's stream "start": chain c of every sampler starts at the
    same example, and the starts are overdispersed, as R-hat requires.

    examples : uint8 (n, n_visible); held-out examples, at least one
    seed : int, SeedSequence or Generator
    n_chains : int
    """
    return examples[rng.generator(seed, "start").integers(len(examples), size=n_chains)]


def empty_samples(like: Samples, n: int) -> Samples:
    """Return uninitialised arrays for n samples, with the dtypes and traces of ``like``."""

    def empty(array: np.ndarray) -> np.ndarray:
        return np.empty((n, *array.shape[1:]), array.dtype)

    return Samples(empty(like.v), empty(like.p), {name: empty(trace) for name, trace in like.info.items()})


def copy_into(out: Samples, rows: slice, samples: Samples, source_rows: slice = slice(None)) -> None:
    """Copy ``source_rows`` of samples (default: all) into ``rows`` of ``out``."""
    out.v[rows], out.p[rows] = samples.v[source_rows], samples.p[source_rows]
    for name, trace in samples.info.items():
        out.info[name][rows] = trace[source_rows]


@functools.cache
def _pool(process: int) -> ThreadPoolExecutor:
    # One pool per process, shared by all runs; a forked process has no threads and needs its own.
    return ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="rbmviz-chains")


_ALONE: ContextVar[bool] = ContextVar("alone", default=False)  # of each thread its own


@contextlib.contextmanager
def on_one_thread() -> Iterator[None]:
    """Advance chains only on the calling thread within the block, for runs that already fill the cores."""
    token = _ALONE.set(True)
    try:
        yield
    finally:
        _ALONE.reset(token)


def groups_of(n_chains: int) -> list[np.ndarray]:
    """Return the numbers of chains in groups: some for each thread, of at most GROUP."""
    return np.array_split(np.arange(n_chains), min(max(-(-n_chains // GROUP), THREADS), n_chains))


def on_threads(advance: Callable[[Any], None], blocks: Sequence[Any], n: int) -> None:
    """Advance blocks of chains by n samples in all, at the same time if that saves time."""
    if len(blocks) == 1 or n < 2 * SAMPLES_PER_THREAD or _ALONE.get():
        for block in blocks:
            advance(block)
    else:
        list(_pool(os.getpid()).map(advance, blocks))


def interleave(sampler: Any, state: S | Chains[S], n: int) -> Samples:
    """Make n samples, interleaved over the chains.

    sampler : its ``_step(chain, m)`` advances a chain and returns its next m samples; several threads call it
        at once, for different chains
    state : from ``one_or_many``; advanced in place
    n : samples, of all chains together
    """
    step: Callable[[S, int], Samples] = sampler._step
    if not isinstance(state, Chains):
        return step(state, n)
    count, first = len(state.each), state.n
    out = empty_samples(step(next_chain(state), 0), n)

    def advance(block: np.ndarray) -> None:
        for i in block:
            turns = slice(i, n, count)
            copy_into(out, turns, step(state.each[(first + i) % count], len(range(n)[turns])))

    busy = min(n, count)
    on_threads(advance, np.array_split(np.arange(busy), max(min(THREADS, busy), 1)), n)
    state.n += n
    return out
