"""The charts of the populations on the Weights page: one visible, the others folded."""

import streamlit as st

from rbmviz.reproduce.ledger import stored, stored_figure, verdict_text
from rbmviz.session import Comparison, WeightSetup
from rbmviz_app import controls, messages
from rbmviz_app.page import LivePage, draw_chart
from rbmviz_app.pages.weights import charts as figures
from rbmviz_app.pages.weights.settings import Settings
from rbmviz_app.timer import every_second

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


@every_second
def draw_shares(comparison: Comparison[WeightSetup], page: LivePage[WeightSetup]) -> None:
    """Draw the chart that answers the page's question; runs every second and does not renew the lease."""
    named = page.named(comparison)
    draw_chart(figures.shares_chart(named), "weights shares", "Who holds the weight?", height="stretch")


@every_second
def draw_more(comparison: Comparison[WeightSetup], page: LivePage[WeightSetup]) -> None:
    """Draw effective sizes and estimates of log Z; runs every second and does not renew the lease."""
    named = page.named(comparison)
    if all(snapshot.summary is None for _, snapshot in named):
        return
    drawn = {
        "sizes": ("What is a batch worth?", figures.sizes_chart(named)),
        "log_z": ("Is the mean weight Z?", figures.log_z_chart(named)),
    }
    for column, (name, (title, chart)) in zip(st.columns(2, gap="large"), drawn.items(), strict=True):
        with column:
            st.markdown(f"**{title}**")
            draw_chart(chart, f"weights {name}", title)
            st.caption(CAPTIONS[name])
            references = [snapshot.reference for _, snapshot in named if snapshot.reference]
            if name == "log_z" and references and references[0].warning:
                st.caption(f":material/warning: AIS: {references[0].warning}")


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
