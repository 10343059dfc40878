"""The charts below the trainers: the likelihood of the data, and one statistic of the trainers."""

import contextlib
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import streamlit as st

from rbmviz import BadInput
from rbmviz.charts import Chart
from rbmviz.charts.catalogue import UPPER_BOUND_LABEL
from rbmviz.datasets import Dataset
from rbmviz.metrics import independent_log_likelihood
from rbmviz.metrics.exact import attainable_log_likelihood, highest_log_likelihood
from rbmviz.metrics.monte_carlo import MONTE_CARLO_CHAINS, MONTE_CARLO_SWEEPS
from rbmviz.metrics.numbers import LIKELIHOOD, PSEUDO_LIKELIHOOD, SCORED_EXAMPLES
from rbmviz.session import TrainingSetup, TrainingSnapshot
from rbmviz.session.equal_points import Compared
from rbmviz.session.training import LIVE_MONTE_CARLO_ROWS, YARDSTICKS
from rbmviz.trainers import STATS
from rbmviz.trainers.likelihood import LIVE_AIS_CHAINS, scored_examples
from rbmviz_app import controls, links
from rbmviz_app.compared import amount_text
from rbmviz_app.page import catch_up_settings, live_chart
from rbmviz_app.pages.train.charts import (
    curves_of_trainers,
    distribution_chart,
    distribution_rows,
    in_sight,
    likelihood_floor,
    likelihood_rows,
    named,
    statistic_rows,
    training_chart,
    units_of,
)
from rbmviz_app.pages.train.panel import Settings
from rbmviz_app.race import PageRace

READ_DISTRIBUTION = {
    "Meeting times (sweeps)": "Look at the tail: the few pairs that meet late make updates noisy. Pairs "
    "cut off are counted at the last sweep.",
    "Log weights (nats)": "Look at the width: one nat to the right is a weight e = 2.7 times as large.",
}


MAX_DISTRIBUTIONS = 2

HOW_AVERAGED = (
    f"a Monte Carlo average: {MONTE_CARLO_CHAINS} chains of {MONTE_CARLO_SWEEPS} sweeps from each of "
    f"{LIVE_MONTE_CARLO_ROWS} training examples. Too low where chains leave their example for good, too high "
    "where they stay"
)

HOW_PSEUDO = (
    "how well each pixel is predicted from the others, as by scikit-learn’s score_samples. It says nothing "
    "about modes far from the data"
)

LEARNED_UPDATES = 1000
"""Number of updates after which a trainer is reported if it is not above independent pixels."""

Named = Sequence[tuple[str, TrainingSnapshot]]


class Levels(NamedTuple):
    """Reference log-likelihoods for the curves, in nats per scored example.

    attainable : highest value that any model can reach on the training examples, if known
    averaged : the same on the examples of the Monte Carlo average
    independent : highest value of a model of independent pixels, by part: "train", "test"
    """

    attainable: float | None
    averaged: float
    independent: dict[str, float]


def levels_of(dataset: Dataset) -> Levels:
    """Return the reference log-likelihoods of these data."""
    parts = {name: scored_examples(rows) for name in ("train", "test") if len(rows := getattr(dataset, name))}
    independent = {name: independent_log_likelihood(rows) for name, rows in parts.items()}
    averaged = highest_log_likelihood(scored_examples(parts["train"], LIVE_MONTE_CARLO_ROWS))
    return Levels(attainable_log_likelihood(parts["train"]), averaged, independent)


@st.fragment
def draw_charts(race: PageRace[TrainingSetup], levels: Levels) -> None:
    """Draw the places of likelihood curves and of one statistic of the trainers, and their choices."""
    if not race.panels:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown("**Log-likelihood**")
        yardstick = controls.select(
            Settings.part,
            [name for name, each in YARDSTICKS.items() if each.part in levels.independent],
            format_func=lambda name: YARDSTICKS[name].label,
            label_visibility="collapsed",
        )
        at_equal = controls.toggle(Settings.train_equal)
    make = partial(make_likelihoods, race, levels, yardstick, at_equal, links.presenting())
    unit = race.cost_unit
    said = f"{LIKELIHOOD.label} against {unit}, one curve per panel, each labelled at its end"
    live_chart(race, "likelihood", make, said, "The first estimate is under way.")
    draw_statistic(race)
    catch_up_settings(race)


def make_likelihoods(
    race: PageRace[TrainingSetup], levels: Levels, yardstick: str, at_equal: bool, present: bool
) -> tuple[Chart, list[str]]:
    """Return the chart of the likelihoods, and what to know of it."""
    curves = curves_of_trainers(race)
    snapshots, averaged = named(curves), yardstick == "monte_carlo"
    for (_, snapshot), panel in zip(snapshots, race.panels, strict=False):
        if averaged != (bool(snapshot.likelihoods) and snapshot.likelihoods[-1].has_average):
            with contextlib.suppress(BadInput):  # the run is being rebuilt: the next drawing asks again
                panel.read(lambda run: run.request_monte_carlo(averaged))
    part, cost_unit = YARDSTICKS[yardstick].part, race.cost_unit
    unit, independent = units_of(race.setup.dataset), levels.independent[part]
    at_point = race.at_common_point(race.peek()) if at_equal else []
    compared = [snapshot.compared for _, snapshot in at_point]
    rows = likelihood_rows(snapshots, yardstick)
    floor = likelihood_floor(rows)
    exact = {snapshot.method for _, snapshot in snapshots} == {"exact"}
    lines = []
    if levels.attainable is not None and (averaged or (exact and yardstick == "train")):
        lines.append((UPPER_BOUND_LABEL, levels.averaged if averaged else levels.attainable))
    reference = f"independent {unit} {minus(f'{independent:,.1f}')}"
    is_visible = not averaged and in_sight(independent, rows, floor)
    if is_visible:
        lines.append((reference, independent))
    number = PSEUDO_LIKELIHOOD if yardstick == "pseudo" else LIKELIHOOD
    title = number.titled()
    chart = training_chart(
        rows, curves, cost_unit, title, lines, floor=floor, compared=compared, present=present
    )
    notes = []
    if compared and compared[0].point is not None:
        place = amount_text(cost_unit, compared[0].point)
        notes.append(f"At {place}: {ranking(snapshots, compared, yardstick)}.")
    if rows and not is_visible and not averaged:
        notes.append(f"Below the chart: {reference}, which every model should beat.")
    if floor is not None:
        notes.append(
            f"▼ A curve is below {minus(f'{floor:,.1f}')}, where the axis ends; point at the triangle to "
            "read its value."
        )
    if averaged:  # of few examples: independent pixels are scored on all
        notes += remarks_on_averages(snapshots, levels.averaged)
    else:
        notes += warnings_of_scores(snapshots, yardstick, independent, unit)
    special = {"monte_carlo": HOW_AVERAGED, "pseudo": HOW_PSEUDO}
    how = special.get(yardstick) or how_scored(race, snapshots)
    return chart, [*notes, f"{number.label}: {how}."]


def how_scored(race: PageRace[TrainingSetup], snapshots: Named) -> str:
    """Describe the computation of the likelihoods and the meaning of their bands."""
    methods = {snapshot.method for _, snapshot in snapshots}  # a run from a model may have another size
    exact = methods == {"exact"}
    how = "exact" if exact else "estimated by annealed importance sampling"
    how = f"exact for some models, else {how}" if len(methods) > 1 else how
    if race.setup.replicates > 1:
        how = f"{how}; bands hold the middle 95 % of the {race.setup.replicates} replicates"
    elif not exact:
        how = f"{how}, ± 2 errors"
    if len(race.setup.dataset.train) > SCORED_EXAMPLES:
        how = f"{how}; over {SCORED_EXAMPLES:,} evenly spaced examples"
    return how


def ranking(snapshots: Named, compared: Sequence[Compared], yardstick: str) -> str:
    """List the panels, best first, with their likelihoods at the common point."""
    scored = [(name, panel.scores) for (name, _), panel in zip(snapshots, compared, strict=True)]
    values = {name: scores.band(yardstick)[0] for name, scores in scored if scores is not None}
    ranked = sorted(values.items(), key=lambda item: -item[1])
    missing = [name for name, scores in scored if scores is None]
    texts = [f"{name} {minus(f'{value:,.2f}')}" for name, value in ranked]
    return ", ".join([*texts, *(f"{name} not scored there" for name in missing)])


def minus(number: str) -> str:
    """Return a formatted number with a typographic minus sign."""
    return number.replace("-", "−")


def remarks_on_averages(snapshots: Named, highest: float) -> list[str]:
    """Return a sentence that names the panels whose Monte Carlo average is above that of any model."""
    newest = [(name, snapshot.likelihoods[-1]) for name, snapshot in snapshots if snapshot.likelihoods]
    above = [name for name, point in newest if point.band("monte_carlo")[0] > highest + 1e-6]
    if not above:
        return []
    return [
        f"⚠ Above the best that any model can have on these examples ({minus(f'{highest:,.2f}')}): "
        f"{', '.join(above)}. Chains that do not leave their example flatter the model: choose “training”."
    ]


def warnings_of_scores(snapshots: Named, yardstick: str, independent: float, unit: str) -> list[str]:
    """Return sentences that name the panels that have learned nothing and those with doubtful estimates."""
    below = [
        name
        for name, snapshot in snapshots
        if (newest := next(reversed(snapshot.likelihoods), None)) is not None
        and newest.update >= LEARNED_UPDATES
        and newest.band(yardstick)[1] <= independent
    ]
    warnings = []
    if below:
        warnings.append(
            f"⚠ Not above independent {unit} ({minus(f'{independent:,.1f}')}): {', '.join(below)}. As a "
            f"model it has learned nothing of how {unit} depend on each other."
        )
    for name, snapshot in snapshots:
        newest = snapshot.likelihoods[-1] if snapshot.likelihoods else None
        if YARDSTICKS[yardstick].needs_log_z and newest is not None and newest.doubtful_ess is not None:
            warnings.append(
                f"⚠ {name}: at update {newest.update:,} only {newest.doubtful_ess:.1f} of {LIVE_AIS_CHAINS} "
                "chains carry the estimate: the curve is probably too high there."
            )
    return warnings


def draw_statistic(race: PageRace[TrainingSetup]) -> None:
    """Draw one statistic: reported by all trainers, or specific to some."""
    own = {k: label for panel in race.panels for k, label in panel.algorithm.own_stats.items()}
    labels, unit = own | STATS, race.cost_unit
    with st.container(horizontal=True, vertical_alignment="center"):
        statistic = controls.select(
            Settings.statistic,
            options=list(labels),
            format_func=lambda name: labels.get(name, name),
            label_visibility="collapsed",
            width=420,
        )
        log = controls.toggle(Settings.log)

    def make() -> tuple[Chart, list[str]]:
        having = [
            curve
            for curve in curves_of_trainers(race)
            if statistic in STATS | curve.snapshot.algorithm.own_stats
        ]
        rows = statistic_rows(named(having), statistic)
        return training_chart(rows, having, race.cost_unit, labels[statistic], log=log), []

    nothing = "Nothing yet." if not log else "Nothing above zero yet."
    live_chart(race, "inner", make, f"{labels[statistic]} against {unit}", nothing)
    if not links.presenting():
        said = "Quantities of the chains of the last update, shares"
        for place, column in enumerate(st.columns(MAX_DISTRIBUTIONS, gap="large")):
            with column:
                live_chart(
                    race,
                    f"distribution {place}",
                    partial(make_distribution, race, place),
                    said,
                    height=200,
                )


def make_distribution(race: PageRace[TrainingSetup], place: int) -> tuple[Chart | None, list[str]]:
    """Return a distribution over the chains of the last update, if the trainers report as many quantities."""
    curves = curves_of_trainers(race)
    quantities = list(dict.fromkeys(label for curve in curves for label in curve.snapshot.per_chain))
    if len(quantities) <= place:
        return None, []
    label = quantities[place]
    having = [curve for curve in curves if label in curve.snapshot.per_chain]
    chart = distribution_chart(distribution_rows(named(having), label), having, label)
    return chart, [f"{', '.join(curve.label for curve in having)}. {READ_DISTRIBUTION.get(label, '')}"]
