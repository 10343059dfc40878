"""``rbmviz sweep``: run, resume, show, robustness; its files, its sentences, its exit status."""

import csv
import importlib
import os
import re
import signal
import sqlite3
import subprocess
import sys

import numpy as np
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
    assert first["difference"] == 0
    alone = len(result["region"]) == 1
    assert (result["best"] is None) == (not alone)
    [choice] = result["choices"]
    assert (choice["at"], choice["effort"], choice["seeds"]) == (300, "samples", [0, 1])
    assert run(capsys, "sweep", "show", folder, "--at", 50)["choices"][0]["at"] == 50


def test_the_table_of_the_terminal(capsys, folder):
    assert main(["sweep", "show", str(folder)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("isl_validation after 300 samples on bas_pcd, 2 seeds")
    assert re.match(r"\* rates_fpcd eps=\S+ alpha=\S+ +-\d+\.\d{3} ", lines[2])
    assert len([line for line in lines if re.match(r"[*x ] rates_fpcd eps", line)]) == 4
    assert any(" +- " in line and "over seeds on the test part" in line for line in lines)
    assert lines[-1] == f"8 of 8 cells are in '{folder}'"


def test_only_one_setting_is_best_where_it_can_be_told(capsys, tmp_path):
    """Of two steps, one never leaves its start: the region is one setting, and --json names it."""
    words = "sweep --model bas_pcd --sampler rates_fpcd --grid eps=lin:0.0001:0.3:2 -n 2000".split()
    result = run(capsys, *words, "--metric", "isl", "--replications", 3, "--out", tmp_path / "s")
    assert result["best"]["knobs"] == {"eps": 0.3}
    assert result["best"]["validation"] > result["cells"][1]["mean"]
    assert np.isfinite(result["best"]["test"])
    assert len(result["region"]) == 1
    assert "The best step size (eps), 0.3, is the largest tried" in result["choices"][0]["border"][0]


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


def test_a_new_axis_keeps_the_settings_that_were_there(capsys, tmp_path):
    run(capsys, *SMALL, "--out", tmp_path / "s")
    more = run(capsys, *SMALL, "--axis", "alpha=0.9,1", "--out", tmp_path / "s")
    assert (more["done"], more["computed"]) == (8, 4)
    assert Store(tmp_path / "s").plan().axes[1].values == (0.9, 1.0)


def test_the_error_of_one_seed_is_left_out(capsys, tmp_path):
    assert main([*SMALL[:-1], "1", "--out", str(tmp_path / "s")]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"eps=0\.\d+ +-?\d+\.\d{3} +[+-]\d+\.\d{3} +\d", shown)
    assert "nan" not in shown


def test_knobs_of_flags_and_of_texts(capsys, tmp_path):
    words = "sweep --model bas_pcd --sampler rates_fpcd:alpha=0.9 --sampler gibbs --n-chains 2 --k=3 -n 20"
    result = run(
        capsys, *words.split(), "--budget", "sweeps", "--seed", 7, "--replications", 1, "--init", "random",
        "--kernel", "mean", "--metric", "blank", "--metric", "isl", "--out", tmp_path / "s",
    )  # fmt: skip
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
    [identity] = set(Store(folder).read().columns["model_digest"])
    for word in ("rbmviz 0.1.0", identity, "seeds 0 to 1", "ISL, validation part", "rbmviz sweep", "alpha"):
        assert word in drawn, word
    run(capsys, "sweep", "show", folder, "--figure", png)
    assert png.read_bytes().startswith(b"\x89PNG")


def test_sweep_refuses_bad_axes_before_computing(capsys, folder, tmp_path):
    out, known = tmp_path / "new", ["--model", "bas_pcd", "--sampler", "rates_fpcd"]
    before = sorted(os.listdir(folder))
    for words, sentence in (
        ([*known, "--axis", "epz=1,2"], "Unknown knob 'epz': did you mean 'eps'?"),
        ([*known, "--axis", "eps="], "The axis 'eps' is empty"),
        ([*known, "--axis", "eps"], "gives no values"),
        ([*known, "--axis", "eps=0.1:7:3"], "outside 0, or 0.0001 to 1"),
        ([*known, "--axis", "eps=log:0.1:x:3"], "cannot be read"),
        ([*known, "--axis", "eps=0.001:1:999", "--axis", "alpha=0.1:1:999"], "cells, of which 100,000 are"),
        ([*known, "--metric", "isl2"], "Unknown metric"),
        ([*known, "--max-sweeps", "2"], "has no knob 'max_sweeps'"),
        ([*known, "--n-hidden", "5"], "--n-hidden belongs to trainers"),
        ([*known, "--budget", "seconds"], "needs -n"),
        ([*known, "--trainer", "cd"], "give samplers"),
        (["--sampler", "gibbs"], "no model"),
        (["--sampler", "gibbs", "--model", "nothing"], "nothing"),
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
        (["resume", folder, "--out", "x"], "leave --out out"),
        (["robustness", folder, "--csv", "x.csv"], "leave --csv out"),
        (["robustness", folder], "two or more models"),
        (["run", folder], "given as --out DIR"),
    ):
        assert sentence in refused(capsys, "sweep", *words), words
    assert sorted(os.listdir(folder)) == before


def test_unreachable_scheduler_is_reported(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("rbmviz.sweeps.cluster.CONNECT_SECONDS", 0.2)
    assert main([*SMALL, "--out", str(tmp_path / "s"), "--scheduler", "tcp://127.0.0.1:9"]) == 2
    assert "No Dask scheduler answers at 'tcp://127.0.0.1:9'" in capsys.readouterr().err


def test_unwritable_folder_is_reported(capsys, folder, monkeypatch, tmp_path):
    """As on a disk that is read-only, also for root: the file that is tried first cannot be made."""

    def touch(self, **more):
        raise OSError(30, "Read-only file system", str(self))

    monkeypatch.setattr("pathlib.Path.touch", touch)
    message = refused(capsys, *SMALL, "--out", tmp_path, status=1)
    assert "the disk is read-only" in message


def count(folder):
    try:
        return Store(folder).count()
    except BadInput:  # its tables are not there yet
        return 0


def test_damaged_file_and_folders_of_something_else_are_one_sentence(capsys, tmp_path):
    folder = tmp_path / "s"
    run(capsys, *SMALL, "--out", folder)
    file = folder / "sweep.sqlite"
    file.write_bytes(file.read_bytes()[:5000])
    assert "cannot be read" in refused(capsys, "sweep", "show", folder)
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "_plan.json").write_text("{}")
    for words in (["sweep", "show"], ["sweep", "resume"], [*SMALL, "--out"]):
        assert "a sweep of an older rbmviz, as Parquet files" in refused(capsys, *words, tmp_path / "old")
    (tmp_path / "pipe").mkdir()
    os.mkfifo(tmp_path / "pipe" / "sweep.sqlite")
    held = os.open(tmp_path / "pipe" / "sweep.sqlite", os.O_RDWR)  # or a reader would wait for a writer
    assert "holds other files" in refused(capsys, "sweep", "resume", tmp_path / "pipe")
    os.close(held)


def test_command_says_which_settings_are_as_good(capsys, folder):
    assert main(["sweep", "show", str(folder)]) == 0
    shown = capsys.readouterr().out
    assert run(capsys, "sweep", "show", folder)["choices"][0]["answer"] in shown


def test_an_interrupt_says_how_to_go_on(tmp_path):
    folder = tmp_path / "s"
    words = (
        "sweep --model bas_pcd --sampler rates_fpcd --axis eps=0.01:0.3:20 -n 3000 --workers 1 --out".split()
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "rbmviz", *words, str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
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


def test_progress_is_a_bar_on_a_terminal(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("rbmviz.cli.streams._NeverFailing.isatty", lambda self: True, raising=False)
    assert main([*SMALL, "--out", str(tmp_path / "s")]) == 0
    shown = capsys.readouterr().err
    assert "100%" in shown
    assert "4/4" in shown


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
