"""``rbmviz log-z`` and ``rbmviz log-likelihood``: exact for small models, estimated by AIS for large ones."""

import argparse
from typing import Any

import numpy as np
from tqdm import tqdm

from rbmviz import metrics
from rbmviz.cli import SEED, WholeNumber, add_command, print_message
from rbmviz.cli.origins import origin_of
from rbmviz.datasets import load_dataset
from rbmviz.datasets.record import PARTS
from rbmviz.errors import BadInput
from rbmviz.metrics.ais import DEFAULT_CHAINS, TEMPERATURES
from rbmviz.metrics.monte_carlo import MAX_MONTE_CARLO, MONTE_CARLO_CHAINS, MONTE_CARLO_SWEEPS
from rbmviz.models import data_of, load_model
from rbmviz.rbm import Model


def add(commands: Any) -> None:
    """Add the two commands."""
    example = "rbmviz log-z --model mnist_fpcd --method ais --chains 512 --temperatures 10000"
    command = add_command(commands, "log-z", example, run, text)
    _add_method(command)
    example = "rbmviz log-likelihood --model bas_pcd --dataset bas"
    command = add_command(commands, "log-likelihood", example, run, text)
    _add_method(command, "monte-carlo")
    command.add_argument("--dataset", required=True, help="a name, a file, or a folder of images")
    command.add_argument(
        "--sweeps",
        type=WholeNumber(0, MAX_MONTE_CARLO),
        default=MONTE_CARLO_SWEEPS,
        help=f"sweeps of the chains of monte-carlo, which start at the rows (default {MONTE_CARLO_SWEEPS})",
    )


def _add_method(command: argparse.ArgumentParser, *more: str) -> None:
    command.add_argument("--model", required=True, help="name of a pretrained model, or a file")
    command.add_argument(
        "--method",
        choices=("exact", "ais", *more),
        default="exact",
        help="how it is computed (default exact)",
    )
    command.add_argument(
        "--chains",
        type=WholeNumber(2, 10**7),
        help=f"chains of AIS (default {DEFAULT_CHAINS})"
        + f", or of monte-carlo for each row (default {MONTE_CARLO_CHAINS})" * bool(more),
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
    chains = args.chains or DEFAULT_CHAINS
    blocks = metrics.ais_blocks(model, n_chains=chains, betas=args.temperatures, seed=args.seed)
    with tqdm(total=chains, unit="chain", disable=None) as bar:
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
    parts = {part: getattr(dataset, part) for part in PARTS}
    if args.method == "monte-carlo":
        settings = {"chains": args.chains or MONTE_CARLO_CHAINS, "sweeps": args.sweeps}
        estimate: dict[str, Any] = {"method": args.method, **settings}

        def score(v: np.ndarray) -> float:
            return metrics.monte_carlo_likelihood(model.rbm, v, seed=args.seed, **settings)
    else:
        estimate = _log_z(model, args)

        def score(v: np.ndarray) -> float:
            return -float(model.rbm.free_energy(v).mean()) - estimate["log_z"]

    means = {part: score(v) if len(v) else None for part, v in parts.items()}
    source = origin_of(args, {args.model: model}, dataset)
    return {"log_likelihood": means["test"], **means, **estimate, "origin": source}


def text(result: dict[str, Any]) -> str:
    """Return the result as text for the terminal."""
    how = result["method"]
    error = f" +- {result['std_error']:.2g}" if how == "ais" else ""
    if how == "monte-carlo":
        how += f", {result['chains']:,} chains x {result['sweeps']:,} sweeps from each row"
    if how == "ais":
        chains, temperatures = result["n_chains"], result["n_temperatures"]
        how += f", {chains:,} chains x {temperatures:,} temperatures, ESS {result['ess']:.1f}"
    if "log_likelihood" not in result:
        return f"log Z = {result['log_z']:.10g}{error} ({how})"
    parts = ", ".join(f"{part} {result[part]:.6g}" for part in PARTS if result[part] is not None)
    return f"mean log-likelihood in nats: {parts}{error and f', all{error}'} ({how})"
