"""Choosing a setting honestly: on the validation part, by differences that are paired over seeds.

A setting is a ``setting`` on a ``model`` of a table of cells. At a point (so many samples, sweeps or seconds)
each has one score for each seed. The best setting is the one whose mean over the seeds is best on the
*validation* part. Another one is compared with it by the differences seed by seed, as both had the same
seeds and the same starts: mean, standard error over the seeds, and the interval of Student's t. The
``region`` is what cannot be told from the best at 95 %. The score of the winner is that on the *test* part,
which has chosen nothing. Errors over test points say how well a test set of this size knows a score; they
are the same for all seeds, and are never used to compare.

Only seeds that all settings have are compared, so that a sweep that is not complete yet is compared by the
seeds that are; the number stands in ``Choice.seeds``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rbmviz.sweep.plan import Unit

Columns = Mapping[str, np.ndarray]
"""A table in long form: one-dimensional arrays of one length, see ``cell.columns_of``."""

CONFIDENCE = 0.95


@dataclass(frozen=True)
class ScoredSetting:
    """One setting compared with the best one, at one point.

    Parameters
    ----------
    setting, model : str
        See the columns of tables.
    knobs : dict
        Values of the knobs along which the settings of the table differ, by name; numbers are float.
    by_seed : dict of int to float
        Scores on the validation part (or by the measure chosen), of all its seeds.
    mean, std_dev : float
        Over all its seeds; std_dev is NaN for one seed.
    difference : float
        Mean over the common seeds of its score minus that of the best setting; 0 for the best itself.
    std_error : float
        Standard error over the seeds of this paired difference; NaN with one seed.
    interval : (float, float)
        Of the difference, at 95 %, by Student's t with (seeds - 1) degrees of freedom; NaN with one seed.
    in_region : bool
        Whether it cannot be told from the best. With one seed, nothing can.
    test : float
        Mean over the seeds of the score on the test part; NaN if it is not in the table.
    test_std_dev : float
        Its standard deviation over the seeds.
    test_point_error : float
        Mean over the seeds of the standard error over test points, to be shown apart.
    blank : float
        Mean share of blank samples; NaN if it is not in the table.
    n, sweeps, seconds : float
        Mean over the seeds of what it had spent by then.
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
    test: float
    test_std_dev: float
    test_point_error: float
    blank: float
    n: float
    sweeps: float
    seconds: float


@dataclass(frozen=True)
class Choice:
    """What a sweep says at one point.

    Parameters
    ----------
    effort, point
        Where the settings were compared: after ``point`` samples, sweeps or seconds.
    by : str
        The measure that was compared.
    seeds : tuple of int
        Seeds that all settings have.
    settings : tuple of ScoredSetting
        All settings that have reached the point, the best first, then by their means.
    not_reached : int
        Number of settings of the table that have not reached the point with any seed.
    border : tuple of str
        A sentence for each axis on whose border the best setting lies, though its knob goes further.
    """

    effort: Unit
    point: float
    by: str
    seeds: tuple[int, ...]
    settings: tuple[ScoredSetting, ...]
    not_reached: int
    border: tuple[str, ...]

    @property
    def best(self) -> ScoredSetting:
        """The setting with the best mean; ``region`` says which others are as good for all one knows."""
        return self.settings[0]

    @property
    def region(self) -> tuple[ScoredSetting, ...]:
        """The settings that cannot be told from the best, the best included."""
        return tuple(one for one in self.settings if one.in_region)


def select(columns: Columns, **values: object) -> dict[str, np.ndarray]:
    """Return the rows of a table whose columns have these values: ``select(table, model="bas_pcd")``."""
    keep = np.ones(len(next(iter(columns.values()))), bool)
    for name, value in values.items():
        keep &= np.asarray(columns[name] == value)
    return {name: column[keep] for name, column in columns.items()}


def compare(
    columns: Columns,
    point: float | None = None,
    effort: Unit = "samples",
    by: str = "isl_validation",
    test: str = "isl_test",
) -> Choice:
    """Compare all settings of a table at one point, and choose one.

    Parameters
    ----------
    columns : Columns
        Cells of one data set; rows of several models or samplers are settings side by side (``select`` takes
        some of them).
    point : float, optional
        After so many samples, sweeps or seconds (default: the last point that all settings have reached).
        Between two points of a curve, scores are read off linearly in the logarithm of the effort.
    effort : "samples", "updates", "sweeps" or "seconds"
        What is equal at the point; samples of a sampler and updates of a trainer are the column ``n``.
    by : str
        Measure that chooses (default the ISL of the validation part).
    test : str
        Measure of the winner that is reported (default the ISL of the test part).

    Raises
    ------
    BadInput
        If the table has no such column, no setting has reached the point, or the cells differ in data.
    """
    raise NotImplementedError


def points(columns: Columns, effort: Unit = "samples") -> np.ndarray:
    """Return the points at which all settings of a table can be compared, float64, rising.

    For samples these are the points of the curves, for sweeps and seconds about as many, log-spaced.
    """
    raise NotImplementedError


def telling_point(columns: Columns, effort: Unit = "samples", by: str = "isl_validation") -> float | None:
    """Return the point, from 10 samples on, at which the settings differ most; None before it is known.

    That is where the standard deviation of the settings' means, minus what chance over the seeds adds to it,
    is largest; settings of mostly blank samples do not count, because they are bad at any point. It needs two
    settings and two seeds.
    """
    raise NotImplementedError


@dataclass(frozen=True)
class Robustness:
    """One setting of a sampler over several trained models.

    Parameters
    ----------
    setting : str
        The sampler with its knobs.
    models : tuple of str
        The models.
    by_model : tuple of float
        Mean score over the seeds on each model, in the same order.
    errors : tuple of float
        Standard error of each over the seeds; NaN for one seed.
    mean : float
        Mean over the models.
    spread : float
        Standard deviation over the models: how much the sampler depends on how a model was trained; NaN for
        one model.
    worst : str
        The model with the lowest score.
    """

    setting: str
    models: tuple[str, ...]
    by_model: tuple[float, ...]
    errors: tuple[float, ...]
    mean: float
    spread: float
    worst: str


def robustness(
    columns: Columns, point: float | None = None, effort: Unit = "samples", by: str = "isl_test"
) -> list[Robustness]:
    """Return each setting's mean and spread over trained models, the best mean first.

    The paper on rates-FPCD (end of section 5.1) asks how much a sampler's result depends on the training of
    the model. The same settings, seeds and starts are run on models of the same data trained by different
    algorithms. Settings that lack one of the table's models are left out.

    Shipped models (``pretrained/``) of one data set: MNIST by CD-1, PCD and FPCD (``mnist_cd1``,
    ``mnist_pcd``, ``mnist_fpcd``), USPS by CD-1 and FPCD (``usps_cd1``, ``usps_fpcd``), reviews by CD-1 and
    FPCD, Bars and Stripes and the 16 modes by CD-1, PCD, population CD and UCD (``bas_cd1``, ``bas_pcd``,
    ``bas_pop_cd``, ``bas_ucd``; ``modes_...``). There are none of MNIST or USPS by population CD or UCD:
    'rbmviz train' makes them, and files of models can be swept as well.

    Parameters
    ----------
    columns : Columns
        Cells on two or more models of one data set.
    point, effort
        As in ``compare``.
    by : str
        Measure that is reported (default the ISL of the test part; nothing is chosen here).

    Raises
    ------
    BadInput
        If the cells are of several data sets, or of one model only.
    """
    raise NotImplementedError


def models_of_data(data: str) -> Sequence[str]:
    """Return the pretrained models that were trained on data of this name, ``mnist`` for example."""
    raise NotImplementedError
