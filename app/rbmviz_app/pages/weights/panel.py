"""The live panels of the Weights page: the ends of a batch, and how its weight is shared out."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rbmviz.session import Comparison, WeightSetup, WeightSnapshot
from rbmviz.session.importance_weights import TILES
from rbmviz.trainers import Trainer
from rbmviz.trainers.batches import USUAL_BATCH
from rbmviz_app.panel import Canvas, OnTrigger, panel_specs, shape_of
from rbmviz_app.panel.readouts import Readout, Value, finite, rate_readout
from rbmviz_app.stream.encoder import ClientState, PanelContent, frame_encoder
from rbmviz_app.stream.frames import Bits, Block
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
"""Knobs of pop-CD that its weights depend on, with what they are called where nothing is trained."""

MAX_WEIGHTS_SENT = 1000
"""Weights of a batch that are sent one by one, heaviest first, and at most as many of the others, evenly
spaced; more cannot be told apart on a screen."""


def _pooled(
    name: str, label: str, help: str, value: Callable[[WeightSnapshot], Value], **more: Any
) -> Readout:
    """Return a readout that is known as soon as samples have been weighed."""
    return Readout(name, label, help, lambda shown: value(shown) if shown.pooled else None, **more)


def _ess(shown: WeightSnapshot) -> Value:
    return None if shown.batch is None else (shown.batch.ess, len(shown.batch.v))


def _too_low(shown: WeightSnapshot) -> Value:
    if shown.reference is None or shown.newest is None:
        return None
    return shown.reference.log_z - shown.newest.log_z


def _truth_error(shown: WeightSnapshot) -> Value:
    return None if shown.reference is None else shown.reference.std_error or "exact"


READOUTS = (
    _pooled(
        "ess_share",
        "Effective share",
        "What a batch is worth: 100 % if all samples weigh alike, 1 % if one of a hundred holds all the "
        "weight. Mean over all batches. CD gives every sample the same weight, as if it were 100 %.",
        lambda shown: shown.ess_share,
        format="share",
        formula=r"\left\langle \frac{1}{n \sum_i w_i^2} \right\rangle, \quad \textstyle\sum_i w_i = 1",
        source="Krause, Fischer, Igel (2018), section 3.3; Kong (1992) for the effective sample size.",
        lead=True,
    ),
    _pooled(
        "max_share",
        "Heaviest sample holds",
        "Share of its batch’s weight that the single heaviest sample holds, mean over all batches: near 100 "
        "%, one sample takes all, and the others were drawn for nothing.",
        lambda shown: shown.max_share,
        format="share",
        formula=r"\left\langle \max_i w_i \right\rangle",
        source="Krause, Fischer, Igel (2018), section 4.2.",
        lead=True,
    ),
    _pooled(
        "ess",
        "ESS of the batch",
        "Effective sample size of the newest batch: so many equal weights would be worth as much.",
        _ess,
        format="of",
        formula=r"\mathrm{ESS} = \frac{\left( \sum_i w_i \right)^2}{\sum_i w_i^2}",
        source="Kong (1992).",
    ),
    _pooled(
        "log_z",
        "log Z estimate",
        "Z is what e to the power −F(v) adds up to over all pictures v: divided by it, they are "
        "probabilities. For large models it cannot be computed. The mean of all importance weights so far "
        "estimates it, whatever the sweeps and the proposal: the solid line under the batch.",
        lambda shown: None if shown.newest is None else shown.newest.log_z,
        format="fixed2",
        formula=r"\log \frac{1}{n} \sum_i \frac{e^{-F(v_i)}}{q(v_i)}",
        source="Krause, Fischer, Igel (2018), section 3; q is the proposal. The joint one weighs hidden "
        "states h in place of samples v (section 3.4).",
    ),
    _pooled(
        "std_error",
        "Estimate’s error",
        "Standard error of the estimate, as the weights so far know it: at most 1, and too small while heavy "
        "ones are missing.",
        lambda shown: None if shown.newest is None else shown.newest.std_error,
        format="plus_minus",
        formula=r"\frac{\mathrm{sd}(\bar{w})}{\sqrt{B}\, \langle \bar{w} \rangle}",
        source="By the delta method, over the mean weights of B batches: those of a mixture depend on each "
        "other within a batch.",
    ),
    Readout(
        "truth",
        "log Z",
        "What the estimate should be: the dashed line under the batch.",
        lambda shown: "…" if shown.reference is None else shown.reference.log_z,
        "fixed2",
        formula=r"\log Z = \log \sum_v e^{-F(v)}",
        source="By enumeration, or where the model is too large by annealed importance sampling "
        "(Salakhutdinov, Murray 2008).",
    ),
    Readout(
        "truth_error",
        "log Z’s error",
        "Standard error of annealed importance sampling; exact by enumeration.",
        _truth_error,
        "plus_minus",
        source="Over the chains of annealed importance sampling.",
    ),
    _pooled(
        "gap",
        "Too low by",
        "log Z less its estimate, in nats: what heavy weights, not seen yet, would still add. Below 0 the "
        "estimate is above log Z: by chance, or by the error of log Z where it is an estimate, too.",
        _too_low,
        format="fixed2",
        formula=r"\log Z - \log \hat{Z}",
        source="From the two numbers.",
    ),
    _pooled(
        "pooled",
        "Samples",
        "Samples weighed since the start, or since a knob was turned.",
        lambda shown: shown.pooled,
        format="compact",
        source="Counted.",
    ),
    rate_readout("Batches"),
)


def readouts(trainer: Trainer, plan: WeightSetup) -> tuple[Readout, ...]:
    """Return the readouts of a panel."""
    return READOUTS


def every_readout() -> tuple[Readout, ...]:
    """Return all numbers that a panel of this page can have."""
    return READOUTS


@frame_encoder(WeightSnapshot, readouts, ("weights",))
def encode(shown: WeightSnapshot, request: FrameRequest, client: ClientState) -> PanelContent | None:
    """Encode the ends of a new batch, its ``log_weights`` and, twice a second, a ``histogram`` of the newest.

    Of a large batch ``log_weights`` are the heaviest, and ``light_log_weights`` some of the others, to the
    lightest. ``log_total``: logarithm of the sum of the batch's weights.
    """
    if shown.n_visible != request.n_visible:
        return None
    newest, truth, batch, summary = shown.newest, shown.reference, shown.batch, shown.summary
    values: dict[str, Any] = {
        "log_z": None if newest is None else finite(newest.log_z),
        "truth": None if truth is None else finite(truth.log_z),
    }
    blocks: dict[str, Block] = {}
    if batch is not None and shown.n != client.newest_sent.get("batches"):
        n_tiles = min(TILES, len(batch.v))
        ends = {"heaviest": slice(n_tiles), "lightest": slice(len(batch.v) - n_tiles, None)}
        for name, rows in ends.items():
            blocks[name] = Bits(np.packbits(batch.v[rows], axis=1), shown.n_visible)
            blocks[f"{name} shares"] = batch.shares[rows].astype(np.float32)
        blocks["log_weights"] = batch.log_weights[:MAX_WEIGHTS_SENT].astype(np.float32)
        if len(lighter := batch.log_weights[MAX_WEIGHTS_SENT:]):
            some = np.linspace(0, len(lighter) - 1, min(len(lighter), MAX_WEIGHTS_SENT)).round().astype(int)
            blocks["light_log_weights"] = lighter[some].astype(np.float32)
        values["log_total"] = float(np.logaddexp.reduce(batch.log_weights))
    slow = summary is not None and client.slow_due
    if slow:
        assert summary is not None
        values["histogram"] = [summary.low, summary.high]
        blocks["histogram"] = summary.counts.astype(np.uint32)
    newest_sent = {"batches": shown.n} if batch is not None else {}
    return PanelContent(values, blocks, client.after(newest_sent, slow))


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
    specs = panel_specs(
        comparison,
        readouts,
        front=lambda knob: knob.name != "mixture",
        formulas_of=lambda trainer: trainer.equation,  # nothing is trained: without the update
    )
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
