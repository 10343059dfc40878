"""The little chain: unlearning the current state, seen on all states of a small model, and on a matrix."""

import math
from typing import NamedTuple

import numpy as np
import pandas as pd
import streamlit as st

from app import messages, views
from app.links import read_panels, write_panel
from app.pages.chain.panel import landscape_grid
from app.panel import live_slider
from app.state import comparison_of, pattern_landscape, random_landscape, trained_models
from app.stream.socket import live_path
from app.widgets import Speed, adders, edits, every_second, open_panels, preset_menu, transport, visit
from rbmviz import BadInput, Model
from rbmviz.knobs import Knob
from rbmviz.metrics import (
    chain_distances,
    check_chain,
    eigenvalues,
    landscape,
    remove_self_transitions,
    stationary_law,
    transition_matrix,
)
from rbmviz.metrics.landscape import MAX_VISIBLE_LANDSCAPE
from rbmviz.registry import samplers
from rbmviz.samplers import list_samplers, make_sampler
from rbmviz.session import Comparison, LandscapeSetup, LandscapeSnapshot
from rbmviz.session.recorder import KEEP

PAGE_PARTS = ("landscape", "matrix")
DEFAULT_SPEED = 20
LANDSCAPE_PATTERNS = {
    "two halves": ("111/000", "000/111"),
    "three patterns": ("1100/1100", "0011/0011", "1010/0101"),
    "four patterns": ("1111/0000", "0000/1111", "1001/1001", "0110/0110"),
    "letters L T X": ("100/100/111", "111/010/010", "101/010/101"),
}
RANDOM_WEIGHTS = "random weights"
DEFAULT_DEPTH = 9.0
DEFAULT_PANELS = ["gibbs", "rates_fpcd:eps=0.05", "sample_penalization:eps=0.05,alpha=0.9"]
REMEMBERED_KEYS = (
    "land",
    "land_depth",
    "land_seed",
    "land_order",
    "land_pace",
    "land_curve",
    "chain_matrix",
    "chain_steps",
)
VISIT_QUANTITIES = {
    "visits": "Visits off by (total variation)",
    "moments": "Moments off by (distance)",
}
SPEED = Speed(
    "Samples per second",
    (1, 2, 5, 10, 20, 100, 1000, math.inf),
    default=DEFAULT_SPEED,
    key="land_pace",
    help="Slow to follow every jump, full speed to see where the visits end.",
    width=170,
)


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
        "Without rates and decay each bit that is on gets dearer: all that is left is the empty state.",
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


class MatrixPreset(NamedTuple):
    """A transition matrix and what to look for."""

    caption: str
    rows: list[list[float]]


MATRICES = {
    "two wells": MatrixPreset(
        "Two pairs of states that hardly meet: the less a state stays, the sooner the chain changes sides.",
        [[0.8, 0.18, 0.02, 0], [0.18, 0.8, 0, 0.02], [0.02, 0, 0.8, 0.18], [0, 0.02, 0.18, 0.8]],
    ),
    "sticky ring": MatrixPreset(
        "Six states in a ring, two neighbours each: near the limit it starts to swing, odd and even.",
        [[0.7 if i == j else 0.15 if (i - j) % 6 in (1, 5) else 0 for j in range(6)] for i in range(6)],
    ),
    "one deep trap": MatrixPreset(
        "State 3 holds the chain, but the restless state 1 sets the limit: λ hardly helps against the trap.",
        [[0.2, 0.4, 0.4], [0.3, 0.4, 0.3], [0.01, 0.01, 0.98]],
    ),
    "it backfires": MatrixPreset(
        "A chain that swings between {1, 2} and {3, 4}: what little it stays is what lets it settle at all.",
        [[0.1, 0, 0.45, 0.45], [0, 0.1, 0.45, 0.45], [0.45, 0.45, 0.1, 0], [0.45, 0.45, 0, 0.1]],
    ),
    "Gibbs on 3 units": MatrixPreset(
        "The Gibbs chain of an RBM of 3 visible units: its rarest state hardly stays, so λ has little room.",
        [],
    ),
}
FROM_LANDSCAPE = "the landscape’s Gibbs chain"
LANDSCAPE_LOOK = """
States in the order of the landscape. The strong columns are the floors: from anywhere in a valley the chain
falls back to its floor, and hardly a step joins two valleys, so that the second eigenvalue is close to 1.

λ has no room here: the least likely state hardly ever stays, and it sets the limit for all. What section 3
does to a matrix has to be done to an RBM through its parameters: rates-FPCD does it on the landscape.
"""
MOST_STATES = 8
LARGEST_MATRIX = 8
"""Visible units of a landscape whose matrix can be drawn."""


def main() -> None:
    """Draw the page."""
    for (
        key
    ) in REMEMBERED_KEYS:  # Streamlit forgets what is not drawn: the other part of the page would be as new
        if key in st.session_state:
            st.session_state[key] = st.session_state[key]
    present = st.query_params.get("present") == "1"
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        if not present:
            st.markdown(
                "##### Unlearn the state you are in: why does a chain that pushes itself away mix sooner?",
                width="content",
            )
        part = st.segmented_control(
            "Look at",
            PAGE_PARTS,
            default="landscape",
            required=True,
            key="little",
            bind="query-params",
            label_visibility="collapsed",
            help="All states of a small model while chains walk on them; or the idea itself, on a matrix.",
        )
    with st.container():
        if part == "landscape":
            draw_landscape(present)
        else:
            draw_matrix(present)


# The landscape


def draw_landscape(present: bool) -> None:
    """Draw the walks, live."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        left = st.container(horizontal=True, vertical_alignment="bottom", width="content")
        terrain, refused = choose_terrain()
        preset_menu("chain", PRESETS, apply_preset)
    comparison, token = visit("chain", terrain, st.session_state.get("land_pace", DEFAULT_SPEED), fill)
    if "l" not in st.query_params:  # back from another page
        write_link(comparison)
    with left:
        transport(
            "chain",
            comparison,
            SPEED,
            play="Stop all chains at the same sample, or let them go on.",
            step="One more sample of every chain, then pause: see the ground rise where the chain stood.",
            reset="All chains back to the deepest floor, the ground as the model has it, with the same seed.",
        )
    with st.container():
        if refused:
            messages.error(refused)
        if caption := st.session_state.get("land_preset"):
            st.caption(caption)
    panels(comparison, token, present)
    if not present:
        reading_help()
    charts(comparison)
    if not present:
        exports(comparison)


def choose_terrain() -> tuple[LandscapeSetup, str]:
    """Return what all panels share, and a sentence where a model cannot be drawn."""
    small = {
        name: model
        for name, model in trained_models().items()
        if model.rbm.n_visible <= MAX_VISIBLE_LANDSCAPE
    }
    name = st.selectbox(
        "Landscape",
        [*LANDSCAPE_PATTERNS, RANDOM_WEIGHTS, *small],
        key="land",
        bind="query-params",
        width=170,
        help="A small model with one valley a pattern, or random weights, or a small one from the Train "
        "page.",
    )
    depth = st.slider(
        "Depth",
        min_value=2.0,
        max_value=12.0,
        value=DEFAULT_DEPTH,
        step=0.5,
        format="%g",
        key="land_depth",
        bind="query-params",
        width=150,
        disabled=name in small,
        help="Of each valley, in nats: one more, and Gibbs stays about three times longer.",
    )
    with st.popover("Settings", icon=":material/tune:"):
        seed = st.number_input(
            "Seed",
            min_value=0,
            max_value=2**31 - 1,
            value=0,
            key="land_seed",
            bind="query-params",
            help="Same seed, same walk; all panels share it, and it draws the random weights, too.",
        )
        st.segmented_control(
            "Order of the states",
            ["valley", "gray", "index"],
            default="valley",
            required=True,
            key="land_order",
            bind="query-params",
            help="Valleys side by side; or so that neighbours differ in one bit (Gray code); or as numbers.",
        )
    if name in small:
        model = small[name]
    elif name == RANDOM_WEIGHTS:
        model = random_landscape(depth / 4, int(seed))
    else:
        model = pattern_landscape(LANDSCAPE_PATTERNS[name], depth)
    return LandscapeSetup(model, int(seed)), ""


def fill(comparison: Comparison[LandscapeSetup]) -> None:
    """Give a new comparison the panels of the link, or the default ones, and start it."""
    open_panels(comparison, samplers, st.query_params.get_all("l"), DEFAULT_PANELS)
    write_link(comparison)


def write_link(comparison: Comparison[LandscapeSetup]) -> None:
    """Put the panels into the page's address."""
    st.query_params["l"] = [write_panel(panel.worker.algorithm) for panel in comparison.panels]


def apply_preset(preset: Preset) -> None:
    """Bring the page to a preset."""
    comparison = comparison_of("chain")
    terrain = comparison.setup._replace(
        model=pattern_landscape(LANDSCAPE_PATTERNS[preset.model], preset.depth)
    )
    comparison.replace(terrain, read_panels(samplers, preset.panels)[0])
    st.session_state.land = preset.model
    st.session_state.land_depth = preset.depth
    st.session_state.land_pace = preset.speed
    st.session_state.land_curve = preset.curve
    st.session_state.land_preset = preset.caption
    comparison.set_rate(preset.speed)
    comparison.resume()
    write_link(comparison)


@st.fragment
def panels(comparison: Comparison[LandscapeSetup], token: str, present: bool) -> None:
    """Draw the live panels, and the way to add one."""
    edited, removed = edits(comparison, "land_grid", write_link)

    def add(name: str) -> None:
        comparison.add(make_sampler(name))
        write_link(comparison)

    landscape_grid(
        comparison,
        landscape(comparison.setup.model.rbm, st.session_state.land_order),
        live_path() + token,
        present=present,
        on_edit=edited,
        on_remove=removed,
        key="land_grid",
    )
    if not comparison.panels:
        st.info("No panel is open: add a sampler.", icon=":material/landscape:")
    if not present:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.caption("Add a panel:", width="content")
            adders("chain", {name: samplers[name].label for name in list_samplers()}, add)


def reading_help() -> None:
    """Say how to read the pictures, and what to try."""
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


def named(comparison: Comparison[LandscapeSetup]) -> list[tuple[str, LandscapeSnapshot]]:
    """Return the snapshots of all panels by name, no two names alike."""
    shown = [snapshot for _, snapshot in comparison.peek()]
    return list(zip(views.titles([snapshot.algorithm for snapshot in shown]), shown, strict=True))


@every_second
def charts(comparison: Comparison[LandscapeSetup]) -> None:
    """How the walks come near the truth; read once a second, without renewing any lease."""
    if not comparison.panels:
        return
    wide, narrow = st.columns([5, 2], gap="medium")
    with wide:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown("**Does the walk come to the truth?**")
            quantity = st.segmented_control(
                "Compare",
                list(VISIT_QUANTITIES),
                default="visits",
                required=True,
                key="land_curve",
                bind="query-params",
                label_visibility="collapsed",
                help="The share of visits against the model’s law, or the mean sample against the rates.",
            )
        rows, spec = views.walk_chart(named(comparison), quantity, VISIT_QUANTITIES[quantity])
        if rows.empty:
            st.caption("The curves begin with the first sample.")
        else:
            st.vega_lite_chart(rows, spec, key="walks", width="stretch", alt=VISIT_QUANTITIES[quantity])
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
    with st.container(horizontal=True, vertical_alignment="center"):
        st.download_button(
            "States",
            data=lambda: views.walks_csv(named(comparison), landscape(comparison.setup.model.rbm).law),
            file_name="states.csv",
            icon=":material/download:",
            on_click="ignore",
            help="Every state with its probability, visits and the law now, of every panel (.csv).",
        )
        st.download_button(
            "Samples",
            data=lambda: views.samples_npz(comparison, [name for name, _ in named(comparison)]),
            file_name="samples.npz",
            icon=":material/download:",
            on_click="ignore",
            help=f"The newest {KEEP:,} samples of every panel, and the log that makes them again (.npz).",
        )
        st.caption("A panel’s ⤓ saves its picture.", width="content")


# The matrix


@st.fragment
def draw_matrix(present: bool) -> None:
    """Draw a chain that can be edited, and the same chain with less staying."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        source = st.selectbox(
            "Chain",
            [*MATRICES, FROM_LANDSCAPE],
            key="chain_matrix",
            bind="query-params",
            width=240,
            on_change=take_preset,
            help="A table to edit, or the Gibbs chain of the model that the landscape shows.",
        )
        editable = source != FROM_LANDSCAPE
        table = base_table(source) if editable else None
        if table is not None:
            st.number_input(
                "States",
                min_value=3,
                max_value=MOST_STATES,
                value=len(table),
                key=f"chain states {st.session_state.chain_turn}",
                width=110,
                on_change=resize_table,
                help="A new state is joined to the first; one that goes gives its share to the others.",
            )
    if editable:
        st.caption(MATRICES[source].caption)
    left, right = st.columns([3, 2], gap="large")
    with left:
        found = chain_of_table(table) if table is not None else chain_of_landscape()
    if found is not None:
        compare(*found, right, present)


def take_preset() -> None:
    """Put the chosen preset into the place of the edited table, and half of its limit into that of lambda."""
    for name in ("A", "lam"):
        st.query_params.pop(name, None)
    if st.session_state.chain_matrix != FROM_LANDSCAPE:
        keep_table(preset_table(st.session_state.chain_matrix))


def keep_table(table: np.ndarray) -> None:
    """Put another table into the editor, which begins anew."""
    st.session_state.chain_table = table
    st.session_state.chain_turn = st.session_state.get("chain_turn", 0) + 1


def change_table(table: np.ndarray) -> None:
    """Put another table into the editor, and into the address."""
    keep_table(table)
    link_table(table)


def link_table(table: np.ndarray) -> None:
    """Put a table into the address."""
    st.query_params["A"] = ";".join(",".join(f"{p:.6g}" for p in row) for row in table)


def edited_table() -> np.ndarray:
    """Return the table as it has been edited; an emptied cell is 0."""
    table = st.session_state.chain_table.copy()
    changes = st.session_state.get(f"chain table {st.session_state.chain_turn}", {})
    for i, cells in changes.get("edited_rows", {}).items():
        for column, value in cells.items():
            table[i, int(column.removeprefix("to ")) - 1] = value or 0.0
    return table


def resize_table() -> None:
    """Give the table the number of states that was asked for."""
    change_table(resized(edited_table(), st.session_state[f"chain states {st.session_state.chain_turn}"]))


def base_table(source: str) -> np.ndarray:
    """Return the table that the editor starts from: what was kept, the link's, or the preset."""
    if "chain_table" not in st.session_state:
        keep_table(linked_table() if "A" in st.query_params else preset_table(source))
    return st.session_state.chain_table


def preset_table(source: str) -> np.ndarray:
    """Return the matrix of a preset."""
    rows = MATRICES[source].rows
    return np.array(rows) if rows else transition_matrix(random_landscape(3.0, 2, (3, 2)).rbm).round(4)


def linked_table() -> np.ndarray:
    """Return the matrix of the link, ``0.9,0.1;0.2,0.8``; the first preset where it makes no sense."""
    rows = [row.split(",", MOST_STATES) for row in st.query_params["A"].split(";", MOST_STATES)]
    if not 3 <= len(rows) <= MOST_STATES or {len(row) for row in rows} != {len(rows)}:
        messages.left_out(
            f"The link's matrix is left out: it is not square; give 3 to {MOST_STATES} rows as long, as "
            "0.9,0.1,0;0.1,0.8,0.1;0,0.5,0.5."
        )
        return preset_table(next(iter(MATRICES)))
    try:
        table = np.array([[float(p) for p in row] for row in rows])
    except ValueError:
        table = np.full((1, 1), np.nan)
    if not ((table >= 0) & (table <= 1)).all():
        messages.left_out("The link's matrix is left out: it holds something else than numbers from 0 to 1.")
        return preset_table(next(iter(MATRICES)))
    return table


def resized(table: np.ndarray, n: int) -> np.ndarray:
    """Return the table with n states: the last go, or new ones come, joined to the first."""
    A = table[:n, :n]
    A = A / np.maximum(A.sum(axis=1, keepdims=True), 1e-12)
    while len(A) < n:
        k = len(A)
        A = np.pad(A, ((0, 1), (0, 1)))
        A[0] *= 0.9
        A[0, k], A[k, 0], A[k, k] = 0.1, 0.5, 0.5
    return A.round(4)


def chain_of_table(table: np.ndarray) -> tuple[np.ndarray, list[str]] | None:
    """Let the table be edited; return its chain, or the last one that it was, and the names of its states."""
    names = [str(i + 1) for i in range(len(table))]
    frame = pd.DataFrame(table, index=[f"from {name}" for name in names], columns=[f"to {n}" for n in names])
    cell = st.column_config.NumberColumn(min_value=0.0, max_value=1.0, step=0.0001, format="%.4g")
    st.data_editor(
        frame,
        key=f"chain table {st.session_state.chain_turn}",
        column_config={column: cell for column in frame.columns},
        width="stretch",
        on_change=lambda: link_table(edited_table()),
    )
    edited = edited_table()
    try:
        A = check_chain(edited)
        stationary_law(A)
        st.session_state.chain_shown = A, names
    except BadInput as error:
        shown = st.session_state.get("chain_shown")
        messages.error(f"{error}{' Shown is the chain before.' if shown else ''}")
        sums = edited.sum(axis=1, keepdims=True)
        if (sums > 0).all():
            st.button(
                "Make every row sum to 1",
                on_click=lambda: change_table(edited / sums),
                icon=":material/balance:",
                help="Every probability of a row in proportion.",
            )
    return st.session_state.get("chain_shown")


def chain_of_landscape() -> tuple[np.ndarray, list[str]] | None:
    """Return the Gibbs chain of the landscape's model, its states in the order of the valleys."""
    st.caption(LANDSCAPE_LOOK)
    rbm = landscape_model().rbm
    try:
        if rbm.n_visible > LARGEST_MATRIX:
            raise BadInput(
                f"A matrix of 2^{rbm.n_visible} states is too large to draw: choose a landscape of at most "
                f"{LARGEST_MATRIX} visible units."
            )
        A = transition_matrix(rbm)
    except BadInput as error:
        messages.note(error)
        return None
    order = landscape(rbm).order
    return A[np.ix_(order, order)], [f"{state:0{rbm.n_visible}b}" for state in order]


def landscape_model() -> Model:
    """Return the model that the landscape shows, or would show first."""
    comparison = st.session_state.get("comparisons", {}).get("chain")
    return (
        comparison[0].setup.model
        if comparison
        else pattern_landscape(next(iter(LANDSCAPE_PATTERNS.values())), DEFAULT_DEPTH)
    )


def compare(
    A: np.ndarray, names: list[str], beside: st.delta_generator.DeltaGenerator, present: bool
) -> None:
    """Draw both chains: matrices, distances, eigenvalues; lambda and the numbers beside the table."""
    most = float(A.diagonal().min())
    law = stationary_law(A)
    with beside:
        lam = choose_lambda(most)
        try:
            less = remove_self_transitions(A, lam)
        except BadInput as error:
            messages.note(f"{error} Shown is the limit.")
            lam = most if most < 1 else 0.0
            less = remove_self_transitions(A, lam)
        spectra = eigenvalues(A), eigenvalues(less)
        second = [float(abs(found[1])) for found in spectra]
        st.markdown(
            f"Second eigenvalue (its modulus): **{second[0]:.4f}** of A, **{second[1]:.4f}** of Ã. "
            + speed_up(*second)
        )
    left, middle, right = st.columns([2, 2, 1.3])
    with left:
        rows, spec = views.matrix_chart(A, names, "A: the chain as it is")
        st.vega_lite_chart(rows, spec, key="heat A", width="stretch", alt="Heat map of A")
    with middle:
        rows, spec = views.matrix_chart(less, names, f"Ã = (A − λI)/(1 − λ), λ = {lam:.3g}")
        st.vega_lite_chart(rows, spec, key="heat less", width="stretch", alt="Heat map of A less staying")
    with right:
        st.caption(
            "**What you see**: the diagonal pales, and what it loses goes to the other cells of its row in "
            "proportion. Both chains have the same stationary law, for πA = π makes πÃ = π."
        )
        st.caption("Stationary law: " + law_text(names, law))
        st.caption(
            "**Try**: make one state restless (a small A_ii) and see how that limits λ for all (section 3)."
        )
    left, middle, right = st.columns([2, 2, 1.3])
    with left:
        with st.container(horizontal=True, vertical_alignment="bottom"):
            start = st.selectbox(
                "Start in state",
                range(len(A)),
                index=0 if len(A) <= MOST_STATES else int(law.argmax()),
                format_func=lambda i: names[i],
                key=f"chain start {len(A)}",
                width=130,
                help="All probability is there at step 0; it spreads with every step.",
            )
            steps = st.select_slider(
                "Steps",
                (10, 20, 40, 100, 400, 2000),
                value=40,
                key="chain_steps",
                bind="query-params",
                width=130,
            )
            log = st.toggle("Log scale", key="chain_log", bind="query-params")
        begin = np.eye(len(A))[start]
        distances = [chain_distances(chain, begin, law, steps) for chain in (A, less)]
        rows, spec = views.distance_chart(distances, log)
        st.vega_lite_chart(rows, spec, key="distances", width="stretch", alt="Distance to the stationary law")
    with middle:
        rows, spec = views.spectrum_chart(spectra)
        st.vega_lite_chart(rows, spec, key="spectrum", width="content", alt="Eigenvalues of both chains")
    with right:
        st.caption(
            "**What you see**: how far the law after t steps is from the stationary one, and the "
            "eigenvalues z of A, which become (z − λ)/(1 − λ): all but 1 move to the left. The smaller the "
            "ring through the second, the faster the curve falls; on a log scale its slope is that ring."
        )
        st.caption(
            "**In most cases** the paper says. It holds for chains that stay a lot: with A_ii spread over 0"
            " to 1 the largest λ hurts 10 % of random chains of 3 states, 2 % of 4 and none of 8. Where the"
            " rows are drawn without regard to staying it hurts 62 to 75 %: a negative eigenvalue takes the"
            " lead."
        )
    if not present:
        st.download_button(
            "Chain",
            data=lambda: views.chain_csv(A, less, law, names),
            file_name="chain.csv",
            icon=":material/download:",
            on_click="ignore",
            help="Both matrices and the stationary law (.csv); the menu of each chart saves its picture.",
        )


def choose_lambda(most: float) -> float:
    """Return lambda: half of what is allowed at first, then the link's or the slider's."""

    def turned() -> None:
        st.query_params["lam"] = f"{st.session_state.chain_dial.value:.4g}"

    try:
        lam = float(st.query_params.get("lam", most / 2))
    except ValueError:
        lam = most / 2
    if most < lam <= 1.01 * most:  # the slider's own rounding
        lam = most
    if most > 0:
        help = "Probability taken from staying, the same in every state, and shared out over the row."
        knob = Knob("lam", float, 0.0, "λ, taken from the diagonal", help, lo=0.0, hi=most)
        live_slider(knob, min(max(lam, 0.0), most), views.CHAIN_COLOURS[1], on_value=turned, key="chain_dial")
    else:
        st.info(
            "A state never stays: λ has no room, and Ã is A. Give every state some A_ii.",
            icon=":material/info:",
        )
    return lam


def speed_up(first: float, second: float) -> str:
    """Say how many steps of A one step of A~ is worth, given the moduli of their second eigenvalues."""
    if second >= 1 - 1e-9:
        return "Ã never settles: it swings for ever."
    if min(first, second) <= 1e-12 or first >= 1 - 1e-12:
        return ""
    return f"In the long run a step of Ã is worth **{math.log(second) / math.log(first):.2f}** of A."


def law_text(names: list[str], law: np.ndarray) -> str:
    """Write the states with their probabilities; of many, the likeliest."""
    best = range(len(law)) if len(law) <= MOST_STATES else np.argsort(-law, kind="stable")[:4]
    return ", ".join(f"{names[i]}: {law[i]:.3f}" for i in best) + (", …" if len(law) > MOST_STATES else "")


main()
