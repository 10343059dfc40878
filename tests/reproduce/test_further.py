"""Further seeds of a recipe: they merge as if all had run at once, and what ships is never written."""

import dataclasses
import itertools
import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from rbmviz import BadInput
from rbmviz.cli import main
from rbmviz.reproduce import Estimate, all_recipes, reproduce
from rbmviz.reproduce import further as module
from rbmviz.reproduce.claims import Bound, claim
from rbmviz.reproduce.further import changes, further, run_further
from rbmviz.reproduce.recipe import Job, Recipe, SweepRun, per_seed
from rbmviz.reproduce.tables import by_seed, mean
from rbmviz.sweeps import Budget, SweepPlan


def drawn(seed, model):
    drawn.calls.append(seed)
    if seed == drawn.interrupted:
        raise KeyboardInterrupt
    return {"x": float(np.random.default_rng([seed, 3]).normal(1.5, 0.3))}


def exact():
    return {"x": 0.25}


def work_of(seeds):
    plan = SweepPlan(
        algorithms=["gibbs"], models=["bas_pcd"], seeds=range(seeds), budget=Budget("samples", 20)
    )
    jobs = per_seed("one", drawn, {"model": "bas_cd1"}, range(seeds))
    return [SweepRun("chains", plan), *jobs, Job("exact", exact, {})]


def numbers(measured, size):
    return {
        "x": measured.mean("one-", "x"),
        "isl": mean(by_seed(measured.tables["chains"], "isl_test", 20)),
        "exact": Estimate(measured.jobs["exact"]["x"]),
    }


TOY = Recipe(
    paper="rates_fpcd",
    place=1,
    title="A toy",
    source="Section 0",
    claims=(
        claim("half", "It is one and a half.", "1.5", Bound("x", "x", 1, 2)),
        claim("rest", "The rest.", "-", Bound("isl", "ISL", at_most=0), Bound("exact", "exact", at_most=0.3)),
    ),
    about="A toy.",
    cost={"quick": 3.0},
    work=lambda size: work_of(3),
    numbers=numbers,
)


@pytest.fixture(autouse=True)
def two_seeds(monkeypatch, tmp_path):
    """Let two minutes be over after two seeds, by a clock that goes on by a third of a minute per look."""
    drawn.calls, drawn.interrupted = [], None
    clock = itertools.count(0, 20)
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    monkeypatch.setattr(sys.modules["rbmviz.reproduce.ledger"], "RESULTS_FOLDER", tmp_path / "shipped")
    for where in ("rbmviz.reproduce.recipe", "rbmviz.cli.reproduce"):
        monkeypatch.setattr(f"{where}.all_recipes", lambda: {"toy": TOY})


@pytest.fixture
def shipped(tmp_path):
    """Return the bytes of the toy's shipped result, of three seeds."""
    reproduce("toy", TOY, tmp_path / "r", "quick")
    (tmp_path / "shipped").mkdir()
    path = tmp_path / "shipped" / "toy-quick.json"
    path.write_bytes((tmp_path / "r" / "toy-quick" / "result.json").read_bytes())
    drawn.calls.clear()
    return path


def measured(result):
    return {entry["number"]: entry for claim in result["claims"] for entry in claim["measured"]}


@pytest.fixture(scope="module")
def at_once(tmp_path_factory):
    """Return the result of five seeds in one run."""
    drawn.calls, drawn.interrupted = [], None
    five = dataclasses.replace(TOY, work=lambda size: work_of(5))
    return reproduce("toy", five, tmp_path_factory.mktemp("five"), "quick")


def test_seeds_of_a_folder_merge_as_if_all_had_run_at_once(tmp_path, shipped, at_once):
    before = shipped.read_bytes()
    outcome = run_further("toy", TOY, tmp_path / "r", "quick", 2)
    assert (outcome["added"], drawn.calls) == (2, [3, 4])  # the first three are in the folder
    assert outcome["before"]["claims"] == json.loads(before)["claims"]
    assert outcome["result"]["claims"] == at_once["claims"]
    assert outcome["result"]["seeds"] == [0, 1, 2, 3, 4]
    assert shipped.read_bytes() == before
    assert changes(outcome)[0].startswith("2 seeds added in ")


def test_seeds_merge_with_the_numbers_that_ship(tmp_path, shipped, at_once):
    before = shipped.read_bytes()
    outcome = run_further("toy", TOY, tmp_path / "cache", "quick", 2)
    assert drawn.calls == [3, 4]
    assert outcome["before"] == json.loads(before)
    now, expected = measured(outcome["result"]), measured(at_once)
    for key, entry in expected.items():
        assert now[key]["n"] == entry["n"]
        assert (now[key]["value"], now[key]["error"]) == pytest.approx((entry["value"], entry["error"]))
    assert [c["verdict"] for c in outcome["result"]["claims"]] == [c["verdict"] for c in at_once["claims"]]
    assert outcome["result"]["merged_with"]["seeds"] == [0, 1, 2]
    assert shipped.read_bytes() == before
    again = run_further("toy", TOY, tmp_path / "cache", "quick", 2)
    assert drawn.calls == [3, 4, 5, 6]
    assert again["before"]["claims"] == outcome["result"]["claims"]
    assert measured(again["result"])["x"]["n"] == 7


def test_the_minutes_of_all_seeds_count(tmp_path, shipped):
    path = tmp_path / "r" / "toy-quick" / "chains-seconds.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"seconds": 6000}))
    assert run_further("toy", TOY, tmp_path / "r", "quick", 2)["result"]["core_minutes"] >= 100


def test_a_damaged_seed_is_run_again(tmp_path, shipped):
    first = run_further("toy", TOY, tmp_path / "cache", "quick", 2)["result"]
    place = tmp_path / "cache" / "toy-quick"
    [torn] = place.glob("one-4-*.json")
    torn.write_text(torn.read_text()[:10])
    (place / "result.json").write_text("{")
    again = run_further("toy", TOY, tmp_path / "cache", "quick", 1)
    assert (drawn.calls, again["added"]) == ([3, 4, 4], 1)
    assert again["result"]["claims"] == first["claims"]


def test_replications_merge_as_estimates():
    x = np.random.default_rng(3).normal(5, 2, 9)
    for n in (1, 4, 8):
        both = Estimate.of(x[:n]).merged(Estimate.of(x[n:]))
        assert both == pytest.approx(Estimate.of(x))
    assert Estimate.of([2, 2]).merged(Estimate.of([2])) == Estimate.of([2, 2, 2])


def test_the_command(tmp_path, shipped, capsys, monkeypatch):
    monkeypatch.setenv("RBMVIZ_CACHE_DIR", str(tmp_path / "home"))
    assert main(["reproduce", "toy", "--more", "2", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["added"], result["size"]) == (2, "quick")
    assert [entry["verdict"] for entry in result["before"]] == ["not decided", "holds"]
    assert (tmp_path / "home" / "reproduce" / "toy-quick" / "result.json").is_file()
    drawn.interrupted = 6  # of the next two seeds the first is kept
    assert main(["reproduce", "toy", "--more", "2"]) == 130
    said = capsys.readouterr()
    assert "1 seed added" in said.out
    assert "x: " in said.out
    assert "(before: " in said.out
    for wrong, sentence in (
        (["toy", "--more", "0"], "whole number"),
        (["all", "--more", "2"], "name it in place of 'all'"),
        (["--more", "2"], "name a recipe"),
    ):
        assert main(["reproduce", *wrong]) == 2
        assert sentence in capsys.readouterr().err


def test_a_seed_that_does_not_fit_is_refused(tmp_path, shipped):
    long = dataclasses.replace(TOY, cost={"quick": 10.0})
    with pytest.raises(BadInput, match=r"One seed of 'toy' takes about 3.33 minutes .*: give --more 4\."):
        run_further("toy", long, tmp_path / "cache", "quick", 2)
    with pytest.raises(BadInput, match="no full run"):
        run_further("toy", TOY, tmp_path / "cache", "full", 2)
    assert not drawn.calls
    assert not (tmp_path / "cache").exists()


RUNS = [(name, size) for name, recipe in all_recipes().items() if recipe.work for size in recipe.cost]


@pytest.mark.parametrize(("name", "size"), RUNS)
def test_every_recipe_has_further_seeds(name, size):
    """Its jobs differ in their seeds alone, so that others can be added."""
    work = all_recipes()[name].work(size)
    new, every = further(work, 0, 2), further(work, 0, 2, own=True)
    names = [item.name for item in every]
    assert len(set(names)) == len(names)
    assert [item for item in every if item in work and isinstance(item, Job)] == [
        item for item in work if isinstance(item, Job)
    ]
    seen = {}
    for item in new:
        if isinstance(item, SweepRun):
            [own] = [other.plan.seeds for other in work if other.name == item.name]
            assert item.plan.seeds == (len(own), len(own) + 1)
        elif "seed" in item.arguments:
            assert item not in work
            rest = {key: value for key, value in item.arguments.items() if key != "seed"}
            seen.setdefault(item.name.rpartition("-")[0], []).append(rest)
    for item in work:
        if isinstance(item, Job) and "seed" in item.arguments:
            rest = {key: value for key, value in item.arguments.items() if key != "seed"}
            assert seen[item.name.rpartition("-")[0]] == [rest, rest]
