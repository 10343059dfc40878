"""The charts of the populations on the Weights page: one visible, the others and the study folded."""

import streamlit as st

from rbmviz.session import Comparison, WeightSetup
from rbmviz_app import controls
from rbmviz_app.page import LivePage, draw_chart
from rbmviz_app.pages.weights import charts as figures
from rbmviz_app.pages.weights.population import population
from rbmviz_app.pages.weights.settings import Settings
from rbmviz_app.pages.weights.study import study
from rbmviz_app.timer import every_second

CAPTIONS = {
    "sizes": "**Look** how far the curve stays below the line: that is the effective share of a batch. "
    "**Try** more sweeps, or ten times the samples. Where the curve bends away, large batches contain the "
    "rare heavy weights (section 3.3).",
    "log_z": "The expected mean weight is Z for every k and proposal (section 3). **Look** for jumps: while "
    "rare heavy weights are missing, the estimate is too low and its band too narrow. **Try** the mixture "
    "proposal.",
}


def draw_more_charts(page: LivePage[WeightSetup], comparison: Comparison[WeightSetup]) -> None:
    """Draw a fold with the other charts and the study."""
    with controls.fold(Settings.weights_more, "More charts") as is_open:
        if is_open:
            draw_more(comparison, page)
            population(comparison)
            study()


@every_second
def draw_shares(comparison: Comparison[WeightSetup], page: LivePage[WeightSetup]) -> None:
    """Draw the chart that answers the page's question; runs every second and does not renew the lease."""
    named, slots = page.named(comparison), comparison.slots
    draw_chart(
        figures.shares_chart(named, slots), "weights shares", "Who holds the weight?", height="stretch"
    )


@every_second
def draw_more(comparison: Comparison[WeightSetup], page: LivePage[WeightSetup]) -> None:
    """Draw effective sizes and estimates of log Z; runs every second and does not renew the lease."""
    named, slots = page.named(comparison), comparison.slots
    if all(snapshot.summary is None for _, snapshot in named):
        return
    drawn = {
        "sizes": ("What is a batch worth?", figures.sizes_chart(named, slots)),
        "log_z": ("Is the mean weight Z?", figures.log_z_chart(named, slots)),
    }
    for column, (name, (title, chart)) in zip(st.columns(2, gap="large"), drawn.items(), strict=True):
        with column:
            st.markdown(f"**{title}**")
            draw_chart(chart, f"weights {name}", title)
            st.caption(CAPTIONS[name])
            references = [snapshot.reference for _, snapshot in named if snapshot.reference]
            if name == "log_z" and references and references[0].warning:
                st.caption(f":material/warning: AIS: {references[0].warning}")
