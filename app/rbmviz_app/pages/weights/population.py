"""The bias of pop-CD against the number of its samples, measured on the model of the page."""

import streamlit as st

from rbmviz import BadInput
from rbmviz.charts import Chart, ChartAxis, Curves, Level, Style
from rbmviz.charts.style import colour
from rbmviz.session import Comparison, PopulationSetup, PopulationSnapshot, WeightSetup
from rbmviz.session.population_bias import BLOCK, POPULATION_RUNS, POPULATION_SIZES
from rbmviz.trainers import make_trainer
from rbmviz_app import messages
from rbmviz_app.page import draw_chart
from rbmviz_app.pages.weights.study import open_measurement, pause_button
from rbmviz_app.timer import while_running

TITLE = "Does a larger population take the bias away?"


def population(source: Comparison[WeightSetup]) -> None:
    """Draw the chart of the bias; measuring starts when its fold is first opened.

    source : the comparison of the page, whose model and starts are measured
    """
    setup = PopulationSetup(source.setup)
    try:
        setup.plan()
        comparison = open_measurement("population", setup, make_trainer("pop_cd"))
        if comparison.setup != setup:
            comparison.change(setup)
    except BadInput as error:
        messages.note(f"The bias of large populations is left out. {error}")
        return
    while_running(lambda: draw_population(comparison), True)


def draw_population(comparison: Comparison[PopulationSetup]) -> None:
    """Draw the controls, the progress and the chart."""
    # Like the study, this renews the lease: no canvas requests the measurement, and the work is finite.
    comparison.poll()
    snapshot: PopulationSnapshot = comparison.peek()[0][1]
    share = min(snapshot.n * BLOCK / (POPULATION_RUNS * POPULATION_SIZES[-1]), 1.0)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.header(TITLE, anchor=False)
        pause_button("population", comparison, share == 1)
    if snapshot.error:
        messages.error(snapshot.error)
    st.progress(share, f"{snapshot.n * BLOCK:,} samples in {POPULATION_RUNS} runs.")
    chart = population_chart(snapshot)
    draw_chart(chart, "population bias", TITLE, "Points come in with the first blocks of samples.")
    st.caption(
        "Squared distance of the mean estimate to the exact statistics of the model, per parameter, ± 2 "
        "standard errors, without sizes whose bias is within their error. Chains start where those above do; "
        "one sweep, proposal *visible*. **Look** where the curve flattens: the samples miss part of the "
        "probability, and more of them do not show it (section 3.2). **Try** the model *bas_cd1*."
    )


def population_chart(snapshot: PopulationSnapshot) -> Chart:
    """Return the biases of pop-CD, against its number of samples, and of CD, on two logarithmic scales."""
    rows = [
        {
            "estimator": "pop-CD-1",
            "n": size,
            "bias": quality.bias_corrected,
            "low": max(quality.bias_corrected - 2 * quality.std_error, quality.bias_corrected / 10),
            "high": quality.bias_corrected + 2 * quality.std_error,
            "estimates": quality.replications,
        }
        for size, quality in snapshot.pop_cd.items()
        if quality.resolved
    ]
    return Curves(
        ChartAxis("n", "Samples of an estimate", "log", "~s", domain=(POPULATION_SIZES[0], 2e6)),
        ChartAxis("bias", "Bias (squared, per parameter)", "log", ".0e", ticks=6),
        "estimator",
        (Style("pop-CD-1", colour("pop_cd")),),
        (
            ("n", "Samples", ","),
            ("bias", "Bias, squared, per parameter", ".2e"),
            ("estimates", "Estimates", ","),
        ),
        points=40,
        band=("low", "high"),
        levels=(Level(snapshot.cd.bias, "CD-1, with any number"),) if snapshot.cd is not None else (),
        height=340,
    ).of(rows)
