"""The table of what findings find: runs are kept, and an interrupted measurement continues."""

import sys

import numpy as np

from benchmarks import findings as benchmark
from rbmviz import load_dataset, load_model
from rbmviz.metrics import model_statistics


def test_runs_are_kept_and_not_made_again(tmp_path, monkeypatch, capsys):
    file, made = tmp_path / "runs.jsonl", []
    monkeypatch.setattr(benchmark, "samplers_of", lambda name: [benchmark.EXACT, "broken:fault=noise"])
    whole = benchmark.run
    monkeypatch.setattr(benchmark, "run", lambda *cell: made.append(cell) or whole(*cell))
    for seeds in ("1", "1", "2"):
        monkeypatch.setattr(sys, "argv", ["findings", str(file), "--models", "bas_pcd", "--seeds", seeds])
        benchmark.main()
    assert len(made) == len(set(made)) == len(file.read_text().splitlines()) == 4
    lines = capsys.readouterr().err.splitlines()
    assert any(x.startswith("| bas_pcd | exact draws | 2 | 0 | 0 | 0 |  |") for x in lines)
    assert any(x.startswith("| bas_pcd | broken:fault=noise | 2 | 2 | 2 | 2 |") for x in lines)


def test_exact_and_tempered_draws_have_the_law_of_the_model():
    """Means of units, within five standard errors of independent draws; a mode alone would be far off."""
    model, rows = load_model("bas_cd1"), load_dataset("bas").validation
    for drawn in (benchmark.exact_draws(model, 4000, 1), benchmark.tempered_draws(model, rows, 4000, 1)):
        mean = model_statistics(model.rbm).b
        np.testing.assert_allclose(drawn.mean(axis=0), mean, atol=5 * 0.5 / np.sqrt(len(drawn)) * 3)
