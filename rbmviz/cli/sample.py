"""``rbmviz sample``: write samples to a file, chunk by chunk."""

import argparse
import dataclasses
import json
import math
import os
import shutil
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from rbmviz.budget import check_memory
from rbmviz.cli import COUNT, SEED, WholeNumber, add_command, print_message
from rbmviz.cli.knob_flags import add_knobs, read_algorithms
from rbmviz.cli.origins import origin_of
from rbmviz.cli.outputs import check_outputs
from rbmviz.cli.signals import signals_deferred
from rbmviz.datasets import Dataset, load_dataset
from rbmviz.errors import BadInput, OutputFailure, brought_by
from rbmviz.knobs import values_of
from rbmviz.metadata import data_name
from rbmviz.models import data_of, load_model, with_rates
from rbmviz.output import neighbour, output_path, put_in_place, rescue, writing
from rbmviz.rbm import Model
from rbmviz.registry import samplers
from rbmviz.samplers import Sampler, Samples, list_samplers
from rbmviz.samplers.interleave import start_of
from rbmviz.session import write_array
from rbmviz.target_likelihood import TargetAverage, target_likelihood

WRITE_SECONDS = 0.2
"""Target time of a chunk, in seconds: an interrupt takes effect after the current chunk."""

CHUNK_BYTES = 2**24
"""Maximum size in bytes of a chunk; memory holds at most one chunk of samples, however many are requested."""


def add(commands: Any) -> None:
    """Add the command."""
    example = "rbmviz sample --model mnist_fpcd --sampler rates_fpcd --eps 0.03 -n 10000 --out samples.npz"
    command = add_command(commands, "sample", example, run, text)
    add_knobs(command, samplers)
    command.add_argument("--model", required=True, help="name of a pretrained model, or a file")
    command.add_argument(
        "--sampler",
        required=True,
        help=f"{', '.join(list_samplers())}, perhaps with knobs: rates_fpcd:eps=0.1,k=2",
    )
    command.add_argument("-n", type=WholeNumber(1, 10**18), required=True, help="samples to write")
    command.add_argument(
        "--init",
        choices=("data", "random"),
        help="where the chains start: at held-out examples, or at random bits; default: data where the "
        "model's data are at hand",
    )
    command.add_argument(
        "--dataset",
        help="a name, a file, or a folder of images for --init data, --likelihood, and the rates of a model "
        "without rates; default: the data that the model names",
    )
    command.add_argument(
        "--thin", type=COUNT, default=1, help="write every THIN-th sample of each chain (default 1)"
    )
    command.add_argument("--seed", type=SEED, default=0, help="random seed (default 0)")
    command.add_argument(
        "--likelihood",
        action="store_true",
        help="say how likely the training data are under the model, under theta + theta_F at the end, and "
        "under its average over the samples: does the sampler improve the model? Exact up to 25 units, else "
        "by AIS",
    )
    command.add_argument(
        "--no-means", action="store_true", help="leave p out: a fifth of the size before compression"
    )
    command.add_argument(
        "--out",
        required=True,
        metavar="F.npz",
        help="the file, .npz, or .nc for ArviZ (all samples are held in memory; --dataset adds classes); it "
        "appears when it is complete, and Ctrl-C keeps the samples made so far",
    )


def _data(model: Model, args: argparse.Namespace, sampler: Sampler) -> Dataset | None:
    """Return the data needed for scores, starts or rates; None if nothing needs them."""
    if args.dataset is not None:
        return data_of(model, args.dataset, load_dataset)
    if not args.likelihood and args.init != "data":
        return None
    if data_name(model.meta) is None:
        without = "leave --likelihood out" if args.likelihood else "use --init random"
        raise BadInput(f"The model does not say what data it learned: give --dataset, or {without}.")
    try:
        return data_of(model)
    except BadInput as error:
        raise BadInput(f"The data that the model names cannot be loaded: {error} Give --dataset.") from None


@dataclass(frozen=True)
class _Selection:
    """The selection of written samples: ``n``, from every ``thin``-th round of one sample per chain.

    Row t of the file belongs to chain t % n_chains.
    """

    n: int
    thin: int
    n_chains: int

    @property
    def total(self) -> int:
        """Number of samples to draw."""
        last_round, last_chain = divmod(self.n - 1, self.n_chains)
        return (last_round * self.thin + self.thin - 1) * self.n_chains + last_chain + 1

    def of(self, begin: int, end: int) -> np.ndarray:
        """Return the mask of written samples among begin, ..., end - 1, bool (end - begin,)."""
        return np.arange(begin, end) // self.n_chains % self.thin == self.thin - 1


@dataclass
class _Outcome:
    """The written samples and their sweeps, and the reason for an early end, if any."""

    done: int = 0
    sweeps: int = 0
    traces: dict[str, list[np.ndarray]] = dataclasses.field(default_factory=dict)
    interrupted: bool = False
    failure: OutputFailure | None = None


Parts = dict[str, tuple[Path, Any]]
"""Array name -> the file with its bytes, and its dtype."""


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Write samples, chunk by chunk, into temporary files beside the target; pack them at the end.

    After an interrupt, the samples of all complete chunks are packed.
    """
    target = Path(args.out)
    if target.suffix not in (".npz", ".nc"):
        raise BadInput(f"sample: '{target}' must end in .npz or .nc.")
    for_arviz = target.suffix == ".nc"
    if for_arviz:
        with brought_by("arviz", f"'{target.name}'"):
            import arviz_base  # noqa: F401
            import h5netcdf  # noqa: F401
    check_outputs({"--out": target}, models={"--model": args.model}, datasets={"--dataset": args.dataset})
    model = load_model(args.model)
    (sampler,) = read_algorithms(samplers, [args.sampler], args.rest)
    width = model.rbm.n_visible
    _check_disk(args, width, target)
    dataset = _data(model, args, sampler)
    if for_arviz:
        needed = 17 * args.n * width  # three copies of v and p, and some rows in float64
        check_memory(f"sample: {args.n:,} samples for ArviZ", needed, "take fewer, or write an .npz")
        classes_of = data_of(model, args.dataset, load_dataset) if args.dataset else None
    if dataset is not None and sampler.needs_rates and model.rates is None:
        model = with_rates(model, dataset)
    v0, start = start_of(model, args.seed, sampler.n_chains, args.init, dataset)
    state = sampler.init(model, args.seed, v0)
    source = origin_of(args, {args.model: model}, dataset)
    average = TargetAverage() if args.likelihood else None
    begin = time.perf_counter()
    with _scratch_folder(output_path(target)) as folder:
        parts: Parts = {"v": (folder / "v", np.uint8)}
        if not args.no_means:
            parts["p"] = folder / "p", np.float32
        selection = _Selection(args.n, args.thin, sampler.n_chains)
        outcome = _write_samples(sampler, state, selection, width, parts, target, average, for_arviz)
        seconds = time.perf_counter() - begin
        if outcome.interrupted:
            print_message(f"Interrupted: the {outcome.done:,} samples made so far are kept.")
        meta = {
            "model": args.model,
            "model_meta": dict(model.meta),
            "sampler": sampler.name,
            "knobs": values_of(sampler),
            "seed": args.seed,
            "init": "random" if v0 is None else "data",
            "start": start,
            "thin": args.thin,
            "n": outcome.done,
            "seconds": seconds,
            "sweeps": outcome.sweeps,
            "origin": source,
        }
        shape, pack = (outcome.done, width), _pack
        if for_arviz:
            traces = {name: np.concatenate(trace) for name, trace in outcome.traces.items()}
            pack = partial(_pack_tree, model, sampler.n_chains, traces, classes_of)
        kept = _put_in_place(target, folder / "whole", parts, shape, meta, outcome, pack)
    if outcome.failure:
        kept_in = (
            f"The first {outcome.done:,} samples are kept in '{kept}'."
            if kept
            else "No sample could be kept."
        )
        raise OutputFailure(f"{outcome.failure} {kept_in}")
    result: dict[str, Any] = {
        "n": outcome.done,
        "seconds": seconds,
        "samples_per_second": outcome.done / seconds,
        "sweeps": outcome.sweeps,
        "start": start,
        "out": str(target),
        "origin": source,
    }
    if average is not None and dataset is not None:
        likelihood = target_likelihood(
            model.rbm, sampler.target(state), average, dataset.train, seed=args.seed
        )
        result["likelihood"] = dataclasses.asdict(likelihood) | {"method": likelihood.method}
    return result | ({"interrupted": True} if outcome.interrupted else {})


def _check_disk(args: argparse.Namespace, width: int, target: Path) -> None:
    """Refuse more samples than fit on the disk, in the temporary files and in the archive."""
    needed = 2 * args.n * width * (1 if args.no_means else 5)
    free = shutil.disk_usage(target.parent).free
    if needed > free:
        raise BadInput(
            f"sample: {args.n:,} samples need up to {_size(needed)} while they are written and "
            f"'{target.parent}' has {_size(free)} free: take fewer, --thin them, or use --no-means."
        )


def _write_samples(
    sampler: Sampler,
    state: Any,
    selection: _Selection,
    width: int,
    parts: Parts,
    target: Path,
    average: TargetAverage | None,
    keep_traces: bool,
) -> _Outcome:
    """Draw the samples chunk by chunk, and write the selected ones to the files of ``parts``.

    Traces are kept in memory if ``keep_traces`` is set. Errors name the file ``target``. Interrupts and
    errors are raised if nothing has been written yet.
    """
    outcome, n_drawn, chunk, total = _Outcome(), 0, 1, selection.total
    largest_chunk = max(CHUNK_BYTES // (5 * width), 1)  # a byte for v, four for p
    try:
        with (
            writing(target),
            ExitStack() as stack,
            tqdm(total=selection.n, unit="sample", disable=None) as bar,
        ):
            files = {name: stack.enter_context(path.open("wb")) for name, (path, _) in parts.items()}
            while n_drawn < total:
                tick = time.perf_counter()
                n = min(chunk, total - n_drawn)
                samples = average.step(sampler, state, n) if average else sampler.step(state, n)
                spent = time.perf_counter() - tick
                chunk = min(max(int(n * WRITE_SECONDS / spent), 1), 2 * chunk, largest_chunk)
                selected = selection.of(n_drawn, n_drawn + n)
                for name, file in files.items():
                    file.write(getattr(samples, name)[selected].data)
                for name, trace in samples.info.items() if keep_traces else ():
                    outcome.traces.setdefault(name, []).append(trace[selected])
                n_drawn += n
                outcome.sweeps += int(samples.info["sweeps"].sum())
                outcome.done += int(selected.sum())
                bar.update(outcome.done - bar.n)
    except KeyboardInterrupt:
        if not outcome.done:
            raise
        outcome.interrupted = True
    except OutputFailure as error:
        for path, dtype in parts.values():  # the last chunk may be on the disk only in part
            rows = path.stat().st_size // (np.dtype(dtype).itemsize * width) if path.exists() else 0
            outcome.done = min(outcome.done, rows)
        if not outcome.done:
            raise
        outcome.failure = error
    return outcome


def _put_in_place(
    target: Path,
    whole: Path,
    parts: Parts,
    shape: tuple[int, int],
    meta: dict[str, Any],
    outcome: _Outcome,
    pack: Callable[..., None],
) -> Path | None:
    """Pack the samples into the file ``whole``, and rename that file to the target.

    An interrupt ends the compression, which takes most of the time; no sample is lost. If packing fails, the
    error is the outcome's failure, and the samples are packed into the system's temporary folder. Returns the
    file that contains them, or None.
    """
    try:
        with writing(target), signals_deferred() as stops:
            try:
                pack(whole, parts, shape, meta, stops=stops)
            except KeyboardInterrupt:
                outcome.interrupted = True
                print_message(f"Interrupted: all {shape[0]:,} samples are written, without compression.")
                pack(whole, parts, shape, meta, zipfile.ZIP_STORED)
            put_in_place(whole, output_path(target))
    except (BadInput, OutputFailure) as error:
        outcome.failure = outcome.failure or OutputFailure(str(error))
        return rescue(target.name, lambda path: pack(path, parts, shape, meta))
    return target


def _size(n: int) -> str:
    return f"{n / 1e9:,.1f} GB" if n >= 1e9 else f"{n / 1e6:,.1f} MB"


@contextmanager
def _scratch_folder(beside: Path) -> Iterator[Path]:
    """Make a hidden folder beside the target, and remove it at the end, even after an interrupt."""
    folder = neighbour(beside)
    try:
        with writing(beside):
            folder.mkdir(mode=0o700)
        yield folder
    finally:
        with signals_deferred():
            shutil.rmtree(folder, ignore_errors=True)


def _pack(
    path: Path,
    parts: Parts,
    shape: tuple[int, int],
    meta: dict[str, Any],
    compression: int = zipfile.ZIP_DEFLATED,
    stops: Sequence[int] = (),
) -> None:
    """Write the sample file from its temporary files; KeyboardInterrupt once ``stops`` holds a signal."""
    with path.open("wb") as file:
        with zipfile.ZipFile(file, "w", compression, compresslevel=1) as archive:
            for name, (raw, dtype) in parts.items():
                _add_array(archive, name, raw, dtype, shape, stops)
            with archive.open("meta.npy", "w") as out:
                np.save(out, np.array(json.dumps(meta)))  # type: ignore[arg-type]
        file.flush()
        os.fsync(file.fileno())


def _pack_tree(
    model: Model,
    n_chains: int,
    traces: dict[str, np.ndarray],
    dataset: Dataset | None,
    path: Path,
    parts: Parts,
    shape: tuple[int, int],
    meta: dict[str, Any],
    compression: int = zipfile.ZIP_DEFLATED,
    stops: Sequence[int] = (),
) -> None:
    """Write the samples as a NetCDF file for ArviZ, see ``Samples.to_arviz``."""
    rows = {name: np.fromfile(raw, dtype)[: math.prod(shape)] for name, (raw, dtype) in parts.items()}
    v = rows["v"].reshape(shape)
    p = rows.get("p", v).reshape(shape)
    info = {name: trace[: shape[0]] for name, trace in traces.items()}
    tree = Samples(v, p, info, model, n_chains).to_arviz(dataset)
    if "p" not in rows:
        tree["samples"] = tree["samples"].to_dataset().drop_vars("p")
    tree.attrs["meta"] = json.dumps(meta)
    content = tree.to_netcdf(engine="h5netcdf")  # in memory, because HDF5 crashes on a full disk
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _add_array(
    archive: zipfile.ZipFile, name: str, raw: Path, dtype: type, shape: tuple[int, int], stops: Sequence[int]
) -> None:
    """Add an array whose bytes are in a file, without loading all of it into memory."""
    size = shape[0] * shape[1] * np.dtype(dtype).itemsize
    os.truncate(raw, size)  # an interrupt may have left a chunk half written
    with (
        raw.open("rb") as content,
        tqdm(total=size, desc=f"packing {name}", unit="B", unit_scale=True, disable=None) as bar,
    ):

        def blocks() -> Iterator[bytes]:
            while block := content.read(2**20):
                if stops:
                    raise KeyboardInterrupt
                bar.update(len(block))
                yield block

        write_array(archive, name, dtype, shape, blocks())


def text(result: dict[str, Any]) -> str:
    """Return the result as text for the terminal."""
    done = (
        f"{result['n']:,} samples, {result['sweeps']:,} sweeps in {result['seconds']:.2f} s "
        f"({result['samples_per_second']:,.0f} samples/s), started at {result['start']} -> {result['out']}"
    )
    if (likelihood := result.get("likelihood")) is None:
        return done
    names = {"model": "of the model", "now": "of theta + theta_F now", "averaged": "of its average"}
    values = ", ".join(
        f"{label} {likelihood[name][0]:.3f}"
        + (f" +- {likelihood[name][1]:.2g}" if likelihood[name][1] else "")
        for name, label in names.items()
        if likelihood[name] is not None
    )
    return f"{done}\nmean log-likelihood (nats, {likelihood['method']}) {values}"
