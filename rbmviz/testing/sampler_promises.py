"""The promises of samplers, each with its check."""

import dataclasses
import itertools
import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from scipy.stats import chi2

from rbmviz.knobs import knobs_of
from rbmviz.metrics import probabilities
from rbmviz.models import pattern_model, random_model
from rbmviz.rbm import RBM, Model
from rbmviz.samplers import Samples
from rbmviz.testing.promises import (
    Check,
    bits,
    check_bytes,
    check_equation,
    check_knobs,
    check_record,
    promise,
    refused,
    require,
    shared_generator,
    values_of_live,
    variants,
)

MIN_P_VALUE = 1e-4
"""If the p-value of a chi-squared test is smaller, the samples do not have the promised law."""

MAX_STANDARD_ERRORS = 5.0
"""Standard errors by which a mean may differ from the promised one."""

SELDOM_SAMPLES = 600
"""Samples of three chains in which a live knob that is turned has to act; all but a few act at once."""

SWEEPS_PER_SAMPLE = "Sweeps per sample"
"""Label of a knob ``k`` that says how many sweeps a sample takes: the trace ``sweeps`` counts them.

A knob ``k`` with another label is not checked for that."""

SAMPLER_PROMISES: dict[str, Check] = {}
"""Checks of a sampler by the name of the promise, in the order of ``check_sampler``."""


def _model(n_visible: int = 70, n_hidden: int = 37) -> Model:
    """Return a model with more visible units than a block of 64 random numbers, no multiple of a padding."""
    g = np.random.default_rng(1)
    W, b, c = (g.normal(0, 0.3, shape) for shape in ((n_visible, n_hidden), n_visible, n_hidden))
    rbm = RBM(W, b, c)
    return Model(rbm, rbm.rates(bits(200, n_visible, 2)))


def _same(a: Samples, b: Samples) -> bool:
    return (
        np.array_equal(a.v, b.v)
        and np.array_equal(a.p, b.p)
        and a.info.keys() == b.info.keys()
        and all(_same_trace(a.info[trace], b.info[trace]) for trace in a.info)
    )


def _same_trace(x: np.ndarray, y: np.ndarray) -> bool:
    """Return whether two traces are equal; NaN, where a sample has no value, is equal to NaN."""
    return np.array_equal(x, y, equal_nan=x.dtype.kind == "f")


def _joined(chunks: list[Samples]) -> Samples:
    info = {trace: np.concatenate([made.info[trace] for made in chunks]) for trace in chunks[0].info}
    return Samples(np.concatenate([x.v for x in chunks]), np.concatenate([x.p for x in chunks]), info)


def _chains(cls: Any, n: int, **more: Any) -> Any:
    """Return the sampler with n chains, or with one if it has no knob n_chains."""
    return cls(**({"n_chains": n} if "n_chains" in knobs_of(cls) else {}), **more)


@promise(SAMPLER_PROMISES, "it declares what it is")
def _record(cls: Any) -> None:
    def is_bool(flag: Any) -> bool:
        return isinstance(flag, bool)

    check_record(cls, "sampler", dict.fromkeys(("exact_chain", "deterministic", "needs_rates"), is_bool))


@promise(SAMPLER_PROMISES, "knobs have ranges and sentences, and refuse what is outside")
def _knobs(cls: Any) -> None:
    check_knobs(cls, ("n_chains",))
    declared = knobs_of(cls).get("n_chains")
    require(cls().n_chains == 1, "n_chains is not 1 unless it is asked for.")
    require(not (declared and declared.live), "n_chains is live, but a state has a fixed number of chains.")


@promise(SAMPLER_PROMISES, "the equation contains the knobs that have a symbol")
def _equation(cls: Any) -> None:
    check_equation(cls)


@promise(SAMPLER_PROMISES, "samples have the shapes and types that are promised")
def _shapes(cls: Any) -> None:
    model = _model()
    for more in variants(cls):
        samplers = [_chains(cls, n_chains, **more) for n_chains in (1, 3)]
        begun = [(sampler, sampler.init(model, 0)) for sampler in samplers]
        for (sampler, state), n in itertools.product(begun, (0, 1, 25)):
            made = sampler.step(state, n)
            require(isinstance(made, Samples), f"step returns {type(made).__name__} and no Samples.")
            for name, x, dtype in (("v", made.v, np.uint8), ("p", made.p, np.float32)):
                require(
                    x.shape == (n, 70) and x.dtype == dtype,
                    f"{name} of {n} samples is {x.dtype} {x.shape}, not {np.dtype(dtype)} {(n, 70)}.",
                )
            require((made.v <= 1).all(), "v holds other values than 0 and 1.")
            require(((made.p >= 0) & (made.p <= 1)).all(), "p holds values below 0 or above 1.")
            require("sweeps" in made.info, "info has no trace 'sweeps'.")
            arrays = all(isinstance(x, np.ndarray) for x in made.info.values())
            require(arrays, "a trace in info is no array.")
            require(
                np.issubdtype(made.info["sweeps"].dtype, np.integer),
                "the trace sweeps does not hold integers.",
            )
            require((made.info["sweeps"] >= 0).all(), "the trace sweeps has negative counts.")
            for trace, x in made.info.items():
                require(x.shape == (n,), f"the trace {trace} of {n} samples has the shape {x.shape}.")

    counted = knobs_of(cls).get("k")
    if counted and counted.label == SWEEPS_PER_SAMPLE and counted.lo <= 1 and counted.hi >= 2:
        one, two = (cls(k=k) for k in (1, 2))
        spent = [x.step(x.init(model, 0), 25).info["sweeps"].sum() for x in (one, two)]
        require(
            spent[1] > spent[0],
            f"25 samples with k = 2, {SWEEPS_PER_SAMPLE.lower()}, count {spent[1]} sweeps, and with k = 1 "
            f"{spent[0]}.",
        )


@promise(SAMPLER_PROMISES, "the same seed gives the same samples")
def _seeds(cls: Any) -> None:
    model, start = _model(), bits(1, 70, 3)[0]
    shared = shared_generator()
    for more in variants(cls):
        sampler = _chains(cls, 3, **more)
        a, b, other = (sampler.step(sampler.init(model, seed), 60) for seed in (7, 7, 8))
        require(_same(a, b), "two states of seed 7 give different samples.")
        require((a.v != other.v).any(), "seeds 7 and 8 give the same samples.")
        sequence = sampler.step(sampler.init(model, np.random.SeedSequence(7)), 60)
        require(_same(sequence, a), "SeedSequence(7) gives other samples than the seed 7.")
        c, d = (sampler.step(sampler.init(model, np.random.default_rng(7)), 60) for _ in range(2))
        require(_same(c, d), "two equal Generators as seeds give different samples.")
    require(shared_generator() == shared, "it draws from, or seeds, numpy's shared generator.")
    alone = cls()
    a, b = (alone.step(alone.init(model, seed, start), 60) for seed in (7, 8))
    require(np.array_equal(start, bits(1, 70, 3)[0]), "it writes to the start that it is given.")
    drawn = (a.v != b.v).any()
    require(
        drawn or cls.deterministic,
        "from one start two seeds give the same samples: it ignores the seed, or it does not move; one that "
        "draws nothing by intention declares deterministic.",
    )
    require(
        not (drawn and cls.deterministic),
        "it declares deterministic, but from one start two seeds give different samples.",
    )


@promise(SAMPLER_PROMISES, "returned samples do not change when the chain goes on")
def _fresh(cls: Any) -> None:
    model = _model()
    for more in variants(cls):
        for n_chains in (1, 2):
            sampler = _chains(cls, n_chains, **more)
            state = sampler.init(model, 1)
            made = sampler.step(state, 9)
            before = Samples(made.v.copy(), made.p.copy(), {k: x.copy() for k, x in made.info.items()})
            for n in (4, 20):  # fewer than before, and more: buffers may be made anew for more only
                sampler.step(state, n)
            require(_same(made, before), "step writes to the arrays that an earlier step has returned.")


@promise(SAMPLER_PROMISES, "how a run is divided into steps does not change it")
def _division(cls: Any) -> None:
    model = _model()
    for more in variants(cls, live=True):
        for n_chains, steps in ((1, (5, 7)), (1, (1, 9, 0, 290)), (7, (1, 9, 0, 2, 4, 284))):
            sampler = _chains(cls, n_chains, **more)
            whole = sampler.step(sampler.init(model, 7), sum(steps))
            state = sampler.init(model, 7)
            divided = _joined([sampler.step(state, n) for n in steps])
            pieces = " and ".join(f"step({n})" for n in steps)
            differ = [x for x in "vp" if not np.array_equal(getattr(divided, x), getattr(whole, x))]
            shared = " Do the chains share an array or a generator?" if n_chains > 1 else ""
            require(
                _same(divided, whole),
                f"{sampler}: {pieces} give another {(differ or ['info'])[0]} than step({sum(steps)})."
                f"{shared}",
            )


@promise(SAMPLER_PROMISES, "states of one model do not affect each other")
def _apart(cls: Any) -> None:
    model, sampler = _model(), cls()
    want = [sampler.step(sampler.init(model, seed), 120) for seed in (1, 2)]
    states = [sampler.init(model, seed) for seed in (1, 2)]
    turns = [[sampler.step(state, 40) for state in states] for _ in range(3)]
    for i in range(2):
        require(
            _same(_joined([turn[i] for turn in turns]), want[i]),
            "stepped in turns, two states affect each other.",
        )
    rbm = model.rbm
    for name in "Wbc":
        other = RBM(**({x: getattr(rbm, x) for x in "Wbc"} | {name: -getattr(rbm, name)}))
        begun = sampler.init(Model(other, model.rates), 1)
        require(
            not _same(sampler.step(begun, 120), want[0]),
            f"a model with another {name} gives the same samples: does it use {name} at all, or does the "
            "class keep that of the first model?",
        )
    with ThreadPoolExecutor(2) as pool:
        found = pool.map(lambda seed: sampler.step(sampler.init(model, seed), 120), (1, 2))
        require(all(map(_same, found, want)), "on two threads at once, two states affect each other.")


def _after(sampler: Any, other: Any, model: Model, n: int = 60) -> Samples:
    """Make five samples with ``sampler``, then return n of ``other`` from the same state: a knob was turned.

    n : so many that one which rejects nearly all of its proposals accepts some of them
    """
    state = sampler.init(model, 1)
    sampler.step(state, 5)
    return other.step(state, n)


@promise(SAMPLER_PROMISES, "live knobs change between two steps")
def _live_knobs(cls: Any) -> None:
    model = _model()
    for more in variants(cls):
        sampler = _chains(cls, 3, **more)
        state, twin = sampler.init(model, 1), sampler.init(model, 1)
        sampler.step(state, 5)
        plain, later = sampler.step(sampler.init(model, 1), 9), _after(sampler, sampler, model)
        for name, values in values_of_live(sampler):
            knob = knobs_of(cls)[name]
            for value in (*values, knob.kind(knob.hi)) if knob.kind in (int, float) else values:
                made = dataclasses.replace(sampler, **{name: value}).step(state, 3)
                require(made.v.shape == (3, 70), f"after {name} = {value} a step of 3 is of {made.v.shape}.")
                require(np.isfinite(made.p).all(), f"after {name} = {value} means are no longer finite.")
            tried = [*values, knob.hi] if knob.kind is float and math.isfinite(knob.hi) else values
            others = [dataclasses.replace(sampler, **{name: value}) for value in tried]
            # matters: the knob changes a run from its start; turns: also one that has begun.
            matters = any(not _same(other.step(other.init(model, 1), 9), plain) for other in others)
            turns = any(not _same(_after(sampler, other, model), later) for other in others)
            if matters and not turns:  # it may act at some samples only
                later_on = _after(sampler, sampler, model, SELDOM_SAMPLES)
                turns = any(
                    not _same(_after(sampler, other, model, SELDOM_SAMPLES), later_on) for other in others
                )
            require(
                not matters or turns,
                f"{name} is live, but keeps the value that it had when the state was made or first stepped: "
                f"turned after 5 samples, it changes nothing in the next {SELDOM_SAMPLES}.",
            )
        whole, again = sampler.step(twin, 8), sampler.init(model, 1)
        parts = [sampler.step(again, 3), dataclasses.replace(sampler).step(again, 5)]
        require(_same(_joined(parts), whole), "a replacement with the same knobs gives other samples.")


@promise(SAMPLER_PROMISES, "n_chains chains take turns, each as if it were alone")
def _turns(cls: Any) -> None:
    if "n_chains" not in knobs_of(cls):
        return
    model, rows = _model(), bits(4, 70, 5)
    for v0 in (None, rows[0], rows):

        def samples_by_chain(n: int, v0: np.ndarray | None = v0) -> list[np.ndarray]:
            sampler = cls(n_chains=n)
            start = v0[:n] if v0 is not None and v0.ndim == 2 else v0
            made = sampler.step(sampler.init(model, 6, start), 8 * n - 1)
            return [made.v[c::n] for c in range(n)]

        four, two, one = samples_by_chain(4), samples_by_chain(2), samples_by_chain(1)
        require(np.array_equal(rows, bits(4, 70, 5)), "it writes to the starts that it is given.")
        for n, fewer in ((2, two), (1, one)):
            same = all(np.array_equal(a[:7], b[:7]) for a, b in zip(four, fewer, strict=False))
            require(
                same,
                f"the first {n} of 4 chains differ from {n} chains alone: sample t belongs to chain t % 4.",
            )
        if v0 is None or (v0.ndim == 1 and not cls.deterministic):
            require((four[0][:7] != four[3][:7]).any(), "two of the chains make the same samples.")


@promise(SAMPLER_PROMISES, "a chain begins at the start that it is given")
def _starts(cls: Any) -> None:
    # Not complements: a right sampler may propose to flip all units. And so deep that sweeps do not leave a
    # valley by chance: at a depth of 6 nats five often do. A right chain that is heated may now and then,
    # hence a share. If ``init`` ignores v0, a seed ends in the same valley whichever was given: at
    # most half are near.
    valleys = np.array([[1] * 8 + [0] * 4, [0] * 4 + [1] * 8], np.uint8)
    model = pattern_model(["".join(map(str, row)) for row in valleys], 40)
    for more in variants(cls):
        for n_chains in (1, 2):
            sampler = _chains(cls, n_chains, **more)
            near = []
            for turned, seed in itertools.product((0, 1), range(20)):
                rows = np.roll(valleys, turned, axis=0)[: sampler.n_chains].copy()
                given = rows.copy() if sampler.n_chains > 1 else rows[0].copy()
                made = sampler.step(sampler.init(model, seed, given), sampler.n_chains)
                near.append((made.v != rows).sum(axis=1) < 4)
                require(
                    np.array_equal(given.reshape(rows.shape), rows),
                    "it writes to the start that it is given.",
                )
            require(
                (np.mean(near, axis=0) > 0.6).all(),
                "chains begun in one of two valleys, 40 nats deep, often make their first sample in the "
                "other: init does not use the start, or they leave a valley that chains with the law of the "
                "model hardly ever leave (look at the signs, and at the order of the half-steps).",
            )
            for wrong in (np.zeros(13), np.zeros((5, 12)), np.full(12, 2), np.full(12, np.nan), "bits"):
                refused(f"the start {wrong!r}", sampler.init, model, 0, wrong)
    for no_seed in (-1, 1.5, "3", None):
        refused(f"the seed {no_seed!r}", cls().init, model, no_seed)


@promise(SAMPLER_PROMISES, "models without rates are refused if they are needed, and only then")
def _rates(cls: Any) -> None:
    bare = Model(_model().rbm)
    if cls.needs_rates:
        refused("a model without rates", cls().init, bare, 0)
    else:
        require(len(cls().step(cls().init(bare, 0), 2).v) == 2, "a model without rates gives no samples.")


@promise(SAMPLER_PROMISES, "state_bytes is what a state takes, at most twice as much")
def _bytes(cls: Any) -> None:
    # Whole numbers that are not live may make a state larger: all of them small, then all large.
    whole = [x for x in knobs_of(cls).values() if x.kind is int and not x.live and x.name != "n_chains"]
    sizes = [{x.name: int(min(max(x.lo, size), x.hi)) for x in whole} for size in (1, 50)] if whole else []
    for n_visible, n_hidden, n_chains in ((4, 3, 60), (300, 200, 1), (300, 200, 60)):
        for more in (*variants(cls), *sizes):
            sampler = _chains(cls, n_chains, **more)
            # A new model for each call, because chains of one model share their copies of its weights.
            models = iter([_model(n_visible, n_hidden) for _ in range(2)])

            def make(sampler: Any = sampler, models: Iterator[Model] = models) -> Any:
                return sampler.init(next(models), 0)

            check_bytes(sampler, n_visible, n_hidden, make)


@promise(SAMPLER_PROMISES, "target is the model that the next sample is drawn from")
def _target(cls: Any) -> None:
    model = _model()
    for more in variants(cls):
        sampler = _chains(cls, 3, **more)
        state, never_asked = sampler.init(model, 1), sampler.init(model, 1)
        for n in (0, 4, 4):
            same = _same(sampler.step(state, n), sampler.step(never_asked, n))
            require(same, "after its target has been asked for, a state gives other samples.")
            target = sampler.target(state)
            require(isinstance(target, RBM), f"target returns {type(target).__name__} and no RBM.")
            require(target.W.shape == (70, 37), f"the target has the shape {target.W.shape}.")
            if cls.exact_chain and not more:
                same = all(np.allclose(getattr(target, x), getattr(model.rbm, x), atol=1e-6) for x in "Wbc")
                require(same, "it declares exact_chain, but its target is not the model.")


@promise(SAMPLER_PROMISES, "p is the mean of v")
def _means(cls: Any) -> None:
    model = _model()
    # Also with other values of the knobs that change while a chain runs: two sweeps, another temperature.
    turned = [{name: value} for name, values in values_of_live(cls()) for value in values]
    whole = [one for one in knobs_of(cls).values() if one.live and one.kind is int]
    turned += [{one.name: int(min(one.lo + 1, one.hi))} for one in whole]
    for sampler in (_chains(cls, n, **more) for more in (*variants(cls), *turned) for n in (1, 3)):
        made = sampler.step(sampler.init(model, 2), 400)
        p = made.p.astype(np.float64)
        noise = MAX_STANDARD_ERRORS * np.sqrt((p * (1 - p)).sum(axis=0)) + 1e-6 * len(p)
        missed = np.abs((made.v - p).sum(axis=0)) > noise
        require(not missed.any(), f"p of unit {int(missed.argmax())} is not the mean of its bits in v.")
        # Where p rises above its mean before, so do the bits: else it is that of other samples. The mean over
        # all samples knows the bit already, where a unit keeps it for long.
        rows = np.arange(1, len(p) + 1)[:, None]
        above = p - p.cumsum(axis=0) / rows
        noise = MAX_STANDARD_ERRORS * np.sqrt((p * (1 - p) * above**2).sum()) + 1e-6 * p.size
        close = abs(((made.v - p) * above).sum()) <= noise
        require(close, "p is not the mean of the sample of its own row.")


@promise(SAMPLER_PROMISES, "an exact chain leaves the law of the model invariant")
def _law(cls: Any) -> None:
    """Check that chains whose starts are drawn from the law still have that law after some samples.

    The models have few units on one side, whose states are counted: 4 by 3, and 4 by 37 and 37 by 4, no
    multiple of the kernels' padding, and less than a block of their random numbers.
    """
    if not cls.exact_chain:
        return
    drawn = np.random.default_rng(2)
    W, b, c = (drawn.normal(0, 0.5, shape) for shape in ((4, 37), 4, 37))
    b -= W.sum(axis=1) / 2  # no state is rare
    for rbm in (random_model(n_visible=4, n_hidden=3, scale=3, seed=1).rbm, RBM(W, b, c), RBM(W.T, c, b)):
        p = _p_of_law(cls, rbm)
        shape = f"{rbm.n_visible} by {rbm.n_hidden} units"
        require(
            p > MIN_P_VALUE,
            f"started with the law of a model of {shape}, its samples have another law (p = {p:.1g}).",
        )


@promise(SAMPLER_PROMISES, "an exact chain forgets its start")
def _forgets(cls: Any) -> None:
    """Check that chains that begin at one state are nearer to the law after 60 samples than after seven.

    Samples that are all drawn from a start with the law have the law, too. On this model a sweep from zeros
    is 0.37 away from the law in total variation, and seven sweeps 0.01; a right chain may be much slower.
    """
    if not cls.exact_chain:
        return
    size, early, late = 500, 7, 60
    model = random_model(n_visible=4, n_hidden=3, scale=1.5, seed=1)
    law, start = probabilities(model.rbm), np.zeros(4, np.uint8)
    model = Model(model.rbm, model.rbm.rates(bits(200, 4, 2)))  # a sampler may need rates
    counts = np.zeros((2, 16))
    for at, n in _parts(cls, size):
        sampler = _chains(cls, n)
        state = sampler.init(model, at, start)
        for i, samples in enumerate((early, late - early)):
            v = sampler.step(state, samples * n).v[-n:]
            counts[i] += np.bincount(v @ np.array([8, 4, 2, 1]), minlength=16)
    before, after = ((counts - size * law) ** 2 / (size * law)).sum(axis=1)
    require(
        chi2.sf(after, 15) > MIN_P_VALUE or after < 0.6 * before,
        f"after {late} samples a chain depends on its start as after {early}: does step store the new state, "
        "and is what is kept of the old one computed anew?",
    )


def _parts(cls: Any, size: int) -> Iterator[tuple[int, int]]:
    """Yield the first chain and the number of chains of each state, of ``size`` chains in all."""
    declared = knobs_of(cls).get("n_chains")
    most = int(declared.hi) if declared else 1
    return ((at, min(most, size - at)) for at in range(0, size, most))


def _p_of_law(cls: Any, rbm: RBM) -> float:
    """Return the p-value of the samples of chains that start with the law, by the side with 4 units."""
    size, samples_per_chain = 5000, 7  # enough to see a law at a temperature of 1.2
    few = rbm if rbm.n_visible == 4 else RBM(rbm.W.T, rbm.c, rbm.b)
    law, states = probabilities(few), np.array(list(np.ndindex(2, 2, 2, 2)), np.uint8)
    generator = np.random.default_rng(4)
    counted = states[generator.choice(16, size, p=law)]
    starts = counted if few is rbm else _drawn(few.mean_hidden(counted), generator)
    model = Model(rbm, rbm.rates(bits(200, rbm.n_visible, 2)))  # a sampler may need rates
    ends = []
    for at, n in _parts(cls, size):
        rows = starts[at : at + n]
        sampler = _chains(cls, len(rows))
        v0 = rows if len(rows) > 1 else rows[0]
        state = sampler.init(model, at, v0)
        ends.append(sampler.step(state, samples_per_chain * len(rows)).v[-len(rows) :])
    v = np.concatenate(ends)
    if few is rbm:  # of many units, a right chain may visit a few a sample
        stuck = ~(v != starts).any(axis=0)
        require(not stuck.any(), f"visible unit {int(stuck.argmax())} of 4 does not change in any chain.")
    require((v != starts).any(), "no chain leaves its start.")
    counted = v if few is rbm else _drawn(rbm.mean_hidden(v), generator)
    counts = np.bincount(counted @ np.array([8, 4, 2, 1]), minlength=16)
    return float(chi2.sf(((counts - size * law) ** 2 / (size * law)).sum(), 15))


def _drawn(means: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Return bits with these means, uint8 of their shape."""
    return (generator.random(means.shape) < means).astype(np.uint8)
