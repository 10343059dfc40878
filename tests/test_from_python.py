"""The short way in Python: names, arrays and frames for objects; ``fit``; what records say of themselves."""

import inspect
import pickle
import re
import struct
import zlib
from base64 import b64decode

import numpy as np
import pandas
import pytest
from naive import same_parameters

import rbmviz
from rbmviz import BadInput, Dataset, metrics
from rbmviz.cli import main
from rbmviz.datasets import dataset_bytes
from rbmviz.errors import DoubtfulResult
from rbmviz.gradient import gradient_quality
from rbmviz.support.notebook import grey_png, mosaic
from rbmviz.trainers import train

BARS = rbmviz.load_dataset("bas@3")


def test_fit_is_a_training_to_its_end_with_rates_and_history():
    seen = []
    options = {"n_hidden": 6, "iterations": 40, "seed": 3, "every": 10}
    model = rbmviz.fit(BARS, "cd:k=2", **options, momentum=0.5, callback=seen.append, progress_bar=False)
    steps = train(BARS, rbmviz.make_trainer("cd", k=2, momentum=0.5), **options)
    assert len(steps) == 4
    *_, last = steps
    assert same_parameters(model.rbm, last.rbm)
    assert len(steps) == 0
    assert same_parameters(model.rbm, steps.model.rbm)
    assert same_parameters(model.rates, last.rbm.rates(BARS.train))
    assert [progress.update for progress in seen] == [10, 20, 30, 40] == list(model.history["update"])
    assert list(model.history["weight_norm"]) == [progress.stats["weight_norm"] for progress in seen]
    assert (model.meta["trainer"], model.meta["updates"], model.meta["dataset"]) == ("cd", 40, "bas@3")
    frame = model.history_frame()
    assert list(frame.columns) == list(model.history)
    assert rbmviz.sample(model, "rates_fpcd", 5).v.shape == (5, 9)


def test_a_callback_or_a_time_budget_ends_a_fit_with_the_model_so_far():
    stopped = rbmviz.fit(BARS, iterations=100, every=1, callback=lambda progress: progress.update == 7)
    assert stopped.meta["updates"] == 7
    short = rbmviz.fit(BARS, iterations=10_000_000, every=1, max_seconds=1e-6)
    assert short.meta["updates"] == 1
    with pytest.raises(BadInput, match="max_seconds = 0 is not valid"):
        rbmviz.fit(BARS, max_seconds=0)
    with pytest.raises(BadInput, match="cd has no knob 'momentun': did you mean 'momentum'"):
        rbmviz.fit(BARS, "cd", momentun=0.5)


def test_names_arrays_and_frames_stand_for_objects(tmp_path):
    model = rbmviz.load_model("bas_pcd")
    path = tmp_path / "m.npz"
    rbmviz.save_model(model, path)
    for other in ("bas_pcd", path, model.rbm):
        ours, theirs = (rbmviz.sample(each, "gibbs:k=2", 20, init="random").v for each in (model, other))
        assert (ours == theirs).all()
        assert metrics.log_z(other) == metrics.log_z(model)
    v0 = np.zeros((3, 16), np.uint8)
    assert (rbmviz.couple(model, v0).tau == rbmviz.couple(model.rbm, v0).tau).all()
    assert rbmviz.pop_weights("bas_pcd", v0).ess == rbmviz.pop_weights(model.rbm, v0).ess
    rows, options = BARS.train, {"n_hidden": 4, "iterations": 5}
    fitted = [
        rbmviz.fit(x, "pcd", **options)
        for x in ("bas@3", BARS, rows, rows.tolist(), pandas.DataFrame(rows), rows.reshape(-1, 3, 3) > 0)
    ]
    assert all(same_parameters(fitted[0].rbm, other.rbm) for other in fitted)
    assert fitted[0].meta["dataset"] == "bas@3"
    assert (fitted[5].meta["dataset"], fitted[5].meta["image_shape"]) == (None, [3, 3])
    warm = rbmviz.fit(rows, "cd", warm_start=fitted[0], iterations=1)
    assert warm.rbm.n_hidden == 4
    with pytest.raises(BadInput, match="The warm start has 4 hidden units; leave n_hidden = 5 out"):
        rbmviz.fit(rows, "cd", warm_start=fitted[0], n_hidden=5)


def test_a_model_is_taken_in_every_form(tmp_path):
    model = rbmviz.load_model("bas_pcd")
    rbmviz.save_model(model, tmp_path / "m.npz")
    arrays = {name: getattr(model.rbm, name) for name in "Wbc"}
    own = rbmviz.sklearn.BernoulliRBM(16, n_iter=1).fit(rbmviz.load_dataset("bas").train)
    own.components_, own.intercept_visible_, own.intercept_hidden_ = arrays["W"].T, arrays["b"], arrays["c"]
    forms = ("bas_pcd", tmp_path / "m.npz", model, model.rbm, arrays, rbmviz.to_sklearn(model), own)
    for ask in (
        lambda form: rbmviz.sample(form, n=20, v0="random").v,
        lambda form: next(rbmviz.stream(form, "gibbs", v0="bas", chunk=9, n_chains=3)).v,
        lambda form: rbmviz.couple(form, replications=5).tau,
        lambda form: rbmviz.pop_weights(form, "bas").log_weights,
        lambda form: metrics.log_likelihood(form, "bas", "monte_carlo", chains=3),
        lambda form: metrics.exact_gradient(form, "bas").W,
        lambda form: gradient_quality(form, "bas", "cd:k=2", 40).bias,
        lambda form: rbmviz.fit("bas", "cd", iterations=2, warm_start=form).rbm.W,
        lambda form: rbmviz.plot.filters(form).to_dict()["hconcat"][0]["width"],
    ):
        want = ask(model)
        for form in forms:
            np.testing.assert_array_equal(ask(form), want)


def test_data_are_taken_in_every_form(tmp_path):
    data, own = rbmviz.load_dataset("bas"), tmp_path / "own.npz"
    np.savez(own, x_train=data.train, x_validation=data.validation, x_test=data.test)
    rows = data.train
    parts = ("bas", data, own, str(own))
    arrays = (rows, rows.tolist(), rows.astype(float), pandas.DataFrame(rows), rows.reshape(-1, 4, 4))
    samples = rbmviz.sample("bas_pcd", n=60)
    for forms, ask in (
        (parts, lambda form: metrics.isl(samples, form)),
        (parts, lambda form: metrics.reference(form)),
        (parts, lambda form: metrics.ISL(form).update(samples.v).value()),
        (arrays, lambda form: metrics.isl(samples, form)),
        (arrays, lambda form: rbmviz.train(form, iterations=3).dataset.image_shape in (None, (4, 4))),
        (parts + arrays, lambda form: metrics.log_likelihood("bas_pcd", form)),  # all parts have equal rows
        (parts + arrays, lambda form: metrics.pseudo_likelihood("bas_pcd", form)),
        (parts + arrays, lambda form: metrics.independent_log_likelihood(form)),
        (parts + arrays, lambda form: metrics.ais_log_z("bas_pcd", form, n_chains=2, betas=3).log_z),
        (parts + arrays, lambda form: metrics.Coverage(form).blank_below),
        (parts + arrays, lambda form: rbmviz.from_sklearn(rbmviz.to_sklearn("bas_pcd"), form).rates.W[0]),
        (parts + arrays, lambda form: rbmviz.couple("bas_pcd", form, max_sweeps=9).tau),
        (parts + arrays, lambda form: rbmviz.plot.mosaic(form, (4, 4)).to_dict()["datasets"]),
    ):
        want = ask(forms[0])
        for form in forms[1:]:
            np.testing.assert_array_equal(ask(form), want)
    assert metrics.isl(samples, data) == metrics.isl(samples.v, data.test, data.validation)
    assert metrics.isl(samples, kernel="mean") == metrics.isl(samples.p, data, kernel="mean")


def test_algorithms_are_taken_in_every_form():
    gibbs, cd = rbmviz.make_sampler("gibbs", k=2), rbmviz.make_trainer("cd", k=2)
    want = rbmviz.sample("bas_pcd", gibbs, 20).v
    for form in ("gibbs:k=2", type(gibbs), "gibbs", rbmviz.make_sampler("gibbs", k=3)):
        knobs = {} if form == "gibbs:k=2" else {"k": 2}
        assert (rbmviz.sample("bas_pcd", form, 20, **knobs).v == want).all()
    trained = rbmviz.fit("bas", cd, iterations=3).rbm
    for form in ("cd", type(cd), rbmviz.make_trainer("cd")):
        assert same_parameters(rbmviz.fit("bas", form, iterations=3, k=2).rbm, trained)
    for wrong, said in (
        (lambda: rbmviz.sample("bas_pcd", "gibbs", n_chain=4), "did you mean 'n_chains'"),
        (lambda: rbmviz.sample("bas_pcd", gibbs, sed=4), "did you mean 'seed'"),
        (lambda: rbmviz.sample("bas_pcd", "gibbs:k=2", k=3), "k is given twice"),
        (lambda: rbmviz.sample("bas_pcd", v0="data", init="data"), "give one of them"),
        (lambda: rbmviz.fit("bas", itertions=4), "did you mean 'iterations'"),
        (lambda: gradient_quality("bas_cd1", "bas", "cd", replication=40), "did you mean 'replications'"),
        (lambda: rbmviz.sample("bas_pcd", cd), "is not a sampler"),
        (lambda: metrics.isl(want), "do not say their model"),
        (lambda: rbmviz.load_dataset(want), "is no name and no file"),
        (lambda: metrics.log_likelihood("bas_pcd", "bas", "ecxact"), "is not one of auto"),
    ):
        with pytest.raises(BadInput, match=said):
            wrong()


def test_an_unknown_keyword_gets_a_sentence_without_knobs_too():
    ours = (rbmviz.couple, rbmviz.load_model, rbmviz.play, rbmviz.pop_weights, rbmviz.sweep)
    scores = (metrics.ais_log_z, metrics.isl, metrics.log_likelihood)
    charts = (getattr(rbmviz.plot, name) for name in rbmviz.plot.__all__)
    for function in (*ours, *scores, *charts):
        option = list(inspect.signature(function).parameters)[-1]
        with pytest.raises(BadInput, match=f"{function.__name__} has no .* did you mean '{option}'"):
            function("bas_pcd", **{f"{option}s": 3})
        assert pickle.loads(pickle.dumps(function)) is function


def test_what_a_model_was_fitted_to_stays_with_it(tmp_path):
    generator = np.random.default_rng(0)
    rows = (generator.random((50, 5)) < generator.random(5)).astype(np.uint8)
    model = rbmviz.fit(rows, n_hidden=3, iterations=50)
    assert rows.flags.writeable > np.shares_memory(rows, model.data.train)  # the array stays the caller's own
    samples = rbmviz.sample(model, n=50)
    assert samples.info["start"] == "validation examples of its own data"
    assert metrics.isl(samples) == metrics.isl(samples, rows)
    grid = {"k": [1, 2]}
    first = rbmviz.sweep(model, "gibbs", grid, 20, 2, out=tmp_path)
    (path,) = set(first["data"].tolist())
    kept = rbmviz.load_dataset(path)
    assert (len(kept.train), len(kept.validation), len(kept.test)) == (40, 5, 5)
    again = rbmviz.sweep(model, "gibbs", grid, 20, 2, out=tmp_path, data=rows)
    assert (again["isl_test"] == first["isl_test"]).all()
    digits = rbmviz.load_dataset("digits")
    (tmp_path / "d.npz").write_bytes(dataset_bytes(digits))
    assert rbmviz.load_dataset(tmp_path / "d.npz").digest() == digits.digest()
    with pytest.raises(BadInput, match="trained on different data"):
        rbmviz.sweep([model, "bas_pcd"], "gibbs", grid, out=tmp_path)
    trained = rbmviz.sweep(rows, "cd", grid, 20, 2, out=tmp_path / "cd", n_hidden=3)
    assert set(trained["knob_k"]) == {1, 2}


def test_fit_measures_its_training_and_says_what_the_command_says(capsys, tmp_path):
    model = rbmviz.fit("bas", iterations=100)
    column = model.history["log_likelihood"]
    assert np.isfinite(column).sum() == 10
    assert column[-1] == pytest.approx(metrics.log_likelihood(model, "bas"))
    settings = ["--learning-rate", "0.1", "--out", str(tmp_path / "m.safetensors")]
    assert main(["train", *settings]) == 0
    said = capsys.readouterr().err
    with pytest.warns(DoubtfulResult, match="has fallen to -[0-9.]+ nats, from -[0-9.]+ after") as fallen:
        rbmviz.fit("bas", learning_rate=0.1)
    with pytest.warns(DoubtfulResult, match="not above independent units"):
        rbmviz.fit("bas", iterations=5)
    assert str(fallen[0].message) in said
    points = rbmviz.plot.likelihood({"pcd": model}).to_dict()["datasets"]
    drawn = [row["y"] for rows in points.values() for row in rows if row.get("kind") == "point"]
    assert drawn == pytest.approx(column[np.isfinite(column)].tolist())
    with pytest.raises(BadInput, match="no such likelihood in its history"):
        rbmviz.plot.likelihood(model, part="test")
    estimate = metrics.log_likelihood("bas_pcd", "bas", "ais", temperatures=300)
    exact = metrics.log_likelihood("bas_pcd", "bas")
    assert abs(estimate - exact) < 5 * estimate.std_error
    assert (exact.std_error, estimate.method, pickle.loads(pickle.dumps(estimate)).method) == (
        0,
        "ais",
        "ais",
    )


def test_samples_are_cut_and_split_by_chain():
    samples = rbmviz.sample("bas_pcd", "rates_fpcd:n_chains=3", 31, fast_norm=True)
    assert len(samples[:10]) == 10
    assert (np.asarray(samples[np.array([4, 2])]) == samples.v[[4, 2]]).all()
    frame = samples.frame
    assert list(frame.columns[:4]) == ["chain", *samples.traces, "v0"]
    assert (frame.to_numpy()[:, 3:] == samples.v).all()
    by_chain = samples.by_chain()
    assert (by_chain["v"][2] == samples.v[2:30:3]).all()
    assert by_chain["fast_norm"].shape == (3, 10)
    assert (samples[6:].by_chain()["v"][1] == samples.v[7::3]).all()
    chunks = rbmviz.stream("bas_pcd", "rates_fpcd:n_chains=3", chunk=31)
    next(chunks)
    for rows in (samples[1:], samples[::2], next(chunks)):
        with pytest.raises(BadInput, match="How many chains"):
            rows.by_chain()


def test_a_data_set_from_arrays():
    generator = np.random.default_rng(0)
    grey, names = generator.integers(0, 256, (50, 4, 5)), generator.choice(["cat", "dog"], 50)
    data = Dataset.from_arrays(grey, names, x_test=grey[:7], y_test=names[:7], name="pets", binarise=0.7)
    assert (data.name, data.classes, data.image_shape) == ("pets@0.7", ("cat", "dog"), (4, 5))
    assert (data.test == (grey[:7].reshape(7, 20) > 0.7 * 255)).all()
    assert [data.classes[label] for label in data.test_labels] == list(names[:7])
    assert (len(data.train), len(data.validation)) == (45, 5)
    frame = pandas.DataFrame(grey.reshape(50, 20) / 255)
    assert Dataset.from_arrays(frame, image_shape=(4, 5)).image_shape == (4, 5)
    for wrong, said in (
        ({"x": frame, "image_shape": (3, 5)}, "a row has 20 values, not 3 x 5"),
        ({"x": frame, "y": names[:3]}, "y must hold one whole number"),
        ({"x": frame - 1}, "x must lie between 0 and 1"),
        ({"x": [["a", "b"]]}, "x: the values are of type"),
        ({"x": frame, "image_shape": (4, 5, 1)}, "is not two numbers"),
    ):
        with pytest.raises(BadInput, match=said):
            Dataset.from_arrays(**wrong)


def test_records_say_what_they_are_in_one_line():
    model = rbmviz.load_model("bas_pcd")
    said = "Model(16 visible, 16 hidden units, bas, pcd, 20,000 updates, with rates)"
    samples = rbmviz.sample(model, "gibbs:n_chains=2", 6)
    assert [repr(model), repr(samples)] == [said, "Samples(6 of 16 units from 2 chains, traces: sweeps)"]
    steps, pairs = train("bas", "cd", iterations=10), rbmviz.couple(model, np.zeros((3, 16), np.uint8))
    for record in (next(steps), steps, pairs, metrics.ais_log_z(model, betas=3, n_chains=4)):
        assert len(repr(record)) < 700
        assert "\n" not in repr(record)
        assert "array(" not in repr(record)


def picture(html):
    """Return the pixels of the PNG in a page, whose lines are unfiltered."""
    content = b64decode(re.search(r"base64,([^\"]+)", html)[1])
    width, height = struct.unpack(">II", content[16:24])
    at, size = content.index(b"IDAT") + 4, struct.unpack(">I", content[33:37])[0]
    lines = np.frombuffer(zlib.decompress(content[at : at + size]), np.uint8).reshape(height, width + 1)
    return lines[:, 1:]


def test_a_notebook_shows_filters_and_samples():
    samples = rbmviz.sample("bas_pcd", "gibbs", 30)
    tiles = picture(samples._repr_html_())
    assert tiles.shape == (2 * 5 - 1, 20 * 5 - 1)
    assert (tiles[5:9, 10:14] == 255 - 255 * samples.v[22].reshape(4, 4)).all()
    weights = rbmviz.load_model("bas_pcd").rbm.W
    filters = picture(rbmviz.load_model("bas_pcd")._repr_html_())[:4, 5:9]
    assert filters.ravel().argmin() == weights[:, 1].argmax()
    assert picture(rbmviz.load_dataset("bas")._repr_html_()).shape == (9, 99)
    assert "img" not in rbmviz.fit([[0, 1], [1, 0]], iterations=1)._repr_html_()
    assert mosaic(np.zeros((1, 4)), (2, 2)).max() == 255
    assert grey_png(np.zeros((2, 3), np.uint8)).startswith(b"\x89PNG")
