"""Choose a setting honestly: on the validation part, by differences paired over seeds.

A setting is an algorithm with all its knobs on one model (columns ``setting`` and ``model`` of a table).
At a point (a number of samples, Gibbs sweeps or seconds), each setting has one score per seed. The best
setting has the best mean over the seeds on the *validation* part. The other settings are compared with it by
paired differences over the seeds that both have, since equal seeds have equal starts: mean, standard error
over the seeds, and Student's t interval.

The ``region`` has the settings that are not told apart from the best. It is judged once for the set, not
setting by setting: in the order of their means, it is the largest set that a two-way analysis of variance
(settings and seeds) does not tell apart at 95 %. For two settings this is the paired t test. So of two
settings the better one is never left out, whatever the luck of its own standard error.

Not told apart is not equal. A setting is *tied* with the best if the whole interval of its difference lies
within a margin, ``MARGIN`` of the best score unless given: a test of equivalence by its confidence interval
(Schuirmann, 1987). A setting of the region that is not tied *cannot be told yet*: more seeds would decide.

Chains that start at data start at validation examples, so in short runs a sampler that has not left them
scores high there, but not on the test part. The winner's score is reported on the *test* part, which was
not used to choose. Errors over test points show the precision of scores on a test set of this size; all seeds
share these errors, so they are never used to compare.

Settings may have different numbers of seeds, because a sweep is not finished or was a race. Means are then
compared after the effects of the seeds, by least squares, so that no setting gains by the luck of its seeds.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy  # scipy.special loads when first used, which takes a third of a second

from rbmviz.errors import BadInput, quoted, unknown
from rbmviz.knobs import Knob, knobs_of
from rbmviz.metrics.effort import EFFORT_POINTS, Unit
from rbmviz.sweeps.measures import CHOOSING, REPORTED, measures
from rbmviz.sweeps.plan import TABLES
from rbmviz.sweeps.tables import SPENT, Columns, frame_of

CONFIDENCE = 0.95

MARGIN = 0.01
"""Default margin of ties, as a share of the best mean score."""

SCORE_ROUNDING = 1e-12
"""Maximum rounding error of a difference, as a share of the largest score."""


@dataclass(frozen=True)
class ScoredSetting:
    """One setting compared with the best one, at one point.

    Parameters
    ----------
    setting, model : str
        As in the columns of tables.
    knobs : dict
        Values, by name, of the knobs in which the table's settings differ; numbers are float.
    by_seed : dict of int to float
        Score on the validation part (or by the chosen measure) for each of its seeds.
    mean, std_dev : float
        Mean and standard deviation over all its seeds; std_dev is NaN for one seed.
    difference : float
        Its score minus the best setting's, averaged over the seeds of both; 0 for the best setting.
    std_error : float
        Standard error of this paired difference over the seeds; NaN for one seed.
    interval : (float, float)
        95 % interval of the difference, by Student's t with (seeds - 1) degrees of freedom; NaN for one seed.
    in_region : bool
        Whether the setting is not told apart from the best: see the module. With one seed, all are.
    tied : bool
        Whether the interval lies within the margin, as that of the best itself does.
    test : float
        Score on the test part, averaged over the seeds; NaN if it is not in the table.
    test_std_dev : float
        Standard deviation of this score over the seeds.
    test_point_error : float
        Standard error over test points, averaged over the seeds; never used to compare.
    blank : float
        Mean share of blank samples; NaN if it is not in the table.
    n, sweeps, seconds : float
        Samples or updates, Gibbs sweeps and seconds spent up to the point, averaged over the seeds.
    """

    setting: str
    model: str
    knobs: Mapping[str, float | str]
    by_seed: Mapping[int, float]
    mean: float
    std_dev: float
    difference: float
    std_error: float
    interval: tuple[float, float]
    in_region: bool
    tied: bool
    test: float
    test_std_dev: float
    test_point_error: float
    blank: float
    n: float
    sweeps: float
    seconds: float

    @property
    def unsure(self) -> bool:
        """Whether it cannot be told yet if the setting is as good as the best."""
        return self.in_region and not self.tied


@dataclass(frozen=True)
class Choice:
    """All settings compared at one point.

    Parameters
    ----------
    effort, point
        Point of comparison: after ``point`` samples, updates, Gibbs sweeps or seconds (``effort``).
    by : str
        The compared measure.
    margin : float
        Largest difference to the best that counts as none; see ``compare``.
    seeds : tuple of int
        Seeds that all settings have.
    settings : tuple of ScoredSetting
        All settings that have reached the point: first the best, then the others in order of their means.
    not_reached : int
        Number of settings in the table that have not reached the point with any seed.
    border : tuple of str
        A sentence for each axis that should be longer: the region is at one end of it, and the knob goes
        further.
    """

    effort: Unit
    point: float
    by: str
    margin: float
    seeds: tuple[int, ...]
    settings: tuple[ScoredSetting, ...]
    not_reached: int
    border: tuple[str, ...]

    @property
    def best(self) -> ScoredSetting:
        """The setting with the best mean; ``region`` also has those not told apart from it."""
        return self.settings[0]

    @property
    def region(self) -> tuple[ScoredSetting, ...]:
        """The settings that are not told apart from the best at 95 %, including the best."""
        return tuple(setting for setting in self.settings if setting.in_region)

    @property
    def tied(self) -> tuple[ScoredSetting, ...]:
        """The settings that differ from the best by no more than the margin at 95 %, including the best."""
        return tuple(setting for setting in self.settings if setting.tied)

    @property
    def unsure(self) -> tuple[ScoredSetting, ...]:
        """The settings of which it cannot be told yet whether they are as good as the best."""
        return tuple(setting for setting in self.settings if setting.unsure)

    @property
    def importance(self) -> dict[str, float]:
        """Share of each knob's main effect in the variance of the differences over the grid, 0 to 1.

        The functional analysis of variance of Hutter, Hoos and Leyton-Brown (2014), on the grid itself; what
        is left is interaction, and chance. Empty unless two or more knobs vary over a full grid.
        """
        alike = alike_of(self.settings)
        tried = {name: {each.knobs[name] for each in alike} for name in self.best.knobs}
        y = np.array([each.difference for each in alike])
        if len(tried) < 2 or len(y) != math.prod(map(len, tried.values())) or not 0 < y.var() < math.inf:
            return {}
        return {
            name: float(
                np.var([y[[each.knobs[name] == x for each in alike]].mean() for x in values]) / y.var()
            )
            for name, values in tried.items()
        }


class _Grid:
    """The cells of a table by setting and seed, with their measures at any point."""

    def __init__(self, columns: Columns, effort: Unit) -> None:
        frame = _checked(columns, effort)
        frame["x"] = frame[COLUMN_OF[effort]].astype(np.float64)
        # Of two cells with the same setting and seed, the longer counts.
        ends = frame.groupby([*_OF_CELL, "identity"], sort=False)["x"].max().reset_index()
        longest = ends.loc[ends.groupby(_OF_CELL, sort=False)["x"].idxmax(), "identity"]
        by_cell = frame[frame["identity"].isin(set(longest))].groupby(_OF_CELL, sort=False)
        # Sorted, so that a cell is a slice of each column: tables of thousands of cells are compared live.
        frame = by_cell.obj.assign(cell=by_cell.ngroup()).sort_values(["cell", "x"], ignore_index=True)
        self.frame, first = frame, frame.drop_duplicates(["setting", "model"])
        self.settings: list[tuple[str, str]] = list(zip(first["setting"], first["model"], strict=True))
        self.seeds = sorted(set(frame["seed"].tolist()))
        places = {setting: i for i, setting in enumerate(self.settings)}
        scores = frame[[name for name in frame if name in measures]]
        dead = scores.isna().all(axis=1).to_numpy() & (scores.shape[1] > 0)
        n, efforts = frame["n"].to_numpy(), frame["x"].to_numpy()
        self.cells, end = [], 0
        for (setting, model, seed), size in by_cell.size().items():
            begin, end = end, end + size
            x = efforts[begin:end].copy()
            if COLUMN_OF[effort] != "n":
                _spend_on(x, n[begin:end], dead[begin:end])
            self.cells.append((places[setting, model], self.seeds.index(seed), x, slice(begin, end)))

    def last(self) -> float:
        """Return the last point that all cells have reached."""
        return float(min(x[-1] for _, _, x, _ in self.cells))

    def at(self, points: np.ndarray, name: str) -> np.ndarray:
        """Return a measure at each point, float64 (settings, seeds, points); NaN where it is not known.

        Scores are interpolated linearly in the logarithm of the effort, and costs linearly in the effort
        itself, so that n is 100 after 100 samples. A missing column gives NaN; n is a number wherever a cell
        has reached the point.
        """
        values = np.full((len(self.settings), len(self.seeds), len(points)), np.nan)
        if name not in self.frame:
            return values
        column = self.frame[name].to_numpy(np.float64)
        for i, j, efforts, rows in self.cells:
            x, where, y = efforts, points, column[rows]
            if name not in SPENT:
                x, where = np.log(np.maximum(x, 1e-12)), np.log(points)
            values[i, j] = np.interp(where, x, y, left=np.nan, right=np.nan)
            # A point of the curve keeps its own value, even if a neighbour has none.
            place = np.minimum(np.searchsorted(efforts, points), len(efforts) - 1)
            exact = efforts[place] == points
            values[i, j, exact] = y[place[exact]]
        return values

    def knobs(self) -> list[dict[str, float | str]]:
        """Return for each setting the values of the knobs in which its algorithm's settings differ."""
        names = [name for name in self.frame if str(name).startswith("knob_")]
        first = self.frame.drop_duplicates(["setting", "model"])
        differing: list[dict[str, float | str]] = [{} for _ in self.settings]
        for _, own in first.assign(place=range(len(first))).groupby("algorithm", sort=False):
            for name in names:
                if own[name].nunique(dropna=False) > 1:
                    for place, value in zip(own["place"], own[name], strict=True):
                        differing[place][name[5:]] = value if isinstance(value, str) else float(value)
        return differing


def _checked(columns: Columns, effort: Unit) -> Any:
    """Return a table as a data frame; BadInput if it lacks a column, or its cells cannot be compared."""
    if effort not in COLUMN_OF:
        raise unknown("unit of effort", str(effort), COLUMN_OF)
    lacking = [
        name for name in (*_OF_CELL, "identity", "algorithm", "n", COLUMN_OF[effort]) if name not in columns
    ]
    if lacking:
        raise BadInput(f"The table has no column {lacking[0]}: give what a sweep has measured.")
    frame = frame_of(columns)
    if not len(frame):
        raise BadInput("The table has no rows: no cell of the sweep has ended yet.")
    for name, what in _SAME.items():
        values = np.unique(frame[name]) if name in frame else np.zeros(0)
        if len(values) > 1:
            raise BadInput(
                f"The cells differ in their {what} ({values[0]} and {values[1]}): compare equal ones."
            )
    source = [name for name in _SOURCE if name in frame]
    several = frame.groupby(["setting", "model"], sort=False)[source].nunique().max(axis=1) > 1
    if several.any():
        setting, model = several[several].index[0]
        raise BadInput(
            f"The table has results of {setting} on '{model}' from two models of that name, or from two "
            "versions of the code: select one model_digest and one version."
        )
    return frame


def _spend_on(x: np.ndarray, n: np.ndarray, dead: np.ndarray) -> None:
    """Extrapolate the cost x of a diverged cell, in which n grows after the end, but not sweeps and seconds.

    Otherwise, the whole table would be compared at the point where one cell diverged.
    """
    live = np.flatnonzero(~dead)
    after = np.flatnonzero(n > n[live[-1]]) if len(live) else np.arange(len(x))
    spent = x[live[-1]] if len(live) else 0.0
    if len(after) and x[after[-1]] <= spent:
        x[after] = n[after] * (spent / n[live[-1]] if len(live) else 1.0)


_OF_CELL = ["setting", "model", "seed"]
"""Columns of which a cell has its own values."""

_SAME = {"data_digest": "data", "kernel": "kernel of the ISL", "n_hidden": "hidden units", "start": "starts"}
"""Columns that must have the same value in all rows, and their names in messages."""

_SOURCE = ("model_digest", "version")
"""Columns that must have the same value in all cells of a setting on a model."""

COLUMN_OF: Mapping[Unit, str] = {"samples": "n", "updates": "n", "sweeps": "sweeps", "seconds": "seconds"}
"""The column that counts a unit."""


def _measure(columns: Columns, name: str, wanted: Sequence[str] = CHOOSING) -> str:
    """Return the name of a measure in the table; for "", the first that is wanted and has a number."""
    if name and (name not in columns or np.asarray(columns[name]).dtype.kind not in "fi"):
        raise unknown("measure of this table", name, [column for column in columns if column in measures])
    there = [measure for measure in wanted if measure in columns]
    finite = [measure for measure in there if np.isfinite(columns[measure]).any()]
    return name or (finite or there or wanted)[0]


def undirected(name: str) -> str:
    """Return a caveat for comparing by a measure that has no better direction, or ""."""
    if name not in measures or measures[name].best:
        return ""
    return f"Neither high nor low values of '{name}' are better: the highest comes first, and counts as best."


def _sign(name: str) -> int:
    return -1 if name in measures and measures[name].best == "low" else 1


def _without_seeds(x: np.ndarray) -> tuple[np.ndarray, float, int]:
    """Return settings' means after the effects of seeds, the sum of squares that is left, its freedom.

    x : (settings, seeds), NaN where there is no score; a setting without any has the mean NaN
    """
    has, middle = np.isfinite(x), np.nanmean(x)
    n, y = np.maximum(has.sum(axis=1, keepdims=True), 1), np.where(has, x - middle, 0.0)
    # The normal equations of the seeds' effects, from which those of the settings are eliminated.
    shared = np.diag(has.sum(axis=0)) - has.T @ (has / n)
    seeds, _, rank, _ = np.linalg.lstsq(shared, (y - has * (y.sum(axis=1, keepdims=True) / n)).sum(axis=0))
    means = np.where(has.any(axis=1), (y - has * seeds).sum(axis=1) / n[:, 0], np.nan)
    rest = np.where(has, y - means[:, None] - seeds, 0.0)
    return means + middle, float((rest**2).sum()), int(has.sum() - has.any(axis=1).sum() - rank)


def _common(reached: np.ndarray) -> np.ndarray:
    """Return the seeds that have reached a point in every setting that has reached it with any."""
    some = reached[reached.any(axis=1)]
    return np.asarray(some.all(axis=0)) if len(some) else np.zeros(reached.shape[1], bool)


def _mean(x: np.ndarray) -> float:
    return float(x.mean()) if len(x) else math.nan


def _deviation(x: np.ndarray) -> float:
    return float(x.std(ddof=1)) if len(x) > 1 else math.nan


def compare(
    columns: Columns,
    point: float | None = None,
    effort: Unit = "samples",
    by: str = "",
    test: str = "",
    *,
    margin: float | None = None,
    confidence: float = CONFIDENCE,
) -> Choice:
    """Compare all settings of a table at one point, and choose one.

    Parameters
    ----------
    columns : mapping of names to arrays (rows,)
        Cells on one data set, with any number of models and samplers (``select`` returns a subset).
    point : float, optional
        Number of samples, Gibbs sweeps or seconds (default: the last point that all settings have reached).
        Between two points of a curve, scores are interpolated linearly in the logarithm of the effort.
    effort : "samples", "updates", "sweeps" (Gibbs sweeps) or "seconds"
        Unit of the point; the column ``n`` holds a sampler's samples or a trainer's updates.
    by : str
        Measure used to choose (default: ISL, for trainers log-likelihood, on the validation part). If neither
        high nor low values are better (``Measure.best``), the highest counts as the best; see ``undirected``.
    test : str
        Measure to report (default: ISL or log-likelihood on the test part).
    margin : float, optional
        Largest difference to the best that counts as none, in the measure's unit, at least 0 (default: 1 % of
        the best mean score).
    confidence : float
        Confidence of the intervals and of the region (default 0.95).

    Raises
    ------
    BadInput
        If the table has no such column, no setting has reached the point, or the cells differ in data.

    Examples
    --------
    >>> from rbmviz.sweeps import Axis, Budget, CellRun, SweepPlan, cells, compare, table
    >>> eps = Axis("eps", (0.0001, 0.1))
    >>> plan = SweepPlan(
    ...     algorithms=["rates_fpcd"], axes=[eps], models=["bas_pcd"], budget=Budget("samples", 500)
    ... )
    >>> choice = compare(table(CellRun(cell).finish() for cell in cells(plan)))
    >>> choice.best.knobs, len(choice.region)
    ({'eps': 0.1}, 1)
    """
    if margin is not None and not 0 <= margin < math.inf:
        raise BadInput(f"The margin {quoted(margin)} is not a number from 0 on.")
    grid = _Grid(columns, effort)
    by, test = _measure(columns, by), _measure(columns, test, REPORTED)
    point = grid.last() if point is None else float(point)
    names = (by, test, f"{test}_error", "blank", *SPENT)
    at = {name: grid.at(np.array([point]), name)[..., 0] for name in names}
    reached, scores = np.isfinite(at["n"]), at[by]
    if not reached.any():
        where = f"{point:,g} {effort}, or is scored there"
        raise BadInput(f"No setting of the sweep has reached {where}: choose another point.")
    if not np.isfinite(scores).any():
        raise BadInput(
            f"The sweep has no number for '{by}' at {point:,g} {effort}: choose by another measure."
        )
    common = _common(reached)
    means, *_ = _without_seeds(scores)
    means[(reached & ~np.isfinite(scores)).any(axis=1)] = np.nan  # diverged with a seed: not the best
    ranked = np.where(np.isfinite(means), _sign(by) * means, -np.inf)
    if not np.isfinite(ranked).any():
        raise BadInput(
            f"Every setting lacks a number of '{by}' with some seed at {point:,g} {effort}: choose by "
            "another measure, or choose a smaller point."
        )
    best = int(ranked.argmax())
    rounding = SCORE_ROUNDING * float(np.abs(scores[np.isfinite(scores)]).max())
    in_region = _region(best, ranked, scores, rounding, confidence)
    margin = MARGIN * abs(float(means[best])) if margin is None else margin
    there = np.flatnonzero(reached.any(axis=1)).tolist()
    knobs, scored = grid.knobs(), []
    for i in sorted(there, key=lambda i: (i != best, -ranked[i])):
        has, pair = reached[i], _paired(scores[i], scores[best], reached[i] & reached[best], confidence)
        mean_of = {name: _mean(values[i, has]) for name, values in at.items()}
        by_seed = zip(grid.seeds, scores[i].tolist(), has, strict=True)
        scored.append(
            ScoredSetting(
                setting=grid.settings[i][0],
                model=grid.settings[i][1],
                knobs=knobs[i],
                by_seed={seed: score for seed, score, ok in by_seed if ok},
                mean=mean_of[by],
                std_dev=_deviation(scores[i, has]),
                **pair,
                in_region=bool(in_region[i]),
                tied=i == best or max(map(abs, pair["interval"])) <= margin + rounding,
                test=mean_of[test],
                test_std_dev=_deviation(at[test][i, has]),
                test_point_error=mean_of[f"{test}_error"],
                blank=mean_of["blank"],
                n=mean_of["n"],
                sweeps=mean_of["sweeps"],
                seconds=mean_of["seconds"],
            )
        )
    seeds = tuple(seed for seed, ok in zip(grid.seeds, common, strict=True) if ok)
    not_reached = len(grid.settings) - len(there)
    return Choice(effort, point, by, margin, seeds, tuple(scored), not_reached, tuple(_border(scored)))


def _paired(scores: np.ndarray, best: np.ndarray, seeds: np.ndarray, confidence: float) -> dict[str, Any]:
    """Return the difference to the best setting over the seeds of both, its error, and its interval."""
    pair = scores[seeds] - best[seeds]
    difference, error = _mean(pair), _deviation(pair) / math.sqrt(max(len(pair), 1))
    half = math.nan
    if len(pair) > 1:
        half = float(scipy.special.stdtrit(len(pair) - 1, (1 + confidence) / 2)) * error
    interval = difference - half, difference + half
    return {"difference": difference, "std_error": error, "interval": interval}


def _variances(x: np.ndarray, confidence: float) -> tuple[float, float]:
    """Return the variance of settings' means, and up to which chance explains it.

    Chance over the seeds is the residual variance, without effects of settings and seeds, of a mean, times
    the quantile of F. x : (settings, seeds), NaN where there is no score
    """
    x = x[:, np.isfinite(x).any(axis=0)]
    has, (_, rest, free) = np.isfinite(x), _without_seeds(x)
    by_seeds = np.nansum((x - np.nanmean(x, axis=0)) ** 2)  # left by the seeds alone
    more, each = has.sum() - has.any(axis=0).sum() - free, has.sum() / len(x)
    if not free or not more:
        return 0.0, math.inf  # nothing tells them apart
    among = max(float(by_seeds - rest), 0.0) / more / each
    return among, rest / free / each * float(scipy.special.fdtri(more, free, confidence))


def _region(
    best: int, ranked: np.ndarray, scores: np.ndarray, rounding: float, confidence: float
) -> np.ndarray:
    """Return which settings are not told apart from the best, bool (settings,); see the module.

    ranked : mean of each setting, the larger the better; -inf if it has none
    """
    inside = np.zeros(len(ranked), bool)
    inside[best] = True
    chosen = [best]
    for i in np.argsort(-ranked, kind="stable"):
        if i == best or ranked[i] == -math.inf:
            continue
        if np.isfinite(scores[[best, i]]).all(axis=0).sum() < 2:
            inside[i] = True  # nothing tells it apart
            continue
        chosen.append(i)
        among, limit = _variances(scores[chosen], confidence)
        if np.ptp(ranked[chosen]) <= rounding or among <= limit:
            inside[chosen] = True
    return inside


def _border(scored: Sequence[ScoredSetting]) -> Iterator[str]:
    """Yield a sentence for each numeric axis at whose end all settings of the region are."""
    alike = alike_of(scored)
    for name, value in scored[0].knobs.items():
        tried = sorted({x for each in alike if isinstance(x := each.knobs.get(name), float)})
        good = {each.knobs.get(name) for each in alike if each.in_region}
        knob = knob_of(scored[0], name)
        if len(tried) < 2 or good != {value} or knob is None:
            continue
        for end, which, free in ((tried[0], "smallest", knob.lo), (tried[-1], "largest", knob.hi)):
            if value == end and (free < end if which == "smallest" else free > end):
                yield (
                    f"The best {knob.label.lower()} ({name}), {value:g}, is the {which} tried, and the knob "
                    f"goes to {free:g}: extend the axis."
                )


def alike_of(scored: Sequence[ScoredSetting]) -> list[ScoredSetting]:
    """Return the settings of the best one's algorithm on its model."""
    algorithm, model = scored[0].setting.partition(":")[0], scored[0].model
    return [each for each in scored if (each.setting.partition(":")[0], each.model) == (algorithm, model)]


def knob_of(scored: ScoredSetting, name: str) -> Knob | None:
    """Return a knob of a setting's algorithm; None if the algorithm is not registered."""
    algorithm = scored.setting.partition(":")[0]
    table: Any = next((table for table in TABLES.values() if algorithm in list(table)), {})
    return knobs_of(table[algorithm])[name] if table else None


def telling_point(columns: Columns, effort: Unit = "samples", by: str = "") -> float | None:
    """Return the point, from 10 samples on, at which the settings differ most; None if unknown.

    At each point the scores form a table of settings and seeds, as in a two-way analysis of variance. The
    part that chance over the seeds explains (a mean's residual variance times the quantile of F, at 99 %
    because many points are tried) is subtracted from the variance of the settings' means. The point with the
    largest difference is returned if that is positive. Settings with mostly blank samples do not count,
    because they are bad at any point. At least two settings and two seeds are needed.
    Parameters and errors: see ``compare``.
    """
    grid = _Grid(columns, effort)
    by = _measure(columns, by)
    last, first = grid.last(), max(float(x[0]) for _, _, x, _ in grid.cells)
    usual = np.array(EFFORT_POINTS[effort], np.float64)
    where = np.unique([*usual[(usual >= first) & (usual < last)], last])
    scores, blank, n = grid.at(where, by), grid.at(where, "blank"), grid.at(where, "n")
    spread = np.full(len(where), -np.inf)
    for p in range(len(where)):
        reached = np.isfinite(n[..., p])
        if not n[..., p][reached].min(initial=np.inf) >= LEAST_SAMPLES:
            continue
        common = _common(reached)
        x, empty = scores[..., p][:, common], blank[..., p][:, common]
        x = x[np.isfinite(x).all(axis=1) & ~(empty.mean(axis=1) > MOSTLY_BLANK)] if common.any() else x
        if min(x.shape) > 1:
            among, limit = _variances(x, TELLING)
            spread[p] = among - limit
    best = int(spread.argmax()) if len(spread) else 0
    return float(where[best]) if len(spread) and spread[best] > 0 else None


LEAST_SAMPLES, MOSTLY_BLANK, TELLING = 10, 0.5, 0.99
"""Minimum number of samples; maximum share of blank samples; quantile of F. See ``telling_point``."""


@dataclass(frozen=True)
class Robustness:
    """One setting of a sampler over several trained models.

    Parameters
    ----------
    setting : str
        The sampler with its knobs.
    models : tuple of str
        The models.
    seeds : tuple of int
        Seeds with a score on every model; the other attributes use only these seeds.
    by_model : tuple of float
        Score on each model, averaged over the seeds, in the order of ``models``.
    errors : tuple of float
        Standard error of each score over the seeds; NaN for one seed.
    mean : float
        Mean over the models.
    spread : float
        Standard deviation over the models, which shows how much the sampler depends on a model's training;
        NaN for one model.
    worst : str
        The model with the worst mean score: the lowest, or the highest if low is best.
    """

    setting: str
    models: tuple[str, ...]
    seeds: tuple[int, ...]
    by_model: tuple[float, ...]
    errors: tuple[float, ...]
    mean: float
    spread: float
    worst: str


def robustness(
    columns: Columns, point: float | None = None, effort: Unit = "samples", by: str = ""
) -> list[Robustness]:
    """Return each setting's mean and spread over trained models, with the best mean first.

    The paper on rates-FPCD (end of section 5.1) asks how much a sampler's result depends on the model's
    training. The same settings, seeds and starts are run on models of the same data trained by different
    algorithms. A setting is judged by the seeds with a score on every model; without any, it is left out.

    ``rbmviz list models`` shows which pretrained models share a data set (``mnist_cd1``, ``mnist_pcd``,
    ``mnist_fpcd``). ``rbmviz train`` trains others; models in files can be swept, too.

    Parameters
    ----------
    columns : mapping of names to arrays (rows,)
        Cells on two or more models of one data set.
    point, effort : optional
        As in ``compare``.
    by : str
        Measure to report (default: the ISL on the test part, since nothing is chosen here).

    Raises
    ------
    BadInput
        If the cells use several data sets, or only one model, or if no setting has a score on every model at
        this point.
    """
    grid = _Grid(columns, effort)
    by = _measure(columns, by, REPORTED)
    models = list(dict.fromkeys(model for _, model in grid.settings))
    if len(models) < 2:
        raise BadInput("All cells are on one model: a sweep over robustness needs two or more models.")
    point = grid.last() if point is None else float(point)
    scores = dict(zip(grid.settings, grid.at(np.array([point]), by)[..., 0], strict=True))
    settings = []
    for setting in dict.fromkeys(setting for setting, _ in grid.settings):
        if not all((setting, model) in scores for model in models):
            continue
        rows = np.array([scores[setting, model] for model in models])
        common = np.isfinite(rows).all(axis=0)
        if not common.any():
            continue
        means = rows[:, common].mean(axis=1)
        worst = int((_sign(by) * means).argmin())
        errors = tuple(_deviation(row) / math.sqrt(len(row)) for row in rows[:, common])
        settings.append(
            Robustness(
                setting,
                tuple(models),
                tuple(seed for seed, ok in zip(grid.seeds, common, strict=True) if ok),
                tuple(means.tolist()),
                errors,
                float(means.mean()),
                _deviation(means),
                models[worst],
            )
        )
    if not settings:
        raise BadInput(
            f"No setting has a number of '{by}' on each of the {len(models)} models with the same seed at "
            f"{point:,g} {effort}: choose a smaller point, or another measure."
        )
    return sorted(settings, key=lambda setting: -_sign(by) * setting.mean)
