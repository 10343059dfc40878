"""``rbmviz data``: data sets on this machine."""

from typing import Any, Literal

from rbmviz.cli import print_message
from rbmviz.datasets import describe, list_datasets
from rbmviz.datasets.raw import fetch, path_of, source_of
from rbmviz.errors import BadInput, brought_by
from rbmviz.registry import datasets


def data(action: Literal["get", "list"] = "list", name: str | None = None, /) -> dict[str, Any]:
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
        return {"datasets": describe()}
    if name is None:
        raise BadInput(f"rbmviz data get: name a data set, one of {', '.join(list_datasets())}.")
    source = source_of(file := datasets[name].file)
    if not source.shapes:
        return {"name": file, "path": None, "note": "comes with rbmviz: nothing to download"}
    path = path_of(file)
    if path is None:
        if source.hosts:
            with brought_by("data", "A download"):  # before the download is announced
                import pooch  # noqa: F401
            print_message(f"Downloading {file}.")
        path = fetch(file)
    return {"name": file, "path": str(path)}


def text(result: dict[str, Any]) -> str:
    """Return the result as text for the terminal."""
    if "datasets" in result:
        return "\n".join(
            f"{row['name']:<14} {row['description']}\n{'':<14} {row['where']}" for row in result["datasets"]
        )
    return result["path"] or f"{result['name']} {result['note']}"
