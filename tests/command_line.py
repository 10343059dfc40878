"""Commands of ``rbmviz`` as a test calls them, in its own process."""

import json

from rbmviz.cli import main


def run(capsys, *words) -> dict:
    """Return the result of a command that succeeds, one line of JSON."""
    status = main([*map(str, words), "--json"])
    captured = capsys.readouterr()
    assert status == 0, captured.err
    assert captured.out.count("\n") == 1
    return json.loads(captured.out)


def refused(capsys, *words, status=2) -> str:
    """Return the one sentence of a command that ends with this status."""
    assert main([*map(str, words)]) == status
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1, captured.err
    return captured.err
