"""The landscape part of the page: the energies of all states of a small model, and chains among them."""

from typing import Any

import streamlit as st

from rbmviz.links import write_changed_panel
from rbmviz.metrics import landscape
from rbmviz.metrics.numbers import NUMBERS
from rbmviz.origin import origin
from rbmviz.pages import PAGES
from rbmviz.registry import samplers
from rbmviz.samplers import list_samplers, make_sampler
from rbmviz.session import Comparison, LandscapeSetup
from rbmviz.session.recorder import MAX_HELD_SAMPLES
from rbmviz_app import controls, messages
from rbmviz_app.charts.samples import samples_npz
from rbmviz_app.controls import Download
from rbmviz_app.page import (
    LivePage,
    Transport,
    algorithms_of,
    catch_up_page,
    catch_up_settings,
    draw_chart,
    offer_panels,
)
from rbmviz_app.pages.chain.exports import command_of, walks_csv
from rbmviz_app.pages.chain.landscape_charts import walk_chart
from rbmviz_app.pages.chain.panel import landscape_grid
from rbmviz_app.pages.chain.settings import Settings, choose_landscape
from rbmviz_app.presets import Preset
from rbmviz_app.timer import every_second

VISIT_QUANTITIES = {
    "visits": NUMBERS["chain"]["visits"].titled(),
    "moments": NUMBERS["chain"]["moments"].titled(),
}


PRESETS = (
    Preset(
        "Two valleys",
        "Nine nats deep. Gibbs crosses when it is lucky. Both chains that unlearn cross more often, but "
        "while the visits of rates-FPCD come near the model’s law, those of penalization stay far from it.",
        PAGES["chain"].default_panels,
        claims=(
            "panel2.crossings > panel1.crossings + 2 at 600 samples",
            "panel3.crossings > panel1.crossings + 2 at 600 samples",
            "panel2.visits < 0.12 at 600 samples, not of panel3",
            "panel3.visits > 0.15 at 600 samples, not of panel2",
        ),
    ),
    Preset(
        "The valley fills up",
        "Two valleys, twelve nats deep. Each sample raises the ground under rates-FPCD until it rolls out, "
        "again and again. Under Gibbs nothing ever moves: it waits for luck, once in 3,500 samples.",
        PAGES["chain"].default_panels,
        {"land_depth": 12.0},
        (
            "panel1.crossings < 1 at 600 samples, not of panel2",
            "panel2.crossings > 3 at 600 samples, not of panel1",
            "panel1.visits > 0.4 at 600 samples, not of panel2",
            "panel2.visits < 0.2 at 600 samples, not of panel1",
        ),
    ),
    Preset(
        "Heat or unlearning",
        "Heat lets Gibbs out by flattening every valley, for good: it visits a law that is not the model’s. "
        "Unlearning raises only the ground where the chain is, and its visits come near the law.",
        ("gibbs", "gibbs:temperature=2", "rates_fpcd:eps=0.05"),
        {"land": "three patterns", "land_depth": 12.0},
        (
            "panel1.crossings < 1 at 600 samples, not of panel2",
            "panel2.crossings > 30 at 600 samples, not of panel1",
            "panel2.visits > 0.3 at 600 samples, not of panel3",
            "panel3.crossings > 5 at 600 samples, not of panel1",
            "panel3.visits < 0.15 at 600 samples, not of panel2",
        ),
    ),
    Preset(
        "Decay hurts",
        "What has decayed no longer tells where the chain has been. With decay 0.95 it crosses even more "
        "often, and its visits stop three times as far from the law as without decay; with 0.8 still "
        "farther.",
        ("rates_fpcd:eps=0.05", "rates_fpcd:eps=0.05,alpha=0.95", "rates_fpcd:eps=0.05,alpha=0.8"),
        {"land": "letters L T X", "land_pace": 100},
        (
            "panel1.visits < 0.06 at 3000 samples, not of panel2",
            "panel2.crossings > panel1.crossings + 30 at 3000 samples",
            "panel2.visits > 0.08 at 3000 samples, not of panel1",
            "panel3.visits > panel2.visits + 0.02 at 3000 samples",
        ),
    ),
    Preset(
        "Penalization ends empty",
        "Without rates and decay each bit that is on gets less likely: the empty state takes over, and more "
        "than half of the first 3,000 samples are empty. With decay, or with the rates, hardly one is.",
        (
            "rates_fpcd:eps=0.01",
            "sample_penalization:eps=0.01,alpha=0.9",
            "sample_penalization:eps=0.01,alpha=1",
        ),
        {"land_pace": 100},
        (
            "panel1.empty < 1 at 3000 samples, not of panel3",
            "panel2.empty < 1 at 3000 samples, not of panel3",
            "panel3.empty > 50 at 3000 samples, not of panel2",
            "panel3.bent > 0.9 at 3000 samples, not of panel2",
        ),
    ),
    Preset(
        "Penalization ends uniform",
        "The same penalty, counted in two ways. With units 0 and 1 only what is on is penalised, and the "
        "empty state takes over. With units -1 and +1 every state is penalised alike: in the end all 64 come "
        "equally often.",
        ("sample_penalization:eps=0.003,alpha=1", "sample_penalization:eps=0.003,alpha=1,units=symmetric"),
        {"land_pace": 100},
        (
            "panel1.empty > 15 at 3000 samples, not of panel2",
            "panel2.empty < 3 at 3000 samples, not of panel1",
            "panel2.bent > 0.7 at 3000 samples",
        ),
    ),
    Preset(
        "Moments fall as 1/t",
        "Gibbs comes near the rates by luck. With alpha 1 rates-FPCD must: its error is at most |θF|/(εt), "
        "ten times as many samples make it about ten times smaller. With decay it stops far above.",
        ("gibbs", "rates_fpcd:eps=0.03", "rates_fpcd:eps=0.05,alpha=0.95"),
        {"land": "letters L T X", "land_depth": 8.0, "land_pace": 1000, "land_curve": "moments"},
        (
            "panel2.moments < 0.015 at 3000 samples, not of panel1",
            "panel2.moments < 0.003 at 30000 samples, not of panel1",
            "panel1.moments > 0.02 at 30000 samples, not of panel2",
            "panel3.moments > 0.03 at 30000 samples, not of panel2",
        ),
    ),
    Preset(
        "Too large a step",
        "Thrown out of each valley at once: the moments are right all the same, but the larger the step, "
        "the farther from the law the visits stop.",
        ("rates_fpcd:eps=0.03", "rates_fpcd:eps=0.3", "rates_fpcd:eps=1"),
        {"land_depth": 8.0, "land_pace": 100},
        (
            "panel1.moments < 0.02 at 3000 samples",
            "panel2.moments < 0.02 at 3000 samples",
            "panel3.moments < 0.02 at 3000 samples",
            "panel2.visits > panel1.visits + 0.03 at 3000 samples",
            "panel3.visits > panel2.visits + 0.05 at 3000 samples",
        ),
    ),
)


PAGE: LivePage[LandscapeSetup] = LivePage(
    PAGES["chain"],
    Settings,
    question="Unlearn the state you are in: why does a chain that pushes itself away mix sooner?",
    about="Each panel shows all pictures of a tiny model side by side as a landscape, low where the model "
    "finds them likely, and the ball is the chain that walks there. A **model** says how likely every "
    "picture is, here with so few pixels that all can be drawn; a **sweep** draws all hidden units anew and "
    "then all pixels, which moves the ball; a **mode** is a valley, with unlikely pictures all around. "
    "First let it run and see which ball leaves its valley, then press *Step*, or the key **S**, and watch "
    "the ground rise where the ball stood.",
    presets=PRESETS,
    transport=Transport(
        play_help="Stop all chains, or let them go on. Those that keep up with the speed stop at the same "
        "sample.",
        step_help="One more sample of every chain, then pause: see the ground rise where the chain stood.",
        reset_help="All chains back to the deepest floor, the ground as the model has it, with the same "
        "seed.",
        width=170,
    ),
)


def draw_landscape(present: bool) -> None:
    """Draw the live walks."""
    with PAGE.toolbar():
        setup = choose_landscape()
        PAGE.menu()
    comparison = PAGE.open(setup)
    name, _ = PAGE.shown_model(comparison, setup, Settings.land.value, setup.model)
    if not present:
        with PAGE.notes():
            st.caption(messages.plain(landscape_line(name, comparison.setup)))
    panels(comparison, present)
    if not present:
        reading_help()
    draw_walks(comparison)
    if not present:
        exports(comparison, name)


def landscape_line(name: str, setup: LandscapeSetup) -> str:
    """Return a sentence that describes the landscape."""
    rbm, valleys = setup.model.rbm, len(landscape(setup.model.rbm).valleys)
    return (
        f"{name}: a model of {rbm.n_visible} pixels, whose {2**rbm.n_visible} pictures lie "
        f"side by side, with {valleys} valley{'s' * (valleys != 1)} of likely ones."
    )


@st.fragment
def panels(comparison: Comparison[LandscapeSetup], present: bool) -> None:
    """Draw the live panels and the buttons that add one."""
    PAGE.preset_caption(comparison)
    landscape_grid(
        comparison,
        landscape(comparison.setup.model.rbm, Settings.land_order.value),
        PAGE.socket(),
        present=present,
        key="land_grid",
        **PAGE.callbacks(comparison, "land_grid"),
    )
    labels = {name: samplers[name].label for name in list_samplers()}
    offer_panels(
        comparison,
        "sampler",
        "landscape",
        "Add a panel:",
        lambda: controls.adders("chain", labels, lambda name: comparison.add(make_sampler(name))),
    )
    catch_up_page(comparison)
    PAGE.write_address(comparison)


def reading_help() -> None:
    """Draw the notes on how to read the pictures and what to try."""
    left, middle, right = st.columns(3)
    in_valleys = Settings.land_order.value == "valley"
    left.caption(
        f"**The ground** is −log p(v) of every state v, the likeliest lowest{' and widest' * in_valleys}. "
        "The line is the model’s own; in colour, what the fast parameters pile up (full) or dig away (pale): "
        "probabilities sum to 1, so what rises here sinks there. The ball is the chain"
        f"{'; under each valley, the picture at its floor' * in_valleys}."
    )
    middle.caption(
        "**Below** are the newest states, one row each, the newest on top: a column is a chain that stays. "
        "At the bottom the visits so far, against the model’s law (line). Point at a state to read its "
        "numbers."
    )
    right.caption(
        "**Try**: step slowly with the key **S** and watch the ground rise where the ball stood; set the "
        "step size to 0 and press *Reset*: rates-FPCD is then Gibbs (without *Reset* the ground stays bent, "
        "if nothing decays); deepen the valleys and only the chains that unlearn still "
        "cross (rates-FPCD paper, sections 3 and 4)."
    )


@every_second
def draw_walks(comparison: Comparison[LandscapeSetup]) -> None:
    """Draw the convergence of the visits to the model's law; runs every second and renews no lease."""
    if not comparison.panels:
        return
    wide, narrow = st.columns([5, 2], gap="medium")
    with wide:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown("**Do the visits converge to the model’s law?**")
            quantity = controls.choose(Settings.land_curve, label_visibility="collapsed")
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
                "**Try** a depth of 8, 10, 12: in the two halves Gibbs crosses every 84, 510, 3,500 "
                "samples, rates-FPCD with step size 0.03 every 53, 125, 230. Waiting for luck grows "
                "exponentially with the depth, filling the valley up does not (section 3)."
            )
        else:
            st.caption(
                "With alpha = 1 the sum of all pushes is θF itself: the mean of all statistics differs from"
                " the rates by exactly |θF|/(εt), and θF stays bounded. So the error falls as 1/t (lower "
                "dashes), faster than independent samples could (1/√t); the chart has the part of it that "
                "lies in the visible units. Any decay ends that (section 4)."
            )
        st.caption(
            "The paper says that penalization without decay ends at the uniform law. It does if the units "
            "that are counted are -1 and +1 (knob “Units of the penalty”, preset “Penalization ends "
            "uniform”). With 0 and 1 it does not (in the two halves it comes no nearer than 0.65): only "
            "what is on is penalised, and all ends at the empty state."
        )
    catch_up_settings(PAGE.name)


def exports(comparison: Comparison[LandscapeSetup], land: str) -> None:
    """Offer downloads, built on click; land: name of the landscape that the panels show."""
    setup, depth = comparison.setup, Settings.land_depth.value
    rbm = setup.model.rbm

    def known() -> dict[str, Any]:
        panels = [write_changed_panel(algorithm) for algorithm in algorithms_of(comparison)]
        command = command_of(panels, land, depth, setup.seed)
        return origin(command, models={land: setup.model}, seeds=[setup.seed])

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
                    f"The newest {MAX_HELD_SAMPLES:,} samples of every panel, and the log that makes them "
                    "again (.npz).",
                ),
            ],
            known,
        )
        st.caption("A panel’s ⤓ saves its picture.", width="content")
