"""Run recipes: what is computed is kept by seed in a folder, and pooled into an entry of the ledger.

``NAME-SIZE/`` has a folder per sweep (``rbmviz.sweeps.Store``), a file ``<job>-<identity>.json`` per job, and
``seeds.json``, the seeds that have been asked for. ``NAME-SIZE.json`` and ``.svg`` are the entry, of all of
them: to publish it, copy both to ``rbmviz/ledger/stored``. What the folder has is not computed again.
"""

import ast
import functools
import hashlib
import json
import math
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import papers
import rbmviz
from papers.claims import Estimate, PaperClaim, judge, measured_text
from papers.drawing import alternative_text, picture
from papers.recipe import Job, Measurements, Recipe, SweepRun, Work, number_text
from rbmviz.datasets import load_dataset
from rbmviz.errors import BadInput
from rbmviz.files import provenance
from rbmviz.files.origin import digests_in
from rbmviz.files.output import write_whole, writing
from rbmviz.ledger import PAPERS, Size, minutes_text
from rbmviz.models import load_model
from rbmviz.samplers.interleave import on_one_thread
from rbmviz.support.blas import one_blas_thread
from rbmviz.sweeps import Store, cells
from rbmviz.sweeps import run as run_cells
from rbmviz.sweeps.cell import forget
from rbmviz.sweeps.run import cores

OF_TEXTS = ("RECIPE", "numbers", "drawing")
"""What a recipe's module says of results; its jobs do not depend on it."""

OF_THE_RUN = ("figure", "core_minutes", "version", "commit", "machine", "models", "data", "seeds")
"""Values of an entry that neither the recipe nor its numbers determine."""


def run(
    name: str,
    recipe: Recipe,
    folder: str | Path,
    size: Size = "full",
    seeds: Sequence[int] | None = None,
    *,
    workers: int | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Run a recipe; write and return its entry of the ledger.

    folder : folder of the results of all recipes, created if needed
    seeds : of every sweep and every job that has one (default: the recipe's own), appended to those of
        earlier runs in the folder
    workers : threads of sweeps, and jobs at a time (default: number of cores)
    say : called with a sentence for each sweep and each job

    Raises BadInput if the recipe has no run of this size, data are missing or a sweep failed. Whatever ends a
    run, what has been computed is kept.
    """
    if size not in recipe.cost:
        raise BadInput(f"'{name}' has no {size} run: choose --size {' or '.join(recipe.cost)}.")
    for data in recipe.needs:
        load_dataset(data)  # fails here, before anything is computed, if data are missing
    place = Path(folder) / f"{name}-{size}"
    with writing(place):
        place.mkdir(parents=True, exist_ok=True)
    asked = _read(place / "seeds.json").get("asked", [])
    wanted = None if seeds is None else [*seeds]
    asked += [wanted] if wanted not in asked else []
    write_whole(place / "seeds.json", json.dumps({"asked": asked}).encode())
    work = pooled(recipe.work(size), asked)
    measured, seconds = _measure(name, work, place, workers or cores(), say)
    forget()
    made = {"core_minutes": round(seconds / 60, 3), "figure": recipe.drawing(measured, size).to_json()}
    result = entry(name, recipe, size, recipe.numbers(measured, size), _origin(work, measured) | made)
    write_whole(place.with_name(f"{place.name}.svg"), picture(result["figure"]))
    write_whole(place.with_name(f"{place.name}.json"), as_json(result))
    return result


def pooled(work: Sequence[Work], asked: Sequence[Sequence[int] | None]) -> list[Work]:
    """Return this work at all seeds that were asked for; None are its own. What has no seed stays.

    Seeds that all families of jobs have come first, because some recipes compare them in their order.
    """
    families: dict[str, set[int]] = {}
    for job in work:
        if isinstance(job, Job) and "seed" in job.arguments:
            families.setdefault(_family(job), set()).add(job.arguments["seed"])

    def wanted(own: Sequence[int] | set[int]) -> set[int]:
        return {seed for each in asked for seed in (own if each is None else each)}

    families = {family: wanted(own) for family, own in families.items()}
    common = set.intersection(*families.values()) if families else set()
    result: list[Work] = []
    for item in work:
        if isinstance(item, SweepRun):
            plan = replace(item.plan, seeds=tuple(sorted(wanted(item.plan.seeds))))
            result.append(replace(item, plan=plan))
        elif "seed" not in item.arguments:
            result.append(item)
        elif seeds := families.pop(_family(item), None):
            for seed in sorted(seeds, key=lambda seed: (seed not in common, seed)):
                arguments = {**item.arguments, "seed": seed}
                result.append(replace(item, name=f"{_family(item)}-{seed}", arguments=arguments))
    return result


def _family(job: Job) -> str:
    return job.name.removesuffix(f"-{job.arguments['seed']}")


@functools.cache
def _code(module: str) -> str:
    """Return a hash of all that jobs of a recipe's module depend on, whatever of the package they use."""
    digest = hashlib.sha256()
    for package in (rbmviz, papers):
        root = Path(str(package.__file__)).parent
        for path in sorted(root.rglob("*.py") if package is rbmviz else root.glob("*.py")):
            digest.update(f"{path.relative_to(root).as_posix()}\0".encode() + path.read_bytes())
    tree = ast.parse(Path(str(sys.modules[module].__file__)).read_text("utf-8"))
    own = [node for node in tree.body if not OF_TEXTS.count(_name_of(node))]
    digest.update("".join(map(ast.dump, own)).encode())
    return digest.hexdigest()


def _name_of(node: ast.stmt) -> str:
    named = node.targets[0] if isinstance(node, ast.Assign) else node
    return str(getattr(named, "id", getattr(named, "name", "")))


def identity(job: Job) -> str:
    """Return a hash of what a job's numbers depend on: its function, its arguments, and the code."""
    content = [job.function.__qualname__, dict(job.arguments), _code(job.function.__module__)]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def _measure(
    name: str, work: Sequence[Work], place: Path, workers: int, say: Callable[[str], None]
) -> tuple[Measurements, float]:
    """Do the work that is not in the folder yet; return all results and their processor seconds."""
    measured, spent = Measurements({}, {}), 0.0
    for sweep in (item for item in work if isinstance(item, SweepRun)):
        say(f"{name}: {sweep.name}, {sweep.plan.size:,} cells")
        store, all_cells = Store(place / sweep.name), cells(sweep.plan)
        store.prepare(sweep.plan, f"python -m papers {name}")
        progress = run_cells(all_cells, store, workers=workers)
        if progress.interrupted:
            raise KeyboardInterrupt
        for failed in progress.failed:
            raise BadInput(f"{sweep.name}: {failed.cell.algorithm} failed: {failed.reason}")
        measured.tables[sweep.name] = table = store.read(all_cells)
        is_end = np.append(table["n"][1:] <= table["n"][:-1], True)
        spent += float(table["seconds"][is_end].sum())
    jobs = [item for item in work if isinstance(item, Job)]
    with one_blas_thread(), ThreadPoolExecutor(workers) as pool:
        # After an error or Ctrl-C the running jobs finish and are stored, and the others do not begin.
        results = pool.map(functools.partial(_called, place=place), jobs)
        for number, (job, (values, seconds)) in enumerate(zip(jobs, results, strict=True), 1):
            say(f"{name}: {job.name}, {number} of {len(jobs)} jobs")
            measured.jobs[job.name] = values
            spent += seconds
    return measured, spent


def _called(job: Job, place: Path) -> tuple[dict[str, Any], float]:
    """Return the result of a job and its processor seconds, stored or computed."""
    path = place / f"{job.name}-{identity(job)}.json"
    if not (content := _read(path)):
        begin = time.thread_time()
        with on_one_thread():
            values = job.function(**job.arguments)
        # Return the values of the file: a later run must not read others.
        content = _plain({"found": values, "seconds": time.thread_time() - begin})
        write_whole(path, json.dumps(content).encode())
    return content["found"], content["seconds"]


def _read(path: Path) -> dict[str, Any]:
    """Return the JSON object of a file; an empty one if it is missing or torn."""
    try:
        return dict(json.loads(path.read_text("utf-8")))
    except (OSError, ValueError):
        return {}


def _plain(value: Any) -> Any:
    """Return JSON values: numpy's numbers become numbers, and values that are not finite become null."""
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def as_json(result: Mapping[str, Any]) -> bytes:
    """Return an entry as its file."""
    return json.dumps(result, indent=1, ensure_ascii=False).encode()


def entry(
    name: str, recipe: Recipe, size: Size, numbers: Mapping[str, Estimate], origin: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the entry of a recipe in the ledger, as JSON values.

    numbers : estimates by key
    origin : OF_THE_RUN
    """
    paper = PAPERS[recipe.paper]
    result = {
        **{"recipe": name, "paper": recipe.paper, "order": list(recipe.order), "title": recipe.title},
        **{"source": recipe.source, "number": number_text(recipe.source), "about": recipe.about},
        **{"size": size, "claims": [_judged(recipe, claim, size, numbers) for claim in recipe.claims]},
        **{"needs": list(recipe.needs), "cost": dict(recipe.cost)},
        **{key: origin[key] for key in OF_THE_RUN},
        "command": f"python -m papers {name}" + f" --size {size}" * (size != "full"),
        "cite": [provenance.how_to_cite(), f"{paper.cite} {paper.url}"],
    }
    result |= {"alternative_text": alternative_text(result), "run": run_text(result)}
    return dict(_plain(result))


def refreshed(result: Mapping[str, Any], recipe: Recipe) -> dict[str, Any]:
    """Return a stored entry with the recipe's present texts, and the verdicts of its numbers."""
    return entry(result["recipe"], recipe, result["size"], estimates_of(result), result)


def estimates_of(result: Mapping[str, Any]) -> dict[str, Estimate]:
    """Return the estimates of an entry by key."""

    def number(value: float | None) -> float:
        return math.nan if value is None else value

    return {
        one["number"]: Estimate(number(one["value"]), number(one["error"]), one["n"])
        for claim in result["claims"]
        for one in claim["measured"]
    }


def _judged(recipe: Recipe, claim: PaperClaim, size: Size, numbers: Mapping[str, Estimate]) -> dict[str, Any]:
    """Return a claim as JSON values, with its numbers and the verdict that follows."""
    labels = {bound.number: bound.label for bound in claim.bounds if bound.number in numbers}
    if labels:
        verdict, reason = judge(claim, numbers, size)
    else:
        others = [
            f"A {other} run needs about {minutes_text(minutes)} core-minutes."
            for other, minutes in recipe.cost.items()
            if other != size
        ]
        verdict = "not run at this size"
        reason = " ".join([f"It is not part of a {size} run.", *others])
    measured = [
        {"number": key, "label": label, **numbers[key]._asdict(), "text": measured_text(label, numbers[key])}
        for key, label in labels.items()
    ]
    return {
        **{"claim": claim.name, "text": claim.text, "paper": claim.paper, "variant": claim.variant},
        "timed": claim.timed,
        **{"measured": measured, "verdict": verdict, "reason": reason},
        "live_link": claim.live_link or recipe.live_link,
    }


def run_text(result: Mapping[str, Any]) -> str:
    """Return what was run, and where."""
    machine, runs = result["machine"], result["seeds"]
    parts = [f"rbmviz {result['version']}" + (f", commit {result['commit']}" if result["commit"] else "")]
    parts += [f"{result['size']} run, {result['core_minutes']:.3g} core-minutes"]
    parts += [f"{machine['processor']}, {machine['cores']} cores"]
    for what in ("models", "data"):
        named = ", ".join(f"{name} {digest}" for name, digest in result[what].items())
        parts += [f"{what} {named}"] * bool(named)
    parts += [f"seeds {runs[0]} to {runs[-1]}" if len(runs) > 1 else f"seed {runs[0]}"] if runs else []
    return "; ".join(parts)


def _origin(work: Sequence[Work], measured: Measurements) -> dict[str, Any]:
    """Return version, commit, machine, seeds, and digests of the models and data of a run."""
    models: dict[str, str] = {}
    data: dict[str, str] = {}
    seeds: set[int] = set()
    for table in measured.tables.values():
        digests = digests_in(table)
        models, data = models | digests["models"], data | digests["data"]
        seeds |= set(table["seed"].tolist())
    for arguments in (job.arguments for job in work if isinstance(job, Job)):
        seeds |= {arguments["seed"]} if "seed" in arguments else set()
        if "model" in arguments:
            models.setdefault(arguments["model"], load_model(arguments["model"]).digest())
        if "data" in arguments:
            read = load_dataset(arguments["data"], **arguments.get("data_options", {}))
            data.setdefault(read.name, read.digest())
    versions = {"version": provenance.version("rbmviz"), "commit": provenance.commit()}
    read_from = {"models": models, "data": data, "seeds": sorted(seeds)}
    return {**versions, "machine": provenance.machine(), **read_from}
