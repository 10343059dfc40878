"""Arguments of the public functions: invalid ones are refused with one sentence, without crash or hang."""

import dataclasses
import itertools
import re

import numpy as np
import pytest

import rbmviz
from rbmviz import RBM, BadInput, list_samplers, list_trainers, make_sampler, make_trainer, metrics, rng
from rbmviz.gradient import gradient_quality
from rbmviz.knobs import knobs_of
from rbmviz.rbm import Statistics
from rbmviz.session import RunLog, replay

HUGE = 10**5000  # more digits than Python will write
NAN, INF = float("nan"), float("inf")
NO_BITS = {
    "an object": np.full((3, 5), object()),
    "texts": np.full((3, 5), "1"),
    "complex": np.ones((3, 5), complex),
    "ragged": [[0, 1], [0]],
    "NaN": np.full((3, 5), NAN),
    "two": np.full((3, 5), 2),
    "negative": np.full((3, 5), -1),
    "wide": np.zeros((3, 6), np.uint8),
    "deep": np.zeros((3, 5, 1, 1), np.uint8),
    "empty": np.zeros((0, 5), np.uint8),
    "none": None,
    "a number": 1,
    "a text": "00101",
}
NO_NUMBER = [None, "3", [3], {}, 1j, NAN, INF, -INF, -HUGE, HUGE, -1, 1.5, np.float64(NAN), object(), True]
NO_SEED = [None, "3", 1.0, -1, NAN, 2**200, HUGE, [1], {}, True, b"x"]


def short(value) -> str:
    if type(value) is int and abs(value) > 2**300:
        return "huge"
    return re.sub(r" at 0x[0-9a-f]+", "", str(value))[:40]  # addresses are others in each process


def refused(function, *args, **more) -> str:
    def call() -> None:
        made = function(*args, **more)
        if hasattr(made, "__next__"):
            next(made)

    with pytest.raises(BadInput) as raised:
        call()
    text = str(raised.value)
    assert "\n" not in text
    assert len(text) < 400
    return text


ALGORITHMS = [("sampler", name) for name in list_samplers()] + [("trainer", name) for name in list_trainers()]


@pytest.mark.parametrize(("kind", "name"), ALGORITHMS)
def test_no_knob_takes_what_is_no_value(kind, name):
    make = make_sampler if kind == "sampler" else make_trainer
    for knob in knobs_of(make(name)).values():
        for value in [None, [], {}, 1j, NAN, INF, -HUGE, HUGE, np.float64(NAN), object(), b"1", "no such"]:
            refused(make, name, **{knob.name: value})
            refused(dataclasses.replace, make(name), **{knob.name: value})
        for text in ["nan", "inf", "1e999", "9" * 9000, "", "x" * 9000, "1j", "\0"]:
            refused(knob.parse, text, name)
        if knob.kind in (int, float):
            for number in (np.float32, np.float64, np.int64):
                if knob.lo <= 1 <= knob.hi:
                    assert type(knob.check(number(1), name)) is knob.kind


@pytest.mark.parametrize("seed", NO_SEED, ids=short)
def test_invalid_seeds_are_refused(seed, model):
    refused(rng.seed_sequence, seed)
    refused(rbmviz.sample, model, make_sampler("gibbs"), 3, seed)
    refused(rbmviz.couple, model.rbm, np.zeros((2, 5), np.uint8), seed=seed)


@pytest.mark.parametrize("rows", NO_BITS.values(), ids=NO_BITS)
def test_non_binary_rows_are_refused(rows, model, toy):
    rbm, some = model.rbm, toy.test
    refused(rbmviz.couple, rbm, rows)
    refused(rbmviz.pop_weights, rbm, rows)
    refused(rbm.rates, rows)
    refused(metrics.log_likelihood, rbm, rows)
    refused(metrics.isl, [[0] * 6] if rows is NO_BITS["empty"] else rows, some)
    refused(metrics.isl, some, rows)
    estimator = type("Fitted", (), {"components_": rbm.W.T, "intercept_visible_": rbm.b})
    estimator.intercept_hidden_ = rbm.c
    if rows is not None:  # which is nothing, and may be
        refused(rbmviz.from_sklearn, estimator, rows)
        refused(metrics.ais_log_z, rbm, rows)
        for name in list_samplers():
            refused(make_sampler(name, n_chains=3).init, model, 0, rows)
        refused(next, rbmviz.stream(model, make_sampler("gibbs"), v0=rows))
    if rows is not NO_BITS["wide"]:
        refused(rbmviz.train, rows, make_trainer("cd"))
        refused(metrics.start_law, rows)


@pytest.mark.parametrize("n", NO_NUMBER, ids=short)
def test_malformed_numbers_are_refused(n, model, toy):
    rbm, v0, gibbs = model.rbm, np.zeros((2, 5), np.uint8), make_sampler("gibbs")
    refused(rbmviz.sample, model, gibbs, n)
    refused(rbmviz.stream, model, gibbs, chunk=n)
    for name in ("lag", "k", "max_sweeps"):
        refused(rbmviz.couple, rbm, v0, **{name: n})
    refused(rbmviz.pop_weights, rbm, v0, n)
    refused(metrics.ais_log_z, rbm, n_chains=n)
    refused(metrics.ais_log_z, rbm, betas=n)
    refused(metrics.ISL(toy.test).curve, toy.test, [n])
    for name in ("n_hidden", "iterations", "every"):
        if n is not None or name == "iterations":  # None of the others is their default
            refused(rbmviz.train, toy, make_trainer("cd"), **{name: n})
    refused(gradient_quality, rbm, v0, "cd", n)
    refused(gradient_quality, rbm, v0, "cd", burn_in=n)
    if n is not None:
        refused(metrics.isl, toy.train, toy.test, beta=n)
        refused(metrics.Coverage, toy, n)


@pytest.mark.parametrize(
    "bad",
    [None, "x", 1j, NAN, INF, HUGE, 1e300, [], [[1], [1, 2]], object(), np.full((5, 3), "1")],
    ids=short,
)
def test_malformed_parameters_are_refused(bad):
    good = {"W": np.zeros((5, 3)), "b": np.zeros(5), "c": np.zeros(3)}
    for kind, name in itertools.product((RBM, Statistics), good):
        refused(kind, **{**good, name: bad})
        if np.ndim(bad if not isinstance(bad, list) else [1]) == 0:
            refused(kind, **{**good, name: np.full(good[name].shape, bad, object)})


def test_requests_beyond_memory_are_refused(model, toy):
    assert "GB" in refused(rbmviz.sample, model, make_sampler("gibbs"), 2**50)
    assert "GB" in refused(rbmviz.stream, model, make_sampler("gibbs"), chunk=2**50)
    assert "GB" in refused(rbmviz.train, toy, make_trainer("cd"), n_hidden=2**40)
    assert "100,000,000" in refused(metrics.ais_log_z, model.rbm, betas=2**50)


def test_a_warm_start_is_an_rbm(model, toy):
    refused(rbmviz.train, toy, make_trainer("cd"), n_hidden=7, warm_start=model)
    for bad in ("mnist", 3, [model.rbm], RBM(np.zeros((4, 3)), np.zeros(4), np.zeros(3))):
        refused(rbmviz.train, toy, make_trainer("cd"), warm_start=bad)


KNOBS = {"eps": 0.03, "alpha": 1.0, "k": 1, "statistics": "sampled", "n_chains": 1, "share": False}


WRONG_CHANGES = [
    *((), (0,), (None,), ("ab",), ((1, KNOBS),), ((0, {3: 1}),), ((0, None),)),
    *(((0, KNOBS), (n, KNOBS)) for n in (0, -3, 2.5, NAN)),
    ((0, KNOBS), (7, KNOBS), (3, KNOBS)),
    *(((0, KNOBS), (3, KNOBS | more)) for more in ({"n_chains": 2}, {"share": True}, {"eps": NAN}, {"x": 1})),
]


@pytest.mark.parametrize(
    "wrong",
    [
        *({"sampler": sampler} for sampler in ("nobody", None, ["gibbs"])),
        *({"seed": seed} for seed in (-1, "x", 1.5, None, 10**50)),
        *({"start": start} for start in NO_BITS.values() if start is not None),
        *({"changes": changes} for changes in WRONG_CHANGES),
    ],
    ids=short,
)
def test_malformed_replay_record_is_refused(wrong, model):
    right = {"sampler": "rates_fpcd", "seed": 0, "start": None}
    right["changes"] = ((0, KNOBS), (3, KNOBS | {"eps": 0.1}))
    for n in (2, 7):  # before the last change of knobs, and after it
        assert sum(len(made.v) for made in replay(RunLog(**right), model, n)) == n
    refused(lambda: list(replay(RunLog(**(right | wrong)), model, 7)))


def test_a_log_of_too_many_chains_is_refused_before_they_are_made(model, monkeypatch):
    monkeypatch.setenv("RBMVIZ_MEMORY_MB", "10")
    record = RunLog("rates_fpcd", 0, None, ((0, KNOBS | {"n_chains": 1000}),))
    assert "GB" in refused(lambda: list(replay(record, model, 3)))


def test_rows_of_other_types_are_read_as_bits(model, toy):
    """Whole numbers, floats and bools of 0 and 1 give what uint8 gives."""
    rbm, v = model.rbm, toy.test
    want = [rbmviz.couple(rbm, v, seed=1).tau, metrics.log_likelihood(rbm, v), rbm.rates(v).W]
    for dtype in (bool, np.int64, np.float32, np.float64):
        other = np.asfortranarray(v.astype(dtype))
        got = [rbmviz.couple(rbm, other, seed=1).tau, metrics.log_likelihood(rbm, other), rbm.rates(other).W]
        for a, b in zip(want, got, strict=True):
            np.testing.assert_array_equal(a, b)


def test_rows_of_another_width_are_refused(rbm):
    for ask, wrong in itertools.product(
        (rbm.free_energy, rbm.mean_hidden, rbm.mean_visible),
        (np.zeros((4, 7)), np.zeros(7), np.float64(1.0), "bits"),
    ):
        with pytest.raises(BadInput):
            ask(wrong)
    for name in list_trainers():
        with pytest.raises(BadInput, match="9 columns and the model 5 visible"):
            make_trainer(name, batch_size=5).init(rbm, np.eye(9, dtype=np.uint8), 0)


def test_no_samples_have_no_score_of_whatever_type_they_are(toy):
    for dtype in (np.uint8, bool, np.float64):
        assert "no samples" in refused(metrics.isl, np.zeros((0, 5), dtype), toy.test, toy.validation)


def test_wrong_models_and_data_are_refused(rbm, toy):
    for wrong in (None, 5, [1], "bas_pcd"):
        refused(rbmviz.Model, wrong)
        if wrong != "bas_pcd":
            refused(rbmviz.load_model, wrong)
            refused(rbmviz.from_arrays, {"W": rbm.W, "b": rbm.b, "c": rbm.c}, wrong or 5)
    for wrong in (None, [[0, 2]], "bits"):
        assert "x: train" in refused(rbmviz.Dataset, "x", wrong, toy.validation, toy.test, "", "")
        assert "x: validation" in refused(rbmviz.Dataset, "x", toy.train, wrong, toy.test, "", "")
