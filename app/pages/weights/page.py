"""Samples of CD weighed by the model's probabilities, and what weighing does to bias and variance."""

import math
from typing import NamedTuple

import streamlit as st

from app import controls, messages
from app.controls import Download, data_or_reason
from app.page import LivePage, Transport, below_panels, draw_chart
from app.pages.weights import charts as figures
from app.pages.weights.exports import curves_csv, snippet, tiles_png, weights_npz
from app.pages.weights.panel import WEIGHT_KNOBS, weights_grid
from app.pages.weights.settings import Settings
from app.pages.weights.study import study
from app.panel import shape_of
from app.shared import data, pretrained
from app.timer import every_second
from rbmviz import Model
from rbmviz.models import data_of
from rbmviz.registry import trainers
from rbmviz.session import Comparison, Start, WeightSetup
from rbmviz.session.importance_weights import MAX_WEIGHTS
from rbmviz.trainers import make_trainer

TITLE, ICON, PLACE = "Weights", "balance", 4
STARTS: tuple[Start, ...] = ("data", "random")
DEFAULT_PANELS = [
    "pop_cd:n_chains=100",
    "pop_cd:n_chains=100,k=10",
    "pop_cd:n_chains=100,proposal=joint",
    "pop_cd:n_chains=100,proposal=mixture",
]


class Preset(NamedTuple):
    """A preset: a model and populations that show one thing, and what to look for."""

    label: str
    caption: str
    model: str
    panels: list[str]


PRESETS = [
    Preset(
        "An even batch can lie",
        "On Bars and Stripes the weights look even, a batch seems worth most of its samples, the band is "
        "narrow. Yet log Z comes out about log 30 = 3.4 nats too low: a hidden state vouches for its own "
        "pattern alone, one of 30, and most of Z sits in weights that turn up once in 10¹⁶ samples or less. "
        "The gradient suffers little: what all weights lack cancels.",
        "bas_pcd",
        DEFAULT_PANELS,
    ),
    Preset(
        "One weight takes all",
        "500 hidden units: of a hundred samples one or two hold nearly all of the weight. A batch ten times "
        "as large is hardly worth more: the paper's limit (section 4.2).",
        "mnist_fpcd",
        [
            "pop_cd:n_chains=10",
            "pop_cd:n_chains=100",
            "pop_cd:n_chains=1000",
            "pop_cd:n_chains=100,proposal=mixture",
        ],
    ),
    Preset(
        "More sweeps even the weights out",
        "A CD-1 model has a deep hole beside the data: after 100 sweeps the samples have fallen into it, "
        "weigh alike, and log Z jumps by a hundred nats. After one sweep nothing tells of it.",
        "mnist_cd1",
        [f"pop_cd:n_chains=100,k={k}" for k in (1, 10, 30, 100)],
    ),
    Preset(
        "A better proposal",
        "The same samples, weighed against ever larger mixtures of p(v|h): where they cover all patterns, "
        "log Z comes out right, at a cost that grows with the mixture (section 3.4).",
        "bas_pcd",
        ["pop_cd:n_chains=100"] + [f"pop_cd:n_chains=100,proposal=mixture,mixture={r}" for r in (3, 10, 100)],
    ),
]


PAGE: LivePage[WeightSetup, Preset] = LivePage(
    name="weights",
    question="pop-CD weighs the samples of CD by what the model gives them: does the weight spread, or does "
    "one sample take all?",
    about="Each panel shows the samples of one batch that weigh most and least, and below how all of its "
    "weight is shared out. A **model** is a network of pixels and hidden units that says how likely every "
    "picture is, and each sample is weighed by how much likelier it is in the model than among the samples; "
    "a **sweep** draws all hidden units anew and then all pixels, which makes a sample from an example; a "
    "**class**, the kind of a picture, plays no part here. First compare the large numbers, then drag the "
    "sweeps or the samples a batch of one panel.",
    link="w",
    table=trainers,
    only_name="pop_cd",
    only_knobs=tuple(WEIGHT_KNOBS),
    title=figures.population_titles,
    presets=PRESETS,
    speed=Settings.weights_pace,
    transport=Transport(
        "Batches per second",
        (1, 3, 10, 30, 100, 300, math.inf),
        speed_help="Slow to look at single batches, full speed to find the rare heavy weights.",
        play_help="Stop all panels at the same batch, or let them go on.",
        step_help="One more batch in every panel, then pause: which sample is the heavy one?",
        reset_help="All panels back to their first batch with the same seed: the same weights come again.",
    ),
)


def main() -> None:
    """Draw the page."""
    present = PAGE.heading()
    with PAGE.toolbar():
        chosen = controls.model_name(
            Settings.weights_model,
            "The RBM that weighs the samples: a small one has an exact log Z, a large one shows the limits.",
        )
        with st.popover("Settings", icon=":material/tune:"):
            name, model = controls.own_model(chosen, "weights_own", "Weigh with a model file of your own")
            setup, reason = choose_setup(model)
        PAGE.menu(apply_preset)
    comparison = PAGE.open(setup)
    with PAGE.notes():
        if name != chosen:
            own, without = messages.plain(name), messages.plain(chosen)
            st.caption(f"All panels weigh samples of your file '{own}'; without it those of {without}.")
        if reason:
            messages.note(reason)
    panels(comparison, name, present)
    charts(comparison, present)
    if not present:
        exports(comparison, name)
    study(present)


def choose_setup(model: Model) -> tuple[WeightSetup, str]:
    """Draw the settings; return what all panels share, and why chains cannot begin at data."""
    start = controls.choose(
        Settings.weights_start,
        "Chains begin at",
        STARTS,
        "Training examples, as in pop-CD, or random bits: any start gives the right mean weight.",
    )
    seed = controls.seed(Settings.weights_seed, "Same seed, same batches: all panels share it.")
    dataset, reason = data_or_reason(data_of, model, None, data)
    if reason:
        reason = "" if start == "random" else f"The chains begin at random bits: {reason}"
    return WeightSetup(model, dataset, seed, start), reason


def apply_preset(preset: Preset) -> None:
    """Bring the page to a preset."""
    model = pretrained(preset.model)
    dataset, _ = data_or_reason(data_of, model, None, data)
    PAGE.show_preset(PAGE.comparison().setup._replace(model=model, dataset=dataset), preset.panels)
    Settings.weights_model.set(preset.model)


@st.fragment
def panels(comparison: Comparison[WeightSetup], model_name: str, present: bool) -> None:
    """Draw the live panels, and the way to add one."""
    PAGE.preset_caption(lambda preset: preset.model == model_name and PAGE.shows(comparison, preset.panels))
    weights_grid(
        comparison,
        PAGE.socket(),
        labels=figures.population_titles(PAGE.algorithms(comparison)),
        present=present,
        key="weights_grid",
        **PAGE.callbacks(comparison, "weights_grid"),
    )
    below_panels(
        comparison,
        "population",
        "balance",
        "Add a population, weighed by the proposal",
        lambda: controls.adders(
            "weights",
            {name: name for name in ("visible", "joint", "mixture")},
            lambda proposal: comparison.add(make_trainer("pop_cd", n_chains=100, proposal=proposal)),
        ),
    )
    PAGE.write_address(PAGE.algorithms(comparison))


LOOKS = {
    "shares": "**Look** how steep the curve rises: at its left end stands the single heaviest sample. "
    "**Try** the preset *One weight takes all*. CD gives every sample the same weight and pays with bias "
    "(sections 3, 3.2).",
    "sizes": "**Look** how far the curve stays below the line: a batch is worth so many equal weights. "
    "**Try** more sweeps, or ten times the samples. Where it bends away, large batches meet the rare heavy "
    "weights (section 3.3).",
    "log_z": "The mean weight is Z on average, for every k and proposal (section 3). **Look** for jumps: "
    "the band knows only the weights that have been seen, so a few heavy ones that are missing leave it too "
    "low and too narrow. **Try** the mixture proposal.",
}


@every_second
def charts(comparison: Comparison[WeightSetup], present: bool) -> None:
    """Shares, effective sizes, log Z; read once a second, without renewing any lease."""
    shown = PAGE.named(comparison)
    if all(snapshot.summary is None for _, snapshot in shown):
        st.caption("Curves begin with the first batches." if shown else "")
        return
    drawn = {
        "shares": ("Who holds the weight?", figures.shares_chart(shown)),
        "sizes": ("What is a batch worth?", figures.sizes_chart(shown)),
        "log_z": ("Is the mean weight Z?", figures.log_z_chart(shown)),
    }
    for column, (name, (title, chart)) in zip(st.columns(3), drawn.items(), strict=True):
        with column:
            st.markdown(f"**{title}**")
            draw_chart(chart, f"weights {name}", title)
            if not present:
                st.caption(LOOKS[name])
            if name == "log_z" and (warning := next((s.truth.warning for _, s in shown if s.truth), "")):
                st.caption(f":material/warning: AIS: {warning}")


def exports(comparison: Comparison[WeightSetup], model_name: str) -> None:
    """Offer downloads, built when they are clicked, and code that repeats a batch."""
    setup = comparison.setup
    model, dataset = setup.model, setup.dataset
    shape = shape_of(model.rbm.n_visible, model.meta.get("image_shape"), dataset)
    with st.container(horizontal=True):
        controls.downloads(
            "weights",
            [
                Download(
                    "Weights",
                    lambda: weights_npz(comparison, [name for name, _ in PAGE.named(comparison)]),
                    "weights.npz",
                    f"The newest {MAX_WEIGHTS:,} log weights and the newest batch of every panel (.npz).",
                ),
                Download(
                    "Curves",
                    lambda: curves_csv(PAGE.named(comparison)),
                    "weights.csv",
                    "Estimates of log Z, effective sizes and shares of the heaviest (.csv).",
                ),
                Download(
                    "Picture",
                    lambda: tiles_png(PAGE.named(comparison), shape),
                    "weights.png",
                    "The heaviest and lightest samples of the newest batches, with their shares (.png).",
                ),
            ],
        )
        starts_at = dataset.name if dataset is not None and setup.start == "data" else None
        controls.code("weights", snippet(model_name, starts_at, PAGE.algorithms(comparison), setup.seed))


if __name__ == "__main__":
    main()
