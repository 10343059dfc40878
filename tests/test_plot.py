"""Figures from Python: what is drawn is what was computed, with the look of the app."""

import json
import pickle
import re
import sys

import altair
import numpy as np
import pytest

import rbmviz
import rbmviz.sweeps
from rbmviz import BadInput, plot
from rbmviz.charts import catalogue
from rbmviz.charts.style import COUPLING_COLOURS, colour
from rbmviz.metrics import Coverage, principal_plane
from rbmviz.models import pattern_model, training_set_score


@pytest.fixture(scope="module")
def samples():
    return {name: rbmviz.sample("bas_pcd", name, 300, seed=1) for name in ("gibbs", "rates_fpcd")}


@pytest.fixture(scope="module")
def pairs():
    model = rbmviz.load_model("bas_pcd").rbm
    third = rbmviz.RBM(model.W / 3, model.b / 3, model.c / 3)
    return rbmviz.couple(third, np.repeat(rbmviz.load_dataset("bas").train, 4, axis=0), max_sweeps=40)


def rows_of(chart):
    """Return all rows of a chart's data."""
    return [row for rows in chart.to_dict()["datasets"].values() for row in rows]


def test_the_isl_is_that_of_the_metric(samples):
    data = rbmviz.load_dataset("bas")
    chart = plot.isl(samples, data)
    rows = [row for row in rows_of(chart) if row.get("kind") == "point"]
    for name, one in samples.items():
        last = [row for row in rows if row["sampler"] == name][-1]
        assert last["x"] == 300
        assert last["sweeps"] == one.info["sweeps"].sum()
        assert last["y"] == pytest.approx(rbmviz.metrics.isl(one.v, data.test, data.validation).isl)
    [lines] = [layer for layer in chart.to_dict()["layer"] if layer["mark"]["type"] == "line"]
    assert lines["encoding"]["color"]["scale"]["range"] == [colour("gibbs"), colour("rates_fpcd")]
    assert "the training set itself" in json.dumps(chart.to_dict())
    drawn = json.dumps(plot.isl(samples, data, kernel="mean").to_dict())
    means = rbmviz.metrics.reference(
        data.train, data.test, data.validation, kernel="mean", rbm=samples["gibbs"].model.rbm
    )
    assert "the training set as means" in drawn
    assert min(abs(float(x) - means.isl) for x in re.findall(r"-\d+\.\d+", drawn)) < 1e-5


def test_an_older_files_line_of_bits_is_not_drawn_beside_means(samples):
    rbm, data = samples["gibbs"].model.rbm, rbmviz.load_dataset("bas")
    for means, line in ((False, -9), (True, -2)):
        stored = {"binary": {"isl": -1, "n": 32}, "mean": {"isl": -2, "n": 32, "means": means}}
        model = rbmviz.Model(rbm, None, {"dataset": "bas", "reference": stored})
        scores = [training_set_score(model, data, kernel, lambda *_: -9) for kernel in ("binary", "mean")]
        assert scores == [(-1, 32, True, False), (line, 32, True, True)]


def series_of(chart):
    """Return the points of each line of a chart."""
    lines = {}
    for row in rows_of(chart):
        lines.setdefault(row["series"], []).append((row["x"], row["y"]))
    return {name: np.array(points) for name, points in lines.items()}


def test_a_trace_is_the_free_energy_of_each_chain(samples):
    several = rbmviz.sample("bas_pcd", "gibbs:n_chains=3", 61, seed=1)
    lines = series_of(plot.trace({"gibbs": several, "one": samples["gibbs"]}, n=150))
    assert list(lines) == ["gibbs, chain 0", "gibbs, chain 1", "gibbs, chain 2", "one"]
    energy = several.model.rbm.free_energy(several.v)
    np.testing.assert_allclose(lines["gibbs, chain 1"], np.c_[np.arange(20), energy[1:60:3]])
    assert len(lines["one"]) == 150
    with pytest.raises(BadInput, match="do not say their model"):
        plot.trace(rbmviz.Samples(several.v, several.p, {}, None, 1))


def test_an_autocorrelation_is_that_of_the_metric(samples):
    lines = series_of(plot.autocorrelation(samples, lags=30))
    for name, one in samples.items():
        want = rbmviz.metrics.chain_diagnostics(one).autocorrelation[:31]
        np.testing.assert_allclose(lines[name], np.c_[np.arange(31), want])


def test_ranks_are_flat_if_chains_agree_and_apart_if_they_do_not():
    g, several = np.random.default_rng(1), rbmviz.sample("bas_pcd", "gibbs:n_chains=4", 8, seed=1)
    states = g.integers(0, 2, (4000, 16), dtype=np.uint8)
    alike = rbmviz.Samples(states, states.astype(np.float32), {}, several.model, 2)
    for heights in series_of(plot.ranks(alike, bins=5)).values():
        np.testing.assert_allclose(heights[:, 1], 1, atol=0.15)
    order = np.argsort(several.model.rbm.free_energy(states), kind="stable")
    apart = rbmviz.Samples(states[order], alike.p, {}, several.model, 1)
    low, high = series_of(plot.ranks({"x": apart}, bins=4)).values()
    np.testing.assert_allclose(low[:, 1], [2, 2, 0, 0, 0])
    np.testing.assert_allclose(high[:, 1], [0, 0, 2, 2, 2])


def test_a_strip_has_every_sample_with_a_class(samples):
    data, one = rbmviz.load_dataset("bas"), samples["rates_fpcd"]
    rows = rows_of(plot.strip(one))
    classes, _, spurious = Coverage(data).kinds(one.v)
    drawn = np.full(len(one), -1)
    for row in rows:
        drawn[row["x"] : row["x2"]] = len(data.classes) - 1 - row["y"]  # the first class is on top
        assert row["y2"] == row["y"] + 1
    np.testing.assert_array_equal(drawn, np.where(spurious, -1, classes))
    bare = rbmviz.Dataset.from_arrays(data.train)
    with pytest.raises(BadInput, match="has no labels"):
        plot.strip(one, bare)


def test_a_likelihood_is_exact_at_every_progress():
    training = rbmviz.train("bas", "cd", iterations=40, every=20)
    rows = [row for row in rows_of(plot.likelihood(training)) if row.get("kind") == "point"]
    assert [row["x"] for row in rows] == [20, 40]
    data = rbmviz.load_dataset("bas")
    assert rows[-1]["y"] == pytest.approx(rbmviz.metrics.log_likelihood(training.model, data.train))


def test_meeting_times_and_weights_add_up(pairs):
    rows = rows_of(plot.meeting_times(pairs))
    assert {row["series"] for row in rows} == {"Algorithm 3"}
    assert sum(row["value"] for row in rows) == pytest.approx(1)
    assert pairs.truncated.any()
    assert rows[-1]["value"] == pairs.share_cut
    assert COUPLING_COLOURS["rbm"] in json.dumps(plot.meeting_times(pairs).to_dict())
    population = rbmviz.pop_weights("bas_pcd", rbmviz.load_dataset("bas").train, seed=0)
    rows = rows_of(plot.log_weights({"k = 1": population}))
    assert sum(row["share"] for row in rows) == pytest.approx(1)
    least = population.log_weights.min() - population.log_z_estimate
    assert rows[0]["x"] == pytest.approx(least)


def test_a_landscape_has_the_probabilities_of_the_states():
    model = pattern_model(("110", "001"), 3.0)
    one = rbmviz.sample(model, "gibbs", 50, seed=0)
    rows = rows_of(plot.landscape(model, one))
    law = rbmviz.metrics.probabilities(model)
    ours = {row["state"]: row["y"] for row in rows if row["series"] == "model"}
    assert ours == pytest.approx({f"{state:03b}": -np.log(p) for state, p in enumerate(law)})
    visits = {row["state"]: row["y"] for row in rows if row["series"] == "samples"}
    assert visits["110"] == pytest.approx(-np.log((one.v == [1, 1, 0]).all(axis=1).mean()))
    assert [row["x"] for row in rows if row["series"] == "model"][-1] == pytest.approx(1)


def test_principal_directions_are_those_of_numpy():
    """Of data with fewer and with more units than examples; the sign is that of the largest entry."""
    for shape in ((300, 30), (40, 90)):
        grades = np.linspace(0.1, 0.9, shape[1])
        x = (np.random.default_rng(3).random(shape) < grades).astype(np.uint8)
        x[: shape[0] // 3] |= x[: shape[0] // 3, ::-1]
        data = rbmviz.Dataset("x", x, x[:0], x[:0], "", "")
        plane, centred = principal_plane(data), x - x.mean(axis=0)
        _, values, rows = np.linalg.svd(centred, full_matrices=False)
        expected = rows[:2].T * np.sign([row[np.abs(row).argmax()] for row in rows[:2]])
        np.testing.assert_allclose(plane.directions, expected, atol=1e-9)
        np.testing.assert_allclose(plane.shares, values[:2] ** 2 / (values**2).sum())
        np.testing.assert_allclose(plane.project(x), centred @ expected, atol=1e-9)
        assert principal_plane(data) is plane  # computed once
    with pytest.raises(BadInput, match=r"must be \(n, 90\)"):
        plane.project(x[:, :5])


def test_samples_and_data_are_in_one_plane(samples):
    data = rbmviz.load_dataset("bas")
    rows = rows_of(plot.pca(samples, n=100))
    counts = {name: sum(row["sampler"] == name for row in rows) for name in ("data", *samples)}
    assert counts == {"data": 32, "gibbs": 100, "rates_fpcd": 100}
    last = [row for row in rows if row["sampler"] == "gibbs"][-1]
    place = principal_plane(data).project(samples["gibbs"].v[[last["n"]]])[0]
    assert (last["x"], last["y"]) == pytest.approx(tuple(place))
    assert catalogue.DATA.colour == "#808080"


def test_pictures_and_files(samples, tmp_path):
    chart = plot.compare(samples)
    for suffix, begin in (("svg", b"<svg"), ("png", b"\x89PNG"), ("pdf", b"%PDF")):
        chart.save(str(tmp_path / f"chart.{suffix}"))
        assert (tmp_path / f"chart.{suffix}").read_bytes().startswith(begin)
    tiles = plot.mosaic({"a": samples["gibbs"], "data": rbmviz.load_dataset("bas")}, n=20, columns=5)
    assert [part["title"] for part in tiles.to_dict()["hconcat"]] == ["a", "data"]
    size = tiles.to_dict()["hconcat"][0]
    assert size["width"] > size["height"] > 0
    plot.mosaic(samples["gibbs"], means=True)
    assert plot.filters("bas_pcd").to_dict()["hconcat"]
    with pytest.raises(BadInput, match="are not pictures"):
        plot.mosaic(np.zeros((3, 5), np.uint8))


def test_plots_refuse_what_they_cannot_draw(samples, monkeypatch):
    with pytest.raises(BadInput, match="a is 5; give Samples, or several by name"):
        plot.isl({"a": 5})
    with pytest.raises(BadInput, match="do not say their model: name the data"):
        plot.isl(rbmviz.Samples(samples["gibbs"].v, samples["gibbs"].p, {}))
    with pytest.raises(BadInput, match="nothing to draw"):
        plot.isl({})
    with pytest.raises(BadInput, match="name the data"):
        plot.likelihood([])
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(BadInput, match=r'needs the package altair.*pip install "rbmviz\[figures\]"'):
        plot.isl(samples)


def test_a_sweep_draws_itself(tmp_path):
    result = rbmviz.sweep("bas_pcd", "rates_fpcd", {"eps": [0.01, 0.1]}, n=100, replications=2, out=tmp_path)
    drawn = plot.sweep_map(result).to_dict()
    assert drawn["title"]["text"] == "ISL, validation part (nats) after 100 samples"
    means = {row["eps"]: row["mean"] for row in drawn["vconcat"][0]["data"]["values"]}
    assert means[0.1] == pytest.approx(result.best.mean)


def test_effective_samples_grow_with_draws():
    run = rbmviz.sample("bas_pcd", "rates_fpcd:n_chains=2", 601, seed=1)
    [points] = series_of(plot.ess(run, n=3)).values()
    assert points[:, 0].tolist() == [8, 154, 300]
    assert points[1, 1] == pytest.approx(rbmviz.metrics.chain_diagnostics(run[:308]).ess)


def test_a_notebook_has_the_picture_of_a_chart(samples, tmp_path):
    """As SVG beside Vega, also of charts made from it; no script, and nothing that a network brings."""
    chart = plot.isl(samples)
    sweep = rbmviz.sweep("bas_pcd", "rates_fpcd", {"eps": [0.1]}, n=50, replications=2, out=tmp_path)
    for one in (chart, chart.properties(width=90), pickle.loads(pickle.dumps(chart)), sweep.plot()):
        bundle = one._repr_mimebundle_()
        vega, svg = sorted(bundle)
        assert re.fullmatch(r"application/vnd\.vegalite\.v\d\+json", vega)  # nbformat refuses others
        assert svg == "image/svg+xml"
        assert bundle[svg].startswith("<svg")
        assert not re.search(r"<script|(href|src)=.http|url\(http", bundle[svg])
    assert altair.renderers.active == "default"
    with altair.renderers.enable("html"):  # somebody's choice
        assert list(chart._repr_mimebundle_()) == ["text/html"]


def test_an_editor_offers_what_users_call():
    for module in (plot, rbmviz.metrics, rbmviz.testing, rbmviz.sweeps, rbmviz.sklearn):
        assert dir(module) == sorted(module.__all__)
