"""The live panels of the Weights page: the ends of a batch, and its weight distribution."""

from pathlib import Path
from typing import Any

import numpy as np

from rbmviz.charts.style import colours_of_slots
from rbmviz.metrics.numbers import OF_WEIGHTS, Number
from rbmviz.session import WeightSetup, WeightSnapshot
from rbmviz.session.importance_weights import TILES
from rbmviz.trainers import Trainer
from rbmviz.trainers.batches import USUAL_BATCH
from rbmviz.view.frames import Bits, Block
from rbmviz.view.specs import finite, shape_of
from rbmviz_app.pages.weights.charts import population_titles
from rbmviz_app.panel import Canvas, algorithms_of, panel_specs
from rbmviz_app.race import PageRace
from rbmviz_app.stream.encoder import ClientState, PanelContent, frame_encoder
from rbmviz_app.stream.requests import FrameRequest

WEIGHT_KNOBS = {
    "k": (
        "Sweeps",
        "Gibbs sweeps before a sample is weighed: more of them even the weights out, if they mix.",
    ),
    "proposal": (
        "Proposal",
        "What a weight compares the model with: p(v|h), p(h|v), or a mixture of p(v|h).",
    ),
    "mixture": (
        "Hidden states in the mixture",
        "Only for the mixture proposal: more of them smooth the weights.",
    ),
    "n_chains": (
        "Samples per batch",
        f"Samples that share one normalisation: more of them, less bias; 0 takes {USUAL_BATCH}, or "
        "all training examples if there are fewer.",
    ),
}
"""Knobs that affect pop-CD's weights, with their labels on a page that trains nothing."""

MAX_WEIGHTS_SENT = 1000
"""Number of a batch's heaviest weights that are sent, and maximum number of evenly spaced lighter weights; a
screen cannot resolve more."""


def readouts(trainer: Trainer, plan: WeightSetup) -> tuple[Number, ...]:
    """Return a panel's numbers."""
    return OF_WEIGHTS


@frame_encoder(WeightSnapshot, readouts, ("weights",))
def encode(snapshot: WeightSnapshot, request: FrameRequest, client: ClientState) -> PanelContent | None:
    """Encode the ends and ``log_weights`` of a new batch and, with the numbers, a ``histogram``.

    For a large batch, ``log_weights`` are the heaviest, and ``light_log_weights`` some of the others, down to
    the lightest. ``log_total``: logarithm of the sum of the batch's weights.
    """
    if snapshot.n_visible != request.n_visible:
        return None
    newest, truth, batch, summary = snapshot.newest, snapshot.reference, snapshot.batch, snapshot.summary
    values: dict[str, Any] = {
        "log_z": None if newest is None else finite(newest.log_z),
        "truth": None if truth is None else finite(truth.log_z),
    }
    blocks: dict[str, Block] = {}
    if batch is not None and snapshot.n != client.newest_sent.get("batches"):
        n_tiles = min(TILES, len(batch.v))
        ends = {"heaviest": slice(n_tiles), "lightest": slice(len(batch.v) - n_tiles, None)}
        for name, rows in ends.items():
            blocks[name] = Bits(np.packbits(batch.v[rows], axis=1), snapshot.n_visible)
            blocks[f"{name} shares"] = batch.shares[rows].astype(np.float32)
        blocks["log_weights"] = batch.log_weights[:MAX_WEIGHTS_SENT].astype(np.float32)
        if len(lighter := batch.log_weights[MAX_WEIGHTS_SENT:]):
            some = np.linspace(0, len(lighter) - 1, min(len(lighter), MAX_WEIGHTS_SENT)).round().astype(int)
            blocks["light_log_weights"] = lighter[some].astype(np.float32)
        values["log_total"] = float(np.logaddexp.reduce(batch.log_weights))
    if summary is not None and client.numbers_due:
        values["histogram"] = [summary.low, summary.high]
        blocks["histogram"] = summary.counts.astype(np.uint32)
    newest_sent = {"batches": snapshot.n} if batch is not None else {}
    return PanelContent(values, blocks, client._replace(newest_sent=newest_sent))


_canvas = Canvas(Path(__file__).parent)


def weights_grid(race: PageRace[WeightSetup], **mounted: Any) -> None:
    """Draw the panels of pop-CD; ``mounted`` holds further arguments of ``Canvas.mount``."""
    model, dataset = race.setup.model, race.setup.dataset
    specs = panel_specs(
        race,
        readouts,
        front=lambda knob: knob.name != "mixture",
        names=population_titles(algorithms_of(race)),
        formulas_of=lambda trainer: trainer.equation,  # without the update, because nothing is trained
    )
    for spec, tone in zip(specs, colours_of_slots(race.slots), strict=True):
        spec["colour"] = tone
        spec["knobs"] = [
            knob | dict(zip(("label", "help"), WEIGHT_KNOBS[knob["name"]], strict=True))
            for knob in spec["knobs"]
            if knob["name"] in WEIGHT_KNOBS
        ]
        spec["knobs"].sort(key=lambda knob: list(WEIGHT_KNOBS).index(knob["name"]))
        spec["values"] = {name: spec["values"][name] for name in WEIGHT_KNOBS}
    n_visible = model.rbm.n_visible
    _canvas.mount(
        race,
        specs,
        view="weights",
        n_visible=n_visible,
        shape=shape_of(n_visible, model.meta.get("image_shape"), dataset),
        tiles=TILES,
        **mounted,
    )
