"""Files of the Sample page, and code that repeats it."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from rbmviz import BadInput
from rbmviz.browser.chains import RECORDED
from rbmviz.knobs import Value, values_of
from rbmviz.metrics import Kernel
from rbmviz.models import describe_model
from rbmviz.samplers import Sampler
from rbmviz.session import Comparison, RunHistory, SamplingRun, SamplingSetup, SamplingSnapshot
from rbmviz.view.live import play_html, starts_of
from rbmviz.view.replay import FASTEST, Replay, replay_html
from rbmviz.view.specs import shape_of
from rbmviz_app.charts.style import csv_bytes
from rbmviz_app.loading_code import load_dataset_lines, load_model_lines
from rbmviz_app.pages.sample.charts import CURVE_COLUMNS, curve_rows


def curves_csv(named: Iterable[tuple[str, SamplingSnapshot]], kernel: Kernel) -> bytes:
    """Return the ISL curves and their kernel as CSV."""
    rows = ([*(row[name] for name in CURVE_COLUMNS), kernel] for row in curve_rows(named))
    return csv_bytes((*CURVE_COLUMNS, "kernel"), rows)


def replay_file(comparison: Comparison[SamplingSetup], model_name: str, caption: str, side: int) -> bytes:
    """Return an HTML file that replays the samples in all panels' memory.

    caption : caption of the displayed preset, or "" without a preset
    """
    return replay_html(_replay(comparison, model_name, caption, side))


def live_file(comparison: Comparison[SamplingSetup], model_name: str, caption: str, side: int) -> bytes:
    """Return an HTML file whose panels run in the browser, from their starts; see ``replay_file``."""
    setup = comparison.setup
    replay = _replay(comparison, model_name, caption, side)
    replay = replace(replay, histories=[history.last(RECORDED) for history in replay.histories])
    return play_html(replay, setup.model, starts_of(setup))


def _replay(comparison: Comparison[SamplingSetup], model_name: str, caption: str, side: int) -> Replay:
    model, dataset, seed = comparison.setup.model, comparison.setup.dataset, comparison.setup.seed
    if not comparison.panels:
        raise BadInput("There is no panel whose samples could move: add a sampler.")
    return Replay(
        model_name,
        caption or f"{describe_model(model)}. Seed {seed}.",
        [panel.worker.read(RunHistory.of) for panel in comparison.panels],
        dataset,
        shape_of(model.rbm.n_visible, model.meta.get("image_shape"), dataset),
        side,
        min(comparison.rate, FASTEST),
    )


Changes = Sequence[tuple[int, dict[str, Value]]]
"""Pairs of a sample number n and the run's knobs from then on; the first n is 0."""

MAX_TURNS = 50
"""Maximum number of knob turns in the code."""


def runs_of(comparison: Comparison[SamplingSetup]) -> list[tuple[Sampler, Changes | None]]:
    """Return the sampler of each panel and the log of its knobs, with None for a missing log.

    A run at rest, or with too many turns, has no log.
    """

    def changes(panel: Any) -> Changes | None:
        try:
            return panel.worker.read(SamplingRun.run_log).changes
        except BadInput:
            return None

    return [(panel.worker.algorithm, changes(panel)) for panel in comparison.panels]


def snippet(
    model_name: str, runs: Iterable[tuple[Sampler, Changes | None]], seed: int, dataset: str | None
) -> str:
    """Return Python code that repeats the runs of the page from their first sample; see ``loading_code``.

    runs : sampler and log of each run; see ``runs_of``. If there are more than MAX_TURNS turns, or no log,
        a comment says which part of the run the code repeats
    """
    lines = [*load_model_lines(model_name)]
    start = "None"
    if dataset is not None:
        lines += [
            *load_dataset_lines(dataset),
            f"starts = SamplingSetup(model, data, seed={seed}).starts",
        ]
        start = "starts(sampler.n_chains)"
    lines.append("")
    imports = {"SamplingSetup"} if dataset is not None else set()
    for i, (sampler, changes) in enumerate(runs):
        turned = changes is not None and 1 < len(changes) <= 1 + MAX_TURNS
        if changes is None or len(changes) > 1 + MAX_TURNS:
            lines += [
                "# What knobs this panel had before is not written here: it has the newest ones throughout.",
                "# The file of the button Samples has the log of a run that is not at rest.",
            ]
        knobs = changes[0][1] if turned and changes is not None else values_of(sampler)
        texts = "".join(f", {name}={value!r}" for name, value in knobs.items())
        lines.append(f'sampler = rbmviz.make_sampler("{sampler.name}"{texts})')
        if not turned or changes is None:
            argument = f", v0={start}" if dataset is not None else ', init="random"'
            lines.append(f"samples_{i} = rbmviz.sample(model, sampler, n=10_000, seed={seed}{argument})")
            continue
        imports |= {"RunLog", "replay"}
        lines += [
            "# Knobs were turned while it ran: the number of the first sample (from 0) with these knobs.",
            "turns = (",
            *(f"    ({n}, {dict(knobs)!r})," for n, knobs in changes),
            ")",
            f'log = RunLog("{sampler.name}", {seed}, {start}, turns)',
            f"v_{i} = np.concatenate([made.v for made in replay(log, model, n=10_000)])",
        ]
    first = ["import rbmviz"]
    if "replay" in imports:
        first = ["import numpy as np", "", "import rbmviz"]
    if imports:
        first.append(f"from rbmviz.session import {', '.join(sorted(imports))}")
    return "\n".join([*first, "", *lines])
