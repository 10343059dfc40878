"""``rbmviz export-model``: write a model as a file for other programs."""

import argparse
from typing import Any

from rbmviz.cli import add_command
from rbmviz.cli.outputs import check_outputs
from rbmviz.datasets import load_dataset
from rbmviz.errors import BadInput
from rbmviz.models import load_model, with_rates
from rbmviz.rbm import save_model


def add(commands: Any) -> None:
    """Add the command."""
    example = "rbmviz export-model --model usps_fpcd --out usps.npz"
    command = add_command(commands, "export-model", example, run, text)
    command.add_argument("--model", required=True, help="name of a pretrained model, or a file")
    command.add_argument(
        "--dataset",
        help="training data of a model without rates, a name or a file: the rates, which driven samplers "
        "need, are computed from them",
    )
    command.add_argument("--out", required=True, metavar="F", help="the file, F.safetensors or F.npz")


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Write the file; return its path, the numbers of units, and whether it has rates."""
    check_outputs({"--out": args.out}, models={"--model": args.model}, datasets={"--dataset": args.dataset})
    model = load_model(args.model)
    if args.dataset is not None:
        if model.rates is not None:
            raise BadInput(f"export-model: '{args.model}' has rates already: leave --dataset out.")
        model = with_rates(model, load_dataset(args.dataset))
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
