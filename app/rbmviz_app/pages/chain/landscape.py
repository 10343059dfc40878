"""The landscape part of the page: the energy of a small model's states, and chains that visit them."""

import math
from collections.abc import Sequence
from typing import Any

import streamlit as st

from rbmviz.charts import Chart, ChartAxis, Curves, Legend, styled
from rbmviz.charts.style import GREY, colours
from rbmviz.metrics import landscape
from rbmviz.metrics.numbers import NUMBERS
from rbmviz.pages import PAGES
from rbmviz.session import LandscapeSetup, LandscapeSnapshot
from rbmviz_app import controls, links, messages
from rbmviz_app.page import LivePage, catch_up_settings, downloads, live_chart, places
from rbmviz_app.pages.chain.captions import captions
from rbmviz_app.pages.chain.panel import Settings, landscape_grid
from rbmviz_app.pages.chain.presets import PRESETS
from rbmviz_app.race import PageRace
from rbmviz_app.transport import Transport

VISIT_QUANTITIES = {
    "visits": NUMBERS["chain"]["visits"].titled(),
    "moments": NUMBERS["chain"]["moments"].titled(),
}


CHART_NOTES = {
    "visits": (
        "**The chart** The upper dashes are the error of independent draws. A chain that mixes falls like "
        "them, by 1/√t; Gibbs does so after many crossings. rates-FPCD falls much earlier, but changes the "
        "distribution it samples: large steps, decay and penalization level off above zero. In *two halves* "
        "of depth 8, 10 and 12 Gibbs crosses every 84, 510 and 3,500 samples, rates-FPCD with step size 0.03 "
        "every 53, 125 and 230: waiting for luck takes exponentially longer with depth, filling the valley "
        "does not (section 3).",
        "**Uniform?** The paper says that penalization without decay ends at the uniform distribution. It "
        "does with units −1 and +1 (knob “Units of the penalty”). With 0 and 1 only units that are on are "
        "penalised, and the chain ends at the empty state (in *two halves* the error stays above 0.65).",
    ),
    "moments": (
        "**The chart** With decay 1, θF is the sum of all updates: the mean of the statistics differs from "
        "the rates by exactly |θF|/(εt), and θF stays bounded. So the error falls as 1/t (lower dashes), "
        "faster than for independent samples (1/√t). The chart shows the visible units’ part. Any decay "
        "ends this (section 4).",
    ),
}


PAGE: LivePage[LandscapeSetup] = LivePage(
    PAGES["chain"],
    Settings,
    question="Why does avoiding the past mix faster?",
    about="Each panel shows all images of a tiny model side by side as a landscape: low means likely. The "
    "ball is the chain. A **model** says how likely each image is, here with so few pixels that all images "
    "fit on the screen. A **sweep** draws all hidden units, then all pixels, which moves the ball. A "
    "**mode** is a valley. Let it run and see which ball leaves its valley; then press *Step*, or the key "
    "**S**, and watch the ground rise under the ball.",
    presets=PRESETS,
    captions=captions,
    transport=Transport(
        play_help="Pause or continue all chains. Those that keep up with the speed stop at the same sample.",
        step_help="Draw one more sample of every chain, then pause: watch the ground rise under the chain.",
        reset_help="Restart all chains in the deepest valley with the same seed, the ground as in the model.",
        width=170,
    ),
)


def walk_chart(
    named: Sequence[tuple[str, LandscapeSnapshot]], quantity: str, title: str, slots: Sequence[int] = ()
) -> Chart:
    """Return the chart of one quantity for all walks, with the slopes 1/√t and 1/t as guides.

    For the visits, the first is the error of independent draws.

    quantity : "visits" or "moments"; slots : see ``styled``
    """
    tones = colours([snapshot.algorithm for _, snapshot in named])
    points = [(name, point._asdict()) for name, snapshot in named for point in snapshot.curve]
    rows = [{"kind": "point", "sampler": name, **row} for name, row in points if row[quantity] > 0]
    # Round up to whole decades, so that the axes rarely change.
    far = 10 ** math.ceil(math.log10(max([10, *(row["n"] for row in rows)])))
    least = 10 ** math.floor(math.log10(min([0.1, *(row[quantity] for row in rows)])))
    ends = {power: [(n, n**-power) for n in (1, least ** (-1 / power))] for power in (0.5, 1.0)}
    if quantity == "visits":
        ends[0.5] = sorted({(row["n"], row["floor"]) for row in rows})
    look = {"kind": "guide", "tone": GREY, "solid": False}
    guides = [
        look | {"guide": power, "order": n, "n": n, quantity: value}
        for power, points in ends.items()
        for n, value in points
        if rows
    ]
    return Curves(
        ChartAxis("n", "Samples (t)", "log", domain=(1, far)),
        ChartAxis(quantity, title, "log", domain=(least, 3)),
        "sampler",
        styled([name for name, _ in named], tones, slots),
        kinds=("guide",),
        legend=Legend(),
    ).of(rows + guides)


def draw_landscape(present: bool) -> None:
    """Draw the live walks."""
    with PAGE.toolbar():
        choose_landscape()
        PAGE.menu()
    setup, _ = PAGE.setup_now()
    race = PAGE.open(setup, shown=(Settings.land.value, setup.model))
    name, _ = race.shown_model
    left, right = places()
    with left:
        offer = "sampler", "landscape", lambda: controls.sampler_adders(race, "chain")
        PAGE.draw_panels(race, "land_grid", grid, offer)
    with right:
        draw_walks(race)
    if not present:
        st.caption(messages.plain(landscape_line(name, race.setup)))
        downloads(race, {name: race.setup.model})


def choose_landscape() -> None:
    """Draw the settings of the landscape."""
    own = links.own_names("land")
    name = controls.select(
        Settings.land,
        options=[*Settings.land.spec.options(), *own],
        width=170,
        label_visibility="collapsed",
    )
    controls.slide_number(Settings.land_depth, format="%g", width=220, disabled=name in own)
    with controls.settings("chain"):
        controls.number(Settings.land_seed)
        controls.choose(Settings.land_order)


def landscape_line(name: str, setup: LandscapeSetup) -> str:
    """Return a sentence that describes the landscape."""
    rbm, valleys = setup.model.rbm, len(landscape(setup.model.rbm).valleys)
    return (
        f"{name}: a model of {rbm.n_visible} pixels; its {2**rbm.n_visible} images, side by side, form "
        f"{valleys} valley{'s' * (valleys != 1)}."
    )


def grid(race: PageRace[LandscapeSetup], **mounted: Any) -> None:
    """Draw the live panels."""
    landscape_grid(race, landscape(race.setup.model.rbm, Settings.land_order.value), **mounted)


def reading_notes() -> list[str]:
    """Return notes on reading the pictures and the chart, and suggestions to try."""
    in_valleys = Settings.land_order.value == "valley"
    return [
        f"**The ground** Each column is one state v; low{' and wide' * in_valleys} means likely (−log p). "
        "Line: the trained model. Colour: what the sampler has added (solid) or removed (pale); "
        "probabilities sum to 1, so when one place rises others sink. The ball is the "
        f"chain{'; below each valley, its most likely image' * in_valleys}.",
        "**Below** The newest states, one row each, newest on top: a stuck chain draws a vertical line. At "
        "the bottom, visits so far; line: expected. Point at a state to read its numbers.",
        "**Try** Step slowly with the key **S** and watch the ground rise under the ball. Set the step size "
        "to 0 and press *Reset*: rates-FPCD is then Gibbs (without *Reset* and decay the ground stays "
        "raised). Deepen the valleys: only chains that unlearn still cross (rates-FPCD paper, sections 3 "
        "and 4).",
        *CHART_NOTES[Settings.land_curve.value],
    ]


@st.fragment
def draw_walks(race: PageRace[LandscapeSetup]) -> None:
    """Draw the place of the chart of how the visits converge to the model's law, and the choice of it."""
    if not race.panels:
        return
    st.markdown("**Are the visits right?**")
    quantity = Settings.land_curve.value
    title = VISIT_QUANTITIES[quantity]

    def make() -> tuple[Chart, list[str]]:
        return walk_chart(PAGE.named(race), quantity, title, race.slots), []

    live_chart(race, "walks", make, title, "The curves begin with the first sample.")
    controls.choose(Settings.land_curve, label_visibility="collapsed")
    catch_up_settings(race)
