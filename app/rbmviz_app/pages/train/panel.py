"""The live panels of the Train page: fantasies and filters of a model that learns, and its scores."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rbmviz.knobs import Knob, values_of
from rbmviz.rbm import RBM
from rbmviz.registry import trainers
from rbmviz.session import Comparison, TrainingSetup, TrainingSnapshot
from rbmviz.session.training import SCORED_EXAMPLES, TrainingPlan, below_best
from rbmviz.trainers import Trainer, list_trainers
from rbmviz_app.charts.style import origin_text
from rbmviz_app.compared import point_text
from rbmviz_app.panel import Canvas, OnTrigger, panel_specs, rarest_first, shape_of
from rbmviz_app.panel.readouts import Readout, Value, rate_readout
from rbmviz_app.stream.encoder import ClientState, PanelContent, frame_encoder
from rbmviz_app.stream.frames import Bits, Block
from rbmviz_app.stream.requests import FrameRequest


def _likelihood(shown: TrainingSnapshot) -> Value:
    if not shown.likelihoods:
        return None
    newest = shown.likelihoods[-1]
    error = float(newest.std_error[0])
    if len(newest.train) > 1 or not error:
        return float(newest.train.mean())
    return float(newest.train[0]), error


def _statistic(name: str, label: str, help: str, **more: Any) -> Readout:
    """Return the readout of a number that the trainer makes at each update."""
    return Readout(name, label, help, lambda shown: shown.newest.get(name), "compact", **more)


COMMON = (
    Readout(
        "likelihood",
        "Log-likelihood",
        "How probable the model finds a training picture, on average: it rises, towards zero, as the model "
        "learns. Nats for each picture; where it is an estimate, ± its standard error.",
        _likelihood,
        "with_error",
        formula=r"\left\langle \log p(x) \right\rangle_{x}, \quad p(x) = \frac{e^{-F(x)}}{Z}",
        source="Exact by enumeration of the smaller layer, else by annealed importance sampling "
        "(Salakhutdinov, Murray 2008). Of larger data "
        f"{SCORED_EXAMPLES:,} evenly spaced examples are scored. Of several replicates their mean.",
        lead=True,
    ),
    Readout(
        "below_best",
        "Below its best",
        "How many nats the model has lost since it was best: 0 while it climbs. A trainer that falls away "
        "loses more and more of what it had.",
        lambda shown: below_best(shown.likelihoods),
        "fixed2",
        formula=r"\max_{t' \le t} \ell_{t'} - \ell_t",
        source="ℓ is the log-likelihood of the training part at an update, of several replicates their mean.",
        lead=True,
    ),
    rate_readout("Updates"),
)
"""Numbers of every trainer, before those that depend on where it began."""

RECONSTRUCTION = _statistic(
    "reconstruction",
    "Reconstruction",
    "How far a training picture moves if it goes up to the hidden units and down again, as a share of a "
    "bit. It is cheap, and says little: a model that copies well may be a bad one.",
    formula=r"\left\langle \left| v - \mathbb{E}[v \mid \mathbb{E}[h \mid v]] \right| \right\rangle",
    source="Hinton (2012), A practical guide to training RBMs, section 5.",
)

OWN_STATS_HELP = {
    "fast_norm": "How far the fast weights have pushed the chains’ model away from the one that learns.",
    "ess": "Effective sample size of the batch: so many equal weights would be worth as much.",
    "max_weight": "Share of the batch’s weight that its heaviest sample holds.",
    "tau_mean": "Sweeps until the two chains of a pair meet, on average.",
    "tau_median": "Half of the pairs meet within so many sweeps.",
    "tau_max": "Sweeps that the slowest pair of the batch took.",
    "rejected_mean": "Proposals that a pair rejected before it had its next states: the cost of coupling.",
    "truncated": "Share of the pairs that were cut off before they met, which biases the update.",
    "swap_rate": "Share of the proposed swaps between neighbouring temperatures that were taken.",
    "sweeps": "Sweeps until the climb to a mode ended.",
    "moment_error": "How far the mean of all pictures so far is from that of the data: herding lowers it.",
}
"""What the trainers’ own statistics say, by name; another statistic says its label."""


def _own_speed(begun: int, spent: float) -> Readout:
    """Return the readout of the trainer's own speed since ``begun`` updates and ``spent`` seconds."""

    def own_speed(shown: TrainingSnapshot) -> float | None:
        return (shown.n - begun) / (shown.seconds - spent) if shown.seconds > spent else None

    return Readout(
        "own_speed",
        "Trainer’s own speed",
        "Updates that the trainer would make in a second if it did nothing else: scoring and waiting not "
        "counted.",
        own_speed,
        "compact",
        unit="/s",
        formula=r"\frac{\text{updates}}{\text{seconds inside the trainer}}",
        source="Measured by the clock of the run.",
    )


def _own_readouts(trainer: type[Trainer]) -> tuple[Readout, ...]:
    """Return the readouts of a trainer's own statistics."""
    return tuple(
        _statistic(name, label, OWN_STATS_HELP.get(name, f"{label}."), source=f"{trainer.paper}.")
        for name, label in trainer.own_stats.items()
    )


def readouts(trainer: Trainer, plan: TrainingPlan) -> tuple[Readout, ...]:
    """Return the readouts of a panel: those of every trainer, then the trainer's own statistics."""
    begun, spent = (plan.origin.update, plan.origin.seconds) if plan.origin else (0, 0.0)
    return (*COMMON, _own_speed(begun, spent), RECONSTRUCTION, *_own_readouts(type(trainer)))


def every_readout() -> tuple[Readout, ...]:
    """Return all numbers that a panel of this page can have."""
    own = {readout.label: readout for name in list_trainers() for readout in _own_readouts(trainers[name])}
    return (*COMMON, _own_speed(0, 0.0), RECONSTRUCTION, *own.values())


def filters(rbm: RBM, n_units: int) -> np.ndarray:
    """Return the weights of the first hidden units, uint8 (units, n_visible).

    128 is 0; 255 and 1 are plus and minus the largest absolute weight of these units.
    """
    W = rbm.W[:, :n_units].T
    largest = float(np.abs(W).max()) or 1.0
    return np.rint(128 + 127 * (W / largest)).astype(np.uint8)


def _trace(shown: TrainingSnapshot) -> np.ndarray | None:
    """Return update and value of the trainer's first own statistic, float64 (points, 2), or None."""
    own = next(iter(shown.algorithm.own_stats), None)
    if own is None:
        return None
    points = [(point.update, point.band(own)[0]) for point in shown.traces]
    trace = np.array(points, np.float64).reshape(-1, 2)
    return trace[np.isfinite(trace[:, 1])]


@frame_encoder(
    TrainingSnapshot, readouts, ("samples", "filters", "both"), adjust_all=Comparison.at_common_point
)
def encode(shown: TrainingSnapshot, request: FrameRequest, client: ClientState) -> PanelContent | None:
    """Encode fantasies (``v`` or ``mean``) of a new update and, twice a second, ``trace`` and ``filters``.

    The numbers are those at the common point of all panels: ``standing`` says which, in words.
    """
    if shown.models and shown.models[0].n_visible != request.n_visible:
        return None
    blocks: dict[str, Block] = {}
    fantasy = shown.fantasy
    if request.view != "filters" and fantasy is not None and shown.n != client.newest_sent.get("updates"):
        if request.pixels == "mean":
            blocks["mean"] = fantasy.p[-request.cells :]
        else:
            blocks["v"] = Bits(fantasy.v[-request.cells :], fantasy.n_visible)
    slow = client.slow_due
    if slow:
        trace = _trace(shown)
        if trace is not None:
            blocks["trace"] = trace
        if request.view != "samples" and shown.models:
            blocks["filters"] = filters(shown.models[0], request.cells)
    newest_sent = {"updates": shown.n} if fantasy is not None else {}
    if not client.numbers_due:
        return PanelContent({}, blocks, client.after(newest_sent))
    standing = ""
    if shown.compared is not None:
        scores = shown.compared.scores
        standing = point_text(shown.compared, "updates", scores.update if scores is not None else None)
    knobs = {name: value for name, value in values_of(shown.algorithm).items() if not isinstance(value, str)}
    values = {"standing": standing, "knobs": knobs}
    return PanelContent(values, blocks, client.after(newest_sent, slow), shown.warning)


FIRST_KNOBS = {"learning_rate": 0, "k": 1}
"""Knobs that most trainers have stand first, in this order, at the same height in all panels.

The first knob of a panel stays while presenting, unless the address names others."""

_canvas = Canvas(Path(__file__).parent)


def train_grid(
    comparison: Comparison[TrainingSetup],
    url: str,
    *,
    view: str,
    pixels: str,
    side: int,
    present: bool,
    on_edit: OnTrigger,
    on_remove: OnTrigger,
    key: str,
    front: Callable[[Knob], bool] = lambda knob: knob.front,
    knobs_follow: bool = False,
    marks: Sequence[str] = (),
) -> None:
    """Draw the trainers' panels; see ``Canvas.mount``, and ``sample_grid`` for front, knobs_follow, marks."""
    dataset = comparison.setup.dataset
    origins = [origin_text(panel.worker.plan) for panel in comparison.panels]
    specs = panel_specs(comparison, readouts, front, origins, marks=marks)
    for spec, panel in zip(specs, comparison.panels, strict=True):
        spec["trace_label"] = next(iter(panel.worker.algorithm.own_stats.values()), "")
        spec["n_hidden"] = panel.worker.plan.n_hidden
        spec["knobs"].sort(key=lambda knob: FIRST_KNOBS.get(knob["name"], len(FIRST_KNOBS)))
    _canvas.mount(
        url,
        specs,
        view=view,
        pixels=pixels,
        side=side,
        n_visible=dataset.n_visible,
        shape=shape_of(dataset.n_visible, None, dataset),
        present=present,
        on_edit=on_edit,
        on_remove=on_remove,
        key=key,
        vocabulary=rarest_first(dataset, dataset.n_visible),
        knobs_follow=knobs_follow,
    )
