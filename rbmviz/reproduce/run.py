"""Run recipes: their sweeps and jobs, stored in a folder, and the result with its verdicts.

The folder has a folder per recipe and size with the folders of its sweeps (``rbmviz.sweeps.Store``), a file
``<sweep>-seconds.json`` per sweep (processor time of its cells), a file ``<job>-<hash>.json`` per job, and at
the end ``result.json``, ``figure.csv`` and the figure in three forms. Stored sweeps and jobs are not computed
again.
"""

import ast
import hashlib
import inspect
import json
import math
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from rbmviz import provenance
from rbmviz.array_files import MAX_HEADER, Damaged, is_folder, read_file, read_json
from rbmviz.blas import one_blas_thread
from rbmviz.datasets import load_dataset
from rbmviz.errors import BadInput
from rbmviz.models import load_model
from rbmviz.origin import csv_bytes, with_origin
from rbmviz.output import write_whole, writing
from rbmviz.reproduce import drawing as drawings
from rbmviz.reproduce.claims import Estimate, Size, Verdict, judge
from rbmviz.reproduce.papers import PAPERS
from rbmviz.reproduce.recipe import Job, Measurements, Recipe, SweepRun, Work, minutes_text
from rbmviz.samplers.interleave import on_one_thread
from rbmviz.sweeps import Store, cells
from rbmviz.sweeps import run as run_cells
from rbmviz.sweeps.cell import data_digest, forget, model_digest
from rbmviz.sweeps.execute import cores

RESULT_FILE, ROWS_FILE = "result.json", "figure.csv"

RESULT_SCHEMA = 1
"""Version of the format of results."""

JOB_SOURCES = (
    *("kernels", "samplers", "trainers", "metrics", "datasets"),
    *("coupling.py", "gradient.py", "rbm.py", "rng.py", "models.py"),
)
"""Folders and files of the package that the numbers of jobs depend on."""


def _code() -> str:
    """Return a hash of JOB_SOURCES."""
    package = Path(__file__).parents[1]
    sources = [package / name for name in JOB_SOURCES]
    paths = [path for source in sources for path in ([source] if source.is_file() else source.rglob("*.py"))]
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update(f"{path.relative_to(package).as_posix()}\0".encode())
        digest.update(path.read_bytes().replace(b"\r\n", b"\n"))
    return digest.hexdigest()[:16]


def _sources(function: Callable[..., Any]) -> dict[str, str]:
    """Return the sources that a function depends on, by module and name.

    They are the function, the functions and classes of its module and of rbmviz.reproduce that it names, and
    in turn theirs; for constants (texts, numbers and tuples of them) the value.

    Raises TypeError if one of them names a dict, a list, a set, or a module of rbmviz.reproduce.
    """
    sources: dict[str, str] = {}
    waiting: list[Any] = [function]
    while waiting:
        current = waiting.pop()
        module = current.__module__
        key = f"{module}.{current.__qualname__}"
        if key in sources:
            continue
        sources[key] = textwrap.dedent(inspect.getsource(current))
        beside = vars(sys.modules[module])
        names = [node.id for node in ast.walk(ast.parse(sources[key])) if isinstance(node, ast.Name)]
        for name in names:
            value = beside.get(name)
            if inspect.isroutine(value) or inspect.isclass(value):
                if value.__module__ == module or str(value.__module__).startswith("rbmviz.reproduce."):
                    waiting.append(value)
            elif isinstance(value, str | int | float | tuple):
                sources[f"{module}.{name}"] = repr(value)
            elif isinstance(value, dict | list | set) or (
                inspect.ismodule(value) and value.__name__.startswith("rbmviz.reproduce")
            ):
                raise TypeError(
                    f"{key} uses {name}, and a change of it would go unnoticed. Use functions, classes, "
                    "texts, numbers or tuples."
                )
    return sources


def job_identity(job: Job, code: str = "") -> str:
    """Return a hash of everything a job's numbers depend on, 16 hexadecimal digits.

    That is its function with ``_sources``, its arguments, and JOB_SOURCES (``code``, by default of this
    installation), but not the texts of a recipe.
    """
    content = [job.function.__qualname__, _sources(job.function), dict(job.arguments)]
    text = json.dumps([*content, code or _code()], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def reproduce(
    name: str,
    recipe: Recipe,
    folder: str | Path,
    size: Size = "full",
    *,
    workers: int | None = None,
    on_progress: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """Run a recipe and return its result: numbers, verdicts, figure and provenance.

    name : name of the recipe
    recipe : the recipe
    folder : folder of the results of all recipes, created if needed
    size : smaller runs have fewer seeds or are shorter; they may leave claims undecided
    workers : threads of sweeps, and jobs at a time (default: number of cores)
    on_progress : called with a sentence for each sweep and each job

    Returns
    -------
    dict
        The JSON values of ``result.json``.

    Raises
    ------
    BadInput
        If data are missing, the folder is a file, or a sweep or job failed.
    OutputFailure
        If results cannot be written; earlier results are kept.
    KeyboardInterrupt
        After Ctrl-C; earlier results are kept.
    """
    if not recipe.is_run(size):
        return result_of(name, recipe, size, None, 0.0)
    assert recipe.work is not None
    for data in recipe.needs:
        load_dataset(data)  # fails here, before anything is computed, if data are missing
    place, say = folder_of(name, Path(folder), size), on_progress or (lambda _: None)
    measured, minutes = measure(name, recipe.work(size), place, workers, say)
    forget()
    result = result_of(name, recipe, size, measured, minutes)
    if without := write_result(result, place):
        say(f"{name} has no picture: {without}")
    return result


def measure(
    name: str, work: Sequence[Work], place: Path, workers: int | None, say: Callable[[str], None]
) -> tuple[Measurements, float]:
    """Do the work that is not in the folder of a recipe yet; return all results and their core-minutes."""
    spent = 0.0
    tables: dict[str, Any] = {}
    jobs: dict[str, Any] = {}
    for sweep in work:
        if isinstance(sweep, SweepRun):
            say(f"{name}: {sweep.name}, {sweep.plan.size:,} cells")
            tables[sweep.name], seconds = _swept(sweep, place, f"rbmviz reproduce {name}", workers)
            spent += seconds
    calls = [job for job in work if isinstance(job, Job)]
    for number, (job, values, seconds) in enumerate(_all_called(calls, place, workers or cores()), 1):
        say(f"{name}: {job.name}, {number} of {len(calls)} jobs")
        jobs[job.name] = values
        spent += seconds
    return Measurements(tables, jobs), spent / 60


def is_measured(work: Sequence[Work], place: Path) -> bool:
    """Return whether the results of all this work are in the folder of a recipe."""
    code = _code()
    return all(
        "found" in _read(_path_of(item, place, code))
        if isinstance(item, Job)
        else is_folder(place / item.name)
        and len(Store(place / item.name).done(cells(item.plan))) == item.plan.size
        for item in work
    )


def folder_of(name: str, folder: Path, size: Size) -> Path:
    """Return the folder of a recipe in the folder of results, which is made if need be."""
    if folder.exists() and not is_folder(folder):
        raise BadInput(f"'{folder}' is a file: name a folder for the results.")
    place = folder / f"{name}-{size}"
    with writing(place):
        place.mkdir(parents=True, exist_ok=True)
    return place


def _swept(sweep: SweepRun, place: Path, command: str, workers: int | None) -> tuple[Any, float]:
    """Return the table of a sweep and the processor seconds of all its cells."""
    store = Store(place / sweep.name)
    store.prepare(sweep.plan, command)
    all_cells = cells(sweep.plan)
    seconds_file = place / f"{sweep.name}-seconds.json"
    record, version = _read(seconds_file), " ".join(sorted({cell.version for cell in all_cells}))
    begin = time.process_time()
    progress = run_cells(all_cells, store, workers=workers)
    # With other code all cells are computed again, and the time of earlier ones does not count; other seeds'
    # does.
    counts = progress.stored or record.get("version") == version
    seconds = (float(record.get("seconds", 0.0)) if counts else 0.0) + time.process_time() - begin
    if progress.computed:
        write_whole(seconds_file, json.dumps({"seconds": seconds, "version": version}).encode())
    if progress.interrupted:
        raise KeyboardInterrupt
    if progress.failed:
        raise BadInput(
            f"{sweep.name}: {progress.failed[0].cell.algorithm} failed: {progress.failed[0].reason}"
        )
    return store.read(all_cells).columns, seconds


def _all_called(
    jobs: Sequence[Job], place: Path, workers: int
) -> Iterator[tuple[Job, dict[str, Any], float]]:
    """Yield each job with its result and seconds, in order; ``workers`` jobs run at a time.

    After an error or Ctrl-C the running jobs finish and are stored.
    """
    code = _code()
    with one_blas_thread(), ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(_called, job, place, code) for job in jobs]
        try:
            for job, future in zip(jobs, futures, strict=True):
                yield job, *future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _called(job: Job, place: Path, code: str) -> tuple[dict[str, Any], float]:
    """Return the result of a job and its processor seconds, stored or computed."""
    path = _path_of(job, place, code)
    content = _read(path)
    if not isinstance(content.get("found"), dict) or not isinstance(content.get("seconds"), int | float):
        begin = time.thread_time()
        with on_one_thread():
            values = job.function(**job.arguments)
        # Return the values of the file: a later run must not read others.
        content = _plain({"found": values, "seconds": time.thread_time() - begin})
        write_whole(path, json.dumps(content).encode())
    return content["found"], float(content["seconds"])


def _path_of(job: Job, place: Path, code: str) -> Path:
    return place / f"{job.name}-{job_identity(job, code)}.json"


def _read(path: Path) -> dict[str, Any]:
    """Return the JSON object of a file; an empty one if it is missing or damaged."""
    try:
        if not path.is_file() or path.stat().st_size > MAX_HEADER:
            return {}
        content = read_json(read_file(path, f"'{path}'"))
    except Damaged:
        return {}
    return content if isinstance(content, dict) else {}


def _plain(value: Any) -> Any:
    """Return JSON values: numpy's numbers become numbers, and values that are not finite become null."""
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def result_of(
    name: str, recipe: Recipe, size: Size, measured: Measurements | None, core_minutes: float
) -> dict[str, Any]:
    """Return the result of a recipe as JSON values; ``measured`` is None if it was not run."""
    numbers: Mapping[str, Estimate] = {}
    drawn: dict[str, Any] | None = None
    if measured is not None:
        assert recipe.numbers is not None
        numbers = recipe.numbers(measured, size)
        drawn = recipe.drawing(measured, size).to_json() if recipe.drawing is not None else None
    paper = PAPERS[recipe.paper]
    return _plain(
        {
            **{"rbmviz_reproduce": RESULT_SCHEMA, "recipe": name},
            **{"paper": recipe.paper, "place": recipe.place},
            **{"title": recipe.title, "source": recipe.source, "about": recipe.about, "size": size},
            "claims": judged(recipe, size, numbers, measured is not None),
            **{"figure": drawn, "needs": list(recipe.needs)},
            **{"cost": dict(recipe.cost), "core_minutes": round(core_minutes, 3)},
            **_origin(recipe, size, measured),
            "command": f"rbmviz reproduce {name} --out results" + f" --{size}" * (size != "full"),
            "cite": [provenance.how_to_cite(), f"{paper.cite} {paper.url}"],
        }
    )


def judged(
    recipe: Recipe, size: Size, numbers: Mapping[str, Estimate], was_run: bool = True
) -> list[dict[str, Any]]:
    """Return the claims of a recipe as JSON values, with these numbers and the verdicts that follow."""
    claims = []
    for claim in recipe.claims:
        labels = {bound.number: bound.label for bound in claim.bounds if bound.number in numbers}
        verdict = judge(claim, numbers, size) if labels else _not_run(recipe, size, was_run)
        values = [{"number": key, "label": label, **numbers[key]._asdict()} for key, label in labels.items()]
        claims.append(
            {
                **{"claim": claim.name, "text": claim.text, "paper": claim.paper, "variant": claim.variant},
                "measured": values,
                **{"verdict": verdict.name, "holds": verdict.holds, "reason": verdict.reason},
            }
        )
    plain: list[dict[str, Any]] = _plain(claims)
    return plain


def _not_run(recipe: Recipe, size: Size, others_run: bool) -> Verdict:
    """Return the verdict on a claim without numbers; others_run: whether other claims have numbers."""
    cost = [
        f"A {other} run needs about {minutes_text(minutes)} core-minutes."
        for other, minutes in recipe.cost.items()
        if other != size or not others_run
    ]
    left_out = others_run or not recipe.is_run(size)
    reason = recipe.not_run or (f"It is not part of a {size} run." if left_out else "It has not been run.")
    reasons = [reason, *cost]
    return Verdict("not run at this size", " ".join(reasons))


def _origin(recipe: Recipe, size: Size, measured: Measurements | None) -> dict[str, Any]:
    """Return version, commit, machine, seeds, and digests of the models and data of a run."""
    origin: dict[str, Any] = {"version": provenance.version("rbmviz"), "commit": provenance.commit()}
    origin |= {"machine": provenance.machine() if measured is not None else {}}
    models: dict[str, str] = {}
    data: dict[str, str] = {}
    seeds: set[int] = set()
    if measured is not None and recipe.work is not None:
        for table in measured.tables.values():
            models |= dict(zip(table["model"].tolist(), table["model_digest"].tolist(), strict=True))
            data |= dict(zip(table["data"].tolist(), table["data_digest"].tolist(), strict=True))
            seeds |= set(table["seed"].tolist())
        for job in recipe.work(size):
            if isinstance(job, Job):
                arguments = job.arguments
                seeds |= {arguments["seed"]} if "seed" in arguments else set()
                if "model" in arguments:
                    models.setdefault(arguments["model"], model_digest(load_model(arguments["model"])))
                if "data" in arguments:
                    read = load_dataset(arguments["data"], **arguments.get("data_options", {}))
                    data.setdefault(read.name, data_digest(read))
    models.pop("", None)
    return {**origin, "models": models, "data": data, "seeds": sorted(seeds)}


def caption(result: Mapping[str, Any]) -> list[str]:
    """Return the lines about a figure: what was run, where, and how to cite it."""
    machine = result["machine"]
    runs = result["seeds"]
    parts = [f"rbmviz {result['version']}" + (f", commit {result['commit']}" if result["commit"] else "")]
    parts += [f"{size} run, {result['core_minutes']:.3g} core-minutes" for size in [result["size"]]]
    parts += [f"{machine['processor']}, {machine['cores']} cores"] if machine else []
    for what in ("models", "data"):
        parts += [f"{what} " + ", ".join(f"{name} {digest}" for name, digest in result[what].items())] * bool(
            result[what]
        )
    parts += [f"seeds {runs[0]} to {runs[-1]}" if len(runs) > 1 else f"seed {runs[0]}"] if runs else []
    return [f"{result['title']}. {result['source']}.", "; ".join(parts), result["command"], *result["cite"]]


def write_result(result: Mapping[str, Any], place: Path) -> str:
    """Write a result, its figure and the figure's rows; return why there is no picture, else ""."""
    write_whole(place / RESULT_FILE, json.dumps(result, indent=1, ensure_ascii=False).encode())
    if result["figure"] is None:
        return ""
    origin = {key: result[key] for key in ("version", "commit", "models", "data", "seeds", "command", "cite")}
    write_whole(place / ROWS_FILE, with_origin(csv_bytes(result["figure"]["rows"]), ROWS_FILE, origin))
    try:
        for form in drawings.FORMS:
            picture = drawings.picture(result["figure"], form)
            write_whole(place / f"figure.{form}", with_origin(picture, f"figure.{form}", origin))
    except BadInput as error:  # a package is not installed
        return str(error)
    return ""
