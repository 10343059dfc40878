"""Running recipes: sweeps and pieces, kept in a folder, and the result with its verdicts.

A folder of results has a folder for each recipe and size. In it are the folders of its sweeps
(``rbmviz.sweeps.Store``) with a file ``<sweep>-seconds.json`` each (the processor time of its cells), a file
``<piece>-<hash>.json`` for each of its pieces, and at the end ``result.json``, ``figure.svg`` and
``figure.csv``. What is there is not computed again.
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
from rbmviz.array_files import Damaged, is_folder, read_file, read_json
from rbmviz.blas import one_blas_thread
from rbmviz.datasets import load_dataset
from rbmviz.errors import BadInput
from rbmviz.models import load_model
from rbmviz.origin import with_origin
from rbmviz.output import write_whole, writing
from rbmviz.reproduce import drawing as drawings
from rbmviz.reproduce.claims import Number, Size, Verdict, judge
from rbmviz.reproduce.papers import PAPERS
from rbmviz.reproduce.recipe import Found, Piece, Recipe, SweepRun, minutes_text
from rbmviz.samplers.interleave import on_one_thread
from rbmviz.sweeps import Store, cells
from rbmviz.sweeps import run as run_cells
from rbmviz.sweeps.cell import data_digest, forget, model_digest
from rbmviz.sweeps.execute import cores

RESULT_FILE, FIGURE_FILE, ROWS_FILE = "result.json", "figure.svg", "figure.csv"

MAX_PIECE_BYTES = 2**22
"""Most bytes of the file of a piece, or of a result."""

RESULT_SCHEMA = 1
"""Version of the form of results."""

PIECE_SOURCES = (
    *("kernels", "samplers", "trainers", "metrics", "datasets"),
    *("coupling.py", "gradient.py", "rbm.py", "rng.py", "models.py"),
)
"""Folders and files of the package in which the numbers of pieces are computed."""


def _code() -> str:
    """Return a hash of PIECE_SOURCES."""
    package = Path(__file__).parents[1]
    named = [package / name for name in PIECE_SOURCES]
    paths = [path for one in named for path in ([one] if one.suffix == ".py" else one.rglob("*.py"))]
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update(f"{path.relative_to(package).as_posix()}\0".encode())
        digest.update(path.read_bytes().replace(b"\r\n", b"\n"))
    return digest.hexdigest()[:16]


def _sources(function: Callable[..., Any]) -> dict[str, str]:
    """Return the source of a function, and of what it names of its module and of rbmviz.reproduce.

    These are functions and classes, and what they name in turn, by module and name; of constants (texts,
    numbers and tuples of them) it is the value.

    Raises
    ------
    TypeError
        If one of them names a dict, a list, a set, or a module of rbmviz.reproduce.
    """
    found: dict[str, str] = {}
    waiting: list[Any] = [function]
    while waiting:
        one = waiting.pop()
        module = one.__module__
        key = f"{module}.{one.__qualname__}"
        if key in found:
            continue
        found[key] = textwrap.dedent(inspect.getsource(one))
        beside = vars(sys.modules[module])
        names = [node.id for node in ast.walk(ast.parse(found[key])) if isinstance(node, ast.Name)]
        for name in names:
            value = beside.get(name)
            if inspect.isroutine(value) or inspect.isclass(value):
                if value.__module__ == module or str(value.__module__).startswith("rbmviz.reproduce."):
                    waiting.append(value)
            elif isinstance(value, str | int | float | tuple):
                found[f"{module}.{name}"] = repr(value)
            elif isinstance(value, dict | list | set) or (
                inspect.ismodule(value) and value.__name__.startswith("rbmviz.reproduce")
            ):
                raise TypeError(
                    f"{key} uses {name}, whose changes would go unseen. Let it name functions, classes, "
                    "texts, numbers or tuples."
                )
    return found


def piece_identity(piece: Piece, code: str = "") -> str:
    """Return a hash of what a piece's numbers are computed from, 16 hexadecimal digits.

    That is its function with the functions and constants that it uses of its own module and of
    rbmviz.reproduce, its arguments, and PIECE_SOURCES. The texts of a recipe are not in it.

    code : hash of PIECE_SOURCES; "": that of this installation
    """
    content = [piece.function.__qualname__, _sources(piece.function), dict(piece.arguments)]
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
    """Run a recipe, and return its result: numbers, verdicts, the figure, and where all of it is from.

    Parameters
    ----------
    name : str
        Name of the recipe.
    recipe : Recipe
        What is run.
    folder : str or Path
        Folder of the results of all recipes; it is made if need be.
    size : "quick" or "full"
        A quick run has fewer seeds and shorter runs; it may leave claims undecided.
    workers : int, optional
        Threads of sweeps, and pieces that run at a time (default: as many as cores).
    on_progress : callable, optional
        Called with a sentence for each sweep and each piece.

    Returns
    -------
    dict
        JSON values, as ``result.json`` has them.

    Raises
    ------
    BadInput
        If data are missing, the folder is something else, or a sweep or a piece ended with an error.
    OutputFailure
        If results cannot be written; what was computed before is kept.
    KeyboardInterrupt
        After Ctrl-C; what was computed before is kept.
    """
    if not recipe.is_run(size):
        return result_of(name, recipe, size, None, 0.0)
    assert recipe.work is not None
    for data in recipe.needs:
        load_dataset(data)  # says what is missing, and how to get it, before anything is computed
    place = _folder(Path(folder), name, size)
    say, spent = on_progress or (lambda _: None), 0.0
    tables: dict[str, Any] = {}
    pieces: dict[str, Any] = {}
    work = recipe.work(size)
    for sweep in work:
        if isinstance(sweep, SweepRun):
            say(f"{name}: {sweep.name}, {sweep.plan.size:,} cells")
            tables[sweep.name], seconds = _swept(sweep, place, f"rbmviz reproduce {name}", workers)
            spent += seconds
    calls = [piece for piece in work if isinstance(piece, Piece)]
    for number, (piece, values, seconds) in enumerate(_all_called(calls, place, workers or cores()), 1):
        say(f"{name}: {piece.name}, {number} of {len(calls)} pieces")
        pieces[piece.name] = values
        spent += seconds
    forget()
    result = result_of(name, recipe, size, Found(tables, pieces), spent / 60)
    if without := write_result(result, place):
        say(f"{name} has no picture: {without}")
    return result


def _folder(folder: Path, name: str, size: Size) -> Path:
    if folder.exists() and not is_folder(folder):
        raise BadInput(f"'{folder}' is a file: name a folder for the results.")
    place = folder / f"{name}-{size}"
    with writing(place):
        place.mkdir(parents=True, exist_ok=True)
    return place


def _swept(sweep: SweepRun, place: Path, command: str, workers: int | None) -> tuple[Any, float]:
    """Return the table of a sweep, and the seconds of processor time that its cells have taken in all."""
    store = Store(place / sweep.name)
    store.prepare(sweep.plan, command)
    made = cells(sweep.plan)
    kept = place / f"{sweep.name}-seconds.json"
    before = float(_read(kept).get("seconds", 0.0))
    begin = time.process_time()
    progress = run_cells(made, store, workers=workers)
    seconds = before + time.process_time() - begin
    if progress.computed:
        write_whole(kept, json.dumps({"seconds": seconds}).encode())
    if progress.interrupted:
        raise KeyboardInterrupt
    if progress.failed:
        raise BadInput(
            f"{sweep.name}: {progress.failed[0].cell.algorithm} failed: {progress.failed[0].reason}"
        )
    return store.read(made).columns, seconds


def _all_called(
    pieces: Sequence[Piece], place: Path, workers: int
) -> Iterator[tuple[Piece, dict[str, Any], float]]:
    """Yield each piece with what it returns and its seconds, in order; as many as workers run at a time.

    After an error or Ctrl-C the pieces under way are computed to their ends, and kept.
    """
    code = _code()
    with one_blas_thread(), ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(_called, piece, place, code) for piece in pieces]
        try:
            for piece, future in zip(pieces, futures, strict=True):
                yield piece, *future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _called(piece: Piece, place: Path, code: str) -> tuple[dict[str, Any], float]:
    """Return what a piece returns, and the seconds of processor time that it took when it was computed."""
    path = place / f"{piece.name}-{piece_identity(piece, code)}.json"
    found = _read(path)
    if not isinstance(found.get("found"), dict) or not isinstance(found.get("seconds"), int | float):
        begin = time.thread_time()
        with on_one_thread():
            values = piece.function(**piece.arguments)
        # What is returned is what the file will say: a later run must not find other values.
        found = _plain({"found": values, "seconds": time.thread_time() - begin})
        write_whole(path, json.dumps(found).encode())
    return found["found"], float(found["seconds"])


def _read(path: Path) -> dict[str, Any]:
    """Return the JSON object of a file; nothing if it is not there, or damaged: it is then made anew."""
    try:
        if not path.is_file() or path.stat().st_size > MAX_PIECE_BYTES:
            return {}
        found = read_json(read_file(path, f"'{path}'"))
    except Damaged:
        return {}
    return found if isinstance(found, dict) else {}


def _plain(value: Any) -> Any:
    """Return JSON values: numbers of numpy become numbers, and what is not finite becomes null."""
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
    name: str, recipe: Recipe, size: Size, found: Found | None, core_minutes: float
) -> dict[str, Any]:
    """Return the result of a recipe as JSON values, from what its work has found; None: it was not run."""
    numbers: Mapping[str, Number] = {}
    drawn: dict[str, Any] | None = None
    if found is not None:
        assert recipe.numbers is not None
        numbers = recipe.numbers(found, size)
        drawn = recipe.drawing(found, size).to_json() if recipe.drawing is not None else None
    claims = []
    for claim in recipe.claims:
        used = {part.number: numbers[part.number] for part in claim.parts if part.number in numbers}
        verdict = judge(claim, numbers, size) if used else _not_run(recipe, size, found is not None)
        labels = {part.number: part.label for part in claim.parts}
        measured = [
            {"number": key, "label": labels[key], "value": one.value, "error": one.error, "n": one.n}
            for key, one in used.items()
        ]
        claims.append(
            {
                **{"claim": claim.name, "text": claim.text, "paper": claim.paper, "measured": measured},
                **{"verdict": verdict.name, "holds": verdict.holds, "reason": verdict.reason},
            }
        )
    paper = PAPERS[recipe.paper]
    return _plain(
        {
            **{
                "rbmviz_reproduce": RESULT_SCHEMA,
                "recipe": name,
                "paper": recipe.paper,
                "place": recipe.place,
            },
            **{"title": recipe.title, "source": recipe.source, "about": recipe.about, "size": size},
            **{"claims": claims, "figure": drawn, "needs": list(recipe.needs)},
            **{"cost": dict(recipe.cost), "core_minutes": round(core_minutes, 3)},
            **_origin(recipe, size, found),
            "command": f"rbmviz reproduce {name} --out results{' --quick' * (size == 'quick')}",
            "cite": [provenance.how_to_cite(), f"{paper.cite} {paper.url}"],
        }
    )


def _not_run(recipe: Recipe, size: Size, others_run: bool) -> Verdict:
    """Return the verdict on a claim without numbers; others_run: whether the recipe was run for others."""
    cost = [
        f"a {one} run needs about {minutes_text(minutes)} core-minutes"
        for one, minutes in recipe.cost.items()
        if one != size or not others_run
    ]
    left_out = others_run or not recipe.is_run(size)
    reasons = [
        recipe.not_run or (f"It is not part of a {size} run." if left_out else "It has not been run."),
        *(f"{one.capitalize()}." for one in cost),
    ]
    return Verdict("not run at this size", " ".join(reasons))


def _origin(recipe: Recipe, size: Size, found: Found | None) -> dict[str, Any]:
    """Return version, commit, machine, seeds, and digests of models and data, of what was run."""
    origin: dict[str, Any] = {"version": provenance.version("rbmviz"), "commit": provenance.commit()}
    origin |= {"machine": provenance.machine() if found is not None else {}}
    models: dict[str, str] = {}
    data: dict[str, str] = {}
    seeds: set[int] = set()
    if found is not None and recipe.work is not None:
        for table in found.tables.values():
            models |= dict(zip(table["model"].tolist(), table["model_digest"].tolist(), strict=True))
            data |= dict(zip(table["data"].tolist(), table["data_digest"].tolist(), strict=True))
            seeds |= set(table["seed"].tolist())
        for piece in recipe.work(size):
            if isinstance(piece, Piece):
                named = piece.arguments
                seeds |= {named["seed"]} if "seed" in named else set()
                if "model" in named:
                    models.setdefault(named["model"], model_digest(load_model(named["model"])))
                if "data" in named:
                    read = load_dataset(named["data"], **named.get("data_options", {}))
                    data.setdefault(read.name, data_digest(read))
    models.pop("", None)
    return {**origin, "models": models, "data": data, "seeds": sorted(seeds)}


def caption(result: Mapping[str, Any]) -> list[str]:
    """Return what stands below a figure: what was run, where, and how it is cited."""
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
    """Write a result, its figure and the rows of it; return why there is no picture, "" if there is one."""
    write_whole(place / RESULT_FILE, json.dumps(result, indent=1, ensure_ascii=False).encode())
    if result["figure"] is None:
        return ""
    known = {key: result[key] for key in ("version", "commit", "models", "data", "seeds", "command", "cite")}
    write_whole(place / ROWS_FILE, with_origin(drawings.to_csv(result["figure"]), ROWS_FILE, known))
    try:
        picture = drawings.svg(result["figure"], caption(result))
    except BadInput as error:  # a package is not installed
        return str(error)
    write_whole(place / FIGURE_FILE, with_origin(picture, FIGURE_FILE, known))
    return ""


def seeds(size: Size, quick: int, full: int) -> tuple[int, ...]:
    """Return the seeds of a run: 0, 1, ..., so many by size."""
    return tuple(range(quick if size == "quick" else full))
