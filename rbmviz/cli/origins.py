"""The origin of a command's results, for its JSON and its files."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rbmviz import cli
from rbmviz.datasets import Dataset
from rbmviz.files.origin import origin
from rbmviz.rbm import Model

FILES = "--out", "--history"


def command_line() -> str:
    """Return the command, with output files without their folders: the same results have the same bytes."""
    words, shown = cli.words_of_command(), []
    for before, word in zip(["", *words], words, strict=False):
        flag, equals, value = word.partition("=")
        if before in FILES:
            word = Path(word).name
        elif equals and flag in FILES:
            word = f"{flag}={Path(value).name}"
        shown.append(word)
    return f"rbmviz {shlex.join(shown)}"


def origin_of(
    models: Mapping[str, Model] | None = None, *data: Dataset | None, seed: int | None = None
) -> dict[str, Any]:
    """Return the origin of a command's results, with digests of its models and data."""
    return origin(command_line(), models=models, data=data, seeds=[] if seed is None else [seed])
