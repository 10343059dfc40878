"""The landscape part of the page: the energies of all states of a small model, and chains among them."""

import math
from typing import NamedTuple

import streamlit as st

from app import controls
from app.charts.samples import samples_npz
from app.controls import Download
from app.page import LivePage, Transport, below_panels, draw_chart
from app.pages.chain.exports import walks_csv
from app.pages.chain.landscape_charts import walk_chart
from app.pages.chain.panel import landscape_grid
from app.pages.chain.settings import LANDSCAPE_PATTERNS, Settings, choose_landscape
from app.shared import pattern_landscape
from app.timer import every_second
from rbmviz.metrics import landscape
from rbmviz.registry import samplers
from rbmviz.samplers import list_samplers, make_sampler
from rbmviz.session import Comparison, LandscapeSetup
from rbmviz.session.recorder import KEEP

DEFAULT_PANELS = ["gibbs", "rates_fpcd:eps=0.05", "sample_penalization:eps=0.05,alpha=0.9"]
VISIT_QUANTITIES = {
    "visits": "Visits off by (total variation)",
    "moments": "Moments off by (distance)",
}


class Preset(NamedTuple):
    """A preset: a landscape and panels that show one thing, at a speed, and what to look for."""

    label: str
    caption: str
    model: str
    depth: float
    speed: float
    panels: list[str]
    curve: str = "visits"


PRESETS = [
    Preset(
        "The valley fills up",
        "Each sample raises the ground under rates-FPCD until it rolls out; under Gibbs nothing ever moves.",
        "two halves",
        9.0,
        10,
        DEFAULT_PANELS,
    ),
    Preset(
        "Heat or unlearning",
        "Heat lets Gibbs out by flattening every valley, for good; unlearning raises only where the chain "
        "is.",
        "three patterns",
        9.0,
        20,
        ["gibbs", "gibbs:temperature=2", "rates_fpcd:eps=0.05"],
    ),
    Preset(
        "Decay hurts",
        "With decay 0.95 the visits stop far from the law; at 0.8 the ground sinks back and the chain stays.",
        "letters L T X",
        9.0,
        100,
        ["rates_fpcd:eps=0.05", "rates_fpcd:eps=0.05,alpha=0.95", "rates_fpcd:eps=0.05,alpha=0.8"],
    ),
    Preset(
        "Penalization ends empty",
        "Without rates and decay each bit that is on gets less likely: all that is left is the empty state.",
        "two halves",
        9.0,
        100,
        [
            "rates_fpcd:eps=0.01",
            "sample_penalization:eps=0.01,alpha=0.9",
            "sample_penalization:eps=0.01,alpha=1",
        ],
    ),
    Preset(
        "Moments fall as 1/t",
        "Gibbs comes near the rates by luck; with alpha 1 rates-FPCD must: its error is |θF|/(εt).",
        "letters L T X",
        8.0,
        1000,
        ["gibbs", "rates_fpcd:eps=0.03", "rates_fpcd:eps=0.05,alpha=0.95"],
        "moments",
    ),
    Preset(
        "Too large a step",
        "Thrown out of each valley at once: the moments are right all the same, the visits stop short of "
        "the law.",
        "two halves",
        8.0,
        100,
        ["rates_fpcd:eps=0.03", "rates_fpcd:eps=0.3", "rates_fpcd:eps=1"],
    ),
]


PAGE: LivePage[LandscapeSetup, Preset] = LivePage(
    name="chain",
    question="Unlearn the state you are in: why does a chain that pushes itself away mix sooner?",
    about="Each panel shows all pictures of a tiny model side by side as a landscape, low where the model "
    "finds them likely, and the ball is the chain that walks there. A **model** says how likely every "
    "picture is, here with so few pixels that all can be drawn; a **sweep** draws all hidden units anew and "
    "then all pixels, which moves the ball; a **class** would be the kind of a picture, and here the "
    "valleys take its place. First let it run and see which ball leaves its valley, then step with `S` and "
    "watch the ground rise where the ball stood.",
    link="l",
    table=samplers,
    presets=PRESETS,
    speed=Settings.land_pace,
    transport=Transport(
        "Samples per second",
        (1, 2, 5, 10, 20, 100, 1000, math.inf),
        speed_help="Slow to follow every jump, full speed to see where the visits end.",
        play_help="Stop all chains at the same sample, or let them go on.",
        step_help="One more sample of every chain, then pause: see the ground rise where the chain stood.",
        reset_help="All chains back to the deepest floor, the ground as the model has it, with the same "
        "seed.",
        width=170,
    ),
)


def draw_landscape(present: bool) -> None:
    """Draw the walks, live."""
    with PAGE.toolbar():
        setup = choose_landscape()
        PAGE.menu(apply_preset)
    comparison = PAGE.open(setup)
    panels(comparison, present)
    if not present:
        reading_help()
    draw_walks(comparison)
    if not present:
        exports(comparison)


def apply_preset(preset: Preset) -> None:
    """Bring the page to a preset."""
    model = pattern_landscape(LANDSCAPE_PATTERNS[preset.model], preset.depth)
    PAGE.show_preset(PAGE.comparison().setup._replace(model=model), preset.panels, preset.speed)
    Settings.land.set(preset.model)
    Settings.land_depth.set(preset.depth)
    Settings.land_curve.set(preset.curve)


@st.fragment
def panels(comparison: Comparison[LandscapeSetup], present: bool) -> None:
    """Draw the live panels, and the way to add one."""
    shown = Settings.land.value, Settings.land_depth.value
    PAGE.preset_caption(
        lambda preset: shown == (preset.model, preset.depth) and PAGE.shows(comparison, preset.panels)
    )
    landscape_grid(
        comparison,
        landscape(comparison.setup.model.rbm, Settings.land_order.value),
        PAGE.socket(),
        present=present,
        key="land_grid",
        **PAGE.callbacks(comparison, "land_grid"),
    )
    labels = {name: samplers[name].label for name in list_samplers()}
    below_panels(
        comparison,
        "sampler",
        "landscape",
        "Add a panel:",
        lambda: controls.adders("chain", labels, lambda name: comparison.add(make_sampler(name))),
    )
    PAGE.write_address(PAGE.algorithms(comparison))


def reading_help() -> None:
    """Draw how to read the pictures, and what to try."""
    left, middle, right = st.columns(3)
    left.caption(
        "**The ground** is −log p(v) of every state v, the likeliest lowest and widest. The line is the "
        "model’s own; in colour, what the fast parameters pile up (full) or dig away (pale): probabilities "
        "sum to 1, so what rises here sinks there. The ball is the chain; under each valley, the picture at"
        " its floor."
    )
    middle.caption(
        "**Below** are the newest states, one row each, the newest on top: a column is a chain that stays. "
        "At the bottom the visits so far, against the model’s law (line). Point at a state to read its "
        "numbers."
    )
    right.caption(
        "**Try**: step slowly with `S` and watch the ground rise where the ball stood; drag the step size "
        "to 0 and rates-FPCD is Gibbs; deepen the valleys and only the chains that unlearn still cross "
        "(rates-FPCD paper, sections 3 and 4)."
    )


@every_second
def draw_walks(comparison: Comparison[LandscapeSetup]) -> None:
    """Draw how the visits converge to the model's law; runs every second, and renews no lease."""
    if not comparison.panels:
        return
    wide, narrow = st.columns([5, 2], gap="medium")
    with wide:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown("**Do the visits converge to the model’s law?**")
            quantity = controls.choose(
                Settings.land_curve,
                "Compare",
                list(VISIT_QUANTITIES),
                "The share of visits against the model’s law, or the mean sample against the rates.",
                label_visibility="collapsed",
            )
        title = VISIT_QUANTITIES[quantity]
        draw_chart(
            walk_chart(PAGE.named(comparison), quantity, title),
            "walks",
            title,
            "The curves begin with the first sample.",
        )
    with narrow:
        if quantity == "visits":
            st.caption(
                "Visits of a chain that mixes come to its law as 1/√t (upper dashes): Gibbs does so in the "
                "end, after many crossings. rates-FPCD is there much sooner, but bends the law that it "
                "samples: a large step size, decay and penalization each end in a floor."
            )
            st.caption(
                "**Try** a depth of 8, 10, 12: in the two halves Gibbs crosses every 84, 505, 8,300 "
                "samples, rates-FPCD with step size 0.03 every 51, 124, 217. Waiting for luck grows "
                "exponentially with the depth, filling the valley up does not (section 3)."
            )
        else:
            st.caption(
                "With alpha = 1 the sum of all pushes is θF itself: the mean of all statistics differs from"
                " the rates by exactly |θF|/(εt), and θF stays bounded. So the error falls as 1/t (lower "
                "dashes), faster than independent samples could (1/√t). Any decay ends that (section 4)."
            )
        st.caption(
            "The paper says that penalization without decay ends at the uniform law. With 0/1 units it does"
            " not (in the two halves it comes no nearer than 0.65): only what is on is penalised, and all "
            "ends at the empty state, as the preset “Penalization ends empty” shows."
        )


def exports(comparison: Comparison[LandscapeSetup]) -> None:
    """Offer downloads, built when they are clicked."""
    rbm = comparison.setup.model.rbm
    with st.container(horizontal=True, vertical_alignment="center"):
        controls.downloads(
            "chain",
            [
                Download(
                    "States",
                    lambda: walks_csv(PAGE.named(comparison), landscape(rbm).law),
                    "states.csv",
                    "Every state with its probability, visits and the law now, of every panel (.csv).",
                ),
                Download(
                    "Samples",
                    lambda: samples_npz(comparison, [name for name, _ in PAGE.named(comparison)]),
                    "samples.npz",
                    f"The newest {KEEP:,} samples of every panel, and the log that makes them again (.npz).",
                ),
            ],
        )
        st.caption("A panel’s ⤓ saves its picture.", width="content")
