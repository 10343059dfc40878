"""The charts of the pairs counted so far on the Coupling page: two visible, three folded."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import streamlit as st

from rbmviz import BadInput
from rbmviz.charts import Chart
from rbmviz.coupling import MAX_PROPOSALS
from rbmviz.metrics.numbers import digits3
from rbmviz.session import Comparison, CouplingRun, CouplingSetup
from rbmviz.session.coupling import MAX_LAW_VISIBLE, MAX_UNITS_EXACT_DISTANCE, PairStatistics, Results
from rbmviz.session.training import MAX_UNITS_EXACT_LIKELIHOOD
from rbmviz_app import controls
from rbmviz_app.page import catch_up_settings, live_chart
from rbmviz_app.pages.coupling import charts
from rbmviz_app.pages.coupling.settings import Settings

HEIGHT = 260
"""Pixels of a plot under *More charts*."""

NOTHING = "The first pairs are under way."


class Wanted(NamedTuple):
    """Results that the charts need: lag of the pairs, k of CD and UCD, and whether to add exact values."""

    lag: int = 1
    k: int = 1
    exact: bool = False


def wanted_now() -> Wanted:
    """Return the results that the visible charts need; folded charts request no pairs of their own."""
    if not Settings.coupling_more.value:
        return Wanted()
    return Wanted(Settings.lag.value, Settings.estimate_k.value, exact=True)


def request_results(comparison: Comparison[CouplingSetup], wanted: Wanted) -> Results | None:
    """Request the wanted results; return the results so far, or None while the run is being rebuilt."""
    try:
        return comparison.panels[0].worker.read(lambda run: CouplingRun.request_results(run, *wanted))
    except BadInput:  # the panel shows the reason
        return None


def draw_more_charts(comparison: Comparison[CouplingSetup]) -> None:
    """Draw a fold with the additional charts."""
    with controls.fold(Settings.coupling_more, "More charts") as is_open:
        if is_open:
            draw_more(comparison)


def offer(
    comparison: Comparison[CouplingSetup],
    key: str,
    draw: Callable[[Results], tuple[Chart | None, Sequence[str]]],
    said: str,
    height: int = HEIGHT,
) -> None:
    """Draw the place of a chart of the pairs counted so far."""
    wanted = wanted_now()

    def make() -> tuple[Chart | None, Sequence[str]]:
        results = request_results(comparison, wanted)
        return (None, ()) if results is None else draw(results)

    live_chart(comparison, key, make, said, NOTHING, height)


@st.fragment
def draw_main_chart(comparison: Comparison[CouplingSetup], present: bool) -> None:
    """Draw meeting times and rejected proposals of the pairs counted so far."""
    with st.container(horizontal=True, vertical_alignment="center"):
        draw_question("Meeting times")
        log = controls.toggle(Settings.tau_log)
    said = "Shares of pairs by meeting time"
    offer(comparison, "tau", lambda found: (charts.tau_chart(found.pairs, log), ()), said, 0)
    if not present:
        with st.container(key="rejected", gap="xxsmall"):  # style.css makes room for two charts
            draw_question("Rejected proposals")
            said = "Shares of pairs by rejected proposals"
            key = "rejected proposals"
            offer(comparison, key, lambda found: (charts.rejected_chart(found.pairs), ()), said, 0)
    catch_up_settings("coupling")


@st.fragment
def draw_more(comparison: Comparison[CouplingSetup]) -> None:
    """Draw the other results of the pairs counted so far."""
    offer(comparison, "main charts", lambda found: (None, [main_charts_text(found)]), "", 1)
    left, right = st.columns(2, gap="large")
    with left:
        draw_bound(comparison)
        draw_distance(comparison)
    with right:
        draw_estimate(comparison)
    catch_up_settings("coupling")


def main_charts_text(results: Results) -> str:
    """Say which pairs were cut off, and how to read the rejected proposals."""
    cut = " ".join(
        f"{charts.NAMES[c.algorithm]}: {digits3(100 * c.truncated_share)} % of {c.n:,} pairs had not met "
        f"after {c.max_sweeps:,} sweeps (the bar at the right of Meeting times)."
        for c in results.pairs
        if c.truncated.any()
    )
    cut = cut or f"All {sum(c.n for c in results.pairs):,} pairs met."
    given_up = sum(c.loops_given_up for c in results.pairs)
    if given_up:
        cut += f" {given_up:,} loops reached {MAX_PROPOSALS:,} proposals, which biases the estimate."
    return f"{cut} Rejected proposals are pale for ξ, which with algorithm 1 rejects none."


def draw_bound(comparison: Comparison[CouplingSetup]) -> None:
    """Draw the bound on the total variation distance."""
    draw_question("How many sweeps until the chain has converged?")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        lag = controls.slide(Settings.lag, width=220)
        log = controls.toggle(Settings.tv_log)

    def draw(results: Results) -> tuple[Chart, list[str]]:
        rows = charts.bound_rows(results, log)
        names = [*charts.NAMES.values(), *([charts.EXACT] if results.exact_possible else [])]
        title = "Total variation distance, at most"
        chart = charts.line_chart(rows, names, "Gibbs sweeps", title, kind="symlog", log=log)
        exact = (
            "The grey curve is exact."
            if len(results.exact)
            else "The exact curve is being computed."
            if results.exact_possible
            else "The model is too large for the exact curve: at most "
            f"{MAX_UNITS_EXACT_DISTANCE} units in all, and {MAX_LAW_VISIBLE} visible ones."
        )
        cut = _cut_off(results.lagged)
        small = (
            f"Cut off: {cut}; so the bound is too small and ends early: raise “Cut off after”." if cut else ""
        )
        return chart, [exact, small]

    offer(comparison, "tv", draw, "Upper bound on the total variation distance against sweeps")
    st.caption(
        "**What you see** An upper bound on the distance between the chain after t sweeps and its model: the "
        f"mean of max(0, ⌈(τ − L − t) / L⌉) over pairs of lag {lag}, ± 2 standard errors. **Try** lag 1, "
        "then a lag near the longest meeting times. Biswas, Jacob, Vanetti 2019."
    )


def draw_estimate(comparison: Comparison[CouplingSetup]) -> None:
    """Draw the running estimates of one statistic."""
    draw_question("What do UCD and CD-k estimate?")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        statistic = controls.select(Settings.coupling_statistic, width=230)
        k = controls.slide(Settings.estimate_k, width=160)

    def draw(results: Results) -> tuple[Chart, list[str]]:
        rows = charts.estimate_rows(results, statistic)
        names = [*(f"UCD, {name.lower()}" for name in charts.NAMES.values()), f"CD-{results.pairs[0].k}"]
        names += [charts.EXACT] if results.truth is not None else []
        chart = charts.line_chart(rows, names, "Pairs", f"Mean of: {statistic}", domain=(0, 1))
        i, j = results.unit
        exact = (
            "The grey line is the exact value, by enumeration."
            if results.truth is not None
            else f"No exact value: the smaller layer has more than {MAX_UNITS_EXACT_LIKELIHOOD} units."
        )
        cut = _cut_off(results.pairs)
        biased = f"Cut off: {cut}, which biases UCD: raise “Cut off after”." if cut else ""
        return chart, [f"{exact} Visible unit {i + 1}, hidden unit {j + 1}.", biased]

    offer(comparison, "estimate", draw, f"Running estimates of the {statistic} against pairs")
    st.caption(
        "**What you see** Running means over pairs, ± 2 standard errors. UCD adds the differences between "
        "the two chains, sweep by sweep, until they meet, which removes the bias; "
        f"CD-{k} stops after {k} sweep{'s' * (k > 1)}. "
        "Means outside 0 to 1, which few pairs can have, are not drawn. **Try** larger parameters (the "
        "first slider). UCD paper, section 3.1."
    )


def draw_distance(comparison: Comparison[CouplingSetup]) -> None:
    """Draw the Hamming distance over time."""
    draw_question("How far apart are the two chains?")

    def draw(results: Results) -> tuple[Chart, list[str]]:
        rows, names = charts.distance_rows(results.pairs), list(charts.NAMES.values())
        return charts.line_chart(rows, names, "Sweep t", "Pixels that differ"), []

    offer(comparison, "distance", draw, "Hamming distance of the pairs against sweeps")
    st.caption(
        "**What you see** The mean Hamming distance between ξ and η over all pairs, and the middle 80 %; "
        "pairs that have met count as 0. Algorithm 3 keeps chains close until they meet. UCD paper, "
        "appendix A.2."
    )


def _cut_off(pairs: Sequence[PairStatistics]) -> str:
    """Return, in words, each coupling's share of pairs cut off before meeting; "" if all have met."""
    return " and ".join(
        f"{digits3(100 * c.truncated_share)} % of the pairs of {charts.NAMES[c.algorithm]}"
        for c in pairs
        if c.truncated_share
    )


def draw_question(text: str) -> None:
    """Write the question that a chart answers."""
    st.markdown(f"**{text}**")
