"""Two chains that are drawn jointly so that they meet, and what their meeting tells (paper UCD)."""

import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import streamlit as st

from app import coupling_charts as charts
from app import messages
from app.pages.coupling.panel import HIGHLIGHT, coupling_panel
from app.panel import shape_of
from app.state import comparison_of, data, drawn_rbm, pretrained, trained_models
from app.stream.socket import live_path
from app.widgets import Speed, every_second, preset_menu, transport, visit
from rbmviz import BadInput
from rbmviz.coupling import MOST_PAIRS, STATISTICS
from rbmviz.datasets import Dataset
from rbmviz.knobs import read_knobs, write_knobs
from rbmviz.models import list_models
from rbmviz.rbm import RBM, Model
from rbmviz.session import Comparison, Coupling, CouplingRun, CouplingSetup, CouplingSnapshot
from rbmviz.session.coupling import Results
from rbmviz.session.training import MAX_UNITS_EXACT_LIKELIHOOD

LAGS = (1, 2, 5, 10, 20, 50, 100, 200, 500)
SWEEP_CHOICES = (1, 2, 3, 5, 10, 20, 50)
STARTS = ("random", "data")
RANDOM_MODEL = "random"
DEFAULT_VISIBLE, DEFAULT_HIDDEN, DEFAULT_SCALE = 16, 10, 1.5
DEFAULT_SPEED, DEFAULT_LAG = 10, 10
MAX_RANDOM_UNITS = 1000
MOST_WAIT = 10.0
SPEED = Speed(
    "Sweeps per second",
    (1, 2, 5, 10, 30, 100, math.inf),
    default=DEFAULT_SPEED,
    key="coupling_speed",
    help="Of the pairs on show; the pairs of the charts are counted behind them, as fast as can be.",
    width=130,
)


class Preset(NamedTuple):
    """A preset: a model and its scale that show one thing, and what to look for."""

    label: str
    caption: str
    model: str
    scale: float
    size: tuple[int, int] = (DEFAULT_VISIBLE, DEFAULT_HIDDEN)
    lag: int = DEFAULT_LAG


PRESETS = [
    Preset(
        "Small enough to know",
        "Every curve can be checked here: the bound stays above the exact distance, UCD finds the exact "
        "value, and CD-1 finds another one.",
        RANDOM_MODEL,
        DEFAULT_SCALE,
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


def main() -> None:
    """Draw the page."""
    present = st.query_params.get("present") == "1"
    if not present:
        st.markdown("##### Two chains of one model, drawn together so that they meet: how long does it take?")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        left = st.container(horizontal=True, vertical_alignment="bottom", width="content")
        middle = st.container(horizontal=True, vertical_alignment="bottom", width="content")
        start, seed = settings()
        preset_menu("coupling", PRESETS, apply_preset)
    with middle:
        name, model = choose_model(seed)
    plan, reason = plan_of(model, start, seed)
    speed = st.session_state.get("coupling_speed", DEFAULT_SPEED)
    comparison, token = visit("coupling", plan, speed, lambda comparison: begin(comparison, name))
    if comparison.setup == plan:  # else there was no room for it
        follow(comparison, name)
    with left:
        transport(
            "coupling",
            comparison,
            SPEED,
            play="Stop both pairs at the same sweep, or let them go on; counting stops, too.",
            step="One more sweep of both pairs, then pause; after a meeting the next pair begins.",
            reset="Back to the first pair, with the same seed: the same meetings come again.",
        )
    # Always there, empty or not: else the panel below would be built again, and blink.
    with st.container():
        if reason:
            messages.note(reason)
        if caption := st.session_state.get("coupling_preset"):
            st.caption(caption)
    rbm, shown = comparison.setup.rbm, st.session_state.coupled
    shape = shape_of(rbm.n_visible, model.meta.get("image_shape"))
    panel(comparison, token, title_of(shown, rbm), shown, shape, present)
    if not present:
        st.caption(
            "**What you see** ξ runs one sweep ahead of η. Pixels in which the two differ are orange, strong "
            "where they are on. Each chain alone is an exact Gibbs chain; once equal they stay equal, and "
            "the next pair begins. **Try** a larger scale, then look how often pairs still meet. "
            "Paper UCD, section 3.2 (algorithm 1) and section 4 (algorithm 3)."
        )
    evidence(comparison, present)
    if not present:
        exports(comparison, shown, shape)


def default_scale(name: str) -> float:
    """Return the scale that a model begins with: its own, where it has one."""
    return DEFAULT_SCALE if name == RANDOM_MODEL else 1.0


def begin(comparison: Comparison[CouplingSetup], name: str) -> None:
    """Give a new comparison the knobs of the link, or the default ones, and start it."""
    coupling = Coupling(scale=default_scale(name))
    try:
        coupling = Coupling(
            **({"scale": coupling.scale} | read_knobs(Coupling, st.query_params.get("c", "")))
        )
    except BadInput as error:
        messages.left_out(f"The link's knobs are left out. {error}")
    comparison.add(coupling)
    comparison.resume()
    st.session_state.coupled = name
    write_link(comparison)


def follow(comparison: Comparison[CouplingSetup], name: str) -> None:
    """Let another model begin with its own scale."""
    if name != st.session_state.coupled:
        comparison.tune(comparison.panels[0].key, scale=default_scale(name))
    st.session_state.coupled = name
    if write_knobs(comparison.panels[0].worker.algorithm) != st.query_params.get("c"):
        write_link(comparison)


def write_link(comparison: Comparison[CouplingSetup]) -> None:
    """Put the knobs of the panel into the page's address; the other controls put themselves there."""
    st.query_params["c"] = write_knobs(comparison.panels[0].worker.algorithm)


def title_of(name: str, rbm: RBM) -> str:
    """Return what the panel is called."""
    kind = "Random model" if name == RANDOM_MODEL else name
    return f"{kind}, {rbm.n_visible} visible and {rbm.n_hidden} hidden units"


def choose_model(seed: int) -> tuple[str, Model]:
    """Return the chosen model and its name: a random one, a pretrained one, or one from the Train page."""
    name = st.selectbox(
        "Model",
        [RANDOM_MODEL, *list_models(), *trained_models()],
        key="coupling_model",
        bind="query-params",
        width=140,
        help="A random one whose weights you scale, or a trained one: well-separated modes hardly let "
        "chains meet.",
    )
    if name != RANDOM_MODEL:
        return name, trained_models().get(name) or pretrained(name)
    m = st.number_input(
        "Visible units",
        min_value=1,
        max_value=MAX_RANDOM_UNITS,
        value=DEFAULT_VISIBLE,
        key="coupling_visible",
        bind="query-params",
        width=108,
        help="Pixels of a picture: up to about 20 the exact curves can be computed, too.",
    )
    n = st.number_input(
        "Hidden units",
        min_value=1,
        max_value=MAX_RANDOM_UNITS,
        value=DEFAULT_HIDDEN,
        key="coupling_hidden",
        bind="query-params",
        width=108,
        help="All parameters are drawn from N(0, 1) and then scaled, as in paper UCD, appendix A.2.",
    )
    return RANDOM_MODEL, drawn_rbm(int(m), int(n), seed)


def own_data(model: Model) -> Dataset | None:
    """Return the data set that a model was trained on, None where it is not at hand or does not fit."""
    name = model.meta.get("scored_on") or model.meta.get("dataset")
    try:
        dataset = data(name) if name else None
    except BadInput:
        return None
    fits = dataset is not None and dataset.n_visible == model.rbm.n_visible
    return dataset if fits else None


def settings() -> tuple[str, int]:
    """Return where pairs start, "random" or "data", and the seed."""
    with st.popover("Settings", icon=":material/tune:"):
        start = st.segmented_control(
            "Pairs start at",
            STARTS,
            default="random",
            required=True,
            key="coupling_start",
            bind="query-params",
            format_func=lambda start: "random bits" if start == "random" else "training data",
            help="The same starts for both algorithms; UCD starts at training data.",
        )
        seed = st.number_input(
            "Seed",
            min_value=0,
            max_value=2**31 - 1,
            value=0,
            key="coupling_seed",
            bind="query-params",
            help="Random models, starts and chains come from it: the same seed repeats every pair.",
        )
    return start, int(seed)


def plan_of(model: Model, start: str, seed: int) -> tuple[CouplingSetup, str]:
    """Return the plan, and a sentence where the starts asked for cannot be had."""
    dataset = own_data(model) if start == "data" else None
    reason = ""
    if start == "data" and dataset is None:
        reason = "Pairs start at random bits: the data that this model was trained on are not at hand."
    return CouplingSetup(model.rbm, dataset, seed), reason


def apply_preset(preset: Preset) -> None:
    """Bring the page to a preset."""
    st.session_state.coupling_model = preset.model
    if preset.model == RANDOM_MODEL:
        st.session_state.coupling_visible, st.session_state.coupling_hidden = preset.size
    st.session_state.lag = preset.lag
    st.session_state.coupling_preset = preset.caption
    comparison = comparison_of("coupling")
    st.session_state.coupled = preset.model
    st.session_state.coupling_speed = DEFAULT_SPEED
    comparison.tune(comparison.panels[0].key, scale=preset.scale, max_sweeps=Coupling.max_sweeps)
    comparison.resume()


@st.fragment
def panel(
    comparison: Comparison[CouplingSetup],
    token: str,
    title: str,
    name: str,
    shape: tuple[int, int],
    present: bool,
) -> None:
    """Draw the live pairs."""

    def edited() -> None:
        edit = st.session_state.coupling_panel.edit
        try:
            comparison.tune(edit["key"], **edit["knobs"])
        except BadInput as error:
            messages.error(error)
        write_link(comparison)

    labels = {
        "scale": "Standard deviation of all parameters" if name == RANDOM_MODEL else "Scale (1: as trained)"
    }
    coupling_panel(
        comparison,
        live_path() + token,
        title=title,
        labels=labels,
        shape=shape,
        present=present,
        on_edit=edited,
        key="coupling_panel",
    )


def results_of(comparison: Comparison[CouplingSetup]) -> Results | None:
    """Return what the pairs have told so far, with the lag and the k of the page."""
    lag, k = st.session_state.get("lag", DEFAULT_LAG), st.session_state.get("estimate_k", 1)
    try:
        return comparison.panels[0].worker.read(lambda run: CouplingRun.results(run, lag, k))
    except BadInput:  # the run is being rebuilt, which the panel shows
        return None


def draw(chart: charts.Chart, key: str, alt: str) -> None:
    """Draw a chart, or say that there is nothing yet."""
    rows, spec = chart
    if rows.empty:
        st.caption("The first pairs are under way.")
    else:
        st.vega_lite_chart(rows, spec, key=key, width="stretch", alt=alt)


@every_second
def evidence(comparison: Comparison[CouplingSetup], present: bool) -> None:
    """Five charts of the pairs counted so far; read once a second, without renewing any lease."""
    found = results_of(comparison)
    columns = st.columns(2, gap="large")
    for column, parts in zip(columns, ((stopping, distance, rejected), (bound, estimate)), strict=True):
        with column:
            for part in parts:
                part(found, present)


def stopping(found: Results | None, present: bool) -> None:
    """Draw the stopping times of both algorithms."""
    head("When do they meet?")
    log = st.toggle(
        "Log scale", value=True, key="tau_log", bind="query-params", help="Shows how heavy the tail is."
    )
    if found is None:
        return
    draw(charts.tau_chart(found.pairs, log), "tau", "Shares of pairs by stopping time")
    if not present:
        cut = " ".join(
            f"{charts.NAMES[c.algorithm]}: {c.truncated_share:.1%} of {c.n:,} pairs had not met after "
            f"{c.max_sweeps:,} sweeps (the bar at the right)."
            if c.truncated.any()
            else f"{charts.NAMES[c.algorithm]}: all {c.n:,} pairs met."
            for c in found.pairs
        )
        st.caption(
            f"{cut} **What you see** stopping times of both algorithms from the same starts. "
            "**Try** the preset “Sharing randomness”. Paper UCD, figure 5."
        )


def bound(found: Results | None, present: bool) -> None:
    """Draw the bound on the total variation distance."""
    head("How many sweeps until the chain is at its model?")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.select_slider(
            "Lag L",
            LAGS,
            value=DEFAULT_LAG,
            key="lag",
            bind="query-params",
            width=220,
            help="Sweeps that the first chain of a pair runs ahead: a larger lag gives a sharper bound.",
        )
        log = st.toggle("Log scale", key="tv_log", bind="query-params", help="Shows the rate of the decay.")
    if found is None:
        return
    rows = charts.bound_rows(found, log)
    names = [*charts.NAMES.values(), *([charts.EXACT] if len(found.exact) else [])]
    title = "Total variation distance, at most"
    draw(
        charts.line_chart(rows, names, "Gibbs sweeps", title, kind="symlog", log=log),
        "tv",
        "Upper bound on the total variation distance against sweeps",
    )
    if not present:
        exact = (
            "The grey curve is exact."
            if len(found.exact)
            else "The model is too large for the exact curve (32 units in all, 20 visible)."
        )
        cut = max((c.truncated_share for c in found.lagged), default=0)
        warning = (
            f" {cut:.1%} of the pairs were cut off, so the bound is too small, and ends early: give up later."
            if cut
            else ""
        )
        st.caption(
            f"{exact}{warning} **What you see** after t sweeps the chain is at most this far from its model: "
            f"mean of max(0, ⌈(τ − L − t) / L⌉) over pairs of lag {found.lagged[0].lag}, ± 2 errors. "
            "**Try** lag 1, then a lag near the longest stopping times. Biswas, Jacob, Vanetti 2019."
        )


def estimate(found: Results | None, present: bool) -> None:
    """Draw the running estimates of one statistic."""
    head("What UCD computes, and what CD-k does")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        statistic = st.selectbox(
            "Statistic",
            STATISTICS[::-1],
            key="coupling_statistic",
            bind="query-params",
            width=230,
            help="A mean under the model; the two units are those of the largest weight.",
        )
        st.select_slider(
            "k",
            SWEEP_CHOICES,
            value=1,
            key="estimate_k",
            bind="query-params",
            width=160,
            help="Sweeps before the estimate begins: CD's bias falls with it, and UCD's spread.",
        )
    if found is None:
        return
    k, rows = found.pairs[0].k, charts.estimate_rows(found, statistic)
    names = [*(f"UCD, {name.lower()}" for name in charts.NAMES.values()), f"CD-{k}"]
    names += [charts.EXACT] if found.truth is not None else []
    draw(
        charts.line_chart(rows, names, "Pairs", f"Mean of: {statistic}", domain=(0, 1)),
        "estimate",
        f"Running estimates of the {statistic} against pairs",
    )
    if not present:
        i, j = found.unit
        exact = (
            "The grey line is the exact value, by enumeration."
            if found.truth is not None
            else f"No exact value: the smaller layer has more than {MAX_UNITS_EXACT_LIKELIHOOD} units."
        )
        cut = max(c.truncated_share for c in found.pairs)
        warning = (
            f" {cut:.1%} of the pairs were cut off, which biases UCD, too: give up later." if cut else ""
        )
        st.caption(
            f"{exact}{warning} **What you see** running means over pairs, ± 2 standard errors; visible unit "
            f"{i + 1}, hidden unit {j + 1}. UCD adds what the pair learns until it meets, and has no bias; "
            f"CD-{k} stops after {k} sweep{'s' * (k > 1)}. **Try** a larger scale. Paper UCD, section 3.1."
        )


def distance(found: Results | None, present: bool) -> None:
    """Draw the Hamming distance over time."""
    head("How far apart are they on the way?")
    if found is None:
        return
    draw(
        charts.line_chart(
            charts.distance_rows(found.pairs), list(charts.NAMES.values()), "Sweep t", "Pixels that differ"
        ),
        "distance",
        "Hamming distance of the pairs against sweeps",
    )
    if not present:
        st.caption(
            "**What you see** the mean Hamming distance of ξ and η over all pairs, with the range of the "
            "middle 80 %; pairs that have met count as 0. Algorithm 3 keeps those that do not meet close. "
            "Paper UCD, appendix A.2."
        )


def rejected(found: Results | None, present: bool) -> None:
    """Draw the refused proposals."""
    head("What does a meeting cost?")
    if found is None:
        return
    draw(charts.rejected_chart(found.pairs), "rejected", "Shares of pairs by rejected proposals")
    if not present:
        stopped = sum(c.stopped for c in found.pairs)
        warning = f" {stopped} loops were given up, which biases the estimate." if stopped else ""
        st.caption(
            "**What you see** proposals refused until a chain found a state of its own, a pair, pale for ξ: "
            "with algorithm 1 ξ keeps its first draw and refuses none. The loop runs to its end here: a cap "
            f"on it would bias the estimate.{warning} Paper UCD, figure 2, right."
        )


def head(text: str) -> None:
    """Write the question that a chart answers."""
    st.markdown(f"**{text}**")


def exports(comparison: Comparison[CouplingSetup], name: str, shape: tuple[int, int]) -> None:
    """Offer what has been seen as files."""

    def ready(make: Callable[[Results], bytes]) -> Callable[[], bytes]:
        def made() -> bytes:
            end = time.monotonic() + MOST_WAIT
            while (found := results_of(comparison)) is None:  # a run that has just begun
                if time.monotonic() > end:
                    raise BadInput("There is nothing yet: let the first pairs meet.")
                time.sleep(0.05)
            return make(found)

        return made

    def curves(found: Results) -> bytes:
        statistic = st.session_state.get("coupling_statistic", STATISTICS[-1])
        rows: list[tuple[str, Any]] = [
            ("stopping time", charts.tau_rows(found.pairs)),
            ("total variation bound", charts.bound_rows(found)),
            (f"mean of {statistic}", charts.estimate_rows(found, statistic)),
            ("Hamming distance", charts.distance_rows(found.pairs)),
            ("rejected proposals", charts.rejected_rows(found.pairs)),
        ]
        return charts.curves_csv(rows)

    def picture() -> bytes:
        [(_, shown)] = comparison.peek()
        assert isinstance(shown, CouplingSnapshot)
        return charts.picture(shown, shape, HIGHLIGHT)

    with st.container(horizontal=True, vertical_alignment="center"):
        for label, make, file, help_text in (
            ("Pairs", ready(charts.pairs_npz), "pairs.npz", "Every pair counted: stopping time, estimates."),
            ("Curves", ready(curves), "coupling.csv", "The points of all five charts."),
            ("Picture", picture, "pairs.png", "The two pairs on show, pixels that differ in colour."),
        ):
            st.download_button(
                label,
                data=make,
                file_name=file,
                icon=":material/download:",
                on_click="ignore",
                key=f"coupling {label}",
                help=f"{help_text} Up to {MOST_PAIRS:,} pairs an algorithm."
                if label == "Pairs"
                else help_text,
            )
        with st.popover("Code", icon=":material/code:"):
            st.code(charts.snippet(name, comparison.setup, comparison.panels[0].worker.algorithm))


main()
