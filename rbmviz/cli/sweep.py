"""``rbmviz sweep``: run, resume, compare and draw a grid of knobs over models and seeds."""

import dataclasses
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, Literal

import numpy as np
from cyclopts import Parameter
from tqdm import tqdm

from rbmviz.cli import print_message
from rbmviz.cli.options import NUMBER, Count, Seed, read_algorithms, whole
from rbmviz.cli.origins import command_line
from rbmviz.cli.outputs import check_outputs
from rbmviz.errors import BadInput
from rbmviz.files.origin import csv_bytes, digests_in, origin, with_origin
from rbmviz.files.output import write_whole
from rbmviz.knobs import write_algorithm
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
)
from rbmviz.sweeps.choose import one_source, robustness, select, telling_point, undirected
from rbmviz.sweeps.plan import TABLES, Kind
from rbmviz.sweeps.run import SweepProgress, cores
from rbmviz.sweeps.run import run as run_cells
from rbmviz.sweeps.store import Store, StoredTable

DEFAULT_REPLICATIONS = 5

DEFAULT = {"model": ["bas_pcd"], "sampler": ["rates_fpcd"], "axis": ["eps=0.001:0.3:7:log"]}
"""The sweep of the command without samplers and trainers."""

OF_PLAN = "sampler trainer model axis replications knobs dataset n budget metric n_hidden out".split()
"""Options that say what is run."""

Unit = Literal["n", "samples", "sweeps", "seconds", "updates"]
"""What --budget and --effort count; "n" stands for samples, or for updates of trainers."""


def sweep(
    action: Literal["run", "resume", "show", "robustness"] = "run",
    folder: str | None = None,
    /,
    *,
    sampler: list[str] | None = None,
    trainer: list[str] | None = None,
    model: list[str] | None = None,
    axis: Annotated[list[str] | None, Parameter(name=["--axis", "--grid"])] = None,
    replications: Annotated[int, whole(1, 10_000)] | None = None,
    dataset: str | None = None,
    n: Annotated[Count, NUMBER] | None = None,
    budget: Unit | None = None,
    seed: Annotated[Seed, Parameter(help="The first seed.")] = 0,
    metric: list[str] | None = None,
    kernel: Literal["binary", "mean"] = "binary",
    init: Literal["data", "random"] = "data",
    n_hidden: Annotated[int, whole(1, 10**6)] | None = None,
    out: str | None = None,
    workers: Annotated[int, whole(1, 4096)] | None = None,
    scheduler: str | None = None,
    at: Count | None = None,
    effort: Unit | None = None,
    by: str | None = None,
    csv: str | None = None,
    figure: str | None = None,
    **knobs: str,
) -> dict[str, Any]:
    """Run samplers or trainers over a grid of knobs, and choose a setting.

    The choice is made on the validation part, by differences paired over seeds. All results are in one SQLite
    file of the folder --out, and none is computed again: repeat the command with longer axes, more seeds or
    models, and the sweep is extended. Without --out, the command says what it would do.

    The other actions take the folder of a sweep: resume computes what is missing, show compares what is
    there, robustness gives mean and spread of each setting over models.

    Parameters
    ----------
    action
        What to do.
    folder
        Folder of the sweep that is resumed or shown.
    sampler
        A sampler, perhaps with knobs: rates_fpcd:k=2 (repeatable). Knobs as flags (--k 2) are given to every
        sampler, or trainer, that has them.
    trainer
        Instead of samplers, a trainer (repeatable).
    model
        Samplers: a pretrained model or a file (repeatable).
    axis
        Values of a knob: eps=0.01,0.03,0.1 or lo:hi:number, with :log, :linear or :log1m (a log scale of
        1 - x, with 1 itself) after it: eps=0.001:0.3:13:log, alpha=0.8:1:6:log1m (repeatable).
    replications
        Seeds of each setting, in all; default 5.
    dataset
        Data to score on (default: each model's own), or to train on.
    n
        Length of each run; default 20,000 samples, or 1,000 updates of trainers.
    budget
        What -n counts: samples (trainers: updates) by default, Gibbs sweeps of all chains, or seconds.
    metric
        What is measured; isl: both parts (repeatable).
    kernel
        Kernel of the ISL.
    init
        Initial states.
    n_hidden
        Trainers: hidden units; default 16.
    out
        Folder of the results, made if need be.
    workers
        Threads of this machine; default: one for each core.
    scheduler
        Address of a Dask scheduler (tcp://...), instead of threads (pip install "rbmviz[cluster]").
    at
        Number of samples to compare at; default: the last.
    effort
        What --at counts, and what is equal; default samples or updates.
    by
        Measure that chooses; default isl_validation, or log_likelihood.
    csv
        The table that is shown, one row a setting, .csv.
    figure
        The scores over the axes, .svg or .png.

    Examples
    --------
    rbmviz sweep --model usps_fpcd --sampler rates_fpcd --axis eps=0.001:0.3:13:log --out steps
    """
    args = SimpleNamespace(**locals())
    _check_use(args)
    if action == "run" and not sampler and not trainer and not model:
        for name, value in DEFAULT.items():
            setattr(args, name, getattr(args, name) or value)
    if action == "run" and out is None:
        return _planned(_plan(args))
    if scheduler:
        import rbmviz.sweeps.cluster  # noqa: F401, raises its own error for a missing extra
    if figure:
        figures.check_installed()
    store = Store(out if action == "run" else folder)  # type: ignore[arg-type]
    plan = _plan(args) if action == "run" else store.plan()
    if figure and Path(figure).suffix not in (".svg", ".png"):
        raise BadInput(f"sweep: '{figure}' must end in .svg or .png.")
    check_outputs(
        {"--csv": csv, "--figure": figure},
        models={f"--model {name}": name for name in plan.models},
        datasets={"--dataset": plan.data or None},
    )
    plan_cells, outcome = cells(plan), None
    if action in ("run", "resume"):
        if sentence := store.prepare(plan, command_line()):
            print_message(sentence)
        outcome = _computed(args, plan_cells, store)
        store.close()
    stored = store.read(plan_cells)
    if not stored.cells and outcome is None:
        stored = _of_other_code(store)
    return _result(args, plan, store, plan_cells, stored, outcome)


def _check_use(args: SimpleNamespace) -> None:
    """Check that the options belong to the action."""
    if args.action == "run" and args.folder is not None:
        raise BadInput("sweep run: the folder is given as --out DIR.")
    if args.action != "run" and args.folder is None:
        raise BadInput(f"sweep {args.action}: name the folder of a sweep.")
    idle = {"run": (), "robustness": (*OF_PLAN, "csv", "figure")}.get(args.action, OF_PLAN)
    if given := [name for name in idle if getattr(args, name)]:
        flag = next(iter(args.knobs)) if given[0] == "knobs" else given[0]
        raise BadInput(
            f"sweep {args.action}: leave --{flag.replace('_', '-')} out; to change the plan of the folder, "
            "repeat the command that made it with other options."
        )
    if args.workers and args.scheduler:
        raise BadInput("sweep: --workers and --scheduler both say where it runs: give one of them.")


def _planned(plan: SweepPlan) -> dict[str, Any]:
    """Return what a sweep would do."""
    return {
        **{"action": "plan", "of": len(cells(plan)), "algorithms": list(plan.algorithms)},
        **{"axes": {axis.knob: list(axis.values) for axis in plan.axes}, "models": list(plan.models)},
        **{"seeds": list(plan.seeds), "length": f"{plan.budget.amount:,} {plan.budget.unit}"},
    }


def _planned_text(result: dict[str, Any]) -> str:
    axes = [
        f"{knob} = {', '.join(f'{x:g}' if isinstance(x, float) else str(x) for x in values)}"
        for knob, values in result["axes"].items()
    ]
    what = [*result["algorithms"], *(f"on {model}" for model in result["models"]), *axes]
    head = f"This sweep would make {result['of']:,} runs of {result['length']}:"
    end = "Give --out DIR, the folder of its results, to run it; --sampler, --model and --axis change it."
    return "\n".join([head, *(f"  {line}" for line in what), end])


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


def _unit(given: str | None, kind: Kind) -> str:
    return {"sampler": "samples", "trainer": "updates"}[kind] if given in (None, "n") else given


def _plan(args: SimpleNamespace) -> SweepPlan:
    if bool(args.sampler) == bool(args.trainer):
        raise BadInput(
            "sweep run: give samplers (--sampler with --model) or trainers (--trainer with --dataset)."
        )
    kind: Kind = "sampler" if args.sampler else "trainer"
    algorithms = read_algorithms(TABLES[kind], args.sampler or args.trainer, args.knobs)
    unit = _unit(args.budget, kind)
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
        axes=tuple(Axis.read(text, algorithms) for text in args.axis or ()),
        models=tuple(args.model or ()),
        data=args.dataset or "",
        seeds=tuple(range(first, first + (args.replications or DEFAULT_REPLICATIONS))),
        budget=Budget(unit, amount),  # type: ignore[arg-type]
        metrics=tuple(dict.fromkeys(metrics)),
        kernel=args.kernel,
        start=args.init,
        n_hidden=args.n_hidden or 16,
    )


def _computed(args: SimpleNamespace, plan_cells: Sequence[Cell], store: Store) -> SweepProgress:
    """Compute the missing cells, and report the outcome."""
    there = len(store.done(plan_cells))
    threads = args.workers or cores()
    where = (
        f"the cluster at {args.scheduler}" if args.scheduler else f"{threads} thread{'s' * (threads != 1)}"
    )
    found = f", {there:,} of them in '{store.folder}'" if there else ""
    print_message(f"{len(plan_cells):,} cells{found}; on {where}.")
    # No smoothing, because cells of different settings differ in length.
    every = 0.1 if sys.stderr.isatty() else 60.0  # seconds: a log has a line a minute
    bar = tqdm(total=len(plan_cells), initial=there, unit="cell", smoothing=0, mininterval=every)
    with bar:

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
        there = len(store.done(plan_cells))
        print_message(
            f"Interrupted: {there:,} of {outcome.cells:,} cells are in '{store.folder}', and "
            f"'rbmviz sweep resume {store.folder}{cluster}' computes the rest."
        )
    elif outcome.computed:
        print_message(
            f"{outcome.computed:,} cells in {outcome.seconds:,.1f} s, which alone would take "
            f"{outcome.busy_seconds:,.1f} s one after the other."
        )
    return outcome


def _result(
    args: SimpleNamespace,
    plan: SweepPlan,
    store: Store,
    plan_cells: Sequence[Cell],
    stored: StoredTable,
    outcome: SweepProgress | None,
) -> dict[str, Any]:
    """Compare settings, write the files, and return the result of the command."""
    result: dict[str, Any] = {
        **{"action": args.action, "out": str(store.folder), "done": stored.cells, "of": len(plan_cells)},
        "failed": [
            {"setting": cell.algorithm, "model": cell.model, "seed": cell.seed, "reason": reason}
            for cell, reason in (outcome.failed if outcome else ())
        ],
    }
    if outcome is not None:
        result |= {name: getattr(outcome, name) for name in ("computed", "seconds", "busy_seconds")}
        if outcome.interrupted:
            result["interrupted"] = True
    if not stored.cells:
        if outcome is None:
            raise BadInput(
                f"'{store.folder}' holds no result of its plan: 'rbmviz sweep resume {store.folder}'."
            )
        return result | {"cells": [], "best": None, "region": [], "choices": []}
    effort: Any = _unit(args.effort, plan.kind)
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
    rows = [_row(setting) for choice in compared for setting in choice.settings]
    _write_files(args, plan, stored, compared, rows)
    result |= {"cells": rows, "choices": [_choice(choice) | {"telling": at} for choice, at in choices]}
    only = result["choices"][0] if len(choices) == 1 else {"best": None, "region": []}
    return result | {"best": only["best"], "region": only["region"]}


def _row(scored: ScoredSetting) -> dict[str, Any]:
    """Return a setting as a JSON entry, which is also a row of the CSV."""
    entry = dataclasses.asdict(scored)
    scores, (lo, hi) = [*entry.pop("by_seed").values()], entry.pop("interval")
    low, high = map(float, np.quantile(scores, BAND_OF_REPLICATES))
    entry |= {"difference_error": entry["std_error"], "difference_lo": lo, "difference_hi": hi}
    error = scored.std_dev / math.sqrt(len(scores)) if len(scores) > 1 else math.nan
    return entry | {"std_error": error, "seeds": len(scores), "low": low, "high": high}


def _choice(choice: Choice) -> dict[str, Any]:
    """Return the comparison on one model as a JSON entry.

    ``best`` is null if several may be best, or if neither high nor low values of the measure are better.
    """
    best = choice.best
    alone = len(choice.region) == 1 and not undirected(choice.by)
    found = {
        **{"setting": best.setting, "model": best.model, "knobs": dict(best.knobs)},
        **{"validation": best.mean, "test": best.test, "test_std_dev": best.test_std_dev},
    }
    return {
        **{"model": best.model, "effort": choice.effort, "at": choice.point, "by": choice.by},
        **{"seeds": list(choice.seeds), "not_reached": choice.not_reached, "border": list(choice.border)},
        **{"answer": answer(choice), "best": found if alone else None},
        "region": [{"setting": setting.setting, "knobs": dict(setting.knobs)} for setting in choice.region],
    }


def _write_files(
    args: SimpleNamespace, plan: SweepPlan, stored: StoredTable, choices: Sequence[Choice], rows: list[Any]
) -> None:
    if args.csv is not None:
        table = [
            {name: value for name, value in row.items() if name != "knobs"}
            | {f"knob_{name}": value for name, value in row["knobs"].items()}
            for row in rows
        ]
        write_whole(args.csv, with_origin(csv_bytes(table), "sweep.csv", _origin(stored)))
    if args.figure is not None and choices:
        caption = figures.provenance(stored.columns, command_line())
        picture = figures.draw(choices, plan, caption, Path(args.figure).suffix[1:])
        write_whole(args.figure, with_origin(picture, args.figure, _origin(stored)))


def _origin(stored: StoredTable) -> dict[str, Any]:
    """Return the origin of a sweep's files, with the digests in its table."""
    source = origin(command_line(), seeds=sorted(set(stored.columns["seed"].tolist())))
    return source | digests_in(stored.columns)


MAX_LINES = 40
"""Maximum number of settings of one model that the terminal shows."""


def text(result: dict[str, Any]) -> str:
    """Return the result as text for the terminal."""
    if result["action"] == "plan":
        return _planned_text(result)
    if "robustness" in result:
        return _robustness_text(result["robustness"])
    lines = []
    for choice in result["choices"]:
        rows = [row for row in result["cells"] if row["model"] == choice["model"]]
        lines += _choice_lines(choice, rows)
    lines.append(f"{result['done']:,} of {result['of']:,} cells are in '{result['out']}'")
    return "\n".join(lines)


def _choice_lines(choice: dict[str, Any], rows: Sequence[dict[str, Any]]) -> list[str]:
    on = f" on {choice['model']}" if choice["model"] else ""
    seeds = f"{len(choice['seeds'])} seed" + "s" * (len(choice["seeds"]) != 1)
    texts = _short([row["setting"] for row in rows])
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
        spread, error = best["test_std_dev"], best["test_point_error"]
        said = "" if math.isnan(spread) else f" +- {spread:.3f} over seeds"
        said += " on the test part"
        said += "" if math.isnan(error) else f"; a test set of this size knows it to {error:.3f}"
        lines.append(f"{texts[0]}: {best['test']:.3f}{said}")
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
