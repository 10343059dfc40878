"""``rbmviz score``: ISL, coverage of classes, effective sample size and R-hat of a sample file."""

import math
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from rbmviz import metadata
from rbmviz.array_files import MAX_HEADER, Damaged, Headers, is_file, printable, read_json, read_npz, text_of
from rbmviz.cli import print_message
from rbmviz.cli.origins import origin_of
from rbmviz.datasets import Dataset, load_dataset, load_registered
from rbmviz.errors import BadInput
from rbmviz.metrics import ISL, Coverage, chain_diagnostics, reference
from rbmviz.metrics.coverage import COMPARED_EXAMPLES
from rbmviz.metrics.diagnostics import MIN_DRAWS, chains_apart
from rbmviz.models import load_model, load_pretrained
from rbmviz.rbm import ENTRIES_PER_BLOCK

KERNEL_OF_ARRAY = {"v": "binary", "p": "mean"}
"""Array of the sample file -> the ISL kernel that scores it."""


EXAMPLES = {"score": "rbmviz score samples.npz --dataset mnist5k --curve"}


class _Samples(NamedTuple):
    """A sample file: ``x`` is the scored array, ``v`` uint8 or None; the rest is from its metadata."""

    x: np.ndarray
    v: np.ndarray | None
    model: str | None
    n_chains: int
    dataset: str | None
    start: str | None


def _read(path: Path, array: str) -> _Samples:
    """Read a sample file: the scored ``array``, v if the file has it, and meta."""
    if not is_file(path):
        raise BadInput(f"There is no sample file '{path}'; 'rbmviz sample' writes one.")

    def need(headers: Headers) -> int:
        if array not in headers:
            raise BadInput(
                f"'{path}' has no array {array}, which the {KERNEL_OF_ARRAY[array]} kernel needs. A file of "
                f"the app has one for each panel, {array}0 and so on: save one of them as {array}."
            )
        for name, header in headers.items():
            if name == "meta":
                if header.nbytes > 4 * MAX_HEADER:
                    raise Damaged("meta is too long")
            elif len(header.shape) != 2 or 0 in header.shape:
                raise BadInput(
                    f"'{path}': {name} has shape {header.shape}; it must be (n, n_visible), and not empty."
                )
            elif header.dtype != np.uint8 if name == "v" else header.dtype.kind != "f":
                raise BadInput(
                    f"'{path}': {name} is {header.dtype}; v must be uint8, 0 and 1, and p means from 0 to 1."
                )
        # The arrays, one function value and one rank per sample, and a few blocks of intermediate results.
        return (
            sum(header.nbytes for header in headers.values())
            + 128 * headers[array].shape[0]
            + 64 * ENTRIES_PER_BLOCK
        )

    wanted = {array, "v", "meta"}
    try:
        arrays = read_npz(path, f"'{path}'", wanted.__contains__, need)
        meta = read_json(text_of(arrays.pop("meta", None), "meta"))
    except Damaged as error:
        raise BadInput(f"'{path}' is not a readable sample file ({error}); give an .npz with v.") from None
    meta = metadata.checked(meta, f"'{path}', meta")
    of_model = metadata.checked(meta.get("model_meta") or {}, f"'{path}', model_meta")
    n_chains = (meta.get("knobs") or {}).get("n_chains", 1)
    model, start = meta.get("model"), meta.get("start", meta.get("init"))
    start = printable(start)[:200] if isinstance(start, str) else None
    if type(n_chains) is not int or n_chains < 1 or not isinstance(model, str | None):
        raise BadInput(f"'{path}': meta must name the model, and one chain or more; sample it again.")
    v = arrays.get("v")
    if v is not None and v.max() > 1:
        raise BadInput(f"'{path}': v holds values other than 0 and 1.")
    if v is not None and len(v) != len(arrays[array]):
        raise BadInput(f"'{path}': v and {array} have different numbers of rows; sample it again.")
    return _Samples(arrays[array], v, model, n_chains, metadata.data_name(of_model), start)


def _diagnostics(file: str, given: str | None, samples: _Samples) -> dict[str, Any]:
    """Return ESS, and R-hat of several chains, for activity and for free energy; the results may differ.

    Row t of the file belongs to chain t % n_chains; an incomplete round at the end is left out.
    """
    name, v, n_chains = given or samples.model, samples.v, samples.n_chains
    if name is None or v is None:
        return {}
    if len(v) < MIN_DRAWS * n_chains:
        if n_chains > 1:
            print_message(f"No effective sample size: each of {n_chains} chains needs {MIN_DRAWS} samples.")
        return {}
    functions = {"activity": v.sum(axis=1)}
    try:
        rbm = (load_model(name) if given else load_pretrained(name)).rbm
        if v.shape[1] != rbm.n_visible:
            raise BadInput(f"'{file}' has {v.shape[1]} units and the model {rbm.n_visible}.")
        functions["free_energy"] = rbm.free_energy(v)
    except BadInput as error:
        if given:
            raise
        print_message(f"No effective sample size of the free energy (give --model): {error}")
    per_chain: dict[str, Any] = {"n_chains": n_chains, "ess_method": "rank-normalised bulk (ess_tail: tail)"}
    for key, values in functions.items():
        diagnostics = chain_diagnostics(chains_apart(values, n_chains))
        for name, value in ((f"ess_{key}", diagnostics.ess), (f"ess_tail_{key}", diagnostics.ess_tail)):
            per_chain[name] = None if np.isnan(value) else value
        if n_chains > 1:
            per_chain[f"rhat_{key}"] = diagnostics.rhat if np.isfinite(diagnostics.rhat) else None
    return per_chain


def _coverage(samples: _Samples, dataset: Dataset) -> dict[str, Any]:
    """Return ink, shares of blank and spurious samples, and with labels the classes, as in the app."""
    if samples.v is None:
        return {}
    coverage = Coverage(dataset, COMPARED_EXAMPLES, samples.n_chains)
    coverage.update(samples.v)
    values: dict[str, Any] = {"blank": coverage.blank, "ink": coverage.ink}
    if not np.isnan(coverage.spurious):
        values["spurious"] = coverage.spurious
    if len(coverage.occupancy):
        values |= {
            "classes": len(coverage.occupancy),
            "classes_visited": coverage.visited,
            "class_coverage": coverage.class_coverage,
            "class_switches": coverage.switches,
        }
    return values


def score(
    file: str = "samples.npz",
    /,
    *,
    dataset: str | None = None,
    model: str | None = None,
    kernel: Literal["binary", "mean"] = "binary",
    curve: bool = False,
) -> dict[str, Any]:
    """Score a sample file by ISL on a data set's test part; beta is chosen on its validation part.

    Parameters
    ----------
    file
        A file of 'rbmviz sample', or any .npz with an array v.
    dataset
        A name, a file, or a folder of images; default: the data that the file's model names.
    model
        Model for the effective sample size of the free energy; default: the one that the file names.
    kernel
        Kernel of the ISL.
    curve
        Also give ISL at log-spaced numbers of samples.
    """
    samples = _read(Path(file), "v" if kernel == "binary" else "p")
    x, name = samples.x, dataset or samples.dataset
    if name is None:
        raise BadInput(f"'{file}' does not name the data to score on: give --dataset.")
    try:
        data = load_dataset(name) if dataset else load_registered(name)
    except BadInput as error:
        if dataset:
            raise
        raise BadInput(f"The data that '{file}' names cannot be loaded: {error} Give --dataset.") from None
    if data.n_visible != x.shape[1]:
        raise BadInput(
            f"'{file}' has {x.shape[1]} units and {data.name} {data.n_visible}: choose other data."
        )
    per_chain = _diagnostics(file, model, samples)
    metric = ISL(data.test, data.validation, kernel=kernel)
    points = metric.curve(x, None if curve else ())
    total = metric.value()
    print_message("Scoring the training set for comparison.")
    own = reference(data.train, data.test, data.validation, kernel=kernel)
    result: dict[str, Any] = {
        "isl": total.isl,
        "std_error": total.std_error,
        "beta": total.beta,
        "n": total.n,
        "kernel": kernel,
        "dataset": data.name,
        "reference": own.isl,
        "reference_n": own.n,
        "origin": origin_of({}, data),
        "start": samples.start,
        **_coverage(samples, data),
        **per_chain,
    }
    if curve:
        result["curve"] = [[point.n, point.isl] for point in points]
    return result


def text(result: dict[str, Any]) -> str:
    """Return the result as text for the terminal."""
    lines = [
        f"ISL {result['isl']:.2f} +- {result['std_error']:.2f} nats per test example of {result['dataset']} "
        f"({result['n']:,} samples, {result['kernel']} kernel, beta {result['beta']:.3f})",
        f"its training part as samples: {result['reference']:.2f} ({result['reference_n']:,} examples)",
    ]
    if result["start"]:
        lines.append(f"its chains started at {result['start']}")
    if "classes" in result:
        lines.append(
            f"classes visited: {result['classes_visited']} of {result['classes']}, class coverage "
            f"{result['class_coverage']:.1%}, {result['class_switches']:,} switches"
        )
    if "spurious" in result:
        lines.append(
            f"spurious samples: {result['spurious']:.1%}, blank ones among them {result['blank']:.1%}"
        )
    if "ink" in result:
        lines.append(f"ink: {result['ink']:.1%} of the units on")
    sizes = [
        f"{result[f'ess_{key}']:,.0f} and {result[f'ess_tail_{key}'] or math.nan:,.0f} "
        f"by {key.replace('_', ' ')}"
        for key in ("activity", "free_energy")
        if result.get(f"ess_{key}")
    ]
    if sizes:
        lines.append(
            f"effective sample size (bulk and tail), if the chain has seen every mode: {', '.join(sizes)}"
        )
    rhat = [
        f"{f'{result[key]:.4g}' if result[key] < 100 else 'over 100'} "
        f"by {key.removeprefix('rhat_').replace('_', ' ')}"
        for key in ("rhat_activity", "rhat_free_energy")
        if result.get(key)
    ]
    if rhat:
        lines.append(
            f"R-hat of {result['n_chains']} chains, above 1.01 while they disagree: {', '.join(rhat)}"
        )
    lines += [f"{n:>10,} {isl:10.2f}" for n, isl in result.get("curve", [])]
    return "\n".join(lines)
