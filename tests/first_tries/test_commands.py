"""Forty first tries of the command line, half of them mistakes, and what each is told.

``commands.txt`` is the transcript: a command, its exit status, and the last line that it prints on standard
output, or else its sentence on standard error; ``...`` stands for anything. ``python test_commands.py`` gives
the transcript of the present program, in an empty folder.
"""

import contextlib
import io
import os
import re
import shlex
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1]))
from page_examples import EXAMPLES

from rbmviz.cli import main

TRANSCRIPT = Path(__file__).with_name("commands.txt")
TRIES = re.findall(r"^\$ (.*)\n\[(\d+)\] (.*)$", TRANSCRIPT.read_text(), re.MULTILINE)


def answer(command: str) -> tuple[int, str]:
    """Run a command in this process; return its exit status and the line that it ends with."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(shlex.split(command)[1:])
    assert out.getvalue() or err.getvalue().count("\n") == 1, err.getvalue()
    return status, (out.getvalue() or err.getvalue()).splitlines()[-1]


def begin(folder: Path) -> None:
    """Put a plug-in, and one that is broken, into a folder."""
    shutil.copy(EXAMPLES / "metropolis.py", folder)
    (folder / "broken.py").write_text("from rbmviz.registry import smapler\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The folder of all commands, which use each other's files."""
    begin(made := tmp_path_factory.mktemp("tries"))
    return made


@pytest.mark.parametrize(("command", "status", "said"), TRIES)
def test_a_first_try(command, status, said, folder, monkeypatch, no_plugins):
    monkeypatch.chdir(folder)
    found, line = answer(command)
    assert found == int(status), line
    pattern = ".*".join(map(re.escape, said.split("...")))
    assert re.fullmatch(pattern, line), line


def test_half_of_forty_are_mistakes():
    assert len(TRIES) == 40
    assert sum(status == "2" for _, status, _ in TRIES) == 20


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as empty, contextlib.chdir(empty):
        begin(Path(empty))
        for command, *_ in TRIES:
            os.environ["RBMVIZ_PLUGINS"] = ""
            status, said = answer(command)
            if status == 0:
                said = re.sub(r"[-+]?[\d,]+\.[\d.]+( samples/s)?|[\d,]+ samples/s", "...", said)
            said = said if len(said) < 250 else f"{said[:150]}..."
            print(f"$ {command}\n[{status}] {said}\n")  # noqa: T201
