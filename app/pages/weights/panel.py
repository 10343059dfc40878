"""The live panels of the Weights page: the ends of a batch, and how its weight is shared out."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from app.panel import Canvas, OnTrigger, panel_specs, shape_of
from app.panel.readouts import Format, Readout, Value, finite
from app.stream.encoder import ClientState, PanelContent, frame_encoder
from app.stream.frames import Bits, Block
from app.stream.requests import FrameRequest
from rbmviz.session import Comparison, WeightSetup, WeightSnapshot
from rbmviz.session.importance_weights import TILES
from rbmviz.trainers import Trainer

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
        "Samples a batch",
        "Samples that share one normalisation: more of them, less bias; 0 takes 100.",
    ),
}
"""Knobs of pop-CD that its weights depend on, with what they are called where nothing is trained."""

MAX_WEIGHTS_SENT = 1000
"""Weights of a batch that are sent one by one, heaviest first; more cannot be told apart on a screen."""


def _pooled(
    name: str, label: str, help: str, value: Callable[[WeightSnapshot], Value], format: Format = "digits3"
) -> Readout:
    """Return a readout that is known as soon as samples have been weighed."""
    return Readout(name, label, help, lambda shown: value(shown) if shown.pooled else None, format)


def _ess(shown: WeightSnapshot) -> Value:
    return None if shown.batch is None else (shown.batch.ess, len(shown.batch.v))


def _too_low(shown: WeightSnapshot) -> Value:
    if shown.truth is None or shown.newest is None:
        return None
    return shown.truth.log_z - shown.newest.log_z


def _truth_error(shown: WeightSnapshot) -> Value:
    return None if shown.truth is None else shown.truth.std_error or "exact"


READOUTS = (
    _pooled(
        "ess",
        "ESS of the batch",
        "Effective sample size of the newest batch: so many equal weights would be worth as much.",
        _ess,
        "of",
    ),
    _pooled(
        "ess_share",
        "ESS, mean share",
        "Effective sample size over batch size, mean over all batches: 100 % is what CD pretends to have.",
        lambda shown: shown.ess_share,
        "share",
    ),
    _pooled(
        "max_share",
        "Largest, mean",
        "Share of its batch that the heaviest sample holds, mean over all batches.",
        lambda shown: shown.max_share,
        "share",
    ),
    _pooled(
        "log_z",
        "log Z estimate",
        "Logarithm of the mean of all weights so far: its mean is Z, whatever k and proposal.",
        lambda shown: None if shown.newest is None else shown.newest.log_z,
        "fixed2",
    ),
    _pooled(
        "std_error",
        "Estimate’s error",
        "Standard error of the estimate, as the weights so far know it: at most 1, and too small while heavy "
        "ones are missing.",
        lambda shown: None if shown.newest is None else shown.newest.std_error,
        "plus_minus",
    ),
    _pooled(
        "pooled",
        "Samples",
        "Samples weighed since the start, or since a knob was turned.",
        lambda shown: shown.pooled,
        "compact",
    ),
    Readout(
        "truth",
        "log Z",
        "By enumeration, or where the model is too large by annealed importance sampling.",
        lambda shown: "AIS …" if shown.truth is None else shown.truth.log_z,
        "fixed2",
    ),
    Readout(
        "truth_error",
        "log Z’s error",
        "Standard error of annealed importance sampling; exact by enumeration.",
        _truth_error,
        "plus_minus",
    ),
    _pooled(
        "gap",
        "Too low by",
        "log Z less its estimate, in nats: what the heaviest weights, not seen yet, would still add.",
        _too_low,
        "fixed2",
    ),
)


def readouts(trainer: Trainer, plan: WeightSetup) -> tuple[Readout, ...]:
    """Return the readouts of a panel."""
    return READOUTS


@frame_encoder(WeightSnapshot, readouts, ("weights",))
def encode(shown: WeightSnapshot, request: FrameRequest, sent: ClientState) -> PanelContent | None:
    """Encode the ends of a new batch, its ``log_weights`` and, slowly, the ``histogram`` of all of them."""
    if shown.n_visible != request.n_visible:
        return None
    newest, truth, batch, summary = shown.newest, shown.truth, shown.batch, shown.summary
    values: dict[str, Any] = {
        "log_z": None if newest is None else finite(newest.log_z),
        "truth": None if truth is None else finite(truth.log_z),
    }
    blocks: dict[str, Block] = {}
    if batch is not None and shown.n != sent.seen.get("batches"):
        n_tiles = min(TILES, len(batch.v))
        ends = {"heaviest": slice(n_tiles), "lightest": slice(len(batch.v) - n_tiles, None)}
        for name, rows in ends.items():
            blocks[name] = Bits(np.packbits(batch.v[rows], axis=1), shown.n_visible)
            blocks[f"{name} shares"] = batch.shares[rows].astype(np.float32)
        blocks["log_weights"] = batch.log_weights[:MAX_WEIGHTS_SENT].astype(np.float32)
    slow = summary is not None and sent.slow_due
    if slow:
        assert summary is not None
        values["histogram"] = [summary.low, summary.high]
        blocks["histogram"] = summary.counts.astype(np.uint32)
    seen = {"batches": shown.n} if batch is not None else {}
    return PanelContent(values, blocks, sent.after(seen, slow))


_canvas = Canvas(Path(__file__).parent)


def weights_grid(
    comparison: Comparison[WeightSetup],
    url: str,
    *,
    labels: Sequence[str],
    present: bool,
    on_edit: OnTrigger,
    on_remove: OnTrigger,
    key: str,
) -> None:
    """Draw the panels of pop-CD; see ``Canvas.mount``."""
    model, dataset = comparison.setup.model, comparison.setup.dataset
    specs = panel_specs(comparison, readouts, lambda knob: knob.name != "mixture")
    for spec, label in zip(specs, labels, strict=True):
        spec["label"] = label
        spec["knobs"] = [
            knob | dict(zip(("label", "help"), WEIGHT_KNOBS[knob["name"]], strict=True))
            for knob in spec["knobs"]
            if knob["name"] in WEIGHT_KNOBS
        ]
        spec["knobs"].sort(key=lambda knob: list(WEIGHT_KNOBS).index(knob["name"]))
        spec["values"] = {name: spec["values"][name] for name in WEIGHT_KNOBS}
    n_visible = model.rbm.n_visible
    _canvas.mount(
        url,
        specs,
        view="weights",
        n_visible=n_visible,
        shape=shape_of(n_visible, model.meta.get("image_shape"), dataset),
        present=present,
        on_edit=on_edit,
        on_remove=on_remove,
        key=key,
        tiles=TILES,
    )
