"""``rbmviz log-z`` and ``rbmviz log-likelihood``: exact for small models, estimated by AIS for large ones."""

import argparse
import sys
from typing import Any

import numpy as np
from tqdm import tqdm

from rbmviz import metrics
from rbmviz.cli import SEED, WholeNumber, add_command, print_message
from rbmviz.cli.origins import origin_of
from rbmviz.datasets import load_dataset
from rbmviz.errors import BadInput
from rbmviz.metrics.ais import DEFAULT_CHAINS, TEMPERATURES
from rbmviz.models import data_of, load_model
from rbmviz.rbm import Model

PART_CHOICES = ("train", "validation", "test")


def add(commands: Any) -> None:
    """Add the two commands."""
    example = "rbmviz log-z --model mnist_fpcd --method ais --chains 512 --temperatures 10000"
    command = add_command(commands, "log-z", example, run, text)
    _add_method(command)
    example = "rbmviz log-likelihood --model bas_pcd --dataset bas"
    command = add_command(commands, "log-likelihood", example, run, text)
    _add_method(command)
    command.add_argument("--dataset", required=True, help="a name, a file, or a folder of images")


def _add_method(command: argparse.ArgumentParser) -> None:
    command.add_argument("--model", required=True, help="name of a pretrained model, or a file")
    command.add_argument(
        "--method", choices=("exact", "ais"), default="exact", help="how log Z is computed (default exact)"
    )
    command.add_argument(
        "--chains",
        type=WholeNumber(2, 10**7),
        default=DEFAULT_CHAINS,
        help=f"chains of AIS (default {DEFAULT_CHAINS})",
    )
    command.add_argument(
        "--temperatures",
        type=WholeNumber(2, 10**7),
        default=TEMPERATURES,
        help=f"inverse temperatures of AIS (default {TEMPERATURES})",
    )
    command.add_argument("--seed", type=SEED, default=0, help="seed of AIS (default 0)")


def _log_z(model: Model, args: argparse.Namespace) -> dict[str, Any]:
    """Return log Z in nats, its standard error, and for AIS the ESS and a warning."""
    if args.method == "exact":
        if refusal := metrics.too_large(model.rbm):
            rest = f" --dataset {args.dataset}" if args.command == "log-likelihood" else ""
            same = f"rbmviz {args.command} --model {args.model}{rest} --method ais"
            raise BadInput(f"{refusal}; estimate it by annealed importance sampling: '{same}'.")
        return {"log_z": metrics.log_z(model.rbm), "std_error": 0.0, "method": "exact"}
    done: list[np.ndarray] = []
    interrupted = False
    blocks = metrics.ais_blocks(model, n_chains=args.chains, betas=args.temperatures, seed=args.seed)
    with tqdm(total=args.chains, unit="chain", file=sys.stderr, disable=None) as bar:
        try:
            for log_weights in blocks:
                done.append(log_weights)
                bar.update(len(log_weights))
        except KeyboardInterrupt:
            if sum(map(len, done)) < 2:
                raise
            interrupted = True
    annealed = metrics.Annealed(np.concatenate(done), args.temperatures)
    result = {
        "log_z": annealed.log_z,
        "std_error": annealed.std_error,
        "method": "ais",
        "ess": annealed.ess,
        "n_chains": annealed.n_chains,
        "n_temperatures": annealed.n_temperatures,
        "warning": annealed.warning,
    }
    if interrupted:
        result["interrupted"] = True
        print_message(f"Interrupted: an estimate from the {annealed.n_chains:,} chains that were done.")
    if annealed.warning:
        print_message(annealed.warning)
    return result


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Return log Z, or the mean log-likelihood of each part of the data set, in nats."""
    model = load_model(args.model)
    if args.command == "log-z":
        return _log_z(model, args) | {"origin": origin_of(args, {args.model: model})}
    dataset = data_of(model, args.dataset, load_dataset)
    estimate = _log_z(model, args)
    parts = {part: getattr(dataset, part) for part in PART_CHOICES}
    means = {
        part: -float(model.rbm.free_energy(v).mean()) - estimate["log_z"] if len(v) else None
        for part, v in parts.items()
    }
    source = origin_of(args, {args.model: model}, dataset)
    return {"log_likelihood": means["test"], **means, **estimate, "origin": source}


def text(result: dict[str, Any]) -> str:
    """Return the result as text for the terminal."""
    error = "" if result["method"] == "exact" else f" +- {result['std_error']:.2g}"
    how = result["method"]
    if how == "ais":
        chains, temperatures = result["n_chains"], result["n_temperatures"]
        how += f", {chains:,} chains x {temperatures:,} temperatures, ESS {result['ess']:.1f}"
    if "log_likelihood" not in result:
        return f"log Z = {result['log_z']:.10g}{error} ({how})"
    parts = ", ".join(f"{part} {result[part]:.6g}" for part in PART_CHOICES if result[part] is not None)
    return f"mean log-likelihood in nats: {parts}{error and f', all{error}'} ({how})"
