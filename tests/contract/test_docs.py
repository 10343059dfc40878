"""The documentation: examples and commands run, and named files, tests and public names exist."""

import doctest
import importlib
import inspect
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from page_examples import BLOCK

import rbmviz
import rbmviz.sweeps
from rbmviz.cli import COMMANDS, function_of
from rbmviz.cli.options import arguments, read_algorithms
from rbmviz.knobs import knobs_of
from rbmviz.registry import samplers, trainers

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [
    ROOT / "README.md",
    ROOT / "pretrained" / "README.md",
    ROOT / ".github" / "CONTRIBUTING.md",
    *sorted(DOCS.glob("*.md")),
    *sorted(DOCS.glob("[!_]*/*.md")),
]
WITH_PYTHON = [page for page in PAGES if "```python" in page.read_text() or "```pycon" in page.read_text()]
MODULES = """
    rbm rbm.files models samplers trainers coupling datasets datasets.record trainers.pop_cd metrics.isl
    metrics.exact metrics.ais metrics.pca plot sklearn testing sweeps.plan sweeps.cell sweeps.choose
    sweeps.sweep view.notebook
""".split()


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_docstrings(name):
    module = importlib.import_module(f"rbmviz.{name}")
    failed, tried = doctest.testmod(module, extraglobs={"rbmviz": rbmviz})
    assert tried
    assert not failed


@pytest.mark.parametrize("pages", [[DOCS / "agents.md"], pytest.param(WITH_PYTHON, marks=pytest.mark.slow)])
def test_examples_of_pages(pages):
    """The examples run in a process of their own, because pages register algorithms."""
    command = [sys.executable, "-W", "error", str(ROOT / "tests" / "page_examples.py"), *map(str, pages)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_debugger_stops_in_a_kernel(tmp_path):
    """As the page says: with the kernel's own arguments, in its own file."""
    page = (DOCS / "architecture.md").read_text()
    (block,) = [text for language, text in BLOCK.findall(page) if language == "sh" and "pdb" in text]
    command = block.replace("python ", f"{shlex.quote(sys.executable)} ", 1).replace(
        "samples.npz", str(tmp_path / "x.npz")
    )
    typed = "p mean.dtype, mean.shape\nstep\nwhere\nquit\nquit\n"
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, input=typed, capture_output=True, text=True)
    assert "(dtype('float32'), (16,))" in done.stdout, done.stdout + done.stderr
    assert re.search(r"> .*random\.py\(\d+\)bernoulli\(\)", done.stdout)


def commands():
    """Yield page and command, for each line of a page that calls rbmviz."""
    for page in PAGES:
        for language, block in BLOCK.findall(page.read_text()):
            lines = block.splitlines() if language in ("", "sh") else ()
            yield from ((page, line) for line in lines if line.startswith("rbmviz "))


def signature_of(name: str) -> set[str]:
    return {*inspect.signature(function_of(name)).parameters, "plugin"}


def test_commands_are_understood():
    """Arguments and knobs are parsed as by the command line; nothing is run."""
    found = list(commands())
    assert len(found) > 20
    for page, line in found:
        name, *words = shlex.split(line, comments=True)[1:]
        if name.startswith("--"):
            continue
        assert name in COMMANDS, f"{page.name}: {line}"
        bound = arguments(name, [word for word in words if word not in ("--json", "--help")])
        knobs = {key: value for key, value in bound.kwargs.items() if key not in signature_of(name)}
        if knobs:
            table, word = (samplers, "sampler") if "sampler" in bound.kwargs else (trainers, "trainer")
            named = bound.kwargs[word]
            read_algorithms(table, named if isinstance(named, list) else [named], knobs)


def test_files_and_tests_named_in_docs_exist():
    """Files and tests that the pages name exist in this repository."""
    tests = "".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    for page in PAGES:
        text = page.read_text()
        for path in re.findall(r"`((?:app|rbmviz|tests|docs|pretrained|\.ci|\.github)/[\w./-]*)`", text):
            if path != "docs/_build/html":  # a page tells how to make it
                assert (ROOT / path).exists(), f"{page.name} names {path}"
        for name in re.findall(r"`(test_\w+)`", text):
            assert f"def {name}(" in tests, f"{page.name} names {name}"


def test_defaults_that_the_pages_of_algorithms_state_are_those_of_the_knobs():
    """Each as `knob` ... (5 by default)."""
    found = 0
    for table in (samplers, trainers):
        for name in table:
            text = " ".join((DOCS / "algorithms" / f"{name}.md").read_text().split())
            for knob, value in re.findall(r"`(\w+)`[^`.()]*\(([\d.]+) by default\)", text):
                assert float(value) == knobs_of(table[name])[knob].default, f"{name}.md: {knob}"
                found += 1
    assert found >= 6


def test_every_public_name_stands_in_the_reference():
    text = "".join(path.read_text() for path in (DOCS / "reference").iterdir())
    names = [
        f"rbmviz.{name}" for name in rbmviz.__all__ if name not in ("metrics", "plot", "sklearn", "testing")
    ]
    names += ["rbmviz.sklearn.BernoulliRBM", *(f"rbmviz.plot.{name}" for name in rbmviz.plot.__all__)]
    names += [f"rbmviz.sweeps.{name}" for name in rbmviz.sweeps.__all__]
    names += ["rbmviz.testing.check_sampler", "rbmviz.testing.check_trainer"]
    names += [f"rbmviz.metrics.{name}" for name in rbmviz.metrics.__all__ if name not in rbmviz.__all__]
    missing = [name for name in names if not re.search(rf":: {re.escape(name)}$", text, re.MULTILINE)]
    assert not missing
