"""The live panels of the Sample page: newest samples, class strips over time, scores."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rbmviz.charts.style import titles
from rbmviz.knobs import Knob, knobs_of, value_text
from rbmviz.metrics.findings import Traces
from rbmviz.metrics.numbers import ISL_OF_MEANS, ISL_OF_SAMPLES, OF_EVERY_SAMPLER, SCORES, Number
from rbmviz.pages import PAGES
from rbmviz.pages.sample import live_numbers
from rbmviz.samplers import Sampler
from rbmviz.session import Race, SamplingSetup, SamplingSnapshot
from rbmviz.session.sampling import MAX_SHOWN_SAMPLES, SamplingPlan
from rbmviz.session.snapshot import FEWEST_SCORED, Point
from rbmviz.view import VIEW_FOLDER
from rbmviz.view.curves import knobs_text
from rbmviz.view.frames import Bits, Block
from rbmviz.view.specs import NOT_SCORED, class_shares, rarest_first, shape_of
from rbmviz_app.compared import point_text
from rbmviz_app.panel import Canvas, algorithms_of, numeric_knobs, panel_specs
from rbmviz_app.race import PageRace
from rbmviz_app.stream.encoder import ClientState, PanelContent, frame_encoder
from rbmviz_app.stream.requests import FrameRequest

MAX_TRACED = 8
"""Maximum number of chains whose free energy is drawn."""

PATH_EVERY = 30
"""Samples between two times that the path of a ladder's replicas is sent."""

ALL_EMPTY = "The last {} samples are all empty: the chain is stuck at the blank image."


def readouts(sampler: Sampler, plan: SamplingPlan) -> tuple[Number, ...]:
    """Return a panel's numbers: without data there are no scores, without labels no classes.

    While units are held, there is no comparison with the data (``specs.HELD``).
    """
    live = live_numbers(sampler)
    if plan.dataset is None:  # the two large numbers come first
        large = [number for number in OF_EVERY_SAMPLER if number.name in ("rate", "sweeps")]
        return (*large, *(number for number in OF_EVERY_SAMPLER if number not in large), *live)
    isl = ISL_OF_MEANS if plan.kernel == "mean" else ISL_OF_SAMPLES
    scores = tuple(isl if number is ISL_OF_SAMPLES else number for number in SCORES)
    if plan.dataset.train_labels is None:
        scores = tuple(number for number in scores if number.name in ("isl", "spurious", "blank", "ink"))
    if plan.clamp is not None and plan.clamp.holds:
        scores = tuple(number for number in scores if number.name not in ("isl", "class_coverage"))
    return (*scores, *OF_EVERY_SAMPLER, *live)


def change_text(named: Sequence[tuple[str, SamplingSnapshot]]) -> str:
    """Compare the ISL since the newest turn of a knob, if any, at equal numbers of samples.

    With the ISL before the turn, and with that of the best panel without a turn.
    """
    turned = [(name, snapshot) for name, snapshot in named if snapshot.past]
    if not turned:
        return ""
    name, snapshot = max(turned, key=lambda panel: panel[1].begin.samples)
    said = f"{name}: {turn_text(snapshot)}"
    if (points := points_of_turn(snapshot)) is None:
        return f"{said}, since sample {snapshot.begin.samples + 1:,}"
    before, at = points
    said += f": ISL after {at.n:,} samples {at.isl:.1f}, before {before.isl:.1f}"
    others = [
        (scores.isl.isl, other)
        for other, still in named
        if not still.past and (scores := still.scores_at("samples", at.n)) is not None
    ]
    return said + (f"; {max(others)[1]} had {max(others)[0]:.1f}" if others else "")


def points_of_turn(snapshot: SamplingSnapshot) -> tuple[Point, Point] | None:
    """Return the ISL before and since the newest turn, at the last number of samples that both have."""
    *_, before, now = snapshot.segments
    earlier = {point.n: point for point in before.curve}
    return next(((earlier[point.n], point) for point in reversed(now.curve) if point.n in earlier), None)


def turn_text(snapshot: SamplingSnapshot) -> str:
    """Describe the newest turn: each knob with its value before and now."""
    if not snapshot.turned:
        return knobs_text(snapshot.algorithm, snapshot.turned)
    knobs = knobs_of(snapshot.algorithm)
    return ", ".join(
        f"{knobs[name].label.lower()} {value_text(snapshot.before[name])} → {value_text(value)}"
        for name, value in snapshot.turned.items()
    )


def verdict_of(snapshot: SamplingSnapshot) -> dict[str, Any]:
    """Return whether the samples can be trusted: a mark, one line, and below it what was found."""
    findings = snapshot.findings
    if snapshot.clamp is not None:
        return NOT_SCORED
    if findings is None:
        return {"mark": "unsure", "verdict": "too early", "findings": []}
    more = [(one.sentence, one.source) for one in findings] or [(findings.sentence, "")]
    line = findings[0].line if findings else "nothing found" if findings.looked_at else "too early"
    said = f"{findings.n:,} samples: {', '.join(findings.looked_at)}"
    mark = "inexact" if findings and findings[0].name == "temperature" else findings.verdict
    return {"mark": mark, "verdict": line, "findings": [*more, ("Looked at", said)]}


def chain_blocks(traces: Traces, jumps: np.ndarray | None) -> dict[str, Block]:
    """Return the rows that were looked at, and how the classes changed, as blocks.

    Of at most MAX_TRACED chains; classes from 2 on, 1: unlike the data, 0: blank.
    """
    blocks: dict[str, Block] = {
        "energy": traces.energy[:MAX_TRACED].astype(np.float32),
        "energy_class": (traces.classes[:MAX_TRACED] + 2).astype(np.uint16),
        "autocorrelation": traces.autocorrelation.astype(np.float32),
    }
    return blocks if jumps is None else blocks | {"jumps": jumps.astype(np.uint32)}


def standing_text(snapshot: SamplingSnapshot) -> str:
    """Describe the point of a panel's scores; "" if there is nothing to compare."""
    if snapshot.compared is None or not any(segment.curve for segment in snapshot.segments):
        return ""
    if snapshot.too_few:
        return f"Too few yet: {snapshot.since_turn.samples} of {FEWEST_SCORED} samples since the change."
    scores = snapshot.compared.scores
    count = None if scores is None else scores.isl.n
    return point_text(snapshot.compared, "samples", count, turned=bool(snapshot.past))


@frame_encoder(SamplingSnapshot, readouts, ("sequence", "single"), adjust_all=Race.at_common_point)
def encode(snapshot: SamplingSnapshot, request: FrameRequest, client: ClientState) -> PanelContent | None:
    """Encode the samples that the browser lacks (``v``, ``mean``), and the class shares over time.

    The first ``bins_before`` bins of the shares precede a turn of a knob. Before the first sample, the
    chains' starts are shown (``start``).

    The scores belong to the common point of all panels, described by ``standing``. They count samples since
    the turn of a knob described by ``since``. A frame without numbers has only the samples.
    """
    newest = snapshot.newest_samples
    if newest.n_visible != request.n_visible:
        return None
    fitting = request.cells if request.view == "sequence" else 1
    n = snapshot.n
    n_new = max(0, min(n - client.newest_sent.get("samples", 0), len(newest.v), fitting))
    blocks: dict[str, Block] = {}
    if n_new and (request.pixels == "binary" or request.view == "single"):
        blocks["v"] = Bits(newest.v[-n_new:], newest.n_visible)
    if n_new and (request.pixels == "mean" or request.view == "single"):
        blocks["mean"] = newest.p[-n_new:]
    if snapshot.start_picture is not None and request.view == "sequence":
        blocks["start"] = Bits(snapshot.start_picture[:fitting], newest.n_visible)
    # A run at rest has no pictures; they are sent once the run has been rebuilt.
    newest_sent = {**client.newest_sent, "samples": n} if len(newest.v) else {}
    if not client.numbers_due:
        return PanelContent({}, blocks, client._replace(newest_sent=newest_sent))
    v, since = newest.v, ""
    # The newest sample first: it is rarely empty, and checking all takes half of a frame's time.
    all_empty = len(v) == MAX_SHOWN_SAMPLES and not v[-1].tobytes().strip(b"\0") and not v.any()
    if snapshot.past:
        turned = knobs_text(snapshot.algorithm, snapshot.turned)
        since = f"Since sample {snapshot.begin.samples + 1:,}: {turned}"
    said: dict[str, Any] = {"standing": standing_text(snapshot), "since": since}
    said["knobs"] = numeric_knobs(snapshot.algorithm)
    said |= verdict_of(snapshot)
    findings = snapshot.findings
    if findings is not None and findings.traces is not None:
        traced = snapshot.begin.samples + findings.n
        said["stride"] = findings.traces.stride
        if client.newest_sent.get("traced") != traced:  # a new look
            blocks |= chain_blocks(findings.traces, snapshot.jumps)
            newest_sent["traced"] = traced
    occupancy, blanks = snapshot.occupancy, snapshot.blanks
    if occupancy is not None and blanks is not None and occupancy.size:
        totals = (occupancy.sum(axis=1) + blanks)[:, None]  # blank samples have no class
        blocks["class_shares"] = np.rint(255 * occupancy / np.maximum(totals, 1)).astype(np.uint8)
        said["bins_before"] = snapshot.bins_before
    warning, ladder = ALL_EMPTY.format(len(v)) if all_empty else "", snapshot.ladder
    if ladder is not None:
        said["ladder"] = {
            **{"samples": ladder.samples, "beta": ladder.beta.tolist(), "trips": ladder.trips},
            **{"swaps": [None if np.isnan(x) else x for x in ladder.swap_rates.tolist()]},
            "barrier": ladder.barrier,
        }
        warning = warning or ladder.warning
        if len(ladder.path) and n - client.newest_sent.get("path", 0) >= PATH_EVERY:
            blocks["path"] = ladder.path.astype(np.uint8)
            newest_sent["path"] = n
    return PanelContent(said, blocks, client._replace(newest_sent=newest_sent), warning)


def units_of(setup: SamplingSetup) -> list[int]:
    """Return the value at which each unit is held, and -1 for each free one."""
    units: list[int] = setup.held_units().units.tolist()
    return units


_canvas = Canvas(VIEW_FOLDER / "sample", charts=True)


def sample_grid(
    race: PageRace[SamplingSetup],
    *,
    front: Callable[[Knob], bool] = lambda knob: knob.live,
    knobs_follow: bool = False,
    marks: Sequence[str] = (),
    recorded: str = "",
    names_parts: bool = False,
    **mounted: Any,
) -> None:
    """Draw the samplers' panels; ``mounted`` holds further arguments of ``Canvas.mount``.

    front : whether a knob may always be visible; the first two such knobs are
    knobs_follow : whether controls follow knobs changed elsewhere, such as by the pointer on a map
    marks : words to put before the panels' titles
    recorded : address of an animation of these panels, shown while their kernels are compiled
    names_parts : whether small labels on the first panel name its parts, until a slider is dragged
    """
    model, dataset, held = race.setup.model, race.setup.dataset, race.setup.clamp
    n_visible = model.rbm.n_visible
    shares = class_shares(dataset)
    own: dict[str, Any] = {
        "classes": dataset.classes if dataset and shares else (),
        "data_shares": [] if held else shares,
        "held": units_of(race.setup) if held else [],
        "vocabulary": rarest_first(dataset, n_visible),
        "knobs_follow": knobs_follow,
        "recorded": recorded,
        "names_parts": names_parts,
        "usual_side": PAGES["sample"].settings["cells"].default,
    }
    names = titles(algorithms_of(race), marks=marks)
    _canvas.mount(
        race,
        panel_specs(race, readouts, front, names, multiples=True, marks=marks),
        n_visible=n_visible,
        shape=shape_of(n_visible, model.meta.get("image_shape"), dataset),
        **own,
        **mounted,
    )
