"""The Coupling page: two chains coupled so that they meet, and estimates from their meetings (paper UCD)."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from rbmviz import Model
from rbmviz.metadata import data_name
from rbmviz.origin import origin
from rbmviz.pages import PAGES, RANDOM_MODEL
from rbmviz.session import Comparison, Coupling, CouplingSetup
from rbmviz.view.specs import shape_of
from rbmviz_app import controls, messages
from rbmviz_app.code import coupling_code
from rbmviz_app.data_download import offer_download
from rbmviz_app.page import LivePage, Transport, downloads, places
from rbmviz_app.pages.coupling.pair_charts import (
    draw_main_chart,
    draw_more_charts,
)
from rbmviz_app.pages.coupling.panel import coupling_panel
from rbmviz_app.pages.coupling.settings import Settings
from rbmviz_app.presets import Preset
from rbmviz_app.session import MODELS_ON_PAGES
from rbmviz_app.shared import model_called

TITLE, ICON, PLACE = "Coupling", "join_inner", 5
PRESETS = (
    Preset(
        "Weights grow",
        "Sharing all random numbers, chains meet in about 25 sweeps; sharing only proposals (algorithm 1), "
        "in 200. Drag the standard deviation to 0.1: all meet soon.",
        PAGES["coupling"].default_panels,
        claims=(
            "panel1.half_step_mean < panel1.rbm_mean - 2 at 200 pairs",
            "panel1.rbm_mean > 10 at 100 pairs, not of panel2",
            "panel1.rbm_mean < 60 at 100 pairs",
            "panel1.general_mean > 100 at 100 pairs, not of panel2",
            "panel2.rbm_mean < 6 at 100 pairs, not of panel1",
            "panel2.general_mean < 8 at 100 pairs, not of panel1",
        ),
        invites=("scale",),
        variants=("coupling:scale=0.1",),
    ),
    Preset(
        "Small enough to know",
        "UCD converges to the exact value, CD-1 does not: open “More charts”.",
        ("coupling:scale=1.5",),
        {"coupling_visible": 16, "coupling_hidden": 10},
        (
            "panel1.rbm_ucd_errors < 3 at 1000 pairs",
            "panel1.rbm_cd_errors > 6 at 1000 pairs",
            "panel1.general_ucd_errors < 3 at 1000 pairs",
        ),
    ),
    Preset(
        "Sharing randomness",
        "500 visible and 100 hidden units, as in the paper’s figure 5. With algorithm 3 more than half of "
        "the pairs meet within 10 sweeps; with algorithm 1 most need hundreds.",
        ("coupling:scale=0.1",),
        {"coupling_visible": 500, "coupling_hidden": 100},
        (
            "panel1.rbm_within_10 > 50 at 60 pairs",
            "panel1.general_within_10 < 10 at 60 pairs",
            "panel1.general_median > 200 at 60 pairs",
        ),
    ),
    Preset(
        "Modes keep them apart",
        "A model trained on Bars and Stripes, its parameters halved: half of the pairs meet within 10 "
        "sweeps; pairs that start in different modes meet late. Drag the scale to 1: now a quarter or more "
        "do not meet in a thousand sweeps, because Gibbs sampling rarely changes mode.",
        ("coupling:scale=0.5",),
        {"coupling_model": "bas_pcd", "lag": 100},
        (
            "panel1.rbm_within_10 > 40 at 100 pairs",
            "panel1.rbm_mean > 20 at 100 pairs",
            "panel1.rbm_cut < 1 at 100 pairs, not of panel2",
            "panel2.rbm_cut > 25 at 100 pairs, not of panel1",
            "panel2.rbm_within_10 > 50 at 100 pairs",
        ),
        invites=("scale",),
        variants=("coupling:scale=1",),
    ),
    Preset(
        "Digits, at half strength",
        "With its parameters halved, chains of a model of digits meet within about a hundred sweeps. Drag "
        "the scale to 1: now most pairs have not met after a thousand.",
        ("coupling:scale=0.5",),
        {"coupling_model": "mnist_cd1", "lag": 50},
        (
            "panel1.rbm_cut < 1 at 32 pairs, not of panel2",
            "panel1.rbm_mean < 100 at 32 pairs",
            "panel1.general_mean < 150 at 32 pairs",
            "panel2.rbm_cut > 50 at 16 pairs, not of panel1",
        ),
        invites=("scale",),
        variants=("coupling:scale=1",),
    ),
)


READING_NOTES = (
    "**The pairs** ξ runs one sweep ahead of η. Bright orange means that the differing pixel is on. Each "
    "chain alone is an exact Gibbs chain. UCD paper, section 3.2 (algorithm 1) and section 4 (algorithm 3); "
    "half-step is the coupling in the authors’ program.",
    "**The chart** shows the share of pairs that met at each sweep. All couplings have the same starts. UCD "
    "paper, figure 5.",
    "**Try** larger parameters (the first slider): how often do pairs still meet? Or the preset *Sharing "
    "randomness*.",
)
"""Notes on reading the pairs and the chart, and suggestions to try."""


def knob_labels(values: Mapping[str, Any]) -> dict[str, str]:
    """Return the scale knob's label; a random model's scale is its parameters' standard deviation."""
    is_random = values["coupling_model"] == RANDOM_MODEL
    return {"scale": "Standard deviation" if is_random else "Scale (1: as trained)"}


PAGE: LivePage[CouplingSetup] = LivePage(
    PAGES["coupling"],
    Settings,
    question="How long until two chains meet?",
    about="Each column shows a pair of chains of the same model as two images. The chains share random "
    "numbers. Orange pixels differ; once the two are equal, the next pair starts. A **model** is a network "
    "of pixels and hidden units that says how likely each image is. A **chain** draws one image after "
    "another, each by a **sweep**: all hidden units given the pixels, then all pixels given the hidden "
    "units. Watch a few pairs meet, then drag the first slider to the right: they take longer.",
    knob_labels=knob_labels,
    presets=PRESETS,
    transport=Transport(
        play_help="Pause or continue all pairs. After a pause, counting continues up to 200 pairs.",
        step_help="One more sweep of each pair, then pause; after a meeting the next pair starts.",
        reset_help="Restart from the first pair with the same seed: the same meetings come again.",
    ),
)


def main() -> None:
    """Draw the page."""
    present = PAGE.heading(notes=READING_NOTES)
    with PAGE.toolbar():
        name = choose_model()
        PAGE.menu()
    setup, reason = PAGE.setup_now()
    model = Model(setup.rbm) if name == RANDOM_MODEL else model_called(name)
    comparison = PAGE.open(
        setup,
        lambda comparison, wanted: begin(comparison, name, wanted),
        lambda comparison: take_scale_of(comparison, name),
    )
    shown_name, shown_model = PAGE.shown_model(comparison, setup, name, model)
    with PAGE.notes():
        if reason:
            if data_name(model.meta) is None:
                reason = "this model names no training data."
            messages.note(f"Pairs start from random bits: {reason}")
            offer_download(data_name(model.meta), "coupling")
    shape = shape_of(shown_model.rbm.n_visible, shown_model.meta.get("image_shape"))
    left, right = places()
    with left:
        labels = knob_labels({"coupling_model": shown_name})
        PAGE.draw_panels(comparison, "coupling_panel", partial(coupling_panel, labels=labels, shape=shape))
    with right:
        draw_main_chart(comparison, present)
    if not present:
        if shown_name != RANDOM_MODEL:
            controls.model_line(shown_name, shown_model)
        draw_more_charts(comparison)
        exports(comparison, shown_name, shown_model)


def choose_model() -> str:
    """Draw the settings of the model, its size and the starts; return the model's name."""
    name = controls.model_name(Settings.coupling_model, before=[RANDOM_MODEL], width=288)
    with controls.settings("coupling"):
        if name == RANDOM_MODEL:
            controls.number(Settings.coupling_visible)
            controls.number(Settings.coupling_hidden)
        controls.choose(
            Settings.coupling_start,
            format_func=lambda start: "random bits" if start == "random" else "training data",
        )
        controls.number(Settings.coupling_seed)
    return name


def own_knobs(name: str) -> Coupling:
    """Return a model's initial knobs: a trained model is coupled without a change of scale."""
    return PAGE.read(PAGE.spec.default_panels)[0][0] if name == RANDOM_MODEL else Coupling()


def begin(comparison: Comparison[CouplingSetup], name: str, wanted: list[Coupling]) -> None:
    """Add the only panel of a new comparison, with knobs from the link, a preset, or its model."""
    PAGE.fill(comparison, wanted or [own_knobs(name)])


def take_scale_of(comparison: Comparison[CouplingSetup], name: str) -> None:
    """Set the scale knob to its initial value for this kind of model, if another model was chosen."""
    before, _ = MODELS_ON_PAGES.value[PAGE.name]
    if name != before:
        comparison.apply_knobs(comparison.panels[0].key, scale=own_knobs(name).scale)


def exports(comparison: Comparison[CouplingSetup], name: str, model: Model) -> None:
    """Offer the data of the charts, and code that repeats the pairs."""
    setup = comparison.setup

    def code() -> str:
        return coupling_code(name, setup, comparison.panels[0].worker.algorithm)

    downloads(
        comparison,
        lambda: origin(code(), models={name: model}, data=[setup.dataset], seeds=[setup.seed]),
        code,
    )


if __name__ == "__main__":
    main()
