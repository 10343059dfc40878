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
from rbmviz import BadInput, make_sampler, sample
from rbmviz.cli import COMMANDS, main
from rbmviz.cli.options import arguments, knob_help, read_algorithms
from rbmviz.lessons.reading import SHIPPED, read_lesson
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


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in ("app", "play", "warmup")])
def test_every_command_does_something_without_options(name, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if name == "score":
        assert main(["sample", "--model", "bas_pcd", "-n", "50"]) == 0
        capsys.readouterr()
    assert main([name, "--json"]) == 0
    [line] = capsys.readouterr().out.splitlines()
    assert json.loads(line)


def test_the_nearest_command_is_named(capsys):
    assert refused(capsys, "smaple") == "Unknown command 'smaple': did you mean 'sample'?\n"
    assert "did you mean 'log-z'?" in refused(capsys, "logz", "--model", "bas_pcd")
    assert "'rbmviz --help' lists them" in refused(capsys, "9" * 400)


@pytest.mark.parametrize(
    ("words", "option"),
    [
        ("train --dataset bas --trainer pcd --trainer cd --iterations 3 --out m.safetensors", "--trainer"),
        ("sample --model bas_pcd --sampler gibbs -n 3 --out s.npz -n 4", "-n"),
        ("sweep --model bas_pcd --sampler gibbs --out a --out b", "--out"),
        ("couple --model bas_pcd --seed 1 --seed=1", "--seed"),
        ("sample --model bas_pcd --sampler gibbs -n 3 --out s.npz --k 1 --k 2", "--k"),
        ("sample --model bas_pcd --sampler gibbs:k=1 -n 3 --out s.npz --k 2", "k"),
        ("sample --model bas_pcd --sampler gibbs:k=1,k=2 -n 3 --out s.npz", "'k'"),
    ],
)
def test_options_given_twice_are_refused(words, option, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert f"{option} is given twice" in refused(capsys, *words.split())
    assert not [*tmp_path.iterdir()]


def test_list_options_may_be_repeated(capsys, tmp_path):
    words = [
        "sweep",
        "--model",
        "bas_pcd",
        "--sampler",
        "gibbs",
        "--sampler",
        "gibbs:k=2",
        "--metric",
        "energy",
    ]
    assert main([*words, "-n", "20", "--replications", "1", "--out", str(tmp_path / "s"), "--json"]) in (0, 2)
    assert "given twice" not in capsys.readouterr().err


def test_the_iterations_of_a_training_are_no_knob(capsys, tmp_path):
    words = ["train", "--dataset", "bas", "--trainer", "cd:iterations=5", "--iterations", "9"]
    assert "not after the colon" in refused(capsys, *words, "--out", tmp_path / "m.safetensors")


def test_whole_numbers_may_have_an_exponent(capsys):
    for text, value in (("1e4", 10**4), ("1.5E3", 1500), ("+20", 20), ("2000e-3", 2), ("1e9", 10**9)):
        assert arguments("couple", ["--lag", text]).kwargs == {"lag": value}
    assert arguments("sample", ["-n300", "--eps=.1"]).kwargs == {"n": 300, "eps": ".1"}
    for wrong in (
        "1e19",
        "1.5",
        "1e-3",
        "1e99",
        "e4",
        "1e",
        "1_0",
        "0x10",
        "nan",
        "inf",
        "1e1e1",
        "1" + "e9" * 999,
    ):
        assert "is not a whole number" in refused(capsys, "couple", "--model", "bas_pcd", f"--lag={wrong}")


def test_knobs_behind_the_colon_and_as_flags():
    """Every command reads them by this function."""
    one, other = read_algorithms(samplers, ["gibbs", "rates_fpcd:eps=0.1,k=2"], {"k": "3"})
    assert (one, other) == (make_sampler("gibbs", k=3), make_sampler("rates_fpcd", eps=0.1, k=2))
    [third] = read_algorithms(trainers, ["fpcd:eps=0.2"], {"momentum": "0.5", "batch-size": "1e1"})
    assert (third.eps, third.momentum, third.batch_size) == (0.2, 0.5, 10)


def test_sample_and_train_take_knobs_behind_the_colon(capsys, tmp_path):
    out = tmp_path / "s.npz"
    words = ["sample", "--model", "bas_pcd", "--sampler", "rates_fpcd:eps=0.1,k=2", "-n", "2e1"]
    assert main([*words, "--out", str(out)]) == 0
    want = sample(rbmviz.load_model("bas_pcd"), make_sampler("rates_fpcd", eps=0.1, k=2), 20).v
    with np.load(out) as got:
        np.testing.assert_array_equal(got["v"], want)
        assert json.loads(str(got["meta"]))["sampler"] == "rates_fpcd"
    out = tmp_path / "m.safetensors"
    words = ["train", "--dataset", "bas", "--trainer", "cd:k=3", "--n-hidden", "4", "--iterations", "1e1"]
    assert main([*words, "--momentum", "0.5", "--out", str(out)]) == 0
    meta = rbmviz.load_model(out).meta
    assert (meta["trainer"], meta["knobs"]["k"], meta["knobs"]["momentum"]) == ("cd", 3, 0.5)
    assert "--trainer cd:k=3" in meta["command"]
    capsys.readouterr()


def test_gradient_compares_one_estimator_with_itself(capsys):
    words = ["gradient", "--model", "bas_pcd", "--dataset", "bas", "--replications", "40", "--json"]
    assert main([*words, "--estimators", "cd:k=1,n_chains=20,cd:k=5"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {"cd:k=1,n_chains=20", "cd:k=5"} <= set(found)


def test_help_says_a_shared_knob_once():
    said = knob_help(trainers)
    assert said.count("--momentum ") == said.count("--learning-rate ") == 1
    assert said.count("--t-max ") == 1
    assert said.index("--momentum ") < said.index("knobs of cd, pop_cd:") < said.index("--t-max ")
    assert "--momentum" not in knob_help(trainers, {"momentum"})


@pytest.mark.parametrize("name", ["m.pkl", "m.joblib", "m.pt", "m.npy", "model"])
def test_non_model_file_is_not_opened(name, capsys, tmp_path):
    (tmp_path / name).write_bytes(b"cos\nsystem\n(S'touch opened'\ntR.")
    said = refused(capsys, "log-z", "--model", tmp_path / name)
    assert f"{name}' is not a model file, and is not opened" in said
    assert "numpy.savez('model.npz', W=W, b=b, c=c)" in said


def test_an_unknown_model_is_not_answered_by_all_names(capsys):
    assert "did you mean 'bas_pcd'" in refused(capsys, "log-z", "--model", "bas_pdc")
    assert (
        refused(capsys, "log-z", "--model", "?!") == "Unknown model '?!': 'rbmviz list models' shows them.\n"
    )


@pytest.fixture
def plain(tmp_path):
    """A model file as other programs write it, and its data."""
    rbm, data = rbmviz.load_model("bas_pcd").rbm, rbmviz.load_dataset("bas").train
    np.savez(tmp_path / "plain.npz", W=rbm.W, b=rbm.b, c=rbm.c)
    return tmp_path / "plain.npz", rbm.rates(data)


def test_rates_are_computed_from_the_data(plain, capsys, tmp_path):
    file, rates = plain
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
    np.testing.assert_array_equal(found.c, rates.c)
    again = ["export-model", "--model", out, "--dataset", "bas", "--out", tmp_path / "x.npz"]
    capsys.readouterr()
    assert "has rates already" in refused(capsys, *again)


def test_recorded_pages_compute_rates_too(plain, capsys, tmp_path):
    words = [
        "play",
        "--recorded",
        "--model",
        str(plain[0]),
        "--samplers",
        "rates_fpcd",
        "-n",
        "20",
        "--cells",
        "2",
    ]
    out = ["--out", str(tmp_path / "r.html")]
    assert "needs the rates" in refused(capsys, *words, *out)
    assert main([*words, "--dataset", "bas", *out]) == 0
    capsys.readouterr()


def test_messages_quote_no_long_word(capsys, tmp_path):
    long = "9" * 400
    for words in (
        ("lesson", long),
        ("list", f"--{long}"),
        ("log-z", "--model", "bas_pcd", "--method", long),
        ("couple", "--model", "bas_pcd", "--lag", long),
        ("sample", "--sampler", f"gibbs:{long}=1"),
        ("data", "get", long),
    ):
        assert "9" * 80 not in refused(capsys, *words)


def test_a_pipe_is_no_lesson(capsys, tmp_path):
    """Opening it would wait for its writer."""
    os.mkfifo(tmp_path / "a.toml")
    assert "not a regular file" in refused(capsys, "lesson", "check", tmp_path / "a.toml")
    assert "not a regular file" in refused(capsys, "app", "--lessons", tmp_path)


@pytest.mark.parametrize("digits", [400, 4000])
def test_a_lesson_whose_answer_has_hundreds_of_digits(digits):
    lesson = (SHIPPED / "push.toml").read_text()
    assert re.search(r"^right = \d", lesson, re.MULTILINE)
    with pytest.raises(BadInput, match="not the number of an answer") as refusal:
        read_lesson(re.sub(r"^right = \d", "right = " + "9" * digits, lesson, flags=re.M).encode(), "a.toml")
    assert len(str(refusal.value)) < 300


@pytest.mark.parametrize("number", ["9" * 5000, "0x" + "f" * 5000])
def test_a_lesson_with_a_number_of_thousands_of_digits(number, capsys, tmp_path):
    text = f'title = "A"\nabout = "B."\nminutes = {number}\n[[step]]\ntitle = "C"\n'
    (tmp_path / "a.toml").write_text(text)
    said = refused(capsys, "lesson", "check", tmp_path / "a.toml")
    assert "value has 5000 digits" in said or "minutes is a whole number" in said
