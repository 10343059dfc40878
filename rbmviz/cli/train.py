"""``rbmviz train``: one model, its rates and provenance stored with it."""

import argparse
import csv
import io
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from rbmviz import metrics
from rbmviz.array_files import Damaged, read_file, why
from rbmviz.budget import check_memory
from rbmviz.cli import COUNT, SEED, WholeNumber, add_command, say
from rbmviz.cli.knob_flags import knob_help, range_of, read_knobs
from rbmviz.cli.outputs import check_outputs
from rbmviz.cli.signals import held
from rbmviz.datasets import Dataset, load_dataset
from rbmviz.errors import BadInput, OutputFailure
from rbmviz.models import load_model
from rbmviz.output import write_or_rescue, write_whole
from rbmviz.rbm import Model, model_bytes
from rbmviz.registry import trainers
from rbmviz.samplers import make_sampler, sample
from rbmviz.trainers import STATS, list_trainers, make_trainer, train, trained_model
from rbmviz.trainers.common_knobs import CommonKnobs

MAX_UNITS_EXACT_ROWS = 16
"""Models whose smaller layer has at most so many units get their exact likelihood in every history row."""

N_SCORED = 10_000
SCORED = {
    "gibbs": make_sampler("gibbs"),
    "rates_fpcd eps=0.03": make_sampler("rates_fpcd", eps=0.03),
    "rates_herding eps=0.03": make_sampler("rates_herding", eps=0.03),
}


def add(commands: Any) -> None:
    """Add the command."""
    example = "rbmviz train --dataset bas --trainer pcd --n-hidden 16 --iterations 5000 --out bas.safetensors"
    about = "Train one model; its file holds the rates of the training set and where it comes from."
    command = add_command(commands, "train", about, example, run, text)
    command.set_defaults(takes_knobs=True)
    command.epilog = f"{command.epilog}\n{knob_help(trainers, list_trainers())}".replace("%", "%%")
    command.add_argument("--dataset", required=True, help="a name, a file, or a folder of images")
    command.add_argument("--trainer", required=True, help=f"one of {', '.join(list_trainers())}")
    command.add_argument(
        "--n-hidden", type=WholeNumber(1, 10**6), help="hidden units (default: the warm start's, or 16)"
    )
    command.add_argument(
        "--iterations", type=range_of(CommonKnobs, "iterations"), required=True, help="updates"
    )
    command.add_argument("--seed", type=SEED, default=0, help="default 0")
    command.add_argument("--warm-start", metavar="M", help="begin at this model (a name or a file)")
    command.add_argument(
        "--score", action="store_true", help="store ISL of 10,000 samples and the reference lines"
    )
    command.add_argument("--out", required=True, metavar="M.safetensors", help="the model file")
    command.add_argument("--history", metavar="H.csv", help="statistics of training, a row a step")
    command.add_argument("--every", type=COUNT, metavar="N", help="updates a step (default: a hundredth)")
    command.add_argument(
        "--resume",
        action="store_true",
        help="go on from M.checkpoint, which an interrupted training leaves beside M, to the same bits",
    )
    command.add_argument(
        "--checkpoint-every",
        type=COUNT,
        metavar="N",
        help="also write the checkpoint after the first step past every N updates, in case of a crash",
    )


def scores(model: Model, dataset: Dataset) -> dict[str, Any]:
    """Return what a shipped model says of itself: ISL of its samples, and the training set's own.

    Chains start at the first validation example, seed 0; 10,000 samples each.
    """
    isl = {}
    for name, sampler in SCORED.items():
        v = sample(model, sampler, N_SCORED, seed=0, v0=dataset.validation[0]).v
        isl[name] = round(metrics.isl(v, dataset.test, dataset.validation).isl, 2)
    references = {}
    for kernel in ("binary", "mean"):
        own = metrics.reference(dataset.train, dataset.test, dataset.validation, kernel=kernel)
        references[kernel] = {"isl": round(own.isl, 2), "beta": round(own.beta, 4), "n": own.n}
    return {"scores": {"isl_10000": isl}, "reference": references}


def read_history(path: Path, columns: set[str], updates: int) -> list[dict[str, Any]]:
    """Return the rows that an interrupted training wrote, up to where it resumes."""
    if not path.exists():
        return []
    try:
        lines = read_file(path, f"'{path}'", factor=20).decode().splitlines()
        rows = list(csv.DictReader(lines))
        if any(set(row) != columns or None in row.values() for row in rows):
            raise Damaged("its columns are others")
        return [row for row in rows if int(row["update"]) <= updates]
    except (Damaged, csv.Error, UnicodeDecodeError, ValueError, TypeError) as error:
        if isinstance(error, BadInput):
            raise
        raise BadInput(
            f"'{path}' is not the history of this training ({why(error)}): name another file, or remove it."
        ) from None


def history_bytes(rows: list[dict[str, Any]]) -> bytes:
    """Return the rows as CSV."""
    content = io.StringIO()
    writer = csv.DictWriter(content, rows[0], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return content.getvalue().encode()


def _save_checkpoint(
    path: Path, content: bytes, history: Path | None, rows: list[dict[str, Any]], before: str
) -> str:
    """Write checkpoint and history, or say why not, once; return that for the next time."""
    try:
        if history:
            write_whole(history, history_bytes(rows))
        write_whole(path, content)
    except (BadInput, OutputFailure) as error:
        if str(error) != before:
            say(f"{error} Training goes on without this checkpoint.")
        return str(error)
    return ""


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Train, write the model (and the history), return how it went.

    A checkpoint that cannot be written is a warning. Model, history and the checkpoint of an interrupt that
    cannot be written where they should be are kept in the system's temporary folder; the command fails,
    and says where they are.
    """
    out, history = Path(args.out), Path(args.history) if args.history else None
    if out.suffix != ".safetensors":
        raise BadInput(f"train: '{out}' must end in .safetensors.")
    checkpoint = out.with_suffix(".checkpoint")
    check_outputs(
        {"--out": args.out, "the checkpoint": checkpoint, "--history": args.history},
        models={"--warm-start": args.warm_start},
        datasets={"--dataset": args.dataset},
    )
    if args.resume and not checkpoint.is_file():
        raise BadInput(f"There is no checkpoint '{checkpoint}': leave --resume out to begin anew.")
    trainer = make_trainer(args.trainer, **read_knobs(trainers[args.trainer], args.rest))
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
    exact = min(dataset.n_visible, n_hidden) <= MAX_UNITS_EXACT_ROWS
    resume = checkpoint.read_bytes() if args.resume else None
    try:
        steps = train(dataset, trainer, n_hidden, args.iterations, args.seed, start, args.every, resume)
    except BadInput as error:
        raise (BadInput(f"'{checkpoint}': {error}") if resume else error) from None
    begun = saved = steps.state.update
    columns = {"update", "seconds", *STATS, *trainer.inner, *(["log_likelihood"] if exact else [])}
    rows = read_history(history, columns, begun) if history and args.resume else []
    last, kept, warning, interrupted, failed, unsaved = None, None, "", False, None, ""
    bar = tqdm(total=args.iterations, initial=begun, unit="update", file=sys.stderr, disable=None)
    # One thread: sums come out in one order, so that a command rebuilds a model bit for bit.
    with threadpool_limits(limits=1, user_api="blas"), bar:
        try:
            for step in steps:
                # Taken between two steps, for an interrupt leaves a step half done; and both or none.
                last, kept = step, steps.checkpoint()
                row = {"update": last.update, "seconds": last.seconds, **last.stats}
                if exact:
                    row["log_likelihood"] = metrics.log_likelihood(last.rbm, dataset.train)
                rows.append(row)
                if last.warning:
                    warning = f"After {last.update:,} updates {last.warning}"
                if args.checkpoint_every and last.update - saved >= args.checkpoint_every:
                    unsaved = _save_checkpoint(checkpoint, kept, history, rows, unsaved)
                    saved = last.update
                bar.update(last.update - bar.n)
            if last is None:  # the checkpoint was of the end
                last = steps.trainer.step(steps.state, 0)
        except KeyboardInterrupt:
            interrupted = True
        except Exception as error:  # it diverged, or ran out of memory: what was made until then is kept
            if last is None:
                raise
            failed = error
    if last is None:
        raise KeyboardInterrupt
    command = " ".join(
        [f"rbmviz train --dataset {args.dataset} --trainer {args.trainer} --n-hidden {n_hidden}"]
        + [f"--iterations {args.iterations} --seed {args.seed}", *args.rest]
        + ([f"--warm-start {args.warm_start}"] if args.warm_start else [])
        + (["--score"] if args.score else [])
        + [f"--out {out.name}"]
    )
    with held() as stops:
        model = trained_model(dataset, trainer, last, args.seed, command=command)
        likelihood = metrics.log_likelihood(last.rbm, dataset.train) if exact else None
        if exact:
            model = Model(model.rbm, model.rates, {**model.meta, "scores": {"log_likelihood": likelihood}})
        problems = [write_or_rescue(out, model_bytes(model))]
        if history and rows:
            problems.append(write_or_rescue(history, history_bytes(rows)))
    interrupted = interrupted or bool(stops)
    if args.score and not interrupted and not failed:
        say("Scoring 10,000 samples of each sampler.")
        try:
            found = scores(model, dataset)
            found["scores"] = {**model.meta.get("scores", {}), **found["scores"]}
            model = Model(model.rbm, model.rates, {**model.meta, **found})
            problems[0] = write_or_rescue(out, model_bytes(model))
        except KeyboardInterrupt:
            interrupted = True
        except BadInput as error:
            say(f"The model has no scores: {error}")
    if interrupted:
        with held():
            problems.append(write_or_rescue(checkpoint, kept or steps.checkpoint()))
    if warning:
        say(warning)
    if any(problems):
        raise OutputFailure(" ".join(filter(None, problems)))
    if failed:
        known = f"The last finite model ({last.update:,} updates) is kept in '{out}'."
        if isinstance(failed, BadInput):
            raise BadInput(f"{failed} {known}")
        say(known)
        raise failed
    result: dict[str, Any] = {
        "out": str(out),
        "updates": last.update,
        "seconds": last.seconds,
        "data": f"{len(dataset.train):,} examples of {dataset.n_visible} units; {dataset.binarisation}",
        "log_likelihood": likelihood,
        "scores": model.meta.get("scores"),
        "weight_norm": float(np.linalg.norm(last.rbm.W)),
    }
    if "truncated" in last.stats:
        result["truncated"] = last.stats["truncated"]
    if warning:
        result["warning"] = warning
    if interrupted:
        result |= {"interrupted": True, "checkpoint": str(checkpoint)}
        say(f"Interrupted: the model after {last.update:,} updates is kept; --resume goes on from there.")
    else:
        with suppress(OSError):  # a disk that has become read-only keeps an old checkpoint
            checkpoint.unlink(missing_ok=True)
    return result


def text(result: dict[str, Any]) -> str:
    """Say it for people."""
    likelihood = result["log_likelihood"]
    known = "" if likelihood is None else f", mean log-likelihood {likelihood:.3f} nats"
    done = f"{result['updates']:,} updates in {result['seconds']:.1f} s{known} -> {result['out']}"
    return f"{done}\ntrained on {result['data']}"
