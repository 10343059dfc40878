"""Figures in the style of the app: each function returns an Altair chart.

A chart at the end of a notebook's cell is displayed, as SVG beside Vega: no script and no network is needed.
``chart.save("isl.pdf")`` writes SVG, PNG or PDF without a browser, and Altair's own methods, such as
``chart.properties(width=240)``, change it. Most functions take
one result, or several by name: ``isl({"Gibbs": a, "rates-FPCD": b})``. A name that begins with an algorithm's
name gets that algorithm's colour. Needs ``pip install "rbmviz[figures]"``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np

from rbmviz import metrics
from rbmviz.charts import Bars, Chart, ChartAxis, Curves, Legend, Rows, Style, catalogue, styled
from rbmviz.charts.ends import end_rows
from rbmviz.charts.picture import pictured
from rbmviz.charts.style import COUPLING_COLOURS, GREY, INK, colours_of_names
from rbmviz.coupling import ALGORITHM_LABELS, Pairs, meeting_time_shares
from rbmviz.datasets import AnyData, Dataset, as_dataset, data_of, load_dataset
from rbmviz.errors import BadInput, brought_by, known_keywords, quoted
from rbmviz.metrics import Kernel
from rbmviz.metrics.isl import CURVE_COUNTS, empty_isl
from rbmviz.metrics.landscape import Order, codes
from rbmviz.metrics.numbers import ISL_OF_SAMPLES, LIKELIHOOD
from rbmviz.metrics.pca import evenly, principal_plane
from rbmviz.models import training_set_score
from rbmviz.rbm import Model
from rbmviz.rbm.files import AnyModel, as_model
from rbmviz.samplers import Samples
from rbmviz.support.notebook import mosaic as tiled
from rbmviz.support.notebook import picture_shape, png_url
from rbmviz.trainers import Progress
from rbmviz.trainers.pop_cd import Population

__all__ = [
    *("autocorrelation", "compare", "ess", "filters", "isl", "landscape", "likelihood", "log_weights"),
    *("meeting_times", "mosaic", "pca", "ranks", "strip", "sweep_map", "trace"),
]

__dir__ = __all__.copy  # what an editor offers

T = TypeVar("T")
AnyDataset = AnyData | None
"""A data set, its name, its file or its rows; None: the data that the model was trained on."""
AnyRows = Samples | AnyData

CHART_WIDTH, PICTURE_WIDTH, CLASS_PIXELS, ENLARGED = 480, 42, 14, 4
"""Width of a plot, minimum width of a tile, height of a class in a strip, enlargement of pixels in files."""


def mosaic(
    samples: AnyRows | Mapping[str, AnyRows],
    image_shape: tuple[int, int] | None = None,
    *,
    n: int = 100,
    columns: int = 10,
    means: bool = False,
) -> Any:
    """Return the first n rows as pictures, in reading order, 1 black; named samples are side by side.

    Parameters
    ----------
    samples : Samples, Dataset, name or file, array (rows, units), or a mapping of names to them
        Pass ``samples[-100:]`` for the newest. For a data set, the training part is drawn.
    image_shape : (int, int), optional
        Rows and columns of a picture (default: from the model or the data set, or else square).
    n, columns : int
        Maximum number of pictures (default 100), and pictures per row (default 10).
    means : bool
        Whether the means of samples are drawn instead of the bits (default False).

    Raises
    ------
    BadInput
        If rows cannot be drawn as pictures, or Altair is not installed.

    Examples
    --------
    >>> samples = rbmviz.sample("bas_pcd", "gibbs", 100)
    >>> chart = rbmviz.plot.mosaic({"Gibbs": samples, "data": rbmviz.load_dataset("bas")})
    """
    return _finished(_altair().hconcat(*_mosaics(samples, image_shape, n, columns, means)))


def filters(model: AnyModel, *, n: int = 100, columns: int = 10) -> Any:
    """Return the weights of the first n hidden units as pictures: positive dark, negative pale.

    Parameters
    ----------
    model : Model, RBM, name, file, dict of arrays, or fitted BernoulliRBM
        Its visible units are the pixels of a picture.
    n, columns : int
        Maximum number of pictures (default 100), and pictures per row (default 10).

    Raises
    ------
    BadInput
        If the visible units do not form a picture, or Altair is not installed.

    Examples
    --------
    >>> chart = rbmviz.plot.filters("usps_fpcd", n=20)
    """
    model = as_model(model)
    shape = _shape(model.rbm.n_visible, model.meta.get("image_shape"))
    return _finished(_altair().hconcat(*_mosaics(model.rbm.W.T, shape, n, columns, False)))


def strip(samples: Samples | Mapping[str, Samples], dataset: AnyDataset = None) -> Any:
    """Return the class of each sample over time: a chain that mixes changes class often.

    Parameters
    ----------
    samples : Samples, or a mapping of names to them
        One strip each. A sample has the class of the nearest training example, or none if it is spurious
        (``metrics.Coverage``).
    dataset : Dataset, name, file or rows, optional
        Data with labels (default: the data that the model was trained on).

    Raises
    ------
    BadInput
        If the data have no labels or do not fit, or Altair is not installed.

    Examples
    --------
    >>> chart = rbmviz.plot.strip(rbmviz.sample("bas_pcd", "gibbs", 100))
    """
    named = _named(samples, Samples, "samples")
    strips = _altair().vconcat(*_strips(named, _data(dataset, named)))
    return _finished(strips.resolve_scale(color="independent"))


def isl(
    samples: Samples | Mapping[str, Samples], dataset: AnyDataset = None, *, kernel: Kernel = "binary"
) -> Any:
    """Return the ISL against the number of samples: how well the samples cover unseen data.

    The dashed line is the score of the training set itself; for means, of its means under the samples' model
    (``metrics.reference``; rates-FPCD, section 5).

    Parameters
    ----------
    samples : Samples, or a mapping of names to them
        One curve each.
    dataset : Dataset, name, file or rows, optional
        Data with a validation and a test part (default: the data that the model was trained on).
    kernel : "binary" or "mean"
        Kernels around the samples, or around their means (see ``metrics.ISL``).

    Raises
    ------
    BadInput
        If the data have no such parts or do not fit, or Altair is not installed.

    Examples
    --------
    >>> samples = {name: rbmviz.sample("bas_pcd", name, 200) for name in ("gibbs", "rates_fpcd")}
    >>> chart = rbmviz.plot.isl(samples)
    """
    named = _named(samples, Samples, "samples")
    return _finished(_isl(named, _data(dataset, named), kernel))


def likelihood(
    trainings: Model | Iterable[Progress] | Mapping[str, Model | Iterable[Progress]],
    dataset: AnyDataset = None,
    *,
    part: Literal["train", "test"] = "train",
) -> Any:
    """Return the log-likelihood of data during trainings.

    Parameters
    ----------
    trainings : Model, Training, iterable of Progress, or a mapping of names to them
        A model of ``rbmviz.fit`` has the curve of its training part in its history. A result of
        ``rbmviz.train`` is run to its end, and each progress is scored exactly.
    dataset : Dataset, name, file or rows, optional
        Data to score a training on (default: its own).
    part : "train" (default) or "test"
        Examples whose mean log-likelihood is drawn, in nats per example.

    Raises
    ------
    BadInput
        If a model has no such history, the models of a training are too large to enumerate, the data do not
        fit, or Altair is not installed.

    Examples
    --------
    >>> models = {name: rbmviz.fit("bas", name, iterations=500) for name in ("cd", "pcd")}
    >>> chart = rbmviz.plot.likelihood(models)
    """
    named: dict[str, Any] = _named(trainings, Model | Iterable, "training")  # type: ignore[arg-type]
    rows: Rows = []
    highest = -math.inf
    for name, training in named.items():
        if isinstance(training, Model):
            own = training.data
            points = _scored(name, training, dataset, part)
        else:
            given = getattr(training, "dataset", None) if dataset is None else dataset
            if given is None:
                raise BadInput("plot.likelihood: name the data, which only a training itself knows.")
            own = as_dataset(given)
            points = [
                (p.update, p.sweeps, p.seconds, metrics.log_likelihood(p.rbm, getattr(own, part), "exact"))
                for p in training
            ]
        if own is not None:
            highest = max(highest, metrics.highest_log_likelihood(getattr(own, part)))
        for update, sweeps, seconds, y in points:
            cost = {"update": update, "sweeps": sweeps, "seconds": seconds}
            rows.append(cost | {"kind": "point", "trainer": name, "x": update, "y": y, "value": y})
    is_bounded = part == "train" and math.isfinite(highest)
    levels = [(catalogue.UPPER_BOUND_LABEL, highest)] if is_bounded else []
    x = ChartAxis("x", "Updates", "linear", "~s", zero=True, ticks=8)
    curves = catalogue.training_curves(x, _styles(named), LIKELIHOOD.titled(), levels)
    labels, heights = [(name, name) for name in named], [height for _, height in levels]
    ends = end_rows(labels, rows, "trainer", catalogue.TRAINING_PLOT_HEIGHT, heights)
    return _finished(_drawn(curves.of([*rows, *ends])))


def _scored(name: str, model: Model, dataset: AnyDataset, part: str) -> list[tuple[float, ...]]:
    """Return updates, sweeps, seconds and log-likelihood of the history, where it has been scored."""
    if dataset is not None or part != "train" or "log_likelihood" not in model.history:
        raise BadInput(
            f"plot.likelihood: {name} has no such likelihood in its history: only what fit returns has one, "
            "of its training part."
        )
    columns = [model.history[key].tolist() for key in ("update", "sweeps", "seconds", "log_likelihood")]
    return [point for point in zip(*columns, strict=True) if math.isfinite(point[-1])]


def trace(samples: Samples | Mapping[str, Samples], *, n: int = 1000) -> Any:
    """Return the free energy of each sample over time, a line for each chain: a chain that sticks is flat.

    Parameters
    ----------
    samples : Samples, or a mapping of names to them
        They must know their model. At most eight chains of each are drawn.
    n : int
        Maximum number of points of a line, evenly spaced (default 1,000).

    Raises
    ------
    BadInput
        If samples do not know their model or their chains, or Altair is not installed.

    Examples
    --------
    >>> samples = {name: rbmviz.sample("bas_pcd", name, 200) for name in ("gibbs", "rates_fpcd")}
    >>> chart = rbmviz.plot.trace(samples)
    """
    rows: Rows = []
    chains = _chains(samples)
    for name, energy in chains.items():
        at = evenly(len(energy), n)
        rows += [{"series": name, "x": int(x), "y": float(y)} for x, y in zip(at, energy[at], strict=True)]
    return _lines(rows, chains, "Draws", "Free energy (nats)")


def autocorrelation(samples: Samples | Mapping[str, Samples], *, lags: int = 100) -> Any:
    """Return the autocorrelation of the free energy at each lag, averaged over chains.

    A chain that mixes soon falls to 0. One that never leaves a mode may, too.

    Parameters
    ----------
    samples : Samples, or a mapping of names to them
        They must know their model, with 8 draws of each chain or more.
    lags : int
        Maximum lag, in draws (default 100).

    Raises
    ------
    BadInput
        If samples are too few or do not know their model or their chains, or Altair is not installed.

    Examples
    --------
    >>> chart = rbmviz.plot.autocorrelation(rbmviz.sample("bas_pcd", "gibbs", 200), lags=20)
    """
    rows: Rows = []
    named = _named(samples, Samples, "samples")
    for name, run in named.items():
        values = metrics.chain_diagnostics(run).autocorrelation[: lags + 1]
        rows += [{"series": name, "x": x, "y": float(y)} for x, y in enumerate(values) if math.isfinite(y)]
    return _lines(rows, named, "Lag (draws)", "Autocorrelation of the free energy")


def ess(samples: Samples | Mapping[str, Samples], *, n: int = 20) -> Any:
    """Return the effective sample size (ESS) of the free energy against draws: straight if a chain mixes.

    Bulk ESS over all chains of a run (Vehtari et al., 2021), as in ``metrics.chain_diagnostics``.

    Parameters
    ----------
    samples : Samples, or a mapping of names to them
        They must know their model, with 8 draws of each chain or more.
    n : int
        Number of points of a line (default 20).

    Raises
    ------
    BadInput
        If samples are too few or do not know their model or their chains, or Altair is not installed.

    Examples
    --------
    >>> chart = rbmviz.plot.ess(rbmviz.sample("bas_pcd", "gibbs:n_chains=2", 200))
    """
    rows: Rows = []
    named = _named(samples, Samples, "samples")
    for name, run in named.items():
        chains = run.n_chains or 1
        for draws in np.unique(np.linspace(8, max(len(run) // chains, 8), n).astype(int)):
            size = metrics.chain_diagnostics(run[: draws * chains]).ess
            rows += [{"series": name, "x": int(draws), "y": size}] if math.isfinite(size) else []
    return _lines(rows, named, "Draws of each chain", "Effective sample size of the free energy")


def ranks(samples: Samples | Mapping[str, Samples], *, bins: int = 20) -> Any:
    """Return rank histograms of the free energy: flat at 1 if all chains have the same distribution.

    A single chain is cut into halves. Ranks are among all draws of all named samples (Vehtari et al., 2021).

    Parameters
    ----------
    samples : Samples, or a mapping of names to them
        They must know their model. At most eight chains of each are drawn.
    bins : int
        Number of bins (default 20).

    Raises
    ------
    BadInput
        If samples do not know their model or their chains, or Altair is not installed.

    Examples
    --------
    >>> chart = rbmviz.plot.ranks(rbmviz.sample("bas_pcd", "gibbs:n_chains=2", 200))
    """
    chains = _chains(samples)
    if len(chains) == 1:
        [(name, energy)] = chains.items()
        halves = np.array_split(energy, 2)
        chains = dict(zip((f"{name}, first half", f"{name}, second half"), halves, strict=True))
    values = np.concatenate([*chains.values()])
    # Equal values, as of bits that repeat, share their ranks evenly: by chance, with a fixed seed.
    order = np.lexsort((np.random.default_rng(0).random(len(values)), values))
    rank = np.empty(len(values))
    rank[order] = np.arange(len(values)) / max(len(values), 1)
    rows: Rows = []
    parts = np.split(rank, np.cumsum([len(energy) for energy in chains.values()])[:-1])
    for name, own in zip(chains, parts, strict=True):
        heights = np.histogram(own, bins, (0, 1))[0] * bins / max(len(own), 1)
        edges = [*heights, heights[-1]]  # an outline ends at its last edge
        rows += [{"series": name, "x": i / bins, "y": float(y)} for i, y in enumerate(edges)]
    return _lines(rows, chains, "Rank of the free energy among all draws", "Density", "step-after")


def meeting_times(pairs: Pairs | Mapping[str, Pairs], *, log: bool = False) -> Any:
    """Return the histogram of meeting times; the bar at the right shows the pairs that were cut off.

    Parameters
    ----------
    pairs : Pairs, or a mapping of names to them
        Results of ``rbmviz.couple`` (Qiu, Zhang, Wang, 2020).
    log : bool
        Whether shares have a logarithmic axis (default False).

    Raises
    ------
    BadInput
        If ``pairs`` are not Pairs, or Altair is not installed.

    Examples
    --------
    >>> pairs = rbmviz.couple("bas_cd1", rbmviz.load_dataset("bas").train, max_sweeps=100)
    >>> chart = rbmviz.plot.meeting_times(pairs)
    """
    named = _named(pairs, Pairs, "pairs")
    if isinstance(pairs, Pairs):
        named = {ALGORITHM_LABELS[pairs.algorithm].capitalize(): pairs}
    rows: Rows = []
    for name, coupling in named.items():
        shares = meeting_time_shares(coupling.tau, coupling.truncated, coupling.max_sweeps)
        rows += catalogue.meeting_time_rows(name, *shares, coupling.share_cut, coupling.max_sweeps)
    of_algorithms = len({coupling.algorithm for coupling in named.values()}) == len(named)
    tones = [COUPLING_COLOURS[coupling.algorithm] for coupling in named.values()] if of_algorithms else None
    most = max(len(coupling.tau) for coupling in named.values())
    return _finished(
        _drawn(catalogue.meeting_times(rows, _styles(named, tones), most, log, Legend(columns=4)))
    )


def log_weights(populations: Population | Mapping[str, Population]) -> Any:
    """Return the histogram of importance weights: the more they spread, the fewer samples count.

    Parameters
    ----------
    populations : Population, or a mapping of names to them
        Results of ``rbmviz.pop_weights``. Weights are divided by their mean, which estimates Z
        (population CD, section 3).

    Raises
    ------
    BadInput
        If ``populations`` are not Populations, or Altair is not installed.

    Examples
    --------
    >>> population = rbmviz.pop_weights("bas_cd1", rbmviz.load_dataset("bas").train)
    >>> chart = rbmviz.plot.log_weights(population)
    """
    named = _named(populations, Population, "samples")
    logs = {name: population.log_weights - population.log_z_estimate for name, population in named.items()}
    edges = np.histogram_bin_edges(np.concatenate(list(logs.values())), 40)
    rows: Rows = []
    for name, values in logs.items():
        shares = [*(np.histogram(values, edges)[0] / len(values)), 0.0]  # an outline ends at its last edge
        for x, x2, share in zip(edges, [*edges[1:], edges[-1]], shares, strict=True):
            rows.append({"population": name, "x": x, "x2": x2, "share": share, "floor": 0.0})
    title = "Log weight minus the log of the mean weight (nats)"
    legend = Legend(columns=4)
    curves = catalogue.distributions(
        _styles(named), title, "Share of samples", "population", legend=legend, height=240
    )
    return _finished(_drawn(curves.of(rows)))


def sweep_map(result: Any) -> Any:
    """Return the scores of a sweep, as ``result.plot()`` does.

    Parameters
    ----------
    result : SweepResult
        Result of ``rbmviz.sweep``.

    Raises
    ------
    BadInput
        If Altair is not installed.
    """
    return result.plot()


def landscape(
    model: AnyModel, samples: Samples | Mapping[str, Samples] | None = None, *, order: Order = "valley"
) -> Any:
    """Return -log p(v) of every state of a small model, and -log of the state's share of samples.

    Parameters
    ----------
    model : Model, RBM, name, file, dict of arrays, or fitted BernoulliRBM
        A model with at most 10 visible units.
    samples : Samples, or a mapping of names to them, optional
        Samples whose shares per state are drawn as -log; states without samples are gaps.
    order : "valley" (default), "gray" or "index"
        Order of the states, see ``metrics.landscape``; in "valley" likely states are wider.

    Raises
    ------
    BadInput
        If the model has more visible units, or Altair is not installed.

    Examples
    --------
    >>> model = rbmviz.fit("bas@3", "cd", n_hidden=4, iterations=100)
    >>> chart = rbmviz.plot.landscape(model, rbmviz.sample(model, "gibbs", 500))
    """
    model = as_model(model)
    arranged = metrics.landscape(model, order)
    named = {} if samples is None else _named(samples, Samples, "samples")
    laws = {"model": arranged.law}
    for name, run in named.items():
        laws[name] = np.bincount(codes(run.v), minlength=len(arranged.law)) / len(run)
    edges, rows = np.concatenate([[0.0], np.cumsum(arranged.width)]), []
    for name, law in laws.items():
        at = [*arranged.order, arranged.order[-1]]  # the last state ends where the plot does
        for x, state in zip(edges, at, strict=True):
            y = -math.log(law[state]) if law[state] else None
            bits = f"{state:0{model.rbm.n_visible}b}"
            rows.append({"series": name, "x": float(x), "y": y, "state": bits})
    curves = Curves(
        ChartAxis("x", "States, valley by valley" if order == "valley" else "States", names=("",)),
        ChartAxis("y", "-log p (nats)"),
        "series",
        (Style("model", GREY), *_styles(named)),
        (("series", "Of", ""), ("state", "State", ""), ("y", "-log p (nats)", ".2f")),
        line="step-after",
        legend=Legend(columns=4) if named else None,
    )
    return _finished(_drawn(curves.of(rows)))


def pca(samples: Samples | Mapping[str, Samples], dataset: AnyDataset = None, *, n: int = 500) -> Any:
    """Return samples and data in the first two principal directions of the data.

    Parameters
    ----------
    samples : Samples, or a mapping of names to them
        At most n of each, evenly spaced, are drawn over as many training examples.
    dataset : Dataset, name, file or rows, optional
        Default: the data that the model was trained on.
    n : int
        Maximum number of points of each kind (default 500).

    Raises
    ------
    BadInput
        If the data do not fit, or Altair is not installed.

    Examples
    --------
    >>> chart = rbmviz.plot.pca(rbmviz.sample("bas_pcd", "gibbs", 100))
    """
    named = _named(samples, Samples, "samples")
    data = _data(dataset, named)
    drawn = [(name, run.v[at := evenly(len(run), n)], at) for name, run in named.items()]
    chart = catalogue.plane(_styles(named), principal_plane(data).shares, Legend(columns=4))
    return _finished(_drawn(chart.of(catalogue.plane_rows(data, drawn, n))))


def compare(samples: Mapping[str, Samples] | Samples, dataset: AnyDataset = None) -> Any:
    """Return samplers side by side: their newest samples, the class of each over time, and the ISL.

    Parameters
    ----------
    samples : mapping of names to Samples, or Samples
        For a fair comparison, draw them from one model, with one seed and one start.
    dataset : Dataset, name, file or rows, optional
        Default: the data that the model was trained on.

    Raises
    ------
    BadInput
        If the data do not fit, or Altair is not installed.

    Examples
    --------
    >>> samples = {name: rbmviz.sample("bas_pcd", name, 200) for name in ("gibbs", "rates_fpcd")}
    >>> chart = rbmviz.plot.compare(samples)
    """
    alt = _altair()
    named = _named(samples, Samples, "samples")
    data = _data(dataset, named)
    columns: list[list[Any]] = [[] for _ in named]
    if data.image_shape is not None:
        newest = {name: run[-49:] for name, run in named.items()}
        columns = [[tiles] for tiles in _mosaics(newest, data.image_shape, 49, 7, False)]
    if data.classes:
        width = columns[0][0].width if columns[0] else CHART_WIDTH
        for column, drawn in zip(columns, _strips(named, data, width), strict=True):
            column.append(drawn)
    above = [alt.hconcat(*(alt.vconcat(*column) for column in columns))] if columns[0] else []
    whole = alt.vconcat(*above, _isl(named, data, "binary"))
    return _finished(whole.resolve_scale(color="independent", strokeDash="independent"))


def _altair() -> Any:
    with brought_by("figures", "A chart"):
        import altair
    return altair


def _named(results: T | Mapping[str, T], kind: type[T], name: str) -> dict[str, T]:
    """Return results by name; a single result is called ``name``."""
    named = dict(results) if isinstance(results, Mapping) else {name: results}
    for label, result in named.items():
        if not isinstance(result, kind) or isinstance(result, str):
            what = getattr(kind, "__name__", "a Model or a Training")
            raise BadInput(f"plot: {label} is {quoted(result)}; give {what}, or several by name.")
    if not named:
        raise BadInput("plot: there is nothing to draw.")
    return named


def _data(dataset: AnyDataset, named: Mapping[str, Samples]) -> Dataset:
    if dataset is not None:
        return as_dataset(dataset, held_out=True)
    model = next(iter(named.values())).model
    if model is None:
        raise BadInput("plot: these samples do not say their model: name the data.")
    return data_of(model)


def _chains(samples: Samples | Mapping[str, Samples], most: int = 8) -> dict[str, np.ndarray]:
    """Return the free energy of the draws of each chain, by a name for each."""
    chains = {}
    for name, run in _named(samples, Samples, "samples").items():
        if run.model is None:
            raise BadInput("plot: these samples do not say their model: draw them with rbmviz.sample.")
        for c, v in enumerate(run.by_chain()["v"][:most]):
            chains[name if run.n_chains == 1 else f"{name}, chain {c}"] = run.model.rbm.free_energy(v)
    return chains


def _lines(
    rows: Rows, names: Iterable[str], x: str, y: str, line: Literal["linear", "step-after"] = "linear"
) -> Any:
    """Return one line for each series; steps are heights above zero."""
    numbers = (("series", "Of", ""), ("x", x, ".4~g"), ("y", y, ".4~g"))
    axes = ChartAxis("x", x, form=",f"), ChartAxis("y", y, form="~s", zero=line == "step-after")
    curves = Curves(*axes, "series", _styles(names), numbers, line=line, legend=Legend(columns=2))
    return _finished(_drawn(curves.of(rows)))


def _styles(names: Iterable[str], tones: Sequence[str] | None = None) -> tuple[Style, ...]:
    names = list(names)
    return styled(names, tones or colours_of_names(names))


def _shape(n_visible: int, *stated: Sequence[int] | None) -> tuple[int, int]:
    shape = picture_shape(n_visible, next((shape for shape in stated if shape is not None), None))
    if shape is None:
        raise BadInput(f"plot: rows of {n_visible} units are not pictures; give their image_shape.")
    return shape


def _drawn(chart: Chart, width: float = CHART_WIDTH) -> Any:
    """Return a chart as an Altair object that can be part of other charts."""
    _altair()
    return chart.altair(width)


def _finished(chart: Any) -> Any:
    """Return a chart in the style for light paper."""
    words = {"labelColor": INK, "titleColor": INK}
    note = {"note": {"color": INK, "fill": INK}}
    title = {"color": INK, "fontSize": 12}
    chart.config = {"axis": words, "legend": words, "style": note, "title": title, "view": {"stroke": None}}
    return pictured(chart)


def _mosaics(
    samples: AnyRows | Mapping[str, AnyRows],
    image_shape: tuple[int, int] | None,
    n: int,
    columns: int,
    means: bool,
) -> list[Any]:
    alt = _altair()
    pictures = []
    for name, source in (samples if isinstance(samples, Mapping) else {"": samples}).items():
        source, stated = load_dataset(source) if isinstance(source, str | Path) else source, None
        rows = np.asarray(source)
        if isinstance(source, Samples):
            rows = source.p if means else source.v
            stated = source.model.meta.get("image_shape") if source.model else None
        elif isinstance(source, Dataset):
            rows, stated = source.train, source.image_shape
        if rows.ndim == 3:
            rows, stated = rows.reshape(len(rows), -1), rows.shape[1:]
        if rows.ndim != 2 or not len(rows):
            raise BadInput(f"plot: pictures are rows (n, units), not an array of shape {rows.shape}.")
        shape = _shape(rows.shape[1], image_shape, stated)
        tiles = tiled(rows[:n].astype(np.float64), shape, columns)
        zoom = -(-PICTURE_WIDTH // shape[1]) * min(columns, 7) / columns
        # Pixels are enlarged in the file, because picture viewers would blur them.
        png = png_url(tiles.repeat(ENLARGED, axis=0).repeat(ENLARGED, axis=1))
        size = {"width": tiles.shape[1] * zoom, "height": tiles.shape[0] * zoom}
        image = alt.Chart(alt.InlineData([{"url": png}])).mark_image(**size)
        middle = {"x": alt.value(size["width"] / 2), "y": alt.value(size["height"] / 2)}
        title = {"title": name} if name else {}
        pictures.append(image.encode(url="url:N", **middle).properties(**size, **title))
    return pictures


def _strips(named: Mapping[str, Samples], data: Dataset, width: float = CHART_WIDTH) -> list[Any]:
    if not data.classes:
        raise BadInput(f"plot.strip: {data.name or 'the data'} has no labels, so samples have no class.")
    coverage, charts = metrics.Coverage(data, metrics.coverage.COMPARED_EXAMPLES), []
    for style, run in zip(_styles(named), named.values(), strict=True):
        classes, _, spurious = coverage.kinds(run.v)
        classes = np.where(spurious, -1, classes)
        begins = np.flatnonzero(np.diff(classes, prepend=-2))
        below = len(data.classes) - 1 - classes[begins]  # the first class is on top, as in the app
        rows = [
            {"sampler": style.name, "x": int(x), "x2": int(x2), "y": int(y), "y2": int(y) + 1}
            for x, x2, y in zip(begins, [*begins[1:], len(run)], below, strict=True)
            if y < len(data.classes)
        ]
        bars = Bars(
            ChartAxis("x", "Samples", nice=False, domain=(0, max(len(run), 1))),
            ChartAxis("y", "", names=data.classes[::-1]),
            "sampler",
            (style,),
            (("sampler", "Sampler", ""), ("x", "From sample", ","), ("x2", "to", ",")),
            height=CLASS_PIXELS * len(data.classes),
            title=style.name if len(named) > 1 else "",
        )
        charts.append(_drawn(bars.of(rows), width).resolve_scale(color="independent"))
    return charts


def _isl(named: Mapping[str, Samples], data: Dataset, kernel: Kernel) -> Any:
    rows: Rows = []
    for name, run in named.items():
        counts = [*(int(n) for n in CURVE_COUNTS if n < len(run)), len(run)]
        sweeps = np.cumsum(run.info["sweeps"]) if "sweeps" in run.info else None
        for score in empty_isl(data, kernel).curve(run.p if kernel == "mean" else run.v, counts):
            point = {"kind": "point", "sampler": name, "x": score.n, "n": score.n, "n_scored": score.n}
            point |= {} if sweeps is None else {"sweeps": int(sweeps[score.n - 1])}
            rows.append(
                point | {"y": score.isl, "isl": score.isl, "std_error": score.std_error, "beta": score.beta}
            )

    def compute(data: Dataset, kernel: Kernel, model: Model) -> float:
        rbm = model.rbm if kernel == "mean" else None
        return metrics.reference(data.train, data.test, data.validation, kernel=kernel, rbm=rbm).isl

    model = next((run.model for run in named.values() if run.model is not None), None)
    line = None if model is None else training_set_score(model, data, kernel, compute)
    what = ISL_OF_SAMPLES.label + (" of means" if kernel == "mean" else "") + " (nats per test example)"
    heights = [] if line is None else [line.isl]
    ends = end_rows([(name, name) for name in named], rows, "sampler", catalogue.ISL_PLOT_HEIGHT, heights)
    curves = catalogue.isl_curves(
        ChartAxis("x", "Samples", "log", "~s", ticks=8),
        what,
        _styles(named),
        kinds=("end",),
        line=None
        if line is None
        else ("the training set as means" if line.means else "the training set itself", line.isl),
    )
    return _drawn(curves.of([*rows, *ends]))


globals().update({name: known_keywords(globals()[name]) for name in __all__})  # of every chart
