"""The Train page: trainers on one data set, judged by the exact likelihood where it can be computed."""

from typing import Any

import streamlit as st

from rbmviz.pages import PAGES
from rbmviz.registry import trainers
from rbmviz.session import Race, TrainingSetup, WarmStart
from rbmviz.trainers import list_trainers, make_trainer
from rbmviz_app import controls, messages, session
from rbmviz_app.data_download import offer_download
from rbmviz_app.page import LivePage, places
from rbmviz_app.pages.train.drawing import draw_charts, levels_of
from rbmviz_app.pages.train.panel import fresh_starts, train_grid
from rbmviz_app.pages.train.results import draw_downloads, draw_results, names_of
from rbmviz_app.pages.train.settings import Settings, beginnings, choose_setup, data_line, open_checkpoint
from rbmviz_app.presets import Preset
from rbmviz_app.shared import title_of_model
from rbmviz_app.transport import Transport

TITLE, ICON, PLACE = "Train", "school", 3
FALLING_RATE = "learning_rate=0.5,schedule=linear,iterations=3000"
PRESETS = (
    Preset(
        "CD falls away",
        "After 3,000 updates CD and PCD get worse; pop-CD stays best.",
        PAGES["train"].default_panels,
        {"statistic": "ess"},
        (
            "panel1.likelihood < panel1.likelihood@3000 - 0.02 at 6000 updates, not of panel3",
            "panel2.likelihood < panel2.likelihood@3000 - 0.5 at 6000 updates, not of panel3",
            "panel3.likelihood > panel3.likelihood@3000 + 0.1 at 6000 updates, not of panel1",
            "panel3.likelihood > panel1.likelihood + 1 at 6000 updates",
            "panel3.likelihood > panel2.likelihood + 1.5 at 6000 updates",
            "panel4.likelihood < panel3.likelihood - 1.5 at 3000 updates",
            "panel4.likelihood < panel3.likelihood - 1.5 at 6000 updates",
        ),
    ),
    Preset(
        "Four prototypes",
        "Modes far apart. CD explores only the neighbourhood of the data and gets worse and worse. PCD "
        "improves, but unsteadily. pop-CD and parallel tempering weigh the modes correctly and stay best.",
        ("cd", "pcd", "pop_cd", "pt"),
        {"train_data": "modes", "pace": 200, "statistic": "ess"},
        (
            "panel1.likelihood < panel1.likelihood@500 - 1 at 1000 updates, not of panel3",
            "panel1.likelihood < panel2.likelihood - 3 at 1000 updates",
            "panel3.likelihood > panel2.likelihood + 0.1 at 1000 updates",
            "panel4.likelihood > panel2.likelihood + 0.1 at 1000 updates",
        ),
    ),
    Preset(
        "The yardstick",
        "The exact gradient and three estimates of it, with the same data, seed and learning rate. After "
        "2,000 updates pop-CD is ahead of CD, which is biased, and of UCD, which is unbiased but noisy.",
        (
            "exact:learning_rate=0.2",
            "cd:learning_rate=0.2",
            "pop_cd:learning_rate=0.2",
            "ucd:learning_rate=0.2,schedule=constant,n_chains=200,t_max=50",
        ),
        {"train_data": "bas@3", "hidden": 8, "statistic": "ess"},
        (
            "panel3.likelihood > panel2.likelihood + 0.1 at 2000 updates",
            "panel3.likelihood > panel4.likelihood + 0.1 at 2000 updates",
        ),
    ),
    Preset(
        "UCD wins",
        "Bars and Stripes of 3 × 3 pixels. The learning rate falls to 0 within 3,000 updates, so noise "
        "averages out and bias remains. UCD, with 1,000 pairs, is erratic for a long time and ends best: "
        "above pop-CD and PCD by a few hundredths of a nat, above CD by half a nat. It takes the longest.",
        (
            *(f"{name}:{FALLING_RATE}" for name in ("cd", "pcd", "pop_cd")),
            f"ucd:{FALLING_RATE},n_chains=1000,t_max=100",
        ),
        {"train_data": "bas@3", "hidden": 8, "statistic": "tau_mean"},
        (
            "panel4.likelihood > panel3.likelihood + 0.01 at 3000 updates",
            "panel4.likelihood > panel2.likelihood + 0.03 at 3000 updates",
            "panel4.likelihood > panel1.likelihood + 0.2 at 3000 updates",
            "panel4.likelihood > -2.76 at 3000 updates, not of panel3",
            "panel4.likelihood < panel3.likelihood - 0.05 at 1500 updates",
        ),
    ),
    Preset(
        "Digits",
        "Too large to enumerate: the curves are estimates by annealed importance sampling, with standard "
        "errors (0.01 nats after 500 updates; they grow with the weights).",
        ("cd", "pcd", "fpcd"),
        {"train_data": "digits", "hidden": 64, "pace": 50, "statistic": "fast_norm"},
        (
            "panel1.likelihood_error > 0 at 500 updates",
            "panel1.likelihood_error < 0.05 at 500 updates",
            "panel1.likelihood > -25 at 500 updates",
        ),
    ),
    Preset(
        "A yardstick that punishes",
        "CD and PCD memorise their examples. By *training* both climb above the true model, −55.5 nats;"
        " by *held out* and by the *Monte Carlo average* of unbiased CD’s paper they fall.",
        (
            "cd:learning_rate=0.5,batch_size=500,initial_scale=0.2",
            "pcd:learning_rate=0.5,batch_size=500,n_chains=500,initial_scale=0.2",
        ),
        {
            **{"train_data": "simulated", "hidden": 100, "pace": 200},
            **{"part": "monte_carlo", "statistic": "free_energy_gap"},
        },
        (
            "panel1.likelihood > -55 at 2000 updates",
            "panel2.likelihood > -55 at 2000 updates",
            "panel1.held_out < panel1.held_out@500 - 1 at 2000 updates",
            "panel2.held_out < panel2.held_out@500 - 1 at 2000 updates",
            "panel1.monte_carlo < panel1.monte_carlo@500 - 0.5 at 2000 updates",
            "panel2.monte_carlo < panel2.monte_carlo@500 - 1 at 2000 updates",
        ),
    ),
)


READING_NOTES = (
    "**The filters** are the weights of each hidden unit, blue if negative, orange if positive; below, a "
    "diagnostic of this trainer.",
    "**The dashed lines** are the best possible model, where it is known, and the best model with "
    "independent pixels, which every trainer should pass.",
    "**Try** a learning rate ten times as large; or *Branch*, to continue from here with another trainer.",
)


PAGE: LivePage[TrainingSetup] = LivePage(
    PAGES["train"],
    Settings,
    question="Which trainer keeps improving?",
    about="Each panel shows a model as it learns: images drawn from it, and its filters, the patterns that "
    "its hidden units detect. A **model** is a network of pixels and hidden units that learns how likely "
    "each image is. A **sweep** draws all hidden units given the pixels, then all pixels given the hidden "
    "units; trainers use sweeps to see what their model prefers. Watch in the chart which curve climbs "
    "highest and which one falls again, then change a learning rate.",
    linkable=fresh_starts,  # the address cannot hold learned initial weights
    presets=PRESETS,
    transport=Transport(
        play_help="Pause or continue all trainers. Those that keep up with the speed stop together.",
        step_help="One more update of every trainer, then pause.",
        reset_help="Restart all trainers with the same seed: the same updates come again.",
    ),
)


def main() -> None:
    """Draw the page."""
    present = PAGE.heading(notes=READING_NOTES)
    with PAGE.toolbar():
        settings = choose_setup()
        PAGE.menu()
        cost_unit = controls.choose(Settings.train_axis)
    comparison = PAGE.open(settings.setup)
    comparison.cost_unit = cost_unit
    with PAGE.notes():
        refused = settings.refused
        if not refused:  # a checkpoint continues with its own data: open it once they are loaded
            refused = open_checkpoint(comparison, settings.begin_file)
        messages.alert("data", refused)
        if refused:
            offer_download(Settings.train_data.value, "train")
    left, right = places()
    chosen = None if present else draw_results(comparison)  # before the panels, which check the drawn names
    with left:
        offer = "trainer", "grid_view", lambda: draw_adders(comparison, settings.begin_file)
        PAGE.draw_panels(comparison, "train_grid", grid, offer)
    with right:
        draw_charts(comparison, levels_of(comparison.setup.dataset))
    if not present:
        taken = comparison.setup == settings.setup  # false if the limits refused it
        st.caption(messages.plain((taken and settings.caption) or data_line(comparison.setup)))
    if chosen is not None:
        draw_downloads(comparison, chosen)


def grid(comparison: Race[TrainingSetup], **mounted: Any) -> None:
    """Draw the live panels."""
    train_grid(
        comparison,
        view=Settings.show.value,
        pixels=Settings.train_pixels.value,
        side=Settings.train_cells.value,
        **mounted,
    )
    if not mounted["present"] and names_of(comparison) != session.DRAWN_TRAINERS.value:
        st.rerun()  # the results row, drawn with the whole page, shows the old names


def draw_adders(comparison: Race[TrainingSetup], begin_file: Any) -> None:
    """Draw the choice of a new trainer's starting point, and a button for each trainer."""
    starts = beginnings(comparison.setup.dataset, begin_file)
    begin_at = st.selectbox(
        "Starts from",
        list(starts),
        format_func=title_of_model,
        width=240,
        label_visibility="collapsed",
        key="begins at",
        help="Start from random weights, or continue with what another trainer has learned.",
    )

    def add(name: str) -> None:
        plan, rbm = comparison.setup.plan(), starts[begin_at]
        if rbm is not None:
            plan = comparison.setup.plan_from(WarmStart((rbm,) * plan.replicates, 0, 0.0, ((begin_at, 0),)))
        comparison.add(make_trainer(name), plan)

    controls.adders("train", {name: trainers[name].label for name in list_trainers()}, add)


if __name__ == "__main__":
    main()
