"""Names inside files: registered names are followed, paths never, but to a file in the same folder."""

import json

import numpy as np
import pytest
from command_line import refused

from rbmviz import BadInput, Model, cli, load_model, sample, sweep
from rbmviz.datasets import load_dataset, load_registered
from rbmviz.models import load_pretrained
from rbmviz.rbm.files import save_model

PATHS = ["data.csv", "./data.csv", "/etc/passwd", "bas/../data.csv", "data.csv@0.5", "", None, ["bas"], 3]


@pytest.fixture
def here(tmp_path, monkeypatch, rbm):
    """A folder with data and a model that other files may name."""
    rows = np.random.default_rng(0).integers(0, 2, (40, 5))
    np.savetxt(tmp_path / "data.csv", rows, delimiter=",", fmt="%d")
    save_model(Model(rbm), tmp_path / "named.npz")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", [*PATHS, "x" * 10**6, "simulated@" + "9" * 5000])
def test_only_registered_data_are_loaded_by_name(here, name):
    with pytest.raises(BadInput, match="not the name of a data set") as refused:
        load_registered(name)
    assert len(str(refused.value)) < 300


def test_variants_are_bounded():
    assert load_registered("bas").name == "bas"
    assert load_registered("bas@3").name == "bas@3"
    for name in ("bas@100000", "bas@-1", "digits@nan", "digits@2", "modes@1e999", "simulated@²", "letters@1"):
        with pytest.raises(BadInput):
            load_registered(name)


@pytest.mark.parametrize(
    "name", ["named.npz", "./named.npz", "../bas_pcd", "", None, ["bas_pcd"], "x" * 10**6]
)
def test_only_pretrained_models_are_loaded_by_name(here, name):
    with pytest.raises(BadInput, match="Unknown model") as refused:
        load_pretrained(name)
    assert len(str(refused.value)) < 1000


def test_chains_open_of_the_files_that_a_model_names_only_the_one_beside_it(here, rbm, capsys):
    (here / "elsewhere").mkdir()
    for name in ("model.npz", "elsewhere/model.npz"):
        save_model(Model(rbm, None, {"dataset": str(here / "data.csv")}), name)
    command = "sample --model elsewhere/model.npz --sampler gibbs -n 5 --init data --out out.npz".split()
    said = refused(capsys, *command)
    assert "registered data sets only, not files" in said
    assert said.strip().endswith("Give --dataset, or use --init random.")
    assert cli.main([*command, "--dataset", "data.csv"]) == 0  # the person's own word
    model = load_model("model.npz")
    assert sample(model, n=5).info["start"] == "validation examples of data.csv"
    for i, form in enumerate((model, "model.npz")):
        swept = sweep(form, "gibbs", {"k": [1, 2]}, 9, 1, out=str(i))
        assert set(swept["data_digest"]) == {load_dataset("data.csv").digest()}


@pytest.mark.parametrize("field", ["dataset", "scored_on"])
def test_samples_are_scored_against_files_beside_them_only(here, field, capsys):
    meta = {"model": "named.npz", "model_meta": {field: str(here / "data.csv")}}
    v = np.random.default_rng(1).integers(0, 2, (30, 5), dtype=np.uint8)
    (here / "elsewhere").mkdir()
    for name in ("samples.npz", "elsewhere/samples.npz"):
        np.savez(name, v=v, meta=np.array(json.dumps(meta)))
    assert cli.main(["score", "samples.npz", "--json"]) == 0
    assert "ess_free_energy" in json.loads(capsys.readouterr().out)
    assert "Give --dataset." in refused(capsys, "score", "elsewhere/samples.npz")
    assert cli.main(["score", "elsewhere/samples.npz", "--dataset", "data.csv", "--json"]) == 0
    output = capsys.readouterr()
    assert "ess_free_energy" not in json.loads(output.out)
    assert "give --model" in output.err
    assert cli.main("score elsewhere/samples.npz --dataset data.csv --model named.npz --json".split()) == 0
    assert "ess_free_energy" in json.loads(capsys.readouterr().out)
