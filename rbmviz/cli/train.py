"""``rbmviz train``: train one model and write it with its rates and its provenance."""

import argparse
import csv
import shlex
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from rbmviz import metrics
from rbmviz.array_files import Damaged, read_file, why
from rbmviz.blas import one_blas_thread
from rbmviz.budget import check_memory
from rbmviz.cli import COUNT, SEED, WholeNumber, add_command, print_message
from rbmviz.cli.knob_flags import add_knobs, range_of, read_algorithms
from rbmviz.cli.origins import origin_of
from rbmviz.cli.outputs import check_outputs
from rbmviz.cli.signals import signals_deferred
from rbmviz.datasets import Dataset, load_dataset
from rbmviz.errors import BadInput, OutputFailure
from rbmviz.knobs import read_knobs
from rbmviz.models import load_model
from rbmviz.origin import csv_bytes, origin, with_origin
from rbmviz.output import write_or_rescue, write_whole
from rbmviz.rbm import RBM, Model, model_bytes
from rbmviz.registry import trainers
from rbmviz.samplers import make_sampler, sample
from rbmviz.session.training import (
    BAND_OF_REPLICATES,
    LIVE_AIS_CHAINS,
    LIVE_AIS_TEMPERATURES,
    MAX_UNITS_EXACT_LIKELIHOOD,
    scored_examples,
)
from rbmviz.trainers import STATS, Progress, Training, list_trainers, train, trained_model
from rbmviz.trainers.common_knobs import CommonKnobs

HISTORY_REPLICATES = 100
"""Maximum number of trainings in one command."""

N_SCORED = 10_000
"""Number of scored samples for each of these samplers."""

SCORED_SAMPLERS = {
    "gibbs": make_sampler("gibbs"),
    "rates_fpcd eps=0.03": make_sampler("rates_fpcd", eps=0.03),
    "rates_herding eps=0.03": make_sampler("rates_herding", eps=0.03),
}


def add(commands: Any) -> None:
    """Add the command."""
    example = "rbmviz train --dataset bas --trainer pcd --n-hidden 16 --iterations 5000 --out bas.safetensors"
    command = add_command(commands, "train", example, run, text)
    add_knobs(command, trainers)
    command.add_argument("--dataset", required=True, help="a name, a file, or a folder of images")
    command.add_argument(
        "--trainer",
        required=True,
        help=f"{', '.join(list_trainers())}, perhaps with knobs: cd:k=10,momentum=0.5",
    )
    command.add_argument(
        "--n-hidden",
        type=WholeNumber(1, 10**6),
        help="hidden units (default: as many as the warm start has, or 16)",
    )
    command.add_argument(
        "--iterations",
        type=range_of(CommonKnobs, "iterations"),
        required=True,
        help="parameter updates of the whole training",
    )
    command.add_argument("--seed", type=SEED, default=0, help="random seed (default 0)")
    command.add_argument("--warm-start", metavar="M", help="start at this model (a name or a file)")
    command.add_argument(
        "--score", action="store_true", help="store the ISL of 10,000 samples and of the training set"
    )
    command.add_argument("--out", required=True, metavar="M.safetensors", help="the model file")
    command.add_argument(
        "--history",
        metavar="H.csv",
        help="statistics of training, one row per step: updates, seconds, sweeps of all chains together, the "
        "log-likelihood (exact, or by AIS with its error above 16 units), the likelihood of independent "
        "units, and what the trainer reports",
    )
    command.add_argument(
        "--replicates",
        type=WholeNumber(1, HISTORY_REPLICATES),
        default=1,
        metavar="R",
        help="train R models with consecutive seeds: the history has their means, and 2.5 and 97.5 %% "
        "quantiles as columns ..._low and ..._high; the model is the first one (default 1)",
    )
    command.add_argument(
        "--every", type=COUNT, metavar="N", help="updates per step (default: a hundredth of all)"
    )
    command.add_argument(
        "--resume",
        action="store_true",
        help="continue from M.checkpoint, which an interrupted training leaves; the result is the same bits",
    )
    command.add_argument(
        "--checkpoint-every",
        type=COUNT,
        metavar="N",
        help="also write a checkpoint at the first step after every N updates, in case of a crash",
    )


def scores(model: Model, dataset: Dataset) -> dict[str, Any]:
    """Return the scores that a model file stores: the ISL of its samples and of the training set, in nats.

    Each sampler draws 10,000 samples with seed 0; its chain starts at the first validation example.
    """
    isl = {}
    for name, sampler in SCORED_SAMPLERS.items():
        v = sample(model, sampler, N_SCORED, seed=0, v0=dataset.validation[0]).v
        isl[name] = round(metrics.isl(v, dataset.test, dataset.validation).isl, 2)
    references = {}
    for kernel in ("binary", "mean"):
        own = metrics.reference(dataset.train, dataset.test, dataset.validation, kernel=kernel)
        references[kernel] = {"isl": round(own.isl, 2), "beta": round(own.beta, 4), "n": own.n}
    return {"scores": {"isl_10000": isl}, "reference": references}


def read_history(path: Path, columns: Sequence[str], updates: int) -> list[dict[str, Any]]:
    """Return the rows of an interrupted training's history, up to the update from which it resumes."""
    if not path.exists():
        return []
    try:
        lines = read_file(path, f"'{path}'", factor=20).decode().splitlines()
        rows = list(csv.DictReader(lines))
        for row in rows:
            row.pop("origin", None)  # the origin is rewritten
        if any(set(row) != set(columns) or None in row.values() for row in rows):
            raise Damaged("it has other columns")
        return [row for row in rows if int(row["update"]) <= updates]
    except (Damaged, csv.Error, UnicodeDecodeError, ValueError, TypeError) as error:
        if isinstance(error, BadInput):
            raise
        raise BadInput(
            f"'{path}' is not the history of this training ({why(error)}): name another file, or remove it."
        ) from None


def history_bytes(rows: list[dict[str, Any]], source: dict[str, Any]) -> bytes:
    """Return the rows as CSV, with their origin."""
    return with_origin(csv_bytes(rows), "history.csv", source)


@dataclass(frozen=True)
class _Files:
    """The files that a training writes; ``history`` is None if it was not requested."""

    out: Path
    checkpoint: Path
    history: Path | None


@dataclass
class _Outcome:
    """The state of a complete, interrupted or failed training.

    rows : the history, one row per step
    last : the newest progress, whose model is finite; None before the first step
    kept : the checkpoint at ``last``; None if ``last`` is itself the end of a checkpoint
    warning : the newest warning of the trainer, or ""
    interrupted : whether the user stopped the training
    failure : the error that ended it: the parameters diverged, or memory ran out
    """

    rows: list[dict[str, Any]]
    last: Progress | None = None
    kept: bytes | None = None
    warning: str = ""
    interrupted: bool = False
    failure: Exception | None = None


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Train, write the model and the history, and return a summary.

    A periodic checkpoint that cannot be written is only a warning. If the model, the history or the
    checkpoint of an interrupt cannot be written to its path, it goes to the system's temporary
    folder, and the command fails with a message that names this folder.
    """
    files = _check_files(args)
    dataset, steps = _prepare(args, files.checkpoint)
    exact = min(steps.state.theta.W.shape) <= MAX_UNITS_EXACT_LIKELIHOOD
    outcome = _Outcome(_earlier_rows(args, files, dataset, steps))
    _run_steps(args, files, dataset, steps, outcome)
    last = outcome.last
    if last is None:
        raise KeyboardInterrupt
    source = _origin(args, dataset)
    with signals_deferred() as stops:
        model = _make_model(args, files.out, dataset, steps, last, exact)
        problems = {files.out: write_or_rescue(files.out, model_bytes(model))}
        if files.history and outcome.rows:
            problems[files.history] = write_or_rescue(files.history, history_bytes(outcome.rows, source))
    outcome.interrupted |= bool(stops)
    if args.replicates > 1 and not outcome.interrupted and not outcome.failure:
        rows, outcome.interrupted = _replicates(args, dataset, steps, outcome.rows)
        assert files.history is not None
        with signals_deferred():
            problems[files.history] = write_or_rescue(files.history, history_bytes(rows, source))
    if args.score and not outcome.interrupted and not outcome.failure:
        print_message("Scoring 10,000 samples of each sampler.")
        try:
            model = _with_scores(model, dataset)
            problems[files.out] = write_or_rescue(files.out, model_bytes(model))
        except KeyboardInterrupt:
            outcome.interrupted = True
        except BadInput as error:
            print_message(f"The model has no scores: {error}")
    likelihood: dict[str, Any] = {}
    if not outcome.interrupted and not outcome.failure:
        try:
            with one_blas_thread():
                likelihood = _likelihood(dataset, last.rbm, args.seed)
        except KeyboardInterrupt:
            outcome.interrupted = True
    if outcome.interrupted:
        with signals_deferred():
            content = outcome.kept or steps.checkpoint()
            problems[files.checkpoint] = write_or_rescue(files.checkpoint, content)
    _report(outcome, last, files.out, list(problems.values()))
    if not outcome.interrupted:
        with suppress(OSError):  # the disk may have become read-only; the old checkpoint then stays
            files.checkpoint.unlink(missing_ok=True)
    return _summary(outcome, last, files, dataset, model, likelihood) | {"origin": source}


def _origin(args: argparse.Namespace, dataset: Dataset) -> dict[str, Any]:
    """Return the origin of the history, with the seeds of all replicates."""
    return origin_of(args, {}, dataset) | {"seeds": list(range(args.seed, args.seed + args.replicates))}


def _check_files(args: argparse.Namespace) -> _Files:
    """Return the output files after checking that they can be written, before anything is read."""
    out = Path(args.out)
    if out.suffix != ".safetensors":
        raise BadInput(f"train: '{out}' must end in .safetensors.")
    checkpoint = out.with_suffix(".checkpoint")
    check_outputs(
        {"--out": args.out, "the checkpoint": checkpoint, "--history": args.history},
        models={"--warm-start": args.warm_start},
        datasets={"--dataset": args.dataset},
    )
    if args.replicates > 1 and (args.resume or not args.history):
        raise BadInput(
            f"train: --replicates {args.replicates} is for the bands of a history: give --history, and no "
            "--resume."
        )
    if checkpoint.is_file() and not args.resume:
        raise BadInput(
            f"'{checkpoint}' is the checkpoint of an interrupted training: continue it by --resume, remove "
            "it to begin again, or give another --out."
        )
    if args.resume and not checkpoint.is_file():
        raise BadInput(f"There is no checkpoint '{checkpoint}': leave --resume out to start again.")
    return _Files(out, checkpoint, Path(args.history) if args.history else None)


def _prepare(args: argparse.Namespace, checkpoint: Path) -> tuple[Dataset, Training]:
    """Return the data and the training, at its start or at the checkpoint."""
    (trainer,) = read_algorithms(trainers, [args.trainer], args.rest)
    if "iterations" in read_knobs(type(trainer), args.trainer.partition(":")[2]):
        raise BadInput("train: the number of updates is given as --iterations only, not behind the colon.")
    dataset = load_dataset(args.dataset)
    start = load_model(args.warm_start).rbm if args.warm_start else None
    n_hidden = args.n_hidden or (start.n_hidden if start else 16)
    if start is not None and start.n_hidden != n_hidden:
        raise BadInput(f"The warm start has {start.n_hidden} hidden units; leave --n-hidden {n_hidden} out.")
    check_memory(
        f"train: a model of {dataset.n_visible:,} x {n_hidden:,} units",
        40 * dataset.n_visible * n_hidden,  # parameters, update, momentum, rates, and the file's content
        "give fewer --n-hidden",
    )
    try:
        resume = read_file(checkpoint, f"'{checkpoint}'") if args.resume else None
    except Damaged as error:
        raise BadInput(f"'{checkpoint}' cannot be read ({error}).") from None
    try:
        steps = train(dataset, trainer, n_hidden, args.iterations, args.seed, start, args.every, resume)
    except BadInput as error:
        raise (BadInput(f"'{checkpoint}': {error}") if resume else error) from None
    return dataset, steps


def _earlier_rows(
    args: argparse.Namespace, files: _Files, dataset: Dataset, steps: Training
) -> list[dict[str, Any]]:
    """Return the history of the resumed training; [] if there is none."""
    if not (files.history and args.resume):
        return []
    columns = (*HISTORY_SPENT, *STATS, *steps.trainer.own_stats, *HISTORY_LIKELIHOOD)
    rows = read_history(files.history, columns, steps.state.update)
    if rows and int(rows[-1]["update"]) == steps.state.update and not rows[-1]["log_likelihood"]:
        # The interrupt came while this likelihood was computed.
        rows[-1] |= _likelihood(dataset, steps.trainer.step(steps.state, 0).rbm, args.seed)
    return rows


HISTORY_SPENT = ("update", "seconds", "sweeps")
HISTORY_LIKELIHOOD = ("log_likelihood", "log_likelihood_error", "ais_ess", "independent_log_likelihood")
"""Columns of a history besides the statistics of the trainer."""


def _row(step: Progress) -> dict[str, Any]:
    """Return a row of the history, without the likelihood."""
    row = {"update": step.update, "seconds": step.seconds, "sweeps": step.sweeps, **step.stats}
    return row | dict.fromkeys(HISTORY_LIKELIHOOD, "")


def _likelihood(dataset: Dataset, rbm: RBM, seed: int) -> dict[str, Any]:
    """Return the last columns of a row, the likelihoods of the model (expensive) and of independent units."""
    rows = dataset.train
    if min(rbm.W.shape) <= MAX_UNITS_EXACT_LIKELIHOOD:
        values: tuple[Any, ...] = metrics.log_likelihood(rbm, rows), 0.0, ""
    else:
        estimate = metrics.ais_log_z(
            rbm, rows, n_chains=LIVE_AIS_CHAINS, betas=LIVE_AIS_TEMPERATURES, seed=seed
        )
        rows = scored_examples(rows)
        values = float(-rbm.free_energy(rows).mean() - estimate.log_z), estimate.std_error, estimate.ess
    return dict(zip(HISTORY_LIKELIHOOD, (*values, metrics.independent_log_likelihood(rows)), strict=True))


def _replicates(
    args: argparse.Namespace, dataset: Dataset, first: Training, rows: list[dict[str, Any]]
) -> tuple[list[dict[str, Any]], bool]:
    """Train with the seeds after the first; return rows of means and bands, and whether an interrupt came.

    After an interrupt, or if a training diverges, the bands cover the trainings that are complete by then.
    """
    start = load_model(args.warm_start).rbm if args.warm_start else None
    (_, n_hidden), complete, interrupted = first.state.theta.W.shape, [rows], False
    bar = tqdm(total=args.replicates - 1, unit="training", disable=None)
    with one_blas_thread(), bar:
        try:
            for seed in range(args.seed + 1, args.seed + args.replicates):
                try:
                    steps = train(dataset, first.trainer, n_hidden, args.iterations, seed, start, args.every)
                    complete.append([_row(step) | _likelihood(dataset, step.rbm, seed) for step in steps])
                except BadInput as error:
                    print_message(f"The training with seed {seed} is left out: {error}")
                bar.update()
        except KeyboardInterrupt:
            interrupted = True
    if len(complete) < args.replicates:
        print_message(f"The history has {len(complete)} of {args.replicates} trainings.")
    return bands(complete), interrupted


def bands(trainings: list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return for each row the means over trainings, and the band of replicates for all but the update."""
    measured = []
    for same in zip(*trainings, strict=True):
        row = {"update": same[0]["update"], "replicates": len(same)}
        for name in same[0]:
            values = np.array([np.nan if each[name] == "" else float(each[name]) for each in same])
            if name == "update" or np.isnan(values).all():
                continue
            low, high = np.quantile(values, BAND_OF_REPLICATES)
            row |= {name: values.mean(), f"{name}_low": low, f"{name}_high": high}
        measured.append(row)
    return measured


def _run_steps(
    args: argparse.Namespace, files: _Files, dataset: Dataset, steps: Training, outcome: _Outcome
) -> None:
    """Train to the end, an interrupt or a failure; keep each step's state in ``outcome``."""
    saved, unsaved, source = steps.state.update, "", _origin(args, dataset)
    bar = tqdm(total=args.iterations, initial=saved, unit="update", disable=None)
    # One thread, so that BLAS adds in a fixed order and the command reproduces the model bit for bit.
    with one_blas_thread(), bar:
        try:
            for step in steps:
                # All are set between two steps: an interrupt may leave a step incomplete, or a row without
                # its likelihood, which is computed when training resumes.
                content, row = steps.checkpoint(), _row(step)
                outcome.rows.append(row)
                outcome.last, outcome.kept = step, content
                if args.history:
                    row |= _likelihood(dataset, step.rbm, args.seed)
                if step.warning:
                    outcome.warning = f"After {step.update:,} updates {step.warning}"
                if args.checkpoint_every and step.update - saved >= args.checkpoint_every:
                    rows = history_bytes(outcome.rows, source) if files.history else b""
                    unsaved = _save_checkpoint(files, content, rows, unsaved)
                    saved = step.update
                bar.update(step.update - bar.n)
            if outcome.last is None:  # the checkpoint holds the last update
                outcome.last = steps.trainer.step(steps.state, 0)
        except KeyboardInterrupt:
            outcome.interrupted = True
        except Exception as error:  # the training diverged or ran out of memory: keep the result so far
            if outcome.last is None:
                raise
            outcome.failure = error


def _save_checkpoint(files: _Files, content: bytes, history: bytes, before: str) -> str:
    """Write checkpoint and history; return the error message, and print it unless it equals ``before``."""
    try:
        if files.history:
            write_whole(files.history, history)
        write_whole(files.checkpoint, content)
    except (BadInput, OutputFailure) as error:
        if str(error) != before:
            print_message(f"{error} Training continues without this checkpoint.")
        return str(error)
    return ""


def _make_model(
    args: argparse.Namespace, out: Path, dataset: Dataset, steps: Training, last: Progress, exact: bool
) -> Model:
    """Return the model with its provenance: the command that repeats it, and its likelihood if exact."""
    command = shlex.join(
        ["rbmviz", "train", "--dataset", args.dataset, "--trainer", args.trainer]
        + ["--n-hidden", f"{last.rbm.n_hidden}", "--iterations", f"{args.iterations}"]
        + ["--seed", f"{args.seed}", *args.rest]
        + (["--warm-start", args.warm_start] if args.warm_start else [])
        + (["--score"] if args.score else [])
        + ["--out", out.name]
    )
    more: dict[str, Any] = {"command": command, "origin": origin(command, data=[dataset], seeds=[args.seed])}
    if exact:
        more["scores"] = {"log_likelihood": metrics.log_likelihood(last.rbm, dataset.train)}
    return trained_model(dataset, steps.trainer, last, args.seed, **more)


def _with_scores(model: Model, dataset: Dataset) -> Model:
    """Return the model with ``scores`` added to its provenance."""
    measured = scores(model, dataset)
    measured["scores"] = {**model.meta.get("scores", {}), **measured["scores"]}
    return Model(model.rbm, model.rates, {**model.meta, **measured})


def _report(outcome: _Outcome, last: Progress, out: Path, problems: list[str]) -> None:
    """Print the warning, then raise the error: unwritable files, or a failed update."""
    if outcome.warning:
        print_message(outcome.warning)
    if any(problems):
        raise OutputFailure(" ".join(filter(None, problems)))
    if outcome.failure:
        sentence = f"The last finite model ({last.update:,} updates) is kept in '{out}'."
        if isinstance(outcome.failure, BadInput):
            raise BadInput(f"{outcome.failure} {sentence}")
        print_message(sentence)
        raise outcome.failure


def _summary(
    outcome: _Outcome,
    last: Progress,
    files: _Files,
    dataset: Dataset,
    model: Model,
    likelihood: dict[str, Any],
) -> dict[str, Any]:
    """Return the result of the command; report problems with the model, or how to resume.

    ``likelihood`` : see ``_likelihood``; empty if the training is not complete
    """
    measured, independent = model.meta.get("scores"), likelihood.get("independent_log_likelihood")
    result: dict[str, Any] = {
        "out": str(files.out),
        "updates": last.update,
        "seconds": last.seconds,
        "data": f"{len(dataset.train):,} examples of {dataset.n_visible} units; {dataset.binarisation}",
        "log_likelihood": likelihood.get("log_likelihood", (measured or {}).get("log_likelihood")),
        "log_likelihood_error": likelihood.get("log_likelihood_error"),
        "independent_log_likelihood": independent,
        "scores": measured,
        "weight_norm": float(np.linalg.norm(last.rbm.W)),
    }
    if "truncated" in last.stats:
        result["truncated"] = result["share_cut"] = last.stats["truncated"]
    if outcome.warning:
        result["warning"] = outcome.warning
    if likelihood and likelihood["log_likelihood"] - 2 * likelihood["log_likelihood_error"] <= independent:
        print_message(
            f"The model is not above independent units ({independent:.3f} nats): it has learned nothing of "
            "how they depend on each other. Give more --iterations, or another --learning-rate."
        )
    if outcome.interrupted:
        result |= {"interrupted": True, "checkpoint": str(files.checkpoint)}
        print_message(
            f"Interrupted: the model after {last.update:,} updates is kept; --resume continues from there."
        )
    return result


def text(result: dict[str, Any]) -> str:
    """Return the result as text for the terminal."""
    likelihood, error = result["log_likelihood"], result["log_likelihood_error"]
    score = "" if likelihood is None else f", mean log-likelihood {likelihood:.3f}"
    score += f" ± {error:.3f}" if error else ""
    score += " nats" if score else ""
    if (independent := result["independent_log_likelihood"]) is not None:
        score += f" (independent units: {independent:.3f})"
    done = f"{result['updates']:,} updates in {result['seconds']:.1f} s{score} -> {result['out']}"
    return f"{done}\ntrained on {result['data']}"
