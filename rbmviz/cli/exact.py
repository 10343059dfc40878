"""``rbmviz log-z`` and ``rbmviz log-likelihood``: the truth about small models."""

import argparse
from typing import Any

from rbmviz import metrics
from rbmviz.cli import add_command
from rbmviz.datasets import load_dataset
from rbmviz.errors import BadInput
from rbmviz.models import load_model


def add(commands: Any) -> None:
    """Add the two commands."""
    about = "log Z of a model, by enumerating its smaller layer (at most 25 units)."
    command = add_command(commands, "log-z", about, "rbmviz log-z --model bas_pcd", run, text)
    command.add_argument("--model", required=True, help="a pretrained name, or a file")
    command.add_argument("--method", choices=("exact",), default="exact", help="default exact")
    about = "Exact mean log-likelihood of a data set's parts under a small model, in nats."
    example = "rbmviz log-likelihood --model bas_pcd --dataset bas"
    command = add_command(commands, "log-likelihood", about, example, run, text)
    command.add_argument("--model", required=True, help="a pretrained name, or a file")
    command.add_argument("--dataset", required=True, help="a name or a file")


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Return log Z, or the likelihood of the test part (and the others)."""
    rbm = load_model(args.model).rbm
    if args.command == "log-z":
        return {"log_z": metrics.log_z(rbm), "std_error": 0.0, "method": "exact"}
    dataset = load_dataset(args.dataset)
    if dataset.n_visible != rbm.n_visible:
        raise BadInput(f"{dataset.name} has {dataset.n_visible} units and the model {rbm.n_visible}.")
    log_z = metrics.log_z(rbm)
    means = {
        part: float(-rbm.free_energy(getattr(dataset, part)).mean()) - log_z
        for part in ("train", "validation", "test")
    }
    return {"log_likelihood": means["test"], **means, "log_z": log_z}


def text(result: dict[str, Any]) -> str:
    """Say it for people."""
    if "log_likelihood" not in result:
        return f"log Z = {result['log_z']:.10g} ({result['method']})"
    parts = ", ".join(f"{part} {result[part]:.6g}" for part in ("train", "validation", "test"))
    return f"mean log-likelihood in nats: {parts}"
