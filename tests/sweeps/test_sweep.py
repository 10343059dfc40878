"""A sweep as one call: names and objects, the same table as by hand, one sentence for what does not fit."""

import numpy as np
import pytest

import rbmviz
from rbmviz import BadInput, Model
from rbmviz.registry import sampler, samplers
from rbmviz.samplers.gibbs import Gibbs
from rbmviz.sweeps import Axis, Budget, CellRun, Store, SweepPlan, cells, compare
from rbmviz.sweeps import table as table_of

GRID = {"eps": [0.03, 0.3], "alpha": "0.9:1:2:linear"}


def test_the_table_is_that_of_its_cells(tmp_path):
    out = tmp_path / "out"
    table = rbmviz.sweep("bas_pcd", "rates_fpcd:k=2", GRID, n=50, replications=2, out=out, seed=3)
    plan = SweepPlan(
        algorithms=["rates_fpcd:k=2"],
        axes=[Axis("eps", (0.03, 0.3)), Axis("alpha", (0.9, 1.0))],
        models=["bas_pcd"],
        seeds=[3, 4],
        budget=Budget("samples", 50),
    )
    made = cells(plan)
    assert len(made) == 8
    for name, type_ in (("n", int), ("knob_eps", float), ("isl_test", float), ("setting", str)):
        expected = table_of(CellRun(cell).finish() for cell in made)[name]
        np.testing.assert_array_equal(table[name].astype(type_), expected)
    again = rbmviz.sweep("bas_pcd", ["rates_fpcd:k=2"], GRID, 50, 2, out=out, seed=3)
    np.testing.assert_array_equal(again["seconds"], table["seconds"])  # nothing was computed again


def test_the_result_names_the_setting_to_take(tmp_path):
    result = rbmviz.sweep("bas_pcd", "rates_fpcd", {"eps": [1e-4, 0.1]}, 400, 3, out=tmp_path / "out")
    choice = compare(dict(result))
    assert result.best == choice.best
    assert result.best.knobs == {"eps": 0.1}
    assert result.tied == choice.tied == result.tied[:1]
    assert list(result.frame.columns) == list(result) == list(result.columns)
    assert len(result.frame) == len(result["n"])
    head, titles, best, other, *_ = repr(result).splitlines()
    assert head.startswith("SweepResult(2 settings, 3 seeds, ")
    assert titles.split() == ["mean", "to", "the", "best", "seeds", "seconds"]
    assert best.split()[:4] == ["*", "rates_fpcd", "eps=0.1", f"{result.best.mean:.3f}"]
    assert other.startswith("  rates_fpcd eps=0.0001 ")
    options = {"metrics": ["isl_validation", "isl_test"], "budget": "sweeps", "out": tmp_path / "sweeps"}
    assert rbmviz.sweep("bas_pcd", "gibbs", {"k": [1, 5]}, 100, 2, **options).choice.effort == "sweeps"


def test_a_model_object_and_a_class_of_ones_own(tmp_path, monkeypatch):
    monkeypatch.setattr(samplers, "_entries", dict(samplers._entries))  # list_samplers has been called

    @sampler("my_gibbs", label="My Gibbs", paper="")
    class MyGibbs(Gibbs):
        pass

    monkeypatch.delitem(samplers._entries, "my_gibbs")
    model = rbmviz.load_model("bas_pcd")
    given = [model.rbm, Model(model.rbm, None, {"dataset": "bas"})]
    table = rbmviz.sweep(given[1], [MyGibbs, "gibbs"], {}, 40, 1, ["isl_test"], tmp_path / "own")
    mine = table["algorithm"] == "my_gibbs"
    assert mine.sum() == (~mine).sum() > 0
    np.testing.assert_array_equal(table["isl_test"][mine], table["isl_test"][~mine])
    [name] = Store(tmp_path / "own").plan().models
    np.testing.assert_array_equal(rbmviz.load_model(name).rbm.W, model.rbm.W)
    # Parameters alone do not say what to compare samples with.
    with pytest.raises(BadInput, match="trained on"):
        rbmviz.sweep(given[0], "gibbs", {}, 40, 1, out=tmp_path / "rbm")
    assert len(rbmviz.sweep(given[0], "gibbs", {}, 40, 1, ["blank"], tmp_path / "rbm", data="bas")["n"]) > 5


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"models": 3}, "not a model"),
        ({"samplers": 3}, "not a sampler"),
        ({"replications": 0}, "replications = 0"),
        ({"seed": "x"}, "seed = 'x'"),
        ({"grid": 5}, "the grid is 5"),
        ({"metrics": 5}, "metrics are 5"),
    ],
)
def test_bad_sweeps_are_refused_in_one_sentence(tmp_path, changed, why):
    arguments = {"models": "bas_pcd", "samplers": "rates_fpcd", "grid": GRID, "out": tmp_path / "out"}
    with pytest.raises(BadInput, match=why):
        rbmviz.sweep(**{**arguments, **changed})
    assert not (tmp_path / "out").exists()


def test_unknown_name_leaves_the_stored_plan_unchanged(tmp_path):
    out = tmp_path / "out"
    rbmviz.sweep("bas_pcd", "gibbs", {"k": [1, 2]}, n=20, replications=1, out=out)
    before = Store(out).plan()
    with pytest.raises(BadInput, match="bas_pdc"):
        rbmviz.sweep("bas_pdc", "gibbs", {"k": [1, 2]}, n=20, replications=1, out=out)
    assert Store(out).plan() == before


def test_one_model_under_two_names_is_refused(tmp_path):
    copy = tmp_path / "copy.safetensors"
    rbmviz.save_model(rbmviz.load_model("bas_pcd"), copy)
    with pytest.raises(BadInput, match="are the same"):
        rbmviz.sweep(["bas_pcd", str(copy)], "gibbs", {"k": [1]}, n=20, out=tmp_path / "out")
