"""``rbmviz.sweep``: sweep over samplers or trainers in one call, also with models and data of your own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from rbmviz.charts.picture import pictured
from rbmviz.datasets import AnyData, Dataset, as_dataset, dataset_bytes, load_registered
from rbmviz.errors import BadInput, known_keywords, quoted
from rbmviz.files.output import write_whole
from rbmviz.knobs import Value, write_algorithm
from rbmviz.metrics import Kernel
from rbmviz.metrics.effort import Unit
from rbmviz.rbm import Model
from rbmviz.rbm.files import AnyModel, as_model, model_bytes
from rbmviz.registry import trainers
from rbmviz.samplers import AnySampler
from rbmviz.support.checks import whole
from rbmviz.support.notebook import data_frame
from rbmviz.sweeps import figures
from rbmviz.sweeps.answer import answer, marks_in_words, table_of
from rbmviz.sweeps.axis import Axis
from rbmviz.sweeps.cell import cells
from rbmviz.sweeps.choose import Choice, ScoredSetting, compare
from rbmviz.sweeps.measures import DEFAULT_MEASURES
from rbmviz.sweeps.plan import MAX_SWEEP_CELLS, REPLICATIONS, TABLES, Budget, Kind, SweepPlan
from rbmviz.sweeps.run import run
from rbmviz.sweeps.store import Store
from rbmviz.trainers import DEFAULT_HIDDEN, AnyTrainer


class SweepResult(dict[str, np.ndarray]):
    """The result of ``rbmviz.sweep``: the table as a dictionary of columns, and the choice of a setting.

    Printed, it shows the first settings and the answer in words.

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
        head = f"SweepResult({settings} settings, {seeds} seeds, {len(self['setting']):,} rows)"
        try:
            rows, words = table_of(self.choice), [marks_in_words(self.choice), answer(self.choice)]
        except BadInput as error:  # models of several data sets, or no measure that chooses
            return f"{head}\n{error}"
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows]
        return "\n".join([head, *lines, *words])

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
        """The settings that differ from the best by no more than 1 % at 95 %, including the best."""
        return self.choice.tied

    def plot(self) -> Any:
        """Return an Altair chart: mean scores over one or two knobs, with the marks of ``repr``.

        Raises
        ------
        BadInput
            If Altair is not installed.
        """
        figures.check_installed()
        import altair

        source = figures.provenance(self, "rbmviz.sweep")
        return pictured(altair.Chart.from_dict(figures.specification([self.choice], self.plan, source)))


@known_keywords
def sweep(
    models: AnyModel | Sequence[AnyModel] | AnyData,
    samplers: AnySampler | AnyTrainer | Sequence[AnySampler | AnyTrainer],
    grid: Mapping[str, Sequence[Value] | str],
    n: int | None = None,
    replications: int = REPLICATIONS,
    metrics: Sequence[str] = (),
    out: str | Path = "sweep",
    executor: Executor | None = None,
    *,
    data: AnyData | None = None,
    seed: int = 0,
    budget: Unit | None = None,
    n_hidden: int = DEFAULT_HIDDEN,
    kernel: Kernel = "binary",
    start: Literal["data", "random"] = "data",
    race: bool = False,
) -> SweepResult:
    """Run samplers on models, or trainers on data, over a grid of knobs and seeds; return the table.

    Cells whose results are in the folder are not computed again, so repeat an interrupted call to continue.

    Parameters
    ----------
    models : Model, RBM, name, file, dict of arrays, fitted BernoulliRBM, or a sequence of them
        The models that are sampled. An object is written to ``_<digest>.safetensors`` in the folder, where
        ``rbmviz sweep resume`` finds it. For trainers: the data that they train on, as ``data``.
    samplers : Sampler, Trainer, class, str, or a sequence of them
        Samplers, or trainers: names, optionally with knobs (``"rates_fpcd:k=2"``), objects, or classes with
        default knobs. Your own class, decorated with ``registry.sampler``, is registered under its name from
        then on.
    grid : dict of str to sequence or str
        Values of each knob, or a text ``"lo:hi:number"``, optionally followed by ``:log`` or ``:linear``.
    n : int
        Length of each run, counted in ``budget`` (default 20,000; for trainers 1000).
    replications : int
        Number of seeds of each setting: ``seed``, ``seed + 1``, ... (default 5).
    metrics : sequence of str
        Names of measures (default: as in ``SweepPlan``).
    out : str or Path
        Folder of the results (default ``sweep``).
    executor : Executor, optional
        Executor of the cells (default: threads, one per core). Its workers must be able to load the models
        and to import the samplers.
    data : Dataset, name, file, or uint8 (n, n_visible), optional
        Data for scoring (default: those that each model was trained on; an RBM names none). Of an array, a
        tenth is held out for validation and a tenth for testing. What has no name is written to
        ``_<digest>.npz`` in the folder.
    seed : int
        The first seed (default 0).
    budget : "samples" (for trainers "updates"), "sweeps" (Gibbs sweeps) or "seconds"
        Unit of ``n``.
    n_hidden : int
        For trainers, number of hidden units (default 16).
    kernel : "binary" or "mean"
        Kernel of the ISL.
    start : "data" or "random"
        Initial states: validation examples, or random bits.
    race : bool
        Seeds after the second only where they decide, scores only at the end (default False): much sooner.

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
    algorithms = [_algorithm(algorithm) for algorithm in _as_list(samplers)]
    kinds = sorted({kind for kind, _ in algorithms})
    if len(kinds) != 1:
        raise BadInput("sweep: give one sampler or more, or one trainer or more, not both.")
    [kind], chosen = kinds, [algorithm for _, algorithm in algorithms]
    if kind == "trainer" and data is not None:
        raise BadInput("sweep: trainers make their own models: give the data in place of models.")
    own: dict[str, Any] = {}
    model_list = [] if kind == "trainer" else [_model(model) for model in _as_list(models)]
    names = [_kept(model, store, own) if isinstance(model, Model) else model for model in model_list]
    if kind == "trainer":
        data = models  # type: ignore[assignment]
    elif data is None:
        data = _data_of_models(model_list)
    axes = [
        Axis.read(f"{knob}={values}", chosen) if isinstance(values, str) else Axis(knob, values)  # type: ignore[arg-type]
        for knob, values in grid.items()
    ]
    plan = SweepPlan(
        algorithms=tuple(write_algorithm(algorithm) for algorithm in chosen),
        axes=tuple(axes),
        models=tuple(names),
        data="" if data is None else _data(data, store, own),
        seeds=tuple(range(seed, seed + replications)),
        budget=Budget.usual(kind, budget, n),
        metrics=metrics or DEFAULT_MEASURES[kind],  # type: ignore[arg-type]
        kernel=kernel,
        start=start,
        race=race,
        n_hidden=n_hidden,
        kind=kind,
    )
    planned = cells(plan, own=own)  # raises for what cannot be loaded, before the plan is written
    store.prepare(plan, "rbmviz.sweep(...), from Python")
    for file, kept in own.items():
        write_whole(Path(file), model_bytes(kept) if isinstance(kept, Model) else dataset_bytes(kept))
    progress = run(planned, store, executor, race=race)
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


def _algorithm(value: Any) -> tuple[Kind, Any]:
    """Return a sampler or trainer with its knobs, and its kind; register its class if necessary."""
    if isinstance(value, str):
        kind: Kind = "trainer" if value.partition(":")[0] in list(trainers) else "sampler"
        return kind, TABLES[kind].read(value)
    kind = "trainer" if hasattr(value, trainers.method) else "sampler"
    algorithm = TABLES[kind].read(value)
    try:
        TABLES[kind].add(algorithm.name, type(algorithm))
    except ValueError:
        raise BadInput(f"There is another {kind} with the name '{algorithm.name}': rename yours.") from None
    return kind, algorithm


def _model(value: Any) -> str | Model:
    return str(value) if isinstance(value, str | Path) else as_model(value)


def _kept(item: Model | Dataset, store: Store, own: dict[str, Any]) -> str:
    """Return the path in the folder that an object is written to, and note it in ``own``."""
    suffix = ".safetensors" if isinstance(item, Model) else ".npz"
    path = str(store.folder.resolve() / f"_{item.digest()}{suffix}")
    own[path] = item
    return path


def _data(data: AnyData, store: Store, own: dict[str, Any]) -> str:
    """Return the name of data in the plan."""
    if isinstance(data, str | Path):
        return str(data)
    dataset = as_dataset(data, "sweep: the data", held_out=True)
    return dataset.name if _is_registered(dataset) else _kept(dataset, store, own)


def _is_registered(dataset: Dataset) -> bool:
    """Return whether the name of a data set suffices to load it."""
    with suppress(BadInput):
        return load_registered(dataset.name).digest() == dataset.digest()
    return False


def _data_of_models(models: Sequence[str | Model]) -> Dataset | None:
    """Return the data that models were fitted to in this program; None if it suffices that they name data."""
    kept = [getattr(model, "data", None) for model in models]
    sets = [as_dataset(data) for data in kept if data is not None]
    found = {data.digest(): data for data in sets if not _is_registered(data)}
    if len(found) > 1 or (found and None in kept):
        raise BadInput("sweep: these models were trained on different data: name the data, or take one.")
    return next(iter(found.values()), None)
