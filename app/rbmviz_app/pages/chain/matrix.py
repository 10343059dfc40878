"""The matrix part of the page: any finite chain, and the same chain with a smaller P(stay)."""

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from rbmviz import BadInput
from rbmviz.files.origin import csv_bytes, origin
from rbmviz.knobs import Knob
from rbmviz.metrics import (
    check_chain,
    eigenvalues,
    remove_self_transitions,
    stationary_law,
    transition_matrix,
)
from rbmviz.metrics.finite_chain import (
    REMOVAL_EQUATION,
    likeliest,
    normalise_rows,
    resize_chain,
    round_rows,
    second_modulus,
    speed_up,
)
from rbmviz.metrics.gibbs_chain import chain_distances
from rbmviz.metrics.landscape import ordered_chain
from rbmviz.models import random_model
from rbmviz_app import card, controls, links, messages, session
from rbmviz_app.component import component
from rbmviz_app.controls import Download
from rbmviz_app.page import draw_chart
from rbmviz_app.pages.chain.landscape import PAGE
from rbmviz_app.pages.chain.matrix_charts import (
    CHAIN_COLOURS,
    CHAIN_NAMES,
    distance_chart,
    matrix_chart,
)
from rbmviz_app.pages.chain.matrix_texts import (
    FROM_LANDSCAPE,
    LANDSCAPE_LOOK,
    MATRICES,
    NO_DISTANCE,
    speed_up_text,
)
from rbmviz_app.pages.chain.panel import Settings
from rbmviz_app.panel import live_slider
from rbmviz_app.session import (
    RACES,
    Entry,
    Setting,
)

EDITED_MATRIX: Entry[np.ndarray | None] = Entry("edited matrix", lambda: None, of_tab=False)
"""The editor's initial matrix, float64 (states, states); None: the preset's."""

TABLE_VERSION: Entry[int] = Entry("table version", int, of_tab=False)
"""Number of refills of the editor. As part of its key, it makes a refill discard edits."""

CHAIN_STARTS: Entry[dict[int, int]] = Entry("chain starts", dict)
"""The start state of a chain, by its number of states."""

LAST_CHAIN: Entry[tuple[np.ndarray, list[str]] | None] = Entry("last chain", lambda: None)
"""The last table that was a transition matrix, and the names of its states."""

LAMBDA: Entry[float | None] = Entry("lambda", lambda: None)
"""Lambda, subtracted from the diagonal; None: half of the largest possible."""


MIN_STATES, MAX_STATES = 3, 8
MAX_MATRIX_VISIBLE = 8

_walk = component("walk", ["pages/chain/walk.js"], ["pages/chain/walk.css"])


@st.fragment
def draw_matrix() -> None:
    """Draw an editable chain, and the same chain with smaller P(stay)."""
    if card.to_set("chain") is not None:
        reset_to_preset()
        card.note_opened()
    messages.draw_link_warnings("chain")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        source = controls.select(Settings.chain_matrix, width=240, on_change=reset_to_preset)
        table = None if source == FROM_LANDSCAPE else table_of(source)
        if table is not None:
            states_key = f"chain states {TABLE_VERSION.value}"

            def resize() -> None:
                keep_table(resize_chain(edited(table_of(source)), session.widget_value(states_key)))

            st.number_input(
                "States",
                min_value=MIN_STATES,
                max_value=MAX_STATES,
                value=len(table),
                key=states_key,
                width=110,
                on_change=resize,
                help="A new state is connected to the first; the share of a removed one goes to the others.",
            )
    if table is not None:
        with st.container(key="caption"):
            now, preset = edited(table), preset_table(source)
            if now.shape == preset.shape and np.allclose(now, preset):  # the caption is about this table
                st.caption(MATRICES[source].caption)
    left, right = st.columns([3, 2], gap="large")
    with left:
        chain = chain_of_table(table) if table is not None else chain_of_landscape()
    if chain is not None:
        draw_race(*chain, right)
    settings: list[Setting[Any]] = [
        *(Settings.little, Settings.chain_matrix, Settings.chain_steps, Settings.chain_log)
    ]
    if source == FROM_LANDSCAPE:  # the landscape is not drawn here, but the matrix depends on it
        settings += [Settings.land, Settings.land_depth, Settings.land_seed]
    links.write("chain", links.texts_of(settings))


def reset_to_preset() -> None:
    """Discard the edited table and lambda: return to the chosen preset and half of lambda's limit."""
    LAMBDA.set(None)
    keep_table(None)


def keep_table(table: np.ndarray | None) -> None:
    """Fill the editor with a table and discard its edits; None stands for the preset's table."""
    EDITED_MATRIX.set(table)
    TABLE_VERSION.set(TABLE_VERSION.value + 1)


def table_of(source: str) -> np.ndarray:
    """Return the editor's initial table: the stored table, or the preset's."""
    kept = EDITED_MATRIX.value
    return preset_table(source) if kept is None else kept


def edited(table: np.ndarray) -> np.ndarray:
    """Return the editor's table with all edits; an emptied cell counts as 0."""
    table = table.copy()
    edits = session.widget_value(f"chain table {TABLE_VERSION.value}") or {}
    for i, cells in edits.get("edited_rows", {}).items():
        for column, value in cells.items():
            table[i, int(column.removeprefix("to ")) - 1] = value or 0.0
    return table


def preset_table(source: str) -> np.ndarray:
    """Return the matrix of a preset."""
    rows = MATRICES[source].rows
    return np.array(rows) if rows else round_rows(transition_matrix(random_model(3, 2, 3.0, 2).rbm))


def chain_of_table(table: np.ndarray) -> tuple[np.ndarray, list[str]] | None:
    """Draw the editor; return its table's chain and the state names.

    While the table is not a chain, show the error and return the last chain, or None if there was none.
    """
    names = [str(i + 1) for i in range(len(table))]
    frame = pd.DataFrame(table, index=[f"from {name}" for name in names], columns=[f"to {n}" for n in names])
    cell = st.column_config.NumberColumn(min_value=0.0, max_value=1.0, step=0.0001, format="%.4g")
    st.data_editor(
        frame,
        key=f"chain table {TABLE_VERSION.value}",
        column_config={column: cell for column in frame.columns},
        width="stretch",
    )
    now = edited(table)
    try:
        A = check_chain(now)
        stationary_law(A)
        LAST_CHAIN.set((A, names))
    except BadInput as error:
        messages.error(f"{error}{' The last valid chain is shown.' if LAST_CHAIN.value else ''}")
        normalised = normalise_rows(now)
        if normalised is not None:
            st.button(
                "Make every row sum to 1",
                on_click=keep_table,
                args=(normalised,),
                icon=":material/balance:",
                help="Scale each row.",
            )
    return LAST_CHAIN.value


def chain_of_landscape() -> tuple[np.ndarray, list[str]] | None:
    """Return the Gibbs chain of the landscape's model, its states ordered by valley."""
    st.caption(LANDSCAPE_LOOK)
    opened = RACES.value.get(PAGE.name)
    rbm = (opened.setup if opened else PAGE.setup_now()[0]).model.rbm
    try:
        if rbm.n_visible > MAX_MATRIX_VISIBLE:
            raise BadInput(
                f"A matrix of 2^{rbm.n_visible} states is too large to draw: choose a landscape of at most "
                f"{MAX_MATRIX_VISIBLE} visible units."
            )
        return ordered_chain(rbm)
    except BadInput as error:
        messages.note(error)
        return None


def draw_race(A: np.ndarray, names: list[str], beside: st.delta_generator.DeltaGenerator) -> None:
    """Draw both chains (matrices and distances), and lambda and its numbers in ``beside``."""
    law, most = stationary_law(A), float(A.diagonal().min())  # lambda: at most the smallest A_ii
    with beside:
        lam = choose_lambda(most)
        try:
            less = remove_self_transitions(A, lam)
        except BadInput as error:
            messages.note(f"{error} The largest possible λ is shown.")
            lam = most if most < 1 else 0.0
            less = remove_self_transitions(A, lam)
        before, after = second_modulus(eigenvalues(A)), second_modulus(eigenvalues(less))
        with st.container(key="numbers"):
            st.markdown(
                f"Second eigenvalue (modulus): **{before:.4f}** of A, **{after:.4f}** of Ã. "
                + speed_up_text(speed_up(before, after))
            )
        if len(A) <= MAX_STATES:
            chains = zip(CHAIN_NAMES, CHAIN_COLOURS, (A, less), strict=True)
            walked = [{"name": name, "colour": tone, "rows": rows.tolist()} for name, tone, rows in chains]
            _walk(key="chain walk", data={"names": names, "chains": walked})
    left, right = st.columns(2)
    with left:
        draw_chart(matrix_chart(A, names, "A: the chain as it is"), "heat A")
    with right:
        draw_chart(matrix_chart(less, names, f"Ã = (A − λI)/(1 − λ), λ = {lam:.3g}"), "heat less")
    many = len(law) > MAX_STATES
    listed = ", ".join(f"{names[i]}: {law[i]:.3f}" for i in (likeliest(law, 4) if many else range(len(law))))
    st.caption(f"Stationary distribution of both: {listed}{', …' if many else ''}")
    if Settings.chain_matrix.value != FROM_LANDSCAPE:  # it has no table to edit
        st.caption("**Try** Let one state rarely stay (a small A_ii): it limits λ for all (section 3).")
    draw_convergence(A, less, names, law)
    file = Download(
        "Data (.csv)",
        lambda: chain_csv(A, less, law, names),
        "chain.csv",
        "Both matrices and the stationary distribution (.csv).",
    )
    code = f"import rbmviz; rbmviz.metrics.remove_self_transitions({A.tolist()}, {lam!r})"
    controls.downloads("matrix", [file], lambda: origin(code))


def draw_convergence(A: np.ndarray, less: np.ndarray, names: list[str], law: np.ndarray) -> None:
    """Draw how both chains approach the stationary law, from the start that was chosen last."""
    default = 0 if len(law) <= MAX_STATES else int(likeliest(law, 1)[0])
    with st.container(horizontal=True, vertical_alignment="bottom"):
        start = st.selectbox(
            "Start in state",
            range(len(A)),
            index=CHAIN_STARTS.value.get(len(law), default),
            format_func=lambda i: names[i],
            key=f"chain start {len(A)}",
            width=130,
            help="The chain starts here; its distribution spreads with every step.",
        )
        CHAIN_STARTS.ensure()[len(A)] = start
        steps = controls.slide(Settings.chain_steps, width=130)
        log = controls.toggle(Settings.chain_log)
    begun = np.eye(len(A))[start]
    distances = [chain_distances(chain, begun, law, steps) for chain in (A, less)]
    content = distance_chart(distances, log).content("Distance to the stationary distribution")
    draw_chart(content, "distances", NO_DISTANCE)


def choose_lambda(most: float) -> float:
    """Draw the slider of lambda; return its value, initially half of ``most``."""

    def moved() -> None:
        LAMBDA.set(session.sent_by("chain_dial", "value"))

    lam = most / 2 if LAMBDA.value is None else max(LAMBDA.value, 0.0)
    if most < lam <= 1.01 * most:  # the excess is the slider's rounding
        lam = most
    if most > 0:
        help = "Probability of staying that is removed from every state and distributed over its row."
        knob = Knob("lam", float, 0.0, "Taken from the diagonal", help, lo=0.0, hi=most, symbol=r"\lambda")
        live_slider(
            knob,
            min(max(lam, 0.0), most),
            CHAIN_COLOURS[1],
            on_value=moved,
            key="chain_dial",
            formulas=REMOVAL_EQUATION,
            present=links.presenting(),
        )
    else:
        st.info(
            "A state never stays, so λ is 0 and Ã is A. Give every state some A_ii.",
            icon=":material/info:",
        )
    return lam


def chain_csv(A: np.ndarray, reduced: np.ndarray, law: np.ndarray, names: list[str]) -> bytes:
    """Return both matrices and the stationary law as CSV, with one row per chain and state."""
    columns = [f"to {name}" for name in names]
    return csv_bytes(
        [
            {"chain": chain, "from": name, **dict(zip(columns, row, strict=True)), "stationary": p}
            for chain, matrix in (("A", A), ("A~", reduced))
            for name, row, p in zip(names, matrix, law, strict=True)
        ]
    )
