"""What a browser is sent of one panel: numbers for the header, and the bytes of its pictures."""

import math
import time
from dataclasses import dataclass, field
from functools import singledispatch
from typing import Any

import numpy as np

from app.asked import FrameRequest
from rbmviz.rbm import RBM
from rbmviz.session import (
    CouplingSnapshot,
    LandscapeSnapshot,
    SamplingSnapshot,
    Snapshot,
    TrainingSnapshot,
    WeightSnapshot,
)
from rbmviz.session.importance_weights import TILES
from rbmviz.session.sampling import FRAMES

SLOW_BLOCK_SECONDS = 0.5
"""Class strips, filters and traces change slowly: sent this often."""


@dataclass
class ClientState:
    """What a browser already has of one run of a panel, and when it got what changes slowly."""

    run: int
    n: int = -1
    slow_at: float = 0.0
    ended: dict[str, int] = field(default_factory=dict)  # newest pair that has ended, of each algorithm

    def slow(self) -> bool:
        """Whether it is time again for what changes slowly."""
        now = time.monotonic()
        if now - self.slow_at <= SLOW_BLOCK_SECONDS:
            return False
        self.slow_at = now
        return True


FrameDelta = tuple[dict[str, Any], list[bytes]]


@singledispatch
def encode(shown: Snapshot, request: FrameRequest, sent: ClientState) -> FrameDelta | None:
    """Return what is new of a run, None where it does not fit the picture that the browser has laid out."""
    raise TypeError(f"nothing is known of how to show {type(shown).__name__}")


EMPTY = "The last {} samples are all empty: this model holds the chain there, and hardly lets it out again."


STUCK = 1000.0
"""An R-hat that says enough: that of chains which never move is infinite."""


def empty(shown: SamplingSnapshot) -> bool:
    """Whether a chain has been in the empty image as long as can be seen."""
    return len(shown.frames.v) == FRAMES and not shown.frames.v.any()


@encode.register
def _(shown: SamplingSnapshot, request: FrameRequest, sent: ClientState) -> FrameDelta | None:
    frames, agreement = shown.frames, shown.agreement
    if frames.n_visible != request.n_visible:
        return None
    fresh = min(shown.n - max(sent.n, 0), len(frames.v), request.cells if request.view == "sequence" else 1)
    sent.n = shown.n if len(frames.v) else -1  # at rest the pictures are not there: they come later
    newest = slice(len(frames.v) - fresh, None)
    parts = []
    if request.pixels == "binary" or request.view == "single":
        parts.append(frames.v[newest].tobytes())
    if request.pixels == "mean" or request.view == "single":
        parts.append(frames.p[newest].tobytes())
    head: dict[str, Any] = {
        "cells": fresh,
        "sweeps": shown.sweeps,
        "switches": shown.switches,
        "spurious": shown.spurious,
        "rhat": None if agreement is None else finite(min(agreement.rhat, STUCK)),
        "ess": None if agreement is None else finite(agreement.ess),
        "fast_norm": shown.fast_norm,
        "isl": None if shown.newest is None else shown.newest.isl,
        "strip": None,
        "warning": EMPTY.format(len(frames.v)) if empty(shown) else "",
    }
    if shown.occupancy is not None and shown.occupancy.size and sent.slow():
        totals = shown.occupancy.sum(axis=1, keepdims=True)
        shares = np.rint(255 * shown.occupancy / np.maximum(totals, 1)).astype(np.uint8)
        head["strip"] = [*shares.shape, shown.bin_width]
        parts.append(shares.tobytes())
    return head, parts


def filters(rbm: RBM, most: int) -> np.ndarray:
    """Return the weights of the first hidden units, uint8 (units, n_visible): 128 is 0, 255 the largest."""
    W = rbm.W[:, :most].T
    largest = float(np.abs(W).max()) or 1.0
    return np.rint(128 + 127 * (W / largest)).astype(np.uint8)


def finite(value: float) -> float | None:
    """Return the number, None where JSON has no word for it."""
    return value if math.isfinite(value) else None


@encode.register
def _(shown: TrainingSnapshot, request: FrameRequest, sent: ClientState) -> FrameDelta | None:
    if shown.models and shown.models[0].n_visible != request.n_visible:
        return None
    parts: list[bytes] = []
    newest = shown.likelihoods[-1] if shown.likelihoods else None
    head: dict[str, Any] = {
        "cells": 0,
        "filters": 0,
        "likelihood": None if newest is None else finite(float(newest.train[0])),
        "stats": {name: finite(value) for name, value in shown.newest.items()},
        "trace": None,
        "warning": shown.warning,
    }
    if request.view != "filters" and shown.fantasy is not None and shown.n != sent.n:
        rows = shown.fantasy.p if request.pixels == "mean" else shown.fantasy.v
        head["cells"] = min(request.cells, len(rows))
        parts.append(rows[-request.cells :].tobytes())
    sent.n = shown.n if shown.fantasy is not None else -1
    if sent.slow():
        inner = next(iter(shown.algorithm.inner), None)
        if inner is not None:
            values = ((trace.update, finite(float(trace.stats[inner][0]))) for trace in shown.traces)
            head["trace"] = [pair for pair in values if pair[1] is not None]
        if request.view != "samples" and shown.models:
            units = filters(shown.models[0], request.cells)
            head["filters"] = len(units)
            parts.append(units.tobytes())
    return head, parts


@encode.register
def _(shown: LandscapeSnapshot, request: FrameRequest, sent: ClientState) -> FrameDelta | None:
    if len(shown.law) != 2**request.n_visible:
        return None
    fresh = min(shown.n - max(sent.n, 0), len(shown.trail), request.cells)
    sent.n = shown.n
    newest = shown.curve[-1] if shown.curve else None
    head: dict[str, Any] = {
        "cells": fresh,
        "here": int(shown.trail[-1]),
        "raised": finite(shown.raised),
        "bent": shown.bent,
        "crossings": shown.crossings,
        "fast_norm": shown.fast_norm,
        "visits_off": None if newest is None else newest.visits,
        "moments": None if newest is None else finite(newest.moments),
    }
    with np.errstate(divide="ignore"):
        ground = -np.log(shown.law)
    shares = shown.visits / max(shown.n, 1)
    trail = shown.trail[len(shown.trail) - fresh :]
    return head, [
        ground.astype("<f4").tobytes(),
        shares.astype("<f4").tobytes(),
        trail.astype("<u2").tobytes(),
    ]


@encode.register
def _(shown: CouplingSnapshot, request: FrameRequest, sent: ClientState) -> FrameDelta | None:
    if shown.n_visible != request.n_visible:
        return None
    lanes, parts, slow = [], [], sent.slow()
    if shown.began != sent.n:  # other knobs: the pairs are counted from 0 again
        sent.n = shown.began
        sent.ended.clear()
    for drawn in shown.drawn:
        lane: dict[str, Any] = {
            name: getattr(drawn, name) for name in ("pair", "t", "met", "truncated", "path", "stride")
        }
        lane["ended"] = lane["counted"] = None
        parts += [drawn.v.tobytes(), drawn.v2.tobytes()]
        ended, counted = drawn.ended, drawn.counted
        if ended is not None and sent.ended.get(drawn.algorithm) != ended.pair:
            sent.ended[drawn.algorithm] = ended.pair
            lane["ended"] = {
                name: getattr(ended, name) for name in ("pair", "tau", "truncated", "path", "stride")
            }
            parts += [ended.v.tobytes(), ended.v2.tobytes()]
        if slow:
            lane["counted"] = {
                "pairs": counted.n,
                "tau": finite(counted.tau_mean),
                "truncated": counted.truncated_share,
                "rejected": [finite(mean) for mean in counted.rejected_mean],
            }
        lanes.append(lane)
    return {"began": shown.began, "lanes": lanes}, parts


RUG = 1000
"""Weights of a batch that are sent one by one, heaviest first; more cannot be told apart on a screen."""


@encode.register
def _(shown: WeightSnapshot, request: FrameRequest, sent: ClientState) -> FrameDelta | None:
    if shown.n_visible != request.n_visible:
        return None
    parts: list[bytes] = []
    newest, truth, batch, summary = shown.newest, shown.truth, shown.batch, shown.summary
    head: dict[str, Any] = {
        "cells": 0,
        "rug": 0,
        "pooled": shown.pooled,
        "ess": None,
        "ess_share": shown.ess_share,
        "max_share": shown.max_share,
        "log_z": None if newest is None else newest.log_z,
        "std_error": None if newest is None else finite(newest.std_error),
        "truth": None if truth is None else truth.log_z,
        "truth_error": None if truth is None else truth.std_error,
        "histogram": None,
    }
    if batch is not None and shown.n != sent.n:
        cells = min(TILES, len(batch.v))
        light = slice(len(batch.v) - cells, None)
        rug = batch.log_weights[:RUG].astype("<f4")
        head |= {
            "cells": cells,
            "rug": len(rug),
            "ess": batch.ess,
            "size": len(batch.v),
            "heavy": batch.shares[:cells].tolist(),
            "light": batch.shares[light].tolist(),
        }
        parts += [np.packbits(rows, axis=1).tobytes() for rows in (batch.v[:cells], batch.v[light])]
        parts.append(rug.tobytes())
    sent.n = shown.n if batch is not None else -1
    if summary is not None and sent.slow():
        head["histogram"] = [summary.low, summary.high, summary.counts.tolist()]
    return head, parts
