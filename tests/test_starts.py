"""Where chains start: one default for Python, command line, pages and sweeps, which is said."""

import json
import re

import numpy as np
import pytest
from command_line import refused, run

import rbmviz
from rbmviz import BadInput
from rbmviz.session import SamplingSetup
from rbmviz.sweeps import SweepPlan


def test_chains_start_at_the_data_that_the_model_names():
    model, data = rbmviz.load_model("bas_pcd"), rbmviz.load_dataset("bas")
    on_the_page = rbmviz.sample(
        model, "gibbs:n_chains=3", 30, seed=4, v0=SamplingSetup(model, data, 4).starts(3)
    )
    samples = rbmviz.sample(model, "gibbs:n_chains=3", 30, seed=4)
    np.testing.assert_array_equal(samples.v, on_the_page.v)
    assert samples.info["start"] == samples[:6].info["start"] == "validation examples of bas"
    assert on_the_page.info["start"] == "v0, as given"
    streamed = next(rbmviz.stream(model, "gibbs:n_chains=3", seed=4, chunk=30))
    np.testing.assert_array_equal(streamed.v, samples.v)
    assert SweepPlan.__dataclass_fields__["start"].default == "data"


def test_random_starts_are_asked_for_or_said(monkeypatch, tmp_path):
    model = rbmviz.load_model("bas_pcd")
    samples = rbmviz.sample(model, "gibbs", 30, init="random")
    assert samples.info["start"] == "random bits"
    np.testing.assert_array_equal(samples.v, rbmviz.sample(model.rbm, "gibbs", 30).v)
    monkeypatch.setenv("RBMVIZ_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("RBMVIZ_CACHE_DIR", str(tmp_path))
    without = rbmviz.sample("usps_fpcd", "gibbs", 2).info["start"]
    assert without == "random bits, because no validation examples of usps were found"
    with pytest.raises(BadInput, match="does not say what data"):
        rbmviz.sample(model.rbm, "gibbs", 2, init="data")
    with pytest.raises(BadInput, match="give 'data' or 'random'"):
        rbmviz.sample(model, "gibbs", 2, init="zero")
    with pytest.raises(BadInput, match="give one of them"):
        rbmviz.sample(model, "gibbs", 2, v0=samples.v[0], init="data")


def test_files_and_scores_say_the_start(capsys, tmp_path):
    path = tmp_path / "s.npz"
    words = ["sample", "--model", "bas_pcd", "--sampler", "gibbs", "-n", "200", "--out", path]
    assert run(capsys, *words)["start"] == "validation examples of bas"
    with np.load(path) as file:
        v, meta = file["v"], json.loads(str(file["meta"]))
    np.testing.assert_array_equal(v, rbmviz.sample("bas_pcd", "gibbs", 200).v)
    assert (meta["init"], meta["start"]) == ("data", "validation examples of bas")
    assert run(capsys, "score", path)["start"] == "validation examples of bas"
    run(capsys, *words, "--init", "random")
    assert run(capsys, "score", path)["start"] == "random bits"


def test_play_without_options_writes_the_default_page(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run(capsys, "play")
    assert (result["out"], result["model"]) == ("live.html", "mnist_fpcd")
    assert [each["name"] for each in result["samplers"]][:2] == ["gibbs", "rates_fpcd"]
    assert (tmp_path / "live.html").stat().st_size == result["bytes"]


@pytest.mark.parametrize("command", ["play", "sample", "train", "export-model"])
def test_output_that_nobody_named_replaces_no_file(capsys, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    for name in ("live.html", "samples.npz", "model.safetensors", "model.npz"):
        (tmp_path / name).write_text("mine")
    assert re.search("'.*' exists: name the file to write, or to replace, by --out", refused(capsys, command))
    assert {path.read_text() for path in tmp_path.iterdir()} == {"mine"}
