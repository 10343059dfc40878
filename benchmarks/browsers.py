"""Time per sample in browsers and natively: engines of live pages, one thread each, in turns.

Linux counts the processor time of the thread that makes the samples, so that other programs matter little,
except through their effect on the caches.
"""

import contextlib
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from benchmarks.speed import BENCH_BURN_IN
from benchmarks.visitor import PANELS
from rbmviz.knobs import values_of
from rbmviz.models import load_model
from rbmviz.samplers import make_sampler

BROWSERS_MODELS = ("mnist_fpcd", "usps_fpcd")

SLOWER = 6
"""Factor by which Chromium's developer tools slow down a page; they leave its workers alone."""

ROUNDS = 20
"""Number of turns of each engine; the first one is not counted, because browsers compile while they run."""

TURN = 0.03
"""Native duration of a turn in seconds, which sets its number of samples; interruptions are few."""

NATIVE = "native"


def engines(stack: contextlib.ExitStack) -> dict[str, Any]:
    """Start the engines; closing the stack stops them."""
    from tests.kernels.engines import chromium_pages, node, window_of

    begin = stack.enter_context
    usual, slowed = begin(chromium_pages((True, 1), (False, SLOWER)))
    windows = ("Firefox", "WebKit") if shutil.which("WebKitWebDriver") else ("Firefox",)
    in_browsers = {"Chromium": usual, f"Chromium {SLOWER}x slower": slowed}
    return {
        "node": begin(node()),
        **in_browsers,
        **{name: begin(window_of(name.lower())) for name in windows},
    }


def browsers(
    models: Sequence[str] = BROWSERS_MODELS, rounds: int = ROUNDS, turn: float = TURN
) -> Iterator[dict[str, Any]]:
    """Time the samplers of the first page on each model, with their default knobs.

    Yields
    ------
    dict
        model, sampler; n: samples of a turn; seconds: median time per sample, by engine; best: time in the
        fastest round; ratios: median of the time per sample over the native time in the same round.
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
                sampler.step(state, 1)  # compiles
                n = ceil(turn / _seconds(partial(sampler.step, state, BENCH_BURN_IN)) * BENCH_BURN_IN)
                runs: dict[str, Callable[[], object]] = {NATIVE: partial(sampler.step, state, n)}
                for label, engine in started.items():
                    engine("goOn", panel, 1 + BENCH_BURN_IN, values_of(sampler))
                    runs[label] = partial(engine, "goOn", panel, n, values_of(sampler))
                yield {"model": name, "sampler": kind, "n": n, **_timed(runs, rounds, n)}


def _threads() -> dict[str, int]:
    """Return the processor time, in nanoseconds, of each thread of this process and its descendants."""
    here = psutil.Process()
    found = {}
    for process in (here, *here.children(recursive=True)):
        for task in Path(f"/proc/{process.pid}/task").glob("*/schedstat"):
            with contextlib.suppress(OSError):  # the thread has ended
                found[str(task)] = int(task.read_text("utf-8").split()[0])
    return found


def _seconds(run: Callable[[], object]) -> float:
    """Return the processor time of the thread that works most while a function runs."""
    before = _threads()
    run()
    return max(after - before.get(task, 0) for task, after in _threads().items()) / 1e9


def _timed(runs: Mapping[str, Callable[[], object]], rounds: int, n: int) -> dict[str, Any]:
    seconds = {label: np.empty(rounds) for label in runs}
    for r in range(rounds):
        labels = list(runs)
        for label in labels[r % len(labels) :] + labels[: r % len(labels)]:
            seconds[label][r] = _seconds(runs[label]) / n
    counted = {label: each[1:] for label, each in seconds.items()}
    return {
        "seconds": {label: float(np.median(each)) for label, each in counted.items()},
        "best": {label: float(each.min()) for label, each in counted.items()},
        "ratios": {label: float(np.median(each / counted[NATIVE])) for label, each in counted.items()},
    }
