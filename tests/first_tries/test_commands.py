"""Forty first tries of the command line, half of them mistakes, and what each is told.

``commands.txt`` has a command, its exit status, and the last line that it prints on standard output, or else
its sentence on standard error; ``...`` stands for anything. Commands use the files of those before them.
"""

import re
import shlex
import shutil
from pathlib import Path

from page_examples import EXAMPLES

from rbmviz.cli import main

TRIES = re.findall(
    r"^\$ (.*)\n\[(\d+)\] (.*)$", Path(__file__).with_name("commands.txt").read_text(), re.MULTILINE
)


def test_first_tries_of_the_command_line(capsys, tmp_path, monkeypatch, no_plugins):
    monkeypatch.chdir(tmp_path)
    shutil.copy(EXAMPLES / "metropolis.py", tmp_path)
    (tmp_path / "broken.py").write_text("from rbmviz.registry import smapler\n")
    different = []
    for command, status, said in TRIES:
        found = main(shlex.split(command)[1:])
        out, err = capsys.readouterr()
        line = (out or err).splitlines()[-1]
        expected = ".*".join(map(re.escape, said.split("...")))
        if found != int(status) or not re.fullmatch(expected, line) or (found and err.count("\n") != 1):
            different.append(f"$ {command}\n[{found}] {line}")
    assert not different, "\n".join(different)
    assert len(TRIES) == 40
    assert [status for _, status, _ in TRIES].count("2") == 20
