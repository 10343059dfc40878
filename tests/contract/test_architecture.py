"""The import contracts, and the search for algorithms in their folders."""

import importlib
import pkgutil
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import rbmviz
from rbmviz import registry


def test_import_contracts():
    """The layers and bans written in pyproject.toml; a process of its own, for it configures logging."""
    command = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([command], cwd=Path(__file__).parents[2], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_core_path_in_the_document_is_the_room_of_the_budget():
    """The files to read first, in this order; all are there, as a missing file would count nothing."""
    root = Path(__file__).parents[2]
    section = (
        (root / "docs/architecture.md").read_text().partition("## The core path")[2].partition("\n## ")[0]
    )
    named = re.findall(r"^\d+\. `([^`]+)`", section, re.MULTILINE)
    rooms = tomllib.loads((root / ".ci/budget.toml").read_text())["room"]
    assert next(iter(rooms)) == "core"  # the first room that matches has a file
    assert [re.sub("^rbmviz_app/", "app/rbmviz_app/", name) for name in named] == rooms["core"]["files"]
    assert [name for name in rooms["core"]["files"] if not (root / name).is_file()] == []
    assert rooms["core"]["budget"] <= 5000


def test_every_module_imports():
    for module in pkgutil.walk_packages(rbmviz.__path__, "rbmviz."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)


def test_every_text_is_read_and_written_as_utf_8():
    """While LLVM compiles a kernel, the locale of the whole process is C: other threads would read ASCII."""
    root = Path(__file__).parents[2]
    files = [file for folder in ("rbmviz", "app", "benchmarks") for file in (root / folder).rglob("*.py")]
    assert len(files) > 200
    calls = re.compile(r"\.read_text\([^)]*\)|\.write_text\(.*|(?<![\w.])(?<!def )open\([^)]*\)|text=True")
    text = [
        f"{file.relative_to(root)}: {call}"
        for file in files
        for call in calls.findall(file.read_text("utf-8"))
        if not re.search(r"utf-8|ascii|encoding=|\"[rwax]\+?b", call)
    ]
    assert not text


def test_importing_the_package_imports_nothing_slow():
    """Names come when they are used: numba, most of all, takes up to a second."""
    code = "import sys, rbmviz; assert dir(rbmviz); print(*sys.modules); rbmviz.sample; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    first, second = (set(line.split()) for line in done.stdout.splitlines())
    assert not {"numba", "numpy", "scipy", "rbmviz.rbm"} & first
    assert not {"altair", "pandas"} & second
    assert len(rbmviz.__all__) == len(set(rbmviz.__all__)) > 20
    assert all(hasattr(rbmviz, name) for name in rbmviz.__all__)


def test_a_name_is_registered_once():
    table = registry.Table("toy", "rbmviz.samplers")
    first = type("First", (), {"__module__": "a"})
    table.add("x", first)
    with pytest.raises(ValueError, match="'x' is the name of a toy of a: choose another"):
        table.add("x", type("Second", (), {"__module__": "b"}))


def test_a_class_with_a_check_of_its_own_is_refused():
    class Picky:
        def __post_init__(self):
            raise AssertionError

    class Heir(Picky):
        pass

    for cls in (Picky, Heir):
        with pytest.raises(TypeError, match=f"{cls.__name__}: a sampler has no __post_init__ of its own"):
            registry.sampler("picky", label="Picky", paper="none")(cls)
    assert "picky" not in registry.samplers


def test_broken_plugin_fails_loudly(tmp_path, monkeypatch):
    (tmp_path / "broken_algorithms").mkdir()
    (tmp_path / "broken_algorithms" / "__init__.py").touch()
    (tmp_path / "broken_algorithms" / "bad.py").write_text("raise RuntimeError('half written')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(RuntimeError, match="half written"):
        list(registry.Table("toy", "broken_algorithms"))
