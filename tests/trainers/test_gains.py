"""Trainers learn with their default knobs, and the trainings that the documentation shows learn."""

import itertools
import json
import re
import shlex
from pathlib import Path

import pytest

from rbmviz import BadInput, load_dataset
from rbmviz.cli import main
from rbmviz.metrics import independent_log_likelihood
from rbmviz.metrics.exact import attainable_log_likelihood
from tests.trainers.gains import CONDITIONS, STOCHASTIC, gain, row

ROOT = Path(__file__).parents[2]


@pytest.mark.compiled
@pytest.mark.parametrize("name", STOCHASTIC)
def test_a_trainer_learns_with_its_defaults(name):
    """Digits in 1,000 updates: a rate that falls to zero from 0.01 gains nothing (-0.01 nats)."""
    assert gain(name, "digits", n_hidden=16, updates=1000).value > 2


@pytest.mark.claims
@pytest.mark.parametrize("condition", CONDITIONS, ids=lambda condition: condition.data)
def test_every_trainer_gains_a_quarter_of_what_the_best_gains(condition, tmp_path):
    if condition.data == "film_reviews":
        try:
            load_dataset("film_reviews")
        except BadInput as error:
            pytest.skip(str(error))  # a package that has to be installed
    gains = row(condition, tmp_path)
    best = max(one.value for one in gains.values())
    too_little = {name: one for name, one in gains.items() if one.value < max(best / 4, 5 * one.error)}
    assert best > 0
    assert not too_little


def commands_of(text):
    """Return the trainings that a text shows, whether as an example or in a block of commands.

    Those that rebuild the pretrained models take hours: they are in pretrained/README.md, which is not read.
    """
    lines = re.findall(r"^(?:Example: )?rbmviz train (-.*)$", text.replace("\\\n", " "), re.MULTILINE)
    return [words for line in lines if "--iterations" in (words := shlex.split(line, comments=True))]


def documented(capsys, monkeypatch):
    """Return every training that README, the documentation and ``--help`` show."""
    monkeypatch.setenv("COLUMNS", "1000")
    with pytest.raises(SystemExit):
        main(["train", "--help"])
    texts = [capsys.readouterr().out]
    texts += [path.read_text() for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))]
    return [words for text in texts for words in commands_of(text)]


def bar(data, n_hidden, updates):
    """Return a quarter of what can be gained where that is known, else of what CD gains as soon."""
    rows = load_dataset(data).train
    attainable = attainable_log_likelihood(rows)
    if attainable is None:
        return gain("cd", data, n_hidden, updates).value / 4
    return (attainable - independent_log_likelihood(rows)) / 4


@pytest.mark.claims
def test_every_documented_training_learns(capsys, monkeypatch, tmp_path):
    commands = documented(capsys, monkeypatch)
    assert len(commands) >= 3
    monkeypatch.chdir(tmp_path)
    bars = {}
    for words in map(list, dict.fromkeys(map(tuple, commands))):
        assert main(["train", *words, "--json"]) == 0
        result = json.loads(capsys.readouterr().out)
        value = result["log_likelihood"] - result["independent_log_likelihood"]
        given = dict(itertools.pairwise(words))
        key = given["--dataset"], int(given.get("--n-hidden", 16)), int(given["--iterations"])
        bars[key] = bars[key] if key in bars else bar(*key)
        assert value > max(bars[key], 5 * result["log_likelihood_error"]), words


def test_commands_are_found_in_texts():
    text = "As `rbmviz train --x` does\n\n```sh\nrbmviz train --trainer b \\\n --iterations 5 # c\n```\n"
    assert commands_of(text) == [["--trainer", "b", "--iterations", "5"]]
    assert commands_of("Example: rbmviz train --iterations 7\n") == [["--iterations", "7"]]
