"""Streaming samplers: one file per sampler; to write another, copy ``_skeleton.py``.

A sampler is a frozen dataclass of its knobs. ``init(model, seed, v0)`` makes the state of its chains;
``step(state, n)`` advances the state in place and returns n new samples. The division of a run into steps
never changes its samples. Live knobs may change between steps: ``dataclasses.replace`` gives a sampler that
continues with the same state. With ``n_chains`` > 1 the chains take turns: sample t belongs to chain t %
n_chains. The contract is ``rbmviz.testing.check_sampler``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol

import numpy as np

from rbmviz import registry, rng
from rbmviz.datasets import AnyData, Dataset, as_dataset
from rbmviz.errors import BadInput
from rbmviz.files.budget import check_machine
from rbmviz.rbm import RBM, Model
from rbmviz.rbm.clamp import clamp_of
from rbmviz.rbm.files import AnyModel, as_model
from rbmviz.support import checks
from rbmviz.support.notebook import data_frame, notebook_html, picture_shape


@dataclass(frozen=True, eq=False)
class Samples:
    """Consecutive samples of a sampler, interleaved if it has several chains.

    Parameters
    ----------
    v : uint8 (n, n_visible)
        The samples, values 0 and 1.
    p : float32 (n, n_visible)
        Mean of v given the h it was drawn from; v itself if the sampler computes no mean.
    info : dict
        Traces named by the sampler, arrays (n,): ``sweeps`` (spent on the sample), if asked for ``fast_norm``
        (norm of theta_F after it, float64). ``start``, a text, is where ``sample``'s chains began.
    model : Model or None
        The model that was sampled, if ``sample`` or ``stream`` has drawn them.
    n_chains : int or None
        Chains that take turns, beginning with the first row; None if that is not known.

    Examples
    --------
    ``len(samples)``, ``samples[:10]`` and ``numpy.asarray(samples)``, which is ``v``, work as for an array.

    >>> samples = rbmviz.sample("bas_pcd", "gibbs:n_chains=4", n=100)
    >>> samples[8:20].v.shape, samples.by_chain()["v"].shape
    ((12, 16), (4, 25, 16))
    """

    v: np.ndarray
    p: np.ndarray
    info: dict[str, Any]
    model: Model | None = None
    n_chains: int | None = None

    def __repr__(self) -> str:
        chains = "" if self.n_chains in (None, 1) else f" from {self.n_chains} chains"
        return (
            f"Samples({len(self):,} of {self.v.shape[1]:,} units{chains}, traces: {', '.join(self.traces)})"
        )

    @property
    def traces(self) -> dict[str, np.ndarray]:
        """``info`` without its text: one array (n,) for each trace."""
        return {name: trace for name, trace in self.info.items() if name != "start"}

    def __len__(self) -> int:
        return len(self.v)

    def __getitem__(self, rows: slice | np.ndarray) -> Samples:
        """Return some of the samples: a slice, or an array of indices or of booleans."""
        if not isinstance(rows, slice):
            rows = np.atleast_1d(np.asarray(rows))
        begin, _, step = rows.indices(len(self)) if isinstance(rows, slice) else (0, 0, 0)
        aligned = self.n_chains == 1 or (self.n_chains and step == 1 and not begin % self.n_chains)
        info = self.info | {name: trace[rows] for name, trace in self.traces.items()}
        return Samples(self.v[rows], self.p[rows], info, self.model, self.n_chains if aligned else None)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.v, dtype=dtype, copy=copy)

    def _repr_html_(self) -> str:
        stated = None if self.model is None else self.model.meta.get("image_shape")
        return notebook_html(self, self.v, picture_shape(self.v.shape[1], stated))

    @property
    def frame(self) -> Any:
        """A pandas DataFrame with a row for each sample: ``chain`` if known, traces, and units v0, v1, ..."""
        chain = {} if self.n_chains is None else {"chain": np.arange(len(self)) % self.n_chains}
        return data_frame(chain | self.traces | {f"v{i}": unit for i, unit in enumerate(self.v.T)})

    def by_chain(self) -> dict[str, np.ndarray]:
        """Return ``v``, ``p`` and the traces by chain: (chains, draws, n_visible), (chains, draws).

        Rows of several chains take turns, so that ``v.reshape(chains, draws, -1)`` would mix them. The last
        draw is left out if not every chain has made it.

        Raises
        ------
        BadInput
            If the number of chains is not known: the rows were not drawn by ``sample`` or ``stream``, or were
            selected so that chains do not take turns.
        """
        if self.n_chains is None:
            raise BadInput("How many chains these samples are of is not known: take all samples of a run.")
        chains, draws = self.n_chains, len(self) // self.n_chains

        def split(rows: np.ndarray) -> np.ndarray:
            return rows[: draws * chains].reshape(draws, chains, *rows.shape[1:]).swapaxes(0, 1)

        return {name: split(rows) for name, rows in {"v": self.v, "p": self.p, **self.traces}.items()}

    def to_arviz(self, dataset: AnyData | None = None) -> Any:
        """Return the samples as an ``xarray.DataTree`` for ArviZ, with dimensions (chain, draw).

        Group ``posterior`` has scalars: ``free_energy`` in nats, ``fast_norm`` if it was traced, and with a
        data set the ``class`` of the nearest training example (an index into the attribute
        ``classes``) and ``spurious`` (see ``metrics.Coverage``). ``sample_stats`` has ``sweeps``; ``samples``
        has ``v`` and ``p`` (chain, draw, unit). Attributes, JSON: ``model``, the model's metadata, and
        ``findings``, what speaks against the samples (``metrics.findings``).

        Raises
        ------
        BadInput
            If the number of chains is not known (see ``by_chain``), or arviz-base is not installed.
        """
        from rbmviz.samplers.arviz_tree import data_tree  # it imports this module

        return data_tree(self, dataset)


class Sampler(Protocol):
    """The interface of samplers.

    A sampler draws from numpy Generators (``rng.generator``) or kernel streams (``rng.kernel_state``), one
    per chain, kept in the state.

    Attributes
    ----------
    name, label, paper, colour : str
        Arguments of the decorator ``registry.sampler``.
    exact_chain : bool
        Whether the chain leaves the model's distribution invariant with all knobs at their defaults.
    deterministic : bool
        Whether the chain uses no random numbers after its start.
    needs_rates : bool
        Whether a model without rates is refused.
    about : str, optional
        Description on the pages, LaTeX between dollars (default: the docstring).
    equation : tuple of str, optional
        Defining formulas in LaTeX; terms that knobs move are marked, see ``view.formulas``.
    kernel : str, optional
        Kernel of ``browser/engine.js`` that makes the same samples (default: browsers do not run it). A class
        with a ``step`` of its own declares it again.
    forms : mapping of str to dict, optional
        Compiled forms of its kernels, each with knobs that need it (default: one, of its own name).
    form : str, optional
        Name of the form that these knobs need.
    ladder : method, optional
        ``ladder(state)``: what the replicas of a sampler that swaps them have done, a
        ``parallel_tempering.LadderReport``, which panels show.
    n_chains : int
        Chains that take turns: a knob (of ``interleave.ChainKnobs``), or a class attribute 1.
    """

    name: ClassVar[str]
    label: ClassVar[str]
    paper: ClassVar[str]
    colour: ClassVar[str]
    exact_chain: ClassVar[bool]
    deterministic: ClassVar[bool]
    needs_rates: ClassVar[bool]

    @property
    def n_chains(self) -> int: ...  # noqa: D102

    def init(self, model: Model, seed: rng.Seed, v0: np.ndarray | None = None) -> Any:
        """Return the state of fresh chains.

        Parameters
        ----------
        model : Model
            The model to sample, not changed.
        seed : int, SeedSequence or Generator
            Same seed, same samples.
        v0 : uint8 (n_visible,) or (n_chains, n_visible), optional
            The start of all chains, or one row per chain; default: independent random bits per chain.

        Raises
        ------
        BadInput
            If v0 or the seed is invalid, or the sampler needs rates that the model does not have.
        """

    def step(self, state: Any, n: int) -> Samples:
        """Advance the state by n samples, in place, and return them in new arrays."""

    def target(self, state: Any) -> RBM:
        """Return the model of the next chain's sample.

        theta + theta_F for driven samplers; theta / T for Gibbs sampling at temperature T; the model of the
        next round for shared fast weights.
        """


def _check_samples(n: int, n_visible: int, least: int = 0) -> int:
    """Return n if it is a whole number >= least and n samples fit into the memory, else raise BadInput."""
    n = checks.whole("The number of samples", n, least)
    advice = "use rbmviz.stream chunk by chunk, or write them to a file with 'rbmviz sample'"
    check_machine(f"{n:,} samples", 5 * n * n_visible, advice)  # a byte for v, four for p
    return n


AnySampler = Sampler | type[Sampler] | str
"""What stands for a sampler: the sampler, its class, or its name, perhaps with knobs."""

SAMPLE_ARGUMENTS = ("n", "seed", "v0", "init", "fast_norm", "clamp", "ink", "chunk")
"""Arguments of ``sample`` and ``stream`` that are no knobs."""


def make_sampler(name: AnySampler, **knobs: Any) -> Sampler:
    """Return the sampler ``name`` with these knobs, and defaults for the others.

    Parameters
    ----------
    name : str, Sampler or class
        One of ``list_samplers()``, perhaps with knobs: ``"rates_fpcd:eps=0.1,k=2"``; or a sampler, whose
        other knobs stay.
    **knobs : int, float, bool or str
        Values by name; ``rbmviz list samplers`` shows names, ranges and defaults.

    Returns
    -------
    Sampler
        A frozen dataclass; ``dataclasses.replace`` changes its knobs.

    Raises
    ------
    BadInput
        If there is no such sampler or knob, or a value is out of range.

    Examples
    --------
    >>> rbmviz.make_sampler("gibbs", k=5).k
    5
    """
    sampler: Sampler = registry.samplers.read(name, **knobs)
    return sampler


def list_samplers() -> list[str]:
    """Return the registered names."""
    return list(registry.samplers)


def stream(
    model: AnyModel,
    sampler: AnySampler = "gibbs",
    seed: rng.Seed = 0,
    v0: AnyData | None = None,
    chunk: int = 100,
    init: Literal["data", "random"] | None = None,
    fast_norm: bool = False,
    clamp: Any = None,
    ink: int = 1,
    **knobs: Any,
) -> Iterator[Samples]:
    """Yield chunks of consecutive samples without end.

    Parameters
    ----------
    model, sampler
        As for ``sample``; the samples of several chains are interleaved.
    seed : int, SeedSequence or Generator
        Same seed, same samples, for any chunk size (default 0).
    v0
        As for ``sample``.
    chunk : int
        Samples in a chunk (default 100).
    init, fast_norm, clamp, ink, **knobs
        As for ``sample``.

    Yields
    ------
    Samples
        The next ``chunk`` samples, in new arrays.

    Raises
    ------
    BadInput
        If an argument is invalid, the sampler needs rates that the model does not have, or a chunk does not
        fit into memory.

    Examples
    --------
    >>> model, sampler = rbmviz.load_model("usps_fpcd"), rbmviz.make_sampler("rates_fpcd")
    >>> for samples in rbmviz.stream(model, sampler, seed=0, chunk=50, fast_norm=True):
    ...     if samples.info["fast_norm"][-1] > 0:
    ...         break
    >>> samples.v.shape
    (50, 256)
    """
    model, drawing = as_model(model), registry.samplers.read(sampler, arguments=SAMPLE_ARGUMENTS, **knobs)
    _check_samples(chunk, model.rbm.n_visible, least=1)
    yield from _chunks(model, drawing, chunk, seed, v0, init, fast_norm, clamp_of(clamp, ink, model.rbm))


def sample(
    model: AnyModel,
    sampler: AnySampler = "gibbs",
    n: int = 1000,
    seed: rng.Seed = 0,
    v0: AnyData | None = None,
    init: Literal["data", "random"] | None = None,
    fast_norm: bool = False,
    clamp: Any = None,
    ink: int = 1,
    **knobs: Any,
) -> Samples:
    """Return n consecutive samples: the first n of ``stream`` with the same arguments.

    Parameters
    ----------
    model : Model, RBM, name, file, dict of arrays, or fitted BernoulliRBM
        The model to sample.
    sampler : Sampler, class or str
        A name may have knobs, ``"rates_fpcd:eps=0.1,k=2"`` (default Gibbs sampling). If it has several
        chains, sample t belongs to chain t % n_chains; ``Samples.by_chain`` separates them.
    n : int
        Samples, of all chains together (default 1000).
    seed : int, SeedSequence or Generator
        Same seed, same samples, on any number of threads (default 0).
    v0 : uint8 (n_visible,) or (n_chains, n_visible), or a data set, optional
        The start of all chains, or one row per chain; or data, also by name, at whose examples they start.
        "data" and "random" are as for ``init``, which is the default.
    init : "data" or "random", optional
        Where the chains start: each at a validation example of the data that the model was trained on, or at
        random bits. Default: at data if they are on this machine, as on the pages; ``info["start"]`` says it.
    fast_norm : bool
        Whether to trace the norm of theta_F, at a quarter more time (default False).
    clamp : array (n_visible,), or (mask, values), optional
        Units that are held: 0 or 1 for a clamped unit, -1 or NaN for a free one; or a mask, and values.
        Arrays of n_visible + n_hidden values hold hidden units, too. The sampler runs on the conditional
        model of the free units (``rbm.clamp``), with rates of the 20 training examples nearest to the held
        ones, weighted by the probability of the hidden ones, if the model's data are on this machine.
    ink : 0 or 1
        The value that stands for ink (default 1). 0: the sampler sees the model of 1 - v.
    **knobs : int, float, bool or str
        Knobs of the sampler, such as ``n_chains``; ``rbmviz list samplers`` shows them.

    Returns
    -------
    Samples
        v uint8 and p float32 (n, n_visible), and traces of shape (n,).

    Raises
    ------
    BadInput
        If an argument is invalid, the sampler needs rates that the model does not have, or n samples do not
        fit into memory.

    Examples
    --------
    >>> samples = rbmviz.sample("usps_fpcd", "rates_fpcd", n=200, seed=0, eps=0.1)
    >>> samples.v.shape, samples.v.dtype, samples.p.dtype
    ((200, 256), dtype('uint8'), dtype('float32'))
    >>> sorted(samples.info)
    ['start', 'sweeps']
    """
    model, drawing = as_model(model), registry.samplers.read(sampler, arguments=SAMPLE_ARGUMENTS, **knobs)
    n = _check_samples(n, model.rbm.n_visible)
    return next(_chunks(model, drawing, n, seed, v0, init, fast_norm, clamp_of(clamp, ink, model.rbm)))


def _chunks(
    model: Model, sampler: Sampler, n: int, seed: rng.Seed, v0: Any, init: Any, fast_norm: bool, held: Any
) -> Iterator[Samples]:
    """Yield the samples of fresh chains, n at a time."""
    from rbmviz.samplers.fast_weights import follow_norm  # both import this module
    from rbmviz.samplers.interleave import begin, start_of, whole

    if v0 is not None and init is not None:
        raise BadInput("sample: v0 and init both say where the chains start: give one of them.")
    if isinstance(v0, str) and v0 in ("data", "random"):
        v0, init = None, v0
    if v0 is None:
        v0, start = start_of(model, seed, sampler.n_chains, init)
    elif isinstance(v0, str | Path | Dataset):
        v0, start = start_of(model, seed, sampler.n_chains, "data", as_dataset(v0, held_out=True))
    else:
        start = "v0, as given"
    state, first = begin(sampler, model, seed, v0, held), 0
    state = follow_norm(state) if fast_norm else state
    while True:
        n_chains = None if first % sampler.n_chains else sampler.n_chains
        drawn = whole(sampler.step(state, n), held)
        yield Samples(drawn.v, drawn.p, {**drawn.info, "start": start}, model, n_chains)
        first += n
