"""``rbmviz sweep``: run, resume, extend, compare and draw a grid of knobs over models and seeds."""

import argparse
import dataclasses
import math
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from rbmviz.cli import COUNT, JSON_HELP, SEED, WholeNumber, add_command, print_message
from rbmviz.cli.knob_flags import read_algorithms
from rbmviz.cli.outputs import check_outputs
from rbmviz.errors import BadInput, unknown
from rbmviz.knobs import knobs_of, write_algorithm
from rbmviz.origin import csv_bytes, origin, with_origin
from rbmviz.output import write_whole
from rbmviz.samplers import list_samplers
from rbmviz.session.training import BAND_OF_REPLICATES
from rbmviz.sweeps import (
    Axis,
    Budget,
    Cell,
    Choice,
    ScoredSetting,
    SweepPlan,
    answer,
    cells,
    compare,
    figures,
    list_measures,
)
from rbmviz.sweeps.choose import one_source, robustness, select, telling_point, undirected
from rbmviz.sweeps.plan import TABLES, Kind
from rbmviz.sweeps.run import SweepProgress, cores
from rbmviz.sweeps.run import run as run_cells
from rbmviz.sweeps.store import Store, StoredTable
from rbmviz.trainers import list_trainers

DEFAULT_REPLICATIONS = 5

MAX_WORKERS = 4096

ACTIONS = {
    "run": "begin a sweep, or continue the one in the folder; the default",
    "resume": "compute what is missing",
    "extend": "add values of axes, replications, models or algorithms",
    "show": "compare the results that are there",
    "robustness": "give mean and spread of each setting over trained models",
}

EVERY_SECONDS = 10.0
"""Seconds between two progress lines if standard error is not a terminal."""

BUDGET_UNITS = {
    "n": "samples",
    "samples": "samples",
    "sweeps": "sweeps",
    "seconds": "seconds",
    "updates": "updates",
}
"""Values of --budget and --effort; "n" stands for samples, or for updates of trainers."""


def add(commands: Any) -> None:
    """Add the command."""
    example = (
        "rbmviz sweep --model usps_fpcd --sampler rates_fpcd --axis eps=0.001:0.3:13:log "
        "--axis alpha=0.9,0.95,0.99,1 --out steps"
    )
    command = add_command(commands, "sweep", example, run, text)
    command.description = (
        "Run samplers or trainers over a grid of knobs, models and seeds, and choose a setting on the\n"
        "validation part, by differences paired over seeds. The folder has one SQLite file, in which no\n"
        "result is computed again: repeat the command with longer axes, more seeds or models, and it is\n"
        "extended."
    )
    command.epilog = f"{command.epilog}\nThe options of an action: rbmviz sweep run --help"
    command.arrange = _action_first
    actions = command.add_subparsers(title="actions", dest="action", metavar="ACTION", required=True)
    for action, about in ACTIONS.items():
        each = actions.add_parser(
            action, help=about, description=f"{about.capitalize()}.", allow_abbrev=False
        )
        if action != "run":
            each.add_argument("folder", metavar="DIR", help="folder of the sweep")
        each.add_argument("--json", action="store_true", help=JSON_HELP)
        each.set_defaults(takes_knobs=action in ("run", "extend"))
        if action in ("run", "extend"):
            _add_grid(each)
        if action == "run":
            _add_plan(each)
        if action in ("run", "extend", "resume"):
            _add_place(each)
        _add_comparison(each)
        if action != "robustness":
            _add_files(each)


def _action_first(words: Sequence[str]) -> list[str]:
    """Return the arguments with the action in front, where argparse expects it; the default is ``run``."""
    for i, word in enumerate(words):
        is_value = i > 0 and re.fullmatch("-n|--(?!json$)[^=]+", words[i - 1])
        if word in ACTIONS and not is_value:
            return [word, *words[:i], *words[i + 1 :]]
    if words and not words[0].startswith("-"):
        raise unknown("action of sweep", words[0], ACTIONS)
    return [*words] if words in (["-h"], ["--help"]) else ["run", *words]


def _add_grid(action: argparse.ArgumentParser) -> None:
    grid = action.add_argument_group(
        "the grid", "Knobs as flags (--k 2) are given to every sampler, or trainer, that has them."
    )
    grid.add_argument(
        "--sampler",
        action="append",
        help=f"one of {', '.join(list_samplers())}, perhaps with knobs: rates_fpcd:k=2 (repeatable)",
    )
    grid.add_argument(
        "--trainer", action="append", help=f"instead of samplers: {', '.join(list_trainers())} (repeatable)"
    )
    grid.add_argument("--model", action="append", help="samplers: a pretrained model or a file (repeatable)")
    grid.add_argument(
        "--axis",
        "--grid",
        action="append",
        metavar="KNOB=VALUES",
        help="values of a knob: eps=0.01,0.03,0.1 or lo:hi:number, with :log, :linear or :log1m (a log scale "
        "of 1 - x, with 1 itself) after it: eps=0.001:0.3:13:log, alpha=0.8:1:6:log1m (repeatable)",
    )
    grid.add_argument(
        "--replications",
        type=WholeNumber(1, 10_000),
        help=f"seeds of each setting (default {DEFAULT_REPLICATIONS}; extend: in all)",
    )


def _add_plan(action: argparse.ArgumentParser) -> None:
    plan = action.add_argument_group("the runs")
    plan.add_argument("--dataset", help="data to score on (default: each model's own), or to train on")
    plan.add_argument(
        "-n", type=COUNT, help="length of each run (default 20,000 samples, or 1,000 updates of trainers)"
    )
    plan.add_argument(
        "--budget",
        choices=tuple(BUDGET_UNITS),
        help="what -n counts: samples (trainers: updates) by default, Gibbs sweeps of all chains, or seconds",
    )
    plan.add_argument("--seed", type=SEED, default=0, help="the first seed (default 0)")
    plan.add_argument(
        "--metric",
        action="append",
        help=f"what is measured: {', '.join(list_measures())}; isl: both parts (repeatable)",
    )
    plan.add_argument(
        "--kernel", choices=("binary", "mean"), default="binary", help="kernel of the ISL (default binary)"
    )
    plan.add_argument(
        "--init", choices=("data", "random"), default="data", help="initial states (default data)"
    )
    plan.add_argument("--n-hidden", type=WholeNumber(1, 10**6), help="trainers: hidden units (default 16)")
    plan.add_argument("--out", required=True, metavar="DIR", help="folder of the results, made if need be")


def _add_place(action: argparse.ArgumentParser) -> None:
    place = action.add_argument_group("where it runs").add_mutually_exclusive_group()
    place.add_argument(
        "--workers",
        type=WholeNumber(1, MAX_WORKERS),
        help="threads of this machine (default: one for each core)",
    )
    place.add_argument(
        "--scheduler",
        metavar="tcp://...",
        help='address of a Dask scheduler, instead of threads (pip install "rbmviz[cluster]")',
    )


def _add_comparison(action: argparse.ArgumentParser) -> None:
    comparison = action.add_argument_group("how settings are compared")
    comparison.add_argument("--at", type=COUNT, help="number of samples to compare at (default: the last)")
    comparison.add_argument(
        "--effort",
        choices=tuple(BUDGET_UNITS),
        help="what --at counts, and what is equal (default samples or updates)",
    )
    comparison.add_argument("--by", help="measure that chooses (default isl_validation, or log_likelihood)")


def _add_files(action: argparse.ArgumentParser) -> None:
    files = action.add_argument_group("files")
    files.add_argument("--csv", metavar="F.csv", help="the table that is shown, one row a setting")
    files.add_argument("--figure", metavar="F.svg", help="the scores over the axes, as .svg or .png")


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Carry out the action, and return the comparison of the settings."""
    _check_installed(args)
    store = Store(args.out if args.action == "run" else args.folder)
    plan = _plan(args) if args.action == "run" else store.plan()
    if args.action == "extend":
        plan = _extended(plan, args)
    if args.action != "robustness":
        _check_outputs(args, plan)
    plan_cells, outcome = cells(plan), None
    if args.action in ("run", "resume", "extend"):
        if sentence := store.prepare(plan, _command(args)):
            print_message(sentence)
        outcome = _computed(args, plan_cells, store)
        store.close()
    stored = store.read(plan_cells)
    if not stored.cells and outcome is None:
        stored = _of_other_code(store)
    return _result(args, plan, store, plan_cells, stored, outcome)


def _of_other_code(store: Store) -> StoredTable:
    """Return results of other code versions: for each algorithm and model, the version with most rows."""
    stored = store.read()
    if not stored.cells:
        return stored
    columns = one_source(stored.columns)
    n_cells = len(np.unique(columns["identity"].astype(str)))
    print_message(
        f"'{store.folder}' holds no result of this version of the code; these are the {n_cells:,} of "
        f"another version. 'rbmviz sweep resume {store.folder}' recomputes them."
    )
    return StoredTable(columns, n_cells)


def _check_outputs(args: argparse.Namespace, plan: SweepPlan) -> None:
    """Check the endings of the output files, and that the files can be written."""
    outputs = {f"--{name}": getattr(args, name) for name in ("csv", "figure")}
    if args.figure is not None and Path(args.figure).suffix not in (".svg", ".png"):
        raise BadInput(f"sweep: '{args.figure}' must end in .svg or .png.")
    check_outputs(
        outputs,
        models={f"--model {name}": name for name in plan.models},
        datasets={"--dataset": plan.data or None},
    )


def _check_installed(args: argparse.Namespace) -> None:
    """Raise the error for a missing extra before anything is read."""
    if vars(args).get("scheduler"):
        import rbmviz.sweeps.cluster  # noqa: F401, raises its own error
    if vars(args).get("figure"):
        figures.check_installed()


def _axis(written: str, algorithms: Sequence[Any]) -> Axis:
    """Read an axis; the scale may also come first, ``eps=log:0.001:1:13``."""
    match = re.fullmatch(r"([^=]*)=(log1m|log|lin|linear):([^:]*:[^:]*:[^:]*)", written)
    if match:
        name, scale, rest = match.groups()
        written = f"{name}={rest}:{'linear' if scale == 'lin' else scale}"
    return Axis.read(written, algorithms)


def _plan(args: argparse.Namespace) -> SweepPlan:
    if bool(args.sampler) == bool(args.trainer):
        raise BadInput(
            "sweep run: give samplers (--sampler with --model) or trainers (--trainer with --dataset)."
        )
    kind: Kind = "sampler" if args.sampler else "trainer"
    algorithms = read_algorithms(TABLES[kind], args.sampler or args.trainer, args.rest)
    unit = BUDGET_UNITS[args.budget or "n"]
    if kind == "trainer" and args.budget in (None, "n"):
        unit = "updates"
    amount = args.n or (20_000 if kind == "sampler" else 1000)
    if args.n is None and unit == "seconds":
        raise BadInput("sweep run: --budget seconds needs -n, how many.")
    if kind == "sampler" and args.n_hidden is not None:
        raise BadInput("sweep run: --n-hidden belongs to trainers.")
    metrics = []
    for name in args.metric or ():
        metrics += ["isl_validation", "isl_test"] if name == "isl" else [name]
    first = args.seed
    return SweepPlan(
        kind=kind,
        algorithms=tuple(write_algorithm(text) for text in algorithms),
        axes=tuple(_axis(text, algorithms) for text in args.axis or ()),
        models=tuple(args.model or ()),
        data=args.dataset or "",
        seeds=tuple(range(first, first + (args.replications or DEFAULT_REPLICATIONS))),
        budget=Budget(unit, amount),  # type: ignore[arg-type]
        metrics=tuple(dict.fromkeys(metrics)),
        kernel=args.kernel,
        start=args.init,
        n_hidden=args.n_hidden or 16,
    )


def _extended(plan: SweepPlan, args: argparse.Namespace) -> SweepPlan:
    """Return the plan with more algorithms, models, seeds and values of axes added to its own."""
    more = args.sampler if plan.kind == "sampler" else args.trainer
    if (args.trainer if plan.kind == "sampler" else args.sampler) is not None:
        raise BadInput(f"sweep extend: this is a sweep over {plan.kind}s.")
    algorithms = list(plan.algorithms)
    if more:
        algorithms += [
            write_algorithm(algorithm) for algorithm in read_algorithms(TABLES[plan.kind], more, args.rest)
        ]
    elif args.rest:
        raise BadInput("sweep extend: knobs are given to new samplers; add values to an axis by --axis.")
    read = [TABLES[plan.kind].read(algorithm) for algorithm in algorithms]
    before = read[: len(plan.algorithms)]
    axes = {axis.knob: axis for axis in plan.axes}
    for written in args.axis or ():
        axis = _axis(written, read)
        own = (getattr(algorithm, axis.knob) for algorithm in before if axis.knob in knobs_of(algorithm))
        values = axes[axis.knob].values if axis.knob in axes else own
        knob = next(knobs_of(algorithm)[axis.knob] for algorithm in read if axis.knob in knobs_of(algorithm))
        joined = list(dict.fromkeys((*values, *axis.values)))
        axes[axis.knob] = Axis(axis.knob, tuple(sorted(joined) if knob.kind in (int, float) else joined))  # type: ignore[type-var]
    seeds = list(plan.seeds)
    seeds += [seed for seed in range(seeds[0], seeds[0] + (args.replications or 0)) if seed not in seeds]
    return dataclasses.replace(
        plan,
        algorithms=tuple(dict.fromkeys(algorithms)),
        axes=tuple(axes.values()),
        models=tuple(dict.fromkeys((*plan.models, *(args.model or ())))),
        seeds=tuple(seeds),
    )


def _command(args: argparse.Namespace) -> str:
    """Return the command line, for notes and figures."""
    return f"rbmviz {shlex.join(args.words)}"


class _Lines:
    """Standard error that is not a terminal: each state of a bar gets its own line."""

    def write(self, text: str) -> None:
        if text.strip():
            print_message(text.strip())

    def flush(self) -> None:
        pass


def _bar(total: int, done: int) -> tqdm:
    """Return the progress of cells: a bar on a terminal, else an occasional line."""
    # No smoothing, because cells of different settings differ in length.
    common: dict[str, Any] = {"total": total, "initial": done, "unit": "cell", "smoothing": 0}
    if sys.stderr.isatty():
        return tqdm(**common, file=sys.stderr)
    line = "{n_fmt} of {total_fmt} cells, {remaining} left{postfix}"
    return tqdm(**common, file=_Lines(), mininterval=EVERY_SECONDS, bar_format=line)


def _computed(args: argparse.Namespace, plan_cells: Sequence[Cell], store: Store) -> SweepProgress:
    """Compute the missing cells, and report the outcome."""
    there = len(store.done(plan_cells))
    threads = args.workers or cores()
    where = f"{threads} thread{'s' * (threads != 1)}"
    where = f"the cluster at {args.scheduler}" if args.scheduler else where
    print_message(
        f"{len(plan_cells):,} cells"
        + (f", {there:,} of them in '{store.folder}'" if there else "")
        + f"; on {where}."
    )
    with _bar(len(plan_cells), there) as bar:

        def show(outcome: SweepProgress) -> None:
            if outcome.failed:
                bar.set_postfix_str(f"{len(outcome.failed):,} failed", refresh=False)
            bar.update(outcome.done + len(outcome.failed) - bar.n)

        outcome = run_cells(
            plan_cells,
            store,
            workers=args.workers,
            scheduler=args.scheduler,
            on_progress=show,
            on_message=lambda sentence: bar.write(sentence, file=sys.stderr),
        )
    for failed in outcome.failed[:3]:
        print_message(f"{failed.cell.algorithm}, seed {failed.cell.seed}: {failed.reason}")
    if len(outcome.failed) > 3:
        print_message(f"{len(outcome.failed) - 3:,} more cells failed.")
    if outcome.failed and not outcome.done and not outcome.interrupted:
        raise BadInput(f"All {len(outcome.failed):,} cells failed: {outcome.failed[0].reason}")
    if outcome.interrupted:
        cluster = f" --scheduler {args.scheduler}" if args.scheduler else ""
        print_message(
            f"Interrupted: {outcome.done:,} of {outcome.cells:,} cells are in '{store.folder}', and "
            f"'rbmviz sweep resume {store.folder}{cluster}' computes the rest."
        )
    elif outcome.computed:
        print_message(
            f"{outcome.computed:,} cells in {outcome.seconds:,.1f} s, which alone would take "
            f"{outcome.busy_seconds:,.1f} s one after the other."
        )
    return outcome


def _result(
    args: argparse.Namespace,
    plan: SweepPlan,
    store: Store,
    plan_cells: Sequence[Cell],
    stored: StoredTable,
    outcome: SweepProgress | None,
) -> dict[str, Any]:
    """Compare settings, write the files, and return the result of the command."""
    result: dict[str, Any] = {
        "action": args.action,
        "out": str(store.folder),
        "done": stored.cells,
        "of": len(plan_cells),
        "failed": [
            {"setting": failed.cell.algorithm, "model": failed.cell.model, "seed": failed.cell.seed}
            | {"reason": failed.reason}
            for failed in (outcome.failed if outcome else ())
        ],
    }
    if outcome is not None:
        result |= {"computed": outcome.computed, "seconds": outcome.seconds}
        result |= {"busy_seconds": outcome.busy_seconds}
        if outcome.interrupted:
            result["interrupted"] = True
    if not stored.cells:
        if outcome is None:
            raise BadInput(
                f"'{store.folder}' holds no result of its plan: 'rbmviz sweep resume {store.folder}'."
            )
        return result | {"cells": [], "best": None, "region": [], "choices": []}
    effort: Any = BUDGET_UNITS[args.effort or "n"]
    if plan.kind == "trainer" and args.effort in (None, "n"):
        effort = "updates"
    if args.action == "robustness":
        found_settings = robustness(stored.columns, args.at, effort, args.by or "isl_test")
        return result | {"robustness": [dataclasses.asdict(setting) for setting in found_settings]}
    choices = []
    try:
        for model in plan.models or ("",):
            columns = select(stored.columns, model=model)
            if len(columns["n"]):
                by: str = args.by or ""
                choices.append((compare(columns, args.at, effort, by), telling_point(columns, effort, by)))
    except BadInput as error:
        if outcome is None:
            raise
        print_message(f"The settings cannot be compared yet: {error}")
    compared = [choice for choice, _ in choices]
    _write_files(args, plan, stored, compared)
    rows = [_row(setting, choice) for choice in compared for setting in choice.settings]
    result |= {"cells": rows, "choices": [_choice(choice) | {"telling": at} for choice, at in choices]}
    only = result["choices"][0] if len(choices) == 1 else {"best": None, "region": []}
    return result | {"best": only["best"], "region": only["region"]}


def _row(scored: ScoredSetting, choice: Choice) -> dict[str, Any]:
    """Return a setting as a JSON entry, which is also a row of the CSV."""
    entry = dataclasses.asdict(scored)
    by_seed = entry.pop("by_seed")
    lo, hi = entry.pop("interval")
    error = scored.std_dev / math.sqrt(len(by_seed)) if len(by_seed) > 1 else math.nan
    difference_error = entry.pop("std_error")
    return {
        **{"setting": entry.pop("setting"), "model": entry.pop("model"), "knobs": entry.pop("knobs")},
        **{"mean": entry.pop("mean"), "std_error": error, "seeds": len(by_seed)},
        **dict(
            zip(
                ("low", "high"), map(float, np.quantile([*by_seed.values()], BAND_OF_REPLICATES)), strict=True
            )
        ),
        **{"difference": entry.pop("difference"), "difference_error": difference_error},
        **{"difference_lo": lo, "difference_hi": hi},
        **entry,
    }


def _choice(choice: Choice) -> dict[str, Any]:
    """Return the comparison on one model as a JSON entry.

    ``best`` is null if several may be best, or if neither high nor low values of the measure are better.
    """
    best = choice.best
    alone = len(choice.region) == 1 and not undirected(choice.by)
    return {
        **{"model": best.model, "effort": choice.effort, "at": choice.point, "by": choice.by},
        **{"seeds": list(choice.seeds), "not_reached": choice.not_reached, "border": list(choice.border)},
        "answer": answer(choice),
        "best": {
            **{"setting": best.setting, "model": best.model, "knobs": dict(best.knobs)},
            **{"validation": best.mean, "test": best.test, "test_std_dev": best.test_std_dev},
        }
        if alone
        else None,
        "region": [{"setting": setting.setting, "knobs": dict(setting.knobs)} for setting in choice.region],
    }


def _write_files(
    args: argparse.Namespace, plan: SweepPlan, stored: StoredTable, choices: Sequence[Choice]
) -> None:
    if args.csv is not None:
        write_whole(args.csv, with_origin(_csv(choices), "sweep.csv", _origin(args, stored)))
    if args.figure is not None and choices:
        caption = figures.provenance(stored.columns, _command(args))
        picture = figures.draw(choices, plan, caption, Path(args.figure).suffix[1:])
        write_whole(args.figure, with_origin(picture, args.figure, _origin(args, stored)))


def _origin(args: argparse.Namespace, stored: StoredTable) -> dict[str, Any]:
    """Return the origin of a sweep's files, with the digests in its table."""
    columns = stored.columns

    def digests(name: str) -> dict[str, str]:
        pairs = zip(columns[name].tolist(), columns[f"{name}_digest"].tolist(), strict=True)
        return {value: digest for value, digest in pairs if digest}

    source = origin(_command(args), seeds=sorted(set(columns["seed"].tolist())))
    return source | {"models": digests("model"), "data": digests("data")}


def _csv(choices: Sequence[Choice]) -> bytes:
    rows = []
    for choice in choices:
        for setting in choice.settings:
            row = _row(setting, choice)
            knobs = row.pop("knobs")
            rows.append({**row, **{f"knob_{name}": value for name, value in knobs.items()}})
    return csv_bytes(rows)


MAX_LINES = 40
"""Maximum number of settings of one model that the terminal shows."""


def text(result: dict[str, Any]) -> str:
    """Return the result as text for the terminal."""
    if "robustness" in result:
        return _robustness_text(result["robustness"])
    lines = []
    for choice in result["choices"]:
        rows = [row for row in result["cells"] if row["model"] == choice["model"]]
        lines += _choice_lines(choice, rows)
    lines.append(f"{result['done']:,} of {result['of']:,} cells are in '{result['out']}'")
    return "\n".join(lines)


def _knobs_text(row: dict[str, Any]) -> str:
    name = row["setting"].partition(":")[0]
    knobs = " ".join(
        f"{knob}={value:g}" if isinstance(value, float) else f"{knob}={value}"
        for knob, value in row["knobs"].items()
    )
    return f"{name} {knobs}".strip()


def _choice_lines(choice: dict[str, Any], rows: Sequence[dict[str, Any]]) -> list[str]:
    on = f" on {choice['model']}" if choice["model"] else ""
    seeds = f"{len(choice['seeds'])} seed" + "s" * (len(choice["seeds"]) != 1)
    texts = [_knobs_text(row) for row in rows]
    width = max(map(len, texts))
    lines = [
        f"{choice['by']} after {choice['at']:,.6g} {choice['effort']}{on}, {seeds}; * tied with the best",
        f"  {'':<{width}} {'mean':>10} {'to the best':>21} {'seconds':>9}",
    ]
    if undirected(choice["by"]):
        lines.insert(1, undirected(choice["by"]))
    for name, row in list(zip(texts, rows, strict=True))[:MAX_LINES]:
        difference = "" if row is rows[0] else f"{row['difference']:+.3f}"
        if difference and not math.isnan(row["difference_error"]):  # unknown for one seed
            difference += f" +- {row['difference_error']:.3f}"
        mark = "*" if row["in_region"] else "x" if row["blank"] > 0.5 else " "
        lines.append(f"{mark} {name:<{width}} {row['mean']:10.3f} {difference:>21} {row['seconds']:9.2f}")
    if len(rows) > MAX_LINES:
        lines.append(f"  ... {len(rows) - MAX_LINES:,} more (--csv writes all)")
    if any(not row["in_region"] and row["blank"] > 0.5 for row in rows):
        lines.append("x most samples are blank")
    best = rows[0]
    if not math.isnan(best["test"]):
        spread = "" if math.isnan(best["test_std_dev"]) else f" +- {best['test_std_dev']:.3f} over seeds"
        error = (
            ""
            if math.isnan(best["test_point_error"])
            else f"; a test set of this size knows it to {best['test_point_error']:.3f}"
        )
        lines.append(f"{texts[0]}: {best['test']:.3f}{spread} on the test part{error}")
    lines.append(choice["answer"])
    if choice["telling"] is not None and choice["telling"] != choice["at"]:
        lines.append(f"The settings differ most after {choice['telling']:,.6g} {choice['effort']} (--at).")
    if choice["not_reached"]:
        lines.append(f"{choice['not_reached']:,} settings have not got there.")
    return [*lines, *choice["border"], ""]


def _robustness_text(rows: Sequence[dict[str, Any]]) -> str:
    texts = _short([row["setting"] for row in rows])
    width = max(map(len, texts))
    models = " ".join(f"{model:>14}" for model in rows[0]["models"])
    lines = [f"{'':<{width}} {'seeds':>5} {'mean':>10} {'spread':>8} {models}"]
    for name, row in zip(texts, rows, strict=True):
        each = " ".join(f"{mean:14.3f}" for mean in row["by_model"])
        seeds, mean, spread = len(row["seeds"]), row["mean"], row["spread"]
        lines.append(f"{name:<{width}} {seeds:5} {mean:10.3f} {spread:8.3f} {each}")
    return "\n".join([*lines, "spread: standard deviation over the models"])


def _short(settings: Sequence[str]) -> list[str]:
    """Return settings with only the knobs in which settings of the same algorithm differ."""
    parts = [(name, knobs.split(",")) for name, _, knobs in (setting.partition(":") for setting in settings)]
    common = {name: set.intersection(*(set(b) for a, b in parts if a == name)) for name, _ in parts}
    return [" ".join([name, *(pair for pair in knobs if pair not in common[name])]) for name, knobs in parts]
