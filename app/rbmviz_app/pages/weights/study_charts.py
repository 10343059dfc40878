"""Charts of the estimator study of the Weights page: bias and variance on models of increasing size."""

from collections.abc import Iterable, Sequence
from typing import Any

import altair as alt
import pandas as pd

from rbmviz.session import StudiedModel
from rbmviz.session.estimator_study import ESTIMATORS
from rbmviz_app.charts.style import (
    DASHES,
    GREY,
    RAMP,
    Chart,
    Rows,
    Spec,
    colour,
    kept_spec,
    legend_columns,
    live_spec,
)
from rbmviz_app.pages.weights.charts import EFFECTIVE_SHARE

SHAPES = {
    "CD-1": "circle",
    "CD-10": "square",
    "pop-CD-1": "triangle-down",
    "pop-CD-10": "triangle-left",
    "pop-CD-1, joint": "triangle-up",
    "pop-CD-1, mixture": "diamond",
    "pop-CD-1, LOO": "cross",
    "PCD-1": "triangle-right",
    "UCD": "wedge",
    "PT": "arrow",
}
"""Point shapes of the study's estimators, one for each."""


def _estimator_legend(labels: Iterable[str] = ESTIMATORS) -> alt.Legend:
    return alt.Legend(
        orient="bottom", columns=legend_columns(2), symbolOpacity=1, symbolSize=60, values=list(labels)
    )


def _estimators() -> tuple[alt.Scale, alt.Scale]:
    labels = list(ESTIMATORS)
    return (
        alt.Scale(domain=labels, range=[colour(trainer) for trainer, _ in ESTIMATORS.values()]),
        alt.Scale(domain=labels, range=[SHAPES[label] for label in labels]),
    )


def quality_rows(models: Iterable[StudiedModel]) -> Rows:
    """Return bias and variance of every estimator on every model.

    ``seen``: whether the bias differs from zero by more than two standard errors; otherwise the point only
    shows the noise of finitely many estimates, and falls as more arrive.
    """
    rows = []
    for model in models:
        for label, found in model.qualities.items():
            rows.append(
                {
                    "estimator": label,
                    "hidden": model.n_hidden,
                    "bias": found.bias,
                    "low": max(found.bias - 2 * found.std_error, found.bias / 10),
                    "high": found.bias + 2 * found.std_error,
                    "corrected": found.bias_corrected,
                    "std_error": found.std_error,
                    "variance": found.variance,
                    "estimates": found.replications,
                    "seen": found.bias_corrected > 2 * found.std_error,
                    "share_cut": found.share_cut,
                }
            )
    return rows


QUALITY_COLUMNS = (
    "estimator",
    "hidden",
    "bias",
    "low",
    "high",
    "corrected",
    "std_error",
    "variance",
    "estimates",
    "seen",
    "share_cut",
)

TOOLTIP = [
    alt.Tooltip("estimator:N", title="Estimator"),
    alt.Tooltip("hidden:Q", title="Hidden units"),
    alt.Tooltip("bias:Q", title="Bias, squared, per parameter", format=".2e"),
    alt.Tooltip("corrected:Q", title="without its noise", format=".2e"),
    alt.Tooltip("std_error:Q", title="Standard error", format=".1e"),
    alt.Tooltip("variance:Q", title="Variance per parameter", format=".2e"),
    alt.Tooltip("estimates:Q", title="Estimates", format=","),
    alt.Tooltip("share_cut:Q", title="Pairs cut off", format=".2~%"),
]
RATIO_TOOLTIP = alt.Tooltip("ratio:Q", title="CD's bias over pop-CD's", format=".3~g")


def plane_chart(models: Iterable[StudiedModel]) -> Chart:
    """Return data and spec: bias against variance, with a trail of growing points for each estimator."""
    return pd.DataFrame(quality_rows(models), columns=list(QUALITY_COLUMNS)), _plane_spec()


@kept_spec
def _plane_spec() -> Spec:
    colours, shapes = _estimators()
    log = alt.Scale(type="log", nice=False)
    base = alt.Chart(alt.NamedData("curves")).encode(
        x=alt.X(
            "variance:Q",
            title="Variance (squared, per parameter)",
            scale=log,
            axis=alt.Axis(format="~g", tickCount=6, grid=False),
        ),
        color=alt.Color("estimator:N", title=None, sort=colours.domain, scale=colours).legend(
            _estimator_legend()
        ),
    )
    y = alt.Y(
        "bias:Q",
        title="Bias (squared, per parameter)",
        scale=log,
        axis=alt.Axis(format="~g", tickCount=6, grid=False),
    )
    layers = [
        base.mark_line(strokeWidth=1, opacity=0.35).encode(y=y, detail="estimator:N", order="hidden:Q"),
        base.mark_rule(opacity=0.3).encode(y=alt.Y("low:Q", scale=log), y2="high:Q"),
        base.mark_point(filled=True).encode(
            y=y,
            shape=alt.Shape("estimator:N", title=None, sort=colours.domain, scale=shapes),
            size=alt.Size(
                "hidden:Q",
                title="Hidden units",
                scale=alt.Scale(type="log", range=[20, 260], nice=False),
                legend=None,
            ),
            opacity=alt.condition("datum.seen", alt.value(0.95), alt.value(0.45)),
            tooltip=TOOLTIP,
        ),
        *_cut_marks(base.encode(y=y)),
    ]
    return live_spec(layers, 560)


def _cut_marks(points: alt.Chart) -> list[alt.Chart]:
    """Return a ring and its label for points with pairs that were cut off, which are not unbiased."""
    cut = points.transform_filter("datum.share_cut > 0")
    words = "format(datum.share_cut, '.1~%') + ' of pairs cut'"
    return [
        cut.mark_point(filled=False, shape="circle", size=420, strokeWidth=1.5, strokeDash=[3, 2]),
        cut.transform_calculate(cut=words).mark_text(align="left", dx=13, fontSize=11).encode(text="cut:N"),
    ]


ESTIMATOR_QUANTITIES = {
    "ratio": "CD's bias over pop-CD's",
    "bias": "Bias",
    "variance": "Variance",
    "ess": f"{EFFECTIVE_SHARE} of a batch against hidden units",
    "sweeps": f"{EFFECTIVE_SHARE} of a batch against sweeps",
}


def study_chart(models: Sequence[StudiedModel], quantity: str) -> Chart:
    """Return data and spec of one of ESTIMATOR_QUANTITIES against hidden units (or sweeps)."""
    if quantity in ("ess", "sweeps"):
        return pd.DataFrame(ess_rows(models), columns=["hidden", "k", "ess"]), _study_spec(quantity)
    rows = ratio_rows(models) if quantity == "ratio" else quality_rows(models)
    return pd.DataFrame(rows, columns=[*QUALITY_COLUMNS, "ratio"]), _study_spec(quantity)


@kept_spec
def _study_spec(quantity: str) -> Spec:
    hidden = alt.X(
        "hidden:Q",
        title="Hidden units",
        scale=alt.Scale(type="log", base=2, nice=False),
        axis=alt.Axis(format="d", tickCount=8, grid=False),
    )
    chart = alt.Chart(alt.NamedData("curves"))
    if quantity in ("ess", "sweeps"):
        return _ess_spec(quantity, hidden, chart)
    colours, shapes = _estimators()
    shown = [label for label in ESTIMATORS if quantity != "ratio" or label.startswith("pop-")]
    title = ESTIMATOR_QUANTITIES[quantity] + ("" if quantity == "ratio" else " (squared, per parameter)")
    scale = alt.Scale(type="log", nice=False)
    base = chart.encode(
        x=hidden,
        y=alt.Y(
            f"{quantity}:Q",
            title=title,
            scale=scale,
            axis=alt.Axis(format="~g" if quantity == "ratio" else ".0e", tickCount=6, grid=False),
        ),
        color=alt.Color("estimator:N", title=None, sort=colours.domain, scale=colours).legend(
            _estimator_legend(shown)
        ),
    )
    layers: list[Any] = [
        base.mark_line(strokeWidth=1.5, opacity=0.7).encode(detail="estimator:N"),
        base.mark_point(filled=True, size=60).encode(
            shape=alt.Shape("estimator:N", title=None, sort=colours.domain, scale=shapes),
            opacity=alt.condition("datum.seen", alt.value(0.95), alt.value(0.45)),
            tooltip=[*TOOLTIP, RATIO_TOOLTIP] if quantity == "ratio" else TOOLTIP,
        ),
    ]
    if quantity == "ratio":
        layers.append(
            alt.Chart(alt.InlineData([{"ratio": 1}]))
            .mark_rule(strokeDash=[4, 4], color=GREY)
            .encode(y="ratio:Q")
        )
    return live_spec(layers, 510)


def ratio_rows(models: Sequence[StudiedModel]) -> Rows:
    """Return the bias of CD-k divided by that of pop-CD-k; both as in the paper's table 1."""
    rows = []
    for row in quality_rows(models):
        model = next(model for model in models if model.n_hidden == row["hidden"])
        plain = row["estimator"].removeprefix("pop-").partition(",")[0]
        if row["estimator"].startswith("pop-") and plain in model.qualities:
            rows.append(row | {"ratio": model.qualities[plain].bias / row["bias"]})
    return rows


def ess_rows(models: Iterable[StudiedModel]) -> Rows:
    """Return effective sample sizes as shares of a batch, by hidden units and sweeps."""
    return [
        {"hidden": model.n_hidden, "k": k, "ess": share} for model in models for k, share in model.ess.items()
    ]


def _ess_spec(quantity: str, hidden: alt.X, chart: alt.Chart) -> Spec:
    sweeps = alt.X(
        "k:Q",
        title="Sweeps",
        scale=alt.Scale(type="log", nice=False),
        axis=alt.Axis(format="d", tickCount=5, grid=False),
    )
    x, group, title = (hidden, "k", "Sweeps") if quantity == "ess" else (sweeps, "hidden", "Hidden units")
    line = chart.mark_line(strokeWidth=2, point=alt.OverlayMarkDef(size=30)).encode(
        x=x,
        y=alt.Y(
            "ess:Q",
            title=f"{EFFECTIVE_SHARE} of a batch",
            axis=alt.Axis(format="%"),
            scale=alt.Scale(domain=[0, 1]),
        ),
        color=alt.Color(f"{group}:O", title=title, scale=alt.Scale(range=list(RAMP))).legend(orient="top"),
        strokeDash=alt.StrokeDash(f"{group}:O", title=title, scale=alt.Scale(range=list(DASHES))),
        tooltip=[
            alt.Tooltip("hidden:Q", title="Hidden units"),
            alt.Tooltip("k:Q", title="Sweeps"),
            alt.Tooltip("ess:Q", title=EFFECTIVE_SHARE, format=".1%"),
        ],
    )
    return live_spec([line], 510)
