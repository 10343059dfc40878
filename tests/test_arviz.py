"""Samples for ArviZ: chains x draws, by Python and by the command line."""

import json

import numpy as np
import pytest
import xarray
from arviz_stats import ess, summary

from rbmviz import load_dataset, sample
from rbmviz.cli import main
from rbmviz.metrics import Coverage, findings

SAMPLER = "rates_fpcd:n_chains=3"


def test_the_tree_has_chains_draws_and_what_is_known_of_each_sample():
    data, samples = load_dataset("bas"), sample("bas_pcd", SAMPLER, 62, seed=1, fast_norm=True)
    tree = samples.to_arviz("bas")
    assert dict(tree.posterior.sizes) == {"chain": 3, "draw": 20}
    assert set(tree.posterior) == {"free_energy", "fast_norm", "class", "spurious"}
    for chain in range(3):
        v = samples.v[chain:60:3]
        assert (tree.samples.v[chain] == v).all()
        assert (tree.posterior.free_energy[chain] == samples.model.rbm.free_energy(v)).all()
        assert (tree.posterior.fast_norm[chain] == samples.info["fast_norm"][chain:60:3]).all()
        assert (tree.posterior["class"][chain] == Coverage(data).update(v)).all()
    assert tree.samples.p.dims == ("chain", "draw", "unit")
    assert (tree.sample_stats.sweeps == 1).all()
    assert json.loads(tree.attrs["classes"]) == list(data.classes)
    assert json.loads(tree.attrs["findings"])["verdict"] == "unsure"  # 60 samples
    stuck = sample("bas_pcd", "gibbs", 2000)
    found = json.loads(stuck.to_arviz("bas").attrs["findings"])
    assert found == findings(stuck, "bas_pcd", "bas").as_data()
    assert found["findings"][0]["name"] == "one_class"
    assert set(summary(tree, kind="stats").index) == set(tree.posterior)  # booleans would stop it
    assert np.isfinite(ess(tree, var_names=["free_energy"]).free_energy)
    assert set(sample("bas_pcd", "gibbs", 8).to_arviz().posterior) == {"free_energy"}


@pytest.mark.parametrize("more", [[], ["--no-means", "--dataset", "bas", "--thin", "2"]])
def test_the_command_writes_the_tree(tmp_path, more, capsys):
    out = tmp_path / "run.nc"
    command = ["sample", "--model", "bas_pcd", "--sampler", SAMPLER, "-n", "300", "--seed", "4"]
    assert main([*command, "--out", str(out), *more, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["n"] == 300
    tree, thin = xarray.open_datatree(out, engine="h5netcdf"), 2 if more else 1
    want = sample("bas_pcd", SAMPLER, 300 * thin, seed=4, fast_norm=True).by_chain()
    assert (tree.samples.v == want["v"][:, thin - 1 :: thin]).all()
    assert (tree.posterior.fast_norm == want["fast_norm"][:, thin - 1 :: thin]).all()
    assert ("p" in tree.samples) == (not more)
    assert ("class" in tree.posterior) == bool(more)
    assert json.loads(tree.attrs["meta"])["origin"]["seeds"] == [4]
