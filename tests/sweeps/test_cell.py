"""Cells against naive ways to the same numbers: the command line's samples, one training by hand."""

import dataclasses
import importlib
import pickle
import shutil
import sys
import types
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import rbmviz
from rbmviz.cli import main
from rbmviz.datasets import Dataset
from rbmviz.errors import BadInput
from rbmviz.knobs import knobs_of
from rbmviz.metrics.coverage import COMPARED_EXAMPLES
from rbmviz.metrics.isl import CURVE_COUNTS
from rbmviz.models import pattern_model
from rbmviz.rbm.files import save_model
from rbmviz.registry import samplers, trainers
from rbmviz.sweeps import Budget, CellRun, SweepPlan, cells, list_measures
from rbmviz.sweeps import cell as cell_module
from rbmviz.sweeps import table as table_of
from rbmviz.sweeps.cell import forget, provide, version_of
from rbmviz.sweeps.measures import SamplerEvidence, columns_of_measures
from tests.sweeps.tables import same


def plan(**given):
    first = {"algorithms": ["rates_fpcd"], "models": ["bas_pcd"], "seeds": [7]}
    return SweepPlan(**(first | {"budget": Budget("samples", 700)} | given))


def training(**given):
    first = {"kind": "trainer", "algorithms": ["cd"], "data": "bas", "seeds": [3], "n_hidden": 8}
    return SweepPlan(**(first | {"budget": Budget("updates", 60)} | given))


def table(plan_):
    [cell] = cells(plan_)
    return finished(cell)


def finished(cell):
    return table_of([CellRun(cell).finish()])


@pytest.mark.parametrize("sampler", ["gibbs", "rates_fpcd", "rates_herding", "sample_penalization"])
@pytest.mark.parametrize("kernel", ["binary", "mean"])
def test_its_curve_is_the_isl_of_the_samples_of_the_command_line(sampler, kernel, tmp_path):
    found = table(plan(algorithms=[sampler], kernel=kernel, budget=Budget("samples", 300)))
    command = f"sample --model bas_pcd --sampler {sampler} -n 300 --init data --seed 7 --out {tmp_path}/s.npz"
    assert main(command.split()) == 0
    x = np.load(tmp_path / "s.npz")["v" if kernel == "binary" else "p"]
    data = rbmviz.load_dataset("bas")
    assert found["n"].tolist() == [*CURVE_COUNTS[CURVE_COUNTS < 300], 300]
    for row in [0, 1, 9, 20, -2, -1]:
        score = rbmviz.metrics.isl(x[: found["n"][row]], data.test, data.validation, kernel=kernel)
        assert found["isl_test"][row] == pytest.approx(score.isl, abs=1e-6)
        assert found["isl_validation"][row] == pytest.approx(score.validation, abs=1e-6)
        assert found["isl_test_error"][row] == pytest.approx(score.std_error, abs=1e-6)
    # The test part is scored only if it is asked for, and changes nothing else.
    alone = table(plan(algorithms=[sampler], kernel=kernel, metrics=["isl_validation"]))
    np.testing.assert_array_equal(alone["isl_validation"][:20], found["isl_validation"][:20])
    assert np.isnan(alone["isl_test"]).all()
    lean, whole = (SamplerEvidence(data, kernel, 1, needs) for needs in ({"isl"}, {"isl", "test"}))
    for evidence in (lean, whole):
        evidence.update(rbmviz.sample("bas_pcd", sampler, 50))
    assert lean.score.validation == whole.score.validation
    assert lean.score.isl != whole.score.isl  # of one example, not of all


def test_every_measure_is_what_a_naive_run_gives():
    sampler = "rates_fpcd:eps=0.2,n_chains=3"
    found = table(plan(algorithms=[sampler], metrics=list_measures("sampler")))
    data, model = rbmviz.load_dataset("bas"), rbmviz.load_model("bas_pcd")
    starts = data.validation[rbmviz.rng.generator(7, "start").integers(len(data.validation), size=3)]
    samples = rbmviz.sample(model, samplers.read(sampler), 700, seed=7, v0=starts)
    for row in [12, 30, -1]:
        n = found["n"][row]
        coverage = rbmviz.metrics.Coverage(data, COMPARED_EXAMPLES, n_chains=3)
        coverage.update(samples.v[:n])
        assert found["coverage"][row] == coverage.class_coverage
        assert found["spurious"][row] == coverage.spurious
        assert found["switches"][row] == coverage.switches
        assert found["blank"][row] == coverage.blank
        assert found["ink"][row] == pytest.approx(coverage.ink)
        assert found["sweeps"][row] == n
    activity = samples.v.sum(axis=1)[: 700 // 3 * 3].reshape(-1, 3).T
    assert found["ess"][-1] == pytest.approx(rbmviz.metrics.chain_diagnostics(activity).ess)
    assert (np.diff(found["seconds"]) >= 0).all()


@pytest.mark.parametrize(
    ("algorithm", "budget", "kernel"),
    [
        ("rates_herding:eps=0.3", Budget("sweeps", 500), "binary"),
        ("rates_fpcd:n_chains=2", Budget("samples", 500), "binary"),
        ("gibbs:k=3", Budget("sweeps", 500), "mean"),
        ("rates_fpcd", Budget("samples", 2500), "mean"),
    ],
)
def test_the_same_bits_whatever_the_slices_and_threads(algorithm, budget, kernel, monkeypatch):
    metrics = list_measures("sampler")
    [cell] = cells(plan(algorithms=[algorithm], budget=budget, kernel=kernel, metrics=metrics))
    whole = finished(cell)
    monkeypatch.setattr(cell_module, "SLICE_SECONDS", 1e-4)  # small chunks
    steps = CellRun(cell)
    shares = [steps.done]
    while steps.step(0):
        shares.append(steps.done)
    assert shares == sorted(shares)
    assert (shares[0], steps.done) == (0, 1)
    same(whole, table_of([steps.result()]))
    with ThreadPoolExecutor(4) as pool:
        for other in pool.map(finished, [pickle.loads(pickle.dumps(cell))] * 4):
            same(whole, other)


def test_budget_of_sweeps_ends_with_a_complete_sample():
    found = table(plan(algorithms=["rates_herding:eps=0.3"], budget=Budget("sweeps", 333), start="random"))
    model, sampler = rbmviz.load_model("bas_pcd"), rbmviz.make_sampler("rates_herding", eps=0.3)
    spent = np.cumsum(rbmviz.sample(model, sampler, 400, seed=7, init="random").info["sweeps"])
    n = int((spent <= 333).sum())
    assert found["n"][-1] == n
    assert found["sweeps"].tolist() == [spent[k - 1] for k in found["n"]]
    # A budget smaller than the first sample still gives this one.
    assert table(plan(algorithms=["gibbs:k=9"], budget=Budget("sweeps", 2)))["n"].tolist() == [1]


def test_a_budget_of_seconds_says_how_far_it_got():
    found = table(plan(algorithms=["gibbs"], budget=Budget("seconds", 0.02)))
    assert found["seconds"][-1] >= 0.02 > found["seconds"][-2]
    n = int(found["n"][-1])
    longer = table(plan(algorithms=["gibbs"], budget=Budget("samples", n)))
    np.testing.assert_array_equal(longer["isl_test"][-1], found["isl_test"][-1])


def test_the_identity_holds_everything_that_the_result_depends_on(tmp_path):
    [cell] = cells(plan())
    changes = [
        *({"algorithm": cell.algorithm.replace("k=1", "k=2")}, {"model_digest": "0"}, {"data_digest": "0"}),
        *({"seed": 8}, {"start": "random"}, {"budget": Budget("samples", 701)}, {"metrics": ("isl_test",)}),
        *({"budget": Budget("sweeps", 700)}, {"kernel": "mean"}, {"version": "0"}, {"n_hidden": 3}),
        *({"kind": "trainer"}, {"curve": False}),
    ]
    identities = {dataclasses.replace(cell, **change).identity for change in changes}
    assert len(identities | {cell.identity}) == len(changes) + 1
    covered = {name for change in changes for name in change}
    names_only = {"model", "data"}
    assert covered | names_only == {field.name for field in dataclasses.fields(cell)}
    # The same model under another name is the same cell; a changed one is another.
    save_model(rbmviz.load_model("bas_pcd"), tmp_path / "mine.safetensors")
    [mine] = cells(plan(models=[str(tmp_path / "mine.safetensors")]))
    assert mine.identity == cell.identity
    assert (mine.model, cell.model) == (str(tmp_path / "mine.safetensors"), "bas_pcd")
    # The order in which metrics are named says nothing.
    one, other = (cells(plan(metrics=names))[0] for names in (["blank", "ess"], ["ess", "blank"]))
    assert one.identity == other.identity


def version_now(kind, name):
    """Return the version by the sources as they are now."""
    cell_module._version_of_package.cache_clear()
    cell_module._hash_of_module.cache_clear()
    return version_of(kind, name)


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A copy of the package whose sources versions are computed of; a test may change them."""
    copy = tmp_path / "rbmviz"
    shutil.copytree(cell_module._PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "pyproject.toml").touch()
    with monkeypatch.context() as patch:
        patch.setattr(cell_module, "_PACKAGE", copy)
        yield copy
    version_now("sampler", "gibbs")


def test_version_follows_every_file_of_a_checkout(checkout):
    for path in ("samplers/gibbs.py", "metrics/isl.py", "kernels/gibbs.py", "coupling.py"):
        was = version_now("sampler", "gibbs")
        (checkout / path).write_text((checkout / path).read_text() + "\n# changed\n")
        assert version_now("sampler", "gibbs") != was, path
    (checkout.parent / "pyproject.toml").unlink()  # as it is installed
    assert version_now("sampler", "gibbs") == rbmviz.__version__


@pytest.mark.parametrize("stem", ["gibbs", "interleave"])
def test_version_follows_the_file_of_a_sampler_from_outside(stem, tmp_path, monkeypatch):
    ours = version_now("sampler", "rates_fpcd")
    monkeypatch.setattr(samplers, "_entries", dict(samplers._entries))
    file = tmp_path / f"{stem}.py"
    file.write_text("# mine\n")
    module = types.ModuleType(f"mine.{stem}")
    module.__file__ = str(file)
    monkeypatch.setitem(sys.modules, f"mine.{stem}", module)
    samplers.add("mine", type("Mine", (samplers["gibbs"],), {"name": "mine", "__module__": f"mine.{stem}"}))
    was = version_now("sampler", "mine")
    assert was.startswith(ours)
    file.write_text("# mine, changed\n")
    assert version_now("sampler", "mine") != was
    assert version_now("sampler", "rates_fpcd") == ours


def test_module_that_is_imported_again_has_the_version_of_its_new_text(tmp_path, monkeypatch):
    monkeypatch.setattr(samplers, "_entries", dict(samplers._entries))
    monkeypatch.syspath_prepend(tmp_path)
    text = """
from rbmviz.registry import sampler
from rbmviz.samplers.gibbs import Gibbs
sampler("again", label="Again", paper="none")(type("Again", (Gibbs,), {"__module__": __name__}))
"""
    (tmp_path / "imported_again.py").write_text(text)
    module = importlib.import_module("imported_again")
    was = version_of("sampler", "again")
    (tmp_path / "imported_again.py").write_text(f"{text}# changed\n")
    importlib.reload(module)
    assert version_of("sampler", "again") != was
    del sys.modules["imported_again"]


def test_all_algorithms_give_tables_with_their_knobs_and_all_measures():
    for kind, registered, make, unit in (
        ("sampler", samplers, plan, "samples"),
        ("trainer", trainers, training, "updates"),
    ):
        for name in registered:
            found = table(make(algorithms=[name], budget=Budget(unit, 2), metrics=list_measures(kind)))
            knobs = {f"knob_{knob}" for knob in knobs_of(registered[name])}
            assert {column for column in found if column.startswith("knob_")} == knobs
            assert set(columns_of_measures(kind)) <= set(found)
            assert {len(column) for column in found.values()} == {2}
            assert set(found["algorithm"]) == {name}


def test_table_of_two_algorithms_has_the_knobs_of_both():
    results = [CellRun(cells(plan(algorithms=[name]))[0]).finish() for name in ("gibbs", "rates_fpcd")]
    found = table_of(results)
    assert np.isnan(found["knob_eps"][found["algorithm"] == "gibbs"]).all()
    assert np.isfinite(found["knob_eps"][found["algorithm"] == "rates_fpcd"]).all()


def test_a_training_is_the_training_of_the_same_seed():
    found = table(training(algorithms=["pcd:learning_rate=0.1"], metrics=list_measures("trainer")))
    data, trainer = rbmviz.load_dataset("bas"), rbmviz.make_trainer("pcd", learning_rate=0.1)
    *_, last = rbmviz.train(data, trainer, n_hidden=8, iterations=60, seed=3, every=7)
    assert found["n"].tolist() == [*CURVE_COUNTS[CURVE_COUNTS < 60], 60]
    for part in ("train", "validation", "test"):
        name = "log_likelihood" if part == "train" else f"log_likelihood_{part}"
        exact = rbmviz.metrics.log_likelihood(last.rbm, getattr(data, part))
        assert found[name][-1] == pytest.approx(exact, abs=1e-9)
    for name, value in last.stats.items():
        assert found[name][-1] == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize("trainer", ["cd:k=3,batch_size=5", "ucd:n_chains=20"])
def test_a_training_ends_with_the_last_update_within_its_sweeps(trainer):
    found = table(training(algorithms=[trainer], budget=Budget("sweeps", 1000)))
    algorithm = rbmviz.make_trainer(trainer.partition(":")[0], **trainers.read(trainer).__dict__)
    steps = rbmviz.train(rbmviz.load_dataset("bas"), algorithm, n_hidden=8, seed=3, every=1)
    *_, last = [progress for progress in (next(steps) for _ in range(80)) if progress.sweeps <= 1000]
    assert (found["n"][-1], found["sweeps"][-1]) == (last.update, last.sweeps)
    exact = rbmviz.metrics.log_likelihood(last.rbm, rbmviz.load_dataset("bas").train)
    assert found["log_likelihood"][-1] == pytest.approx(exact, abs=1e-9)


def test_trainers_have_a_quantity_of_their_own():
    assert table(training(algorithms=["ucd"]))["inner"][-1] >= 1  # the mean meeting time
    cut_off = table(training(algorithms=["ucd:t_max=2,learning_rate=1"]))
    assert "biases updates: raise t_max" in cut_off["note"][0]
    none = table(training(algorithms=["cd"]))
    assert np.isnan(none["inner"]).all()
    assert none["note"][0] == "This trainer has no quantity of its own."


def test_diverged_training_is_a_result():
    # Each update multiplies the weights by 1 - 10 * 1.
    found = table(training(algorithms=["cd:learning_rate=10,weight_decay=1"], budget=Budget("updates", 300)))
    assert found["n"].tolist() == [*CURVE_COUNTS[CURVE_COUNTS < 300], 300]
    assert np.isfinite(found["log_likelihood"][0])
    assert np.isnan(found["log_likelihood"][-1])
    assert "diverged" in found["note"][0]


def test_unmeasurable_scores_are_nan_with_a_reason(tmp_path):
    rows = rbmviz.load_dataset("bas").train
    bare = Dataset("bare", rows, rows[:0], rows[:0], "", "")
    [cell] = cells(plan(metrics=list_measures("sampler")))
    found = finished(dataclasses.replace(cell, data="bare", data_digest=provide(bare), start="random"))
    for name in ("isl_test", "isl_validation", "coverage", "switches", "spurious"):
        assert np.isnan(found[name]).all(), name
    assert "bare has no test or no validation part" in found["note"][0]
    assert "no classes" in found["note"][0]
    assert np.isfinite(found["blank"]).all()
    # Too large to enumerate.
    large = table(training(n_hidden=30, data="mnist5k", budget=Budget("updates", 1)))
    assert np.isnan(large["log_likelihood"]).all()
    assert "too large to enumerate" in large["note"][0]


def test_changed_model_or_data_are_refused(tmp_path):
    save_model(pattern_model(["0101", "1010"], 3.0), tmp_path / "m.npz")
    rows = np.eye(4, dtype=np.uint8)
    np.savez(tmp_path / "d.npz", x_train=rows, x_valid=rows, x_test=rows)
    [cell] = cells(plan(models=[str(tmp_path / "m.npz")], data=str(tmp_path / "d.npz")))
    assert np.isfinite(finished(cell)["isl_test"]).all()
    save_model(pattern_model(["0101", "1010"], 4.0), tmp_path / "m.npz")
    CellRun(cell)  # this process still has the model
    forget()
    with pytest.raises(BadInput, match="not the one with which the sweep was made"):
        CellRun(cell)
    (tmp_path / "m.npz").unlink()
    with pytest.raises(BadInput, match="no model file"):
        CellRun(cell)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"models": ["bas_pdc"]}, "did you mean 'bas_"),
        ({"data": "baas"}, "data"),
        ({"data": "mnist5k"}, "784 units and the model 16"),
    ],
)
def test_missing_models_and_data_are_refused_before_any_run(given, said):
    with pytest.raises(BadInput, match=said):
        cells(plan(**given))


def test_names_from_outside_open_no_file(tmp_path):
    save_model(rbmviz.load_model("bas_pcd"), tmp_path / "m.npz")
    assert cells(plan(), registered=True) == cells(plan())
    with pytest.raises(BadInput, match="Unknown model"):
        cells(plan(models=[str(tmp_path / "m.npz")]), registered=True)
    with pytest.raises(BadInput, match="is not the name of a data set"):
        cells(training(data=str(tmp_path / "m.npz")), registered=True)
