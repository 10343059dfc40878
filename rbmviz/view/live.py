"""Page that runs samplers: a replay file with the kernels, the chains and the data for scores.

Browsers without WebAssembly SIMD play the recording. Everything else is in a second frame, ``live``, with the
worker's script as text; the page starts the worker from a blob.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rbmviz import browser
from rbmviz.browser.chains import RECORDED, STORED_SEEDS, Blocks, chain_spec, check_runs, turnable
from rbmviz.browser.landscapes import walk_data
from rbmviz.browser.scores import contents as scores_of
from rbmviz.browser.scores import score_data
from rbmviz.datasets import Dataset
from rbmviz.errors import BadInput
from rbmviz.knobs import values_of
from rbmviz.metrics import Landscape
from rbmviz.rbm import Model
from rbmviz.samplers import Sampler
from rbmviz.session import SamplingRun, SamplingSetup
from rbmviz.view import VIEW_FOLDER
from rbmviz.view.curves import MIN_CURVE_SAMPLES, isl_plot
from rbmviz.view.frames import Block, write_frame
from rbmviz.view.replay import Replay, assembled, replay_frame, shared_script
from rbmviz.view.specs import knob_spec

MAX_WEIGHT_BYTES = 40_000_000
"""Maximum size of weights and rates in a page: phones take too long to open larger pages."""

LIVE_POLICY = "'wasm-unsafe-eval'; worker-src blob:; connect-src 'none'"
"""Permissions of the page beyond its own script: compile the kernels, and start workers with them."""

Starts = Sequence[tuple[int, np.ndarray | None]]
"""Seeds, with the starts of their chains; None: random bits."""


def check_size(model: Model) -> None:
    """Raise BadInput if a model is too large for a page."""
    size = model.rbm.W.nbytes + (model.rates.W.nbytes if model.rates is not None else 0)
    if size > MAX_WEIGHT_BYTES:
        raise BadInput(
            f"A model of {model.rbm.n_visible:,} x {model.rbm.n_hidden:,} units is too large for a page: its "
            f"weights and rates take {size / 1e6:,.0f} MB, and {MAX_WEIGHT_BYTES / 1e6:,.0f} MB is the limit."
        )


def check_playable(samplers: Sequence[Sampler], model: Model) -> None:
    """Raise BadInput unless a page can run the samplers on the model."""
    check_size(model)
    for sampler in samplers:
        check_runs(sampler)


def is_playable(samplers: Sequence[Sampler], model: Model) -> bool:
    """Return whether a page can run the samplers on the model."""
    try:
        check_playable(samplers, model)
    except BadInput:
        return False
    return True


def starts_of(setup: SamplingSetup) -> Starts:
    """Return the seeds of a page, beginning with the setup's, and the starts of their chains."""
    seeds = range(setup.seed, setup.seed + STORED_SEEDS)
    return [(seed, setup._replace(seed=seed).starts(1)) for seed in seeds]


def runs_to_record(
    setup: SamplingSetup, samplers: Sequence[Sampler], held: int = RECORDED
) -> list[SamplingRun]:
    """Return the runs, which hold the newest samples for a recording; a live page has the first RECORDED."""
    plan = setup._replace(held=held).plan()
    return [SamplingRun(1, plan, sampler) for sampler in samplers]


def play_html(replay: Replay, model: Model, starts: Starts) -> bytes:
    """Return the page, as the bytes of an HTML file; see ``live_frames``."""
    script = live_script() + "\nwindow.rbmviz = SCRIPTS;\nshowRuns(livePage);\n"
    return assembled(replay.title, live_frames(replay, model, starts), script, policy=LIVE_POLICY)


def live_script(*more: Path) -> str:
    """Return the scripts of a live page, which do nothing by themselves; ``more``: see ``shared_script``."""
    return shared_script(*more) + "\n" + (VIEW_FOLDER / "live.js").read_text("utf-8")


def live_frames(replay: Replay, model: Model, starts: Starts) -> dict[str, bytes]:
    """Return the frames of the page: ``run`` with the recording, and ``live`` with the data for sampling.

    replay : the recording, with the samplers of the page; its data set is part of the page
    starts : sequence of (seed, v0); the seeds to choose from, the recording's first
    """
    check_size(model)
    algorithms = [history.algorithm for history in replay.histories]
    blocks = Blocks()
    scores, score_blocks = score_data(replay.dataset)
    if scores is None:
        replay = replace(replay, dataset=None)
    live = engine_data() | live_data(algorithms, model, starts, blocks, scores)
    page, panels = replay_frame(replay)
    page |= {"contains": contents(replay.dataset)} if replay.dataset is not None else {}
    for (head, _), sampler in zip(panels, algorithms, strict=True):
        head["spec"] |= live_knobs(sampler)
    blocks_of_page = all_blocks(blocks, score_blocks)
    return {"run": write_frame(page, panels), "live": write_frame(live, [({}, blocks_of_page)])}


def contents(dataset: Dataset) -> str:
    """Return the sentence about the data in a page."""
    return f"This page contains {scores_of(dataset)}."


def engine_data() -> dict[str, Any]:
    """Return the data that all runs on a page share."""
    scripts = "engine.js", "landscape.js", "worker.js"
    return {
        "worker": "\n".join((browser.KERNELS_FOLDER / name).read_text("utf-8") for name in scripts),
        "signatures": browser.signatures(),
        "fewest_curve": MIN_CURVE_SAMPLES,
        "line": isl_plot(()).line_content(),
    }


def live_data(
    algorithms: Sequence[Sampler],
    model: Model,
    starts: Starts,
    blocks: Blocks,
    scores: Mapping[str, Any] | None = None,
    land: Landscape | None = None,
) -> dict[str, Any]:
    """Return the runs of a page; contents of arrays are added to the blocks.

    scores : see ``score_data``
    land : the model's landscape, on which the chains walk; default None
    """
    scores = dict(scores or {})
    return {
        "chains": [chain_spec(sampler, model, starts, blocks) for sampler in algorithms],
        "curve_counts": scores.pop("counts", []),
        "scores": scores or None,
        "walk": None if land is None else walk_data(model, land),
        "values": [values_of(sampler) for sampler in algorithms],
    }


def all_blocks(blocks: Blocks, score_blocks: Mapping[str, Block]) -> dict[str, Block]:
    """Return all blocks of a page: chains, data for scores, and the kernels."""
    return {**blocks.by_name, **score_blocks, "wasm": np.frombuffer(browser.module(), np.uint8)}


def live_knobs(sampler: Sampler) -> dict[str, object]:
    """Return the entries of a panel's spec for the knobs that can be turned while the chain runs."""
    knobs, values = turnable(sampler), values_of(sampler)
    return {
        "sampler": sampler.name,
        "knobs": [knob_spec(knob) | {"front": knob.front} for knob in knobs.values()],
        "values": {name: values[name] for name in knobs},
    }
