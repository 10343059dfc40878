"""The live panels of the Train page: fantasies and filters of a learning model, and its scores."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rbmviz.charts.style import titles
from rbmviz.knobs import Knob
from rbmviz.metrics.numbers import OF_EVERY_TRAINER, RECONSTRUCTION, Number, own_numbers, trainers_speed
from rbmviz.pages import PAGES
from rbmviz.session import TrainingSetup, TrainingSnapshot
from rbmviz.session.training import TrainingPlan
from rbmviz.trainers import Trainer
from rbmviz.view.frames import Bits, Block
from rbmviz.view.specs import rarest_first, shape_of
from rbmviz_app.compared import amount_text
from rbmviz_app.pages.train.charts import warm_start_text
from rbmviz_app.panel import Canvas, algorithms_of, numeric_knobs, panel_specs
from rbmviz_app.race import PageRace
from rbmviz_app.session import PageSettings
from rbmviz_app.stream.encoder import ClientState, PanelContent, frame_encoder
from rbmviz_app.stream.requests import FrameRequest
from rbmviz_app.stream.tiles import filters

Settings = PageSettings(PAGES["train"].settings)


def fresh_starts(race: PageRace[TrainingSetup]) -> list[Trainer]:
    """Return the trainers that began at small random weights, not at learned ones."""
    plan = race.setup.plan()
    return [panel.algorithm for panel in race.panels if panel.plan == plan]


def readouts(trainer: Trainer, plan: TrainingPlan) -> tuple[Number, ...]:
    """Return a panel's numbers: the common ones, then the trainer's own statistics."""
    begun, spent = (plan.warm_start.update, plan.warm_start.seconds) if plan.warm_start else (0, 0.0)
    own = own_numbers(type(trainer))
    return (*OF_EVERY_TRAINER, trainers_speed(begun, spent), RECONSTRUCTION, *own)


def _trace(snapshot: TrainingSnapshot) -> np.ndarray | None:
    """Return update and value of the trainer's first own statistic, float64 (points, 2), or None."""
    own = next(iter(snapshot.algorithm.own_stats), None)
    if own is None:
        return None
    points = [(point.update, point.band(own)[0]) for point in snapshot.traces]
    trace = np.array(points, np.float64).reshape(-1, 2)
    return trace[np.isfinite(trace[:, 1])]


@frame_encoder(TrainingSnapshot, readouts, ("samples", "filters", "both"))
def encode(snapshot: TrainingSnapshot, request: FrameRequest, client: ClientState) -> PanelContent | None:
    """Encode fantasies (``v`` or ``mean``) of a new update and, with the numbers, ``trace`` and ``filters``.

    The numbers are the panel's newest; ``standing`` says after which update the likelihood was computed.
    """
    if snapshot.models and snapshot.models[0].n_visible != request.n_visible:
        return None
    blocks: dict[str, Block] = {}
    fantasy = snapshot.fantasy
    if request.view != "filters" and fantasy is not None and snapshot.n != client.newest_sent.get("updates"):
        if request.pixels == "mean":
            blocks["mean"] = fantasy.p[-request.cells :]
        else:
            blocks["v"] = Bits(fantasy.v[-request.cells :], fantasy.n_visible)
    newest_sent = {"updates": snapshot.n} if fantasy is not None else {}
    if not client.numbers_due:
        return PanelContent({}, blocks, client._replace(newest_sent=newest_sent))
    trace = _trace(snapshot)
    if trace is not None:
        blocks["trace"] = trace
    if request.view != "samples" and snapshot.models:
        blocks["filters"] = filters(snapshot.models[0], slice(request.cells))
    newest = snapshot.likelihoods[-1] if snapshot.likelihoods else None
    standing = f"Scored at {amount_text('updates', newest.update)}" if newest is not None else ""
    values = {"standing": standing, "knobs": numeric_knobs(snapshot.algorithm)}
    return PanelContent(values, blocks, client._replace(newest_sent=newest_sent), snapshot.warning)


FIRST_KNOBS = {"learning_rate": 0, "k": 1}
"""Knobs of most trainers, which come first, in this order, at the same height in all panels.

While presenting, only a panel's first knob stays, unless the address names others."""

_canvas = Canvas(Path(__file__).parent)


def train_grid(
    race: PageRace[TrainingSetup],
    *,
    front: Callable[[Knob], bool] = lambda knob: knob.front,
    knobs_follow: bool = False,
    marks: Sequence[str] = (),
    **mounted: Any,
) -> None:
    """Draw the trainers' panels; see ``sample_grid``."""
    dataset = race.setup.dataset
    begun = [warm_start_text(panel.plan) for panel in race.panels]
    names = titles(algorithms_of(race), begun, marks)
    specs = panel_specs(race, readouts, front, names, marks=marks)
    for spec, panel, start in zip(specs, race.panels, begun, strict=True):
        spec["trace_label"] = next(iter(panel.algorithm.own_stats.values()), "")
        spec["head"][1] = (spec["head"][1] + start).strip()
        spec["n_hidden"] = panel.plan.n_hidden
        spec["knobs"].sort(key=lambda knob: FIRST_KNOBS.get(knob["name"], len(FIRST_KNOBS)))
    _canvas.mount(
        race,
        specs,
        n_visible=dataset.n_visible,
        shape=shape_of(dataset.n_visible, None, dataset),
        vocabulary=rarest_first(dataset, dataset.n_visible),
        knobs_follow=knobs_follow,
        **mounted,
    )
