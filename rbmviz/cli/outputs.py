"""Check a command's output files before anything is computed."""

import os
import unicodedata
from collections.abc import Mapping
from pathlib import Path

from rbmviz.datasets import list_datasets
from rbmviz.datasets.raw import path_of
from rbmviz.errors import BadInput
from rbmviz.files.output import check_writable, output_path
from rbmviz.models import FOLDER
from rbmviz.registry import datasets


class DefaultName(str):
    """The name of an output that nobody has named, so that it replaces no file."""


def ending_in(command: str, name: str, *endings: str) -> Path:
    """Return the path of an output; BadInput unless it ends in one of these."""
    if (path := Path(name)).suffix not in endings:
        raise BadInput(f"{command}: '{name}' must end in {' or '.join(endings)}.")
    return path


def check_outputs(
    outputs: Mapping[str, str | Path | None],
    *,
    models: Mapping[str, str | None] | None = None,
    datasets: Mapping[str, str | None] | None = None,
) -> None:
    """Check that all outputs can be written, and that they are distinct from each other and from the inputs.

    outputs : flag and path of each output, companion files included; None if the output is not requested
    models, datasets : flag and name or path of each model and data set that the command reads

    Raises
    ------
    BadInput
        If two paths refer to the same file, even by ``..``, through links, or on a disk that ignores case,
        or if a file has a default name already.
    OutputFailure
        If the system refuses to write a file there.
    """
    for flag, path in outputs.items():
        if isinstance(path, DefaultName) and os.path.lexists(path):
            raise BadInput(f"'{path}' exists: name the file to write, or to replace, by {flag}.")
    written = {flag: output_path(path) for flag, path in outputs.items() if path is not None}
    taken = [
        (f"the input {flag} {name}", file)
        for names, files_of in ((models or {}, _model_files), (datasets or {}, _data_files))
        for flag, name in names.items()
        for file in (files_of(name) if name else ())
    ]
    for flag, path in written.items():
        for what, file in taken:
            if _same_file(path, file):
                raise BadInput(f"{flag} would overwrite {what}, as the same file: name another.")
        taken.append((flag, path))
    for path in written.values():
        check_writable(path)


def _model_files(name: str) -> list[Path]:
    """Return the existing files that a model's name or path may refer to."""
    return [path for path in (Path(name), FOLDER / f"{name}.safetensors") if path.is_file()]


def _data_files(name: str) -> list[Path]:
    """Return the existing files that a data set's name or path, with or without a variant, may refer to."""
    names = {name, name.rpartition("@")[0] or name}
    published = {datasets[name].file for name in names if name.casefold() in list_datasets()}
    paths = [*map(Path, names), *filter(None, map(path_of, published))]
    return [path for path in paths if path.is_file()]


def _same_file(path: Path, other: Path) -> bool:
    """Return whether two paths name the same file, now or after both are written."""
    if path.exists() or other.exists():
        return path.exists() and other.exists() and os.path.samefile(path, other)
    # Neither file exists, so it is unknown whether this disk distinguishes upper case or Unicode forms.
    a, b = (unicodedata.normalize("NFC", os.path.realpath(each)).casefold() for each in (path, other))
    return a == b
