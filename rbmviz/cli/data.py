"""``rbmviz data``: data sets on this machine."""

from typing import Literal

from rbmviz.cli import Answer, print_message
from rbmviz.datasets import describe, list_datasets
from rbmviz.datasets.raw import fetch, path_of, source_of
from rbmviz.errors import BadInput, brought_by
from rbmviz.registry import datasets


def data(action: Literal["get", "list"] = "list", name: str | None = None, /) -> Answer:
    """List the data sets, or download one.

    A download goes into the cache folder, and its checksum is checked.

    Parameters
    ----------
    action
        What to do.
    name
        The data set to get.

    Examples
    --------
    rbmviz data get mnist
    """
    if action == "list" and name is not None:
        raise BadInput("'data list' takes no name: leave it out, or write 'data get'.")
    if action == "list":
        rows = describe()
        lines = (f"{row['name']:<14} {row['description']}\n{'':<14} {row['where']}" for row in rows)
        return {"datasets": rows}, "\n".join(lines)
    if name is None:
        raise BadInput(f"rbmviz data get: name a data set, one of {', '.join(list_datasets())}.")
    source = source_of(file := datasets[name].file)
    if not source.shapes:
        note = "comes with rbmviz: nothing to download"
        return {"name": file, "path": None, "note": note}, f"{file} {note}"
    path = path_of(file)
    if path is None:
        if source.hosts:
            with brought_by("data", "A download"):  # before the download is announced
                import pooch  # noqa: F401
            print_message(f"Downloading {file}.")
        path = fetch(file)
    return {"name": file, "path": str(path)}, str(path)
