"""The cost of one visitor: processor time of four panels at the speed of the page, without any page.

The whole process is timed, so nothing else may run in it. ``benchmarks/crowd.py`` measures the cost that
a page adds (frames over a socket, charts), on a real server.
"""

import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks.quality import dataset_of
from rbmviz.errors import BadInput
from rbmviz.models import load_model
from rbmviz.samplers import make_sampler
from rbmviz.session import Race, SamplingSetup

PANELS = ("gibbs", "rates_fpcd", "rates_herding", "sample_penalization")
"""The panels of the first page when it opens."""

RATE, FRAMES_PER_SECOND = 60.0, 20.0
"""Default samples per second of a panel, and frames per second of a page."""

PHASES = {
    "kernels": "samples alone, one by one, on one thread",
    "samples": "the panels, while no page shows them",
    "snapshots": f"the panels, with all snapshots taken {FRAMES_PER_SECOND:g} times a second",
    "paused, snapshots": "a pause, with snapshots taken as often",
    "paused": "a pause, while no page shows the panels",
}
"""The measured phases, in order."""

PATIENCE = 600.0
"""Seconds to wait for the panels before the benchmark fails."""

MIN_SAMPLES = 4 * RATE
"""Samples of each panel before anything is measured: at first the ISL curve has a point every few samples."""


def visitor(
    model: str = "mnist_fpcd",
    samplers: Sequence[str] = PANELS,
    dataset: str | None = None,
    rate: float = RATE,
    seconds: float = 20.0,
    min_samples: float = MIN_SAMPLES,
) -> Iterator[dict[str, Any]]:
    """Measure the cost of a page's panels, one phase after another.

    Parameters
    ----------
    model : str
        Name or file of a model.
    samplers : sequence of str
        Names of samplers, one per panel.
    dataset : str, optional
        Data to score samples against; default: the data that the model names.
    rate : float
        Samples per second of each panel.
    seconds : float
        Length of each phase, less than the 30 seconds after which a run without a viewer sleeps.
    min_samples : float
        Samples of each panel before the first phase.

    Yields
    ------
    dict
        phase: one of PHASES; share: processor time of the process per wall-clock time; samples: of all
        panels; sample_seconds: processor time per sample, None if there was none.
    """
    loaded = load_model(model)
    data = dataset_of(model, loaded, dataset)
    made = [make_sampler(name) for name in samplers]

    states = [sampler.init(loaded, 0) for sampler in made]
    for sampler, state in zip(made, states, strict=True):
        sampler.step(state, 1)
    n, begin, started = 0, time.process_time(), time.monotonic()
    while time.monotonic() - started < seconds / 4:
        for sampler, state in zip(made, states, strict=True):
            sampler.step(state, 1)
            n += 1
    each = (time.process_time() - begin) / n
    del states
    yield _row("kernels", each * rate * len(made), n, each)

    race = Race(SamplingSetup(loaded, data), rate)
    try:
        for sampler in made:
            race.add(sampler)
        race.resume()
        _until(race, lambda shown: shown.n >= min_samples)
        yield _phase(race, "samples", seconds, looking=False)
        yield _phase(race, "snapshots", seconds, looking=True)
        race.pause()
        _until(race, lambda shown: shown.status == "paused")
        yield _phase(race, "paused, snapshots", seconds, looking=True)
        yield _phase(race, "paused", seconds, looking=False)
    finally:
        race.close()


def _until(race: Race[Any], holds: Any) -> None:
    end = time.monotonic() + PATIENCE
    while not all(holds(shown) for _, shown in race.poll()):
        failed = [shown.error for _, shown in race.poll() if shown.status == "failed"]
        if failed or time.monotonic() > end:
            raise BadInput(f"bench visitor: {(failed or ['the panels do not get on'])[0]}")
        time.sleep(0.05)


def _phase(race: Race[Any], name: str, seconds: float, looking: bool) -> dict[str, Any]:
    stop = threading.Event()

    def look() -> None:
        while not stop.wait(1 / FRAMES_PER_SECOND):
            race.poll()

    viewer = threading.Thread(target=look)
    if looking:
        viewer.start()
    before = sum(shown.n for _, shown in race.poll())
    begin, started = time.process_time(), time.monotonic()
    time.sleep(seconds)
    used, passed = time.process_time() - begin, time.monotonic() - started
    n = sum(shown.n for _, shown in race.poll()) - before
    stop.set()
    if looking:
        viewer.join()
    return _row(name, used / passed, n, used / n if n else None)


def _row(phase: str, share: float, samples: int, each: float | None) -> dict[str, Any]:
    return {"phase": phase, "share": share, "samples": samples, "sample_seconds": each}
