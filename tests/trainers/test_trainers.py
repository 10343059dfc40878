"""Trainers against exact gradients, against each other, and against the common contract."""

import dataclasses

import numpy as np
import pytest
from naive import same_parameters
from threadpoolctl import threadpool_info, threadpool_limits

from rbmviz import RBM, BadInput, make_trainer, pop_weights, rng, train
from rbmviz.metrics import log_z, model_statistics
from rbmviz.rbm.parameters import FixedParameters, Parameters
from rbmviz.trainers import STATS, batches, initial_rbm, list_trainers, training
from rbmviz.trainers.batches import Batches
from rbmviz.trainers.herding import climb

NAMES = list_trainers()


@pytest.fixture(scope="module")
def bits():
    """60 rows, 6 wide, with structure: the second half repeats the first."""
    half = np.random.default_rng(0).integers(0, 2, (60, 3), dtype=np.uint8)
    return np.hstack([half, half])


@pytest.fixture(scope="module")
def start():
    g = np.random.default_rng(1)
    return RBM(g.normal(0, 0.6, (6, 4)), g.normal(0, 0.3, 6), g.normal(0, 0.3, 4))


def test_the_start_has_the_scale_and_the_law_of_the_knobs(bits):
    """Without a knob it is as before: N(0, 0.01^2), log odds, 0; every law has its spread."""
    usual, odds = initial_rbm(bits, 400, 3), np.clip(bits.mean(axis=0), 0.001, 0.999)
    np.testing.assert_array_equal(usual.W, initial_rbm(bits, 400, 3, make_trainer("cd")).W)
    W = rng.generator(3, "init").normal(0, 0.01, usual.W.shape).astype(np.float32)
    np.testing.assert_array_equal(usual.W, W)
    np.testing.assert_allclose(usual.b, np.log(odds / (1 - odds)), rtol=1e-6)
    knobs = {"initial_scale": 0.2, "initial_biases": "random"}
    normal = initial_rbm(bits, 400, 3, make_trainer("cd", **knobs))
    uniform = initial_rbm(bits, 400, 3, make_trainer("cd", initial_law="uniform", **knobs))
    for found, spread in ((normal, 0.2), (uniform, 0.2 / 3**0.5)):
        assert found.W.std() == pytest.approx(spread, rel=0.05)
        assert found.c.std() == pytest.approx(spread, rel=0.15)
        assert (found.b != 0).all()
    assert np.abs(uniform.W).max() <= 0.2 < np.abs(normal.W).max()
    zero = initial_rbm(bits, 4, 3, make_trainer("cd", initial_scale=0.0, initial_biases="zero"))
    assert [x.any() for x in (zero.W, zero.b, zero.c)] == [False] * 3
    # A training begins there, and a warm start does not.
    trainer = make_trainer("cd", learning_rate=1e-6, **knobs)
    first = next(train(bits, trainer, 400, 10, 3, every=1)).rbm
    np.testing.assert_allclose(first.W, normal.W, atol=1e-5)
    warm = next(train(bits, trainer, 400, 10, 3, warm_start=usual, every=1)).rbm
    np.testing.assert_allclose(warm.W, usual.W, atol=1e-5)


def test_the_variance_of_a_chain_is_that_of_its_statistics():
    """Against all numbers of f = (v E[h|v]', v, E[h|v]), written out; with weights by the delta method."""
    g = np.random.default_rng(0)
    v, h = g.integers(0, 2, (50, 6)).astype(np.float32), g.random((50, 4)).astype(np.float32)
    f = {"variance_W": np.einsum("ni,nj->nij", v, h).reshape(50, -1), "variance_b": v, "variance_c": h}
    found = batches.variances(v, h)
    for name, x in f.items():
        assert found[name] == pytest.approx(x.var(axis=0, ddof=1).sum(), rel=1e-5)
    w = g.random(50)
    weighted = batches.variances(v, h, w)
    w /= w.sum()
    for name, x in f.items():
        squares = ((x - w @ x) ** 2).sum(axis=1)
        assert weighted[name] == pytest.approx(50 * 50 / 49 * (w**2 @ squares), rel=1e-5)
    assert np.isnan(batches.variances(v[:1], h[:1])["variance_W"])


def run(trainer, data, n, seed=0, cut=None):
    state = trainer.init(initial_rbm(data, 4, seed), data, seed)
    for step in cut or [n]:
        progress = trainer.step(state, step)
    return progress


@pytest.mark.parametrize(
    "knobs", [{}, {"momentum": 0.5, "weight_decay": 0.01, "k": 2, "schedule": "inverse_sqrt"}]
)
def test_fpcd_without_fast_weights_is_pcd_bit_for_bit(bits, knobs):
    pcd = run(make_trainer("pcd", **knobs), bits, 50).rbm
    assert same_parameters(run(make_trainer("fpcd", eps=0.0, **knobs), bits, 50).rbm, pcd)
    assert not same_parameters(run(make_trainer("fpcd", eps=0.1, **knobs), bits, 50).rbm, pcd)


def test_pt_with_one_temperature_is_pcd_bit_for_bit(bits):
    pcd = run(make_trainer("pcd"), bits, 50).rbm
    assert same_parameters(run(make_trainer("pt", n_temperatures=1), bits, 50).rbm, pcd)
    assert not same_parameters(run(make_trainer("pt", n_temperatures=3), bits, 50).rbm, pcd)


def test_chains_of_pcd_may_start_at_training_examples(bits):
    at_data, at_bits = (
        make_trainer("pcd", start=start).init(initial_rbm(bits, 4, 0), bits, 0).own_state
        for start in ("data", "random")
    )
    rows = {tuple(row) for row in bits}
    assert {tuple(row) for row in at_data} <= rows
    assert len(np.unique(at_data, axis=0)) > 3
    assert not {tuple(row) for row in at_bits} <= rows


def test_pairs_of_ucd_may_start_at_the_mini_batch(bits, monkeypatch):
    """Row by row, and again from the first; else at random examples."""
    from rbmviz.trainers import ucd

    starts, run_all_pairs = [], ucd.run_all_pairs

    def kept(rbm, v0, *others):
        starts.append(v0)
        return run_all_pairs(rbm, v0, *others)

    monkeypatch.setattr(ucd, "run_all_pairs", kept)
    for start in ("batch", "data"):
        trainer = make_trainer("ucd", start=start, n_chains=25, batch_size=10)
        state = trainer.init(initial_rbm(bits, 4, 0), bits, 0)
        trainer.step(state, 1)
        assert (starts.pop(0) == np.resize(state.batch, (25, 6))).all() == (start == "batch")
        starts.clear()


def test_every_rung_has_its_own_law(start, bits):
    """Mean of v at each inverse temperature, with swaps, against enumeration of p^beta."""
    trainer = make_trainer("pt", n_temperatures=3, n_chains=500, learning_rate=1e-6)
    state = trainer.init(start, bits, 0)
    trainer.step(state, 50)
    means = []
    for _ in range(100):
        trainer.step(state, 2)
        means.append(state.own_state.v.mean(axis=1))
    means, error = np.mean(means, axis=0), np.std(means, axis=0) / np.sqrt(30)  # neighbours in time are alike
    for rung, beta in enumerate(trainer.betas):
        want = model_statistics(RBM(beta * start.W, beta * start.b, beta * start.c)).b
        assert (np.abs(means[rung] - want) / error[rung]).max() < 5
    assert np.abs(means[0] - means[2]).max() > 0.02


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("proposal", ["visible", "joint", "mixture"])
def test_the_mean_weight_is_z(start, proposal, k):
    """For any start, any k and every proposal (population CD, eq. 5); groups of 7 do not divide the batch."""
    v0 = np.tile(np.array([1, 0, 1, 1, 0, 0], np.uint8), (40_001, 1))
    found = pop_weights(start, v0, k, seed=1, proposal=proposal, mixture=7)
    ratio = np.exp(found.log_weights - log_z(start))
    blocks = ratio[:40_000].reshape(400, 100).mean(axis=1)
    assert abs(blocks.mean() - 1) < 5 * blocks.std() / np.sqrt(400)
    assert blocks.std() > 0
    assert found.log_z_estimate == pytest.approx(np.log(ratio.mean()) + log_z(start))
    assert 1 <= found.ess <= 40_001
    assert found.weights.sum() == pytest.approx(1)


def test_weights_are_the_ratios_written_out(start):
    v0 = np.random.default_rng(0).integers(0, 2, (9, 6), dtype=np.uint8)
    found = pop_weights(start, v0, 1, seed=2)
    # h is not returned: it is the one of 16 that gives the weight.
    for v, log_weight in zip(found.v, found.log_weights, strict=True):
        hs = np.array(list(np.ndindex(2, 2, 2, 2)))
        p = start.mean_visible(hs)
        log_q = np.log(np.where(v == 1, p, 1 - p)).sum(axis=1)
        assert np.abs(-start.free_energy(v) - log_q - log_weight).min() < 1e-5
    leave = found.leave_one_out()
    w = np.exp(found.log_weights)
    want = [8 / 9 * w[i] / (w.sum() - w[i]) for i in range(9)]
    np.testing.assert_allclose(leave, want, rtol=1e-9)


def test_one_sample_has_no_others(start, bits):
    trainer = make_trainer("pop_cd", leave_one_out=True, n_chains=1)
    state = trainer.init(start, bits, 0)
    assert trainer.step(state, 0).update == 0
    with pytest.raises(BadInput, match="One sample has no others: turn off leave_one_out"):
        trainer.step(state, 1)
    assert dataclasses.replace(trainer, n_chains=2).step(state, 1).update == 1


def test_climbs_end_where_nothing_changes(start):
    theta = FixedParameters(start.W, start.b, start.c)
    v0 = np.random.default_rng(2).integers(0, 2, (40, 6)).astype(np.float32)
    v, h, sweeps = climb(theta, v0, 50)
    assert 1 < sweeps < 50
    np.testing.assert_array_equal(v, h @ start.W.T + start.b > 0)
    np.testing.assert_array_equal(h, v @ start.W + start.c > 0)
    assert climb(theta, v0, 1)[2] == 1


def test_herding_matches_moments_and_never_rests(bits):
    trainer = make_trainer("herding", batch_size=60, n_chains=60)
    state = trainer.init(initial_rbm(bits, 4, 0), bits, 0)
    early, late = trainer.step(state, 20), trainer.step(state, 1980)
    assert late.stats["moment_error"] < early.stats["moment_error"] / 10
    assert late.stats["moment_error"] < 0.02
    assert np.abs(trainer.step(state, 20).rbm.W - late.rbm.W).max() > 0.01


def test_rules():
    theta = Parameters(np.ones((1, 1), np.float32), np.zeros(1, np.float32), np.zeros(1, np.float32))
    trainer = make_trainer("cd", learning_rate=1.0, schedule="linear", iterations=4, momentum=0.25)
    trainer = dataclasses.replace(trainer, weight_decay=0.5)
    state = trainer.init(RBM(*theta), np.array([[0], [1]], np.uint8), 0)
    one = [Parameters(*(np.ones_like(x) for x in theta)) for _ in range(3)]
    assert [training.learning_rate_at(trainer, t) for t in range(6)] == [1, 0.75, 0.5, 0.25, 0, 0]
    training.apply(trainer, state, one[0])
    assert (state.theta.W[0, 0], state.theta.b[0]) == (1 + (1 - 0.5), 1)
    training.apply(trainer, state, one[1])
    W = 1.5 + 0.75 * (0.25 * 0.5 + (1 - 0.5 * 1.5))
    assert (state.theta.W[0, 0], state.theta.b[0]) == (W, 1 + 0.75 * 1.25)
    # Live: what the knobs say now; momentum that was switched off has forgotten.
    for momentum in (0.0, 0.25):
        now = dataclasses.replace(trainer, schedule="constant", momentum=momentum, weight_decay=0.0)
        before = state.theta.b[0]
        training.apply(now, state, Parameters(*(np.ones_like(x) for x in theta)))
        assert state.theta.b[0] == before + 1
    training.apply(now, state, one[2])
    assert state.theta.b[0] == before + 1 + 1.25
    assert training.learning_rate_at(dataclasses.replace(trainer, schedule="inverse_sqrt"), 3) == 0.5


@pytest.mark.parametrize("name", NAMES)
def test_statistics(name, bits):
    trainer = make_trainer(name, learning_rate=0.1, schedule="constant", batch_size=60)
    state = trainer.init(initial_rbm(bits, 4, 0), bits, 0)
    nothing = trainer.step(state, 0)
    assert (nothing.update, nothing.per_chain) == (0, {})
    assert np.isnan(nothing.stats["reconstruction"])
    progress = trainer.step(state, 9)
    assert list(progress.stats) == list(nothing.stats)
    assert set(progress.stats) == {*STATS, *type(trainer).own_stats}
    assert all(type(x) is float for x in progress.stats.values())
    rbm = progress.rbm
    want = np.abs(state.batch - rbm.mean_visible(rbm.mean_hidden(state.batch))).mean()
    assert progress.stats["reconstruction"] == pytest.approx(want, rel=1e-5)
    if name in ("exact", "ucd"):
        assert np.isnan(progress.stats["free_energy_gap"])
    else:
        want = rbm.free_energy(state.batch).mean() - rbm.free_energy(state.samples).mean()
        assert progress.stats["free_energy_gap"] == pytest.approx(want, abs=1e-5)
    many = {"ucd": {"Meeting times (sweeps)": (100,)}, "pop_cd": {"Log weights (nats)": (60,)}}
    assert {label: x.shape for label, x in progress.per_chain.items()} == many.get(name, {})


def test_the_average_is_the_mean_of_the_iterates(bits):
    """Paper UCD, algorithm 2, line 7; training goes on from the iterate."""
    plain = make_trainer("ucd", batch_size=20)
    averaged = dataclasses.replace(plain, average=True)
    start = initial_rbm(bits, 4, 0)
    states = [plain.init(start, bits, 0) for _ in range(2)]
    iterates = []
    for _ in range(12):
        iterates.append(plain.step(states[0], 1).rbm)
        found = averaged.step(states[1], 1)
    for name in "Wbc":
        want = np.mean([getattr(rbm, name) for rbm in iterates], axis=0)
        np.testing.assert_allclose(getattr(found.rbm, name), want, atol=1e-6)
    assert same_parameters(RBM(*states[1].theta), iterates[-1])
    assert same_parameters(plain.step(states[1], 0).rbm, found.rbm)  # switched off: from the next update on
    assert same_parameters(plain.step(states[1], 1).rbm, plain.step(states[0], 1).rbm)
    last = plain.step(states[0], 1).rbm
    assert same_parameters(averaged.step(states[1], 1).rbm, last)  # and a new mean begins


def test_the_box_holds(bits):
    """Paper UCD, algorithm 2, line 5."""
    rbm = RBM(np.random.default_rng(0).normal(0, 0.3, (6, 4)), np.zeros(6), np.zeros(4))
    free = make_trainer("pcd", learning_rate=0.5, schedule="constant")
    boxed = dataclasses.replace(free, box=0.25)
    (a, b), state = (t.step(t.init(rbm, bits, 0), 1).rbm for t in (free, boxed)), boxed.init(rbm, bits, 0)
    assert np.abs(a.W).max() > 0.25
    for name in "Wbc":
        np.testing.assert_array_equal(np.clip(getattr(a, name), -0.25, 0.25), getattr(b, name))
    for _ in range(20):
        assert np.abs(boxed.step(state, 5).rbm.W).max() <= 0.25
    assert same_parameters(run(dataclasses.replace(free, box=100.0), bits, 30).rbm, run(free, bits, 30).rbm)


def test_truncated_pairs_are_reported(bits):
    strong = RBM(np.random.default_rng(0).normal(0, 4, (6, 4)), np.zeros(6), np.zeros(4))
    trainer = make_trainer("ucd", t_max=2)
    told = trainer.step(trainer.init(strong, bits, 0), 1)
    assert told.stats["truncated"] > 0.1
    assert f"{told.stats['truncated']:.0%} of the pairs had not met after t_max = 2 sweeps" in told.warning
    assert run(trainer, bits, 1).warning == ""


def test_train_resumes_what_it_was(bits):
    trainer = make_trainer("fpcd", learning_rate=0.1, schedule="linear")
    options = {"n_hidden": 4, "iterations": 30, "seed": 3, "every": 6}
    *_, want = train(bits, trainer, **options)
    begun = train(bits, trainer, **options)
    assert [next(begun).update for _ in range(2)] == [6, 12]
    content = begun.checkpoint()
    *_, got = train(bits, trainer, **options, resume=content)
    assert same_parameters(got.rbm, want.rbm)
    others = [
        ("learning_rate = 0.1, not 0.2", {"trainer": dataclasses.replace(trainer, learning_rate=0.2)}),
        ("trainer = fpcd, not pcd", {"trainer": make_trainer("pcd")}),
        ("seed = 3, not 4", {"seed": 4}),
        ("n_hidden = 4, not 5", {"n_hidden": 5}),
        ("iterations = 30, not 40", {"iterations": 40}),
        ("other training data", {"dataset": 1 - bits}),
        ("is damaged", {"resume": content[:-9] + b"x" + content[-8:]}),
        ("not a checkpoint", {"resume": b"x" + content}),
    ]
    for message, other in others:
        with pytest.raises(BadInput, match=message):
            train(**{"dataset": bits, "trainer": trainer, **options, "resume": content, **other})
    # More updates, where they do not change the earlier ones.
    constant = dataclasses.replace(trainer, schedule="constant")
    short = train(bits, constant, **options)
    assert len(list(short)) == 5
    options["iterations"] = 48
    *_, longer = train(bits, constant, **options, resume=short.checkpoint())
    *_, want = train(bits, constant, **options)
    assert same_parameters(longer.rbm, want.rbm)


def test_batches_are_whole_epochs():
    data = np.arange(10, dtype=np.uint8)[:, None]
    batches = Batches(data, rng.generator(0, "data"))
    drawn = np.concatenate([batches.next(4).ravel() for _ in range(5)])
    assert sorted(drawn[:10]) == sorted(drawn[10:]) == list(range(10))
    assert (drawn[:10] != drawn[10:]).any()
    assert len(batches.next(0)) == 10
    assert len(Batches(np.tile(data, (11, 1)), rng.generator(0, "data")).next(0)) == 100
    with pytest.raises(BadInput, match="batch_size = 11 is more than the 10 rows"):
        batches.next(11)


@pytest.mark.parametrize(
    ("name", "knobs", "sweeps"),
    [
        ("exact", {}, 0),
        ("cd", {"k": 2, "batch_size": 10}, 2 * 10),
        ("pop_cd", {"k": 3, "n_chains": 7}, 3 * 7),
        ("pcd", {"n_chains": 5}, 5),
        ("fpcd", {"n_chains": 5, "k": 2}, 2 * 5),
        ("pt", {"n_chains": 5, "n_temperatures": 4}, 4 * 5),
        ("herding", {"n_chains": 5, "max_sweeps": 1}, 5),
    ],
)
def test_sweeps_of_all_chains_are_counted(bits, name, knobs, sweeps):
    trainer = make_trainer(name, **knobs)
    state = trainer.init(initial_rbm(bits, 4, 0), bits, 0)
    trainer.step(state, 3)
    assert trainer.step(state, 1).sweeps == 4 * sweeps


def test_sweeps_of_pairs_are_counted(bits, start):
    trainer = make_trainer("ucd", n_chains=40, t_max=3, k=3)
    state = trainer.init(start, bits, 0)
    sweeps = trainer.step(state, 1).sweeps
    early = int((state.own_state.tau == 2).sum())
    assert 0 < early < 40
    # The second chain is one sweep behind. A pair that has met at sweep 2 goes on to sweep 3 as one chain.
    assert sweeps == 4 * early + 5 * (40 - early)


@pytest.mark.parametrize("name", ["cd", "pop_cd"])
def test_chains_that_start_at_examples_of_their_own(start, bits, name):
    """Their law, before pop-CD's weights, is a sweep from the whole training set, not from the mini-batch."""
    start = RBM(4 * start.W, start.b, start.c)
    trainer = make_trainer(name, n_chains=10_000, batch_size=1)
    state = trainer.init(start, bits, 0)
    training.gradient(trainer, state, bits[:1])
    assert state.samples.shape == (10_000, 6)
    h = np.array(list(np.ndindex(2, 2, 2, 2)))
    up = start.mean_hidden(bits)[:, None]
    p_h = np.prod(np.where(h == 1, up, 1 - up), axis=2)
    want = (p_h @ start.mean_visible(h)).mean(axis=0)
    assert np.abs(state.samples.mean(axis=0) - want).max() < 5 * 0.5 / np.sqrt(10_000)
    assert np.abs(p_h[0] @ start.mean_visible(h) - want).max() > 0.1


def test_blas_threads_change_nothing(monkeypatch):
    """Sums over 500 hidden units come out in another order on several threads, if they are let."""
    data = np.random.default_rng(0).integers(0, 2, (200, 784), dtype=np.uint8)
    trainer, found = make_trainer("fpcd", iterations=5), []
    monkeypatch.setattr("rbmviz.support.blas._holders", 0)  # what other tests hold for good is put aside
    for threads in (1, 4):
        with threadpool_limits(limits=threads, user_api="blas"):
            found.append(trainer.step(trainer.init(initial_rbm(data, 500, 0), data, 0), 5).rbm)
            blas = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
        assert set(blas) == {threads}  # what the caller had is put back
    assert same_parameters(*found)


def test_a_warm_start_has_hidden_units_of_its_own(bits):
    warm = RBM(np.zeros((bits.shape[1], 3)), np.zeros(bits.shape[1]), np.zeros(3))
    options = {"iterations": 4, "seed": 1, "warm_start": warm, "every": 2}
    *_, whole = train(bits, make_trainer("cd"), **options)
    begun = train(bits, make_trainer("cd"), **options)
    next(begun)
    *_, resumed = train(bits, make_trainer("cd"), **options, resume=begun.checkpoint())
    assert resumed.rbm.n_hidden == 3
    assert same_parameters(resumed.rbm, whole.rbm)


def test_bad_input(bits):
    with pytest.raises(BadInput, match="iterations = 0 is not valid"):
        next(train(bits, make_trainer("cd"), iterations=0))
    with pytest.raises(BadInput, match="training data: the shape is"):
        make_trainer("cd").init(initial_rbm(bits, 3, 0), bits[:0], 0)
    with pytest.raises(BadInput, match="batch_size = 61 is more than the 60 rows"):
        train(bits, make_trainer("cd", batch_size=61))
    with pytest.raises(BadInput, match="no training example differs from another"):
        train(bits[[0] * 60], make_trainer("cd"))
