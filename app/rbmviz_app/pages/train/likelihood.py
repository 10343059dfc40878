"""The charts below the trainers: the likelihood of the data, and one statistic of the trainers."""

from typing import NamedTuple

import streamlit as st

from rbmviz.charts.catalogue import UPPER_BOUND_LABEL
from rbmviz.datasets import Dataset
from rbmviz.metrics import independent_log_likelihood
from rbmviz.metrics.exact import attainable_log_likelihood
from rbmviz.metrics.numbers import LIKELIHOOD, SCORED_EXAMPLES
from rbmviz.session import Comparison, TrainingSetup
from rbmviz.session.training import LIVE_AIS_CHAINS, scored_examples
from rbmviz.trainers import STATS
from rbmviz_app import controls, links, messages
from rbmviz_app.page import draw_chart
from rbmviz_app.pages.train.charts import (
    distribution_chart,
    distribution_rows,
    in_sight,
    likelihood_floor,
    likelihood_rows,
    statistic_rows,
    training_chart,
)
from rbmviz_app.pages.train.naming import named, styles
from rbmviz_app.pages.train.settings import Settings, units_of

READ_DISTRIBUTION = {
    "Meeting times (sweeps)": "**Look** at the tail: the few pairs that meet late make updates noisy. Pairs "
    "cut off are counted at the last sweep.",
    "Log weights (nats)": "**Look** at the width: one nat to the right is a weight e = 2.7 times as large.",
}
"""Notes on how to read the distributions, by label."""


LEARNED_UPDATES = 1000
"""Updates after which a trainer not above independent pixels is reported."""


class Levels(NamedTuple):
    """Reference log-likelihoods for the curves, in nats per scored example.

    Parameters
    ----------
    attainable : float or None
        The highest possible for the training examples under any model, if known.
    independent : dict of float
        The highest for a model of independent pixels, by part: "train", "test".
    """

    attainable: float | None
    independent: dict[str, float]


def levels_of(dataset: Dataset) -> Levels:
    """Return the reference log-likelihoods of these data."""
    parts = {name: scored_examples(rows) for name in ("train", "test") if len(rows := getattr(dataset, name))}
    independent = {name: independent_log_likelihood(rows) for name, rows in parts.items()}
    return Levels(attainable_log_likelihood(parts["train"]), independent)


def draw_charts(comparison: Comparison[TrainingSetup], levels: Levels) -> None:
    """Draw likelihood curves, and one statistic of the trainers."""
    if not comparison.panels:
        return
    shown = named(comparison)
    methods = {snapshot.method for _, snapshot in shown}  # one begun at a model may have another size
    exact = methods == {"exact"}
    with st.container(horizontal=True, vertical_alignment="center"):
        how = "exact" if exact else "estimated by annealed importance sampling"
        how = f"exact for some models, else {how}" if len(methods) > 1 else how
        if comparison.setup.replicates > 1:
            how = f"{how}; bands hold the middle 95 % of the {comparison.setup.replicates} replicates"
        elif not exact:
            how = f"{how}, ± 2 errors"
        dataset = comparison.setup.dataset
        if len(dataset.train) > SCORED_EXAMPLES:
            how = f"{how}; over {SCORED_EXAMPLES:,} evenly spaced examples"
        st.markdown(f"**Log-likelihood**, {how}")
        part = controls.choose(
            Settings.part,
            options=["train", "test"] if len(dataset.test) else ["train"],
            label_visibility="collapsed",
        )
    cost_unit = comparison.cost_unit
    compared = [one.compared for _, one in comparison.at_common_point(comparison.peek(), newest=True)]
    rows = likelihood_rows(shown, part)
    floor = likelihood_floor(rows)
    lines, unit, independent = [], units_of(dataset), levels.independent[part]
    if exact and part == "train" and levels.attainable is not None:
        lines.append((UPPER_BOUND_LABEL, levels.attainable))
    if in_sight(independent, rows, floor):
        lines.append((f"independent {unit}", independent))
    draw_chart(
        training_chart(
            rows,
            styles(comparison),
            cost_unit,
            LIKELIHOOD.titled(),
            lines,
            floor=floor,
            compared=compared,
            present=links.presenting(),
        ),
        "likelihood",
        f"{LIKELIHOOD.label} against {cost_unit}, one curve per panel, each labelled at its end",
        "The first estimate is under way.",
        height="stretch",
    )
    if floor is not None:
        st.caption(
            f"▼ A curve is below {floor:,.1f}, where the axis ends; point at the triangle to read its value."
        )
    below = [
        name
        for name, snapshot in shown
        if (newest := next(reversed(snapshot.likelihoods), None)) is not None
        and newest.update >= LEARNED_UPDATES
        and newest.band(part)[1] <= independent
    ]
    if below:
        st.caption(
            f":material/warning: Not above independent {unit} ({independent:,.1f}): "
            f"{messages.plain(', '.join(below))}. As a model it has learned nothing of how {unit} depend on "
            "each other."
        )
    for name, snapshot in shown:
        newest = snapshot.likelihoods[-1] if snapshot.likelihoods else None
        if newest is not None and newest.doubtful_ess is not None:
            st.caption(
                f":material/warning: {messages.plain(name)}: at update {newest.update:,} only "
                f"{newest.doubtful_ess:.1f} of {LIVE_AIS_CHAINS} chains carry the estimate: the curve is "
                "probably too high there."
            )
    draw_statistic(comparison)


def draw_statistic(comparison: Comparison[TrainingSetup]) -> None:
    """Draw one statistic: reported by all trainers, or specific to some."""
    shown, cost_unit = named(comparison), comparison.cost_unit
    own = {name: label for _, snapshot in shown for name, label in snapshot.algorithm.own_stats.items()}
    labels = own | STATS
    with st.container(horizontal=True, vertical_alignment="center"):
        statistic = controls.select(
            Settings.statistic,
            options=list(labels),
            format_func=lambda name: labels.get(name, name),
            label_visibility="collapsed",
            width=420,
        )
        log = controls.toggle(Settings.log)
    having = [
        style
        for style, (_, snapshot) in zip(styles(comparison), shown, strict=True)
        if statistic in STATS or statistic in snapshot.algorithm.own_stats
    ]
    draw_chart(
        training_chart(statistic_rows(shown, statistic), having, cost_unit, labels[statistic], log=log),
        "inner",
        f"{labels[statistic]} against {cost_unit}",
        "Nothing yet." if not log else "Nothing above zero yet.",
        height="stretch",
    )
    if not links.presenting():
        distributions(comparison)


def distributions(comparison: Comparison[TrainingSetup]) -> None:
    """Draw distributions over the chains of the last update, if reported: meeting times, log weights."""
    shown = named(comparison)
    quantities = list(dict.fromkeys(label for _, snapshot in shown for label in snapshot.per_chain))
    if not quantities:
        return
    st.markdown("**How do the chains of one update differ?**")
    for column, label in zip(st.columns(len(quantities), gap="large"), quantities, strict=True):
        having = [
            style
            for style, (_, snapshot) in zip(styles(comparison), shown, strict=True)
            if label in snapshot.per_chain
        ]
        with column:
            draw_chart(
                distribution_chart(distribution_rows(shown, label), having, label),
                f"distribution {label}",
                f"{label} of the chains of the last update, shares",
                "Nothing yet.",
            )
            st.caption(f"{', '.join(brief for _, brief, _ in having)}. {READ_DISTRIBUTION.get(label, '')}")
