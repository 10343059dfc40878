"""A lesson as a page without a server: the browser runs its steps and evaluates their claims."""

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np

from rbmviz import browser
from rbmviz.browser.chains import Blocks
from rbmviz.browser.scores import score_data
from rbmviz.charts import Style, styled
from rbmviz.charts.style import colours, titles
from rbmviz.datasets import Dataset
from rbmviz.errors import BadInput
from rbmviz.lessons import Lesson, PageState, Step
from rbmviz.metrics import landscape
from rbmviz.metrics.landscape import state_bits
from rbmviz.metrics.numbers import OF_LANDSCAPE, SCORES, Number
from rbmviz.models import describe_model
from rbmviz.samplers import Sampler
from rbmviz.session.unit_by_unit import UnitByUnit
from rbmviz.view.curves import isl_plot
from rbmviz.view.formulas import mathml
from rbmviz.view.frames import write_frame
from rbmviz.view.live import (
    LIVE_POLICY,
    all_blocks,
    check_size,
    contents,
    engine_data,
    live_data,
    live_knobs,
    live_script,
)
from rbmviz.view.replay import FASTEST, assembled, page_data, panel_data, scores_without_server
from rbmviz.view.specs import shape_of
from rbmviz_app.card import look_words, panel_names, stated_words, watched_words
from rbmviz_app.pages.chain.landscape import landscape_line
from rbmviz_app.pages.chain.panel import TRAIL_SIDE, land_data
from rbmviz_app.share.page import CHAIN_FOLDER, SHARE_FOLDER, units_script, units_style
from rbmviz_app.share.prose import marked

PLAY_FOLDER = SHARE_FOLDER.parent / "play"

MATRIX_PICTURE = PLAY_FOLDER / "matrix.webp"
"""Picture of the matrix part of the page How it works (``.ci/doc-pictures matrix``)."""

BROWSER_NUMBERS = {
    "sample": {"sweeps", "largest_class"} | {number.name for number in SCORES} - {"ink"},
    "chain": {"empty", "states"} | {number.name for number in OF_LANDSCAPE} - {"rate"},
}
"""Numbers of each page that browsers can compute; claims may be about these only."""


class LessonPage:
    """Builder of a lesson's page: the data of its steps, and the arrays that they share."""

    def __init__(self) -> None:
        self.blocks = Blocks()
        self.dataset: Dataset | None = None
        self.scores: dict[str, Any] | None = None
        self.score_blocks: dict[str, np.ndarray] = {}

    def step(self, step: Step) -> dict[str, Any]:
        """Return the data of a step; BadInput if a browser cannot run it."""
        state = step.state
        if step.goal or state.branches:
            raise BadInput("a challenge or a branch has no form for browsers.")
        if state.page not in BROWSER_NUMBERS:
            raise BadInput(f"the page {state.page} has no form for browsers; sample and chain have one.")
        for claim in step.claims:
            if unknown := {metric for _, metric in claim.about} - BROWSER_NUMBERS[state.page]:
                raise BadInput(
                    f"the claim '{claim.text}' is about {min(unknown)}, which browsers do not count."
                )
        part = state.settings.get("little", "landscape")
        if state.page == "chain" and part != "landscape":
            return {"part": part, "card": card_data(step, part)}
        data = walk_page(state, self.blocks) if state.page == "chain" else self._samples(state)
        return data | {"part": "live", "card": card_data(step, "live")}

    def _samples(self, state: PageState) -> dict[str, Any]:
        setup, algorithms, settings = state.setup(), state.algorithms(), state.settings
        if settings["kernel"] != "binary":
            raise BadInput(
                f"kernel = {settings['kernel']}: browsers compute the ISL with binary samples only."
            )
        model, dataset = setup.model, setup.dataset
        check_size(model)
        self._score_against(dataset)
        styles = styled(titles(algorithms), colours(algorithms))
        named = dataset is not None and dataset.train_labels is not None
        numbers = scores_without_server(isl=self.scores is not None, classes=named, blank=True, spurious=True)
        isl = isl_plot(styles)
        page = page_data(
            "",
            f"{settings['model']}: {describe_model(model)}.",
            model.rbm.n_visible,
            shape_of(model.rbm.n_visible, model.meta.get("image_shape"), dataset),
            dataset,
            dataset.classes if named and dataset is not None else (),
        ) | {
            "side": settings["cells"],
            "usual_side": settings["cells"],
            "speed": min(settings["speed"], FASTEST),
            "view": settings["view"],
            "isl": isl.empty("ISL") | {"x": isl.x.content(), "y": isl.y.content()},
        }
        heads = heads_of(styles, algorithms, numbers)
        starts = [(setup.seed, setup.starts(1))]
        live = live_data(algorithms, model, starts, self.blocks, self.scores)
        return {"page": page, "heads": heads, "live": live}

    def _score_against(self, dataset: Dataset | None) -> None:
        if dataset is None:
            raise BadInput("its model does not say what data it learned, against which samples are scored.")
        if self.dataset is not None and self.dataset.name != dataset.name:
            raise BadInput(f"it scores against {dataset.name}, and another step against {self.dataset.name}.")
        if self.dataset is None:
            self.dataset = dataset
            self.scores, self.score_blocks = score_data(dataset)


def walk_page(state: PageState, blocks: Blocks) -> dict[str, Any]:
    """Return the data of a page with walks over a landscape; array contents are added to ``blocks``."""
    setup, algorithms, settings = state.setup(), state.algorithms(), state.settings
    model = setup.model
    rbm, name = model.rbm, settings["land"]
    shape = shape_of(rbm.n_visible, model.meta.get("image_shape"))
    land = landscape(rbm, settings["land_order"])
    styles = styled(titles(algorithms), colours(algorithms))
    page = page_data("", landscape_line(name, setup), rbm.n_visible, shape, None, ()) | {
        "side": TRAIL_SIDE,
        "speed": min(settings["land_pace"], FASTEST),
        "isl": None,
        "view": "landscape",
        "land": land_data(land, shape),
        "start": land.valleys[0].floor,
    }
    heads = heads_of(styles, algorithms, OF_LANDSCAPE)
    starts = [(setup.seed, state_bits(land.valleys[0].floor, rbm.n_visible))]
    return {"page": page, "heads": heads, "live": live_data(algorithms, model, starts, blocks, land=land)}


def heads_of(
    styles: Sequence[Style], algorithms: Sequence[Sampler], numbers: Sequence[Number]
) -> list[dict[str, Any]]:
    """Return the heads of runs that have not begun; numbers : numbers of each panel."""
    empty = {"first": 0, "n_chains": 1, "segments": [], "knobs_at": []}
    return [
        empty | {"key": key, "spec": panel_data(key, style, sampler, numbers) | live_knobs(sampler)}
        for key, (style, sampler) in enumerate(zip(styles, algorithms, strict=True))
    ]


def card_data(step: Step, part: str) -> dict[str, Any]:
    """Return the card of a step; its claims are ``Claim``s of ``claims.js``, with their words.

    part : "live", or the part that the step's page shows; the card of "matrix" has nothing to do or look at
    """
    page, names = step.state.page, panel_names(step)
    fields = ("panel", "metric", "operator", "number", "of", "n")
    claims = [
        {name: getattr(claim, name) for name in fields}
        | {"before": watched_words(claim, page, names), "after": stated_words(claim, page, names)}
        | {"unit": claim.with_unit(page, "").strip("\u00a0")}
        for claim in step.claims
    ]
    return {
        "title": step.title,
        "text": marked(step.text),
        "question": marked(step.question),
        "answers": list(step.answers),
        "right": step.right,
        "hold": step.hold,
        "blind": step.blind,
        "do": marked(step.do) if part != "matrix" else [],
        "look": step.look if part != "matrix" else "",
        "look_words": look_words(step) if step.look else "",
        "reveal": marked(step.reveal),
        "formula": mathml(step.formula, "block") if step.formula else "",
        "claims": claims,
    }


def units_data() -> dict[str, Any]:
    """Return the ``UnitsSpec`` of ``units.js``."""
    state = UnitByUnit.begin()
    return {
        "W": state.rbm.W.tolist(),
        "b": state.rbm.b.tolist(),
        "c": state.rbm.c.tolist(),
        "v": state.v.tolist(),
        "random": [state.random(i) for i in range(1000)],  # then they repeat
    }


def lesson_html(lesson: Lesson) -> tuple[bytes, Dataset | None]:
    """Return the HTML page of a lesson, as bytes, and the data set that it contains in part, if any.

    Raises BadInput if a step has no form for browsers.
    """
    page, steps = LessonPage(), []
    for i, step in enumerate(lesson.steps, start=1):
        try:
            steps.append(page.step(step))
        except BadInput as error:
            raise BadInput(f"The lesson '{lesson.name}', step {i}: {error}") from None
    data = engine_data() | {
        "title": lesson.title,
        "steps": steps,
        "contains": contents(page.dataset) if page.dataset is not None else "",
    }
    if any(step["part"] == "units" for step in steps):
        data["units"] = units_data()
    if any(step["part"] == "matrix" for step in steps):
        data["matrix"] = f"data:image/webp;base64,{base64.b64encode(MATRIX_PICTURE.read_bytes()).decode()}"
    frame = write_frame(data, [({}, all_blocks(page.blocks, page.score_blocks))])
    files = (
        browser.KERNELS_FOLDER / "claims.js",
        browser.KERNELS_FOLDER / "units.js",
        SHARE_FOLDER / "lesson_card.js",
        PLAY_FOLDER / "lesson.js",
    )
    own = (file.read_text("utf-8") for file in files)
    script = "\n".join([live_script(CHAIN_FOLDER / "panel.js"), units_script(), *own])
    styles = (SHARE_FOLDER / "lesson_card.css", PLAY_FOLDER / "lesson.css")
    sheets = [*(file.read_text("utf-8") for file in styles), units_style()]
    return assembled(lesson.title, {"lesson": frame}, script, policy=LIVE_POLICY, sheets=sheets), page.dataset
