"""``rbmviz sweep``: run, resume, show, robustness; its files, its sentences, its exit status."""

import csv
import importlib
import os
import re
import signal
import sqlite3
import subprocess
import sys

import pytest
from command_line import refused, run
from waiting import PATIENCE, wait

from rbmviz.cli import main
from rbmviz.errors import BadInput
from rbmviz.knobs import write_algorithm
from rbmviz.samplers import make_sampler
from rbmviz.sweeps import Store

SMALL = "sweep --model bas_pcd --sampler rates_fpcd --axis eps=0.03,0.3 -n 300 --replications 2".split()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A sweep that has been run; tests do not change it."""
    made = tmp_path_factory.mktemp("sweep") / "made"
    assert main([*SMALL, "--axis", "alpha=0.9,1", "--out", str(made)]) == 0
    return made


def test_sweep_show_returns_its_cells(capsys, folder):
    result = run(capsys, "sweep", "show", folder)
    assert (result["done"], result["of"], result["failed"]) == (8, 8, [])
    assert len(result["cells"]) == 4
    first = result["cells"][0]
    assert set(first["knobs"]) == {"eps", "alpha"}
    assert {"n", "mean", "std_error", "seconds", "test", "blank", "difference"} <= set(first)
    assert first["mean"] == max(cell["mean"] for cell in result["cells"])
    assert first["low"] < first["mean"] < first["high"]
    alone = len(result["region"]) == 1
    assert (result["best"] is None) == (not alone)
    [choice] = result["choices"]
    assert (choice["at"], choice["effort"], choice["seeds"]) == (300, "samples", [0, 1])
    assert run(capsys, "sweep", "show", folder, "--at", 50)["choices"][0]["at"] == 50
    [wide] = run(capsys, "sweep", "show", folder, "--margin", 1000)["choices"]
    assert (wide["margin"], wide["unsure"], wide["region"]) == (1000, [], result["region"])
    assert choice["margin"] == pytest.approx(abs(first["mean"]) / 100)


def test_a_race_leaves_cells_out(capsys, tmp_path):
    words = (
        f"sweep --model bas_pcd --sampler rates_fpcd --axis eps=0.001:0.3:6:log -n 400 --out {tmp_path}/race"
    )
    assert main([*words.split(), "--race"]) == 0
    end = capsys.readouterr().out.splitlines()[-1]
    done = int(end.split()[0])
    assert end == f"{done} of 30 cells are in '{tmp_path}/race'; the race left the others out"
    assert 12 <= done < 30
    assert run(capsys, "sweep", "resume", f"{tmp_path}/race")["computed"] == 0
    assert run(capsys, *words.split())["done"] == 30  # the full grid, in the same folder
    assert main([*words.split(), "--race", "--replications", "2"]) == 0
    assert capsys.readouterr().out.endswith("race'\n")


def test_the_table_of_the_terminal(capsys, folder):
    assert main(["sweep", "show", str(folder)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "isl_validation after 300 samples on bas_pcd"
    assert re.match(r"\* rates_fpcd eps=\S+ alpha=\S+ +-\d+\.\d{3} ", lines[2])
    assert len([line for line in lines if re.match(r"[*?x ] rates_fpcd eps", line)]) == 4
    assert any(" +- " in line and "over seeds on the test part" in line for line in lines)
    assert run(capsys, "sweep", "show", folder)["choices"][0]["answer"] in "\n".join(lines)
    assert lines[-1] == f"8 of 8 cells are in '{folder}'"


def test_by_a_measure_without_a_better_end_nothing_is_the_best(capsys, tmp_path):
    out = ("--out", tmp_path / "s")
    assert run(capsys, *SMALL, "--metric", "ink", "--metric", "isl_validation", *out)["cells"]
    by_ink = run(capsys, "sweep", "show", tmp_path / "s", "--by", "ink")
    assert by_ink["best"] is None
    assert main(["sweep", "show", str(tmp_path / "s"), "--by", "ink"]) == 0
    assert "Neither high nor low values of 'ink' are better" in capsys.readouterr().out


def test_resume_and_longer_axes_compute_what_is_missing(capsys, tmp_path):
    folder = tmp_path / "s"
    assert run(capsys, *SMALL, "--out", folder)["computed"] == 4
    with sqlite3.connect(folder / "sweep.sqlite") as db:
        db.execute("delete from cell where number = 2")
    assert run(capsys, "sweep", "resume", folder)["computed"] == 1
    assert run(capsys, *SMALL, "--out", folder)["computed"] == 0
    longer = [word.replace("0.03,0.3", "0.03,0.1,0.3") for word in SMALL[:-1]]
    more = run(capsys, *longer, 3, "--out", folder)
    assert (more["done"], more["computed"]) == (9, 5)
    assert Store(folder).plan().axes[0].values == (0.03, 0.1, 0.3)
    more = run(capsys, *longer, 3, "--sampler", "gibbs:k=2", "--model", "bas_cd1", "--out", folder)
    assert (more["done"], more["computed"]) == (24, 15)
    assert write_algorithm(make_sampler("gibbs", k=2)) in Store(folder).plan().algorithms
    assert (more["best"], len(more["choices"])) == (None, 2)
    found = run(capsys, "sweep", "robustness", folder)["robustness"]
    assert len(found) == 4
    assert found[0]["models"] == ["bas_pcd", "bas_cd1"]
    assert main(["sweep", "robustness", str(folder)]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"^gibbs +3 +-\d+\.\d{3}", shown, re.MULTILINE)  # of three seeds
    assert "rates_fpcd eps=0.1 " in shown


def test_knobs_of_flags_and_of_texts(capsys, tmp_path):
    words = "sweep --model bas_pcd --sampler rates_fpcd:alpha=0.9 --sampler gibbs --n-chains 2 --k=3 -n 20"
    words += " --budget sweeps --seed 7 --replications 1 --init random --kernel mean --metric blank"
    result = run(capsys, *words.split(), "--metric", "isl", "--out", tmp_path / "s")
    plan = Store(tmp_path / "s").plan()
    assert plan.algorithms == (
        write_algorithm(make_sampler("rates_fpcd", alpha=0.9, k=3, n_chains=2)),
        write_algorithm(make_sampler("gibbs", k=3, n_chains=2)),
    )
    assert (plan.budget.unit, plan.budget.amount, plan.seeds) == ("sweeps", 20, (7,))
    assert (plan.start, plan.kernel) == ("random", "mean")
    assert plan.metrics == ("blank", "isl_validation", "isl_test")
    assert result["done"] == 2


def test_trainers(capsys, tmp_path):
    words = "sweep --trainer cd --trainer ucd:n_chains=50 --dataset bas --axis learning_rate=0.01,0.1 -n 20"
    result = run(capsys, *words.split(), "--n-hidden", 4, "--replications", 2, "--out", tmp_path / "s")
    assert (result["done"], len(result["cells"])) == (8, 4)
    assert result["choices"][0]["effort"] == "updates"
    assert result["choices"][0]["by"].startswith("log_likelihood")


def test_files(capsys, folder, tmp_path):
    svg, png, table = (tmp_path / f"f.{ending}" for ending in ("svg", "png", "csv"))
    run(capsys, "sweep", "show", folder, "--figure", svg, "--csv", table)
    with table.open() as file:
        read = list(csv.DictReader(file))
    assert {row["knob_eps"] for row in read} == {"0.03", "0.3"}
    drawn = svg.read_text()
    [identity] = set(Store(folder).read()["model_digest"])
    for word in ("rbmviz 0.1.0", identity, "seeds 0 to 1", "ISL, validation part", "rbmviz sweep", "alpha"):
        assert word in drawn, word
    run(capsys, "sweep", "show", folder, "--figure", png)
    assert png.read_bytes().startswith(b"\x89PNG")


def test_sweep_refuses_bad_axes_before_computing(capsys, folder, tmp_path):
    out, known = tmp_path / "new", ["--model", "bas_pcd", "--sampler", "rates_fpcd"]
    before = sorted(os.listdir(folder))
    for words, sentence in (
        ([*known, "--axis", "epz=1,2"], "Unknown knob 'epz': did you mean 'eps'?"),
        ([*known, "--max-sweeps", "2"], "has no knob 'max_sweeps'"),
        ([*known, "--modle", "bas_cd1"], "did you mean 'model'?"),
        ([*known, "--EPS", "0.1"], "did you mean 'eps'?"),
        ([*known, "--rac"], "--rac is no option, or needs a value"),
        ([*known, "--n-hidden", "5"], "--n-hidden belongs to trainers"),
        ([*known, "--budget", "seconds"], "needs -n"),
        ([*known, "--trainer", "cd"], "give samplers"),
        (["--sampler", "gibbs"], "no model"),
        (["--trainer", "cd"], "needs the data"),
        ([*known, "--workers", "2", "--scheduler", "tcp://x:1"], "both say where it runs"),
        ([*known, "--figure", tmp_path / "x.jpg"], "must end in .svg or .png"),
        ([*known, "--csv", tmp_path / "none" / "x.csv"], "does not exist"),
        ([*known, "--csv", tmp_path / "x.svg", "--figure", tmp_path / "x.svg"], "would overwrite --csv"),
        (["resum", *known], "Did you mean 'resume'?"),
    ):  # fmt: skip
        assert sentence in refused(capsys, "sweep", *words, "--out", out), words
        assert not out.exists(), words
    for words, sentence in (
        (["show"], "name the folder"),
        (["show", tmp_path / "none"], "There is no folder"),
        (["show", folder, "--axis", "eps=1"], "leave --axis out"),
        (["show", folder, "--eps", "1"], "leave --eps out"),
        (["show", folder, "--by", "spurious2"], "spurious2"),
        (["show", folder, "--at", 10**6], "has reached"),
        (["robustness", folder], "two or more models"),
        (["robustness", folder, "--csv", tmp_path / "x.csv"], "leave --csv and --figure out"),
        (["resume", folder, "--seed", "3"], "leave --seed out"),
        (["run", folder], "given as --out DIR"),
    ):
        assert sentence in refused(capsys, "sweep", *words), words
    assert sorted(os.listdir(folder)) == before


def count(folder):
    try:
        return Store(folder).count()
    except BadInput:  # its tables are not there yet
        return 0


def test_a_pipe_is_no_sweep(capsys, tmp_path):
    os.mkfifo(tmp_path / "sweep.sqlite")
    held = os.open(tmp_path / "sweep.sqlite", os.O_RDWR)  # or a reader would wait for a writer
    assert "holds other files" in refused(capsys, "sweep", "resume", tmp_path)
    os.close(held)


def test_an_interrupt_says_how_to_go_on(tmp_path):
    folder = tmp_path / "s"
    words = "sweep --model bas_pcd --sampler rates_fpcd --axis eps=0.01:0.3:20 -n 3000 --workers 1 --out"
    command = [sys.executable, "-m", "rbmviz", *words.split(), str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait(lambda: (folder / "sweep.sqlite").exists() and count(folder) >= 2, "two cells")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, err
    [n] = re.findall(
        r"Interrupted: (\d+) of 100 cells are in '.*', and 'rbmviz sweep resume .*' computes", err
    )
    assert int(n) == count(folder)
    assert f"{n} of 100 cells are in" in out
    assert "Traceback" not in err


def test_results_of_other_code_are_shown_and_computed_anew(capsys, tmp_path, monkeypatch):
    out = tmp_path / "made"
    with monkeypatch.context() as patch:
        for module in ("cell", "run"):
            module = importlib.import_module(f"rbmviz.sweeps.{module}")
            patch.setattr(module, "version_of", lambda kind, name: f"{len(name):016}")
        before = run(capsys, *SMALL, "--sampler", "gibbs", "--out", out)
    assert main(["sweep", "show", str(out)]) == 0
    captured = capsys.readouterr()
    assert "holds no result of this version of the code; these are the 6 of another version" in captured.err
    assert run(capsys, "sweep", "show", out)["cells"] == before["cells"]
    assert run(capsys, "sweep", "resume", out)["computed"] == 6
    assert count(out) == 12
