"""What ``metrics.findings`` finds: each sampler, broken ones and exact draws among them, on each model.

    python -m benchmarks.findings FILE [--models bas_pcd,modes_pcd,usps_fpcd,mnist_fpcd] [--seeds 50]

Each run is a line of FILE, so that an interrupted measurement continues, and more seeds are added. The table
says in how many runs something was found in the first 300, 1,800 and 10,000 samples (in brackets: in how many
it was too early to tell), what most often, and how far the samples' distribution is from the model's: total
variation of all states, less what exact draws have; of large models a lower bound, by classes.
"""

import argparse
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.resuming import measured
from rbmviz import list_samplers, load_model, rng
from rbmviz.cli import print_message
from rbmviz.datasets import data_of
from rbmviz.metrics import Coverage, findings, probabilities, too_large
from rbmviz.metrics.coverage import COMPARED_EXAMPLES
from rbmviz.metrics.landscape import codes
from rbmviz.rbm import Model
from rbmviz.samplers import sample
from rbmviz.support.blas import one_blas_thread
from rbmviz.testing.broken import FAULTS

COUNTS = 300, 1800, 10_000
EXACT, TEMPERED = "exact draws", "tempered reference"
LADDERS, TEMPERATURES, BURN_IN, APART = 100, 10, 100, 5
"""Of the reference: ladders that start at data, their temperatures, sweeps before and between samples."""


def exact_draws(model: Model, n: int, seed: int) -> np.ndarray:
    """Return independent draws, by enumeration."""
    law, bits = probabilities(model), np.arange(model.rbm.n_visible - 1, -1, -1)
    states = rng.generator(seed, EXACT).choice(len(law), n, p=law / law.sum())
    return (states[:, None] >> bits & 1).astype(np.uint8)


def tempered_draws(model: Model, starts: np.ndarray, n: int, seed: int) -> np.ndarray:
    """Return draws of many ladders of temperatures, in random order; each ladder starts at a row of data."""
    g, rbm = rng.generator(seed, TEMPERED), model.rbm
    v = np.repeat(starts[g.choice(len(starts), LADDERS), None], TEMPERATURES, axis=1).astype(np.float32)
    betas = np.linspace(1, 0, TEMPERATURES, dtype=np.float32)[:, None]

    def bits(x: np.ndarray) -> np.ndarray:
        return (g.random(x.shape, np.float32) < 1 / (1 + np.exp(-np.clip(betas * x, -80, 80)))).astype(
            np.float32
        )

    drawn: list[np.ndarray] = []
    for t in range(BURN_IN + APART * (n // LADDERS)):
        h = bits(v @ rbm.W + rbm.c)
        x = h @ rbm.W.T + rbm.b
        v = bits(x)
        energy = -(v * x).sum(axis=2) - h @ rbm.c
        for i in range(t % 2, TEMPERATURES - 1, 2):
            gain = (betas[i, 0] - betas[i + 1, 0]) * (energy[:, i] - energy[:, i + 1])
            swap = np.flatnonzero(np.log1p(-g.random(LADDERS)) < gain)
            v[swap, i], v[swap, i + 1] = v[swap, i + 1], v[swap, i]
        if t >= BURN_IN and t % APART == 0:
            drawn.append(v[:, 0].astype(np.uint8))
    return g.permutation(np.concatenate(drawn))


def run(name: str, sampler: str, seed: int) -> dict[str, Any]:
    """Return what is found in one run, and the shares of its states (of classes, for a large model)."""
    model = load_model(name)
    data, n = data_of(model), max(COUNTS)
    if sampler == EXACT:
        v = exact_draws(model, n, seed)
    elif sampler == TEMPERED:
        v = tempered_draws(model, data.validation, n, seed)
    else:
        v = sample(model, sampler, n, seed).v
    if too_large(model.rbm):
        coverage = Coverage(data, COMPARED_EXAMPLES)
        classes, _, spurious = coverage.kinds(v)
        shares = (
            np.bincount(np.where(spurious, len(data.classes), classes), minlength=len(data.classes) + 1) / n
        )
        distance = None
    else:
        law = probabilities(model)
        distance = float(np.abs(np.bincount(codes(v), minlength=len(law)) / n - law / law.sum()).sum() / 2)
        shares = np.zeros(0)
    looks = {count: findings(v[:count], model, data) for count in COUNTS}
    found = {count: [[x.name, x.value] for x in look] for count, look in looks.items()}
    verdicts = {count: look.verdict for count, look in looks.items()}
    at = {"model": name, "sampler": sampler, "seed": seed}
    return at | {"found": found, "verdicts": verdicts, "distance": distance, "shares": shares.tolist()}


def samplers_of(name: str) -> list[str]:
    """Return what a model is sampled by."""
    own = TEMPERED if too_large(load_model(name).rbm) else EXACT
    return [own, *list_samplers(), *(f"broken:fault={fault}" for fault in FAULTS)]


def table(runs: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the lines of the table, in Markdown."""
    yield f"| model | sampler | runs | {' | '.join(f'{n:,}' for n in COUNTS)} | most often | TV |"
    yield "|---|---|--:|--:|--:|--:|---|--:|"
    cells: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for one in runs:
        cells.setdefault((one["model"], one["sampler"]), []).append(one)
    for (name, sampler), own in cells.items():
        hits = []
        for n in map(str, COUNTS):
            early = sum(x["verdicts"][n] == "unsure" for x in own)
            hits.append(f"{sum(x['verdicts'][n] == 'found' for x in own)}" + (f" ({early})" if early else ""))
        kinds = Counter(kind for x in own for kind, _ in x["found"][str(max(COUNTS))])
        often = ", ".join(f"{kind} {count}" for kind, count in kinds.most_common(3))
        reference = next(cells[key] for key in cells if key[0] == name and key[1] in (EXACT, TEMPERED))
        if own[0]["distance"] is None:
            mean = np.mean([x["shares"] for x in reference], axis=0)
            tv = f"> {np.median([np.abs(np.array(x['shares']) - mean).sum() / 2 for x in own]):.2f}"
        else:
            floor = np.mean([x["distance"] for x in reference])
            tv = f"{np.median([x['distance'] for x in own]) - floor:.2f}"
        yield f"| {name} | {sampler} | {len(own)} | {' | '.join(hits)} | {often} | {tv} |"


def main() -> None:
    """Measure what FILE does not have, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path, metavar="FILE")
    parser.add_argument("--models", default="bas_pcd,modes_pcd,usps_fpcd,mnist_fpcd")
    parser.add_argument("--seeds", type=int, default=50)
    args = parser.parse_args()
    models, seeds = args.models.split(","), range(args.seeds)
    wanted = [(name, sampler, seed) for seed in seeds for name in models for sampler in samplers_of(name)]
    with one_blas_thread():
        runs = measured(args.file, ("model", "sampler", "seed"), wanted, lambda *cell: [run(*cell)])
    runs.sort(key=lambda one: one["model"])
    print_message("\n".join(table(runs)))


if __name__ == "__main__":
    main()
