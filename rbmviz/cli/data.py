"""``rbmviz data``: data sets on this machine."""

import argparse
from typing import Any

from rbmviz.cli import add_command, print_message
from rbmviz.datasets import describe
from rbmviz.datasets.raw import SOURCES, fetch, path_of
from rbmviz.errors import BadInput, brought_by
from rbmviz.registry import datasets


def add(commands: Any) -> None:
    """Add the command."""
    command = add_command(commands, "data", "rbmviz data get mnist", run, text)
    command.add_argument("action", choices=("get", "list"))
    command.add_argument("name", nargs="?", help="the data set to get")


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Return the path of the downloaded file, or the list of data sets."""
    if args.action == "list" and args.name is not None:
        raise BadInput("'data list' takes no name: leave it out, or write 'data get'.")
    if args.action == "list":
        return {"datasets": describe()}
    if args.name is None:
        raise BadInput(f"rbmviz data get: name a data set, one of {', '.join(SOURCES)}.")
    name = args.name if args.name in SOURCES else datasets[args.name].file  # an unknown name is refused here
    if name not in SOURCES:
        return {"name": name, "path": None, "note": "comes with rbmviz: nothing to download"}
    path = path_of(name)
    if path is None:
        if SOURCES[name].hosts:
            with brought_by("data", "A download"):  # before the download is announced
                import pooch  # noqa: F401
            print_message(f"Downloading {name}.")
        path = fetch(name)
    return {"name": name, "path": str(path)}


def text(result: dict[str, Any]) -> str:
    """Return the result as text for the terminal."""
    if "datasets" in result:
        return "\n".join(
            f"{row['name']:<14} {row['description']}\n{'':<14} {row['where']}" for row in result["datasets"]
        )
    return result["path"] or f"{result['name']} {result['note']}"
