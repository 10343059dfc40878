"""``rbmviz train``: train one model and write it with its rates and its provenance."""

import math
import shlex
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from tqdm import tqdm

from rbmviz import metrics
from rbmviz import trainers as training
from rbmviz.cli import Answer, print_message
from rbmviz.cli.options import Count, Seed, range_of, read_algorithms, texts_by_knob, whole
from rbmviz.cli.origins import origin_of
from rbmviz.cli.outputs import DefaultName, check_outputs, ending_in
from rbmviz.cli.signals import signals_deferred
from rbmviz.datasets import Dataset, load_dataset
from rbmviz.errors import BadInput, OutputFailure
from rbmviz.files.arrays import Damaged, read_file
from rbmviz.files.origin import csv_bytes, origin, with_origin
from rbmviz.files.output import write_whole
from rbmviz.knobs import read_knobs
from rbmviz.rbm import Model
from rbmviz.rbm.files import model_bytes
from rbmviz.registry import trainers
from rbmviz.samplers import make_sampler, sample
from rbmviz.support.blas import one_blas_thread
from rbmviz.trainers import Progress, Training, trained_model
from rbmviz.trainers.common_knobs import CommonKnobs
from rbmviz.trainers.likelihood import LIKELIHOODS, likelihood, method_of, remarks

N_SCORED = 10_000
"""Number of scored samples for each of these samplers."""

SCORED_SAMPLERS = {
    "gibbs": make_sampler("gibbs"),
    "rates_fpcd eps=0.03": make_sampler("rates_fpcd", eps=0.03),
    "rates_herding eps=0.03": make_sampler("rates_herding", eps=0.03),
}


def train(
    *,
    dataset: str = "bas",
    trainer: str = "pcd",
    n_hidden: Annotated[int, whole(1, 10**6)] | None = None,
    iterations: Annotated[int, range_of(CommonKnobs, "iterations")] = 5000,
    seed: Seed = 0,
    warm_start: str | None = None,
    score: bool = False,
    out: str = DefaultName("model.safetensors"),
    history: str | None = None,
    every: Count | None = None,
    resume: bool = False,
    checkpoint_every: Count | None = None,
    **knobs: Annotated[str, trainers],
) -> Answer:
    """Train a model, and write it to a file.

    The file also holds the rates of the training set, and how the model was made.

    Ctrl-C keeps the model so far and, beside it, a checkpoint that --resume continues.

    Parameters
    ----------
    dataset
        A name, a file, or a folder of images.
    trainer
        A name of 'rbmviz list trainers', perhaps with knobs: cd:k=10,momentum=0.5.
    n_hidden
        Hidden units; default: as many as the warm start has, or 16.
    iterations
        Parameter updates of the whole training.
    warm_start
        Start at this model, a name or a file.
    score
        Store the ISL of 10,000 samples and of the training set.
    out
        The model file, .safetensors.
    history
        A .csv with statistics of training, one row per step: updates, seconds, sweeps of all chains together,
        the log-likelihood (exact, or by AIS with its error above 16 units), the likelihood of independent
        units, and what the trainer reports; with --resume, of the steps from there on.
    every
        Updates per step; default: a hundredth of all.
    resume
        Continue from the .checkpoint beside the model file, which an interrupted training leaves; the result
        is the same bits.
    checkpoint_every
        Also write a checkpoint at the first step after every so many updates, in case of a crash.

    Examples
    --------
    rbmviz train --dataset bas --trainer pcd --n-hidden 16 --iterations 5000 --out bas.safetensors
    """
    target = Path(out)
    checkpoint = _checked(out, history, resume, warm_start, dataset)
    (algorithm,) = read_algorithms(trainers, [trainer], knobs)
    if "iterations" in read_knobs(type(algorithm), trainer.partition(":")[2]):
        raise BadInput("train: give the number of updates as --iterations, not after the colon.")
    data = load_dataset(dataset)
    try:
        begun = read_file(checkpoint, f"'{checkpoint}'") if resume else None
        steps = training.train(data, algorithm, n_hidden, iterations, seed, warm_start, every, begun)
    except (BadInput, Damaged) as error:
        raise (BadInput(f"'{checkpoint}': {error}") if resume else error) from None
    done = _Done(steps, seed, score, checkpoint=begun or b"")
    _train(done, iterations, history is not None, checkpoint, checkpoint_every)
    said = {"dataset": dataset, "trainer": trainer, "n_hidden": done.last.rbm.n_hidden}
    said |= {"iterations": iterations, "seed": seed, **texts_by_knob(knobs)}
    command = _command(said | ({"warm_start": warm_start} if warm_start else {}), score, target.name)
    source = origin_of({}, data, seed=seed)
    with signals_deferred() as stops:
        if done.interrupted:  # first, because it is what the training continues from
            write_whole(checkpoint, done.checkpoint)
        model = _model(done, command)
        write_whole(target, model_bytes(model))
        if history and done.steps.history:
            write_whole(Path(history), with_origin(csv_bytes(done.rows()), "history.csv", source))
    if done.warning:
        print_message(done.warning)
    if done.end is not None and not done.interrupted:
        sentence = f"The last finite model ({done.last.update:,} updates) is kept in '{target}'."
        if isinstance(done.end, BadInput):
            raise BadInput(f"{done.end} {sentence}")
        print_message(sentence)
        raise done.end
    result = _result(done, target, model) | {"origin": source}
    if done.interrupted:
        result |= {"interrupted": True, "checkpoint": str(checkpoint)}
        updates = f"{done.last.update:,} updates"
        print_message(f"Interrupted: the model after {updates} is kept; --resume continues from there.")
    else:
        with suppress(OSError):  # the disk may have become read-only; the old checkpoint then stays
            checkpoint.unlink(missing_ok=True)
        result |= {"interrupted": True} if stops else {}
    return result, _text(result)


@dataclass
class _Done:
    """What a training has made between two steps, of which an interrupt or a failure takes nothing."""

    steps: Training
    seed: int
    score: bool
    newest: Progress | None = None
    """The newest progress, whose model is finite."""
    checkpoint: bytes = b""
    """The training at ``newest``."""
    likelihood: dict[str, Any] = field(default_factory=dict)
    """See ``trainers.likelihood.likelihood``; of a complete training."""
    measured: dict[str, Any] = field(default_factory=dict)
    """See ``scores``; of a complete training."""
    warning: str = ""
    end: BaseException | None = None
    """What ended it early: an interrupt, diverged parameters, or too little memory."""

    @property
    def last(self) -> Progress:
        assert self.newest is not None
        return self.newest

    @property
    def interrupted(self) -> bool:
        return isinstance(self.end, KeyboardInterrupt)

    def rows(self) -> list[dict[str, Any]]:
        """Return the history."""
        columns = self.steps.history
        values = zip(*(column.tolist() for column in columns.values()), strict=True)
        rows = [dict(zip(columns, row, strict=True)) for row in values]
        for name in {"ais_ess", "log_likelihood", "log_likelihood_error"} & columns.keys():
            for row in rows:  # what was not estimated, or not scored before an interrupt
                row[name] = "" if math.isnan(row[name]) else row[name]
        return rows


def _checked(out: str, history: str | None, resume: bool, warm_start: str | None, dataset: str) -> Path:
    """Return the path of the checkpoint, after checking all files, before anything is read."""
    path = ending_in("train", out, ".safetensors")
    checkpoint = path.with_suffix(".checkpoint")
    check_outputs(
        {"--out": path if resume else out, "the checkpoint": checkpoint, "--history": history},
        models={"--warm-start": warm_start},
        datasets={"--dataset": dataset},
    )
    if checkpoint.is_file() and not resume:
        raise BadInput(
            f"'{checkpoint}' is the checkpoint of an interrupted training: continue it with --resume, remove "
            "it to begin again, or give another --out."
        )
    if resume and not checkpoint.is_file():
        raise BadInput(f"There is no checkpoint '{checkpoint}': leave --resume out to start again.")
    if resume and history and Path(history).exists():
        raise BadInput(f"'{history}' is the history up to the interrupt: name another file for the rest.")
    return checkpoint


def _train(
    done: _Done, iterations: int, with_history: bool, checkpoint: Path, checkpoint_every: int | None
) -> None:
    """Train and score to the end, an interrupt or a failure; an error before the first step is raised."""
    steps, data = done.steps, done.steps.dataset
    saved, often = steps.state.update, LIKELIHOODS[method_of(*steps.state.theta.W.shape)]
    bar = tqdm(total=iterations, initial=saved, unit="update", disable=None)
    # One thread, so that BLAS adds in a fixed order and the command reproduces the model bit for bit.
    with one_blas_thread(), bar:
        try:
            for step in steps:
                # Both between two steps: an interrupt may leave a step incomplete.
                done.newest, done.checkpoint = step, steps.checkpoint()
                steps.score(*((None,) if with_history else ()), often=0 if with_history else often)
                if step.warning:
                    done.warning = f"After {step.update:,} updates {step.warning}"
                if checkpoint_every and step.update - saved >= checkpoint_every:
                    _try_to_save(checkpoint, done.checkpoint)
                    saved = step.update
                bar.update(step.update - bar.n)
            if done.newest is None:  # the checkpoint holds the last update
                done.newest = steps.trainer.step(steps.state, 0)
            done.likelihood = likelihood(data.train, done.last.rbm, done.seed)
            if done.score:
                print_message("Scoring 10,000 samples of each sampler.")
                done.measured = scores(trained_model(data, steps.trainer, done.last, done.seed), data)
        except (KeyboardInterrupt, Exception) as error:  # the result so far is kept
            if done.newest is None:
                raise
            done.end = error


def _try_to_save(path: Path, content: bytes) -> None:
    """Write a periodic checkpoint, or say why not."""
    try:
        write_whole(path, content)
    except (BadInput, OutputFailure) as error:
        print_message(f"{error} Training continues without this checkpoint.")


def _command(said: dict[str, Any], score: bool, name: str) -> str:
    """Return the command that repeats the model."""
    words = ["rbmviz", "train"]
    for key, value in said.items():
        words += [f"--{key.replace('_', '-')}", str(value)]
    return shlex.join([*words, *(["--score"] if score else []), "--out", name])


def _model(done: _Done, command: str) -> Model:
    """Return the model with its provenance: the command that repeats it, its likelihood if exact, scores."""
    data, rbm, seed = done.steps.dataset, done.last.rbm, done.seed
    more: dict[str, Any] = {"command": command, "origin": origin(command, data=[data], seeds=[seed])}
    measured = dict(done.measured)
    if method_of(*rbm.W.shape) == "exact":
        exact = {"log_likelihood": float(metrics.log_likelihood(rbm, data.train))}
        measured = {**measured, "scores": exact | measured.get("scores", {})}
    return trained_model(data, done.steps.trainer, done.last, seed, **more, **measured)


def scores(model: Model, dataset: Dataset) -> dict[str, Any]:
    """Return the scores that a model file stores: the ISL of its samples and of the training set, in nats.

    Each sampler draws 10,000 samples with seed 0; its chain starts at the first validation example. With a
    message and without scores, if the data are not fit for them.
    """
    parts = dataset.test, dataset.validation
    isl, references = {}, {}
    try:
        for name, sampler in SCORED_SAMPLERS.items():
            v = sample(model, sampler, N_SCORED, seed=0, v0=dataset.validation[0]).v
            isl[name] = round(metrics.isl(v, *parts).isl, 2)
        for kernel in ("binary", "mean"):
            rbm = model.rbm if kernel == "mean" else None
            own = metrics.reference(dataset.train, *parts, kernel=kernel, rbm=rbm)
            references[kernel] = {"isl": round(own.isl, 2), "beta": round(own.beta, 4), "n": own.n}
        references["mean"]["means"] = True
    except BadInput as error:
        print_message(f"The model has no scores: {error}")
        return {}
    return {"scores": {"isl_10000": isl}, "reference": references}


def _result(done: _Done, out: Path, model: Model) -> dict[str, Any]:
    """Return the result of the command, and report a model that has learned nothing, or has fallen."""
    last, data, scored = done.last, done.steps.dataset, done.likelihood
    measured = model.meta.get("scores")
    independent = scored.get("independent_log_likelihood")
    result: dict[str, Any] = {
        **{"out": str(out), "updates": last.update, "seconds": last.seconds},
        "data": f"{len(data.train):,} examples of {data.n_visible} units; {data.binarisation}",
        "log_likelihood": scored.get("log_likelihood", (measured or {}).get("log_likelihood")),
        "log_likelihood_error": scored.get("log_likelihood_error"),
        **{"independent_log_likelihood": independent, "scores": measured},
        "weight_norm": float(np.linalg.norm(last.rbm.W)),
    }
    if "truncated" in last.stats:
        result["truncated"] = result["share_cut"] = last.stats["truncated"]
    if done.warning:
        result["warning"] = done.warning
    if scored:
        for remark in remarks(done.steps.history):
            print_message(remark)
    return result


def _text(result: dict[str, Any]) -> str:
    likelihood, error = result["log_likelihood"], result["log_likelihood_error"]
    score = "" if likelihood is None else f", mean log-likelihood {likelihood:.3f}"
    score += f" ± {error:.3f}" if error else ""
    score += " nats" if score else ""
    if (independent := result["independent_log_likelihood"]) is not None:
        score += f" (independent units: {independent:.3f})"
    done = f"{result['updates']:,} updates in {result['seconds']:.1f} s{score} -> {result['out']}"
    return f"{done}\ntrained on {result['data']}"
