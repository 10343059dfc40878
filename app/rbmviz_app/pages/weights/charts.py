"""Charts of the populations of the Weights page."""

from collections.abc import Sequence

import numpy as np

from rbmviz.charts import Chart, ChartAxis, Curves, Legend, Level, Rows, Style, styled
from rbmviz.charts.style import GREY, colours_of_slots, named_apart
from rbmviz.metrics.numbers import NUMBERS
from rbmviz.session import WeightSnapshot
from rbmviz.trainers.batches import USUAL_BATCH
from rbmviz.trainers.pop_cd import PopCD

Named = Sequence[tuple[str, WeightSnapshot]]


def population_titles(algorithms: Sequence[PopCD]) -> list[str]:
    """Name populations by sweeps and proposal, plus any other distinguishing knobs."""
    sizes = {algorithm.n_chains for algorithm in algorithms}
    mixtures = {algorithm.mixture for algorithm in algorithms if algorithm.proposal == "mixture"}
    names = []
    for algorithm in algorithms:
        name = f"pop-CD-{algorithm.k}"
        if algorithm.proposal == "mixture" and len(mixtures) > 1:
            name += f", mixture {algorithm.mixture}"
        elif algorithm.proposal != "visible":
            name += f", {algorithm.proposal}"
        size = f"{algorithm.n_chains:,}" if algorithm.n_chains else f"at most {USUAL_BATCH}"
        names.append(name + (f", {size} samples" if len(sizes) > 1 else ""))
    return named_apart(names)


def _styles(named: Named, slots: Sequence[int], *more: Style) -> tuple[Style, ...]:
    """Return the styles of all series, in the panels' colours and dashes, and those of reference lines."""
    tones = colours_of_slots(slots or range(len(named)))
    return (*styled([name for name, _ in named], tones, slots), *more)


EFFECTIVE_SHARE = NUMBERS["weights"]["ess_share"].in_words

EQUAL = Style("all weights equal (CD)", GREY, (5, 4))


def shares_chart(named: Named, slots: Sequence[int] = ()) -> Chart:
    """Return the chart of the heaviest samples' share of the total weight."""
    rows: Rows = [
        {"panel": name, "samples": x, "held": y}
        for name, snapshot in named
        if snapshot.summary is not None
        for x, y in zip(snapshot.summary.samples, snapshot.summary.held, strict=True)
    ]
    least = min((row["samples"] for row in rows), default=0.01)
    rows += [{"panel": EQUAL.name, "samples": x, "held": x} for x in np.geomspace(least, 1, 40)]
    return Curves(
        ChartAxis("samples", "Share of all samples so far, heaviest first", "log", "%"),
        ChartAxis("held", "Share of the weight", form="%", domain=(0, 1)),
        "panel",
        _styles(named, slots, EQUAL),
        legend=Legend(),
    ).of(rows)


def size_rows(named: Named) -> Rows:
    """Return effective sample sizes by batch size, with two standard errors.

    A size with a single batch has no error and is left out here, but not from files.
    """
    return [
        {
            "panel": name,
            "size": size.size,
            "ess": size.ess,
            "share": size.ess / size.size,
            "low": max(size.ess - 2 * size.std_error, 1.0) / size.size,
            "high": min(size.ess + 2 * size.std_error, size.size) / size.size,
            "batches": size.batches,
        }
        for name, snapshot in named
        for size in (snapshot.summary.sizes if snapshot.summary else ())
        if size.batches > 1
    ]


def sizes_chart(named: Named, slots: Sequence[int] = ()) -> Chart:
    """Return the chart of the effective share of a batch against batch size."""
    rows = size_rows(named)
    most = max((row["size"] for row in rows), default=128)
    rows += [{"panel": EQUAL.name, "size": x, "ess": x, "share": 1, "low": 1, "high": 1} for x in (1, most)]
    return Curves(
        ChartAxis("size", "Samples in a batch", "log"),
        ChartAxis("share", f"{EFFECTIVE_SHARE} of the batch", form="%", domain=(0, 1)),
        "panel",
        _styles(named, slots, EQUAL),
        (("ess", "are worth", ".4~g"), ("batches", "Batches", ",")),
        band=("low", "high"),
        legend=Legend(),
    ).of(rows)


def estimate_rows(named: Named) -> Rows:
    """Return the estimates of log Z with bands of two standard errors."""
    rows = []
    for name, snapshot in named:
        points = list(snapshot.estimates)
        if snapshot.newest is not None and points and snapshot.newest.n > points[-1].n:
            points.append(snapshot.newest)
        rows += [
            {
                "panel": name,
                "n": point.n,
                "log_z": point.log_z,
                "std_error": point.std_error,
                "low": point.log_z - 2 * np.nan_to_num(point.std_error),
                "high": point.log_z + 2 * np.nan_to_num(point.std_error),
            }
            for point in points
        ]
    return rows


def log_z_chart(named: Named, slots: Sequence[int] = ()) -> Chart:
    """Return the chart of the log mean weight against the number of weights, beside the true value."""
    rows = estimate_rows(named)
    truth = next((snapshot.reference for _, snapshot in named if snapshot.reference is not None), None)
    levels: tuple[Level, ...] = ()
    if truth is not None:
        ends = truth.log_z - 2 * truth.std_error, truth.log_z + 2 * truth.std_error
        label = "log Z, exact" if truth.method == "exact" else "log Z by AIS, ± 2 errors"
        levels = (Level(truth.log_z, label, band=ends),)
    return Curves(
        ChartAxis("n", "Samples weighed", "log"),
        ChartAxis("log_z", NUMBERS["weights"]["truth"].titled()),
        "panel",
        _styles(named, slots),
        (("std_error", "Standard error", ".3f"),),
        band=("low", "high"),
        levels=levels,
        legend=Legend(),
    ).of(rows)
