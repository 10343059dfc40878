"""``rbmviz score``: ISL, coverage of classes, effective sample size, R-hat and findings of a sample file."""

import math
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from rbmviz.cli import Answer, print_message
from rbmviz.cli.origins import origin_of
from rbmviz.datasets import Dataset, load_dataset, load_registered
from rbmviz.errors import BadInput
from rbmviz.files import metadata
from rbmviz.files.arrays import Damaged, is_file, printable, read_json, read_npz, text_of
from rbmviz.metrics import ISL, Coverage, Kernel, chain_diagnostics, findings, reference
from rbmviz.metrics.coverage import COMPARED_EXAMPLES
from rbmviz.metrics.diagnostics import MIN_DRAWS, chains_apart
from rbmviz.metrics.isl import paired_error
from rbmviz.models import load_model, load_pretrained
from rbmviz.rbm import RBM
from rbmviz.rbm.files import beside
from rbmviz.support import checks

KERNEL_OF_ARRAY = {"v": "binary", "p": "mean"}
"""Array of the sample file -> the ISL kernel that scores it."""

LINES = {
    "start": "its chains started at {start}",
    "classes": "classes visited: {classes_visited} of {classes}, class coverage {class_coverage:.1%}, "
    "{class_switches:,} switches",
    "spurious": "spurious samples: {spurious:.1%}, blank ones among them {blank:.1%}",
    "ink": "ink: {ink:.1%} of the units on",
}
"""Lines of the text, by the entry of the result without which a line is left out."""

TOLD_VERDICTS = {
    "fine": "nothing speaks against these samples",
    "unsure": "too early to tell",
    "found": "what speaks against trusting these samples",
}


class _Samples(NamedTuple):
    """A sample file: ``x`` is the scored array, ``v`` uint8 or None; the rest is from its metadata."""

    file: str
    x: np.ndarray
    v: np.ndarray | None
    model: str | None
    origin: Any
    n_chains: int
    dataset: str | None
    start: str | None


def _read(path: Path, array: str) -> _Samples:
    """Read a sample file: the scored ``array``, v if the file has it, and meta."""
    if not is_file(path):
        raise BadInput(f"There is no sample file '{path}'; 'rbmviz sample' writes one.")
    try:
        arrays = read_npz(path, {array, "v", "meta"})
        meta = read_json(text_of(arrays.pop("meta", None), "meta"))
    except Damaged as error:
        raise BadInput(f"'{path}' is not a readable sample file ({error}); give an .npz with v.") from None
    if array not in arrays:
        raise BadInput(f"'{path}' has no array {array}, which the {KERNEL_OF_ARRAY[array]} kernel needs.")
    meta = metadata.checked(meta, f"'{path}', meta")
    of_model = metadata.checked(meta.get("model_meta") or {}, f"'{path}', model_meta")
    n_chains = (meta.get("knobs") or {}).get("n_chains", 1)
    model, start = meta.get("model"), meta.get("start", meta.get("init"))
    start = printable(start)[:200] if isinstance(start, str) else None
    if type(n_chains) is not int or n_chains < 1 or not isinstance(model, str | None):
        raise BadInput(f"'{path}': meta must name the model, and one chain or more; sample it again.")
    v = arrays.get("v")
    if v is not None:
        v = arrays["v"] = checks.bits(f"'{path}': v", v)
    x = checks.numbers(f"'{path}': {array}", arrays[array])
    if x.ndim != 2 or not x.size or (v is not None and len(v) != len(x)):
        raise BadInput(f"'{path}': {array} has the shape {x.shape}, not (rows of v, n_visible).")
    return _Samples(str(path), x, v, model, meta.get("origin"), n_chains, metadata.data_name(of_model), start)


def _model_of(samples: _Samples, given: str | None, name: str) -> RBM:
    """Return the model that is given, or that a sample file names: a pretrained one, or a file beside it."""
    found = given or beside(samples.file, name)
    model = load_model(found) if found else load_pretrained(name)
    other = found and not given and model.rates and name in str(samples.origin)
    if other and model.digest() not in str(samples.origin):
        raise BadInput(f"'{found}' is not the model that '{samples.file}' was sampled from.")
    return model.rbm


def _data_of(samples: _Samples, given: str | None) -> Dataset:
    """Return the data that are given, or that a sample file names: registered ones, or a file beside it."""
    if given is not None:
        return load_dataset(given)
    if found := beside(samples.file, samples.dataset):
        return load_dataset(found)
    if samples.dataset is None:
        raise BadInput(f"'{samples.file}' does not name the data to score on: give --dataset.")
    try:
        return load_registered(samples.dataset)
    except BadInput as error:
        raise BadInput(
            f"The data that '{samples.file}' names cannot be loaded: {error} Give --dataset."
        ) from None


def _diagnostics(given: str | None, samples: _Samples, dataset: Dataset) -> dict[str, Any]:
    """Return ESS, and R-hat of several chains, for activity and for free energy; and with a model, findings.

    Row t of the file belongs to chain t % n_chains; an incomplete round at the end is left out.
    """
    name, v, n_chains = given or samples.model, samples.v, samples.n_chains
    if name is None or v is None:
        return {}
    if len(v) < MIN_DRAWS * n_chains:
        if n_chains > 1:
            print_message(f"No effective sample size: each of {n_chains} chains needs {MIN_DRAWS} samples.")
        return {}
    functions, reasons = {"activity": v.sum(axis=1)}, {}
    try:
        rbm = _model_of(samples, given, name)
        if v.shape[1] != rbm.n_visible:
            raise BadInput(f"'{samples.file}' has {v.shape[1]} units and the model {rbm.n_visible}.")
        functions["free_energy"] = rbm.free_energy(v)
        whole = v[: len(v) // n_chains * n_chains].reshape(-1, n_chains, v.shape[1])
        reasons = findings(whole.swapaxes(0, 1), rbm, dataset).as_data()
    except BadInput as error:
        if given:
            raise
        print_message(f"No effective sample size of the free energy (give --model): {error}")
    per_chain: dict[str, Any] = {"n_chains": n_chains, "ess_method": "rank-normalised bulk (ess_tail: tail)"}
    for key, values in functions.items():
        found = chain_diagnostics(chains_apart(values, n_chains))
        numbers = {f"ess_{key}": found.ess, f"ess_tail_{key}": found.ess_tail}
        numbers |= {f"rhat_{key}": found.rhat} if n_chains > 1 else {}
        per_chain |= {name: value if math.isfinite(value) else None for name, value in numbers.items()}
    return per_chain | reasons


def _training_set(
    samples: _Samples, data: Dataset, given: str | None, kernel: Kernel
) -> dict[str, float | int | str]:
    """Return the entries of the training set as samples: for means, of its means if the model is at hand."""
    name, rbm = given or samples.model, None
    if kernel == "mean" and name is not None:
        try:
            rbm = _model_of(samples, given, name)
        except BadInput:
            if given:
                raise
    rbm = rbm if rbm is not None and rbm.n_visible == data.n_visible else None
    own = reference(data.train, data.test, data.validation, kernel=kernel, rbm=rbm)
    of = "bits" if rbm is None else "means"
    return {"reference": own.isl, "reference_n": own.n, "reference_of": of}


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


def _scored(
    samples: _Samples, data: Dataset, model: str | None, kernel: Kernel, curve: bool
) -> tuple[dict[str, Any], np.ndarray]:
    """Return the entries of one sample file, and its ISL by groups of test points."""
    n, metric = samples.x.shape[1], ISL(data.test, data.validation, kernel=kernel)
    if data.n_visible != n:
        raise BadInput(f"'{samples.file}' has {n} units and {data.name} {data.n_visible}: choose other data.")
    per_chain = _diagnostics(model, samples, data)
    points = metric.curve(samples.x, None if curve else ())
    total, groups = metric.value_by_group()
    result: dict[str, Any] = {
        **{"isl": total.isl, "std_error": total.std_error, "beta": total.beta, "n": total.n},
        **{"kernel": kernel, "dataset": data.name, "start": samples.start},
        **_coverage(samples, data),
        **per_chain,
    }
    return result | ({"curve": [[point.n, point.isl] for point in points]} if curve else {}), groups


def score(
    file: str = "samples.npz",
    other: str | None = None,
    /,
    *,
    dataset: str | None = None,
    model: str | None = None,
    kernel: Literal["binary", "mean"] = "binary",
    curve: bool = False,
) -> Answer:
    """Score a sample file against a data set (ISL).

    The bandwidth beta is chosen on the validation part, the score is on the test part.

    Of two files it also gives the difference, with the error that remains when both are paired on each of the
    same test examples. Another run of either sampler would differ, too: rbmviz sweep repeats runs.

    Parameters
    ----------
    file
        A file of 'rbmviz sample', or any .npz with an array v.
    other
        Another one, to compare it with.
    dataset
        A name, a file, or a folder of images; default: the data that the file's model names, registered or
        as a file beside the sample file.
    model
        Model for the effective sample size of the free energy; default: the one that the file names,
        pretrained or as a file beside it.
    kernel
        Kernel of the ISL.
    curve
        Also give ISL at log-spaced numbers of samples.

    Examples
    --------
    rbmviz score samples.npz --dataset mnist5k --curve
    rbmviz score gibbs.npz rates.npz
    """
    array, files = "v" if kernel == "binary" else "p", [each for each in (file, other) if each is not None]
    read = [_read(Path(each), array) for each in files]
    named = {samples.dataset: samples for samples in read if samples.dataset is not None}
    if dataset is None and len(named) > 1:
        raise BadInput("The two files name different data: give --dataset, to score both on the same.")
    data = _data_of(next(iter(named.values()), read[0]), dataset)
    (result, groups), *others = [_scored(samples, data, model, kernel, curve) for samples in read]
    print_message("Scoring the training set for comparison.")
    own = [_training_set(each, data, model, kernel) for each in (read if kernel == "mean" else read[:1])]
    result |= {**own[0], "origin": origin_of({}, data)}
    said = text(result)
    for compared, other_groups in others:
        compared |= own[-1]
        difference, error = result["isl"] - compared["isl"], float(paired_error(groups, other_groups))
        said = f"{file}\n{said}\n\n{other}\n{text(compared)}\n\n{file} - {other}: {difference:+.3g}"
        said += f" +- {error:.2g} nats, paired on {len(data.test):,} test examples"
        said += f"; {files[difference < 0]} is better" if abs(difference) > 1.96 * error else ""  # at 95 %
        result |= {"other": compared, "difference": difference, "difference_error": error}
    return result, said


def text(result: dict[str, Any]) -> str:
    """Return the result as text for the terminal."""
    lines = [
        f"ISL {result['isl']:.2f} +- {result['std_error']:.2f} nats per test example of {result['dataset']} "
        f"({result['n']:,} samples, {result['kernel']} kernel, beta {result['beta']:.3f})",
        f"its training part as samples: {result['reference']:.2f} ({result['reference_n']:,} examples, "
        f"{'means, as the samples' if result['reference_of'] == 'means' else 'rows of 0 and 1'})",
    ]
    lines += [line.format(**result) for key, line in LINES.items() if result.get(key) is not None]
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
    if "verdict" in result:
        sentences = [f"- {finding['sentence']}" for finding in result["findings"]]
        looked_at = f"looked at: {', '.join(result['looked_at']) or 'nothing, there are too few samples'}"
        lines += [f"{TOLD_VERDICTS[result['verdict']]} ({looked_at})", *sentences]
    lines += [f"{n:>10,} {isl:10.2f}" for n, isl in result.get("curve", [])]
    return "\n".join(lines)
