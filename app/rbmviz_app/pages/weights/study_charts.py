"""Charts of the estimator study of the Weights page: bias and variance on models of increasing size."""

from collections.abc import Iterable, Sequence
from typing import Any

from rbmviz.charts import Chart, ChartAxis, Curves, Legend, Level, Rows, Style, styled
from rbmviz.charts.style import RAMP, colour
from rbmviz.session import StudiedModel
from rbmviz.session.estimator_study import ESTIMATORS
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


ESTIMATOR_STYLES = tuple(
    Style(label, colour(trainer), shape=SHAPES[label]) for label, (trainer, _) in ESTIMATORS.items()
)


def quality_rows(models: Iterable[StudiedModel]) -> Rows:
    """Return bias and variance of every estimator on every model.

    ``seen``: whether the bias differs from zero by more than two standard errors; otherwise the point only
    shows the noise of finitely many estimates, and falls as more arrive.
    """
    rows = []
    for model in models:
        for label, quality in model.qualities.items():
            rows.append(
                {
                    "estimator": label,
                    "hidden": model.n_hidden,
                    "bias": quality.bias,
                    "low": max(quality.bias - 2 * quality.std_error, quality.bias / 10),
                    "high": quality.bias + 2 * quality.std_error,
                    "corrected": quality.bias_corrected,
                    "std_error": quality.std_error,
                    "variance": quality.variance,
                    "estimates": quality.replications,
                    "seen": quality.bias_corrected > 2 * quality.std_error,
                    "share_cut": quality.share_cut,
                }
            )
    return rows


TIPS = (
    ("estimator", "Estimator", ""),
    ("hidden", "Hidden units", "d"),
    ("bias", "Bias, squared, per parameter", ".2e"),
    ("corrected", "without its noise", ".2e"),
    ("std_error", "Standard error", ".1e"),
    ("variance", "Variance per parameter", ".2e"),
    ("estimates", "Estimates", ","),
    ("share_cut", "Pairs cut off", ".2~%"),
)


def plane_chart(models: Iterable[StudiedModel]) -> Chart:
    """Return the chart of bias against variance, with a trail of growing points for each estimator."""
    return Curves(
        ChartAxis("variance", "Variance (squared, per parameter)", "log", "~g", ticks=6),
        ChartAxis("bias", "Bias (squared, per parameter)", "log", "~g", ticks=6, grid=False),
        "estimator",
        ESTIMATOR_STYLES,
        TIPS,
        line_width=1,
        opacity=0.35,
        points=60,
        band=("low", "high"),
        spread="rule",
        order="hidden",
        pale="seen",
        size="hidden",
        legend=Legend("bottom", columns=2),
        more=_cut_marks,
        height=560,
    ).of(quality_rows(models))


def _cut_marks(alt: Any, points: Any) -> list[Any]:
    """Return a ring and its label for points with cut-off pairs, where estimates are not unbiased."""
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
    """Return the chart of one of ESTIMATOR_QUANTITIES against hidden units (or sweeps)."""
    if quantity in ("ess", "sweeps"):
        return _ess_chart(models, quantity)
    ratio = quantity == "ratio"
    labels = [label for label in ESTIMATORS if not ratio or label.startswith("pop-")]
    title = ESTIMATOR_QUANTITIES[quantity] + ("" if ratio else " (squared, per parameter)")
    return Curves(
        HIDDEN_AXIS,
        ChartAxis(quantity, title, "log", "~g" if ratio else ".0e", ticks=6, grid=False),
        "estimator",
        ESTIMATOR_STYLES,
        (*TIPS, ("ratio", ESTIMATOR_QUANTITIES["ratio"], ".3~g")) if ratio else TIPS,
        line_width=1.5,
        opacity=0.7,
        points=60,
        pale="seen",
        levels=(Level(1.0),) if ratio else (),
        legend=Legend("bottom", columns=2, only=tuple(labels)),
        height=510,
    ).of(ratio_rows(models) if ratio else quality_rows(models))


HIDDEN_AXIS = ChartAxis("hidden", "Hidden units", "log", "d", ticks=tuple(2.0**i for i in range(12)))


def ratio_rows(models: Sequence[StudiedModel]) -> Rows:
    """Return the bias of CD-k divided by the bias of pop-CD-k, both as in the paper's table 1."""
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


def _ess_chart(models: Sequence[StudiedModel], quantity: str) -> Chart:
    """Return the chart of the effective share against hidden units, or against sweeps ("sweeps")."""
    sweeps, rows = ChartAxis("k", "Sweeps", "log", "d", ticks=5), ess_rows(models)
    x, group, title = (
        (HIDDEN_AXIS, "k", "Sweeps") if quantity == "ess" else (sweeps, "hidden", "Hidden units")
    )
    names = [str(value) for value in sorted({row[group] for row in rows})]
    return Curves(
        x,
        ChartAxis("ess", f"{EFFECTIVE_SHARE} of a batch", form="%", domain=(0, 1)),
        "group",
        styled(names, [RAMP[i % len(RAMP)] for i in range(len(names))]),
        (("hidden", "Hidden units", "d"), ("k", "Sweeps", "d"), ("ess", EFFECTIVE_SHARE, ".1%")),
        points=30,
        legend=Legend("top", columns=len(names), phone=3, title=title),
        height=510,
    ).of([row | {"group": str(row[group])} for row in rows])
