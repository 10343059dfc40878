"""``rbmviz score``: ISL of a sample file."""

import argparse
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from rbmviz.cli import add_command, say
from rbmviz.datasets import load_dataset
from rbmviz.errors import BadInput
from rbmviz.metrics import ISL, reference


def add(commands: Any) -> None:
    """Add the command."""
    example = "rbmviz score samples.npz --dataset mnist5k --curve"
    about = (
        "Score a sample file by ISL against a data set's test part; beta is chosen on its validation part."
    )
    command = add_command(commands, "score", about, example, run, text)
    command.add_argument(
        "file", metavar="F.npz", help="a file of 'rbmviz sample', or any .npz with an array v"
    )
    command.add_argument("--dataset", help="a name or a file; default: the data that the file's model names")
    command.add_argument("--kernel", choices=("binary", "mean"), default="binary", help="default binary")
    command.add_argument("--curve", action="store_true", help="ISL at log-spaced numbers of samples, too")


def _read(path: Path) -> dict[str, np.ndarray]:
    if not path.is_file():
        raise BadInput(f"There is no sample file '{path}'; 'rbmviz sample' writes one.")
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise BadInput(f"'{path}' is not a readable sample file ({error}); give an .npz with v.") from None


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Return the score, the training set's own, and the curve where it is asked for."""
    arrays = _read(Path(args.file))
    array = "v" if args.kernel == "binary" else "p"
    if array not in arrays:
        raise BadInput(f"'{args.file}' has no array {array}, which the {args.kernel} kernel needs.")
    x = arrays[array]
    if x.ndim != 2 or not len(x):
        raise BadInput(f"'{args.file}': {array} has shape {x.shape}; it must be (n, n_visible), n > 0.")
    name = args.dataset
    if name is None and "meta" in arrays:
        meta = json.loads(str(arrays["meta"])).get("model_meta", {})
        name = meta.get("scored_on") or meta.get("dataset")
    if name is None:
        raise BadInput(f"'{args.file}' does not say what data to score against: give --dataset.")
    dataset = load_dataset(name)
    if dataset.n_visible != x.shape[1]:
        raise BadInput(
            f"'{args.file}' has {x.shape[1]} units and {dataset.name} {dataset.n_visible}: choose other data."
        )
    metric = ISL(dataset.test, dataset.validation, kernel=args.kernel, counts=None if args.curve else ())
    score = metric.update(x).value()
    say("Scoring the training set for comparison.")
    own = reference(dataset.train, dataset.test, dataset.validation, kernel=args.kernel)
    result: dict[str, Any] = {
        "isl": score.isl,
        "std_error": score.std_error,
        "beta": score.beta,
        "n": score.n,
        "kernel": args.kernel,
        "dataset": dataset.name,
        "reference": own.isl,
        "reference_n": own.n,
    }
    if args.curve:
        result["curve"] = [[point.n, point.isl] for point in metric.curve()]
    return result


def text(result: dict[str, Any]) -> str:
    """Say it for people."""
    lines = [
        f"ISL {result['isl']:.2f} +- {result['std_error']:.2f} nats a test example of {result['dataset']} "
        f"({result['n']:,} samples, {result['kernel']} kernel, beta {result['beta']:.3f})",
        f"its training part as samples: {result['reference']:.2f} ({result['reference_n']:,} examples)",
    ]
    lines += [f"{n:>10,} {isl:10.2f}" for n, isl in result.get("curve", [])]
    return "\n".join(lines)
