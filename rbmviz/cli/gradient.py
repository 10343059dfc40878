"""``rbmviz gradient``: bias and variance of gradient estimators against the exact gradient, or a long run."""

import argparse
import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from rbmviz import rng
from rbmviz.cli import COUNT, SEED, WholeNumber, add_command, print_message
from rbmviz.cli.knob_flags import read_algorithms, split_algorithms
from rbmviz.cli.origins import origin_of
from rbmviz.cli.outputs import check_outputs
from rbmviz.datasets import load_dataset
from rbmviz.errors import BadInput
from rbmviz.gradient import (
    CHAIN_BURN_IN,
    RUNS,
    GradientReference,
    enumerated,
    gradient_runs,
    load_reference,
    quality,
    save_reference,
    tempered,
)
from rbmviz.metrics import tempered_ladders, too_large
from rbmviz.metrics.tempering import LADDER_TEMPERATURES, LADDERS, MAX_TEMPERED_SWEEPS, TEMPERED_SAMPLES
from rbmviz.models import data_of, load_model
from rbmviz.rbm import RBM
from rbmviz.registry import trainers
from rbmviz.trainers import list_trainers


def add(commands: Any) -> None:
    """Add the command."""
    example = (
        "rbmviz gradient --model bas_pcd --dataset bas --estimators cd,pop_cd,ucd --k 1 --replications 2000"
    )
    command = add_command(commands, "gradient", example, run, text)
    command.description = (
        "Bias and variance of gradient estimators at a fixed model, per parameter (population CD, table 1).\n"
        "The reference is the exact gradient; for a model that is too large to enumerate it comes from long\n"
        "parallel tempering, whose own error is reported."
    )
    command.set_defaults(takes_knobs=True)
    knobs = "Knobs (--k, --batch-size, --t-max ...) are passed to every trainer that has them."
    command.epilog = f"{command.epilog}\n{knobs}"
    command.add_argument("--model", required=True, help="name of a pretrained model, or a file")
    command.add_argument("--dataset", required=True, help="a name or a file; the training part is used")
    command.add_argument(
        "--estimators",
        default="cd,pop_cd,ucd",
        help=f"{', '.join(list_trainers())}, separated by commas, perhaps with knobs: cd:k=10; "
        "default cd,pop_cd,ucd",
    )
    command.add_argument(
        "--replications",
        type=WholeNumber(2 * RUNS, COUNT.hi),
        default=1000,
        help="estimates by each estimator (default 1000)",
    )
    command.add_argument(
        "--burn-in",
        type=WholeNumber(0, COUNT.hi),
        default=CHAIN_BURN_IN,
        help=f"updates of persistent chains before the first estimate (default {CHAIN_BURN_IN})",
    )
    command.add_argument(
        "--reference-samples",
        type=WholeNumber(LADDERS, MAX_TEMPERED_SWEEPS),
        metavar="N",
        help=f"samples of parallel tempering, {LADDER_TEMPERATURES} temperatures, for the reference "
        f"(default: enumerate the model if that is possible, else {TEMPERED_SAMPLES:,}; paper 200,000)",
    )
    command.add_argument(
        "--reference",
        metavar="FILE",
        help="an .npz that keeps the reference of parallel tempering: read if it is there, else written",
    )
    command.add_argument("--seed", type=SEED, default=0, help="random seed (default 0)")


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Return squared bias and variance of each estimator, per parameter."""
    model = load_model(args.model)
    rbm, dataset = model.rbm, data_of(model, args.dataset, load_dataset)
    names = split_algorithms(args.estimators)
    if twice := [name for name in names if names.count(name) > 1]:
        raise BadInput(f"gradient: --estimators names {twice[0]} twice: name it once, or with other knobs.")
    estimators = dict(zip(names, read_algorithms(trainers, names, args.rest), strict=True))
    reference = reference_of(rbm, dataset.train, args)
    source = origin_of(args, {args.model: model}, dataset)
    result: dict[str, Any] = {}
    with tqdm(total=RUNS * len(estimators), unit="run", disable=None) as bar:
        for name, trainer in estimators.items():
            runs = []
            try:
                for estimate in gradient_runs(
                    rbm, dataset.train, trainer, args.replications, args.seed, args.burn_in
                ):
                    runs.append(estimate)
                    bar.update()
            except KeyboardInterrupt:
                if not result:
                    raise
                print_message(f"Interrupted: {name} and the estimators after it are left out.")
                return {**result, "interrupted": True, "origin": source}
            entry = quality(reference, runs)
            result[name] = dataclasses.asdict(entry) | {"resolved": entry.resolved}
            if not entry.resolved:
                print_message(f"{name}: its bias is lost in the errors of estimates and reference.")
            if cut := result[name]["share_cut"]:
                print_message(f"{name}: {cut:.2%} of the pairs were cut off, which biases it: raise t_max.")
    return {**result, "origin": source}


def reference_of(rbm: RBM, rows: np.ndarray, args: argparse.Namespace) -> GradientReference:
    """Return the reference for the biases: enumerated, read from a file, or sampled now."""
    if not too_large(rbm) and args.reference is None and args.reference_samples is None:
        return enumerated(rbm, rows)
    if args.reference is not None and Path(args.reference).exists():
        entry = load_reference(args.reference, rbm, rows)
    else:
        check_outputs({"--reference": args.reference})  # before a run that may take an hour
        samples = args.reference_samples or TEMPERED_SAMPLES
        seed = rng.child(args.seed, "reference")
        ladders = tempered_ladders(rbm, samples=samples, seed=seed)
        bar = tqdm(ladders, total=LADDERS, unit="ladder", disable=None)
        entry = tempered(rbm, rows, bar)
        if args.reference is not None:
            save_reference(args.reference, entry, rbm, rows)
    if entry.warning:
        print_message(entry.warning)
    return entry


def text(result: dict[str, Any]) -> str:
    """Return the result as text for the terminal."""
    heads = f"{'':<10} {'bias':>11} {'without noise':>25} {'variance':>11} {'pairs cut':>10}"
    lines = [f"{heads}   (squared, per parameter)"]
    for name, entry in result.items():
        if name != "interrupted":
            corrected = f"{entry['bias_corrected']:.3g} +- {entry['std_error']:.2g}"
            rest = f"{entry['variance']:11.3g} {entry['share_cut']:>10.2%}"
            lost = "" if entry["resolved"] else "   bias not resolved"
            lines.append(f"{name:<10} {entry['bias']:11.3g} {corrected:>25} {rest}{lost}")
    kinds = {
        f"Reference: {entry['reference']}, squared error {entry['reference_error']:.2g} per parameter."
        for name, entry in result.items()
        if name != "interrupted"
    }
    return "\n".join([*lines, *sorted(kinds)])
