"""The origin of a command's results, for its JSON and its files."""

import argparse
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rbmviz.datasets import Dataset
from rbmviz.origin import origin
from rbmviz.rbm import Model


def origin_of(
    args: argparse.Namespace, models: Mapping[str, Model] | None = None, *data: Dataset | None
) -> dict[str, Any]:
    """Return the origin of a command's results, with digests of its models and data.

    The command that it contains names output files without their folders, so that the same results have the
    same bytes in any folder.
    """
    words = args.words
    for flag in ("out", "history"):
        if path := getattr(args, flag, None):
            short = {begin + path: begin + Path(path).name for begin in ("", f"--{flag}=")}
            words = [short.get(word, word) for word in words]
    seeds = [args.seed] if isinstance(getattr(args, "seed", None), int) else []
    return origin(f"rbmviz {shlex.join(words)}", models=models, data=data, seeds=seeds)
