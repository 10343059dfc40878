"""Quality of samplers: ISL of their samples, and ISL gain, ESS and class switches per second."""

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rbmviz import rng
from rbmviz.datasets import Dataset, data_of, load_dataset
from rbmviz.errors import BadInput
from rbmviz.files.metadata import data_name
from rbmviz.knobs import values_of
from rbmviz.metrics import ISL, Coverage, chain_diagnostics
from rbmviz.metrics.diagnostics import MIN_DRAWS, chains_apart
from rbmviz.metrics.isl import CURVE_COUNTS, Score
from rbmviz.models import load_model
from rbmviz.pages.links import write_changed_panel
from rbmviz.rbm import Model
from rbmviz.registry import samplers as registered
from rbmviz.samplers import Sampler, sample

BENCH_CHUNK, BENCH_ROUNDS = 100, 10
"""Samples in a sampler's turn, and minimum samples per chain in a turn. Samplers take turns, so
that other load on the machine slows all of them alike."""

CLASSIFIED_EXAMPLES = 5000
"""Number of training examples; the nearest one gives the class of a sample."""

MEASURES = (
    "isl",
    "isl_equal_time",
    "nats_per_second",
    "ess_per_second",
    "switches_per_second",
    "samples_per_second",
)


@dataclass(eq=False)
class _Run:
    """The chains of one sampler with their metrics; ``seconds`` counts only the time of sampling."""

    sampler: Sampler
    state: Any
    metric: ISL
    coverage: Coverage
    counts: Sequence[int]
    curve: list[Score] = field(default_factory=list)
    seconds: float = 0.0
    energies: list[np.ndarray] = field(default_factory=list)

    def advance(self, n: int, model: Model) -> None:
        begin = time.perf_counter()
        v = self.sampler.step(self.state, n).v
        self.seconds += time.perf_counter() - begin
        self.curve += self.metric.curve(v, self.counts)
        self.coverage.update(v)
        self.energies.append(model.rbm.free_energy(v))

    def measures(self, fastest: float, labelled: bool) -> dict[str, float]:
        """Return ``MEASURES``; ``fastest`` is the sampling time of the fastest sampler, in seconds."""
        curve, n = self.curve, self.metric.n
        in_time = max(1, n * fastest / self.seconds)
        same_time = max((point for point in curve if point.n <= in_time), key=lambda point: point.n)
        ess = chain_diagnostics(chains_apart(np.concatenate(self.energies), self.sampler.n_chains)).ess
        return {
            "isl": self.metric.value().isl,
            "isl_equal_time": same_time.isl,
            "nats_per_second": (same_time.isl - curve[0].isl) / fastest,
            "ess_per_second": ess / self.seconds,
            "switches_per_second": self.coverage.switches / self.seconds if labelled else math.nan,
            "samples_per_second": n / self.seconds,
        }


def _run(
    model: Model, samplers: Sequence[Sampler], dataset: Dataset, n: int, seed: int
) -> list[dict[str, float]]:
    """Return the measures of each sampler; chain c of all samplers starts at the same validation example."""
    held_out, counts = dataset.validation, [*CURVE_COUNTS[CURVE_COUNTS < n].tolist(), n]
    most = max(sampler.n_chains for sampler in samplers)
    starts = held_out[rng.generator(seed, "bench start").integers(len(held_out), size=most)]
    runs = [
        _Run(
            sampler,
            sampler.init(model, seed, starts[: sampler.n_chains]),
            ISL(dataset.test, held_out),
            Coverage(dataset, CLASSIFIED_EXAMPLES, sampler.n_chains),
            counts,
        )
        for sampler in samplers
    ]
    turn = max(BENCH_CHUNK, BENCH_ROUNDS * most)
    for at in range(0, n, turn):
        for run in runs:
            run.advance(min(turn, n - at), model)
    fastest = min(run.seconds for run in runs)
    return [run.measures(fastest, bool(dataset.classes)) for run in runs]


def _summary(values: Sequence[float]) -> dict[str, float | None]:
    """Return mean and standard error over the seeds; None if a value is unknown."""
    x = np.array(values)
    if not np.isfinite(x).all():
        return {"mean": None, "std_error": None}
    error = float(x.std(ddof=1) / math.sqrt(len(x))) if len(x) > 1 else None
    return {"mean": float(x.mean()), "std_error": error}


def dataset_of(name: str, model: Model, dataset: str | None) -> Dataset:
    """Return the data set to score samples against: the given one, or else the model's own."""
    if dataset is None and data_name(model.meta) is None:
        raise BadInput(f"bench: {name} does not say what data to score against: give --dataset.")
    return load_dataset(dataset) if dataset else data_of(model)


def quality(
    models: Sequence[str],
    samplers: Sequence[str | Sampler],
    seeds: int = 3,
    n: int = 10_000,
    dataset: str | None = None,
) -> Iterator[dict[str, Any]]:
    """Measure each sampler on each model; yield one row for each pair, with means over seeds.

    For each model and seed, all samplers start at the same validation examples and take turns of 100 samples.
    Only sampling is timed, scoring is not. A sampler with one chain uses one thread; a sampler with several
    chains uses all cores, and the ESS and class switches of its chains are added up.

    Parameters
    ----------
    models : sequence of str
        Names of pretrained models, or files.
    samplers : sequence of Sampler or str
        Samplers, or texts that describe them: ``gibbs``, ``rates_fpcd:eps=0.1,n_chains=10``.
    seeds : int
        Number of runs of each sampler, with seeds 0, 1, ... (default 3).
    n : int
        Samples of each run, at least 8 per chain (default 10,000).
    dataset : str, optional
        Data to score against, with a validation part (default: the data that the model names).

    Yields
    ------
    dict
        model, sampler (with the knobs that are not at their defaults), knobs (all of them), dataset, n,
        seeds, and for each of MEASURES a mean and a standard error (None if unknown):
        ``isl`` after n samples (binary kernel, nats per test example);
        ``isl_equal_time`` after as much sampling time as the fastest sampler needed for n samples (the last
        earlier point of the curve);
        ``nats_per_second`` the ISL gained since the first sample, divided by the same time, because the gain
        becomes slower with time;
        ``ess_per_second`` effective samples of the free energy: a chain that stays in one mode can have a
        high ESS, and a driven chain has no stationary law that its samples could represent;
        ``switches_per_second`` changes of the class of the nearest training example (of at most 5,000).

    Raises
    ------
    BadInput
        If a name is unknown, a number is out of range, or data and model have different numbers of units.
    """
    chosen = [registered.read(one) if isinstance(one, str) else one for one in samplers]
    most = max(sampler.n_chains for sampler in chosen)
    if seeds < 1 or n < MIN_DRAWS * most:
        least = f"{MIN_DRAWS * most:,}" + (f" for {most:,} chains" if most > 1 else "")
        raise BadInput(f"bench: seeds = {seeds} must be at least 1 and n = {n} at least {least}.")
    for name in models:
        model = load_model(name)
        data = dataset_of(name, model, dataset)
        if data.n_visible != model.rbm.n_visible or not len(data.validation):
            raise BadInput(
                f"bench: {data.name} has {data.n_visible} units and {len(data.validation)} validation rows; "
                f"{name} needs {model.rbm.n_visible} units and at least one such row."
            )
        for sampler in chosen:
            sample(model, sampler, 2)  # compiles the kernels, and raises BadInput if the model has no rates
        found = [_run(model, chosen, data, n, seed) for seed in range(seeds)]
        for i, sampler in enumerate(chosen):
            yield {
                "model": str(name),
                "sampler": write_changed_panel(sampler),
                "knobs": values_of(sampler),
                "dataset": data.name,
                "n": n,
                "seeds": seeds,
                **{key: _summary([run[i][key] for run in found]) for key in MEASURES},
            }
