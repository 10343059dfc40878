"""``rbmviz warmup``: compile and cache the kernels ahead of their first use."""

import argparse
from typing import Any

from rbmviz.cli import add_command
from rbmviz.session import warm_up


def add(commands: Any) -> None:
    """Add the command."""
    add_command(commands, "warmup", "rbmviz warmup", run, text)


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Compile the kernels, and return the seconds it took."""
    return {"seconds": warm_up()}


def text(result: dict[str, Any]) -> str:
    """Return the result as text for the terminal."""
    return f"Kernels ready after {result['seconds']:.1f} s."
