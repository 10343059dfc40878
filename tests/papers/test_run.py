"""Running recipes: what is there is not computed again, and further seeds are as if all had run at once."""

import dataclasses
import json

import numpy as np
import pytest

from papers import __main__ as command
from papers import run as module
from papers.claims import Bound, Estimate, claim
from papers.drawing import Drawing
from papers.recipe import Job, Recipe, SweepRun, all_recipes, per_seed, recipes_of
from papers.run import identity, run
from papers.tables import by_seed, mean
from rbmviz import BadInput
from rbmviz.sweeps import Budget, SweepPlan


def drawn(seed, model):
    drawn.calls.append(seed)
    return {"x": float(np.random.default_rng([seed, 3]).normal(1.5, 0.3)), "y": float("inf")}


def exact():
    return {"x": 0.25}


def work(size):
    plan = SweepPlan(algorithms=["gibbs"], models=["bas_pcd"], seeds=range(3), budget=Budget("samples", 20))
    return [
        SweepRun("chains", plan),
        *per_seed("one", drawn, {"model": "bas_cd1"}, range(3)),
        Job("exact", exact, {}),
    ]


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
    source="Section 0, figure 2",
    claims=(
        claim("half", "It is one and a half.", "1.5", Bound("x", "x", 1, 2)),
        claim("rest", "The rest.", "-", Bound("isl", "ISL", at_most=0), Bound("exact", "exact", at_most=0.3)),
        claim("more", "More.", "-", Bound("other", "another number", at_least=0)),
    ),
    about="A toy.",
    cost={"quick": 0.1, "full": 2500},
    work=work,
    numbers=numbers,
    drawing=lambda measured, size: Drawing(
        [{"x": 1, "y": 2.0, "low": float("nan"), "series": "gibbs"}], "x", "y"
    ),
)


@pytest.fixture(autouse=True)
def no_calls():
    drawn.calls = []


@pytest.fixture
def toy(monkeypatch):
    """Let the toy be the only recipe."""
    monkeypatch.setattr("papers.recipe.all_recipes", lambda: {"toy": TOY})


def test_only_what_is_missing_is_computed(tmp_path):
    first = run("toy", TOY, tmp_path, "quick")
    assert sorted(drawn.calls) == [0, 1, 2]  # on threads
    [torn] = (tmp_path / "toy-quick").glob("one-1-*.json")
    torn.write_text(torn.read_text()[:10])  # a killed process, or a full disk
    assert run("toy", TOY, tmp_path, "quick") == first
    assert sorted(drawn.calls) == [0, 1, 1, 2]
    assert json.loads((tmp_path / "toy-quick.json").read_text()) == first
    assert (first["seeds"], set(first["models"])) == ([0, 1, 2], {"bas_pcd", "bas_cd1"})
    assert first["machine"]["cores"]
    assert len(first["cite"]) == 2
    assert first["command"] == "python -m papers toy --size quick"
    assert (tmp_path / "toy-quick.svg").read_text().startswith("<svg")


def test_further_seeds_are_as_if_all_had_run_at_once(tmp_path):
    run("toy", TOY, tmp_path / "twice", "quick")
    drawn.calls.clear()
    result = run("toy", TOY, tmp_path / "twice", "quick", range(3, 5))
    assert sorted(drawn.calls) == [3, 4]
    assert result["seeds"] == [0, 1, 2, 3, 4]
    at_once = run("toy", TOY, tmp_path / "once", "quick", range(5))
    assert result["claims"] == at_once["claims"]
    assert result["claims"][0]["measured"][0]["n"] == 5


def test_another_line_of_code_is_another_job_and_another_text_is_not(monkeypatch, tmp_path):
    """A job's file is named by its recipe's code, but for the texts and the numbers made of its results."""
    path = tmp_path / "recipe_of_a_test.py"
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(module, "_code", module._code.__wrapped__)

    def identity_with(line, text):
        path.write_text(
            f"def work():\n    return {line}\n\ndef numbers():\n    return 1\n\nRECIPE = {text!r}\n"
        )
        import recipe_of_a_test

        return identity(Job("one", recipe_of_a_test.work, {"x": 1}))

    first = identity_with("1", "a claim")
    assert identity_with("1", "another claim") == first
    assert identity_with("2", "a claim") != first


def test_recipes_are_found_by_name_and_figure():
    """By a name, its beginning, or the number of a figure or table, with upper and lower case alike."""
    every = all_recipes()
    assert list(recipes_of(["Unbiased_CD_bas"])) == ["unbiased_cd_bas"]
    assert list(recipes_of(["rates_fpcd_decay"])) == ["rates_fpcd_decay"]  # not what begins like it
    assert len(recipes_of(["population"])) == sum(name.startswith("population") for name in every)
    assert "unbiased_cd_bas" in recipes_of(["FIG2"]).keys() & recipes_of(["table1"]).keys()
    assert list(recipes_of(["rates", "fig2"])) == [
        name for name in recipes_of(["figure2"]) if name.startswith("rates")
    ]
    assert recipes_of(["all"]) == every
    with pytest.raises(BadInput, match="Unknown recipe 'unbiased_cd_bass': did you mean 'unbiased_cd_bas'"):
        recipes_of(["unbiased_cd_bass"])


def test_the_command(toy, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(command, "all_recipes", lambda: {"toy": TOY})
    assert command.main([]) == 0
    assert "2,500  Section 0, figure 2: A toy" in capsys.readouterr().out
    assert command.main(["fig2", "--size", "quick", "--seeds", "4:3", "--out", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "About 0.1 core-minutes" in said
    assert "NOT DECIDED: It is one and a half.\n  the paper: 1.5" in said
    assert "NOT RUN AT THIS SIZE: More." in said
    assert "It is not part of a quick run. A full run needs about 2,500 core-minutes." in said
    assert json.loads((tmp_path / "toy-quick.json").read_text())["seeds"] == [4, 5, 6]
    assert command.main(["nothing"]) == 2
    assert "Unknown recipe 'nothing'" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        command.main(["toy", "--seeds", "4"])
    assert "FROM:COUNT" in capsys.readouterr().err


def test_missing_data_do_not_end_the_other_recipes(tmp_path, capsys, monkeypatch):
    lacking = dataclasses.replace(TOY, needs=("usps",))
    monkeypatch.setenv("RBMVIZ_CACHE_DIR", str(tmp_path / "none"))
    monkeypatch.delenv("RBMVIZ_DATA_DIR", raising=False)
    monkeypatch.setattr("papers.recipe.all_recipes", lambda: {"lacking": lacking, "toy": TOY})
    assert command.main(["all", "--size", "quick", "--out", str(tmp_path)]) == 2
    assert "rbmviz data get usps" in capsys.readouterr().out
    assert not (tmp_path / "lacking-quick.json").exists()
    assert (tmp_path / "toy-quick.json").exists()
