"""The promises of trainers, each with its check."""

import dataclasses
import hashlib
import itertools
import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from safetensors.numpy import load, save

from rbmviz.errors import BadInput
from rbmviz.knobs import Knob, knobs_of, values_of
from rbmviz.rbm import RBM
from rbmviz.registry import trainers
from rbmviz.rng import Seed
from rbmviz.testing.promises import (
    Check,
    bits,
    check_bytes,
    check_equation,
    check_knobs,
    check_record,
    check_sentence,
    promise,
    refused,
    require,
    shared_generator,
    values_of_live,
    variants,
)
from rbmviz.trainers import STATS, Progress, training
from rbmviz.trainers.checkpoint import MAGIC, START, Checkpoint, load_checkpoint, save_checkpoint
from rbmviz.trainers.common_knobs import SWEEPS_PER_UPDATE, CommonKnobs
from rbmviz.trainers.parameters import FixedParameters, Parameters

SELDOM_UPDATES = 150
"""Updates in which a live knob that is turned has to act; all but a few act at the next one."""

TRAINER_PROMISES: dict[str, Check] = {}
"""Checks of a trainer by the name of the promise, in the order of ``check_trainer``."""


def _data() -> np.ndarray:
    """Return 60 rows, 6 wide, with structure: the second half repeats the first."""
    half = bits(60, 3, 0)
    return np.hstack([half, half])


def _rbm() -> RBM:
    """Return parameters so large that the next state of a chain depends strongly on the present one."""
    g = np.random.default_rng(0)
    return RBM(*(g.normal(0, 1.0, shape) for shape in ((6, 4), 6, 4)))


def _begun(trainer: Any, seed: Seed = 0, data: np.ndarray | None = None) -> Any:
    """Return the state of a new training at ``_rbm()``."""
    return trainer.init(_rbm(), _data() if data is None else data, seed)


def _allowed(cls: Any, knobs: dict[str, Any]) -> dict[str, Any]:
    """Return these values, without those of knobs that it does not have, numbers moved into their ranges."""
    known = knobs_of(cls)
    return {name: _within(known[name], value) for name, value in knobs.items() if name in known}


def _within(knob: Knob, value: Any) -> Any:
    if knob.kind not in (int, float) or (knob.zero and value == 0):
        return value
    return knob.kind(min(max(value, knob.lo), knob.hi))


def _with_knobs(cls: Any, **knobs: Any) -> Any:
    """Return the algorithm with these knobs, as far as it has and allows them."""
    return cls(**_allowed(cls, knobs))


def _difference(a: Progress, b: Progress) -> str:
    """Return what differs first, of parameters, counts and statistics; "" if nothing does."""
    for name in "Wbc":
        if not np.array_equal(getattr(a.rbm, name), getattr(b.rbm, name)):
            return name
    for name in ("update", "sweeps"):
        if getattr(a, name) != getattr(b, name):
            return name
    for name in {**a.stats, **b.stats}:
        x, y = (made.stats.get(name) for made in (a, b))
        if x is None or y is None or not np.array_equal(x, y, equal_nan=True):
            return f"statistic {name!r}"
    return ""


def _equal(a: Progress, b: Progress) -> bool:
    return not _difference(a, b)


@promise(TRAINER_PROMISES, "it declares what it is")
def _record(cls: Any) -> None:
    def labels(own_stats: Any) -> bool:
        return isinstance(own_stats, dict) and all(
            isinstance(x, str) and x for pair in own_stats.items() for x in pair
        )

    def known(chains: Any) -> bool:
        return chains in ("fresh", "persistent", "driven")

    check_record(cls, "trainer", {"chains": known, "own_stats": labels})
    require(trainers[cls.name] is cls, "it is not registered, and checkpoints find a trainer by its name.")


@promise(TRAINER_PROMISES, "knobs have ranges and sentences, and refuse what is outside")
def _knobs(cls: Any) -> None:
    check_knobs(cls, ("learning_rate", "batch_size", "iterations"))
    live = [knobs_of(cls)[name].live for name in ("learning_rate", "batch_size", "iterations")]
    require(all(live), "learning_rate, batch_size and iterations are not live.")


@promise(TRAINER_PROMISES, "the equation contains the knobs that have a symbol")
def _equation(cls: Any) -> None:
    check_equation(cls)


@promise(TRAINER_PROMISES, "progress has the counts, the model and the statistics that are promised")
def _progress(cls: Any) -> None:
    trainer = _with_knobs(cls, iterations=30, batch_size=20)
    state = _begun(trainer)
    for n, update in ((0, 0), (1, 1), (8, 9)):
        made = trainer.step(state, n)
        require(isinstance(made, Progress), f"step returns {type(made).__name__} and no Progress.")
        require(made.update == update, f"after {update} updates progress.update is {made.update}.")
        want = trainer.iterations
        require(made.iterations == want, f"progress.iterations is {made.iterations}, not {want}.")
        require(made.rbm.W.shape == (6, 4), f"W of the model has become {made.rbm.W.shape}.")
        want = {*STATS, *cls.own_stats}
        require(set(made.stats) == want, f"stats has {sorted(made.stats)}, and {sorted(want)} are declared.")
        require(all(type(x) is float for x in made.stats.values()), "stats has values that are no floats.")
        shapes = {name: x.shape for name, x in made.per_chain.items() if x.ndim != 1}
        require(not shapes, f"per_chain are not one-dimensional: {shapes}.")
    require(made.seconds > 0, "progress.seconds is 0 after 9 updates.")
    require(
        cls.chains == "fresh" or made.sweeps > 0,
        f"it declares {cls.chains} chains, but after 9 updates no sweep is counted: add them to "
        "state.sweeps.",
    )


@promise(TRAINER_PROMISES, "negative leaves the mini-batch as it is")
def _batch(cls: Any) -> None:
    for k in (1, 2):
        trainer = _with_knobs(cls, k=k, batch_size=20)
        state = _begun(trainer)
        rows = state.batches.next(trainer.batch_size)
        given = rows.copy()
        trainer.negative(state, FixedParameters(*state.theta), given)
        require(np.array_equal(given, rows), "negative writes to the mini-batch: take a copy.")


@promise(TRAINER_PROMISES, "the same seed gives the same training")
def _seeds(cls: Any) -> None:
    trainer, shared = _with_knobs(cls, learning_rate=0.1, batch_size=20), shared_generator()
    a, b, other = (trainer.step(_begun(trainer, seed), 10) for seed in (0, 0, 1))
    require(_equal(a, b), "two trainings of seed 0 end differently.")
    require((a.rbm.W != other.rbm.W).any(), "seeds 0 and 1 give the same training.")
    sequence = trainer.step(_begun(trainer, np.random.SeedSequence(1)), 10)
    require(_equal(sequence, other), "SeedSequence(1) gives another training than the seed 1.")
    c, d = (trainer.step(_begun(trainer, np.random.default_rng(0)), 10) for _ in range(2))
    require(_equal(c, d), "two equal Generators as seeds give different trainings.")
    require(shared_generator() == shared, "it draws from, or seeds, numpy's shared generator.")


@promise(TRAINER_PROMISES, "how a run is divided into steps does not change it")
def _division(cls: Any) -> None:
    for more, steps in itertools.product(_own_variants(cls), ((5, 7), (1, 9, 0, 20))):
        trainer = dataclasses.replace(_with_knobs(cls, iterations=30, batch_size=20), **more)
        whole, state = trainer.step(_begun(trainer), sum(steps)), _begun(trainer)
        for n in steps:
            divided = trainer.step(state, n)
        pieces = " and ".join(f"step({n})" for n in steps)
        differs = _difference(divided, whole)
        require(not differs, f"{pieces} give another {differs} than step({sum(steps)}).")


@promise(TRAINER_PROMISES, "trainings do not affect each other, and data are not changed")
def _apart(cls: Any) -> None:
    trainer, data = _with_knobs(cls, batch_size=20, learning_rate=0.5), _data()
    kept = data.copy()
    want = [trainer.step(_begun(trainer, seed), 30) for seed in (1, 2)]
    states = [_begun(trainer, seed, data) for seed in (1, 2)]
    for _ in range(3):
        found = [trainer.step(state, 10) for state in states]
    require(all(map(_equal, found, want)), "stepped in turns, two trainings affect each other.")
    first = found[0].rbm.W.copy()
    trainer.step(states[0], 3)
    require(np.array_equal(found[0].rbm.W, first), "a step writes to the model of an earlier progress.")
    require(np.array_equal(data, kept), "it writes to the training data.")


@promise(TRAINER_PROMISES, "live knobs change between two steps")
def _live_knobs(cls: Any) -> None:
    base = _with_knobs(cls, learning_rate=0.2, batch_size=20)  # so that a few updates change how chains move

    def after(updates: int = 4, n: int = 3, /, **more: Any) -> Progress:
        state = _begun(base)
        base.step(state, updates)
        return dataclasses.replace(base, **more).step(state, n)

    plain, first = after(), base.step(_begun(base), 5)
    require(_equal(after(), plain), "a replacement with the same knobs trains differently.")
    moderate = {"learning_rate": 0.02, "batch_size": 7, "schedule": "linear", "average": True}
    moderate |= {"momentum": 0.9, "weight_decay": 0.1, "box": 0.05}
    moderate = _allowed(cls, moderate)
    for name, value in moderate.items():
        if getattr(base, name) != value:
            changes = (after(**{name: value}).rbm.W != plain.rbm.W).any()
            require(changes, f"{name} = {value} changes nothing.")
    nexts = [after(updates, 1) for updates in range(1, 7)]
    for name, values in values_of_live(base):
        # matters: the knob changes a training from its start; turns: also one that has begun; at once: in the
        # next update.
        matters = turns = matters_at_once = turns_at_once = False
        for value in [*values, *([moderate[name]] if name in moderate else [])]:
            made, turned = after(**{name: value}), dataclasses.replace(base, **{name: value})
            require(np.isfinite(made.rbm.W).all(), f"with {name} = {value} the weights are not finite.")
            matters |= not _equal(turned.step(_begun(turned), 5), first)
            turns |= not _equal(made, plain)
            matters_at_once |= not _equal(turned.step(_begun(turned), 1), after(0, 1))
            turns_at_once |= any(
                not _equal(after(updates, 1, **{name: value}), one) for updates, one in enumerate(nexts, 1)
            )
        seldom = matters and not (turns or turns_at_once)  # it may act at some updates only
        require(
            not seldom
            or any(
                not _equal(after(4, SELDOM_UPDATES, **{name: value}), after(4, SELDOM_UPDATES))
                for value in values
            ),
            f"{name} is live, but keeps the value that it had when the state was made or first stepped: "
            f"turned after 4 updates, it changes nothing in the next {SELDOM_UPDATES}.",
        )
        require(
            seldom or turns_at_once or not matters_at_once,
            f"{name} is live, but acts later than from the next update on.",
        )


class _Uncached(FixedParameters):
    """Parameters that compute each product anew."""

    def up(self, v: np.ndarray) -> np.ndarray:
        self._seen = None
        return super().up(v)


@promise(TRAINER_PROMISES, "an update adds the gradient: positive minus negative statistics")
def _gradient(cls: Any) -> None:
    # A rate other than 1: its square is another number.
    alone: dict[str, Any] = {"learning_rate": 0.5, "batch_size": 20, "schedule": "constant", "average": False}
    alone |= {"weight_decay": 0.0, "box": 0.0, "momentum": 0.0}
    # The second time with two sweeps, and with chains that are no longer where they began.
    for updates, k in ((0, 1), (2, 2)):
        _check_gradient(_with_knobs(cls, k=k, **alone), updates)
    _check_decay_and_mean(_with_knobs(cls, **alone))


def _check_gradient(trainer: Any, updates: int) -> None:
    """Check the gradient and the update of states in which this many updates have been made."""
    data, rate = _data(), trainer.learning_rate
    # States of one seed: for the gradient alone, for an update, and for three calls of ``negative``.
    states = [trainer.init(_rbm(), data, 5) for _ in range(5)]
    for state in states:
        trainer.step(state, updates)
    begin = RBM(*(x.copy() for x in states[0].theta))
    found = training.gradient(trainer, states[0])
    rows, *_ = [state.batches.next(trainer.batch_size) for state in states[2:]]
    positive = begin.rates(rows)
    negative, twin, again = (
        trainer.negative(state, products(*state.theta), rows)
        for state, products in zip(states[2:], (FixedParameters, FixedParameters, _Uncached), strict=True)
    )
    found_type = type(negative).__name__
    require(isinstance(negative, Parameters), f"negative returns {found_type} and no Parameters.")
    same = all(map(np.array_equal, negative, twin))
    require(same, "negative returns other statistics for two states of one seed.")
    same = all(map(np.array_equal, negative, again))
    require(same, "negative writes to an array of which theta has kept a product: take a new one.")
    for name in "Wbc":
        x, start = getattr(states[0].theta, name), getattr(begin, name)
        require(np.array_equal(x, start), f"an estimate of the gradient moves {name}.")
    moved = trainer.step(states[1], 1).rbm
    for name, g in zip("Wbc", found, strict=True):
        given = getattr(negative, name)
        require(given.dtype == np.float32, f"negative returns {given.dtype} for {name}, and not float32.")
        shape, want = getattr(begin, name).shape, getattr(begin, name) + rate * g
        require(g.shape == shape and g.dtype == np.float32, f"the gradient of {name} is {g.dtype} {g.shape}.")
        require(
            np.allclose(getattr(moved, name), want, atol=1e-5),
            f"an update does not add the gradient, times the learning rate {rate:g}, to {name}.",
        )
        require(
            np.allclose(g, getattr(positive, name) - getattr(negative, name), atol=1e-5),
            f"the gradient of {name} is not the positive statistics minus what negative returns.",
        )


@promise(TRAINER_PROMISES, "negative returns the means of models in which they are known")
def _known_means(cls: Any) -> None:
    # Chains have their law after one sweep then; trainers that move a tenth of theirs at each update need
    # about 80. Units are nearly always on or off, so that few samples suffice.
    independent = RBM(np.zeros((6, 4)), np.array([6.0, -6, -6, 6, 6, -6]), np.array([-6.0, 6, 6, -6]))
    _check_means(
        cls,
        independent,
        "without weights",
        "look at sign, scale (a mean over the chains, not their sum), and whether it is the negative side "
        "alone.",
    )
    # Biases hold two hidden units on and two off. Those that are on switch three visible units off, and those
    # that are off would switch them on.
    W = np.zeros((6, 4))
    W[:3] = [-6, 6, -6, 6]
    W[3:] = [0, 6, 0, 6]
    held = RBM(W, np.full(6, 6.0), np.array([60.0, -60, 60, -60]))
    _check_means(
        cls,
        held,
        "with hidden units that their biases hold",
        "do the chains use W, b and c, each with its sign, in each sweep?",
    )
    _check_covariance(cls)


def _negative(trainer: Any, state: Any) -> Parameters:
    """Return what ``negative`` returns for the next mini-batch, as in an update."""
    theta = FixedParameters(*state.theta)  # for each call: it remembers a product for one update
    return trainer.negative(state, theta, state.batches.next(trainer.batch_size))


def _check_covariance(cls: Any) -> None:
    """Check that v and h of the statistics of W are those of the same chains.

    In this model four pairs of a visible and a hidden unit are alike with probability 0.88, and each unit is
    on half of the time, as in the data: the covariance of a pair is 0.19.
    """
    pairs = np.eye(6, 4)
    rbm = RBM(4 * pairs, -2 * pairs.sum(axis=1), np.full(4, -2.0))
    trainer = _with_knobs(cls, batch_size=20)
    state = trainer.init(rbm, bits(60, 6, 0), 0)
    found = [_negative(trainer, state) for _ in range(100)]
    W, b, c = (np.mean([getattr(one, name) for one in found], axis=0) for name in "Wbc")
    covariance = float(np.mean(np.diag(W) - b[:4] * c))
    require(
        covariance > 0.06,
        f"where units of both layers are alike in pairs, with a covariance of 0.19, the statistics of W have "
        f"{covariance:.2g}: take v and h from the same sweep of the same chains.",
    )


def _check_means(cls: Any, rbm: RBM, where: str, look: str) -> None:
    """Check the mean of what ``negative`` returns for a model in which nearly all chains are in one state."""
    trainer = _with_knobs(cls, batch_size=20)
    state = trainer.init(rbm, _data(), 0)
    found = [_negative(trainer, state) for _ in range(100)]
    on_v = rbm.mean_visible((rbm.c > 0).astype(np.float32))
    on_h = rbm.mean_hidden(on_v.round())
    for name, mean in (("W", np.outer(on_v, on_h)), ("b", on_v), ("c", on_h)):
        off = np.abs(np.mean([getattr(one, name) for one in found[80:]], axis=0) - mean).max()
        require(off < 0.1, f"{where}, negative returns a mean for {name} that is off by {off:.2g}: {look}")


def _check_decay_and_mean(trainer: Any) -> None:
    """Check that weight decay pulls W towards zero, and that ``average`` gives the mean of the iterates."""
    begin, knobs = _rbm(), knobs_of(type(trainer))
    first, second = (trainer.step(_begun(trainer), n).rbm for n in (1, 2))
    if "weight_decay" in knobs:
        decaying = dataclasses.replace(trainer, weight_decay=0.5)
        pulled = decaying.step(_begun(decaying), 1).rbm.W - first.W
        right = np.allclose(pulled, -0.5 * trainer.learning_rate * begin.W, atol=1e-5)
        require(right, "weight_decay does not take learning_rate * weight_decay * W from W.")
    if "average" in knobs:
        averaging = dataclasses.replace(trainer, average=True)
        mean = averaging.step(_begun(averaging), 2).rbm.W
        right = np.allclose(mean, (first.W + second.W) / 2, atol=1e-5)
        require(right, "with average the model after two updates is not the mean of the two.")


@promise(TRAINER_PROMISES, "a training resumed from a checkpoint ends with the same bits")
def _checkpoints(cls: Any) -> None:
    trainer = _with_knobs(cls, momentum=0.5, average=True, iterations=30, batch_size=7, learning_rate=0.05)
    for more in _own_variants(cls):
        _check_checkpoints(dataclasses.replace(trainer, **more))
    for name, values in values_of_live(trainer):
        for value in values:
            _check_turned(trainer, name, value)


def _own_variants(cls: Any) -> Iterator[dict[str, Any]]:
    """Yield {}, and other values of its own switches and choices: not of those that all trainers have."""
    common = {field.name for field in dataclasses.fields(CommonKnobs)}
    return (more for more in variants(cls, live=True) if not common & more.keys())


def _check_checkpoints(trainer: Any) -> None:
    """Check that checkpoints of a trainer, before and amid its training, are read back and go on."""
    data = _data()
    want = trainer.step(_begun(trainer), 30)
    state = _begun(trainer)
    for _ in range(12):  # a number that falls below 0 now and then is in some of them only
        trainer.step(state, 1)
        _reloaded(save_checkpoint(trainer, state), data)
    for done in (0, 12):
        state = _begun(trainer)
        trainer.step(state, done)
        content = save_checkpoint(trainer, state)
        found = _reloaded(content, data)
        require(values_of(found.trainer) == values_of(trainer), "its knobs are lost in a checkpoint.")
        require(
            save_checkpoint(found.trainer, found.state) == content,
            "a checkpoint that is loaded and saved again has other bytes.",
        )
        got = found.trainer.step(found.state, 30 - done)
        differs = _difference(got, want)
        require(not differs, f"resumed after {done} updates, training ends with another {differs}.")


def _reloaded(content: bytes, data: np.ndarray) -> Checkpoint:
    """Return what a checkpoint of the trainer's own contains; say what to do if it is refused."""
    try:
        return load_checkpoint(content, data)
    except BadInput as error:
        reason = (
            "an array as the own state holds chains of 0 and 1: put another one into a dataclass; a number "
            "keeps the type that init gives it, 0.0 for a float; one that may fall below 0 is "
            "stored(signed=True); what else a field may be, say with stored(...), see rbmviz.trainers.stored."
        )
        raise AssertionError(
            f"a checkpoint that save_checkpoint has just made is refused ({error}): {reason}"
        ) from error


def _check_turned(trainer: Any, name: str, value: Any) -> None:
    """Check that a checkpoint can be read when a knob has just been turned, and after an update with it."""
    state, turned = _begun(trainer), dataclasses.replace(trainer, **{name: value})
    trainer.step(state, 2)
    for updates, when in enumerate(("just after", "an update after")):
        turned.step(state, updates)
        try:
            load_checkpoint(save_checkpoint(turned, state), _data())
        except BadInput as error:
            raise AssertionError(
                f"a checkpoint that is made {when} {name} = {value} is refused ({error}): "
                "what says how large a state is has to be live=False."
            ) from error


@promise(TRAINER_PROMISES, "chains that go on are kept in the own state")
def _kept(cls: Any) -> None:
    if cls.chains == "fresh":
        return
    trainer = _with_knobs(cls, batch_size=20)
    state = _begun(trainer)
    before = _own_arrays(trainer, state)
    require(
        before, f"it declares {cls.chains} chains, but its own state has no array, in which they are kept."
    )
    trainer.step(state, 20)
    after = _own_arrays(trainer, state)
    require(
        any(name not in after or not np.array_equal(x, after[name]) for name, x in before.items()),
        f"it declares {cls.chains} chains, but 20 updates leave its own state as it is: does negative store "
        "the new chains?",
    )


def _own_arrays(trainer: Any, state: Any) -> dict[str, np.ndarray]:
    """Return the arrays of a trainer's own state, as a checkpoint of it has them."""
    arrays = load(save_checkpoint(trainer, state)[START:])
    return {name: x for name, x in arrays.items() if name.startswith("state.own_state")}


@promise(TRAINER_PROMISES, "a checkpoint with impossible content is refused or harmless")
def _hostile_checkpoints(cls: Any) -> None:
    # Harmless: training goes on without an error, with an array of the same shape and type.
    trainer, data = _with_knobs(cls, batch_size=7), _data()
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
            except Exception as error:
                raise AssertionError(
                    f"{name} is accepted with an impossible value, and then training ends with "
                    f"{type(error).__name__}: {error}. Say with stored(...), see rbmviz.trainers.stored, "
                    "what it may hold: of indices, the largest one is most=."
                ) from error
            same = wrong.shape == x.shape and wrong.dtype == x.dtype
            require(
                same, f"{name} is accepted as {wrong.dtype} {wrong.shape} instead of {x.dtype} {x.shape}."
            )


def _impossible(x: np.ndarray) -> Iterator[np.ndarray]:
    """Yield arrays that no training stores in place of x: other shapes, dtypes and impossible values."""
    yield x[None]
    yield x.astype(np.complex64)
    whole = (-1, 2**31, np.iinfo(x.dtype).max) if x.dtype.kind in "iu" else (-1, 2**31)
    for value in (np.nan, np.inf, -1.0, 1e30) if x.dtype.kind == "f" else whole:
        with np.errstate(all="ignore"):
            bad = x.copy()
            bad.flat[0] = np.asarray(value).astype(x.dtype)
            yield bad


@promise(TRAINER_PROMISES, "data that cannot be learned from are refused")
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
        refused(what, cls().init, rbm, rows, 0)
    if knobs_of(cls)["batch_size"].hi > len(data):
        larger = _with_knobs(cls, batch_size=len(data) + 1)
        refused("a batch larger than the data", larger.init, rbm, data, 0)


@promise(TRAINER_PROMISES, "parameters that diverge are refused in a sentence")
def _divergence(cls: Any) -> None:
    largest = knobs_of(cls)["learning_rate"].hi
    trainer = _with_knobs(cls, learning_rate=largest, weight_decay=1.0, schedule="constant")
    state = _begun(trainer)
    with warnings.catch_warnings(action="error"):
        for _ in range(20):
            try:
                made = trainer.step(state, 20)
            except BadInput as error:
                check_sentence("parameters that diverge", error)
                return
            require(np.isfinite(made.rbm.W).all(), "step returns a model that is not finite.")


@promise(TRAINER_PROMISES, "state_bytes is what a state takes, at most twice as much")
def _bytes(cls: Any) -> None:
    # Knobs that may make a state larger, such as the number of chains: all of them small, then all large.
    sizes = [knob for knob in knobs_of(cls).values() if knob.kind is int and not knob.live]
    for size in (1, 150):
        trainer = cls(**{knob.name: int(min(max(knob.lo, size), knob.hi)) for knob in sizes})
        for n_visible, n_hidden in ((4, 3), (300, 200)):
            rbm = RBM(np.ones((n_visible, n_hidden)), np.zeros(n_visible), np.zeros(n_hidden))
            data = bits(max(30, trainer.batch_size), n_visible, n_visible)
            check_bytes(trainer, n_visible, n_hidden, partial(trainer.init, rbm, data, 0))


@promise(TRAINER_PROMISES, "more sweeps per update train otherwise")
def _sweeps_per_update(cls: Any) -> None:
    k = knobs_of(cls).get("k")
    if k is None or k.label != SWEEPS_PER_UPDATE or k.lo > 1 or k.hi < 2:
        return
    one, two = (made.step(_begun(made), 5) for made in (_with_knobs(cls, k=1), _with_knobs(cls, k=2)))
    require((one.rbm.W != two.rbm.W).any(), f"with k = 2, {k.label.lower()}, it trains as with k = 1.")
