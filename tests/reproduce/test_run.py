"""Running recipes: what is there is not computed again, and results say where they are from."""

import csv
import dataclasses
import inspect
import json
import sys

import pytest

from rbmviz import BadInput
from rbmviz.cli import main
from rbmviz.reproduce import Bound, Estimate, PaperClaim, Recipe, claims, reproduce
from rbmviz.reproduce.drawing import Drawing
from rbmviz.reproduce.recipe import Job, SweepRun, recipe_named
from rbmviz.reproduce.run import _not_run, job_identity
from rbmviz.sweeps import Budget, SweepPlan


def counted(seed, model):
    counted.calls.append(seed)
    return {"x": seed + 0.5, "y": float("inf")}


counted.calls = []


def work(size):
    plan = SweepPlan(algorithms=["gibbs"], models=["bas_pcd"], seeds=[0, 1], budget=Budget("samples", 20))
    jobs = [Job(f"one-{seed}", counted, {"seed": seed, "model": "bas_cd1"}) for seed in range(3)]
    return [SweepRun("chains", plan), *jobs]


def numbers(found, size):
    return {
        "x": Estimate.of([one["x"] for one in found.each("one-")]),
        "n": Estimate(len(found.tables["chains"]["n"])),
    }


def drawing(found, size):
    return Drawing([{"x": 1, "y": 2.0, "low": float("nan"), "series": "gibbs"}], "x", "y")


TOY = Recipe(
    paper="rates_fpcd",
    place=1,
    title="A toy",
    source="Section 0",
    claims=(PaperClaim("half", "It is one and a half.", "1.5", (Bound("x", "x", 1, 2),)),),
    about="A toy.",
    cost={"quick": 0.1},
    work=work,
    numbers=numbers,
    drawing=drawing,
)


def test_what_is_there_is_not_computed_again(tmp_path):
    counted.calls.clear()
    first = reproduce("toy", TOY, tmp_path / "r", "quick")
    assert sorted(counted.calls) == [0, 1, 2]  # on threads
    place = tmp_path / "r" / "toy-quick"
    [torn] = place.glob("one-1-*.json")
    torn.write_text(torn.read_text()[:10])  # a killed process, or a full disk
    assert reproduce("toy", TOY, tmp_path / "r", "quick")["claims"] == first["claims"]
    assert sorted(counted.calls) == [0, 1, 1, 2]
    assert len(list((place / "chains").glob("*.parquet"))) == 2
    stored = json.loads((place / "result.json").read_text())
    assert stored["claims"] == first["claims"]
    assert stored["seeds"] == [0, 1, 2]
    assert set(stored["models"]) == {"bas_pcd", "bas_cd1"}
    assert stored["machine"]["cores"]
    assert len(stored["cite"]) == 2
    svg = (place / "figure.svg").read_text()
    assert "rbmviz reproduce toy" in svg
    [row] = csv.DictReader((place / "figure.csv").read_text().splitlines())
    assert (row["x"], row["y"], row["series"]) == ("1", "2.0", "gibbs")
    assert json.loads(row["origin"])["models"] == stored["models"]
    for cell in (place / "chains").glob("*.parquet"):
        cell.unlink()  # as good as of other code
    (place / "chains-seconds.json").write_text('{"seconds": 6000}')
    assert reproduce("toy", TOY, tmp_path / "r", "quick")["core_minutes"] < 100


SCALE = 2.0


def doubled(x):
    return SCALE * x


def calls_another(x):
    return {"x": [doubled(one) for one in x]}


def test_a_piece_is_another_when_what_its_function_calls_has_changed(monkeypatch):
    def identities():
        large = recipe_named("population_cd_large").work("quick")[0]
        return [job_identity(job, "code") for job in (large, Job("doubled", calls_another, {"x": 1}))]

    before, source = identities(), inspect.getsource
    assert identities() == before

    def changed(name):
        def getsource(one):
            return source(one) + "    # changed\n" * (one.__name__ == name)

        return getsource

    monkeypatch.setattr("inspect.getsource", changed("annealed"))
    assert [now != then for now, then in zip(identities(), before, strict=True)] == [True, False]
    monkeypatch.setattr("inspect.getsource", changed("doubled"))
    assert [now != then for now, then in zip(identities(), before, strict=True)] == [False, True]
    monkeypatch.setattr("inspect.getsource", source)
    monkeypatch.setattr(sys.modules[__name__], "SCALE", 3.0)
    assert [now != then for now, then in zip(identities(), before, strict=True)] == [False, True]


SCALES = {"small": 0.5}


def scaled(x):
    return {"x": [SCALES["small"] * one for one in x]}


def judged(x):
    return {"x": [claims.SIZES for _ in x]}


@pytest.mark.parametrize(("function", "name"), [(scaled, "SCALES"), (judged, "claims")])
def test_a_job_uses_nothing_that_could_change_unnoticed(function, name):
    with pytest.raises(TypeError, match=f"{function.__name__} uses {name}, and a change of it"):
        job_identity(Job("scaled", function, {"x": [1]}), "code")


def test_another_size_is_not_run(tmp_path):
    result = reproduce("toy", TOY, tmp_path, "full")
    assert [claim["verdict"] for claim in result["claims"]] == ["not run at this size"]
    assert "0.1 core-minutes" in result["claims"][0]["reason"]
    assert list(tmp_path.iterdir()) == []


def test_why_a_claim_has_no_numbers():
    recipe = dataclasses.replace(TOY, cost={"quick": 2.5, "full": 2500})
    assert _not_run(recipe, "quick", True).reason == (
        "It is not part of a quick run. A full run needs about 2,500 core-minutes."
    )
    assert _not_run(recipe, "quick", False).reason == (
        "It has not been run. A quick run needs about 2.5 core-minutes. "
        "A full run needs about 2,500 core-minutes."
    )


def test_a_file_in_the_place_of_the_folder(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(BadInput, match="is a file: name a folder"):
        reproduce("toy", TOY, tmp_path / "file", "quick")


def test_the_command(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("rbmviz.reproduce.recipe.all_recipes", lambda: {"toy": TOY})
    monkeypatch.setattr("rbmviz.cli.reproduce.all_recipes", lambda: {"toy": TOY})
    assert main(["reproduce", "--json"]) == 0
    [listed] = json.loads(capsys.readouterr().out)["recipes"]
    assert (listed["recipe"], listed["core_minutes"]) == ("toy", {"quick": 0.1})
    assert main(["reproduce"]) == 0
    assert "A toy" in capsys.readouterr().out
    assert main(["reproduce", "all", "--out", str(tmp_path), "--quick", "--json"]) == 0
    said = capsys.readouterr()
    assert "About 0.1 core-minutes" in said.err
    [claim] = json.loads(said.out)["claims"]
    assert (claim["paper"], claim["holds"], claim["verdict"]) == ("1.5", None, "not decided")
    assert claim["measured"][0]["value"] == 1.5
    assert main(["reproduce", "toy", "--out", str(tmp_path)]) == 0
    assert "NOT RUN AT THIS SIZE: It is one and a half." in capsys.readouterr().out
    for wrong, sentence in (
        (["toys", "--out", "x"], "Unknown recipe 'toys': did you mean 'toy'?"),
        (["reviews", "--out", "x"], "Unknown recipe 'reviews': 'rbmviz reproduce' lists all."),
        (["toy"], "give the folder"),
        (["--quick"], "name a recipe"),
    ):
        assert main(["reproduce", *wrong]) == 2
        assert sentence in capsys.readouterr().err


def test_a_recipe_whose_data_are_missing_does_not_end_all(tmp_path, capsys, monkeypatch):
    import dataclasses

    lacking = dataclasses.replace(TOY, needs=("usps",))
    monkeypatch.setenv("RBMVIZ_CACHE_DIR", str(tmp_path / "none"))
    monkeypatch.delenv("RBMVIZ_DATA_DIR", raising=False)
    monkeypatch.setattr("rbmviz.cli.reproduce.all_recipes", lambda: {"lacking": lacking})
    assert main(["reproduce", "all", "--out", str(tmp_path), "--quick", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["failed"][0]["recipe"] == "lacking"
    assert result["claims"][0]["verdict"] == "not run at this size"
    assert "rbmviz data get usps" in result["claims"][0]["reason"]
