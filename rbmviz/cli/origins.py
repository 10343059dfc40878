"""The data of a command, and the origin of its results, for its JSON and its files."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rbmviz import cli
from rbmviz.datasets import Dataset, data_of, load_dataset
from rbmviz.errors import BadInput
from rbmviz.files.metadata import data_name
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


def data_for(model: Model, dataset: str | None, without: str) -> Dataset | None:
    """Return the data that are named, or that the model names; None, with a message, if these are missing.

    without : what to do without data that are needed; "": they are not needed
    """
    if dataset is not None:
        return data_of(model, dataset, load_dataset)
    if data_name(model.meta) is None:
        if not without:
            return None
        raise BadInput(f"The model does not say what data it learned: give --dataset, or {without}.")
    try:
        return data_of(model)
    except BadInput as error:
        if without:
            raise BadInput(
                f"The data that the model names cannot be loaded: {error} Give --dataset, or {without}."
            ) from None
        cli.print_message(f"Nothing is scored, and the chains start at random bits: {error}")
        return None
