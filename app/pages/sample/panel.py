"""The live panels of the Sample page: newest samples, class strips over time, scores."""

from pathlib import Path
from typing import Any

import numpy as np

from app.panel import Canvas, OnTrigger, panel_specs, rarest_first, shape_of
from app.panel.readouts import Readout, Value
from app.stream.encoder import ClientState, PanelContent, frame_encoder
from app.stream.frames import Bits, Block
from app.stream.requests import FrameRequest
from rbmviz.datasets import Dataset
from rbmviz.samplers import Sampler
from rbmviz.session import Comparison, SamplingSetup, SamplingSnapshot
from rbmviz.session.sampling import FRAMES, SamplingPlan

ALL_EMPTY = (
    "The last {} samples are all empty: this model holds the chain there, and hardly lets it out again."
)

MAX_RHAT_SHOWN = 100
"""Larger values are shown as "over 100"; the R-hat of chains that never move is infinite."""


def _rhat(shown: SamplingSnapshot) -> Value:
    if shown.agreement is None:
        return None
    rhat = shown.agreement.rhat
    return rhat if not rhat >= MAX_RHAT_SHOWN else f"over {MAX_RHAT_SHOWN}"


READOUTS = (
    Readout(
        "isl",
        "ISL",
        "Indirect sampling likelihood in nats per test image: how well the samples so far cover unseen data. "
        "Higher is better.",
        lambda shown: None if shown.newest is None else shown.newest.isl,
        "fixed1",
    ),
    Readout(
        "switches",
        "Class switches",
        "How often the class of the nearest training example changed, within each chain: a stuck one has "
        "few.",
        lambda shown: shown.switches,
        "compact",
    ),
    Readout(
        "spurious",
        "Spurious",
        "Samples farther from every training example than 99 % of held-out data are: watch it rise with the "
        "step size.",
        lambda shown: None if shown.spurious is None else 100 * shown.spurious,
        "fixed1",
        unit="%",
    ),
    Readout(
        "speed",
        "Samples/s",
        "Samples per second of the sampler alone, without scoring and waiting; highest at full speed, in "
        "long chunks.",
        lambda shown: shown.n / shown.seconds if shown.seconds else None,
        "compact",
    ),
    Readout(
        "sweeps",
        "Sweeps/sample",
        "Gibbs or maximisation sweeps spent on a sample, on average.",
        lambda shown: shown.sweeps / shown.n if shown.n else None,
    ),
    Readout(
        "fast_norm",
        "Fast norm",
        "Norm of the fast parameters: how far the sampled model has moved from the trained one.",
        lambda shown: shown.fast_norm,
    ),
)
"""Numbers of every sampler."""

READOUTS_OF_SEVERAL_CHAINS = (
    Readout(
        "rhat",
        "R-hat",
        "Whether the chains agree on how many pixels are on, in their newest rounds: above 1.01 they do not "
        "yet.",
        _rhat,
        "precision3",
    ),
    Readout(
        "ess",
        "ESS",
        "Independent samples that these rounds (1,000 at most) of all chains are worth, by the number of "
        "pixels that are on.",
        lambda shown: None if shown.agreement is None else shown.agreement.ess,
        "compact",
    ),
)
"""Numbers that compare chains with each other."""


def readouts(sampler: Sampler, plan: SamplingPlan) -> tuple[Readout, ...]:
    """Return the readouts of a panel."""
    return READOUTS + (READOUTS_OF_SEVERAL_CHAINS if sampler.n_chains > 1 else ())


def all_empty(shown: SamplingSnapshot) -> bool:
    """Return whether all of the newest samples that are kept, FRAMES of them, are empty images."""
    v = shown.frames.v
    # The newest sample first, which is rarely empty: a look at all takes half of the time of a frame.
    return len(v) == FRAMES and not v[-1].tobytes().strip(b"\0") and not v.any()


@frame_encoder(SamplingSnapshot, readouts, ("sequence", "single"))
def encode(shown: SamplingSnapshot, request: FrameRequest, sent: ClientState) -> PanelContent | None:
    """Encode the samples that the browser does not have (``v``, ``mean``), and class shares over time."""
    frames = shown.frames
    if frames.n_visible != request.n_visible:
        return None
    fitting = request.cells if request.view == "sequence" else 1
    n_new = max(0, min(shown.n - sent.seen.get("samples", 0), len(frames.v), fitting))
    blocks: dict[str, Block] = {}
    if n_new and (request.pixels == "binary" or request.view == "single"):
        blocks["v"] = Bits(frames.v[-n_new:], frames.n_visible)
    if n_new and (request.pixels == "mean" or request.view == "single"):
        blocks["mean"] = frames.p[-n_new:]
    occupancy, slow = shown.occupancy, False
    if occupancy is not None and occupancy.size and sent.slow_due:
        totals = occupancy.sum(axis=1, keepdims=True)
        blocks["class_shares"] = np.rint(255 * occupancy / np.maximum(totals, 1)).astype(np.uint8)
        slow = True
    # A run at rest has no pictures; they are sent once it is rebuilt.
    seen = {"samples": shown.n} if len(frames.v) else {}
    warning = ALL_EMPTY.format(len(frames.v)) if all_empty(shown) else ""
    return PanelContent({}, blocks, sent.after(seen, slow), warning)


_canvas = Canvas(Path(__file__).parent)


def class_shares(dataset: Dataset | None) -> list[float]:
    """Return the share of each class in the training part."""
    if dataset is None or dataset.train_labels is None:
        return []
    labels = dataset.train_labels
    return [float((labels == c).mean()) for c in range(len(dataset.classes))]


def sample_grid(
    comparison: Comparison[SamplingSetup],
    url: str,
    *,
    view: str,
    pixels: str,
    cells: int,
    present: bool,
    on_edit: OnTrigger,
    on_remove: OnTrigger,
    key: str,
) -> None:
    """Draw the samplers' panels; see ``Canvas.mount``."""
    model, dataset = comparison.setup.model, comparison.setup.dataset
    n_visible = model.rbm.n_visible
    shares = class_shares(dataset)
    own: dict[str, Any] = {
        "classes": dataset.classes if dataset and shares else (),
        "data_shares": shares,
        "vocabulary": rarest_first(dataset, n_visible),
    }
    _canvas.mount(
        url,
        panel_specs(comparison, readouts, front=lambda knob: knob.live),
        view=view,
        pixels=pixels,
        cells=cells,
        n_visible=n_visible,
        shape=shape_of(n_visible, model.meta.get("image_shape"), dataset),
        present=present,
        on_edit=on_edit,
        on_remove=on_remove,
        key=key,
        **own,
    )
