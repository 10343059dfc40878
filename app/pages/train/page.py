"""Trainers side by side on one data set, judged by the exact likelihood where there is one."""

import math
from typing import Any, NamedTuple

import streamlit as st

from app import controls, links, messages
from app.page import LivePage, Transport, below_panels
from app.pages.train.likelihood import charts
from app.pages.train.naming import fresh_starts, open_ended
from app.pages.train.panel import train_grid
from app.pages.train.results import results
from app.pages.train.settings import Settings, beginnings, choose_setup, go_on
from app.shared import data
from rbmviz.metrics.exact import attainable_log_likelihood
from rbmviz.registry import trainers
from rbmviz.session import Comparison, Origin, TrainingSetup
from rbmviz.trainers import list_trainers

TITLE, ICON, PLACE = "Train", "school", 2
BAS_KNOBS = "learning_rate=0.1,schedule=constant"
DEFAULT_PANELS = [
    f"cd:{BAS_KNOBS}",
    f"pcd:{BAS_KNOBS}",
    f"pop_cd:{BAS_KNOBS}",
    f"ucd:{BAS_KNOBS},n_chains=1000,t_max=50",
]


class Preset(NamedTuple):
    """A preset: data, hidden units and trainers that show one thing, and what to look for."""

    label: str
    caption: str
    data: str
    n_hidden: int
    panels: list[str]


PRESETS = [
    Preset(
        "CD falls away",
        "On Bars and Stripes CD and PCD climb, then lose what they had; pop-CD and UCD stay on top.",
        "bas",
        16,
        DEFAULT_PANELS,
    ),
    Preset(
        "Four prototypes",
        "Modes far apart: CD loses nearly all of them, PCD staggers; pop-CD and tempering weigh them right.",
        "modes",
        16,
        [
            "cd",
            "pcd:schedule=constant,learning_rate=0.05",
            "pop_cd",
            "pt:schedule=constant,learning_rate=0.05",
        ],
    ),
    Preset(
        "The yardstick",
        "The exact gradient, and how close three estimates of it come: same data, same seed, same rate.",
        "bas@3",
        8,
        [
            "exact:learning_rate=0.2",
            "cd:learning_rate=0.2",
            "pop_cd:learning_rate=0.2",
            "ucd:learning_rate=0.2,schedule=constant,n_chains=500,t_max=50",
        ],
    ),
    Preset(
        "Digits",
        "Too large to enumerate: the curves are estimates by annealed importance sampling, with their error.",
        "digits",
        64,
        ["cd", "pcd:schedule=constant,learning_rate=0.05", "fpcd:schedule=constant,learning_rate=0.05"],
    ),
]


PAGE: LivePage[TrainingSetup, Preset] = LivePage(
    name="train",
    question="One data set, several ways to train on it: which trainer climbs, and which one falls away?",
    about="Each panel shows a model while it learns: the pictures that it would draw now, and its filters, "
    "which are the patterns that its hidden units look for. A **model** is a network of pixels and hidden "
    "units that learns from examples how likely every picture is; a **sweep** draws all hidden units anew "
    "and then all pixels, by which a trainer finds out what its model likes; a **class** is the kind of a "
    "picture, of which training knows nothing. First watch which log-likelihood climbs highest and which is "
    "below its best, then change a learning rate.",
    link="t",
    table=trainers,
    presets=PRESETS,
    speed=Settings.pace,
    transport=Transport(
        "Updates per second",
        (1, 10, 50, 200, 500, 2000, math.inf),
        speed_help="Slow to see single updates, full speed to see where the curves end.",
        play_help="Stop all trainers at the same update, or let them go on.",
        step_help="One more update of every trainer, then pause.",
        reset_help="All trainers back to where they began, with the same seed: the same updates come again.",
    ),
)


def main() -> None:
    """Draw the page."""
    present = PAGE.heading()
    with PAGE.toolbar():
        # A preset or a link may ask for a variant, which the list does not have.
        setup, begin, caption, refused = choose_setup(
            Settings.train_data.chosen or next(iter(links.values(Settings.train_data.key)), None)
        )
        PAGE.menu(apply_preset)
    comparison = PAGE.open(setup)
    with PAGE.notes():
        refused = refused or go_on(comparison, begin)
        if refused:
            messages.error(refused)
        if caption:
            st.caption(messages.plain(caption))
    panels(comparison, begin, present)
    charts(comparison, attainable_log_likelihood(comparison.setup.dataset.train))
    if not present:
        results(comparison)


def apply_preset(preset: Preset) -> None:
    """Bring the page to a preset."""
    setup = PAGE.comparison().setup._replace(dataset=data(preset.data), n_hidden=preset.n_hidden)
    PAGE.show_preset(setup, preset.panels)
    Settings.train_data.set(preset.data)
    Settings.hidden.set(preset.n_hidden)


@st.fragment
def panels(comparison: Comparison[TrainingSetup], begin: Any, present: bool) -> None:
    """Draw the live panels, and the way to add one."""
    setup, fresh = comparison.setup, fresh_starts(comparison)
    shown = setup.dataset.name, setup.n_hidden, fresh
    PAGE.preset_caption(
        lambda preset: (
            shown == (preset.data, preset.n_hidden, PAGE.read(preset.panels)[0])
            and len(fresh) == len(comparison.panels)
        )
    )
    train_grid(
        comparison,
        PAGE.socket(),
        view=Settings.show.value,
        pixels=Settings.train_pixels.value,
        cells=Settings.train_cells.value,
        present=present,
        key="train_grid",
        **PAGE.callbacks(comparison, "train_grid"),
    )
    below_panels(
        comparison,
        "trainer",
        "grid_view",
        "Add a trainer that begins at",
        lambda: draw_adders(comparison, begin),
    )
    # Learned weights to begin at have no place in the address.
    PAGE.write_address(fresh_starts(comparison))


def draw_adders(comparison: Comparison[TrainingSetup], begin: Any) -> None:
    """Draw the choice of where a new trainer begins, and a button for each trainer."""
    known = beginnings(comparison.setup.dataset, begin)
    begin_at = st.selectbox(
        "Begins at",
        list(known),
        width=220,
        label_visibility="collapsed",
        help="A warm start shows what another trainer does with what one has learned.",
    )

    def add(name: str) -> None:
        plan, rbm = comparison.setup.plan(), known[begin_at]
        if rbm is not None:
            origin = Origin((rbm,) * plan.replicates, 0, 0.0, ((begin_at, 0),))
            plan = plan._replace(n_hidden=rbm.n_hidden, origin=origin)
        comparison.add(open_ended(name), plan)

    controls.adders("train", {name: trainers[name].label for name in list_trainers()}, add)


if __name__ == "__main__":
    main()
