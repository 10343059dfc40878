"""The fair race: each sampler at its tuned knobs, on each model, for equal sweeps and for equal seconds.

    python -m benchmarks.race FILE [--models bas_pcd,...] [--seeds 5]

Knobs are tuned for either budget by the ISL of one half of the validation part (beta by the other), with
another seed; test examples are looked at afterwards. Sweeps are those of all replicas; seconds are processor
time of one thread. At most 2,000 evenly spaced samples of a run are kept. Each line of FILE is a run, so that
an interrupted race continues. Columns: the budget, what the tuning chose, samples made, ISL of the test part
(nats), classes with more than 1 % of the samples, effective samples by the free energy a second, and total
variation from the exact law, of models that can be enumerated.
"""

import argparse
import itertools
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.resuming import measured
from rbmviz import load_model, metrics, rng
from rbmviz.cli import print_message
from rbmviz.datasets import Dataset, data_of
from rbmviz.metrics.coverage import COMPARED_EXAMPLES
from rbmviz.metrics.landscape import codes
from rbmviz.rbm import Model
from rbmviz.samplers import make_sampler
from rbmviz.samplers.interleave import on_one_thread, starts_at_data
from rbmviz.support.blas import one_blas_thread

MODELS = (
    "bas_pcd,modes_pcd,usps_fpcd,usps_cd1,mnist_fpcd,mnist_cd1,letters_fpcd,fashion_fpcd,"
    "newsgroups_fpcd,reviews_fpcd"
)

KEPT, TUNING_SEED = 2000, 1000
"""Samples of a run that are scored, and the seed of those that tune."""

BUDGETS = {"sweeps": 20_000.0, "seconds": 2.0}

GRIDS: dict[str, dict[str, tuple[Any, ...]]] = {
    "gibbs": {"k": (1, 10)},
    "parallel_tempering": {"n_replicas": (10, 20, 40, 80)},
    "rates_fpcd": {"eps": (0.001, 0.003, 0.01, 0.03, 0.1), "alpha": (0.95, 0.999, 1.0)},
    "rates_herding": {"eps": (0.003, 0.01, 0.03, 0.1, 0.3), "alpha": (0.999, 1.0)},
    "sample_penalization": {"eps": (1e-4, 3e-4, 1e-3, 3e-3), "alpha": (0.9, 0.95, 0.99)},
}
"""Settings that are tried; "gibbs" has its temperature left at 1, where it samples the model."""


def settings_of(sampler: str) -> list[dict[str, Any]]:
    """Return the settings of a sampler's grid."""
    grid = GRIDS[sampler]
    return [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]


def run(model: Model, data: Dataset, sampler: str, knobs: dict[str, Any], seed: int, budget: str) -> Any:
    """Return the kept samples of a chain that spends a budget, and what it took."""
    algorithm, limit = make_sampler(sampler, **knobs), BUDGETS[budget]
    start = starts_at_data(data.validation, rng.child(seed, "race"), 1)[0]
    algorithm.step(algorithm.init(model, seed, start), 50)  # compiled
    state, begin = algorithm.init(model, seed, start), time.process_time()
    first = algorithm.step(state, 50)
    spent = {
        "samples": 50.0,
        "seconds": time.process_time() - begin,
        "sweeps": float(first.info["sweeps"].sum()),
    }
    each = max(int(limit / KEPT / (spent[budget] / 50)), 1)
    law = None if metrics.too_large(model.rbm) else metrics.probabilities(model)
    counts, kept = np.zeros(0 if law is None else len(law)), []
    while spent[budget] < limit:
        begin = time.process_time()
        samples = algorithm.step(state, each)
        spent["seconds"] += time.process_time() - begin
        spent["sweeps"] += float(samples.info["sweeps"].sum())
        spent["samples"] += each
        kept.append(samples.v[-1])
        if law is not None:
            counts += np.bincount(codes(samples.v), minlength=len(law))
    v = np.array(kept)[np.linspace(0, len(kept) - 1, min(KEPT, len(kept))).astype(int)]
    distance = None if law is None else float(np.abs(counts / counts.sum() - law / law.sum()).sum() / 2)
    return v, spent | {"distance": distance}


def race(name: str, sampler: str, budget: str, seeds: int) -> Iterator[dict[str, Any]]:
    """Tune a sampler on a model, and yield its runs."""
    model = load_model(name)
    data = data_of(model)
    half, tried = len(data.validation) // 2, []
    for knobs in settings_of(sampler):
        v, _ = run(model, data, sampler, knobs, TUNING_SEED, budget)
        tried.append(metrics.isl(v, data.validation[:half], data.validation[half:]).isl)
    knobs = settings_of(sampler)[int(np.argmax(tried))]
    coverage = metrics.Coverage(data, COMPARED_EXAMPLES)
    for seed in range(seeds):
        v, spent = run(model, data, sampler, knobs, seed, budget)
        classes, _, spurious = coverage.kinds(v)
        shares = np.bincount(classes[~spurious].astype(int)) / len(v) if len(classes) else np.zeros(0)
        isl = metrics.isl(v, data.test, data.validation).isl
        ess = metrics.chain_diagnostics(model.rbm.free_energy(v)[None]).ess / spent["seconds"]
        at = {"model": name, "sampler": sampler, "budget": budget, "seeds": seeds, "seed": seed}
        scores = {"isl": isl, "classes": int((shares > 0.01).sum()), "of": len(data.classes), "ess": ess}
        yield at | {"knobs": knobs} | scores | spent


def table(runs: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the lines of the table, in Markdown: medians over the seeds, with the range of the ISL."""
    yield "| model | for | sampler | knobs | samples | ISL | classes | ESS/s | TV |"
    yield "|---|---|---|---|--:|--:|--:|--:|--:|"
    cells: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for one in runs:
        cells.setdefault((one["model"], one["budget"], one["sampler"]), []).append(one)
    for (name, budget, sampler), own in cells.items():
        middle = {
            key: float(np.median([np.nan if one[key] is None else one[key] for one in own]))
            for key in ("samples", "isl", "classes", "ess", "distance")
        }
        knobs = ", ".join(f"{key} {value:g}" for key, value in own[0]["knobs"].items())
        scores = [one["isl"] for one in own]
        isl = f"{middle['isl']:.1f} ({min(scores):.1f} to {max(scores):.1f})"
        classes = f"{middle['classes']:.0f}/{own[0]['of']}" if own[0]["of"] else ""
        distance = "" if own[0]["distance"] is None else f"{middle['distance']:.3f}"
        last = f"{isl} | {classes} | {middle['ess']:.3g} | {distance} |"
        limit = f"{BUDGETS[budget]:,.0f} {budget}"
        yield f"| {name} | {limit} | {sampler} | {knobs} | {middle['samples']:,.0f} | {last}"


def main() -> None:
    """Run what FILE does not have, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path, metavar="FILE")
    parser.add_argument("--models", default=MODELS)
    parser.add_argument("--seeds", type=int, default=5)
    args = parser.parse_args()
    wanted = [
        (name, sampler, budget, args.seeds)
        for name, budget, sampler in itertools.product(args.models.split(","), BUDGETS, GRIDS)
    ]
    with one_blas_thread(), on_one_thread():
        runs = measured(args.file, ("model", "sampler", "budget", "seeds"), wanted, race)
    print_message("\n".join(table(runs)))


if __name__ == "__main__":
    main()
