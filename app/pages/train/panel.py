"""The live panels of the Train page: fantasies and filters of a model that learns, and its scores."""

from pathlib import Path

import numpy as np

from app.charts.style import origin_text
from app.panel import Canvas, OnTrigger, panel_specs, rarest_first, shape_of
from app.panel.readouts import Readout
from app.stream.encoder import ClientState, PanelContent, frame_encoder
from app.stream.frames import Bits, Block
from app.stream.requests import FrameRequest
from rbmviz.rbm import RBM
from rbmviz.session import Comparison, TrainingSetup, TrainingSnapshot
from rbmviz.session.training import TrainingPlan
from rbmviz.trainers import Trainer


def _statistic(name: str, label: str, help: str) -> Readout:
    """Return the readout of a number that the trainer makes at each update."""
    return Readout(name, label, help, lambda shown: shown.newest.get(name), "compact")


def readouts(trainer: Trainer, plan: TrainingPlan) -> tuple[Readout, ...]:
    """Return the readouts of a panel: those of every trainer, then the trainer's own quantities."""
    begun, spent = (plan.origin.update, plan.origin.seconds) if plan.origin else (0, 0.0)

    def updates_a_second(shown: TrainingSnapshot) -> float | None:
        return (shown.n - begun) / (shown.seconds - spent) if shown.seconds > spent else None

    return (
        Readout(
            "likelihood",
            "Log-likelihood",
            "Mean over training examples, in nats: exact, or by AIS. Higher is better.",
            lambda shown: float(shown.likelihoods[-1].train[0]) if shown.likelihoods else None,
            "fixed2",
        ),
        Readout(
            "speed",
            "Updates/s",
            "What the trainer itself does in a second, scoring and waiting not counted.",
            updates_a_second,
            "compact",
        ),
        _statistic(
            "reconstruction",
            "Reconstruction",
            "How far a mini-batch moves up and down once, a share of a bit: low says little.",
        ),
        *(_statistic(name, label, label) for name, label in trainer.inner.items()),
    )


def filters(rbm: RBM, n_units: int) -> np.ndarray:
    """Return the weights of the first hidden units, uint8 (units, n_visible): 128 is 0, 255 the largest."""
    W = rbm.W[:, :n_units].T
    largest = float(np.abs(W).max()) or 1.0
    return np.rint(128 + 127 * (W / largest)).astype(np.uint8)


def _trace(shown: TrainingSnapshot) -> np.ndarray | None:
    """Return update and value of the trainer's first own quantity, float64 (points, 2), or None."""
    inner = next(iter(shown.algorithm.inner), None)
    if inner is None:
        return None
    trace = np.array([(point.update, point.stats[inner][0]) for point in shown.traces], np.float64).reshape(
        -1, 2
    )
    return trace[np.isfinite(trace[:, 1])]


@frame_encoder(TrainingSnapshot, readouts, ("samples", "filters", "both"))
def encode(shown: TrainingSnapshot, request: FrameRequest, sent: ClientState) -> PanelContent | None:
    """Encode fantasies (``v`` or ``mean``) of a new update and, slowly, ``trace`` and ``filters``."""
    if shown.models and shown.models[0].n_visible != request.n_visible:
        return None
    blocks: dict[str, Block] = {}
    fantasy = shown.fantasy
    if request.view != "filters" and fantasy is not None and shown.n != sent.seen.get("updates"):
        if request.pixels == "mean":
            blocks["mean"] = fantasy.p[-request.cells :]
        else:
            blocks["v"] = Bits(fantasy.v[-request.cells :], fantasy.n_visible)
    slow = sent.slow_due
    if slow:
        trace = _trace(shown)
        if trace is not None:
            blocks["trace"] = trace
        if request.view != "samples" and shown.models:
            blocks["filters"] = filters(shown.models[0], request.cells)
    seen = {"updates": shown.n} if fantasy is not None else {}
    return PanelContent({}, blocks, sent.after(seen, slow), shown.warning)


_canvas = Canvas(Path(__file__).parent)


def train_grid(
    comparison: Comparison[TrainingSetup],
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
    """Draw the trainers' panels; see ``Canvas.mount``."""
    dataset = comparison.setup.dataset
    origins = [origin_text(panel.worker.plan) for panel in comparison.panels]
    specs = panel_specs(comparison, readouts, lambda knob: knob.front, origins)
    for spec, panel in zip(specs, comparison.panels, strict=True):
        spec["inner"] = next(iter(panel.worker.algorithm.inner.values()), "")
        spec["n_hidden"] = panel.worker.plan.n_hidden
    _canvas.mount(
        url,
        specs,
        view=view,
        pixels=pixels,
        cells=cells,
        n_visible=dataset.n_visible,
        shape=shape_of(dataset.n_visible, None, dataset),
        present=present,
        on_edit=on_edit,
        on_remove=on_remove,
        key=key,
        vocabulary=rarest_first(dataset, dataset.n_visible),
    )
