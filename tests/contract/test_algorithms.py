"""Every registered algorithm keeps the public contract; one that breaks a promise is refused by its name."""

import dataclasses
import itertools
import re

import numpy as np
import pytest

from rbmviz import (
    RBM,
    BadInput,
    list_samplers,
    list_trainers,
    make_sampler,
    make_trainer,
    rng,
    sample,
    stream,
    testing,
    train,
)
from rbmviz.coupling import ALGORITHMS, EQUATIONS
from rbmviz.knobs import knob, knobs_of
from rbmviz.rbm.parameters import Parameters, zeros_like
from rbmviz.registry import sampler, samplers, trainer, trainers
from rbmviz.samplers import Samples
from rbmviz.samplers._skeleton import Skeleton
from rbmviz.samplers.interleave import Chains
from rbmviz.session import Coupling
from rbmviz.testing import SAMPLER_PROMISES, TRAINER_PROMISES, check_sampler, check_trainer
from rbmviz.testing.promises import variants
from rbmviz.trainers import common_knobs, training
from rbmviz.trainers.batches import mean_hidden, statistics, sweep
from rbmviz.trainers.cd import CD
from rbmviz.view.formulas import MARK, equation, equation_of, symbols_of


@pytest.mark.parametrize("name", list_samplers())
def test_every_sampler_keeps_the_contract(name):
    check_sampler(samplers[name])


@pytest.mark.parametrize("name", list_trainers())
def test_every_trainer_keeps_the_contract(name):
    check_trainer(trainers[name])


def test_each_has_an_equation_that_the_pages_can_set():
    """Each knob with a symbol is marked by some value of the switches; each live knob declares a symbol."""
    every = [Coupling(), *(cls() for table in (samplers, trainers) for cls in map(table.__getitem__, table))]
    for algorithm in every:
        assert algorithm.equation, algorithm.name
        set_formulas = equation(equation_of(algorithm), symbols_of(algorithm))
        marked = {name for mathml in set_formulas for name in re.findall(r'data-knob="(\w+)"', mathml)}
        assert marked == set(MARK.findall(" ".join(equation_of(algorithm)))), algorithm.name
    for cls in (table[name] for table in (samplers, trainers) for name in table):
        knobs, formulas = knobs_of(cls), [equation_of(cls(**more)) for more in variants(cls, live=True)]
        marked = set(MARK.findall(" ".join(map(" ".join, formulas))))
        assert marked == {name for name, each in knobs.items() if each.symbol}, cls.name
        assert not [name for name, each in knobs.items() if each.live and each.symbol is None], cls.name
    assert list(EQUATIONS) == list(ALGORITHMS)
    assert all(equation(formulas, {}) for formulas in EQUATIONS.values())


def test_the_skeleton_keeps_the_contract_and_is_not_registered():
    check_sampler(Skeleton)
    assert "skeleton" not in list_samplers()


def a_knob(name, value, lo, hi, **more):
    return {"__annotations__": {name: type(value)}, name: knob(value, lo, hi, **more)}


def step_by_metropolis(self, chain, n):
    """Propose to flip each bit with a chance of 0.3: in the contract's models nearly all is rejected."""
    v = np.empty((n, len(chain.v)), np.uint8)
    for t in range(n):
        for _ in range(self.k):
            w = chain.v ^ (chain.generator.random(len(chain.v)) < 0.3).astype(np.uint8)
            gained = (chain.rbm.free_energy(chain.v) - chain.rbm.free_energy(w)) / self.heat
            if np.log(chain.generator.random()) < gained:
                chain.v[:] = w
        v[t] = chain.v
    return Samples(v, v.astype(np.float32), {"sweeps": np.full(n, 1)})


def step_with_a_share_of_nothing(self, chain, n):
    made = Skeleton._step(self, chain, n)
    return Samples(made.v, made.p, made.info | {"accepted": np.full(n, np.nan)})


def step_by_one_unit(self, chain, n):
    """Draw one bit given all others; in the later means the others are what they came out as."""
    shape = (n, len(chain.v))
    v, p = np.empty(shape, np.uint8), np.empty(shape, np.float32)
    for t in range(n):
        i = chain.generator.integers(shape[1])
        off, on = chain.v * np.ones((2, 1), np.uint8)
        off[i], on[i] = 0, 1
        energies = chain.rbm.free_energy(np.array([off, on]))
        p[t] = chain.v
        p[t, i] = 1 / (1 + np.exp(np.float64(energies[1]) - np.float64(energies[0])))
        chain.v = on if chain.generator.random() < p[t, i] else off
        v[t] = chain.v
    return Samples(v, p, {"sweeps": np.full(n, 1)})


RIGHT_SAMPLERS = {
    "live knobs act from the next step on": {
        "_step": step_by_metropolis,
        **a_knob("heat", 1.0, 0.1, 10.0, label="Temperature", symbol="T", scale="log", help="It is hot."),
    },
    "how a run is divided into steps does not change it": {"_step": step_with_a_share_of_nothing},
    "p is the mean of v": {"_step": step_by_one_unit, **a_knob("k", 1, 1, 9, label="Bits", help="Some.")},
}
"""Of other kinds: by the promise for which each of them may not be blamed."""


@pytest.mark.parametrize("promise", RIGHT_SAMPLERS)
def test_a_right_sampler_of_another_kind_keeps_the_contract(promise, tables):
    cls = type("Right", (Skeleton,), {"__doc__": "Right.", **RIGHT_SAMPLERS[promise]})
    SAMPLER_PROMISES[promise](sampler("right", label="Right", paper="none")(cls))


@pytest.fixture
def tables(monkeypatch):
    """Registered in a test, gone after it."""
    for table in (samplers, trainers):
        list(table)
        monkeypatch.setattr(table, "_entries", dict(table._entries))


def each(state):
    return state.each if isinstance(state, Chains) else [state]


# A broken sampler for each promise


def other_p(self, chain, n):
    made = Skeleton._step(self, chain, n)
    return Samples(made.v, made.p.astype(np.float64), made.info)


SEEDS = itertools.count()


def init_by_the_clock(self, model, seed, v0=None):
    return Skeleton.init(self, model, next(SEEDS), v0)


def draw_once_a_step(self, chain, n):
    chain.generator.random()
    return Skeleton._step(self, chain, n)


SHARED = {}


def init_by_the_number_of_chains(self, model, seed, v0=None):
    state = Skeleton.init(self, model, seed, v0)
    for c, chain in enumerate(each(state)):
        chain.generator = rng.generator(seed, f"{self.n_chains}", c)
    return state


def no_p(self, chain, n):
    made = Skeleton._step(self, chain, n)
    return Samples(made.v, np.full_like(made.p, 0.5), made.info)


def step_as_if(self, chain, n, rbm):
    told, chain.rbm = chain.rbm, rbm
    made = Skeleton._step(self, chain, n)
    chain.rbm = told
    return made


def step_hot(self, chain, n):
    told = chain.rbm
    return step_as_if(self, chain, n, RBM(0.7 * told.W, 0.7 * told.b, 0.7 * told.c))


def step_with_the_k_of_init(self, chain, n):
    return Skeleton._step(dataclasses.replace(self, k=chain.k), chain, n)


def step_with_the_k_of_the_first(self, chain, n):
    chain.k = getattr(chain, "k", self.k)
    return step_with_the_k_of_init(self, chain, n)


BROKEN_SAMPLERS = {
    "its declaration is complete": {"exact_chain": "mostly"},
    "results have the promised shapes": {"_step": other_p},
    "the same seed gives the same results": {"init": init_by_the_clock},
    "how a run is divided into steps": {"_step": draw_once_a_step},
    "live knobs act": {"_step": step_with_the_k_of_the_first},
    "chains take turns": {"init": init_by_the_number_of_chains},
    "p is the mean of v": {"_step": no_p},
    "an exact chain leaves the law": {"_step": step_hot},
}


@pytest.fixture
def only(monkeypatch):
    """Let the checks of samplers and trainers look at one promise only, the first whose name begins so.

    That an algorithm without a fault passes the others is tested with the skeleton.
    """

    def leave(begins):
        for table in ("SAMPLER_PROMISES", "TRAINER_PROMISES"):
            kept = {name: check for name, check in getattr(testing, table).items() if name.startswith(begins)}
            monkeypatch.setattr(testing, table, kept)

    return leave


@pytest.mark.parametrize("promise", BROKEN_SAMPLERS)
def test_a_broken_sampler_is_refused_by_name(promise, tables, only):
    only(promise)
    cls = type("Broken", (Skeleton,), {"__doc__": "Broken.", **BROKEN_SAMPLERS[promise]})
    with pytest.raises(AssertionError, match=f"^faulty does not keep its promise '{promise}"):
        check_sampler(sampler("faulty", label="Broken", paper="none")(cls))


# A broken trainer for each promise


def no_stats(self, state, n):
    return dataclasses.replace(CD.step(self, state, n), stats={})


def trained_by_the_clock(self, rbm, data, seed):
    return CD.init(self, rbm, data, next(SEEDS))


def skip_a_row(self, state, n):
    state.batches.next(1)
    return CD.step(self, state, n)


def init_shared_chains(self, rbm, data, seed):
    SHARED["v"] = np.zeros((20, rbm.n_visible), np.float32)
    return CD.init(self, rbm, data, seed)


def negative_of_shared_chains(self, state, theta, data):
    state.samples = SHARED["v"] = sweep(theta, SHARED["v"], state.stream)
    return statistics(SHARED["v"], mean_hidden(theta, SHARED["v"]))


def step_aside(self, state, n):
    for _ in range(n):
        CD.step(self, state, 1)
        state.theta.b[:] += np.float32(0.01)
    return training.progress(self, state)


def init_hidden_chains(self, rbm, data, seed):
    state = CD.init(self, rbm, data, seed)
    state.hidden = np.zeros((20, rbm.n_visible), np.float32)
    return state


def negative_of_hidden_chains(self, state, theta, data):
    state.samples = state.hidden = sweep(theta, state.hidden, state.stream)
    return statistics(state.hidden, mean_hidden(theta, state.hidden))


def negative_of_the_other_sign(self, state, theta, data):
    return Parameters(*(-x for x in CD.negative(self, state, theta, data)))


def negative_with_the_k_of_the_first(self, state, theta, data):
    state.k = getattr(state, "k", self.k)
    return CD.negative(dataclasses.replace(self, k=state.k), state, theta, data)


BROKEN_TRAINERS = {
    "its declaration is complete": {"chains": "sometimes"},
    "results have the promised shapes": {"step": no_stats},
    "the same seed gives the same results": {"init": trained_by_the_clock},
    "how a run is divided into steps": {"step": skip_a_row},
    "live knobs act": {"negative": negative_with_the_k_of_the_first},
    "an update adds the gradient": {"step": step_aside},
    "training does not make the data less likely": {"negative": negative_of_the_other_sign},
    "a training resumed from a checkpoint": {
        "init": init_hidden_chains,
        "negative": negative_of_hidden_chains,
    },
}


@pytest.mark.parametrize("promise", BROKEN_TRAINERS)
def test_a_broken_trainer_is_refused_by_name(promise, tables, only):
    only(promise)
    cls = type("Broken", (CD,), {"__doc__": "Broken.", **BROKEN_TRAINERS[promise]})
    with pytest.raises(AssertionError, match=f"^broken does not keep its promise '{promise}"):
        check_trainer(trainer("broken", label="Broken", paper="none")(cls))


# Broken in ways that look right at first


def init_alike(self, model, seed, v0=None):
    state = Skeleton.init(self, model, seed, v0)
    for chain in each(state):
        chain.generator = rng.generator(seed, "alike")
    return state


def draw_from_the_shared_generator(self, chain, n):
    np.random.random()  # noqa: NPY002
    return Skeleton._step(self, chain, n)


def step_without_the_last_hidden(self, chain, n):
    told = chain.rbm
    known = np.arange(told.n_hidden) < 32
    return step_as_if(self, chain, n, RBM(told.W * known, told.b, told.c))


def p_of_the_sample_before(self, chain, n):
    made = Skeleton._step(self, chain, n)
    before = getattr(chain, "p", np.full((1, len(chain.v)), 0.5, np.float32))
    chain.p = made.p[-1:].copy() if n else before
    return Samples(made.v, np.concatenate([before, made.p])[:n], made.info)


SUBTLE_SAMPLERS = {
    "all chains draw the same numbers": ("two chains make the same samples", {"init": init_alike}),
    "p is late": ("p is not the mean of the sample of its own row", {"_step": p_of_the_sample_before}),
    "it draws from the shared generator": ("shared generator", {"_step": draw_from_the_shared_generator}),
    "the last hidden units are lost": (
        "4 by 37 units, .* another law",
        {"_step": step_without_the_last_hidden},
    ),
}


@pytest.mark.parametrize("what", SUBTLE_SAMPLERS)
def test_nearly_right_sampler_is_refused(what, tables):
    why, changed = SUBTLE_SAMPLERS[what]
    cls = type("Nearly", (Skeleton,), {"__doc__": "Nearly right.", **changed})
    with pytest.raises(AssertionError, match=why):
        check_sampler(sampler("nearly", label="Nearly", paper="none")(cls))


SUBTLE_TRAINERS = {
    "two trainings share their chains": (
        "states share an array or a generator",
        {"init": init_shared_chains, "negative": negative_of_shared_chains},
    ),
}


@pytest.mark.parametrize("what", SUBTLE_TRAINERS)
def test_nearly_right_trainer_is_refused(what, tables):
    why, changed = SUBTLE_TRAINERS[what]
    cls = type("Nearly", (CD,), {"__doc__": "Nearly right.", **changed})
    with pytest.raises(AssertionError, match=why):
        check_trainer(trainer("nearly", label="Nearly", paper="none")(cls))


@dataclasses.dataclass
class Below:
    """An own state with a number that falls below 0."""

    number: float = 0.0


def init_below(self, rbm, data, seed):
    return training.start(self, rbm, data, seed, Below())


def negative_below(self, state, theta, data):
    state.own_state.number -= 1.5
    return CD.negative(self, state, theta, data)


def negative_after_a_warm_up(self, state, theta, data):
    k = self.k if state.update < self.warm_up else 2 * self.k
    return CD.negative(dataclasses.replace(self, k=k), state, theta, data)


@dataclasses.dataclass
class MeanStatistics:
    """An own state with the exponential mean of all statistics so far."""

    mean: Parameters | None = None


def init_with_mean_statistics(self, rbm, data, seed):
    state = CD.init(self, rbm, data, seed)
    state.own_state = MeanStatistics(zeros_like(state.theta))
    return state


def negative_with_memory(self, state, theta, data):
    own, found = state.own_state, CD.negative(self, state, theta, data)
    own.mean = Parameters(
        *(np.float32(0.9) * x + np.float32(0.1) * y for x, y in zip(own.mean, found, strict=True))
    )
    return Parameters(*(x.copy() for x in own.mean))


RIGHT_TRAINERS = {
    "statistics with a memory": {"init": init_with_mean_statistics, "negative": negative_with_memory},
    "a knob that acts at the first updates only": {
        "negative": negative_after_a_warm_up,
        **a_knob("warm_up", 1, 0, 1000, label="Warm-up", symbol="", help="Updates with fewer sweeps."),
    },
    "batches of 30 to 50": a_knob("batch_size", 40, 30, 50, label="Batch size", symbol="B", help="Rows."),
    "a number below 0 in its state": {"init": init_below, "negative": negative_below},
}


@pytest.mark.parametrize("what", RIGHT_TRAINERS)
def test_a_right_trainer_of_another_kind_keeps_the_contract(what, tables):
    cls = type("Right", (CD,), {"__doc__": "Right.", **RIGHT_TRAINERS[what]})
    check_trainer(trainer("right", label="Right", paper="none")(cls))


def test_a_base_with_knobs_has_to_be_a_dataclass(tables):
    base = type("Base", (), a_knob("width", 1.0, 0.1, 2.0, label="Width", help="A width."))
    with pytest.raises(TypeError, match=r"Hidden: its base Base has knobs \(width\), but only a dataclass"):
        sampler("hidden", label="Hidden", paper="none")(type("Hidden", (base,), {"__doc__": "Hidden."}))


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda: sample("bas_pcd", "gibs", 3), "Unknown sampler 'gibs': did you mean 'gibbs'"),
        (lambda: sample(3, "gibbs", 3), "is not a model: give a name, a file, a Model, an RBM"),
        (lambda: next(stream("bas_pcd", trainers["cd"])), "is not a sampler: give a name, or make"),
        (lambda: sample("bas_pcd", make_trainer("cd"), 3), "is not a sampler"),
        (lambda: train("bas", make_sampler("gibbs")), "is not a trainer: give a name, or make one"),
        (lambda: train("bas", "cde"), "Unknown trainer 'cde': did you mean 'cd'"),
        (lambda: make_sampler("gibbs", k=1.5), "gibbs: k = 1.5 is not a whole number"),
    ],
)
def test_wrong_arguments_are_refused(call, why):
    with pytest.raises(BadInput, match=re.escape(why)):
        call()


def test_what_is_checked_is_a_decorated_class():
    for given in ("gibbs", Skeleton()):
        with pytest.raises(AssertionError, match="give the class itself, not an instance or a name"):
            check_sampler(given)
    with pytest.raises(AssertionError, match=r"it is not decorated with rbmviz.registry.sampler"):
        check_sampler(type("Plain", (), {}))


def test_a_training_with_more_updates_than_asked_for_is_not_resumed():
    done = train("bas", make_trainer("cd"), iterations=50, every=50)
    next(done)
    with pytest.raises(BadInput, match=r"has made 50 updates already, more than iterations = 20"):
        train("bas", make_trainer("cd"), iterations=20, resume=done.checkpoint())


def test_each_promise_has_a_control():
    for promises, broken in ((SAMPLER_PROMISES, BROKEN_SAMPLERS), (TRAINER_PROMISES, BROKEN_TRAINERS)):
        assert all(any(name.startswith(key) for key in broken) for name in promises)
        assert len(promises) == len(broken)


def test_own_knobs_stand_before_those_that_all_trainers_share():
    shared = {field.name for field in dataclasses.fields(common_knobs.CommonKnobs)}
    for name in list_trainers():
        found = [knob in shared for knob in knobs_of(trainers[name])]
        assert found == sorted(found)
        assert sum(found) == len(shared)
