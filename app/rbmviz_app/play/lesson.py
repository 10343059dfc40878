"""A lesson as a page without a server: the browser runs its steps and evaluates their claims."""

import base64
from typing import Any

from rbmviz import browser
from rbmviz.browser.chains import check_runs
from rbmviz.charts import styled
from rbmviz.charts.style import colours, titles
from rbmviz.datasets import Dataset
from rbmviz.errors import BadInput
from rbmviz.lessons import Lesson, PageState, Step
from rbmviz.metrics import landscape
from rbmviz.metrics.landscape import state_bits
from rbmviz.metrics.numbers import OF_LANDSCAPE, SCORES
from rbmviz.models import describe_model
from rbmviz.session.unit_by_unit import UnitByUnit
from rbmviz.view.formulas import mathml
from rbmviz.view.live import LIVE_POLICY, Engine, Live, contents, heads_of, live_script, sampling_page
from rbmviz.view.replay import FASTEST, assembled, page_data
from rbmviz.view.specs import shape_of
from rbmviz_app.card import look_words, panel_names, stated_words, watched_words
from rbmviz_app.pages.chain.landscape import landscape_line
from rbmviz_app.pages.chain.panel import TRAIL_SIDE, land_data
from rbmviz_app.play.pairs import PAIR_NUMBERS, pairs_page, recorded_chart
from rbmviz_app.share.page import CHAIN_FOLDER, SHARE_FOLDER, units_script, units_style
from rbmviz_app.share.prose import marked

PLAY_FOLDER = SHARE_FOLDER.parent / "play"
COUPLING_FOLDER = CHAIN_FOLDER.parent / "coupling"

MATRIX_PICTURE = PLAY_FOLDER / "matrix.webp"
"""Picture of the matrix part of the page How it works (``.ci/doc-pictures matrix``)."""

BROWSER_NUMBERS = {
    "sample": {"sweeps", "largest_class"} | {number.name for number in SCORES} - {"ink"},
    "chain": {"empty", "floor", "states"} | {number.name for number in OF_LANDSCAPE} - {"rate"},
    "coupling": PAIR_NUMBERS,
}
"""Numbers of each page that browsers can compute; claims may be about these only."""


class LessonPage:
    """Builder of a lesson's page: the data of its steps, and the engine that they share."""

    def __init__(self) -> None:
        self.engine = Engine(None)

    def step(self, step: Step) -> dict[str, Any]:
        """Return the data of a step; BadInput if a browser cannot run it."""
        state = step.state
        if step.goal or state.branches:
            raise BadInput("a challenge or a branch has no form for browsers.")
        if state.page not in BROWSER_NUMBERS:
            raise BadInput(
                f"the page {state.page} has no form for browsers; sample, chain and coupling have one."
            )
        if state.settings.get("coupling_more"):
            return recorded_chart(step) | {"card": card_data(step, "chart")}
        for claim in step.claims:
            if unknown := {metric for _, metric in claim.about} - BROWSER_NUMBERS[state.page]:
                raise BadInput(
                    f"the claim '{claim.text}' is about {min(unknown)}, which browsers do not count."
                )
        part = state.settings.get("little", "landscape")
        if state.page == "chain" and part != "landscape":
            return {"part": part, "card": card_data(step, part)}
        for sampler in () if state.page == "coupling" else state.algorithms():
            check_runs(sampler)
        make = {"chain": walk_page, "coupling": pairs_page, "sample": self._samples}[state.page]
        part = "pairs" if state.page == "coupling" else "live"
        return make(state, self.engine) | {"part": part, "card": card_data(step, part)}

    def _samples(self, state: PageState, engine: Engine) -> dict[str, Any]:
        setup, algorithms, settings = state.setup(), state.algorithms(), state.settings
        if settings["kernel"] != "binary":
            raise BadInput(
                f"kernel = {settings['kernel']}: browsers compute the ISL with binary samples only."
            )
        model, dataset = setup.model, setup.dataset
        self._score_against(dataset)
        shape = shape_of(model.rbm.n_visible, model.meta.get("image_shape"), dataset)
        starts = [(setup.seed, setup.starts(1))]
        caption, side = f"{settings['model']}: {describe_model(model)}.", settings["cells"]
        speed = min(settings["speed"], FASTEST)
        page, heads = sampling_page(
            Live("", caption, model, algorithms, dataset, shape, starts, side, speed), self.engine.scores
        )
        page |= {"usual_side": side, "view": settings["view"]}
        return {"page": page, "heads": heads, "live": self.engine.runs(algorithms, model, starts)}

    def _score_against(self, dataset: Dataset | None) -> None:
        known = self.engine.dataset
        if dataset is None:
            raise BadInput("its model does not say what data it learned, against which samples are scored.")
        if known is not None and known.name != dataset.name:
            raise BadInput(f"it scores against {dataset.name}, and another step against {known.name}.")
        if known is None:
            self.engine.score_against(dataset)


def walk_page(state: PageState, engine: Engine) -> dict[str, Any]:
    """Return the data of a page with walks over a landscape."""
    setup, algorithms, settings = state.setup(), state.algorithms(), state.settings
    model = setup.model
    rbm, name = model.rbm, settings["land"]
    shape = shape_of(rbm.n_visible, model.meta.get("image_shape"))
    land = landscape(rbm, settings["land_order"])
    styles = styled(titles(algorithms), colours(algorithms))
    page = page_data("", landscape_line(name, setup), rbm.n_visible, shape, None) | {
        "side": TRAIL_SIDE,
        "speed": min(settings["land_pace"], FASTEST),
        "isl": None,
        "view": "landscape",
        "land": land_data(land, shape),
        "start": land.valleys[0].floor,
    }
    heads = heads_of(styles, algorithms, OF_LANDSCAPE)
    starts = [(setup.seed, state_bits(land.valleys[0].floor, rbm.n_visible))]
    return {"page": page, "heads": heads, "live": engine.runs(algorithms, model, starts, land)}


def card_data(step: Step, part: str) -> dict[str, Any]:
    """Return the card of a step; its claims are ``Claim``s of ``claims.js``, with their words.

    part : "live", "pairs", or the part that the step's page shows; the cards of recorded ones, "matrix"
        and "chart", have nothing to do, look at or watch
    """
    page, names, runs = step.state.page, panel_names(step), part not in ("matrix", "chart")
    fields = ("panel", "metric", "operator", "number", "of", "n")
    claims = [
        {name: getattr(claim, name) for name in fields}
        | {"before": watched_words(claim, page, names), "after": stated_words(claim, page, names)}
        | {"unit": claim.with_unit(page, "").strip("\u00a0")}
        for claim in (step.claims if runs else ())
    ]
    return {
        "title": step.title,
        "text": marked(step.text),
        "question": marked(step.question),
        "answers": list(step.answers),
        "right": step.right,
        "hold": step.hold,
        "blind": step.blind,
        "do": marked(step.do) if runs else [],
        "look": step.look if runs else "",
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
    dataset = page.engine.dataset
    data: dict[str, Any] = {
        "title": lesson.title,
        "steps": steps,
        "contains": contents(dataset) if dataset is not None else "",
    }
    if any(step["part"] == "units" for step in steps):
        data["units"] = units_data()
    if any(step["part"] == "matrix" for step in steps):
        data["matrix"] = f"data:image/webp;base64,{base64.b64encode(MATRIX_PICTURE.read_bytes()).decode()}"
    frame = page.engine.frame(data)
    files = (
        browser.KERNELS_FOLDER / "claims.js",
        browser.KERNELS_FOLDER / "units.js",
        SHARE_FOLDER / "lesson_card.js",
        PLAY_FOLDER / "pairs.js",
        PLAY_FOLDER / "lesson.js",
    )
    own = (file.read_text("utf-8") for file in files)
    script = "\n".join(
        [live_script(CHAIN_FOLDER / "panel.js", COUPLING_FOLDER / "panel.js"), units_script(), *own]
    )
    styles = (SHARE_FOLDER / "lesson_card.css", PLAY_FOLDER / "lesson.css", COUPLING_FOLDER / "panel.css")
    sheets = [*(file.read_text("utf-8") for file in styles), units_style()]
    page_html = assembled(lesson.title, {"lesson": frame}, script, LIVE_POLICY, sheets, lesson.about)
    return page_html, dataset
