"""``rbmviz sample``: write samples to a file."""

import json
import time
from typing import IO, Annotated, Any, Literal
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import numpy as np
from tqdm import tqdm

from rbmviz.cli import Answer, print_message
from rbmviz.cli.options import NUMBER, Count, ModelName, Seed, read_algorithms
from rbmviz.cli.origins import data_for, origin_of
from rbmviz.cli.outputs import DefaultName, check_outputs, ending_in
from rbmviz.cli.signals import signals_deferred
from rbmviz.datasets import Dataset
from rbmviz.errors import BadInput, brought_by
from rbmviz.files.budget import check_memory
from rbmviz.files.output import write_whole
from rbmviz.knobs import values_of
from rbmviz.metrics import LogLikelihood
from rbmviz.models import load_model, with_rates
from rbmviz.rbm import Model
from rbmviz.rbm.clamp import Clamp, read_clamp
from rbmviz.registry import samplers
from rbmviz.samplers import Sampler, Samples
from rbmviz.samplers.fast_weights import follow_norm
from rbmviz.samplers.interleave import begin as begin_chains
from rbmviz.samplers.interleave import start_of, whole
from rbmviz.samplers.target_likelihood import TARGET_STRIDE, TargetAverage, target_likelihood

INTERRUPT_SECONDS = 0.2
"""Target time of a chunk, in seconds: an interrupt takes effect after the current chunk."""

WRITTEN_AT_ONCE = 2**20
"""Bytes; numpy compresses 16 times as many in a call, and an interrupt would wait for seconds."""


def sample(
    *,
    model: ModelName = "mnist_fpcd",
    sampler: str = "rates_fpcd",
    n: Annotated[Count, NUMBER] = 1000,
    init: Literal["data", "random"] | None = None,
    dataset: str | None = None,
    thin: Count = 1,
    seed: Seed = 0,
    likelihood: bool = False,
    no_means: bool = False,
    clamp: str | None = None,
    out: str = DefaultName("samples.npz"),
    **knobs: Annotated[str, samplers],
) -> Answer:
    """Write samples of a model to a file.

    The file has arrays v (uint8), p (float32) and meta (JSON text). Row t belongs to chain t mod n_chains.

    Parameters
    ----------
    sampler
        A name of 'rbmviz list samplers', perhaps with knobs: rates_fpcd:eps=0.1,k=2.
    n
        Samples to write.
    init
        Where the chains start: at held-out examples, or at random bits; default: data where the model's data
        are at hand.
    dataset
        A name, a file, or a folder of images for starts, --likelihood, the classes of an .nc file, and the
        rates of a model without rates; default: the data that the model names.
    thin
        Write every THIN-th sample of each chain.
    likelihood
        Say how likely the training data are under the model, under theta + theta_F at the end, and under its
        average over the samples: does the sampler improve the model? Exact up to 25 units, else by AIS.
    no_means
        Leave p out: a fifth of the size before compression.
    clamp
        Hold visible units and sample the others: an .npy with 0, 1 and -1 (free), or a picture in which white
        is held on, black held off, and grey or transparent free.
    out
        The file, .npz, or .nc for ArviZ; Ctrl-C keeps the samples made so far.

    Examples
    --------
    rbmviz sample --model mnist_fpcd --sampler rates_fpcd --eps 0.03 -n 10000 --out samples.npz
    """
    target = ending_in("sample", out, ".npz", ".nc")
    if for_arviz := target.suffix == ".nc":
        with brought_by("arviz", f"'{target.name}'"):
            import arviz_base  # noqa: F401
            import h5netcdf  # noqa: F401
    check_outputs({"--out": out}, models={"--model": model}, datasets={"--dataset": dataset})
    loaded = load_model(model)
    (algorithm,) = read_algorithms(samplers, [sampler], knobs)
    check_memory(
        f"sample: {n:,} samples",
        n * loaded.rbm.n_visible * (17 if for_arviz else 2 if no_means else 7),
        "take fewer, --thin them, or stream them in Python (rbmviz.stream)",
    )
    without = "leave --likelihood out" if likelihood else "use --init random" if init == "data" else ""
    data = data_for(loaded, dataset, without) if dataset or without else None
    if data is not None and algorithm.needs_rates and loaded.rates is None:
        loaded = with_rates(loaded, data)
    v0, start = start_of(loaded, seed, algorithm.n_chains, init, data)
    held = read_clamp(clamp, loaded.rbm.n_visible) if clamp is not None else None
    if held is not None and likelihood:
        raise BadInput("--likelihood is of the whole model: leave it or --clamp out.")
    state = begin_chains(algorithm, loaded, seed, v0, held, data)
    state = follow_norm(state) if for_arviz else state
    average = TargetAverage() if likelihood else None
    begin = time.perf_counter()
    samples, sweeps = _drawn(algorithm, state, n, thin, average, loaded, held, for_arviz or not no_means)
    seconds, interrupted = time.perf_counter() - begin, len(samples) < n
    source = origin_of({model: loaded}, data, seed=seed)
    meta = {
        **{"model": model, "model_meta": dict(loaded.meta), "sampler": algorithm.name},
        **{"knobs": values_of(algorithm), "seed": seed, "init": "random" if v0 is None else "data"},
        **({} if held is None else {"clamp": held.units.tolist()}),
        **{"start": start, "thin": thin, "n": len(samples), "seconds": seconds, "sweeps": sweeps},
        "origin": source,
    }
    content = samples, meta, not no_means, for_arviz, data if dataset else None
    try:
        if not interrupted:
            write_whole(target, lambda file: _write(file, ZIP_DEFLATED, *content))
    except KeyboardInterrupt:  # compression takes ten times as long as writing
        interrupted = True
    if interrupted:
        with signals_deferred():
            print_message(f"Interrupted: the {len(samples):,} samples made so far are kept, uncompressed.")
            write_whole(target, lambda file: _write(file, ZIP_STORED, *content))
    rate = len(samples) / seconds
    spent = f"{sweeps:,} sweeps in {seconds:.2f} s ({rate:,.0f} samples/s)"
    said = f"{len(samples):,} samples, {spent}, started at {start} -> {target}"
    result: dict[str, Any] = {"n": len(samples), "seconds": seconds, "samples_per_second": rate}
    result |= {"sweeps": sweeps, "start": start, "out": str(target), "origin": source}
    if average is not None and data is not None:
        found = target_likelihood(loaded.rbm, algorithm.target(state), average, data.train, seed=seed)
        pairs = {name: None if x is None else (float(x), x.std_error) for name, x in found.items()}
        method = next(x.method for x in found.values() if x is not None)
        result["likelihood"] = pairs | {"samples": average.models * TARGET_STRIDE, "method": method}
        said += f"\n{_likelihoods(found, method)}"
    return result | ({"interrupted": True} if interrupted else {}), said


def _drawn(
    sampler: Sampler,
    state: Any,
    n: int,
    thin: int,
    average: TargetAverage | None,
    model: Model,
    held: Clamp | None,
    means: bool,
) -> tuple[Samples, int]:
    """Return n samples, every ``thin``-th of each chain, and the sweeps; fewer after an interrupt."""
    last_round, last_chain = divmod(n - 1, sampler.n_chains)
    total = (last_round * thin + thin - 1) * sampler.n_chains + last_chain + 1
    v = np.empty((n, model.rbm.n_visible), np.uint8)
    p = np.empty(v.shape if means else (n, 0), np.float32)
    infos: list[dict[str, np.ndarray]] = []
    done, drawn, sweeps, chunk = 0, 0, 0, 1
    try:
        with tqdm(total=n, unit="sample", disable=None) as bar:
            while drawn < total:
                tick = time.perf_counter()
                size = min(chunk, total - drawn)
                made = average.step(sampler, state, size) if average else sampler.step(state, size)
                made = whole(made, held)
                spent = time.perf_counter() - tick
                chunk = min(max(int(size * INTERRUPT_SECONDS / spent), 1), 2 * chunk)
                rounds = np.arange(drawn, drawn + size) // sampler.n_chains
                chosen = made[rounds % thin == thin - 1] if thin > 1 else made
                end, used = done + len(chosen), int(made.info["sweeps"].sum())
                v[done:end] = chosen.v
                if means:
                    p[done:end] = chosen.p
                infos.append(chosen.info)
                done, drawn, sweeps = end, drawn + size, sweeps + used
                bar.update(len(chosen))
    except KeyboardInterrupt:
        if not done:
            raise
    info = {name: np.concatenate([each[name] for each in infos])[:done] for name in infos[0]}
    return Samples(v[:done], p[:done], info, model, sampler.n_chains), sweeps


def _write(
    file: IO[bytes],
    method: int,
    samples: Samples,
    meta: dict[str, Any],
    means: bool,
    for_arviz: bool,
    dataset: Dataset | None,
) -> None:
    """Write the content of the file; method : compression, see ``zipfile``."""
    if for_arviz:
        tree = samples.to_arviz(dataset)
        if not means:
            tree["samples"] = tree["samples"].to_dataset().drop_vars("p")
        tree.attrs["meta"] = json.dumps(meta)
        file.write(tree.to_netcdf(engine="h5netcdf"))  # in memory: HDF5 crashes on a full disk
        return
    arrays = {"v": samples.v, "p": samples.p} if means else {"v": samples.v}
    arrays["meta"] = np.array(json.dumps(meta))
    with ZipFile(file, "w", method) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as out:
                np.lib.format.write_array_header_1_0(out, np.lib.format.header_data_from_array_1_0(array))
                content = array.reshape(-1).view(np.uint8)
                for at in range(0, len(content), WRITTEN_AT_ONCE):
                    out.write(content[at : at + WRITTEN_AT_ONCE].data)


def _likelihoods(found: dict[str, LogLikelihood | None], method: str) -> str:
    each = dict(
        zip(("of the model", "of theta + theta_F now", "of its average"), found.values(), strict=True)
    )
    values = (
        f"{label} {value:.3f}" + (f" +- {value.std_error:.2g}" if value.std_error else "")
        for label, value in each.items()
        if value is not None
    )
    return f"mean log-likelihood (nats, {method}) {', '.join(values)}"
