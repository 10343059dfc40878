"""The files that a command will write, checked before anything is computed."""

import os
import unicodedata
from collections.abc import Mapping
from pathlib import Path

from rbmviz.datasets.raw import SOURCES, path_of
from rbmviz.errors import BadInput
from rbmviz.models import FOLDER
from rbmviz.output import check_writable, output_path


def check_outputs(
    outputs: Mapping[str, str | Path | None],
    *,
    models: Mapping[str, str | None] | None = None,
    datasets: Mapping[str, str | None] | None = None,
) -> None:
    """Refuse outputs that cannot be written, that are one file under two names, or a file that is read.

    Parameters
    ----------
    outputs : flag -> path
        As the person gave them, and files that go with them; None: not asked for.
    models, datasets : flag -> name or path
        What the command reads.

    Raises
    ------
    BadInput
        Where two names are of one file: by ``..``, by links, or but for upper and lower case.
    OutputFailure
        Where the system does not let a file be written there.
    """
    written = {flag: output_path(path) for flag, path in outputs.items() if path is not None}
    read = []
    for names, files_of in ((models or {}, _model_files), (datasets or {}, _data_files)):
        for flag, name in names.items():
            read += [(f"{flag} {name}", file) for file in (files_of(name) if name else [])]
    seen: dict[str, str] = {}
    for flag, path in written.items():
        for what, file in read:
            if _same(path, file):
                raise BadInput(f"{flag} would write over what is read, {what}: name another file.")
        for other, earlier in seen.items():
            if _same(path, Path(earlier)):
                raise BadInput(f"{other} and {flag} are the same file, '{path}': name two.")
        seen[flag] = str(path)
    for path in written.values():
        check_writable(path)


def _model_files(name: str) -> list[Path]:
    """Return the files that a model's name or path may mean."""
    return [path for path in (Path(name), FOLDER / f"{name}.safetensors") if path.is_file()]


def _data_files(name: str) -> list[Path]:
    """Return the files that a data set's name or path may mean, with its variant or without."""
    names = {name, name.rpartition("@")[0] or name}
    known = [path_of(one) for one in names if one in SOURCES]
    return [Path(one) for one in names if Path(one).is_file()] + [path for path in known if path]


def _same(one: Path, other: Path) -> bool:
    """Whether two paths are of one file, now or when both are written."""
    if one.exists() or other.exists():
        return one.exists() and other.exists() and os.path.samefile(one, other)
    # Neither is there yet: nobody can say whether this disk tells A from a, or one form of an umlaut from the
    # other.
    a, b = (unicodedata.normalize("NFC", os.path.realpath(path)).casefold() for path in (one, other))
    return a == b
