"""What samplers are worth: scores of their samples, and what they gain a second."""

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rbmviz import rng
from rbmviz.datasets import Dataset, load_dataset
from rbmviz.errors import BadInput
from rbmviz.metrics import ISL, Coverage, chain_diagnostics
from rbmviz.metrics.chains import LEAST_DRAWS
from rbmviz.metrics.isl import COUNTS
from rbmviz.models import load_model
from rbmviz.rbm import Model
from rbmviz.samplers import Sampler, make_sampler, sample

CHUNK = 100
"""Samples of a turn: samplers take turns, so that a busy machine is equally busy for all."""

EXAMPLES = 5000
"""Training examples that tell a sample's class."""

MEASURES = (
    "isl",
    "isl_equal_time",
    "nats_per_second",
    "ess_per_second",
    "switches_per_second",
    "samples_per_second",
)


@dataclass(eq=False)
class _Chain:
    """One chain while it runs; seconds are those of sampling alone."""

    sampler: Sampler
    state: Any
    metric: ISL
    coverage: Coverage
    seconds: float = 0.0
    energies: list[np.ndarray] = field(default_factory=list)

    def advance(self, n: int, model: Model) -> None:
        begin = time.perf_counter()
        v = self.sampler.step(self.state, n).v
        self.seconds += time.perf_counter() - begin
        self.metric.update(v)
        self.coverage.update(v)
        self.energies.append(model.rbm.free_energy(v))

    def measures(self, share: float, labelled: bool) -> dict[str, float]:
        """Return MEASURES; share: of the time of this chain, that of the fastest."""
        curve, n = self.metric.curve(), self.metric.n
        same_time = max((point for point in curve if point.n <= max(1, share * n)), key=lambda point: point.n)
        isl = self.metric.value().isl
        ess = chain_diagnostics(np.concatenate(self.energies)).ess
        return {
            "isl": isl,
            "isl_equal_time": same_time.isl,
            "nats_per_second": (isl - curve[0].isl) / self.seconds,
            "ess_per_second": ess / self.seconds,
            "switches_per_second": self.coverage.switches / self.seconds if labelled else math.nan,
            "samples_per_second": n / self.seconds,
        }


def _run(
    model: Model, samplers: Sequence[Sampler], dataset: Dataset, coverages: list[Coverage], n: int, seed: int
) -> list[dict[str, float]]:
    """Run one chain of every sampler from the same held-out example, in turns; return their measures."""
    held_out, counts = dataset.validation, [*COUNTS[COUNTS < n].tolist(), n]
    v0 = held_out[rng.generator(seed, "bench start").integers(len(held_out))]
    chains = [
        _Chain(sampler, sampler.init(model, seed, v0), ISL(dataset.test, held_out, counts=counts), coverage)
        for sampler, coverage in zip(samplers, coverages, strict=True)
    ]
    for at in range(0, n, CHUNK):
        for chain in chains:
            chain.advance(min(CHUNK, n - at), model)
    fastest = min(chain.seconds for chain in chains)
    return [chain.measures(fastest / chain.seconds, bool(dataset.classes)) for chain in chains]


def _summary(values: Sequence[float]) -> dict[str, float | None]:
    """Return mean and standard error over the seeds; None where a value is not known."""
    x = np.array(values)
    if not np.isfinite(x).all():
        return {"mean": None, "std_error": None}
    error = float(x.std(ddof=1) / math.sqrt(len(x))) if len(x) > 1 else None
    return {"mean": float(x.mean()), "std_error": error}


def quality(
    models: Sequence[str],
    samplers: Sequence[str | Sampler],
    seeds: int = 3,
    n: int = 10_000,
    dataset: str | None = None,
) -> Iterator[dict[str, Any]]:
    """Measure sampler after sampler on model after model; each row a mean over seeds.

    For each model and seed all samplers start at the same held-out example and take turns of 100 samples;
    only sampling is timed (one thread), scoring is not.

    Parameters
    ----------
    models, samplers
        Pretrained names or files; sampler names or samplers.
    seeds : int
        Chains of each, seeds 0, 1, ...
    n : int
        Samples of each chain, at least 8.
    dataset : str, optional
        Data to score against, with a validation part; default: what the model names.

    Yields
    ------
    dict
        model, sampler, dataset, n, seeds, and for each of MEASURES a mean and a standard error (None where
        unknown): ``isl`` after n samples (binary kernel, nats a test example); ``isl_equal_time`` after as
        much sampling time as the fastest sampler took for its n (the next lower point of the curve);
        ``nats_per_second`` the ISL gained from the first to the n-th sample, over the time, which flatters a
        fast sampler that soon gains nothing more: compare ``isl_equal_time``;
        ``ess_per_second`` effective samples as the free energy sees them: a chain that stays in one mode can
        look well, and a driven chain has no law of its own that they would be samples of;
        ``switches_per_second`` changes of the class of the nearest training example (of at most 5,000).

    Raises
    ------
    BadInput
        Where a name or number does not fit.
    """
    if seeds < 1 or n < LEAST_DRAWS:
        raise BadInput(f"bench: seeds = {seeds} must be at least 1 and n = {n} at least {LEAST_DRAWS}.")
    chosen = [make_sampler(one) if isinstance(one, str) else one for one in samplers]
    for name in models:
        model = load_model(name)
        of_data = dataset or model.meta.get("scored_on") or model.meta.get("dataset")
        if of_data is None:
            raise BadInput(f"bench: {name} does not say what data to score against: give --dataset.")
        data = load_dataset(of_data)
        if data.n_visible != model.rbm.n_visible or not len(data.validation):
            raise BadInput(
                f"bench: {data.name} has {data.n_visible} units and {len(data.validation)} validation rows; "
                f"{name} asks for {model.rbm.n_visible} units and at least one such row."
            )
        for sampler in chosen:
            sample(model, sampler, 2)  # compiles, and refuses a model without rates
        found = []
        for seed in range(seeds):
            coverages = [Coverage(data, EXAMPLES) for _ in chosen]
            found.append(_run(model, chosen, data, coverages, n, seed))
        for i, sampler in enumerate(chosen):
            yield {
                "model": str(name),
                "sampler": sampler.name,
                "dataset": data.name,
                "n": n,
                "seeds": seeds,
                **{key: _summary([run[i][key] for run in found]) for key in MEASURES},
            }
