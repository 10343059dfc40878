"""``rbmviz export-model``: write a model as a file for other programs."""

import argparse
from typing import Any

from rbmviz.cli import add_command
from rbmviz.cli.outputs import check_outputs
from rbmviz.models import load_model
from rbmviz.rbm import save_model


def add(commands: Any) -> None:
    """Add the command."""
    about = "Write a model as .safetensors or .npz: arrays W, b, c, the rates, and the metadata."
    example = "rbmviz export-model --model usps_fpcd --out usps.npz"
    command = add_command(commands, "export-model", about, example, run, text)
    command.add_argument("--model", required=True, help="name of a pretrained model, or a file")
    command.add_argument("--out", required=True, metavar="F", help="the file, F.safetensors or F.npz")


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Write the file; return its path, the numbers of units, and whether it has rates."""
    check_outputs({"--out": args.out}, models={"--model": args.model})
    model = load_model(args.model)
    save_model(model, args.out)
    return {
        "out": args.out,
        "n_visible": model.rbm.n_visible,
        "n_hidden": model.rbm.n_hidden,
        "rates": model.rates is not None,
    }


def text(result: dict[str, Any]) -> str:
    """Return the result as text for the terminal."""
    rates = "with rates" if result["rates"] else "without rates"
    return f"{result['n_visible']} x {result['n_hidden']}, {rates} -> {result['out']}"
