"""The contract of samplers and trainers, those of this package and those of other authors.

>>> from rbmviz.samplers.gibbs import Gibbs
>>> rbmviz.testing.check_sampler(Gibbs)

If an algorithm breaks a promise, an ``AssertionError`` names the promise and says in a sentence what was
observed. Algorithms are used as the program uses them, through the protocols ``samplers.Sampler`` and
``trainers.Trainer``. No check reads the state of a sampler. Of the state of a trainer, the checks read what
the training loop reads: ``training.TrainingState``.
"""

import dataclasses
import gc
import hashlib
import re
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
from safetensors.numpy import load, save
from scipy.stats import chi2

from rbmviz.equations import equation_of, knobs_in
from rbmviz.errors import BadInput, shown
from rbmviz.knobs import knobs_of, values_of
from rbmviz.metrics import probabilities
from rbmviz.models import pattern_model, random_model
from rbmviz.rbm import RBM, Model
from rbmviz.registry import trainers
from rbmviz.rng import Seed
from rbmviz.samplers import Sampler, Samples
from rbmviz.trainers import STATS, Progress, Trainer, training
from rbmviz.trainers.checkpoint import MAGIC, START, load_checkpoint, save_checkpoint
from rbmviz.trainers.parameters import FixedParameters

MIN_P_VALUE = 1e-4
"""If the p-value of a chi-squared test is smaller, the samples do not have the promised law."""

MAX_STANDARD_ERRORS = 5.0
"""Standard errors by which a mean may differ from the promised one."""

Check = Callable[[Any], None]

SAMPLER_PROMISES: dict[str, Check] = {}
"""Checks of a sampler by the name of the promise, in the order of ``check_sampler``."""

TRAINER_PROMISES: dict[str, Check] = {}
"""Checks of a trainer by the name of the promise, in the order of ``check_trainer``."""


def check_sampler(algorithm: type[Sampler]) -> None:
    """Check that a sampler keeps all ``SAMPLER_PROMISES``, on which the program relies.

    Takes a second to ten, for a sampler in plain numpy about three.

    Parameters
    ----------
    algorithm : class
        Decorated with ``registry.sampler``, which also registers it (but for examples to copy, in files whose
        names begin with an underscore).

    Raises
    ------
    AssertionError
        If it breaks a promise: one sentence with the promise's name.
    """
    _check(algorithm, SAMPLER_PROMISES)


def check_trainer(algorithm: type[Trainer]) -> None:
    """Check that a trainer keeps all ``TRAINER_PROMISES``, on which the program relies.

    Parameters
    ----------
    algorithm : class
        Decorated with ``registry.trainer``, and registered: checkpoints find it by its name.

    Raises
    ------
    AssertionError
        If it breaks a promise: one sentence with the promise's name.
    """
    _check(algorithm, TRAINER_PROMISES)


def _check(cls: Any, promises: dict[str, Check]) -> None:
    """Check all promises of an algorithm; the first broken one is named in an AssertionError."""
    if not isinstance(cls, type):
        raise AssertionError(f"{shown(cls)} is no class: give the class itself, not an instance or a name.")
    name = getattr(cls, "name", getattr(cls, "__name__", cls))
    for promise, check in promises.items():
        try:
            check(cls)
        except Exception as error:
            seen = str(error) if isinstance(error, AssertionError) else f"{type(error).__name__}: {error}"
            raise AssertionError(f"{name} does not keep its promise '{promise}': {seen}") from error


def _promise(promises: dict[str, Check], name: str) -> Callable[[Check], Check]:
    """Return a decorator that adds a check to these promises under this name."""

    def register(check: Check) -> Check:
        promises[name] = check
        return check

    return register


def _require(holds: Any, sentence: str) -> None:
    """Raise an AssertionError with this sentence unless the promise holds."""
    if not holds:
        raise AssertionError(sentence)


def _refused(what: str, function: Callable[..., Any], *args: Any, **more: Any) -> None:
    """Require that a call raises BadInput with one sentence; ``what`` names the argument in the message."""
    try:
        function(*args, **more)
    except BadInput as error:
        _check_sentence(what, error)
        return
    raise AssertionError(f"{what} is not refused with rbmviz.BadInput.")


def _check_sentence(what: str, error: BadInput) -> None:
    text = str(error)
    _require(0 < len(text) < 400 and "\n" not in text, f"the refusal of {what} is not one sentence.")


# Checks of samplers and trainers alike


def _check_record(cls: Any, kind: str, flags: dict[str, Callable[[Any], bool]]) -> None:
    """Check what the decorator and the class attributes declare; flags: test of the value by attribute."""
    decorated = dataclasses.is_dataclass(cls) and "name" in vars(cls)
    _require(decorated, f"it is not decorated with rbmviz.registry.{kind}(name, label=..., paper=...).")
    word = isinstance(cls.name, str) and re.fullmatch(r"[a-z][a-z0-9_]*", cls.name)
    _require(
        word,
        f"its name {cls.name!r} is not one word of small letters, digits and underscores "
        "that begins with a letter.",
    )
    for field in ("label", "paper"):
        text = getattr(cls, field)
        _require(isinstance(text, str) and text.strip(), f"its {field} is empty.")
    colour = isinstance(cls.colour, str) and re.fullmatch(r"(#[0-9a-f]{6})?", cls.colour)
    _require(colour, f"its colour {cls.colour!r} is neither '' nor of the form '#rrggbb' in small letters.")
    _require((cls.__doc__ or "").strip(), "it has no docstring, which people read on the pages.")
    for flag, legal in flags.items():
        _require(hasattr(cls, flag), f"it does not declare {flag}.")
        _require(
            legal(getattr(cls, flag)),
            f"its {flag} has the value {getattr(cls, flag)!r}, which is not allowed.",
        )


def _check_knobs(cls: Any, needed: tuple[str, ...]) -> None:
    """Check the declarations of all knobs, and that the algorithm has the needed attributes."""
    for name in needed:
        _require(hasattr(cls(), name), f"it has no {name}.")
    for knob in knobs_of(cls).values():
        at = f"the knob {knob.name}"
        _require(knob.label.strip(), f"{at} has no label.")
        _require(
            knob.help.rstrip().endswith("."), f"the help of {at} is not a sentence that ends with a stop."
        )
        numeric = knob.kind in (int, float)
        _require(numeric or knob.kind is bool or knob.choices, f"{at} has text values, but no choices.")
        if numeric:
            _require(np.isfinite([knob.lo, knob.hi]).all(), f"{at} has no smallest and largest value.")
            _require(
                knob.scale == "linear" or knob.lo > 0, f"{at} has a log scale that begins at {knob.lo:g}."
            )
        _require(
            knob.parse(knob.text(knob.default), cls.name) == knob.default,
            f"{at}: its default, written as text and read, is another value.",
        )
        outside = knob.hi + abs(knob.hi) + 1 if numeric else "no such value"
        for wrong in (outside, None, float("nan"), object()):
            _refused(f"{knob.name} = {wrong!r}", cls, **{knob.name: wrong})
            _refused(
                f"{knob.name} = {wrong!r} in a replacement", dataclasses.replace, cls(), **{knob.name: wrong}
            )
        numbers = (knob.lo, knob.hi, *([0.0] if knob.zero else []))
        for value in knob.choices or (numbers if numeric else (False, True)):
            cls(**{knob.name: knob.kind(value)})
    try:
        cls().name_of_no_field = 1
    except dataclasses.FrozenInstanceError:
        return
    raise AssertionError("its instances can be changed, so that a run could keep state in them.")


def _check_equation(cls: Any) -> None:
    """Check that the equation, if it has one, contains its knobs that have a symbol."""
    if not hasattr(cls, "equation"):
        return
    knobs = knobs_of(cls)
    others: list[dict[str, Any]] = [{one.name: value} for one in knobs.values() for value in one.choices]
    others += [{one.name: not one.default} for one in knobs.values() if one.kind is bool]
    equations = [equation_of(cls(**values)) for values in ({}, *others)]
    for formulas in equations:
        texts = all(isinstance(one, str) and one for one in formulas)
        _require(isinstance(cls().equation, tuple) and texts, "its equation is not a tuple of formulas.")
        for name in sorted(knobs_in(formulas)):
            _require(name in knobs, f"its equation marks {name!r}, which is none of its knobs.")
            _require(knobs[name].symbol, f"its equation marks the knob {name}, which has no symbol.")
    marked = set().union(*map(knobs_in, equations))
    for one in knobs.values():
        _require(not one.symbol or one.name in marked, f"its equation lacks the knob {one.name}.")
        said = one.symbol is not None or not one.live
        _require(said, f"the live knob {one.name} has no symbol; '' says that the equation lacks it.")


def _values_of_live(algorithm: Any) -> Iterator[tuple[str, list[Any]]]:
    """Yield each live knob with values to turn it to: small ones, as no training survives the largest."""
    for knob in knobs_of(algorithm).values():
        if not knob.live:
            continue
        values: list[Any] = list(knob.choices or (False, True))
        if knob.kind in (int, float):
            numbers = [knob.lo, min(max(2 * float(knob.default), knob.lo), knob.hi)]
            values = [knob.kind(x) for x in dict.fromkeys([*numbers, *([0.0] if knob.zero else [])])]
        yield knob.name, values


def _variants(cls: Any) -> Iterator[dict[str, Any]]:
    """Yield {} (the defaults), and other values of switches and choices that are not live."""
    yield {}
    for knob in knobs_of(cls).values():
        if not knob.live:
            others = (True, False) if knob.kind is bool else knob.choices
            yield from ({knob.name: value} for value in others if value != knob.default)


def _bytes_of(make: Callable[[], Any]) -> int:
    """Return the bytes of what ``make`` returns at its second call; the first compiles and fills caches."""
    gc.freeze()  # otherwise the collection below would visit all earlier objects
    make()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    kept = make()
    gc.collect()
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    gc.unfreeze()
    del kept
    return after - before


def _check_bytes(algorithm: Any, n_visible: int, n_hidden: int, make: Callable[[], Any]) -> None:
    """Require that ``state_bytes`` is at least the bytes of a state, and at most twice as much."""
    taken, bound = _bytes_of(make), algorithm.state_bytes(n_visible, n_hidden)
    state = f"a state of {algorithm} for {n_visible} x {n_hidden} units"
    _require(taken <= bound, f"{state} takes {taken:,} bytes, and state_bytes returns {bound:,}.")
    _require(bound <= 2 * taken, f"{state} takes only {taken:,} bytes, and state_bytes returns {bound:,}.")


def _shared_generator() -> tuple[bytes, int]:
    """Return the state of numpy's shared generator, from which an algorithm must not draw."""
    state: Any = np.random.get_state()  # noqa: NPY002
    return state[1].tobytes(), state[2]


def _bits(rows: int, width: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2, (rows, width), dtype=np.uint8)


# Samplers


def _model(n_visible: int = 70, n_hidden: int = 37) -> Model:
    """Return a model with more units than a block of random numbers, no multiple of the kernels' padding."""
    g = np.random.default_rng(1)
    W, b, c = (g.normal(0, 0.3, shape) for shape in ((n_visible, n_hidden), n_visible, n_hidden))
    rbm = RBM(W, b, c)
    return Model(rbm, rbm.rates(_bits(200, n_visible, 2)))


def _same(a: Samples, b: Samples) -> bool:
    return (
        np.array_equal(a.v, b.v)
        and np.array_equal(a.p, b.p)
        and a.info.keys() == b.info.keys()
        and all(np.array_equal(a.info[trace], b.info[trace]) for trace in a.info)
    )


def _joined(chunks: list[Samples]) -> Samples:
    info = {trace: np.concatenate([made.info[trace] for made in chunks]) for trace in chunks[0].info}
    return Samples(np.concatenate([x.v for x in chunks]), np.concatenate([x.p for x in chunks]), info)


def _chains(cls: Any, n: int, **more: Any) -> Any:
    """Return the sampler with n chains, or with one if it has no knob n_chains."""
    return cls(**({"n_chains": n} if "n_chains" in knobs_of(cls) else {}), **more)


@_promise(SAMPLER_PROMISES, "it declares what it is")
def _sampler_record(cls: Any) -> None:
    def is_bool(flag: Any) -> bool:
        return isinstance(flag, bool)

    _check_record(cls, "sampler", dict.fromkeys(("exact_chain", "deterministic", "needs_rates"), is_bool))


@_promise(SAMPLER_PROMISES, "knobs have ranges and sentences, and refuse what is outside")
def _sampler_knobs(cls: Any) -> None:
    _check_knobs(cls, ("n_chains",))
    declared = knobs_of(cls).get("n_chains")
    _require(cls().n_chains == 1, "n_chains is not 1 unless it is asked for.")
    _require(not (declared and declared.live), "n_chains is live, but a state has a fixed number of chains.")


@_promise(SAMPLER_PROMISES, "the equation contains the knobs that have a symbol")
def _sampler_equation(cls: Any) -> None:
    _check_equation(cls)


@_promise(SAMPLER_PROMISES, "samples have the shapes and types that are promised")
def _shapes(cls: Any) -> None:
    model = _model()
    for more in _variants(cls):
        sampler = _chains(cls, 3, **more)
        state = sampler.init(model, 0)
        for n in (0, 1, 25):
            made = sampler.step(state, n)
            _require(isinstance(made, Samples), f"step returns {type(made).__name__} and no Samples.")
            for name, x, dtype in (("v", made.v, np.uint8), ("p", made.p, np.float32)):
                _require(
                    x.shape == (n, 70) and x.dtype == dtype,
                    f"{name} of {n} samples is {x.dtype} {x.shape}, not {np.dtype(dtype)} {(n, 70)}.",
                )
            _require((made.v <= 1).all(), "v holds other values than 0 and 1.")
            _require(((made.p >= 0) & (made.p <= 1)).all(), "p holds values below 0 or above 1.")
            _require("sweeps" in made.info, "info has no trace 'sweeps'.")
            _require(
                np.issubdtype(made.info["sweeps"].dtype, np.integer),
                "the trace sweeps does not hold integers.",
            )
            _require((made.info["sweeps"] >= 0).all(), "the trace sweeps has negative counts.")
            for trace, x in made.info.items():
                _require(x.shape == (n,), f"the trace {trace} of {n} samples has the shape {x.shape}.")


@_promise(SAMPLER_PROMISES, "the same seed gives the same samples")
def _seeds(cls: Any) -> None:
    model, start = _model(), _bits(1, 70, 3)[0]
    shared = _shared_generator()
    for more in _variants(cls):
        sampler = _chains(cls, 3, **more)
        a, b, other = (sampler.step(sampler.init(model, seed), 60) for seed in (7, 7, 8))
        _require(_same(a, b), "two states of seed 7 give different samples.")
        _require((a.v != other.v).any(), "seeds 7 and 8 give the same samples.")
        sequence = sampler.step(sampler.init(model, np.random.SeedSequence(7)), 60)
        _require(_same(sequence, a), "SeedSequence(7) gives other samples than the seed 7.")
        c, d = (sampler.step(sampler.init(model, np.random.default_rng(7)), 60) for _ in range(2))
        _require(_same(c, d), "two equal Generators as seeds give different samples.")
    _require(_shared_generator() == shared, "it draws from, or seeds, numpy's shared generator.")
    alone = cls()
    a, b = (alone.step(alone.init(model, seed, start), 60) for seed in (7, 8))
    drawn = (a.v != b.v).any()
    _require(
        drawn or cls.deterministic,
        "from one start two seeds give the same samples: deterministic has to be True.",
    )
    _require(
        not (drawn and cls.deterministic),
        "it declares deterministic, but from one start two seeds give different samples.",
    )


@_promise(SAMPLER_PROMISES, "returned samples do not change when the chain goes on")
def _fresh(cls: Any) -> None:
    model = _model()
    for more in _variants(cls):
        for n_chains in (1, 2):
            sampler = _chains(cls, n_chains, **more)
            state = sampler.init(model, 1)
            made = sampler.step(state, 9)
            before = Samples(made.v.copy(), made.p.copy(), {k: x.copy() for k, x in made.info.items()})
            sampler.step(state, 20)
            _require(_same(made, before), "step writes to the arrays that an earlier step has returned.")


@_promise(SAMPLER_PROMISES, "how a run is divided into steps does not change it")
def _division(cls: Any) -> None:
    model = _model()
    for more in _variants(cls):
        for n_chains, steps in ((1, (5, 7)), (1, (1, 9, 0, 290)), (7, (1, 9, 0, 2, 4, 284))):
            sampler = _chains(cls, n_chains, **more)
            whole = sampler.step(sampler.init(model, 7), sum(steps))
            state = sampler.init(model, 7)
            divided = _joined([sampler.step(state, n) for n in steps])
            pieces = " and ".join(f"step({n})" for n in steps)
            _require(
                _same(divided, whole), f"{sampler}: {pieces} give other samples than step({sum(steps)})."
            )


@_promise(SAMPLER_PROMISES, "states of one model do not affect each other")
def _apart(cls: Any) -> None:
    model, sampler = _model(), cls()
    want = [sampler.step(sampler.init(model, seed), 120) for seed in (1, 2)]
    states = [sampler.init(model, seed) for seed in (1, 2)]
    turns = [[sampler.step(state, 40) for state in states] for _ in range(3)]
    for i in range(2):
        _require(
            _same(_joined([turn[i] for turn in turns]), want[i]),
            "stepped in turns, two states affect each other.",
        )
    with ThreadPoolExecutor(2) as pool:
        found = pool.map(lambda seed: sampler.step(sampler.init(model, seed), 120), (1, 2))
        _require(all(map(_same, found, want)), "on two threads at once, two states affect each other.")


def _after(sampler: Any, other: Any, model: Model) -> Samples:
    """Return samples of another sampler in a state with which ``sampler`` has made five."""
    state = sampler.init(model, 1)
    sampler.step(state, 5)
    return other.step(state, 9)


@_promise(SAMPLER_PROMISES, "live knobs change between two steps")
def _live_knobs(cls: Any) -> None:
    model = _model()
    for more in _variants(cls):
        sampler = _chains(cls, 3, **more)
        state, twin = sampler.init(model, 1), sampler.init(model, 1)
        sampler.step(state, 5)
        plain, later = sampler.step(sampler.init(model, 1), 9), _after(sampler, sampler, model)
        for name, values in _values_of_live(sampler):
            knob = knobs_of(cls)[name]
            for value in (*values, knob.kind(knob.hi)) if knob.kind in (int, float) else values:
                made = dataclasses.replace(sampler, **{name: value}).step(state, 3)
                _require(made.v.shape == (3, 70), f"after {name} = {value} a step of 3 is of {made.v.shape}.")
                _require(np.isfinite(made.p).all(), f"after {name} = {value} means are no longer finite.")
            others = [dataclasses.replace(sampler, **{name: value}) for value in values]
            matters = any(not _same(other.step(other.init(model, 1), 9), plain) for other in others)
            _require(
                not matters or any(not _same(_after(sampler, other, model), later) for other in others),
                f"{name} is live, but keeps the value that it had when the state was made or first stepped.",
            )
        whole, again = sampler.step(twin, 8), sampler.init(model, 1)
        parts = [sampler.step(again, 3), dataclasses.replace(sampler).step(again, 5)]
        _require(_same(_joined(parts), whole), "a replacement with the same knobs gives other samples.")


@_promise(SAMPLER_PROMISES, "n_chains chains take turns, each as if it were alone")
def _turns(cls: Any) -> None:
    if "n_chains" not in knobs_of(cls):
        return
    model, rows = _model(), _bits(4, 70, 5)
    for v0 in (None, rows[0], rows):

        def samples_by_chain(n: int, v0: np.ndarray | None = v0) -> list[np.ndarray]:
            sampler = cls(n_chains=n)
            start = v0[:n] if v0 is not None and v0.ndim == 2 else v0
            made = sampler.step(sampler.init(model, 6, start), 8 * n - 1)
            return [made.v[c::n] for c in range(n)]

        four, two, one = samples_by_chain(4), samples_by_chain(2), samples_by_chain(1)
        for n, fewer in ((2, two), (1, one)):
            same = all(np.array_equal(a[:7], b[:7]) for a, b in zip(four, fewer, strict=False))
            _require(
                same,
                f"the first {n} of 4 chains differ from {n} chains alone: sample t belongs to chain t % 4.",
            )
        if v0 is None or (v0.ndim == 1 and not cls.deterministic):
            _require((four[0][:7] != four[3][:7]).any(), "two of the chains make the same samples.")


@_promise(SAMPLER_PROMISES, "a chain begins at the start that it is given")
def _starts(cls: Any) -> None:
    # Not complements: a right sampler may propose to flip all units. And so deep that none leaves a valley by
    # chance: at a depth of 6 nats five sweeps often do.
    valleys = np.array([[1] * 8 + [0] * 4, [0] * 4 + [1] * 8], np.uint8)
    model = pattern_model(["".join(map(str, row)) for row in valleys], 40)
    for more in _variants(cls):
        for n_chains in (1, 2):
            sampler = _chains(cls, n_chains, **more)
            for turned in (0, 1):
                rows = np.roll(valleys, turned, axis=0)[: sampler.n_chains].copy()
                given = rows.copy() if sampler.n_chains > 1 else rows[0].copy()
                made = sampler.step(sampler.init(model, 3, given), sampler.n_chains)
                near = (made.v != rows).sum(axis=1) < 4
                _require(
                    near.all(),
                    "a chain begun in one of two deep valleys makes its first sample in the other.",
                )
                _require(
                    np.array_equal(given.reshape(rows.shape), rows),
                    "it writes to the start that it is given.",
                )
            for wrong in (np.zeros(13), np.zeros((5, 12)), np.full(12, 2), np.full(12, np.nan), "bits"):
                _refused(f"the start {wrong!r}", sampler.init, model, 0, wrong)
    for seed in (-1, 1.5, "3", None):
        _refused(f"the seed {seed!r}", cls().init, model, seed)


@_promise(SAMPLER_PROMISES, "models without rates are refused if they are needed, and only then")
def _rates(cls: Any) -> None:
    bare = Model(_model().rbm)
    if cls.needs_rates:
        _refused("a model without rates", cls().init, bare, 0)
    else:
        _require(len(cls().step(cls().init(bare, 0), 2).v) == 2, "a model without rates gives no samples.")


@_promise(SAMPLER_PROMISES, "state_bytes is what a state takes, at most twice as much")
def _sampler_bytes(cls: Any) -> None:
    for n_visible, n_hidden, n_chains in ((4, 3, 60), (300, 200, 1), (300, 200, 60)):
        for more in _variants(cls):
            sampler = _chains(cls, n_chains, **more)
            # A new model for each call, because chains of one model share their copies of its weights.
            models = iter([_model(n_visible, n_hidden) for _ in range(2)])

            def make(sampler: Any = sampler, models: Iterator[Model] = models) -> Any:
                return sampler.init(next(models), 0)

            _check_bytes(sampler, n_visible, n_hidden, make)


@_promise(SAMPLER_PROMISES, "target is the model that the next sample is drawn from")
def _target(cls: Any) -> None:
    model = _model()
    for more in _variants(cls):
        sampler = _chains(cls, 3, **more)
        state, never_asked = sampler.init(model, 1), sampler.init(model, 1)
        for n in (0, 4, 4):
            same = _same(sampler.step(state, n), sampler.step(never_asked, n))
            _require(same, "after its target has been asked for, a state gives other samples.")
            target = sampler.target(state)
            _require(isinstance(target, RBM), f"target returns {type(target).__name__} and no RBM.")
            _require(target.W.shape == (70, 37), f"the target has the shape {target.W.shape}.")
            if cls.exact_chain and not more:
                same = all(np.allclose(getattr(target, x), getattr(model.rbm, x), atol=1e-6) for x in "Wbc")
                _require(same, "it declares exact_chain, but its target is not the model.")


@_promise(SAMPLER_PROMISES, "p is the mean of v")
def _means(cls: Any) -> None:
    model = _model()
    for sampler in (_chains(cls, n, **more) for more in _variants(cls) for n in (1, 3)):
        made = sampler.step(sampler.init(model, 2), 400)
        p = made.p.astype(np.float64)
        noise = MAX_STANDARD_ERRORS * np.sqrt((p * (1 - p)).sum(axis=0)) + 1e-6 * len(p)
        missed = np.abs((made.v - p).sum(axis=0)) > noise
        _require(not missed.any(), f"p of unit {int(missed.argmax())} is not the mean of its bits in v.")
        # Where p rises above its mean over the samples, so do the bits: else it is that of other samples.
        above = p - p.mean(axis=0)
        noise = MAX_STANDARD_ERRORS * np.sqrt((p * (1 - p) * above**2).sum()) + 1e-6 * p.size
        close = abs(((made.v - p) * above).sum()) <= noise
        _require(close, "p is not the mean of the sample of its own row.")


@_promise(SAMPLER_PROMISES, "an exact chain leaves the law of the model invariant")
def _law(cls: Any) -> None:
    """Check that chains whose starts are drawn from the law still have that law after some samples.

    The models have few units on one side, whose states are counted: 4 by 3, and 4 by 37 and 37 by 4, more
    than a block of random numbers and no multiple of the kernels' padding.
    """
    if not cls.exact_chain:
        return
    drawn = np.random.default_rng(2)
    W, b, c = (drawn.normal(0, 0.5, shape) for shape in ((4, 37), 4, 37))
    b -= W.sum(axis=1) / 2  # no state is rare
    for rbm in (random_model(n_visible=4, n_hidden=3, scale=3, seed=1).rbm, RBM(W, b, c), RBM(W.T, c, b)):
        p = _p_of_law(cls, rbm)
        shape = f"{rbm.n_visible} by {rbm.n_hidden} units"
        _require(
            p > MIN_P_VALUE,
            f"started with the law of a model of {shape}, its samples have another law (p = {p:.1g}).",
        )


def _p_of_law(cls: Any, rbm: RBM) -> float:
    """Return the p-value of the samples of chains that start with the law, by the side with 4 units."""
    size, samples_per_chain = 5000, 7  # enough to see a law at a temperature of 1.2
    few = rbm if rbm.n_visible == 4 else RBM(rbm.W.T, rbm.c, rbm.b)
    law, states = probabilities(few), np.array(list(np.ndindex(2, 2, 2, 2)), np.uint8)
    generator = np.random.default_rng(4)
    counted = states[generator.choice(16, size, p=law)]
    starts = counted if few is rbm else _drawn(few.mean_hidden(counted), generator)
    declared = knobs_of(cls).get("n_chains")
    max_chains = int(declared.hi) if declared else 1
    ends = []
    for at in range(0, size, max_chains):
        rows = starts[at : at + max_chains]
        sampler = _chains(cls, len(rows))
        v0 = rows if len(rows) > 1 else rows[0]
        state = sampler.init(Model(rbm), at, v0)
        ends.append(sampler.step(state, samples_per_chain * len(rows)).v[-len(rows) :])
    v = np.concatenate(ends)
    _require((v != starts).any(), "no chain leaves its start.")
    counted = v if few is rbm else _drawn(rbm.mean_hidden(v), generator)
    counts = np.bincount(counted @ np.array([8, 4, 2, 1]), minlength=16)
    return float(chi2.sf(((counts - size * law) ** 2 / (size * law)).sum(), 15))


def _drawn(means: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Return bits with these means, uint8 of their shape."""
    return (generator.random(means.shape) < means).astype(np.uint8)


# Trainers


def _data() -> np.ndarray:
    """Return 60 rows, 6 wide, with structure: the second half repeats the first."""
    half = _bits(60, 3, 0)
    return np.hstack([half, half])


def _rbm() -> RBM:
    """Return parameters so large that the next state of a chain depends strongly on the present one."""
    g = np.random.default_rng(0)
    return RBM(*(g.normal(0, 1.0, shape) for shape in ((6, 4), 6, 4)))


def _begun(trainer: Any, seed: Seed = 0, data: np.ndarray | None = None) -> Any:
    """Return the state of a new training at ``_rbm()``."""
    return trainer.init(_rbm(), _data() if data is None else data, seed)


def _with_knobs(cls: Any, **knobs: Any) -> Any:
    """Return the algorithm with these knobs, without those that it does not have."""
    return cls(**{name: value for name, value in knobs.items() if name in knobs_of(cls)})


def _equal(a: Progress, b: Progress) -> bool:
    same_rbm = all(np.array_equal(getattr(a.rbm, x), getattr(b.rbm, x)) for x in "Wbc")
    same_stats = a.stats.keys() == b.stats.keys() and all(
        np.array_equal(a.stats[name], b.stats[name], equal_nan=True) for name in a.stats
    )
    return same_rbm and same_stats and (a.update, a.sweeps) == (b.update, b.sweeps)


@_promise(TRAINER_PROMISES, "it declares what it is")
def _trainer_record(cls: Any) -> None:
    def labels(own_stats: Any) -> bool:
        return isinstance(own_stats, dict) and all(
            isinstance(x, str) and x for pair in own_stats.items() for x in pair
        )

    def known(chains: Any) -> bool:
        return chains in ("fresh", "persistent", "driven")

    _check_record(cls, "trainer", {"chains": known, "own_stats": labels})
    _require(trainers[cls.name] is cls, "it is not registered, and checkpoints find a trainer by its name.")


@_promise(TRAINER_PROMISES, "knobs have ranges and sentences, and refuse what is outside")
def _trainer_knobs(cls: Any) -> None:
    _check_knobs(cls, ("learning_rate", "batch_size", "iterations"))
    live = [knobs_of(cls)[name].live for name in ("learning_rate", "batch_size", "iterations")]
    _require(all(live), "learning_rate, batch_size and iterations are not live.")


@_promise(TRAINER_PROMISES, "the equation contains the knobs that have a symbol")
def _trainer_equation(cls: Any) -> None:
    _check_equation(cls)


@_promise(TRAINER_PROMISES, "progress has the counts, the model and the statistics that are promised")
def _progress(cls: Any) -> None:
    trainer = cls(iterations=30, batch_size=20)
    state = _begun(trainer)
    for n, update in ((0, 0), (1, 1), (8, 9)):
        made = trainer.step(state, n)
        _require(isinstance(made, Progress), f"step returns {type(made).__name__} and no Progress.")
        _require(made.update == update, f"after {update} updates progress.update is {made.update}.")
        _require(made.iterations == 30, f"with iterations = 30 progress.iterations is {made.iterations}.")
        _require(made.rbm.W.shape == (6, 4), f"W of the model has become {made.rbm.W.shape}.")
        want = {*STATS, *cls.own_stats}
        _require(set(made.stats) == want, f"stats has {sorted(made.stats)}, and {sorted(want)} are declared.")
        _require(all(type(x) is float for x in made.stats.values()), "stats has values that are no floats.")
        shapes = {name: x.shape for name, x in made.per_chain.items() if x.ndim != 1}
        _require(not shapes, f"per_chain are not one-dimensional: {shapes}.")
    _require(made.seconds > 0, "progress.seconds is 0 after 9 updates.")


@_promise(TRAINER_PROMISES, "the same seed gives the same training")
def _trainer_seeds(cls: Any) -> None:
    trainer, shared = cls(learning_rate=0.1, batch_size=20), _shared_generator()
    a, b, other = (trainer.step(_begun(trainer, seed), 10) for seed in (0, 0, 1))
    _require(_equal(a, b), "two trainings of seed 0 end differently.")
    _require((a.rbm.W != other.rbm.W).any(), "seeds 0 and 1 give the same training.")
    sequence = trainer.step(_begun(trainer, np.random.SeedSequence(1)), 10)
    _require(_equal(sequence, other), "SeedSequence(1) gives another training than the seed 1.")
    c, d = (trainer.step(_begun(trainer, np.random.default_rng(0)), 10) for _ in range(2))
    _require(_equal(c, d), "two equal Generators as seeds give different trainings.")
    _require(_shared_generator() == shared, "it draws from, or seeds, numpy's shared generator.")


@_promise(TRAINER_PROMISES, "how a run is divided into steps does not change it")
def _trainer_division(cls: Any) -> None:
    trainer = cls(iterations=30, batch_size=20)
    for steps in ((5, 7), (1, 9, 0, 20)):
        whole, state = trainer.step(_begun(trainer), sum(steps)), _begun(trainer)
        for n in steps:
            divided = trainer.step(state, n)
        pieces = " and ".join(f"step({n})" for n in steps)
        _require(_equal(divided, whole), f"{pieces} give another model than step({sum(steps)}).")


@_promise(TRAINER_PROMISES, "trainings do not affect each other, and data are not changed")
def _trainer_apart(cls: Any) -> None:
    trainer, data = cls(batch_size=20, learning_rate=0.5), _data()
    kept = data.copy()
    want = [trainer.step(_begun(trainer, seed), 30) for seed in (1, 2)]
    states = [_begun(trainer, seed, data) for seed in (1, 2)]
    for _ in range(3):
        found = [trainer.step(state, 10) for state in states]
    _require(all(map(_equal, found, want)), "stepped in turns, two trainings affect each other.")
    first = found[0].rbm.W.copy()
    trainer.step(states[0], 3)
    _require(np.array_equal(found[0].rbm.W, first), "a step writes to the model of an earlier progress.")
    _require(np.array_equal(data, kept), "it writes to the training data.")


@_promise(TRAINER_PROMISES, "live knobs change between two steps")
def _trainer_live_knobs(cls: Any) -> None:
    base = cls(learning_rate=0.2, batch_size=20)  # so that a few updates change how chains move

    def after(**more: Any) -> Progress:
        state = _begun(base)
        base.step(state, 4)
        return dataclasses.replace(base, **more).step(state, 3)

    plain, first = after(), base.step(_begun(base), 5)
    _require(_equal(after(), plain), "a replacement with the same knobs trains differently.")
    moderate = {"learning_rate": 0.02, "batch_size": 7, "schedule": "linear", "average": True}
    moderate |= {"momentum": 0.9, "weight_decay": 0.1, "box": 0.05}
    for name, value in moderate.items():
        if name in knobs_of(cls) and getattr(base, name) != value:
            changes = (after(**{name: value}).rbm.W != plain.rbm.W).any()
            _require(changes, f"{name} = {value} changes nothing.")
    for name, values in _values_of_live(base):
        matters = turns = False
        for value in [*values, *([moderate[name]] if name in moderate else [])]:
            made, turned = after(**{name: value}), dataclasses.replace(base, **{name: value})
            _require(np.isfinite(made.rbm.W).all(), f"with {name} = {value} the weights are not finite.")
            matters |= not _equal(turned.step(_begun(turned), 5), first)
            turns |= not _equal(made, plain)
        _require(
            turns or not matters,
            f"{name} is live, but keeps the value that it had when the state was made or first stepped.",
        )


class _Uncached(FixedParameters):
    """Parameters that compute each product anew."""

    def up(self, v: np.ndarray) -> np.ndarray:
        self._seen = None
        return super().up(v)


@_promise(TRAINER_PROMISES, "an update adds the gradient: positive minus negative statistics")
def _gradient(cls: Any) -> None:
    rate = min(1.0, knobs_of(cls)["learning_rate"].hi) if "learning_rate" in knobs_of(cls) else 1.0
    alone = {"schedule": "constant", "weight_decay": 0.0, "box": 0.0, "momentum": 0.0, "average": False}
    # The second time with two sweeps, and with chains that are no longer where they began.
    for updates, k in ((0, 1), (2, 2)):
        trainer = _with_knobs(cls, learning_rate=rate, batch_size=20, k=k, **alone)
        _check_gradient(trainer, updates)
    _check_decay_and_mean(_with_knobs(cls, learning_rate=rate, batch_size=20, **alone))


def _check_gradient(trainer: Any, updates: int) -> None:
    """Check the gradient and the update of states in which this many updates have been made."""
    data, rate = _data(), trainer.learning_rate
    # States of one seed: for the gradient alone, for an update, and for three calls of ``negative``.
    states = [trainer.init(_rbm(), data, 5) for _ in range(5)]
    for state in states:
        trainer.step(state, updates)
    begin = RBM(*(x.copy() for x in states[0].theta))
    found = training.gradient(trainer, states[0])
    rows = states[2].batches.next(20)
    positive = begin.rates(rows)
    negative, twin, again = (
        trainer.negative(state, products(*state.theta), rows)
        for state, products in zip(states[2:], (FixedParameters, FixedParameters, _Uncached), strict=True)
    )
    same = all(map(np.array_equal, negative, twin))
    _require(same, "negative returns other statistics for two states of one seed.")
    same = all(map(np.array_equal, negative, again))
    _require(same, "negative writes to an array of which theta has kept a product: take a new one.")
    for name in "Wbc":
        x, start = getattr(states[0].theta, name), getattr(begin, name)
        _require(np.array_equal(x, start), f"an estimate of the gradient moves {name}.")
    moved = trainer.step(states[1], 1).rbm
    for name, g in zip("Wbc", found, strict=True):
        given = getattr(negative, name)
        _require(given.dtype == np.float32, f"negative returns {given.dtype} for {name}, and not float32.")
        shape, want = getattr(begin, name).shape, getattr(begin, name) + rate * g
        _require(
            g.shape == shape and g.dtype == np.float32, f"the gradient of {name} is {g.dtype} {g.shape}."
        )
        _require(
            np.allclose(getattr(moved, name), want, atol=1e-5),
            f"an update does not add the gradient, times the learning rate {rate:g}, to {name}.",
        )
        _require(
            np.allclose(g, getattr(positive, name) - getattr(negative, name), atol=1e-5),
            f"the gradient of {name} is not the positive statistics minus what negative returns.",
        )


def _check_decay_and_mean(trainer: Any) -> None:
    """Check that weight decay pulls W towards zero, and that ``average`` gives the mean of the iterates."""
    begin, knobs = _rbm(), knobs_of(type(trainer))
    first, second = (trainer.step(_begun(trainer), n).rbm for n in (1, 2))
    if "weight_decay" in knobs:
        decaying = dataclasses.replace(trainer, weight_decay=0.5)
        pulled = decaying.step(_begun(decaying), 1).rbm.W - first.W
        right = np.allclose(pulled, -0.5 * trainer.learning_rate * begin.W, atol=1e-5)
        _require(right, "weight_decay does not take learning_rate * weight_decay * W from W.")
    if "average" in knobs:
        averaging = dataclasses.replace(trainer, average=True)
        mean = averaging.step(_begun(averaging), 2).rbm.W
        right = np.allclose(mean, (first.W + second.W) / 2, atol=1e-5)
        _require(right, "with average the model after two updates is not the mean of the two.")


@_promise(TRAINER_PROMISES, "a training resumed from a checkpoint ends with the same bits")
def _checkpoints(cls: Any) -> None:
    trainer = _with_knobs(cls, momentum=0.5, average=True, iterations=30, batch_size=7, learning_rate=0.05)
    data = _data()
    want = trainer.step(_begun(trainer), 30)
    state = _begun(trainer)
    for _ in range(12):  # a number that falls below 0 now and then is in some of them only
        trainer.step(state, 1)
        load_checkpoint(save_checkpoint(trainer, state), data)
    for done in (0, 12):
        state = _begun(trainer)
        trainer.step(state, done)
        content = save_checkpoint(trainer, state)
        found = load_checkpoint(content, data)
        _require(values_of(found.trainer) == values_of(trainer), "its knobs are lost in a checkpoint.")
        _require(
            save_checkpoint(found.trainer, found.state) == content,
            "a checkpoint that is loaded and saved again has other bytes.",
        )
        got = found.trainer.step(found.state, 30 - done)
        _require(_equal(got, want), f"resumed after {done} updates, training ends elsewhere.")


@_promise(TRAINER_PROMISES, "a checkpoint with impossible content is refused or harmless")
def _hostile_checkpoints(cls: Any) -> None:
    # Harmless: training goes on without an error, with an array of the same shape and type.
    trainer, data = cls(batch_size=7), _data()
    state = _begun(trainer)
    trainer.step(state, 3)
    arrays = load(save_checkpoint(trainer, state)[START:])
    for name, x in arrays.items():
        for wrong in _impossible(x) if name != "json" and x.size else ():
            body = save({**arrays, name: np.ascontiguousarray(wrong)})
            try:
                found = load_checkpoint(MAGIC + hashlib.sha256(body).digest() + body, data)
                with warnings.catch_warnings(action="ignore"):
                    found.trainer.step(found.state, 3)
            except BadInput:
                continue
            same = wrong.shape == x.shape and wrong.dtype == x.dtype
            _require(
                same, f"{name} is accepted as {wrong.dtype} {wrong.shape} instead of {x.dtype} {x.shape}."
            )


def _impossible(x: np.ndarray) -> Iterator[np.ndarray]:
    """Yield arrays that no training stores in place of x: other shapes, dtypes and impossible values."""
    yield x[None]
    yield x.astype(np.complex64)
    for value in (np.nan, np.inf, -1.0, 1e30) if x.dtype.kind == "f" else (-1, 2**31):
        with np.errstate(all="ignore"):
            bad = x.copy()
            bad.flat[0] = np.asarray(value).astype(x.dtype)
            yield bad


@_promise(TRAINER_PROMISES, "data that cannot be learned from are refused")
def _bad_data(cls: Any) -> None:
    rbm, data = _rbm(), _data()
    wrong = {
        "data of another width": data[:, :5],
        "no rows": data[:0],
        "rows that are all alike": data[[0] * 60],
        "values other than 0 and 1": data * 2,
        "one row": data[0],
    }
    for what, rows in wrong.items():
        _refused(what, cls().init, rbm, rows, 0)
    _refused("a batch larger than the data", cls(batch_size=61).init, rbm, data, 0)


@_promise(TRAINER_PROMISES, "parameters that diverge are refused in a sentence")
def _divergence(cls: Any) -> None:
    largest = knobs_of(cls)["learning_rate"].hi
    trainer = _with_knobs(cls, learning_rate=largest, weight_decay=1.0, schedule="constant")
    state = _begun(trainer)
    with warnings.catch_warnings(action="error"):
        for _ in range(20):
            try:
                made = trainer.step(state, 20)
            except BadInput as error:
                _check_sentence("parameters that diverge", error)
                return
            _require(np.isfinite(made.rbm.W).all(), "step returns a model that is not finite.")


@_promise(TRAINER_PROMISES, "state_bytes is what a state takes, at most twice as much")
def _trainer_bytes(cls: Any) -> None:
    # Knobs that may make a state larger, such as the number of chains: all of them small, then all large.
    sizes = [knob for knob in knobs_of(cls).values() if knob.kind is int and not knob.live]
    for size in (1, 150):
        trainer = cls(**{knob.name: int(min(max(knob.lo, size), knob.hi)) for knob in sizes})
        for n_visible, n_hidden in ((4, 3), (300, 200)):
            rbm = RBM(np.ones((n_visible, n_hidden)), np.zeros(n_visible), np.zeros(n_hidden))
            data = _bits(30, n_visible, n_visible)
            _check_bytes(trainer, n_visible, n_hidden, partial(trainer.init, rbm, data, 0))
