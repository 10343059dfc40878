"""The live panels of the Sample page: newest samples, class strips over time, scores."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rbmviz.datasets import Dataset
from rbmviz.knobs import Knob, knobs_of, values_of
from rbmviz.metrics.live import live_metrics_of
from rbmviz.samplers import Sampler
from rbmviz.samplers.interleave import MAX_CHAINS
from rbmviz.session import Comparison, SamplingSetup, SamplingSnapshot
from rbmviz.session.sampling import MAX_SHOWN_SAMPLES, SamplingPlan
from rbmviz.session.snapshot import FEWEST_SCORED
from rbmviz_app.compared import point_text
from rbmviz_app.panel import Canvas, OnTrigger, panel_specs, rarest_first, shape_of
from rbmviz_app.panel.readouts import Readout, Value, rate_readout, readout_of
from rbmviz_app.stream.encoder import ClientState, PanelContent, frame_encoder
from rbmviz_app.stream.frames import Bits, Block
from rbmviz_app.stream.requests import FrameRequest

ALL_EMPTY = (
    "The last {} samples are all empty: this model holds the chain there, and hardly lets it out again."
)


def _isl(shown: SamplingSnapshot) -> Value:
    return None if shown.newest is None else (shown.newest.isl, shown.newest.std_error)


def _percent(share: float | None) -> Value:
    return None if share is None else 100 * share


VISITED = Readout(
    "visited",
    "Classes visited",
    "How many of the kinds of picture in the data (of digits: 0 to 9) the chain has shown so far. A sample "
    "belongs to the class of the training example that it differs least from. Blank images, and others that "
    "look like nothing in the data, visit no class. A chain that sticks stays at 1 or 2.",
    lambda shown: shown.visited,
    "of",
    formula=r"\left|\left\{ c(s) : s \text{ not spurious} \right\}\right|",
    source="Computed here: c(s) is the class of the nearest of at most 5,000 training examples, by the "
    "number of pixels that differ.",
    lead=True,
)

ISL_READOUT = Readout(
    "isl",
    "ISL",
    "Indirect sampling likelihood: how well the samples so far foretell the pictures of the test part. It is "
    "highest, which is nearest to zero, where the samples are good and there are some near "
    "every test picture: a chain that shows one digit only scores low. Nats for each test picture, ± its "
    "standard error. After a turn of a knob it counts the samples since then; the chain goes on where it is, "
    "so that the first of them still owe something to the knobs before.",
    _isl,
    "with_error",
    formula=r"\left\langle \log \frac{1}{n} \sum_{s} \prod_{d} "
    r"\beta^{[t_d = s_d]} (1 - \beta)^{[t_d \ne s_d]} \right\rangle_{t \in \text{test}}",
    source="Breuleux, Bengio, Vincent (2011); rates-FPCD, section 5. The kernel’s β is chosen on the "
    "validation part. The error is that over the test pictures, not over other runs.",
    lead=True,
)

ISL_OF_MEANS = replace(
    ISL_READOUT,
    formula=r"\left\langle \log \frac{1}{n} \sum_{s} \prod_{d} q_{sd}^{t_d} (1 - q_{sd})^{1 - t_d} "
    r"\right\rangle_{t \in \text{test}},\ q_{sd} = 1 - \beta + (2 \beta - 1)\, p_{sd}",
    source="Breuleux, Bengio, Vincent (2011); rates-FPCD, section 5, but with the means p of the samples in "
    "place of their bits, so that it is higher than with the binary kernel. The kernel’s β is chosen on the "
    "validation part. The error is that over the test pictures, not over other runs.",
)
"""The ISL with the mean kernel."""

SPURIOUS = Readout(
    "spurious",
    "Spurious",
    "Share of the samples that look like nothing in the data: blank ones, and those farther from every "
    "training example than 99 % of held-out pictures are. Watch it rise with the step size.",
    lambda shown: _percent(shown.spurious),
    "fixed1",
    unit="%",
    formula=r"\frac{1}{n} \left|\left\{ s : s \text{ blank, or } \min_x |s - x| > q_{99} \right\}\right|",
    source="Computed here: |s − x| is the number of pixels that differ, q their 99th percentile for "
    "validation and test pictures.",
)

SCORES = (
    VISITED,
    ISL_READOUT,
    Readout(
        "class_coverage",
        "Class coverage",
        "How evenly the classes are visited: 100 % if each comes as often as in the data, 10 % if the chain "
        "shows one of ten digits only. Spurious samples count for no class.",
        lambda shown: _percent(shown.class_coverage),
        "fixed1",
        unit="%",
        formula=r"\sum_{c} \min(\text{share of } c \text{ in samples},\ \text{share of } c \text{ in data})",
        source="Computed here: 1 minus the total variation distance of the two, where no sample is spurious.",
    ),
    Readout(
        "switches",
        "Class switches",
        "How often the class of the sample has changed, within each chain: a stuck chain has few. Here "
        "spurious samples, blank ones among them, count, too, as of the class that they are nearest to.",
        lambda shown: shown.switches,
        "compact",
        source="Counted, by the class of the nearest training example.",
    ),
    SPURIOUS,
    Readout(
        "blank",
        "Blank",
        "Share of the samples that are nearly empty images: fewer than half as many pixels are on as in the "
        "emptiest 1 % of the training examples. Where an empty image belongs to the data, none is blank.",
        lambda shown: _percent(shown.blank),
        "fixed1",
        unit="%",
        formula=r"\frac{1}{n} \left|\left\{ s : \sum_d s_d < \frac{1}{2} q_1 \right\}\right|",
        source="Computed here: q is the first percentile of the number of pixels on in the training "
        "examples.",
    ),
    Readout(
        "ink",
        "Ink",
        "Mean share of the pixels that are on: it falls where a chain fades to blank images, and rises where "
        "its strokes become bolder than those of the data.",
        lambda shown: _percent(shown.ink),
        "fixed1",
        unit="%",
        formula=r"\frac{1}{n} \sum_s \frac{1}{D} \sum_d s_d",
        source="Counted.",
    ),
)
"""Numbers of samplers that are scored against data."""

READOUTS = (
    rate_readout("Samples"),
    Readout(
        "own_speed",
        "Sampler’s own speed",
        "Samples that the sampler would make in a second if it did nothing else: without pauses, scoring "
        "and other panels. It is highest at full speed, in long chunks.",
        lambda shown: (
            shown.since_turn.samples / shown.since_turn.seconds if shown.since_turn.seconds else None
        ),
        "compact",
        unit="/s",
        formula=r"\frac{n}{\text{seconds inside the sampler}}",
        source="Measured by the clock of the run since its first sample, or since a knob was turned.",
    ),
    Readout(
        "sweeps",
        "Sweeps/sample",
        "A sweep redraws all hidden units, then all visible ones. So many are spent on a sample, on average.",
        lambda shown: shown.since_turn.sweeps / shown.since_turn.samples if shown.n else None,
        formula=r"\frac{\text{sweeps}}{n}",
        source="Counted.",
    ),
    Readout(
        "fast_norm",
        "Fast norm",
        "How far the model that is sampled now has been pushed away from the one that was trained: Gibbs "
        "sampling never does so. Of several chains with a push each it is that of the newest sample’s chain.",
        lambda shown: shown.fast_norm,
        formula=r"|\theta_F| = \sqrt{\textstyle\sum_{ij} W_{F,ij}^2 + \sum_i b_{F,i}^2 + \sum_j c_{F,j}^2}",
        source="rates-FPCD, section 4.",
    ),
)
"""Numbers of every sampler."""


def live_readouts(n_chains: int) -> tuple[Readout, ...]:
    """Return the numbers of the live metrics of a run of so many chains."""
    return tuple(readout_of(number) for metric in live_metrics_of(n_chains) for number in metric.numbers)


def readouts(sampler: Sampler, plan: SamplingPlan) -> tuple[Readout, ...]:
    """Return the readouts of a panel: without data nothing is scored, without labels there are no classes."""
    live = live_readouts(sampler.n_chains)
    isl = ISL_READOUT if plan.kernel == "binary" else ISL_OF_MEANS
    if plan.dataset is None:
        return (
            *(replace(readout, lead=readout.name in ("rate", "sweeps")) for readout in READOUTS),
            *live,
        )
    if plan.dataset.train_labels is None:
        unlabelled = (
            isl,
            replace(SPURIOUS, lead=True),
            *(one for one in SCORES if one.name in ("blank", "ink")),  # those that need no classes
        )
        return (*unlabelled, *READOUTS, *live)
    return (*(isl if one is ISL_READOUT else one for one in SCORES), *READOUTS, *live)


def every_readout() -> tuple[Readout, ...]:
    """Return all numbers that a panel of this page can have."""
    return (*SCORES, *READOUTS, *live_readouts(MAX_CHAINS))


def all_empty(shown: SamplingSnapshot) -> bool:
    """Return whether all of the newest samples that are shown (MAX_SHOWN_SAMPLES) are empty images."""
    v = shown.newest_samples.v
    # The newest sample first, which is rarely empty: a look at all takes half of the time of a frame.
    return len(v) == MAX_SHOWN_SAMPLES and not v[-1].tobytes().strip(b"\0") and not v.any()


def knobs_text(algorithm: Sampler, turned: Mapping[str, Value]) -> str:
    """Say which values knobs were turned to."""
    known = knobs_of(algorithm)
    if not turned:
        return "all knobs as before"
    return ", ".join(
        f"{known[name].label} {value:.3g}" if isinstance(value, float) else f"{known[name].label} {value}"
        for name, value in turned.items()
    )


def since_text(shown: SamplingSnapshot) -> str:
    """Say since which sample the numbers count, and what was turned there; "" if no knob was."""
    if not shown.past:
        return ""
    return f"Since sample {shown.begin.samples + 1:,}: {knobs_text(shown.algorithm, shown.turned)}"


def standing_text(shown: SamplingSnapshot) -> str:
    """Say at which point the scores of a panel were taken; "" if there is nothing to compare."""
    if shown.compared is None or not any(segment.curve for segment in shown.segments):
        return ""
    if shown.too_few:
        return f"Too few yet: {shown.since_turn.samples} of {FEWEST_SCORED} samples since the turn."
    scores = shown.compared.scores
    made = None if scores is None else scores.isl.n
    return point_text(shown.compared, "samples", made, turned=bool(shown.past))


@frame_encoder(
    SamplingSnapshot,
    readouts,
    ("sequence", "single"),
    adjust_all=Comparison.at_common_point,
    look_back=Comparison.look_back,
)
def encode(shown: SamplingSnapshot, request: FrameRequest, client: ClientState) -> PanelContent | None:
    """Encode the samples that the browser does not have (``v``, ``mean``), and class shares over time.

    Of these the first ``bins_before`` bins are of samples from before a turn of a knob.

    Before the first sample the starts of the chains are shown (``start``).

    The scores are those at the common point of all panels: ``standing`` says which, in words, and ``since``
    says from which turn of a knob on they count. A frame without numbers has the samples only.
    """
    newest = shown.newest_samples
    if newest.n_visible != request.n_visible:
        return None
    fitting = request.cells if request.view == "sequence" else 1
    n = shown.n if shown.at is None else shown.at
    n_new = max(0, min(n - client.newest_sent.get("samples", 0), len(newest.v), fitting))
    blocks: dict[str, Block] = {}
    has_means = shown.at is None
    if n_new and (request.pixels == "binary" or request.view == "single" or not has_means):
        blocks["v"] = Bits(newest.v[-n_new:], newest.n_visible)
    if n_new and has_means and (request.pixels == "mean" or request.view == "single"):
        blocks["mean"] = newest.p[-n_new:]
    occupancy, blanks, slow = shown.occupancy, shown.blanks, False
    if occupancy is not None and blanks is not None and occupancy.size and client.slow_due:
        totals = (occupancy.sum(axis=1) + blanks)[:, None]  # the rest, blank ones, is of no class
        blocks["class_shares"] = np.rint(255 * occupancy / np.maximum(totals, 1)).astype(np.uint8)
        slow = True
    if shown.start_picture is not None and request.view == "sequence":
        blocks["start"] = Bits(shown.start_picture[:fitting], newest.n_visible)
    # A run at rest has no pictures; they are sent once it is rebuilt.
    newest_sent = {"samples": n} if len(newest.v) else {}
    if not client.numbers_due:
        return PanelContent({}, blocks, client.after(newest_sent))
    warning = ALL_EMPTY.format(len(newest.v)) if all_empty(shown) else ""
    knobs = {name: value for name, value in values_of(shown.algorithm).items() if not isinstance(value, str)}
    said: dict[str, Any] = {
        "standing": standing_text(shown),
        "since": since_text(shown),
        "knobs": knobs,
        "held_from": shown.held_from,
    }
    if slow:
        said["bins_before"] = shown.bins_before
    if shown.at is not None:
        said["at"] = shown.at
    return PanelContent(said, blocks, client.after(newest_sent, slow), warning)


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
    side: int,
    present: bool,
    on_edit: OnTrigger,
    on_remove: OnTrigger,
    on_multiply: OnTrigger,
    key: str,
    front: Callable[[Knob], bool] = lambda knob: knob.live,
    knobs_follow: bool = False,
    looks_back: bool = False,
    marks: Sequence[str] = (),
    recorded: str = "",
) -> None:
    """Draw the samplers' panels; see ``Canvas.mount``.

    front : whether a knob is in sight; the others are under "More knobs"
    knobs_follow : whether controls follow knobs that something else turns, as the pointer over a map
    looks_back : whether a slider goes back through the newest samples of paused panels
    marks : a word before the title of each panel
    recorded : address of a moving picture of these panels, shown while their kernels are compiled
    """
    model, dataset = comparison.setup.model, comparison.setup.dataset
    n_visible = model.rbm.n_visible
    shares = class_shares(dataset)
    own: dict[str, Any] = {
        "classes": dataset.classes if dataset and shares else (),
        "data_shares": shares,
        "vocabulary": rarest_first(dataset, n_visible),
        "knobs_follow": knobs_follow,
        "looks_back": looks_back,
        "recorded": recorded,
    }
    _canvas.mount(
        url,
        panel_specs(
            comparison,
            readouts,
            front=front,
            multiples=True,
            marks=marks,
        ),
        view=view,
        pixels=pixels,
        side=side,
        n_visible=n_visible,
        shape=shape_of(n_visible, model.meta.get("image_shape"), dataset),
        present=present,
        on_edit=on_edit,
        on_remove=on_remove,
        on_multiply=on_multiply,
        key=key,
        **own,
    )
