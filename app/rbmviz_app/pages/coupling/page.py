"""The Coupling page: two chains coupled so that they meet, and estimates from their meetings (paper UCD)."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import streamlit as st

from rbmviz import BadInput, Model
from rbmviz.charts import Chart
from rbmviz.coupling import MAX_PROPOSALS
from rbmviz.files.metadata import data_name
from rbmviz.metrics.numbers import digits3
from rbmviz.pages import PAGES, RANDOM_MODEL
from rbmviz.session import Coupling, CouplingRun, CouplingSetup
from rbmviz.session.coupling import MAX_LAW_VISIBLE, MAX_UNITS_EXACT_DISTANCE, PairStatistics, Results
from rbmviz.trainers.likelihood import MAX_UNITS_EXACT_LIKELIHOOD
from rbmviz.view.specs import shape_of
from rbmviz_app import controls, messages
from rbmviz_app.code import coupling_code
from rbmviz_app.data_download import offer_download
from rbmviz_app.page import (
    FOLDED_HEIGHT,
    TEXT,
    LivePage,
    catch_up_settings,
    downloads,
    live_chart,
    places,
)
from rbmviz_app.pages.coupling import charts
from rbmviz_app.pages.coupling.captions import captions
from rbmviz_app.pages.coupling.panel import coupling_panel
from rbmviz_app.pages.coupling.presets import PRESETS
from rbmviz_app.race import PageRace
from rbmviz_app.session import PageSettings
from rbmviz_app.shared import model_called
from rbmviz_app.transport import Transport

TITLE, ICON, PLACE = "Coupling", "join_inner", 5
Settings = PageSettings(PAGES["coupling"].settings)
READING_NOTES = (
    "**The pairs** ξ runs one sweep ahead of η. Bright orange means that the differing pixel is on. Each "
    "chain alone is an exact Gibbs chain. UCD paper, section 3.2 (algorithm 1) and section 4 (algorithm 3); "
    "half-step is the coupling in the authors’ program.",
    "**The chart** shows the share of pairs that met at each sweep. All couplings have the same starts. UCD "
    "paper, figure 5.",
    "**Try** larger parameters (the first slider): how often do pairs still meet? Or the preset *Sharing "
    "randomness*.",
)


def knob_labels(values: Mapping[str, Any]) -> dict[str, str]:
    """Return the scale knob's label; a random model's scale is its parameters' standard deviation."""
    is_random = values["coupling_model"] == RANDOM_MODEL
    return {"scale": "Standard deviation" if is_random else "Scale (1: as trained)"}


PAGE: LivePage[CouplingSetup] = LivePage(
    PAGES["coupling"],
    Settings,
    question="How long until two chains meet?",
    about="Each column shows a pair of chains of the same model as two images. The chains share random "
    "numbers. Orange pixels differ; once the two are equal, the next pair starts. A **model** is a network "
    "of pixels and hidden units that says how likely each image is. A **chain** draws one image after "
    "another, each by a **sweep**: all hidden units given the pixels, then all pixels given the hidden "
    "units. Watch a few pairs meet, then drag the first slider to the right: they take longer.",
    knob_labels=knob_labels,
    presets=PRESETS,
    captions=captions,
    transport=Transport(
        play_help="Pause or continue all pairs. After a pause, counting continues up to 200 pairs.",
        step_help="One more sweep of each pair, then pause; after a meeting the next pair starts.",
        reset_help="Restart from the first pair with the same seed: the same meetings come again.",
    ),
)


def main() -> None:
    """Draw the page."""
    present = PAGE.heading(notes=READING_NOTES)
    with PAGE.toolbar():
        name = controls.model_name(Settings.coupling_model, before=[RANDOM_MODEL], width=288)
        with controls.settings("coupling"):
            if name == RANDOM_MODEL:
                controls.number(Settings.coupling_visible)
                controls.number(Settings.coupling_hidden)
            controls.choose(
                Settings.coupling_start,
                format_func=lambda start: "random bits" if start == "random" else "training data",
            )
            controls.number(Settings.coupling_seed)
        PAGE.menu()
    setup, reason = PAGE.setup_now()
    model = Model(setup.rbm) if name == RANDOM_MODEL else model_called(name)

    def take_scale(changed: PageRace[CouplingSetup]) -> None:
        if name != changed.shown_model[0]:  # another model was chosen
            changed.apply_knobs(changed.panels[0].key, scale=own_knobs(name).scale)

    race = PAGE.open(
        setup,
        lambda new, wanted: PAGE.fill(new, wanted or [own_knobs(name)]),
        take_scale,
        (name, model),
    )
    shown_name, shown_model = race.shown_model
    with PAGE.notes():
        if reason:
            if data_name(model.meta) is None:
                reason = "this model names no training data."
            messages.note(f"Pairs start from random bits: {reason}")
            offer_download(data_name(model.meta), "coupling")
    shape = shape_of(shown_model.rbm.n_visible, shown_model.meta.get("image_shape"))
    left, right = places()
    with left:
        labels = knob_labels({"coupling_model": shown_name})
        PAGE.draw_panels(race, "coupling_panel", partial(coupling_panel, labels=labels, shape=shape))
    with right:
        draw_main_chart(race, present)
    if not present:
        if shown_name != RANDOM_MODEL:
            controls.model_line(shown_name, shown_model)
        with controls.fold(Settings.coupling_more, "More charts") as is_open:
            if is_open:
                draw_more(race)

        def code() -> str:
            return coupling_code(shown_name, race.setup, race.panels[0].algorithm)

        downloads(race, {shown_name: shown_model}, code)


def own_knobs(name: str) -> Coupling:
    """Return a model's initial knobs: a trained model is coupled without a change of scale."""
    return PAGE.read(PAGE.spec.first_panels({"coupling_model": name}))[0][0]


def offer(
    race: PageRace[CouplingSetup],
    key: str,
    draw: Callable[[Results], tuple[Chart | None, Sequence[str]]],
    said: str,
    height: int = FOLDED_HEIGHT,
) -> None:
    """Draw the place of a chart of the pairs counted so far; folded charts request no pairs of their own."""
    lag, k, exact = 1, 1, False
    if Settings.coupling_more.value:
        lag, k, exact = Settings.lag.value, Settings.estimate_k.value, True

    def make() -> tuple[Chart | None, Sequence[str]]:
        try:
            results = race.panels[0].read(lambda run: CouplingRun.request_results(run, lag, k, exact))
            return (None, ()) if results is None else draw(results)
        except BadInput:  # the run is being rebuilt, and its panel says why
            return None, ()

    live_chart(race, key, make, said, "The first pairs are under way.", height)


@st.fragment
def draw_main_chart(race: PageRace[CouplingSetup], present: bool) -> None:
    """Draw meeting times and rejected proposals of the pairs counted so far."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown("**Meeting times**")
        log = controls.toggle(Settings.tau_log)
    said = "Shares of pairs by meeting time"
    offer(race, "tau", lambda found: (charts.tau_chart(found.pairs, log), ()), said, 0)
    if not present:
        with st.container(key="rejected", gap="xxsmall"):  # style.css makes room for two charts
            st.markdown("**Rejected proposals**")
            said = "Shares of pairs by rejected proposals"
            key = "rejected proposals"
            offer(race, key, lambda found: (charts.rejected_chart(found.pairs), ()), said, 0)
    catch_up_settings(race)


@st.fragment
def draw_more(race: PageRace[CouplingSetup]) -> None:
    """Draw the other results of the pairs counted so far."""
    offer(race, "main charts", lambda found: (None, [main_charts_text(found)]), "", TEXT)
    left, right = st.columns(2, gap="large")
    with left:
        draw_bound(race)
        draw_distance(race)
    with right:
        draw_estimate(race)
    catch_up_settings(race)


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


def draw_bound(race: PageRace[CouplingSetup]) -> None:
    """Draw the bound on the total variation distance."""
    st.markdown("**How many sweeps until the chain has converged?**")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        lag = controls.slide(Settings.lag, width=220)
        log = controls.toggle(Settings.tv_log)

    def draw(results: Results) -> tuple[Chart, list[str]]:
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
        return charts.bound_chart(results, log), [exact, small]

    offer(race, "tv", draw, "Upper bound on the total variation distance against sweeps")
    st.caption(
        "**What you see** An upper bound on the distance between the chain after t sweeps and its model: the "
        f"mean of max(0, ⌈(τ − L − t) / L⌉) over pairs of lag {lag}, ± 2 standard errors. **Try** lag 1, "
        "then a lag near the longest meeting times. Biswas, Jacob, Vanetti 2019."
    )


def draw_estimate(race: PageRace[CouplingSetup]) -> None:
    """Draw the running estimates of one statistic."""
    st.markdown("**What do UCD and CD-k estimate?**")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        statistic = controls.select(Settings.coupling_statistic, width=230)
        k = controls.slide(Settings.estimate_k, width=160)

    def draw(results: Results) -> tuple[Chart, list[str]]:
        i, j = results.unit
        exact = (
            "The grey line is the exact value, by enumeration."
            if results.truth is not None
            else f"No exact value: the smaller layer has more than {MAX_UNITS_EXACT_LIKELIHOOD} units."
        )
        cut = _cut_off(results.pairs)
        biased = f"Cut off: {cut}, which biases UCD: raise “Cut off after”." if cut else ""
        chart = charts.estimate_chart(results, statistic)
        return chart, [f"{exact} Visible unit {i + 1}, hidden unit {j + 1}.", biased]

    offer(race, "estimate", draw, f"Running estimates of the {statistic} against pairs")
    st.caption(
        "**What you see** Running means over pairs, ± 2 standard errors. UCD adds the differences between "
        "the two chains, sweep by sweep, until they meet, which removes the bias; "
        f"CD-{k} stops after {k} sweep{'s' * (k > 1)}. "
        "Means outside 0 to 1, which few pairs can have, are not drawn. **Try** larger parameters (the "
        "first slider). UCD paper, section 3.1."
    )


def draw_distance(race: PageRace[CouplingSetup]) -> None:
    """Draw the Hamming distance over time."""
    st.markdown("**How far apart are the two chains?**")

    def draw(results: Results) -> tuple[Chart, list[str]]:
        rows, names = charts.distance_rows(results.pairs), list(charts.NAMES.values())
        return charts.line_chart(rows, names, "Sweep t", "Pixels that differ"), []

    offer(race, "distance", draw, "Hamming distance of the pairs against sweeps")
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


if __name__ == "__main__":
    main()
