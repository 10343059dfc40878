"""Page that runs samplers: that of a replay file, with kernels, chains and data for scores.

They are in a second frame, ``live``, with the worker's script as text; the page starts the worker from a
blob.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rbmviz import browser
from rbmviz.browser.chains import STORED_SEEDS, Blocks, chain_spec, check_runs, turnable
from rbmviz.browser.findings import diagnosis_data
from rbmviz.browser.landscapes import walk_data
from rbmviz.browser.scores import contents as scores_of
from rbmviz.browser.scores import score_data
from rbmviz.charts import Style, styled
from rbmviz.charts.style import colours, titles
from rbmviz.datasets import Dataset
from rbmviz.errors import BadInput
from rbmviz.knobs import values_of
from rbmviz.metrics import Landscape
from rbmviz.metrics.numbers import Number
from rbmviz.rbm import Model
from rbmviz.samplers import Sampler
from rbmviz.session import SamplingSetup
from rbmviz.view import VIEW_FOLDER
from rbmviz.view.curves import MIN_CURVE_SAMPLES, isl_plot
from rbmviz.view.frames import write_frame
from rbmviz.view.replay import assembled, page_data, panel_data, scores_without_server, shared_script
from rbmviz.view.specs import NOT_SCORED, knob_spec

MAX_WEIGHT_BYTES = 40_000_000
"""Maximum size of weights and rates in a page: phones take too long to open larger pages."""

LIVE_POLICY = "'wasm-unsafe-eval'; worker-src blob:; connect-src 'none'"
"""Permissions of the page beyond its own script: compile the kernels, and start workers with them."""

Starts = Sequence[tuple[int, np.ndarray | None]]
"""Seeds, with the starts of their chains; None: random bits."""


def check_size(model: Model) -> None:
    """Raise BadInput if a model is too large for a page."""
    size = model.rbm.W.nbytes + (model.rates.W.nbytes if model.rates is not None else 0)
    if size > MAX_WEIGHT_BYTES:
        raise BadInput(
            f"A model of {model.rbm.n_visible:,} x {model.rbm.n_hidden:,} units is too large for a page: its "
            f"weights and rates take {size / 1e6:,.0f} MB, and {MAX_WEIGHT_BYTES / 1e6:,.0f} MB is the limit."
        )


def check_playable(samplers: Sequence[Sampler], model: Model) -> None:
    """Raise BadInput unless a page can run the samplers on the model."""
    check_size(model)
    for sampler in samplers:
        check_runs(sampler)


def starts_of(setup: SamplingSetup) -> Starts:
    """Return the seeds of a page, beginning with the setup's, and the starts of their chains."""
    seeds = range(setup.seed, setup.seed + STORED_SEEDS)
    return [(seed, setup._replace(seed=seed).starts(1)) for seed in seeds]


@dataclass(frozen=True, eq=False)
class Live:
    """Samplers of one model that run in a page side by side, with the text around them.

    title, caption : heading, and a sentence below it
    dataset : data for scores and classes, of which the page has a part; None: no scores
    shape : (rows, columns) of a sample's picture
    starts : seeds to choose from, with the starts of their chains
    side : rows and columns of the square of samples in a panel
    speed : initial samples per second
    """

    title: str
    caption: str
    model: Model
    samplers: Sequence[Sampler]
    dataset: Dataset | None
    shape: tuple[int, int]
    starts: Starts
    side: int
    speed: float

    @property
    def draws(self) -> bool:
        """Whether there is a pen: not for texts, nor for models whose units are in no picture."""
        data, declared = self.dataset, self.model.meta.get("image_shape")
        return (
            bool(declared) if data is None else data.vocabulary is None and bool(declared or data.image_shape)
        )


def play_html(live: Live) -> bytes:
    """Return the page, as the bytes of an HTML file; see ``live_frames``."""
    script = live_script() + "\nwindow.rbmviz = SCRIPTS;\nshowRuns(livePage);\n"
    sheets = [(VIEW_FOLDER / "pen.css").read_text("utf-8")]
    return assembled(live.title, live_frames(live), script, LIVE_POLICY, sheets, live.caption)


def live_script(*more: Path) -> str:
    """Return the scripts of a live page, which do nothing by themselves; ``more``: see ``shared_script``."""
    files = (VIEW_FOLDER / f"{name}.js" for name in ("tile", "pen", "live"))
    own = browser.KERNELS_FOLDER / "model.js", *files
    return "\n".join([shared_script(*more), *(file.read_text("utf-8") for file in own)])


def live_frames(live: Live) -> dict[str, bytes]:
    """Return the frames of the page: ``run`` with its panels, and ``live`` with the data for sampling."""
    engine = Engine(live.dataset)
    page, heads = live_page(live, engine)
    made = engine.frame(engine.runs(live.samplers, live.model, live.starts))
    return {"run": write_frame(page, [(head, {}) for head in heads]), "live": made}


def live_page(live: Live, engine: "Engine") -> tuple[dict[str, Any], "Heads"]:
    """Return the data that all panels of a page share, and the heads of the panels."""
    page, heads = sampling_page(live, engine.scores)
    if engine.scores is not None and live.dataset is not None:
        page |= {"contains": contents(live.dataset)}
    return page | {"pen": NOT_SCORED if live.draws else None}, heads


Heads = list[dict[str, Any]]
"""The heads of a page's panels, see ``ReplayHead`` in ``replay.js``."""


def sampling_page(live: Live, scores: Mapping[str, Any] | None) -> tuple[dict[str, Any], Heads]:
    """Return the data that all panels share, and the heads of the panels; scores : see ``score_data``."""
    dataset, n_visible = live.dataset if scores is not None else None, live.model.rbm.n_visible
    page = page_data(live.title, live.caption, n_visible, live.shape, dataset)
    styles = styled(titles(live.samplers), colours(live.samplers))
    isl = isl_plot(styles)
    axes = isl.empty("ISL") | {"x": isl.x.content(), "y": isl.y.content()}
    page |= {"side": live.side, "speed": live.speed, "isl": axes if scores is not None else None}
    numbers = scores_without_server(
        isl=scores is not None,
        classes=bool(page["classes"]),
        blank=scores is not None,
        spurious=scores is not None and scores["threshold"] >= 0,
    )
    return page, heads_of(styles, live.samplers, numbers)


def heads_of(styles: Sequence[Style], samplers: Sequence[Sampler], numbers: Sequence[Number]) -> Heads:
    """Return the heads of runs that have not begun; numbers : numbers of each panel."""
    empty = {"first": 0, "n_chains": 1, "segments": [], "knobs_at": []}
    return [
        empty | {"key": key, "spec": panel_data(key, style, sampler, numbers) | live_knobs(sampler)}
        for key, (style, sampler) in enumerate(zip(styles, samplers, strict=True))
    ]


def contents(dataset: Dataset) -> str:
    """Return the sentence about the data in a page."""
    return f"This page contains {scores_of(dataset)}."


class Engine:
    """What a page needs to run samplers: kernels, and the arrays that its runs share.

    dataset : data to score against; None: none yet
    scores : their description for the page's scripts; None if a page cannot score against them
    blocks : the arrays
    """

    def __init__(self, dataset: Dataset | None) -> None:
        self.blocks = Blocks()
        self.score_against(dataset)

    def score_against(self, dataset: Dataset | None) -> None:
        """Score the runs that follow against these data."""
        self.dataset = dataset
        self.scores, self._score_blocks = score_data(dataset)

    def runs(
        self, algorithms: Sequence[Sampler], model: Model, starts: Starts, land: Landscape | None = None
    ) -> dict[str, Any]:
        """Return runs of a model, whose arrays join the others; land : a landscape on which they walk."""
        check_size(model)
        scores = dict(self.scores or {}) if land is None else {}
        return {
            "chains": [chain_spec(sampler, model, starts, self.blocks) for sampler in algorithms],
            "curve_counts": scores.pop("counts", []),
            "scores": scores or None,
            "diagnosis": diagnosis_data(self.dataset if scores else None),
            "walk": None if land is None else walk_data(model, land),
            "values": [values_of(sampler) for sampler in algorithms],
        }

    def frame(self, data: Mapping[str, Any], *, whole: bool = True) -> bytes:
        """Return the frame of the page with these data and all arrays; whole : with ``kernels_of_page``."""
        own, kernels = kernels_of_page() if whole else ({}, {})
        return write_frame({**own, **data}, [({}, {**self.blocks.by_name, **self._score_blocks, **kernels})])


def kernels_of_page() -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return what is the same for all models: the workers' script with its constants, and the kernels."""
    scripts = "model.js", "engine.js", "clamp.js", "findings.js", "landscape.js", "pairs.js", "worker.js"
    own = {
        "worker": "\n".join((browser.KERNELS_FOLDER / name).read_text("utf-8") for name in scripts),
        "signatures": browser.signatures(),
        "fewest_curve": MIN_CURVE_SAMPLES,
        "line": isl_plot(()).line_content(),
    }
    return own, {"wasm": np.frombuffer(browser.module(), np.uint8)}


def live_knobs(sampler: Sampler) -> dict[str, object]:
    """Return the entries of a panel's spec for the knobs that can be turned while the chain runs."""
    knobs, values = turnable(sampler), values_of(sampler)
    return {
        "sampler": sampler.name,
        "knobs": [knob_spec(knob) | {"front": knob.front} for knob in knobs.values()],
        "values": {name: values[name] for name in knobs},
    }
