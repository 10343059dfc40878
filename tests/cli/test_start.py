"""What a command line costs before it computes, how its words are read, and what they are told when wrong."""

import json
import os
import re
import shlex
import subprocess
import sys

import numpy as np
import pytest
from command_line import refused

import rbmviz
from rbmviz import make_sampler, sample
from rbmviz.cli import COMMANDS, main
from rbmviz.cli.options import arguments, read_algorithms
from rbmviz.registry import samplers, trainers

IMPORTS_ALL = """
import importlib, pathlib, sys
import rbmviz
folder = pathlib.Path(rbmviz.__file__).parent
for file in sorted(folder.rglob("*.py")):
    path = file.relative_to(folder)
    if path.parts[0] not in ("kernels", "__main__.py") or path.name == "__init__.py" and len(path.parts) == 2:
        importlib.import_module(".".join(["rbmviz", *path.with_suffix("").parts]).removesuffix(".__init__"))
        assert "numba" not in sys.modules, file
"""

RUNS = """
import sys
QUICK = {"cyclopts"} if sys.argv[1:] in ([], ["--help"], ["--version"], ["list"]) else set()
from rbmviz.cli import main
try:
    sys.exit(main(sys.argv[1:]))
finally:
    print("imported:", *sorted(({"numba", "scipy.special"} | QUICK) & set(sys.modules)), file=sys.stderr)
"""


def help_of(capsys, *words) -> str:
    assert main([*words, "--help"]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(
    "words", ["", "--help", "--version", "list", "train --help", "app --help", "sample --sampler nope"]
)
def test_commands_without_computation_do_not_import_numba(words):
    run = subprocess.run([sys.executable, "-c", RUNS, *words.split()], capture_output=True, text=True)
    assert run.stderr.splitlines()[-1] == "imported:"
    assert run.returncode == (2 if "nope" in words else 0), run.stderr


@pytest.mark.slow
def test_kernels_are_imported_when_they_are_named():
    """Whatever else is imported of the package, in any order, brings no kernel."""
    run = subprocess.run([sys.executable, "-c", IMPORTS_ALL], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_every_command_is_in_the_help(capsys):
    assert main([]) == 0
    alone = capsys.readouterr().out
    assert alone == help_of(capsys)
    assert [line.split(maxsplit=1) for line in alone.splitlines() if line.startswith("    ")][:-1] == [
        [name, about] for name, (_, about) in COMMANDS.items()
    ]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself_and_refuses_what_it_does_not_know(name, capsys):
    said = help_of(capsys, name).split("\n\n")
    assert said[0].startswith(f"usage: rbmviz {name} ")
    assert said[1] == COMMANDS[name][1]
    options = next(part for part in said if part.startswith("  "))
    assert re.search(r"^  --json +Print exactly one JSON object", options, re.MULTILINE)
    entries = re.split(r"^  (?=\S)", options, flags=re.MULTILINE)[1:]
    assert all(re.search(r"(\s{2}|\n\s+)[A-Z]", entry) for entry in entries), "an option without a text"
    examples = said[-1].strip().removeprefix("Example: ").split("\n")
    for example in examples:
        words = shlex.split(example.partition(" > ")[0])
        assert words[:2] == ["rbmviz", name]
        arguments(name, words[2:])
    assert max(map(len, "\n\n".join(said[:-1]).splitlines())) <= 110
    assert "nonsense" in refused(capsys, name, "--nonsense=3")


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in ("app", "play")])
def test_every_command_does_something_without_options(name, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if name == "score":
        assert main(["sample", "--model", "bas_pcd", "-n", "50"]) == 0
        capsys.readouterr()
    assert main([name, "--json"]) == 0
    [line] = capsys.readouterr().out.splitlines()
    assert json.loads(line)


def test_the_nearest_command_is_named(capsys):
    assert "did you mean 'log-z'?" in refused(capsys, "logz", "--model", "bas_pcd")
    assert "'rbmviz --help' lists them" in refused(capsys, "9" * 400)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("sample --model bas_pcd --sampler gibbs -n 3 -n 4", "-n is given twice"),
        ("sample --model bas_pcd --sampler gibbs -n 3 --k 1 --k 2", "--k is given twice"),
        ("sample --model bas_pcd --sampler gibbs:k=1 -n 3 --k 2", "k is given twice"),
        ("sample --model bas_pcd --sampler gibbs:k=1,k=2 -n 3", "'k' is given twice"),
        ("train --dataset bas --trainer cd:iterations=5 --iterations 9", "not after the colon"),
    ],
)
def test_what_is_said_twice_is_refused(words, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert said in refused(capsys, *words.split())
    assert not [*tmp_path.iterdir()]


def test_whole_numbers_may_have_an_exponent(capsys):
    for text, value in (("1e4", 10**4), ("1.5E3", 1500), ("+20", 20), ("2000e-3", 2), ("1e9", 10**9)):
        assert arguments("couple", ["--lag", text]).kwargs == {"lag": value}
    assert arguments("sample", ["-n300", "--eps=.1"]).kwargs == {"n": 300, "eps": ".1"}
    for wrong in ("1e19", "1e-3", "e4", "1e", "1e1e1", "1" + "e9" * 999):
        assert "is not a whole number" in refused(capsys, "couple", "--model", "bas_pcd", f"--lag={wrong}")


def test_knobs_behind_the_colon_and_as_flags():
    """Every command reads them by this function."""
    one, other = read_algorithms(samplers, ["gibbs", "rates_fpcd:eps=0.1,k=2"], {"k": "3"})
    assert (one, other) == (make_sampler("gibbs", k=3), make_sampler("rates_fpcd", eps=0.1, k=2))
    [third] = read_algorithms(trainers, ["fpcd:eps=0.2"], {"momentum": "0.5", "batch-size": "1e1"})
    assert (third.eps, third.momentum, third.batch_size) == (0.2, 0.5, 10)


@pytest.mark.parametrize("name", ["m.pkl", "m.pt", "model"])
def test_non_model_file_is_not_opened(name, capsys, tmp_path):
    (tmp_path / name).write_bytes(b"cos\nsystem\n(S'touch opened'\ntR.")
    said = refused(capsys, "log-z", "--model", tmp_path / name)
    assert f"{name}' is not a model file, and is not opened" in said


def test_rates_are_computed_from_the_data(capsys, tmp_path):
    """For a model file as other programs write it, without rates."""
    rbm, file = rbmviz.load_model("bas_pcd").rbm, tmp_path / "plain.npz"
    rates = rbm.rates(rbmviz.load_dataset("bas").train)
    np.savez(file, W=rbm.W, b=rbm.b, c=rbm.c)
    words = ["sample", "--model", file, "--sampler", "rates_fpcd", "-n", 50, "--out", tmp_path / "s.npz"]
    words += ["--init", "random"]
    assert "export-model --model FILE --dataset DATA" in refused(capsys, *words)
    assert "the model 16" in refused(capsys, *words, "--dataset", "bas@3")
    assert main([*map(str, words), "--dataset", "bas"]) == 0
    model = rbmviz.Model(rbmviz.load_model(file).rbm, rates)
    with np.load(tmp_path / "s.npz") as got:
        np.testing.assert_array_equal(
            got["v"], sample(model, make_sampler("rates_fpcd"), 50, init="random").v
        )
    out = tmp_path / "with.safetensors"
    assert main(["export-model", "--model", str(file), "--dataset", "bas", "--out", str(out)]) == 0
    found = rbmviz.load_model(out).rates
    assert found is not None
    np.testing.assert_array_equal(found.W, rates.W)
    again = ["export-model", "--model", out, "--dataset", "bas", "--out", tmp_path / "x.npz"]
    capsys.readouterr()
    assert "has rates already" in refused(capsys, *again)


def test_a_pipe_is_no_lesson(capsys, tmp_path):
    """Opening it would wait for its writer."""
    os.mkfifo(tmp_path / "a.toml")
    assert "not a regular file" in refused(capsys, "lesson", "check", tmp_path / "a.toml")
    assert "not a regular file" in refused(capsys, "app", "--lessons", tmp_path)


def test_a_lesson_with_a_number_of_thousands_of_digits(capsys, tmp_path):
    text = 'title = "A"\nabout = "B."\nminutes = {}\n[[step]]\ntitle = "C"\n'
    (tmp_path / "a.toml").write_text(text.format("9" * 5000))
    said = refused(capsys, "lesson", "check", tmp_path / "a.toml")
    assert "value has 5000 digits" in said or "minutes is a whole number" in said
