"""``rbmviz.sweep``: sweep over samplers in one call, including models and samplers of your own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from rbmviz.charts.picture import pictured
from rbmviz.errors import BadInput, quoted
from rbmviz.files.output import write_whole
from rbmviz.knobs import Value, write_algorithm
from rbmviz.metrics import Kernel
from rbmviz.metrics.effort import Unit
from rbmviz.rbm import Model
from rbmviz.rbm.files import AnyModel, as_model, model_bytes
from rbmviz.registry import samplers as registered
from rbmviz.samplers import Sampler
from rbmviz.support.checks import whole
from rbmviz.support.notebook import data_frame
from rbmviz.sweeps import figures
from rbmviz.sweeps.axis import Axis
from rbmviz.sweeps.cell import cells
from rbmviz.sweeps.choose import Choice, ScoredSetting, compare
from rbmviz.sweeps.measures import DEFAULT_MEASURES
from rbmviz.sweeps.plan import LENGTH, MAX_SWEEP_CELLS, REPLICATIONS, Budget, SweepPlan
from rbmviz.sweeps.run import run
from rbmviz.sweeps.store import Store

AnySampler = str | Sampler | type[Sampler]


class SweepResult(dict[str, np.ndarray]):
    """The result of ``rbmviz.sweep``: the table as a dictionary of columns, and the choice of a setting.

    Each column is an ndarray (rows,): a row for each point of each curve. ``columns`` is the object itself.

    Attributes
    ----------
    choice : sweeps.Choice
        All settings, compared at the last point that all have reached; ``sweeps.compare`` takes other points.
    plan : sweeps.SweepPlan
        The plan that was run.
    """

    def __init__(self, columns: Mapping[str, np.ndarray], plan: SweepPlan) -> None:
        super().__init__(columns)
        self.plan = plan

    def __repr__(self) -> str:
        settings, seeds = (len(np.unique(self[name])) for name in ("setting", "seed"))
        return f"SweepResult({settings} settings, {seeds} seeds, {len(self['setting']):,} rows)"

    @property
    def columns(self) -> dict[str, np.ndarray]:
        """The table."""
        return self

    @property
    def frame(self) -> Any:
        """The table as a pandas DataFrame."""
        return data_frame(self)

    @cached_property
    def choice(self) -> Choice:
        """All settings compared; see the class."""
        return compare(self, effort=self.plan.budget.unit)

    @property
    def best(self) -> ScoredSetting:
        """The setting with the best mean on the validation part; it includes the score on the test part."""
        return self.choice.best

    @property
    def tied(self) -> tuple[ScoredSetting, ...]:
        """The settings statistically tied with the best at 95 %, including the best."""
        return self.choice.region

    def plot(self) -> Any:
        """Return an Altair chart: mean scores over one or two knobs, and the settings tied with the best.

        Raises
        ------
        BadInput
            If Altair is not installed.
        """
        figures.check_installed()
        import altair

        source = figures.provenance(self, "rbmviz.sweep")
        return pictured(altair.Chart.from_dict(figures.specification([self.choice], self.plan, source)))


def sweep(
    models: AnyModel | Sequence[AnyModel],
    samplers: AnySampler | Sequence[AnySampler],
    grid: Mapping[str, Sequence[Value] | str],
    n: int = LENGTH["sampler"],
    replications: int = REPLICATIONS,
    metrics: Sequence[str] = (),
    out: str | Path = "sweep",
    executor: Executor | None = None,
    *,
    data: str = "",
    seed: int = 0,
    budget: Unit = "samples",
    kernel: Kernel = "binary",
    start: Literal["data", "random"] = "data",
) -> SweepResult:
    """Run samplers over a grid of knobs, models and seeds; return the table of all curves.

    Cells whose results are in the folder are not computed again, so repeat an interrupted call to continue.

    Parameters
    ----------
    models : str, Path, Model, RBM, or a sequence of them
        Pretrained models, files, or objects. An object is written to ``_<digest>.safetensors`` in the folder,
        where ``rbmviz sweep resume`` finds it.
    samplers : str, sampler, class, or a sequence of them
        Names, optionally with knobs (``"rates_fpcd:k=2"``), samplers, or classes with default knobs. Your own
        class, decorated with ``registry.sampler``, is registered under its name from then on.
    grid : dict of str to sequence or str
        Values of each knob, or a text ``"lo:hi:number"``, optionally followed by ``:log`` or ``:linear``.
    n : int
        Length of each run, counted in ``budget`` (default 20,000).
    replications : int
        Number of seeds of each setting: ``seed``, ``seed + 1``, ... (default 5).
    metrics : sequence of str
        Names of measures (default: as in ``SweepPlan``).
    out : str or Path
        Folder of the results (default ``sweep``).
    executor : Executor, optional
        Executor of the cells (default: threads, one per core). Its workers must be able to load the models
        and to import the samplers.
    data : str
        Data for scoring (default: the data that each model names; an RBM names none).
    seed : int
        The first seed (default 0).
    budget : "samples", "sweeps" (Gibbs sweeps) or "seconds"
        Unit of ``n``.
    kernel : "binary" or "mean"
        Kernel of the ISL.
    start : "data" or "random"
        Initial states: validation examples, or random bits.

    Returns
    -------
    SweepResult
        A mapping of columns, ndarray (rows,), with a row for each point of each cell's curve (see
        ``rbmviz.sweeps.tables.CellResult``), and the attributes ``best``, ``tied`` and ``frame``.

    Raises
    ------
    BadInput
        If an argument is invalid, or a cell ended with an error; the results of other cells are kept.
    OutputFailure
        If the results cannot be written.
    KeyboardInterrupt
        After Ctrl-C; the results so far are kept.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     table = rbmviz.sweep("bas_pcd", "rates_fpcd", {"eps": [0.01, 0.1]}, n=100, out=folder)
    >>> sorted({float(eps) for eps in table["knob_eps"]}), table.best.knobs
    ([0.01, 0.1], {'eps': 0.1})
    """
    replications = whole("sweep: replications", replications, 1, MAX_SWEEP_CELLS)
    seed = whole("sweep: seed", seed)
    if not isinstance(grid, Mapping):
        raise BadInput(f"sweep: the grid is {quoted(grid)}: give a dict of values by the names of knobs.")
    store = Store(out)
    sampler_list = [_sampler(sampler) for sampler in _as_list(samplers)]
    model_list = [_model(model) for model in _as_list(models)]
    axes = [
        Axis.read(f"{knob}={values}", sampler_list) if isinstance(values, str) else Axis(knob, values)  # type: ignore[arg-type]
        for knob, values in grid.items()
    ]
    plan = SweepPlan(
        algorithms=tuple(write_algorithm(sampler) for sampler in sampler_list),
        axes=tuple(axes),
        models=tuple(_name(model, store) for model in model_list),
        data=data,
        seeds=tuple(range(seed, seed + replications)),
        budget=Budget(budget, n),
        metrics=metrics or DEFAULT_MEASURES["sampler"],  # type: ignore[arg-type]
        kernel=kernel,
        start=start,
    )
    if not any(isinstance(model, Model) for model in model_list):
        cells(plan)  # raises for models and data that cannot be loaded, before the plan is written
    store.prepare(plan, "rbmviz.sweep(...), from Python")
    for model in model_list:
        if isinstance(model, Model):
            write_whole(Path(_name(model, store)), model_bytes(model))
    planned = cells(plan)
    progress = run(planned, store, executor)
    if progress.interrupted:
        raise KeyboardInterrupt
    if progress.failed:
        first = progress.failed[0]
        raise BadInput(
            f"{len(progress.failed):,} of {progress.cells:,} cells failed, the first one "
            f"({first.cell.algorithm}, seed {first.cell.seed}) because: {first.reason}"
        )
    return SweepResult(store.read(planned), plan)


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, Sequence) and not isinstance(value, str) else [value]


def _sampler(value: Any) -> Any:
    """Return a sampler with its knobs; register its class if necessary."""
    if isinstance(value, str):
        return registered.read(value)
    sampler = value() if isinstance(value, type) else value
    if not hasattr(sampler, "name") or not hasattr(sampler, "step"):
        raise BadInput(f"{quoted(value)} is not a sampler: decorate its class with rbmviz.registry.sampler.")
    try:
        registered.add(sampler.name, type(sampler))
    except ValueError:
        raise BadInput(f"There is another sampler with the name '{sampler.name}': rename yours.") from None
    return sampler


def _model(value: Any) -> str | Model:
    if isinstance(value, str | Path):
        return str(value)
    return as_model(value)


def _name(model: str | Model, store: Store) -> str:
    """Return the name of a model in the plan; for an object, the path of the file to write it to."""
    return model if isinstance(model, str) else str(store.folder.resolve() / f"_{model.digest()}.safetensors")
