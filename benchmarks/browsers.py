"""The time of a sample in browsers, and natively: the engine of live pages, one thread each, by turns."""

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from benchmarks.visitor import PANELS
from rbmviz.knobs import values_of
from rbmviz.models import load_model
from rbmviz.samplers import make_sampler

BROWSERS_MODELS = ("mnist_fpcd", "usps_fpcd")

SLOWER = 6
"""How much slower developer tools make Chromium's processor: a phone of the middle class, they say."""

ROUNDS = 9
"""Turns of each engine; the first one is not counted, because browsers compile while they run."""

TURN_SAMPLES = 1920
"""Samples of a turn: 15 calls of the engine."""

NATIVE = "native"


def engines(stack: contextlib.ExitStack) -> dict[str, Any]:
    """Start the engines, until the stack is closed."""
    from tests.kernels.engines import chromium_pages, firefox, node

    begin = stack.enter_context
    pages = begin(chromium_pages((True, 1), (True, SLOWER), (False, SLOWER)))
    names = "Chromium", f"Chromium {SLOWER}x slower, worker", f"Chromium {SLOWER}x slower, page"
    return {"node": begin(node()), **dict(zip(names, pages, strict=True)), "Firefox": begin(firefox())}


def browsers(
    models: Sequence[str] = BROWSERS_MODELS, rounds: int = ROUNDS, turn: int = TURN_SAMPLES
) -> Iterator[dict[str, Any]]:
    """Time the samplers of the first page on each model, with their default knobs.

    Yields
    ------
    dict
        model, sampler; seconds: median time of a sample, by engine; ratios: median of the time of a sample
        over the native one of the same round.
    """
    from tests.kernels.engines import frame_of

    with contextlib.ExitStack() as stack:
        started = engines(stack)
        for name in models:
            model = load_model(name)
            frame = frame_of(model, PANELS, [0])
            for engine in started.values():
                engine.open(frame)
            for panel, kind in enumerate(PANELS):
                sampler = make_sampler(kind)
                state = sampler.init(model, 0)
                runs: dict[str, Callable[[], float]] = {
                    NATIVE: partial(_native, partial(sampler.step, state, turn))
                }
                for label, engine in started.items():
                    runs[label] = partial(_engine, engine, panel, turn, values_of(sampler))
                yield {"model": name, "sampler": kind, **_timed(runs, rounds, turn)}


def _native(step: Callable[[], object]) -> float:
    begin = time.perf_counter()
    step()
    return time.perf_counter() - begin


def _engine(engine: Any, panel: int, turn: int, knobs: Mapping[str, Any]) -> float:
    return float(engine("timeChain", panel, turn, knobs)) / 1000


def _timed(runs: Mapping[str, Callable[[], float]], rounds: int, turn: int) -> dict[str, Any]:
    seconds = {label: np.empty(rounds) for label in runs}
    for r in range(rounds):
        labels = list(runs)
        for label in labels[r % len(labels) :] + labels[: r % len(labels)]:
            seconds[label][r] = runs[label]() / turn
    counted = {label: each[1:] for label, each in seconds.items()}
    return {
        "seconds": {label: float(np.median(each)) for label, each in counted.items()},
        "ratios": {label: float(np.median(each / counted[NATIVE])) for label, each in counted.items()},
    }
