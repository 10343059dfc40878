"""The charts of the populations on the Weights page: one visible, the others folded."""

from collections.abc import Sequence

import streamlit as st
from rbmviz.reproduce.ledger import stored, stored_figure, verdict_text

from rbmviz.charts import Chart
from rbmviz.session import Comparison, WeightSetup
from rbmviz_app import controls, messages
from rbmviz_app.page import LivePage, live_chart
from rbmviz_app.pages.weights import charts as figures
from rbmviz_app.pages.weights.settings import Settings

HEIGHT = 260
"""Pixels of a plot under *More charts*."""

BIAS_AND_VARIANCE = "population_cd_bias_variance"
"""The entry of the ledger with bias and variance of CD and pop-CD on trained models."""

CAPTIONS = {
    "sizes": "**Look** how far the curve stays below the line: that is the effective share of a batch. "
    "**Try** more sweeps, or ten times the samples. Where the curve bends away, large batches contain the "
    "rare heavy weights (section 3.3).",
    "log_z": "The expected mean weight is Z for every k and proposal (section 3). **Look** for jumps: while "
    "rare heavy weights are missing, the estimate is too low and its band too narrow. **Try** the mixture "
    "proposal.",
}


def draw_more_charts(page: LivePage[WeightSetup], comparison: Comparison[WeightSetup]) -> None:
    """Draw a fold with the other charts, and what pop-CD's weights do to bias and variance."""
    with controls.fold(Settings.weights_more, "More charts") as is_open:
        if is_open:
            draw_more(comparison, page)
            draw_stored()


def draw_shares(comparison: Comparison[WeightSetup], page: LivePage[WeightSetup]) -> None:
    """Draw the place of the chart that answers the page's question."""
    title = page.question
    live_chart(
        comparison, "weights shares", lambda: (figures.shares_chart(page.named(comparison)), ()), title
    )


def draw_more(comparison: Comparison[WeightSetup], page: LivePage[WeightSetup]) -> None:
    """Draw effective sizes and estimates of log Z."""
    drawn = {
        "sizes": ("What is a batch worth?", lambda: (figures.sizes_chart(page.named(comparison)), ())),
        "log_z": ("Is the mean weight Z?", lambda: make_log_z(comparison, page)),
    }
    for column, (name, (title, make)) in zip(st.columns(2, gap="large"), drawn.items(), strict=True):
        with column:
            st.markdown(f"**{title}**")
            live_chart(comparison, f"weights {name}", make, title, height=HEIGHT)
            st.caption(CAPTIONS[name])


def make_log_z(
    comparison: Comparison[WeightSetup], page: LivePage[WeightSetup]
) -> tuple[Chart, Sequence[str]]:
    """Return the chart of the estimates of log Z, and a warning of a doubtful reference."""
    named = page.named(comparison)
    references = [snapshot.reference for _, snapshot in named if snapshot.reference]
    warning = f"⚠ AIS: {references[0].warning}" if references and references[0].warning else ""
    return figures.log_z_chart(named), [warning]


def draw_stored() -> None:
    """Draw the stored figure of bias and variance by estimator, with the verdicts on the paper's claims."""
    result = stored(BIAS_AND_VARIANCE)
    if result is None:
        return
    st.markdown("**Less bias, more noise: CD and pop-CD on trained models**")
    st.image(stored_figure(BIAS_AND_VARIANCE).decode())
    claims = (f"- *{verdict_text(claim)}*: {messages.plain(claim['text'])}" for claim in result["claims"])
    st.markdown("\n".join(claims))
    st.caption(
        f"{messages.plain(result['source'])}, measured here in advance. [Papers](./papers?ledger_search="
        f"{BIAS_AND_VARIANCE}) says how; `rbmviz gradient` measures any model."
    )
