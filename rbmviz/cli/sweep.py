"""``rbmviz sweep``: run, resume, compare and draw a grid of knobs over models and seeds."""

import dataclasses
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from cyclopts import Parameter
from tqdm import tqdm

from rbmviz.cli import Answer, print_message, table
from rbmviz.cli.options import FLAT, NUMBER, Count, Seed, read_algorithms, whole
from rbmviz.cli.origins import command_line
from rbmviz.cli.outputs import check_outputs, ending_in
from rbmviz.errors import BadInput
from rbmviz.files.origin import csv_bytes, digests_in, origin, with_origin
from rbmviz.files.output import write_whole
from rbmviz.session.training import BAND_OF_REPLICATES
from rbmviz.sweeps import (
    Axis,
    Budget,
    Cell,
    Choice,
    ScoredSetting,
    Store,
    SweepPlan,
    SweepProgress,
    answer,
    cells,
    compare,
    figures,
    robustness,
    run,
    select,
    telling_point,
)
from rbmviz.sweeps.answer import marks_in_words, short, table_of
from rbmviz.sweeps.choose import undirected
from rbmviz.sweeps.plan import COUNTED, REPLICATIONS, TABLES, Kind
from rbmviz.sweeps.run import cores
from rbmviz.sweeps.tables import Columns, one_source

MAX_LINES = 40
"""Maximum number of settings of one model that the terminal shows."""

Unit = Literal["n", "samples", "sweeps", "seconds", "updates"]
"""What --budget and --effort count; "n" stands for samples, or for updates of trainers."""


def _unit(given: Unit | None, kind: Kind) -> Any:
    return COUNTED[kind] if given in (None, "n") else given


@dataclass(frozen=True)
class Grid:
    """What a sweep runs.

    Parameters
    ----------
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
        Seeds of each setting, in all.
    race
        Seeds after the second only where they decide, and scores only at the end of runs: much sooner.
    dataset
        Data to score on (default: each model's own), or to train on.
    n
        Length of each run; default 20,000 samples, or 1,000 updates of trainers.
    budget
        What -n counts: samples (trainers: updates) by default, Gibbs sweeps of all chains, or seconds.
    seed
        The first seed.
    metric
        What is measured; isl: both parts (repeatable).
    kernel
        Kernel of the ISL.
    init
        Initial states.
    n_hidden
        Trainers: hidden units; default 16.
    """

    sampler: list[str] | None = None
    trainer: list[str] | None = None
    model: list[str] | None = None
    axis: Annotated[list[str] | None, Parameter(name=["--axis", "--grid"])] = None
    replications: Annotated[int, whole(1, 10_000)] = REPLICATIONS
    race: Annotated[bool, Parameter(negative=())] = False
    dataset: str | None = None
    n: Annotated[Count | None, NUMBER] = None
    budget: Unit | None = None
    seed: Annotated[Seed, Parameter(help="The first seed.")] = 0
    metric: list[str] | None = None
    kernel: Literal["binary", "mean"] = "binary"
    init: Literal["data", "random"] = "data"
    n_hidden: Annotated[int, whole(1, 10**6)] | None = None

    def plan(self, knobs: Mapping[str, str]) -> SweepPlan:
        """Return the plan; knobs : those given as flags."""
        if not self.sampler and not self.trainer and not self.model:
            axis = self.axis or ["eps=0.001:0.3:7:log"]
            usual = dataclasses.replace(self, sampler=["rates_fpcd"], model=["bas_pcd"], axis=axis)
            return usual.plan(knobs)
        if bool(self.sampler) == bool(self.trainer):
            raise BadInput(
                "sweep: give samplers (--sampler with --model) or trainers (--trainer with --dataset)."
            )
        kind: Kind = "sampler" if self.sampler else "trainer"
        if kind == "sampler" and self.n_hidden is not None:
            raise BadInput("sweep: --n-hidden belongs to trainers.")
        if self.budget == "seconds" and self.n is None:
            raise BadInput("sweep: --budget seconds needs -n, how many.")
        algorithms = read_algorithms(TABLES[kind], self.sampler or self.trainer or [], knobs)
        both = {"isl": ("isl_validation", "isl_test")}
        metrics = [each for name in self.metric or () for each in both.get(name, (name,))]
        return SweepPlan(
            kind=kind,
            algorithms=algorithms,  # type: ignore[arg-type]
            axes=tuple(Axis.read(text, algorithms) for text in self.axis or ()),
            models=tuple(self.model or ()),
            data=self.dataset or "",
            seeds=tuple(range(self.seed, self.seed + self.replications)),
            budget=Budget.usual(kind, _unit(self.budget, kind), self.n),
            metrics=tuple(dict.fromkeys(metrics)),
            kernel=self.kernel,
            start=self.init,
            race=self.race,
            **({} if self.n_hidden is None else {"n_hidden": self.n_hidden}),
        )


@dataclass(frozen=True)
class View:
    """How settings are compared, and what is written.

    Parameters
    ----------
    at
        Number of samples to compare at; default: the last.
    effort
        What --at counts, and what is equal; default samples or updates.
    by
        Measure that chooses; default isl_validation, or log_likelihood.
    margin
        Difference to the best that counts as none, in the unit of the measure; default 1 % of the best score.
    csv
        The table that is shown, one row a setting, .csv.
    figure
        The scores over the axes, .svg or .png.
    """

    at: Count | None = None
    effort: Unit | None = None
    by: str | None = None
    margin: float | None = None
    csv: str | None = None
    figure: str | None = None

    def check(self, plan: SweepPlan) -> None:
        """Check, before anything is computed, that the files can be written."""
        if self.figure:
            figures.check_installed()
            ending_in("sweep", self.figure, ".svg", ".png")
        check_outputs(
            {"--csv": self.csv, "--figure": self.figure},
            models={f"--model {name}": name for name in plan.models},
            datasets={"--dataset": plan.data or None},
        )

    def compare(self, plan: SweepPlan, columns: Columns) -> list[tuple[Choice, float | None]]:
        """Return the comparison on each model, and the point at which its settings differ most."""
        effort, by, found = _unit(self.effort, plan.kind), self.by or "", []
        for model in plan.models or ("",):
            rows = select(columns, model=model)
            if len(rows["n"]):
                choice = compare(rows, self.at, effort, by, margin=self.margin)
                found.append((choice, telling_point(rows, effort, by)))
        return found

    def write(self, plan: SweepPlan, columns: Columns, choices: list[Choice], rows: list[Any]) -> None:
        """Write the files that are wanted."""
        if self.csv is not None:
            lines = [
                {name: value for name, value in row.items() if name != "knobs"}
                | {f"knob_{name}": value for name, value in row["knobs"].items()}
                for row in rows
            ]
            write_whole(self.csv, with_origin(csv_bytes(lines), "sweep.csv", _origin(columns)))
        if self.figure is not None and choices:
            caption = figures.provenance(columns, command_line())
            picture = figures.draw(choices, plan, caption, Path(self.figure).suffix[1:])
            write_whole(self.figure, with_origin(picture, self.figure, _origin(columns)))


def _origin(columns: Columns) -> dict[str, Any]:
    """Return the origin of a sweep's files, with the digests in its table."""
    source = origin(command_line(), seeds=sorted(set(columns["seed"].tolist())))
    return source | digests_in(columns)


def sweep(
    action: Literal["run", "resume", "show", "robustness"] = "run",
    folder: str | None = None,
    /,
    *,
    grid: Annotated[Grid, FLAT] = Grid(),
    out: str | None = None,
    workers: Annotated[int, whole(1, 4096)] | None = None,
    scheduler: str | None = None,
    view: Annotated[View, FLAT] = View(),
    **knobs: str,
) -> Answer:
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
    out
        Folder of the results, made if need be.
    workers
        Threads of this machine; default: one for each core.
    scheduler
        Address of a Dask scheduler (tcp://...), instead of threads (pip install "rbmviz[cluster]").

    Examples
    --------
    rbmviz sweep --model usps_fpcd --sampler rates_fpcd --axis eps=0.001:0.3:13:log --out steps
    """
    if workers and scheduler:
        raise BadInput("sweep: --workers and --scheduler both say where it runs: give one of them.")
    if action != "run":
        store = _store(action, folder, out, grid, knobs)
        plan = store.plan()
    elif folder is not None:
        raise BadInput("sweep run: the folder is given as --out DIR.")
    else:
        plan = grid.plan(knobs)
        if out is None:
            return _proposed(plan)
        store = Store(out)
    if action == "robustness":
        return _robustness(store, plan, view)
    if scheduler:
        import rbmviz.sweeps.cluster  # noqa: F401, raises its own error for a missing extra
    view.check(plan)
    planned = cells(plan)
    result = {"action": action, "out": str(store.folder), "of": len(planned)}
    if action == "show":
        return _compared(result, plan, _results(store, planned), view)
    if sentence := store.prepare(plan, command_line()):
        print_message(sentence)
    outcome = _computed(planned, store, workers, scheduler, plan.race)
    store.close()
    return _compared(result, plan, store.read(planned), view, outcome)


def _store(action: str, folder: str | None, out: str | None, grid: Grid, knobs: Mapping[str, str]) -> Store:
    """Return the folder of an action other than run, which does not change the plan."""
    if folder is None:
        raise BadInput(f"sweep {action}: name the folder of a sweep.")
    given = [*knobs, *(name for name, value in vars(grid).items() if value != getattr(Grid(), name))]
    if given or out:
        flag = given[0].replace("_", "-") if given else "out"
        raise BadInput(
            f"sweep {action}: leave --{flag} out; to change the plan of the folder, repeat the command that "
            "made it with other options."
        )
    return Store(folder)


def _proposed(plan: SweepPlan) -> Answer:
    """Say what a sweep would do."""
    n, length = len(cells(plan)), f"{plan.budget.amount:,} {plan.budget.unit}"
    axes = {axis.knob: list(axis.values) for axis in plan.axes}
    result = {
        **{"action": "plan", "of": n, "algorithms": list(plan.algorithms), "axes": axes},
        **{"models": list(plan.models), "seeds": list(plan.seeds), "length": length},
    }
    lines = [*plan.algorithms, *(f"on {name}" for name in plan.models)]
    lines += [f"{knob} = {', '.join(map(str, values))}" for knob, values in axes.items()]
    head = f"This sweep would make {n:,} runs of {length}:"
    end = "Give --out DIR, the folder of its results, to run it; --sampler, --model and --axis change it."
    return result, "\n".join([head, *(f"  {line}" for line in lines), end])


def _compared(
    result: dict[str, Any],
    plan: SweepPlan,
    columns: Columns,
    view: View,
    outcome: SweepProgress | None = None,
) -> Answer:
    """Compare what is there, and write the files; outcome : of the cells that were computed now, if any."""
    failed = [
        {"setting": cell.algorithm, "model": cell.model, "seed": cell.seed, "reason": reason}
        for cell, reason in (outcome.failed if outcome else ())
    ]
    result |= {"done": _count(columns), "failed": failed}
    if outcome is not None:
        result |= {name: getattr(outcome, name) for name in ("computed", "seconds", "busy_seconds")}
        result |= {"interrupted": True} if outcome.interrupted else {}
    choices: list[tuple[Choice, float | None]] = []
    try:
        choices = view.compare(plan, columns) if columns else []
    except BadInput as error:
        if outcome is None:
            raise
        print_message(f"The settings cannot be compared yet: {error}")
    rows = [_row(setting) for choice, _ in choices for setting in choice.settings]
    view.write(plan, columns, [choice for choice, _ in choices], rows)
    entries = [_entry(choice) | {"telling": telling} for choice, telling in choices]
    only = entries[0] if len(entries) == 1 else {"best": None, "region": []}
    result |= {"cells": rows, "choices": entries, "best": only["best"], "region": only["region"]}
    lines = [line for choice, telling in choices for line in _lines(choice, telling)]
    end = f"{result['done']:,} of {result['of']:,} cells are in '{result['out']}'"
    if plan.race and outcome is not None and not outcome.interrupted and outcome.done < result["of"]:
        end += "; the race left the others out"
    return result, "\n".join([*lines, end])


def _robustness(store: Store, plan: SweepPlan, view: View) -> Answer:
    """Compare mean and spread of each setting over models, by default on the test part: nothing is chosen."""
    if view.csv or view.figure:
        raise BadInput("sweep robustness: leave --csv and --figure out; 'rbmviz sweep show' writes them.")
    columns = _results(store, planned := cells(plan))
    found = robustness(columns, view.at, _unit(view.effort, plan.kind), view.by or "isl_test")
    rows = [
        [name, str(len(each.seeds)), *(f"{x:.3f}" for x in (each.mean, each.spread, *each.by_model))]
        for name, each in zip(short([each.setting for each in found]), found, strict=True)
    ]
    lines = table([["", "seeds", "mean", "spread", *found[0].models], *rows])
    result: dict[str, Any] = {"action": "robustness", "out": str(store.folder), "done": _count(columns)}
    result |= {"of": len(planned), "failed": [], "robustness": [dataclasses.asdict(each) for each in found]}
    return result, "\n".join([*lines, "spread: standard deviation over the models"])


def _computed(
    planned: Sequence[Cell], store: Store, workers: int | None, scheduler: str | None, race: bool
) -> SweepProgress:
    """Compute the missing cells with a progress bar, and say what came of it."""
    there, n = len(store.done(planned)), workers or cores()
    found = f", {there:,} of them in '{store.folder}'" if there else ""
    where = f"the cluster at {scheduler}" if scheduler else f"{n} thread{'s' * (n != 1)}"
    print_message(f"{'At most ' * race}{len(planned):,} cells{found}; on {where}.")
    # No smoothing, because cells of different settings differ in length.
    every = 0.1 if sys.stderr.isatty() else 60.0  # seconds: a log has a line a minute
    with tqdm(total=len(planned), initial=there, unit="cell", smoothing=0, mininterval=every) as bar:

        def show(outcome: SweepProgress) -> None:
            if outcome.failed:
                bar.set_postfix_str(f"{len(outcome.failed):,} failed", refresh=False)
            bar.total = outcome.cells
            bar.update(outcome.done + len(outcome.failed) - bar.n)

        outcome = run(
            planned,
            store,
            workers=workers,
            scheduler=scheduler,
            race=race,
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
        cluster = f" --scheduler {scheduler}" if scheduler else ""
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


def _results(store: Store, planned: Sequence[Cell]) -> Columns:
    """Return the results of these cells, or else those of another version of the code."""
    if columns := store.read(planned):
        return columns
    resume = f"'rbmviz sweep resume {store.folder}'"
    if not (columns := store.read()):
        raise BadInput(f"'{store.folder}' holds no result of its plan: {resume}.")
    columns = one_source(columns)
    print_message(
        f"'{store.folder}' holds no result of this version of the code; these are the {_count(columns):,} of "
        f"another version. {resume} recomputes them."
    )
    return columns


def _count(columns: Columns) -> int:
    """Return the number of cells of a table."""
    return len(set(columns["identity"])) if columns else 0


def _row(scored: ScoredSetting) -> dict[str, Any]:
    """Return a setting as a JSON entry, which is also a row of the CSV."""
    entry = dataclasses.asdict(scored)
    scores, (lo, hi) = [*entry.pop("by_seed").values()], entry.pop("interval")
    low, high = map(float, np.quantile(scores, BAND_OF_REPLICATES))
    entry |= {"difference_error": entry["std_error"], "difference_lo": lo, "difference_hi": hi}
    error = scored.std_dev / math.sqrt(len(scores)) if len(scores) > 1 else math.nan
    return entry | {"std_error": error, "seeds": len(scores), "low": low, "high": high}


def _entry(choice: Choice) -> dict[str, Any]:
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
        "region": [{"setting": one.setting, "knobs": dict(one.knobs)} for one in choice.region],
        "unsure": [{"setting": one.setting, "knobs": dict(one.knobs)} for one in choice.unsure],
        **{"margin": choice.margin, "importance": choice.importance},
    }


def _lines(choice: Choice, telling: float | None) -> list[str]:
    """Return the comparison on one model as lines for the terminal."""
    best, [name, *_] = choice.best, short([each.setting for each in choice.settings])
    on = f" on {best.model}" if best.model else ""
    head = f"{choice.by} after {choice.point:,.6g} {choice.effort}{on}"
    lines = table(table_of(choice, MAX_LINES))
    if len(choice.settings) > MAX_LINES:
        lines.append(f"  ... {len(choice.settings) - MAX_LINES:,} more (--csv writes all)")
    lines.append(marks_in_words(choice))
    if not math.isnan(best.test):
        spread = "" if math.isnan(best.test_std_dev) else f" +- {best.test_std_dev:.3f} over seeds"
        known = f"; a test set of this size knows it to {best.test_point_error:.3f}"
        known = "" if math.isnan(best.test_point_error) else known
        lines.append(f"{name}: {best.test:.3f}{spread} on the test part{known}")
    lines.append(answer(choice))
    if telling is not None and telling != choice.point:
        lines.append(f"The settings differ most after {telling:,.6g} {choice.effort} (--at).")
    if choice.not_reached:
        lines.append(f"{choice.not_reached:,} settings have not got there.")
    return [*filter(None, (head, undirected(choice.by))), *lines, *choice.border, ""]
