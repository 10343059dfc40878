"""The scales: samples of CD weighed by what the model gives them, and what that does to bias and variance."""

import math
from typing import NamedTuple

import streamlit as st

from app import messages, weight_charts
from app.links import read_panels, write_panel
from app.pages.weights.panel import WEIGHT_KNOBS, weights_grid
from app.panel import shape_of
from app.state import comparison_of, data, pretrained, session_comparison, trained_models
from app.stream.socket import live_path
from app.weight_charts import ESTIMATOR_QUANTITIES, population_titles
from app.widgets import (
    Speed,
    adders,
    edits,
    every_second,
    open_panels,
    own_model,
    preset_menu,
    transport,
    visit,
)
from rbmviz import BadInput, Model
from rbmviz.datasets import Dataset
from rbmviz.models import list_models
from rbmviz.registry import trainers
from rbmviz.session import Comparison, Start, StudySetup, StudySnapshot, WeightSetup, WeightSnapshot
from rbmviz.session.estimator_study import DONE, MOST_ESTIMATES
from rbmviz.session.importance_weights import MAX_WEIGHTS
from rbmviz.trainers import make_trainer

STARTS: tuple[Start, ...] = ("data", "random")
DEFAULT_MODEL = "bas_pcd"
DEFAULT_PANELS = [
    "pop_cd:n_chains=100",
    "pop_cd:n_chains=100,k=10",
    "pop_cd:n_chains=100,proposal=joint",
    "pop_cd:n_chains=100,proposal=mixture",
]
DEFAULT_GROWN = "bas"
GROWN = {"bas": 32, "modes": 100, "digits": 100, "letters": 100, "mnist5k": 100}
"""Data that models are grown on, with the examples of a batch."""
SPEED = Speed(
    "Batches per second",
    (1, 3, 10, 30, 100, 300, math.inf),
    default=10,
    key="weights_pace",
    help="Slow to look at single batches, full speed to find the rare heavy weights.",
    width=200,
)


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


def main() -> None:
    """Draw the page."""
    present = st.query_params.get("present") == "1"
    if not present:
        st.markdown(
            "##### pop-CD weighs the samples of CD by what the model gives them: does the weight spread, or "
            "does one sample take all?"
        )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        left = st.container(horizontal=True, vertical_alignment="bottom", width="content")
        name = choose_model()
        with st.popover("Settings", icon=":material/tune:"):
            own_name, model = own_model(name, "weights_own", "Weigh with a model file of your own")
            setup, reason = choose_setting(model)
        preset_menu("weights", PRESETS, apply_preset)
    comparison, token = visit("weights", setup, st.session_state.get("weights_pace", 10), fill)
    if "w" not in st.query_params:  # back from another page
        write_link(comparison)
    with left:
        transport(
            "weights",
            comparison,
            SPEED,
            play="Stop all panels at the same batch, or let them go on.",
            step="One more batch in every panel, then pause: which sample is the heavy one?",
            reset="All panels back to their first batch with the same seed: the same weights come again.",
        )
    # Always there, empty or not: else the panels below would be built again, and blink.
    with st.container():
        if own_name != name:
            own, chosen = messages.plain(own_name), messages.plain(name)
            st.caption(f"All panels weigh samples of your file '{own}'; without it those of {chosen}.")
        elif caption := preset_caption(comparison, name):
            st.caption(caption)
        if reason:
            messages.note(reason)
    panels(comparison, token, present)
    charts(comparison, present)
    if not present:
        exports(comparison, own_name)
    try:
        grown = growth_race()
    except BadInput as error:
        messages.note(f"The models that grow are left out. {error}")
        return
    growing(grown, present)
    if not present:
        st.download_button(
            "Bias and variance",
            data=lambda: weight_charts.plane_csv(shown_of(grown)),
            file_name="bias_variance.csv",
            icon=":material/download:",
            on_click="ignore",
            help="Bias, variance and effective sizes of every estimator on every model (.csv).",
        )


def fill(comparison: Comparison[WeightSetup]) -> None:
    """Give a new comparison the populations of the link, or the default ones, and start it."""
    open_panels(comparison, trainers, st.query_params.get_all("w"), DEFAULT_PANELS, only="pop_cd")
    write_link(comparison)


def write_link(comparison: Comparison[WeightSetup]) -> None:
    """Put the populations into the page's address; the other controls put themselves there."""
    st.query_params["w"] = [write_panel(panel.worker.algorithm, WEIGHT_KNOBS) for panel in comparison.panels]


def choose_model() -> str:
    """Return the name of the chosen model, a pretrained one or one from the Train page."""
    shipped = sorted(list_models(), key=lambda name: (name != DEFAULT_MODEL, name))
    return st.selectbox(
        "Model",
        [*shipped, *trained_models()],
        key="weights_model",
        bind="query-params",
        width=180,
        help="The RBM that weighs the samples: a small one has an exact log Z, a large one shows the limits.",
    )


def choose_setting(model: Model) -> tuple[WeightSetup, str]:
    """Return what all panels share, and a sentence where chains cannot begin at data."""
    start = st.segmented_control(
        "Chains begin at",
        STARTS,
        default="data",
        required=True,
        key="weights_start",
        bind="query-params",
        help="Training examples, as in pop-CD, or random bits: any start gives the right mean weight.",
    )
    seed = st.number_input(
        "Seed",
        min_value=0,
        max_value=2**31 - 1,
        value=0,
        key="weights_seed",
        bind="query-params",
        help="Same seed, same batches: all panels share it.",
    )
    dataset, reason = data_of(model)
    return WeightSetup(model, dataset, int(seed), start), "" if start == "random" else reason


def data_of(model: Model) -> tuple[Dataset | None, str]:
    """Return the data that a model was trained on; None with the reason where they cannot be had."""
    name = model.meta.get("scored_on") or model.meta.get("dataset")
    if name is None:
        return None, "This model does not say what it was trained on: the chains begin at random bits."
    try:
        dataset = data(name)
    except BadInput as error:
        return None, f"The chains begin at random bits: {error}"
    if dataset.n_visible != model.rbm.n_visible:
        return None, f"The chains begin at random bits: {name} is not as wide as this model."
    return dataset, ""


def apply_preset(preset: Preset) -> None:
    """Bring the page to a preset."""
    comparison, model = comparison_of("weights"), pretrained(preset.model)
    setup = comparison.setup._replace(model=model, dataset=data_of(model)[0])
    comparison.replace(setup, read_panels(trainers, preset.panels)[0])
    st.session_state.weights_model = preset.model
    comparison.resume()
    write_link(comparison)


def preset_caption(comparison: Comparison[WeightSetup], name: str) -> str:
    """Return what to look for, as long as a preset's model and populations are on the screen."""
    shown = [panel.worker.algorithm for panel in comparison.panels]
    fit = (s for s in PRESETS if s.model == name and read_panels(trainers, s.panels)[0] == shown)
    return next((preset.caption for preset in fit), "")


@st.fragment
def panels(comparison: Comparison[WeightSetup], token: str, present: bool) -> None:
    """Draw the live panels, and the way to add one."""
    edited, removed = edits(comparison, "weights_grid", write_link)

    def add(proposal: str) -> None:
        comparison.add(make_trainer("pop_cd", n_chains=100, proposal=proposal))
        write_link(comparison)

    weights_grid(
        comparison,
        live_path() + token,
        labels=population_titles([panel.worker.algorithm for panel in comparison.panels]),
        present=present,
        on_edit=edited,
        on_remove=removed,
        key="weights_grid",
    )
    if not comparison.panels:
        st.info("No panel is open: add a population.", icon=":material/balance:")
    if not present:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.caption("Add a population, weighed by the proposal", width="content")
            adders("weights", {name: name for name in ("visible", "joint", "mixture")}, add)


def named(comparison: Comparison[WeightSetup]) -> list[tuple[str, WeightSnapshot]]:
    """Return the snapshots of all panels by name, no two names alike."""
    shown = [snapshot for _, snapshot in comparison.peek()]
    return list(zip(population_titles([snapshot.algorithm for snapshot in shown]), shown, strict=True))


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
    shown = named(comparison)
    if all(snapshot.summary is None for _, snapshot in shown):
        st.caption("Curves begin with the first batches." if shown else "")
        return
    drawn = {
        "shares": ("Who holds the weight?", weight_charts.shares_chart(shown)),
        "sizes": ("What is a batch worth?", weight_charts.sizes_chart(shown)),
        "log_z": ("Is the mean weight Z?", weight_charts.log_z_chart(shown)),
    }
    for column, (name, (title, (rows, spec))) in zip(st.columns(3), drawn.items(), strict=True):
        with column:
            st.markdown(f"**{title}**")
            st.vega_lite_chart(rows, spec, key=f"weights {name}", width="stretch", alt=title)
            if not present:
                st.caption(LOOKS[name])
            if name == "log_z" and (warning := next((s.truth.warning for _, s in shown if s.truth), "")):
                st.caption(f":material/warning: AIS: {warning}")


def exports(comparison: Comparison[WeightSetup], model_name: str) -> None:
    """Offer downloads, built when they are clicked, and code that repeats a batch."""
    model, dataset = comparison.setup.model, comparison.setup.dataset
    shape = shape_of(model.rbm.n_visible, model.meta.get("image_shape"), dataset)
    with st.container(horizontal=True):
        st.download_button(
            "Weights",
            data=lambda: weight_charts.weights_npz(comparison, [name for name, _ in named(comparison)]),
            file_name="weights.npz",
            icon=":material/download:",
            on_click="ignore",
            help=f"The newest {MAX_WEIGHTS:,} log weights and the newest batch of every panel (.npz).",
        )
        st.download_button(
            "Curves",
            data=lambda: weight_charts.curves_csv(named(comparison)),
            file_name="weights.csv",
            icon=":material/download:",
            on_click="ignore",
            help="Estimates of log Z, effective sizes and shares of the heaviest (.csv).",
        )
        st.download_button(
            "Picture",
            data=lambda: weight_charts.tiles_png(named(comparison), shape),
            file_name="weights.png",
            icon=":material/download:",
            on_click="ignore",
            help="The heaviest and lightest samples of the newest batches, with their shares (.png).",
        )
        with st.popover("Code", icon=":material/code:", key="weights_code"):
            named_data = dataset.name if dataset is not None and comparison.setup.start == "data" else None
            algorithms = [panel.worker.algorithm for panel in comparison.panels]
            st.code(weight_charts.snippet(model_name, named_data, algorithms, comparison.setup.seed))


# Models that grow


def growth_race() -> Comparison[StudySetup]:
    """Return the comparison of the models that grow, one panel, begun with the page."""
    setup = StudySetup(data(DEFAULT_GROWN), GROWN[DEFAULT_GROWN])
    comparison, _, _ = session_comparison("growth", setup, math.inf, beside="weights")
    if not comparison.panels:
        comparison.add(make_trainer("cd", learning_rate=0.1, schedule="constant"))
        comparison.resume()
    return comparison


def shown_of(comparison: Comparison[StudySetup]) -> StudySnapshot:
    """Return how far the models have grown."""
    shown: StudySnapshot = comparison.peek()[0][1]
    return shown


def grow(comparison: Comparison[StudySetup], name: str) -> str:
    """Let the models grow on these data; return a sentence where they cannot be had."""
    try:
        setup = StudySetup(data(name), GROWN[name])
        if comparison.setup != setup:
            comparison.change(setup)
    except BadInput as error:
        return str(error)
    return ""


@every_second
def growing(comparison: Comparison[StudySetup], present: bool) -> None:
    """Bias and variance of all estimators on models that grow, in the background."""

    def toggle() -> None:
        (comparison.pause if comparison.running else comparison.resume)()

    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.markdown("##### Less bias, more noise: every estimator on models that grow")
        name = st.selectbox(
            "Models trained by CD-1 on",
            list(GROWN),
            key="grown",
            bind="query-params",
            width=200,
            help="Small enough for the exact gradient; with more pixels (digits, letters) weights are less "
            "even.",
        )
        refused = grow(comparison, name)
        comparison.snapshots()  # renews the lease: the work ends by itself, so that it may go on unwatched
        shown = shown_of(comparison)
        st.button(
            "Pause measuring" if comparison.running else "Go on",
            icon=":material/pause:" if comparison.running else ":material/play_arrow:",
            key="growth_play",
            on_click=toggle,
            disabled=shown.stage == DONE,
            help="Training and measuring take a core of this machine until they are done.",
        )
    if sentence := refused or shown.error:
        messages.error(sentence)
    done = f"; {shown.estimates:,} estimates of each kind so far" if shown.estimates else ""
    share = (len(shown.models) / len(comparison.setup.sizes) + 3 * shown.estimates / MOST_ESTIMATES) / 4
    st.progress(min(share, 1.0), shown.stage + done + ".")
    if not shown.models:
        st.caption("Points come in as soon as the first model has been trained.")
        return
    left, right = st.columns([5, 4])
    with left:
        st.markdown("**Bias against variance**, larger points for more hidden units")
        rows, spec = weight_charts.plane_chart(shown.models)
        st.vega_lite_chart(
            rows, spec, key="plane", width="stretch", alt="Bias against variance of estimators"
        )
        if not present:
            st.caption(
                "As in section 4.1 and table 1: squared distance of the mean estimate to the exact "
                "gradient, and of the estimates to their mean, over the number of parameters. Down is less "
                "bias, left is less noise; a pale point shows no bias yet and sinks as estimates come in. "
                "LOO leaves each weight out of its own normalisation (eq. 9). **Look** at pop-CD below and "
                "to the right of CD. **Try** other data."
            )
    with right:
        quantity = st.selectbox(
            "As the number of hidden units grows",
            list(ESTIMATOR_QUANTITIES),
            format_func=lambda name: ESTIMATOR_QUANTITIES[name],
            key="growth_quantity",
            bind="query-params",
            label_visibility="collapsed",
            help="What is drawn against the number of hidden units, or of sweeps.",
        )
        rows, spec = weight_charts.growth_chart(shown.models, quantity)
        st.vega_lite_chart(rows, spec, key="growth", width="stretch", alt=ESTIMATOR_QUANTITIES[quantity])
        if not present:
            st.caption(GROWTH_LOOKS["ess" if quantity in ("ess", "sweeps") else quantity])


GROWTH_LOOKS = {
    "ratio": "Above the dashed line weighing pays; pale: at least so much. Paper, table 1, k = 1: 156 on "
    "Bars and Stripes with 16 hidden units, over 10⁷ on modes, 3 on letters with 16 and 0.2 with 100. "
    "**Try** letters: the gain melts from some hundreds with 2 hidden units to 5 with 16.",
    "bias": "CD's bias stays, whatever the size of the batch; that of pop-CD comes only from dividing by an "
    "uncertain Z (section 3.3). UCD has none unless pairs are cut off, which they are on models of CD.",
    "variance": "The price of the weights: pop-CD is noisier than CD nearly everywhere (table 1), UCD far "
    "more so.",
    "ess": "Effective sample size over batch size, 20 batches each. **Look** whether more sweeps help: only "
    "where they bring the chain closer to the model (section 3.3).",
}


main()
