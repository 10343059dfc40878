"""Two chains that are drawn jointly so that they meet, and estimates from their meetings (paper UCD)."""

import math
from dataclasses import replace
from typing import NamedTuple

import streamlit as st

from app import controls, links, messages
from app.controls import Download
from app.page import LivePage, Transport
from app.pages.coupling.charts import all_rows
from app.pages.coupling.evidence import ChartSettings, evidence, request_results
from app.pages.coupling.exports import curves_csv, pairs_npz, picture, snippet
from app.pages.coupling.panel import HIGHLIGHT, coupling_panel
from app.pages.coupling.settings import RANDOM_MODEL, Settings, choose_model, choose_start, setup_of
from app.panel import shape_of
from app.session import COUPLED_MODEL
from app.timer import wake
from rbmviz import BadInput
from rbmviz.coupling import MAX_PAIRS
from rbmviz.knobs import read_knobs
from rbmviz.links import VERSION, default_panels, knob_values, write_changed_knobs
from rbmviz.rbm import RBM
from rbmviz.session import Comparison, Coupling, CouplingSetup, CouplingSnapshot, Results

TITLE, ICON, PLACE = "Coupling", "join_inner", 3
DEFAULT_PANELS = ["scale=1.5"]
"""The knobs of a random model; a trained one begins at scale 1, as it is."""

KNOBS = "c"
"""Name of the knobs in the address."""


class Preset(NamedTuple):
    """A preset: a model and its scale that show one thing, and what to look for."""

    label: str
    caption: str
    model: str
    scale: float
    size: tuple[int, int] = (16, 10)
    lag: int = 10


PRESETS = [
    Preset(
        "Small enough to know",
        "Every curve can be checked here: the bound stays above the exact distance, UCD finds the exact "
        "value, and CD-1 finds another one.",
        RANDOM_MODEL,
        1.5,
    ),
    Preset(
        "Sharing randomness",
        "500 visible, 100 hidden units, as in the paper's figure 5: with algorithm 3 two of three pairs meet "
        "within 10 sweeps, with algorithm 1 many wander on for hundreds.",
        RANDOM_MODEL,
        0.1,
        (500, 100),
    ),
    Preset(
        "Weights grow",
        "Drag the scale up slowly: at first both algorithms meet soon, then the tail grows and grows.",
        RANDOM_MODEL,
        0.1,
        (100, 40),
    ),
    Preset(
        "Modes keep them apart",
        "A model that has learned Bars and Stripes, at half strength: chains in one mode meet at once, those "
        "in two modes late. Drag the scale to 1: then they need thousands of sweeps, as Gibbs sampling does.",
        "bas_pcd",
        0.5,
        lag=100,
    ),
    Preset(
        "Digits, at half strength",
        "With its parameters halved a model of digits still lets its chains meet; at full strength hardly "
        "any pair does, which is how far Gibbs sampling is from its model.",
        "mnist_cd1",
        0.5,
        lag=50,
    ),
]


PAGE: LivePage[CouplingSetup, Preset] = LivePage(
    name="coupling",
    question="Two chains of one model, drawn together so that they meet: how long does it take?",
    about="Each half shows one pair of chains of the same model, as two pictures: pixels in which they "
    "differ are orange, until the two are equal and the next pair begins. A **model** is a network of "
    "pixels and hidden units that says how likely every picture is; a **sweep** draws all hidden units anew "
    "and then all pixels, and the first chain is one sweep ahead; a **class**, the kind of a picture, plays "
    "no part here, for only equal pictures count. First watch a few pairs meet, then drag the upper slider "
    "to the right and see how long they take.",
    presets=PRESETS,
    speed=Settings.coupling_speed,
    transport=Transport(
        "Sweeps per second",
        (1, 2, 5, 10, 30, 100, math.inf),
        speed_help="Of the displayed pairs; the pairs of the charts are counted in the background, at full "
        "speed.",
        play_help="Stop both pairs at the same sweep, or let them go on; counting stops, too.",
        step_help="One more sweep of both pairs, then pause; after a meeting the next pair begins.",
        reset_help="Back to the first pair, with the same seed: the same meetings come again.",
        width=130,
    ),
)


def main() -> None:
    """Draw the page."""
    present = PAGE.heading()
    with PAGE.toolbar():
        middle = st.container(horizontal=True, vertical_alignment="bottom", width="content")
        start, seed = choose_start()
        PAGE.menu(apply_preset)
    with middle:
        name, model = choose_model(seed)
    setup, reason = setup_of(model, start, seed)
    comparison = PAGE.open(setup, lambda comparison: begin(comparison, name))
    if comparison.setup == setup:  # otherwise the limits refused the setup
        take_scale_of(comparison, name)
    # Always there, even if empty: otherwise the panel below would be rebuilt, and blink.
    with st.container():
        if reason:
            messages.note(reason)
    shown = COUPLED_MODEL.value
    shape = shape_of(comparison.setup.rbm.n_visible, model.meta.get("image_shape"))
    panel(comparison, shown, shape, present)
    if not present:
        st.caption(
            "**What you see** ξ runs one sweep ahead of η. Pixels in which the two differ are orange, strong "
            "where they are on. Each chain alone is an exact Gibbs chain; once equal they stay equal, and "
            "the next pair begins. **Try** a larger scale, then look how often pairs still meet. "
            "Paper UCD, section 3.2 (algorithm 1) and section 4 (algorithm 3)."
        )
    asked = ChartSettings(Settings.lag.value, Settings.estimate_k.value, Settings.coupling_statistic.value)
    evidence(comparison, asked, present)
    if not present:
        exports(comparison, asked, shown, shape)


def own_knobs(name: str, version: int = VERSION) -> Coupling:
    """Return the knobs that a model begins with, by the defaults of a version of links."""
    own = default_panels("coupling", version)[0] if name == RANDOM_MODEL else ""
    return Coupling(**knob_values(Coupling, own, version))


def begin(comparison: Comparison[CouplingSetup], name: str) -> None:
    """Add the only panel of a new comparison, with the knobs of the link or of its model."""
    coupling = own_knobs(name, links.version())
    for text in links.values(KNOBS)[:1]:
        try:
            coupling = replace(coupling, **read_knobs(Coupling, text))
        except BadInput as error:
            messages.left_out(f"The link's knobs are left out. {error}")
    comparison.add(coupling)
    COUPLED_MODEL.set(name)


def take_scale_of(comparison: Comparison[CouplingSetup], name: str) -> None:
    """Set the scale knob to that of the model, if another model was chosen."""
    if name != COUPLED_MODEL.value:
        comparison.tune(comparison.panels[0].key, scale=own_knobs(name).scale)
    COUPLED_MODEL.set(name)


def title_of(name: str, rbm: RBM) -> str:
    """Return what the panel is called."""
    kind = "Random model" if name == RANDOM_MODEL else name
    return f"{kind}, {rbm.n_visible} visible and {rbm.n_hidden} hidden units"


def apply_preset(preset: Preset) -> None:
    """Bring the page to a preset."""
    Settings.coupling_model.set(preset.model)
    if preset.model == RANDOM_MODEL:
        visible, hidden = preset.size
        Settings.coupling_visible.set(visible)
        Settings.coupling_hidden.set(hidden)
    Settings.lag.set(preset.lag)
    Settings.coupling_speed.set(Settings.coupling_speed.default)
    COUPLED_MODEL.set(preset.model)
    comparison = PAGE.comparison()
    comparison.tune(comparison.panels[0].key, scale=preset.scale, max_sweeps=Coupling.max_sweeps)
    comparison.resume()


def fits(preset: Preset, name: str, rbm: RBM) -> bool:
    """Return whether the model of a preset is on the screen; its scale is there to be changed."""
    return preset.model == name and (name != RANDOM_MODEL or preset.size == rbm.W.shape)


@st.fragment
def panel(comparison: Comparison[CouplingSetup], name: str, shape: tuple[int, int], present: bool) -> None:
    """Draw the live pairs."""
    rbm = comparison.setup.rbm
    PAGE.preset_caption(lambda preset: fits(preset, name, rbm))
    scale = "Standard deviation of all parameters" if name == RANDOM_MODEL else "Scale (1: as trained)"
    coupling_panel(
        comparison,
        PAGE.socket(),
        title=title_of(name, rbm),
        labels={"scale": scale},
        shape=shape,
        present=present,
        on_edit=PAGE.callbacks(comparison, "coupling_panel")["on_edit"],
        key="coupling_panel",
    )
    knobs = write_changed_knobs(comparison.panels[0].worker.algorithm, since=own_knobs(name))
    links.write("coupling", {KNOBS: [knobs] if knobs else []})
    wake(comparison)


def exports(
    comparison: Comparison[CouplingSetup], asked: ChartSettings, name: str, shape: tuple[int, int]
) -> None:
    """Draw the downloads, and code that repeats the pairs."""

    def found() -> Results:
        results = request_results(comparison, asked.lag, asked.k)
        if results is None:
            raise BadInput("There are no results yet: wait until the first pairs have met.")
        return results

    def displayed() -> CouplingSnapshot:
        [(_, shown)] = comparison.peek()
        return shown

    with st.container(horizontal=True, vertical_alignment="center"):
        controls.downloads(
            "coupling",
            [
                Download(
                    "Pairs",
                    lambda: pairs_npz(found()),
                    "pairs.npz",
                    f"Every pair counted: stopping time, estimates. Up to {MAX_PAIRS:,} pairs an algorithm.",
                ),
                Download(
                    "Curves",
                    lambda: curves_csv(all_rows(found(), asked.statistic)),
                    "coupling.csv",
                    "The points of all five charts.",
                ),
                Download(
                    "Picture",
                    lambda: picture(displayed(), shape, HIGHLIGHT),
                    "pairs.png",
                    "The two displayed pairs, pixels that differ in colour.",
                ),
            ],
        )
        controls.code("coupling", snippet(name, comparison.setup, comparison.panels[0].worker.algorithm))


if __name__ == "__main__":
    main()
