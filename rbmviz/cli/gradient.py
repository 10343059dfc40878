"""``rbmviz gradient``: bias and variance of gradient estimators against the exact gradient, or a long run."""

import dataclasses
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from tqdm import tqdm

from rbmviz import gradient as measured
from rbmviz import rng
from rbmviz.cli import Answer, print_message, table
from rbmviz.cli.options import ModelName, Seed, read_algorithms, split_algorithms, whole
from rbmviz.cli.origins import origin_of
from rbmviz.cli.outputs import check_outputs
from rbmviz.datasets import data_of, load_dataset
from rbmviz.errors import BadInput
from rbmviz.gradient import CHAIN_BURN_IN, RUNS, GradientQuality, GradientReference
from rbmviz.metrics import tempered_ladders, too_large
from rbmviz.metrics.tempering import LADDERS, MAX_TEMPERED_SWEEPS, TEMPERED_SAMPLES
from rbmviz.models import load_model
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
) -> Answer:
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
    found: dict[str, GradientQuality] = {}
    end: dict[str, Any] = {"origin": origin_of({model: loaded}, data, seed=seed)}
    with tqdm(total=RUNS * len(chosen), unit="run", disable=None) as bar:
        for name, trainer in chosen.items():
            runs = []
            try:
                for estimate in measured.gradient_runs(rbm, data.train, trainer, replications, seed, burn_in):
                    runs.append(estimate)
                    bar.update()
            except KeyboardInterrupt:
                if not found:
                    raise
                print_message(f"Interrupted: {name} and the estimators after it are left out.")
                end["interrupted"] = True
                break
            entry = found[name] = measured.quality(exact, runs)
            if not entry.resolved:
                print_message(f"{name}: its bias is lost in the errors of estimates and reference.")
            if cut := entry.share_cut:
                print_message(f"{name}: {cut:.2%} of the pairs were cut off, which biases it: raise t_max.")
    result = {name: dataclasses.asdict(entry) | {"resolved": entry.resolved} for name, entry in found.items()}
    return result | end, _text(found)


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


def _text(found: dict[str, GradientQuality]) -> str:
    rows = [
        [
            *(name, f"{entry.bias:.3g}", f"{entry.bias_corrected:.3g} +- {entry.std_error:.2g}"),
            *(
                f"{entry.variance:.3g}",
                f"{entry.share_cut:.2%}",
                "" if entry.resolved else "bias not resolved",
            ),
        ]
        for name, entry in found.items()
    ]
    heads = ["squared, per parameter", "bias", "without noise", "variance", "pairs cut", ""]
    [(how, error)] = {(entry.reference, entry.reference_error) for entry in found.values()}
    return "\n".join([*table([heads, *rows]), f"Reference: {how}, squared error {error:.2g} per parameter."])
