"""Updates that add rows to W, and sweeps that read it where it is: against numpy, and by their law."""

import copy

import numpy as np
import pytest
from naive import same_parameters

from rbmviz import RBM, make_trainer, rng
from rbmviz.rbm.parameters import FixedParameters, norm
from rbmviz.trainers import training

G = np.random.default_rng(0)
DATA = (G.random((200, 150)) < 0.2).astype(np.uint8)
START = RBM(G.normal(0, 0.2, (150, 70)), G.normal(-1, 0.3, 150), G.normal(0, 0.3, 70))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


RULES = {
    "plain": {},
    "momentum": {"momentum": 0.5},
    "decay": {"weight_decay": 0.1},
    "all": {"momentum": 0.9, "weight_decay": 0.01, "box": 0.6, "average": True, "schedule": "inverse_sqrt"},
}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", ["cd", "pcd", "fpcd", "pt"])
@pytest.mark.parametrize("chains", [20, 130])
def test_updates_are_those_of_numpy_given_their_samples(name, rule, chains):
    """With as many chains as examples, for which p - q is added, and with others."""
    knobs = {"eps": 0.0} if name == "fpcd" else {}
    trainer = make_trainer(name, batch_size=20, n_chains=chains, learning_rate=0.3, **RULES[rule], **knobs)
    state = trainer.init(START, DATA, 0)
    theta = [x.astype(np.float64) for x in state.theta]
    velocity, mean = ([0 * x for x in theta] for _ in range(2))
    for t in range(3):
        W, _, c = theta
        trainer.step(state, 1)
        v, w = state.batch.astype(np.float64), state.samples.astype(np.float64)
        p, q = sigmoid(c + v @ W), sigmoid(c + w @ W)
        n, k = len(v), len(w)
        gradient = v.T @ p / n - w.T @ q / k, v.mean(axis=0) - w.mean(axis=0), p.mean(axis=0) - q.mean(axis=0)
        assert state.gradient_norm == pytest.approx(norm(gradient), rel=1e-4)
        decay = trainer.weight_decay * W, 0, 0
        velocity = [trainer.momentum * u + g - d for u, g, d in zip(velocity, gradient, decay, strict=True)]
        rate = training.learning_rate_at(trainer, t)
        theta = [x + rate * u for x, u in zip(theta, velocity, strict=True)]
        if trainer.box:
            assert np.abs(theta[0]).max() > trainer.box
            theta = [np.clip(x, -trainer.box, trainer.box) for x in theta]
        mean = [x + (y - x) / (t + 1) for x, y in zip(mean, theta, strict=True)]
        found = [*state.theta, *(state.velocity or ()), *(state.mean or ())]
        want = [*theta, *(velocity if trainer.momentum else ()), *(mean if trainer.average else ())]
        for x, y in zip(found, want, strict=True):
            np.testing.assert_allclose(x, y, atol=3e-6)


@pytest.mark.parametrize(
    ("name", "knobs"),
    [
        *(("cd", {}), ("cd", {"k": 5}), ("pcd", {"n_chains": 20}), ("pcd", {"n_chains": 7, "k": 2})),
        *(("pop_cd", {}), ("pop_cd", {"k": 3})),
    ],
)
def test_many_updates_in_a_call_make_the_bits_of_single_ones(name, knobs):
    """As ``updates`` makes them; schedules, epochs and the norm of the last gradient are the same."""
    trainer = make_trainer(name, batch_size=20, learning_rate=0.3, schedule="linear", iterations=100, **knobs)
    one, other = (trainer.init(START, DATA, 5) for _ in range(2))
    for n in (1, 90):  # more than MOST_SWEEPS
        training.advance(trainer, one, n)
        for _ in training.updates(trainer, other, n):
            pass
        assert same_parameters(RBM(*one.theta), RBM(*other.theta))
        for part in ("batch", "samples", "sweeps", "update", "stream"):
            np.testing.assert_array_equal(getattr(one, part), getattr(other, part))
        assert one.gradient_norm == other.gradient_norm
        if name == "pop_cd":
            for part in ("v", "log_weights"):
                np.testing.assert_array_equal(getattr(one.own_state, part), getattr(other.own_state, part))
    assert trainer.sweeps_from


@pytest.mark.parametrize("beta", [1.0, 0.4])
def test_sweeps_have_their_law(beta):
    """Chi-square of the bits of both layers against their means, with a control that is 2 % off."""
    theta, stream = FixedParameters(START.W, START.b, START.c), rng.kernel_state(3, "chain")
    v, sums = DATA[:100].astype(np.float32), {"h": np.zeros((3, 70)), "v": np.zeros((3, 150))}
    for _ in range(400):
        of_h = sigmoid(beta * (START.c + v @ START.W))
        v = theta.sweep(v, stream, beta)
        h = theta.hidden(len(v))
        of_v = sigmoid(beta * (START.b + h @ START.W.T))
        for key, bits, mean in (("h", h, of_h), ("v", v, of_v)):
            sums[key] += [bits.sum(axis=0), mean.sum(axis=0), (mean * (1 - mean)).sum(axis=0)]
    for ones, mean, variance in sums.values():
        chi2, wrong = (((ones - shift * mean) ** 2 / variance).sum() for shift in (1, 1.02))
        assert abs(chi2 - len(ones)) < 4 * (2 * len(ones)) ** 0.5 < wrong - len(ones)
    np.testing.assert_allclose(theta.inputs(v)[:, :70], START.c + v @ START.W, atol=1e-4)


@pytest.mark.parametrize("name", ["cd", "pop_cd", "fpcd", "ucd"])
def test_copies_of_a_state_go_on_alike(name):
    """The parameters of a copy are no views of padded memory, and are padded anew."""
    trainer = make_trainer(name, batch_size=20, momentum=0.5)
    state = trainer.init(START, DATA, 0)
    trainer.step(state, 3)
    copied = copy.deepcopy(state)
    assert same_parameters(trainer.step(copied, 3).rbm, trainer.step(state, 3).rbm)


def test_values_between_0_and_1_are_multiplied_as_they_are():
    """Of the examples, as scikit-learn has them: the positive statistics are of the values themselves."""
    trainer = make_trainer("pcd", n_chains=20, learning_rate=0.5)
    state, batch = trainer.init(START, DATA, 0), G.random((20, 150)).astype(np.float32)
    found = training.gradient(trainer, state, batch)
    p, q = START.mean_hidden(batch), START.mean_hidden(state.samples)
    want = (batch.T @ p - state.samples.T @ q) / 20
    np.testing.assert_allclose(found.W, want, atol=1e-5)
    state.batches.rows = lambda order: batch
    state.own_state = state.samples
    for _ in training.updates(trainer, state, 1):
        pass
    q = START.mean_hidden(state.samples)
    want = START.W + 0.5 * (batch.T @ p - state.samples.T @ q) / 20
    np.testing.assert_allclose(state.theta.W, want, atol=1e-5)
