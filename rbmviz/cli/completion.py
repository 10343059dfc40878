"""``rbmviz completion``: the script with which a shell completes commands and options."""

import argparse
from typing import Any

from rbmviz.cli import add_command, parser
from rbmviz.errors import brought_by

SHELLS = ("bash", "zsh", "tcsh")


def add(commands: Any) -> None:
    """Add the command."""
    example = "rbmviz completion bash > ~/.local/share/bash-completion/completions/rbmviz"
    command = add_command(commands, "completion", example, run, text)
    command.add_argument("shell", choices=SHELLS, metavar="SHELL", help=f"one of {', '.join(SHELLS)}")


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Return the script."""
    with brought_by("completion", "The script of a shell"):
        import shtab
    return {"shell": args.shell, "script": shtab.complete(parser(), args.shell)}


def text(result: dict[str, Any]) -> str:
    """Return the script unchanged."""
    script: str = result["script"]
    return script.rstrip()
