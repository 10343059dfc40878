"""``rbmviz gradient``: bias and variance of gradient estimators against the exact gradient, or a long run."""

import dataclasses
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from tqdm import tqdm

from rbmviz import gradient as measured
from rbmviz import rng
from rbmviz.cli import print_message
from rbmviz.cli.options import ModelName, Seed, read_algorithms, split_algorithms, whole
from rbmviz.cli.origins import origin_of
from rbmviz.cli.outputs import check_outputs
from rbmviz.datasets import load_dataset
from rbmviz.errors import BadInput
from rbmviz.gradient import CHAIN_BURN_IN, RUNS, GradientReference
from rbmviz.metrics import tempered_ladders, too_large
from rbmviz.metrics.tempering import LADDERS, MAX_TEMPERED_SWEEPS, TEMPERED_SAMPLES
from rbmviz.models import data_of, load_model
from rbmviz.rbm import RBM
from rbmviz.registry import trainers


def gradient(
    *,
    model: ModelName = "bas_pcd",
    dataset: str | None = None,
    estimators: str = "cd,pop_cd,ucd",
    replications: Annotated[int, whole(2 * RUNS, 10**9)] = 1000,
    burn_in: Annotated[int, whole(0, 10**9)] = CHAIN_BURN_IN,
    reference_samples: Annotated[int, whole(LADDERS, MAX_TEMPERED_SWEEPS)] | None = None,
    reference: str | None = None,
    seed: Seed = 0,
    **knobs: str,
) -> dict[str, Any]:
    """Measure bias and variance of gradient estimators at a model.

    Bias and variance are squared and per parameter, as in table 1 of the paper on population CD.

    The reference is the exact gradient; for a model that is too large to enumerate it comes from long
    parallel tempering, whose own error is reported. Knobs (--k, --batch-size, --t-max ...) are passed to
    every trainer that has them.

    Parameters
    ----------
    dataset
        A name or a file, of which the training part is used; default: the data that the model names.
    estimators
        Trainers separated by commas, perhaps with knobs: cd:k=10.
    replications
        Estimates by each estimator.
    burn_in
        Updates of persistent chains before the first estimate.
    reference_samples
        Samples of parallel tempering for the reference (paper 200,000); default: enumerate the model if that
        is possible.
    reference
        An .npz that keeps the reference of parallel tempering: read if it is there, else written.

    Examples
    --------
    rbmviz gradient --model bas_pcd --dataset bas --estimators cd,pop_cd,ucd --k 1 --replications 2000
    """
    loaded = load_model(model)
    rbm, data = loaded.rbm, data_of(loaded, dataset, load_dataset)
    names = split_algorithms(estimators)
    if twice := [name for name in names if names.count(name) > 1]:
        raise BadInput(f"gradient: --estimators names {twice[0]} twice: name it once, or with other knobs.")
    chosen = dict(zip(names, read_algorithms(trainers, names, knobs), strict=True))
    exact = reference_of(rbm, data.train, reference, reference_samples, seed)
    source = origin_of({model: loaded}, data, seed=seed)
    result: dict[str, Any] = {}
    with tqdm(total=RUNS * len(chosen), unit="run", disable=None) as bar:
        for name, trainer in chosen.items():
            runs = []
            try:
                for estimate in measured.gradient_runs(rbm, data.train, trainer, replications, seed, burn_in):
                    runs.append(estimate)
                    bar.update()
            except KeyboardInterrupt:
                if not result:
                    raise
                print_message(f"Interrupted: {name} and the estimators after it are left out.")
                return {**result, "interrupted": True, "origin": source}
            entry = measured.quality(exact, runs)
            result[name] = dataclasses.asdict(entry) | {"resolved": entry.resolved}
            if not entry.resolved:
                print_message(f"{name}: its bias is lost in the errors of estimates and reference.")
            if cut := result[name]["share_cut"]:
                print_message(f"{name}: {cut:.2%} of the pairs were cut off, which biases it: raise t_max.")
    return {**result, "origin": source}


def reference_of(
    rbm: RBM, rows: np.ndarray, file: str | None, samples: int | None, seed: int
) -> GradientReference:
    """Return the reference for the biases: enumerated, read from a file, or sampled now."""
    if not too_large(rbm) and file is None and samples is None:
        return measured.enumerated(rbm, rows)
    if file is not None and Path(file).exists():
        entry = measured.load_reference(file, rbm, rows)
    else:
        check_outputs({"--reference": file})  # before a run that may take an hour
        ladders = tempered_ladders(
            rbm, samples=samples or TEMPERED_SAMPLES, seed=rng.child(seed, "reference")
        )
        entry = measured.tempered(rbm, rows, tqdm(ladders, total=LADDERS, unit="ladder", disable=None))
        if file is not None:
            measured.save_reference(file, entry, rbm, rows)
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
