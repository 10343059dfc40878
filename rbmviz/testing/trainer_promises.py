"""The promises of trainers, each with its check."""

import dataclasses
from typing import Any

import numpy as np

from rbmviz.knobs import knobs_of, values_of
from rbmviz.metrics import log_likelihood
from rbmviz.rbm import RBM
from rbmviz.rbm.parameters import FixedParameters, Parameters, Rows
from rbmviz.registry import trainers
from rbmviz.testing import promises
from rbmviz.testing.promises import Check, Runner, bits, require, same, variants
from rbmviz.trainers import STATS, Progress
from rbmviz.trainers.checkpoint import load_checkpoint, save_checkpoint
from rbmviz.trainers.common_knobs import CommonKnobs

_COMMON = {field.name for field in dataclasses.fields(CommonKnobs)}
"""Knobs that all trainers inherit together with their code."""


def _data() -> np.ndarray:
    """Return 60 rows of 6 bits, with structure: the second half repeats the first."""
    return np.tile(bits(60, 3, 0), 2)


def _begin(trainer: Any, seed: Any) -> Any:
    """Return the state of a training with weights so large that chains depend on their previous state."""
    g = np.random.default_rng(0)
    return trainer.init(RBM(*(g.normal(0, 1.0, shape) for shape in ((6, 4), 6, 4))), _data(), seed)


def _arrays(results: Any) -> list[np.ndarray]:
    last = results[-1]
    numbers = [last.update, last.sweeps, *(last.stats[name] for name in sorted(last.stats))]
    return [last.rbm.W.copy(), last.rbm.b.copy(), last.rbm.c.copy(), np.array(numbers, np.float64)]


_TRAINER = Runner(_begin, _arrays)


def _with_knobs(cls: Any, **values: Any) -> Any:
    """Return the trainer with these knobs, unless it lacks them; numbers are clipped to their ranges."""
    knobs = {name: knob for name, knob in knobs_of(cls).items() if name in values}
    numbers = {name for name, knob in knobs.items() if knob.kind in (int, float) and values[name]}
    return cls(
        **{
            name: knob.kind(min(max(values[name], knob.lo), knob.hi)) if name in numbers else values[name]
            for name, knob in knobs.items()
        }
    )


def _each_variant(cls: Any, **values: Any) -> list[Any]:
    """Return the trainer with each of its switches and choices in turn, except the shared ones."""
    own = (more for more in variants(cls, live=True) if not _COMMON & more.keys())
    return [dataclasses.replace(_with_knobs(cls, **values), **more) for more in own]


def _declaration(cls: Any) -> None:
    promises.check_declaration(cls, "trainer", chains=("fresh", "persistent", "driven"))
    require(trainers[cls.name] is cls, "it is not registered, and checkpoints find a trainer by its name.")


def _shapes(cls: Any) -> None:
    trainer, data = _with_knobs(cls, batch_size=20), _data()
    state = trainer.init(RBM(np.ones((6, 4)), np.zeros(6), np.zeros(4)), data, 0)
    for n in (0, 9):
        progress = trainer.step(state, n)
        require(isinstance(progress, Progress), f"step returns {type(progress).__name__}: return a Progress.")
        require(progress.update == n, f"after {n} updates progress.update is {progress.update}.")
        names, declared = sorted(progress.stats), sorted({*STATS, *cls.own_stats})
        require(names == declared, f"stats has {names}, but STATS and own_stats declare {declared}.")
        require(
            all(type(x) is float for x in progress.stats.values()), "stats has values that are not floats."
        )
    counted = cls.chains == "fresh" or progress.sweeps > 0
    require(counted, f"its chains are {cls.chains}, but no sweep is counted: add them to state.sweeps.")
    require(np.array_equal(data, _data()), "it writes to the training data: take a copy.")


def _seeds(cls: Any) -> None:
    promises.check_seeds(_TRAINER, [_with_knobs(cls, learning_rate=0.1, batch_size=20)], 10)


def _division(cls: Any) -> None:
    promises.check_division(_TRAINER, _each_variant(cls, iterations=30, batch_size=20), (1, 9, 0, 20))


def _live_knobs(cls: Any) -> None:
    # A rate large enough for a few updates to change how chains move.
    algorithms = _each_variant(cls, learning_rate=0.2, batch_size=20)
    promises.check_live_knobs(_TRAINER, algorithms, knobs_of(cls).keys() - _COMMON, (5, 1), 150)


def _gradient(cls: Any) -> None:
    # The rate is not 1, so that it differs from its square.
    alone: dict[str, Any] = {"learning_rate": 0.5, "batch_size": 20, "schedule": "constant", "average": False}
    alone |= {"weight_decay": 0.0, "box": 0.0, "momentum": 0.0}
    # The second time, use two sweeps, and chains that have left their starts.
    for updates, k in ((0, 1), (2, 2)):
        trainer = _with_knobs(cls, k=k, **alone)
        state, another = (_begin(trainer, 5) for _ in range(2))
        for each in (state, another):
            trainer.step(each, updates)
        begin = RBM(*(x.copy() for x in state.theta))
        rows = state.batches.next(trainer.batch_size)
        batch = rows.copy()
        negative = trainer.negative(state, FixedParameters(*state.theta), rows)
        name = type(negative).__name__
        require(isinstance(negative, Parameters | Rows), f"negative returns {name}: return Parameters.")
        negative = Parameters(*negative)
        require(np.array_equal(batch, rows), "negative writes to the mini-batch: take a copy.")
        fixed = trainer.positive(another) if hasattr(trainer, "positive") else None
        moved, positive = trainer.step(another, 1).rbm, fixed or begin.rates(batch)
        for name in "Wbc":
            x, n, wanted = getattr(begin, name), getattr(negative, name), getattr(positive, name)
            right = n.dtype == np.float32 and n.shape == x.shape
            require(right, f"negative returns {n.dtype} {n.shape} for {name}: return float32 {x.shape}.")
            close = np.allclose(getattr(moved, name), x + trainer.learning_rate * (wanted - n), atol=1e-5)
            require(
                close,
                f"update {updates + 1} does not add to {name} the learning rate times the positive minus the "
                "negative statistics.",
            )


def _checkpoints(cls: Any) -> None:
    for trainer in _each_variant(
        cls, momentum=0.5, average=True, iterations=30, batch_size=20, learning_rate=0.05
    ):
        whole = _TRAINER.run(trainer, 30)
        for done in (0, 1, 12):
            state = _begin(trainer, 1)
            trainer.step(state, done)
            checkpoint = load_checkpoint(save_checkpoint(trainer, state), _data())
            require(
                values_of(checkpoint.trainer) == values_of(trainer), "its knobs are lost in a checkpoint."
            )
            resumed = _arrays([checkpoint.trainer.step(checkpoint.state, 30 - done)])
            require(
                same(resumed, whole),
                f"resumed after {done} updates, training ends otherwise: keep what lasts from one update to "
                "the next in state.own_state.",
            )
        state.own_state = _begin(trainer, 2).own_state
        lasts = cls.chains == "fresh" or not same(_arrays([trainer.step(state, 18)]), whole)
        require(lasts, f"its chains are {cls.chains}, but not in its own state: store the new chains there.")


def _learns(cls: Any) -> None:
    """Check that training does not make the data less likely; herding need not make them more likely."""
    trainer, data = _with_knobs(cls, learning_rate=0.3, batch_size=20, schedule="constant"), _data()
    W = np.random.default_rng(0).normal(0, 0.1, (6, 4))
    state = trainer.init(RBM(W, np.zeros(6), np.zeros(4)), data, 0)
    before, after = (log_likelihood(trainer.step(state, n).rbm, data) for n in (0, 600))
    require(
        after > before - 0.1,
        f"600 updates take the log-likelihood of the data from {before:.2f} to {after:.2f} nats: return "
        "means of v, h and v h' of the same chains, whose sweeps use W, b and c, each with its sign.",
    )


TRAINER_PROMISES: dict[str, Check] = {
    promises.DECLARATION: _declaration,
    promises.RESULT_SHAPES: _shapes,
    promises.SEEDS: _seeds,
    promises.DIVISION: _division,
    "an update adds the gradient: positive minus negative statistics": _gradient,
    "a training resumed from a checkpoint ends with the same bits": _checkpoints,
    "training does not make the data less likely": _learns,
    promises.LIVE_KNOBS: _live_knobs,
}
"""Checks of a trainer by promise, in the order of ``check_trainer``."""
