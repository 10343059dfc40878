"""Indirect sampling likelihood (ISL): log-likelihood of held-out data under a kernel density on samples."""

import copy
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from rbmviz import kernels, rng
from rbmviz.datasets import AnyData, as_dataset, data_of
from rbmviz.datasets.record import Dataset, once_per_dataset
from rbmviz.errors import BadInput, known_keywords, quoted
from rbmviz.rbm import RBM
from rbmviz.registry import metric
from rbmviz.support import checks

BETAS = 1.0 - np.geomspace(0.4, 0.001, 33)
"""Grid of the kernel parameter, finer towards 1. The mean kernel, slower per beta, uses every fourth."""

Kernel = Literal["binary", "mean"]
"""Centres of the kernel density: binary samples, or means between 0 and 1."""

CURVE_COUNTS = np.array(sorted({round(n) for n in np.geomspace(1, 10_000_000, 125).tolist()}))
"""Default sample counts at which a curve has a point."""

COUNTERS: tuple[tuple[int, DTypeLike], ...] = (
    (2**8, np.uint8),
    (2**16, np.uint16),
    (2**32, np.uint32),
    (2**63, np.int64),
)
"""Counter types and the samples in a bin at which they overflow; histograms are most of a panel's memory."""

COLUMNS_AT_A_TIME = 32
"""Histograms grow by this many columns, up to the largest distance so far, which in trained models is far
below the number of units."""

PENDING: dict[Kernel, int] = {"binary": 4096, "mean": 256}
"""Samples collected before they are scored, by kernel. Packed binary samples fit the level-2 cache. Rounding
makes sums of "mean" depend on how samples are grouped, so the grouping must not depend on how they arrive."""

GROUPS = 100
"""Maximum number of random groups of test points, of equal size up to one point. Their mean log densities
give the error of a difference between two runs; see ``paired_error``."""

COUNTERS_AT_A_TIME = 100_480
"""Counters (128 points of MNIST in full width) counted before they are added to the stored histograms: small
enough that growing arrays do not fragment memory, large enough that points of few units need few calls."""

NEAR = 1e-5
"""Relative tolerance of 1 - beta within which a beta is on the grid."""


class Score(NamedTuple):
    """An ISL score.

    ``isl`` is the mean log density of the test points, in nats; ``beta`` the kernel parameter; ``n`` the
    number of samples; ``std_error`` the standard error over the test points; ``validation`` the mean over the
    validation points, NaN without any.
    """

    isl: float
    beta: float
    n: int
    std_error: float
    validation: float


def _check_betas(betas: np.ndarray) -> None:
    if betas.ndim != 1 or not (len(betas) and ((betas > 0.5) & (betas < 1)).all()):
        raise BadInput("ISL: every beta must lie between 1/2 and 1, and there must be one.")


def _one_beta(beta: float) -> float:
    number = checks.numbers("ISL: beta", beta)
    if number.ndim:
        raise BadInput(f"ISL: beta = {quoted(beta)} is not one number: give one between 1/2 and 1.")
    return float(number)


def _whole_counts(counts: Sequence[int]) -> np.ndarray:
    if not np.iterable(counts):
        raise BadInput(f"ISL: counts = {quoted(counts)} is not a sequence: give numbers of samples.")
    return np.unique(np.array([checks.whole("ISL: a count", n, 1) for n in counts], dtype=np.int64))


def _counter_type(counters: DTypeLike | None) -> np.dtype[Any]:
    types = [np.dtype(dtype) for _, dtype in COUNTERS]
    try:
        counter_type = types[0] if counters is None else np.dtype(counters)
    except TypeError:
        counter_type = None
    if counter_type not in types:
        names = ", ".join(map(str, types))
        raise BadInput(f"ISL: counters = {quoted(counters)} is not one of {names}.")
    return counter_type


@metric("isl")
class ISL:
    """Streaming ISL of one chain's samples (rates-FPCD, section 5; Desjardins et al., 2010).

    P(t) = 1/N sum_s prod_d beta^[t_d = s_d] (1 - beta)^[t_d != s_d]; the ISL is the mean of log P(t) over the
    test points.

    Parameters
    ----------
    test : uint8 (n, n_visible), or a data set, name or file
        The held-out points; of a data set its test part.
    validation : uint8 (n, n_visible), optional
        The points on which beta is chosen (default: the validation part of the data set); without them
        ``value`` and ``curve`` need a beta.
    kernel : "binary" (default) or "mean"
        Binary: the kernel above on samples of 0 and 1. It depends only on Hamming distances; their histograms
        are kept, so that a value for any beta takes one pass over the bins. Mean: the samples are means p,
        and the kernel parameter is lambda + (1 - 2 lambda) p with lambda = 1 - beta; this takes a matrix
        product per beta and is hundreds of times slower.
    betas : sequence of float, optional
        Grid between 1/2 and 1 from which beta is chosen, in any order (default ``BETAS``).
    counters : dtype, optional
        Smallest type of the counters in the histograms: uint8 (the default) takes least memory, uint32 is
        quickest. Scores are the same.

    Raises
    ------
    BadInput
        If shapes, types or values do not fit, or the test part is empty.
    """

    def __init__(
        self,
        test: AnyData,
        validation: ArrayLike | None = None,
        *,
        kernel: Kernel = "binary",
        betas: Sequence[float] | None = None,
        counters: DTypeLike | None = None,
    ) -> None:
        if isinstance(test, str | Path | Dataset):
            parts = as_dataset(test, held_out=True)
            test, validation = parts.test, parts.validation if validation is None else validation
        test = checks.bits("ISL: test", test, None, 0)
        if not len(test):
            raise BadInput("ISL: the test part is empty; give at least one test point.")
        rows = checks.numbers("ISL: validation", test[:0] if validation is None else validation)
        validation = checks.bits(
            "ISL: validation", rows if rows.shape[:1] != (0,) else test[:0], test.shape[1], 0
        )
        if kernel not in ("binary", "mean"):
            raise BadInput(f"ISL: kernel = {quoted(kernel)} is not one of binary, mean.")
        default = BETAS if kernel == "binary" else BETAS[::4]
        self.betas = checks.numbers("ISL: betas", default if betas is None else betas).astype(np.float64)
        _check_betas(self.betas)
        self._n_test, self._width, self._kernel = len(test), test.shape[1], kernel
        self._counters = _counter_type(counters)
        # Data sets are sorted by class or by writer: random groups differ only by chance.
        self._order = rng.generator(0, "isl groups").permutation(len(test))
        groups = min(GROUPS, len(test))
        self._group_starts = np.arange(groups) * len(test) // groups
        points = np.concatenate([test, validation])
        if kernel == "binary":
            self._packed = kernels.hamming.pack(points)
        else:
            self._rows = points.astype(np.float32)
        self._clear()

    def _clear(self) -> None:
        """Forget all samples."""
        self.n = self._n_pending = 0
        if self._kernel == "binary":
            # Points are counted part by part; each part has its own histograms.
            self._points_at_a_time = max(COUNTERS_AT_A_TIME // (self._width + 1), 1)
            parts = [self._packed[at : at + self._points_at_a_time] for at in self._begins()]
            self._histograms = [np.zeros((len(points), 0), self._counters) for points in parts]
            self._largest = [0] * len(parts)  # bound on the bins of each part
            self._pending = np.zeros((PENDING["binary"], -(-self._width // 8)), np.uint8)
            self._start = len(self.betas) // 2  # where the search for the best beta begins
        else:
            self._sums = np.full((len(self._rows), len(self.betas)), -np.inf)
            self._pending = np.zeros((PENDING["mean"], self._width), np.float32)

    def without_samples(self) -> Self:
        """Return an ISL of the same points without samples; both share the points' memory."""
        other = copy.copy(self)
        other._clear()
        return other

    def update(self, samples: np.ndarray) -> Self:
        """Add samples and return this metric.

        Parameters
        ----------
        samples : uint8 (m, n_visible), or float (m, n_visible) for the mean kernel
            Samples of 0 and 1, or means from 0 to 1.

        Raises
        ------
        BadInput
            If shape, type or values are not as described.
        """
        samples = self._checked(samples)
        self._add(samples)
        self.n += len(samples)
        return self

    def _checked(self, samples: np.ndarray) -> np.ndarray:
        if self._kernel == "binary":
            return checks.bits("ISL: samples", samples, self._width, 0)
        samples = checks.numbers("ISL: samples", samples)
        if samples.ndim != 2 or samples.shape[1] != self._width:
            raise BadInput(f"ISL: samples: the shape is {samples.shape}; it must be (n, {self._width}).")
        if samples.size and not (samples.min() >= 0 and samples.max() <= 1):
            raise BadInput("ISL: the samples of the mean kernel must be means from 0 to 1.")
        return samples

    def _add(self, samples: np.ndarray) -> None:
        rows, at = np.packbits(samples, axis=1) if self._kernel == "binary" else samples, 0
        while at < len(rows):
            some = rows[at : at + len(self._pending) - self._n_pending]
            self._pending[self._n_pending : self._n_pending + len(some)] = some
            self._n_pending += len(some)
            at += len(some)
            if self._n_pending == len(self._pending):
                self._count()

    def _sum(self, p: np.ndarray) -> None:
        """Add means to the sums of the mean kernel."""
        for b, beta in enumerate(self.betas):
            least, range_of = np.float32(1 - beta), np.float32(2 * beta - 1)
            # Not 1 - mean, which loses digits near 1.
            off = np.log(least + range_of * (1 - p))
            on = np.log(least + range_of * p)
            logs = self._rows @ (on - off).T + off.sum(axis=1, dtype=np.float64)
            most = np.maximum(logs.max(axis=1), self._sums[:, b])
            total = np.exp(logs - most[:, None]).sum(axis=1) + np.exp(self._sums[:, b] - most)
            self._sums[:, b] = most + np.log(total)

    def _count(self) -> None:
        """Add the pending samples to the histograms, or to the sums; ``add_counts`` clears the new counts."""
        n, self._n_pending = self._n_pending, 0
        if not n:
            return
        if self._kernel == "mean":
            self._sum(self._pending[:n])
            return
        blocks = kernels.hamming.blocks_of(kernels.hamming.words_of(self._pending[:n]))
        new = np.zeros((min(self._points_at_a_time, len(self._packed)), self._width + 1), np.uint32)
        for i, at in enumerate(self._begins()):
            points = self._packed[at : at + self._points_at_a_time]
            here = new[: len(points)]
            kernels.hamming.count_distances(points, blocks, n, here)
            kept = self._with_room(i, n)
            needed = kernels.hamming.add_counts(here, n, kept)
            if needed > kept.shape[1]:  # up to the width
                columns = min(-(-needed // COLUMNS_AT_A_TIME) * COLUMNS_AT_A_TIME, self._width + 1)
                kept = np.pad(kept, ((0, 0), (0, columns - kept.shape[1])))
                kernels.hamming.add_counts(here, n, kept)
            self._histograms[i] = kept

    def _begins(self) -> range:
        """Return the index of the first point of each part."""
        return range(0, len(self._packed), self._points_at_a_time)

    def _with_room(self, i: int, n: int) -> np.ndarray:
        """Return the histograms of a part, in a type with room for n more samples in any bin."""
        kept = self._histograms[i]
        limit = next(most for most, dtype in COUNTERS if dtype == kept.dtype)
        if self._largest[i] + n >= limit:
            self._largest[i] = int(kept.max(initial=0))  # until now bounded by the number of samples
        self._largest[i] += n
        smallest = next(dtype for most, dtype in COUNTERS if self._largest[i] < most)
        return kept.astype(np.promote_types(smallest, self._counters), copy=False)

    def histograms(self) -> np.ndarray:
        """Return the number of samples at each distance from each point (binary), (points, width + 1)."""
        self._count()
        return np.concatenate(
            [np.pad(kept, ((0, 0), (0, self._width + 1 - kept.shape[1]))) for kept in self._histograms]
        )

    def _log_densities(self, betas: np.ndarray) -> np.ndarray:
        """Return log P of every test and validation point, float64 (points, betas); mean kernel: the grid."""
        self._count()
        if self._kernel == "mean":
            return self._sums - math.log(self.n)
        return self._log_mixtures(0, len(self._packed), betas)

    def _log_mixtures(self, begin: int, end: int, betas: np.ndarray) -> np.ndarray:
        """Return log P of points begin to end for the counted samples, float64 (points, betas)."""
        out, log_odds = np.empty((end - begin, len(betas))), np.log(betas) - np.log1p(-betas)
        for at, kept in zip(self._begins(), self._histograms, strict=True):
            first, last = max(at, begin), min(at + len(kept), end)
            if first < last:
                some = kept[first - at : last - at]
                some = some.astype(np.uint32) if some.itemsize < 4 else some
                kernels.hamming.log_mixtures(some, log_odds, out[first - begin : last - begin])
        return out + self._width * np.log(betas) - math.log(self.n)

    def _scores(self, betas: np.ndarray) -> list[Score]:
        """Return the score of all samples so far for each beta."""
        logs = self._log_densities(betas)
        if len(betas) == 1:
            logs = np.repeat(logs, 2, axis=1)  # numpy sums a single column in another order: see _best
        test, validation = logs[: self._n_test], logs[self._n_test :]
        columns = (
            test.mean(axis=0),
            test.std(axis=0) / math.sqrt(self._n_test),
            validation.mean(axis=0) if len(validation) else np.full(logs.shape[1], np.nan),
        )
        return [
            Score(float(isl), float(beta), self.n, float(error), float(held_out))
            for beta, isl, error, held_out in zip(betas, *columns, strict=False)
        ]

    def _best(self) -> tuple[Score, np.ndarray]:
        """Return the best of ``_scores``, bit for bit, and log P of the test points, at its beta only."""
        self._count()
        b, validation = self._search()
        test = self._log_mixtures(0, self._n_test, self.betas[[b, b]])  # two columns, as in _search
        isl, error = float(test.mean(axis=0)[0]), float(test.std(axis=0)[0]) / math.sqrt(self._n_test)
        return Score(isl, float(self.betas[b]), self.n, error, validation), test[:, 0]

    def _search(self) -> tuple[int, float]:
        """Return the index of the first best beta on the validation part, and log P there.

        With x = log(beta / (1 - beta)), log P is A(x) - width log(1 + exp(-x)) up to a constant, and A, the
        log of a sum of exp(-d x), is convex. Its chord bounds A between two tried betas; betas whose bound is
        below the best are skipped.
        """
        x = np.log(self.betas) - np.log1p(-self.betas)
        concave = self._width * np.log(self.betas)
        last, means = len(x) - 1, np.full(len(x), np.nan)
        order = np.argsort(x, kind="stable")
        start = int(np.flatnonzero(order == self._start)[0])
        tried = order[np.unique(np.clip([0, start - 1, start, start + 1, last], 0, last))]
        while len(tried):
            if len(tried) == 1:
                tried = np.repeat(tried, 2)  # numpy sums a single column in another order
            logs = self._log_mixtures(self._n_test, len(self._packed), self.betas[tried])
            means[tried] = logs.mean(axis=0)
            best = np.nanmax(means)
            evaluated = order[~np.isnan(means[order])]
            chord = np.interp(x, x[evaluated], (means - concave)[evaluated]) + concave
            # Rounding must not hide a beta that is as good.
            may = np.isnan(means) & (chord >= best - 1e-9 * max(abs(best), 1.0))
            # Between two tried neighbours, take the most promising beta.
            gap = np.searchsorted(x[evaluated], x)
            tried = np.array(
                [max(np.flatnonzero(may & (gap == g)), key=chord.__getitem__) for g in np.unique(gap[may])],
                int,
            )
        self._start = int(np.nanargmax(means))
        return self._start, float(means[self._start])

    def value(self, beta: float | None = None) -> Score:
        """Return the ISL of all samples so far.

        Parameters
        ----------
        beta : float, optional
            Kernel parameter (default: the best on the validation part).

        Raises
        ------
        BadInput
            Before the first sample; if beta is None and there is no validation part; for the mean kernel, if
            beta is not on the grid; for the binary kernel, if beta is not between 1/2 and 1.
        """
        if self.n == 0:
            raise BadInput("ISL: there are no samples yet.")
        if beta is None and self._kernel == "binary" and self._n_test < len(self._packed):
            return self._best()[0]
        if beta is None:
            if self._n_test == len(self._packed if self._kernel == "binary" else self._rows):
                raise BadInput("ISL: there is no validation part to choose beta on; give one, or a beta.")
            return max(self._scores(self.betas), key=lambda score: score.validation)
        if self._kernel == "binary":
            betas = np.array([_one_beta(beta)])
            _check_betas(betas)
            return self._scores(betas)[0]
        off = np.abs(self.betas - _one_beta(beta))
        b = int(off.argmin())
        if not off[b] <= NEAR * (1 - self.betas[b]):
            raise BadInput(f"ISL: beta = {beta} is not on the grid; name it in betas.")
        return self._scores(self.betas)[b]

    def value_by_group(self) -> tuple[Score, np.ndarray]:
        """Return ``value()``, and the mean log density of each group of test points.

        Two ISLs of the same test points have the same groups, at most ``GROUPS``, which gives the error of
        their difference: see ``paired_error``.

        Returns
        -------
        score : Score
            As ``value`` returns it.
        groups : float64 (n_groups,)
            Mean log density of each group, in nats.

        Raises
        ------
        BadInput
            Before the first sample, or if there is no validation part.
        """
        if self.n and self._kernel == "binary" and self._n_test < len(self._packed):
            score, logs = self._best()
        else:
            score = self.value()
            logs = self._log_densities(self.betas)[: self._n_test, self.betas == score.beta][:, 0]
        sizes = np.diff([*self._group_starts, self._n_test])
        return score, np.add.reduceat(logs[self._order], self._group_starts) / sizes

    def curve(
        self, samples: np.ndarray, counts: Sequence[int] | None = None, beta: float | None = None
    ) -> list[Score]:
        """Add samples, and return the score at each of ``counts`` that is reached with them.

        Parameters
        ----------
        samples : uint8 or float (m, n_visible)
            See ``update``.
        counts : sequence of int, optional
            Numbers of samples (default ``CURVE_COUNTS``).
        beta : float, optional
            Kernel parameter (default: at each point the best on the validation part).

        Raises
        ------
        BadInput
            See ``update`` and ``value``.
        """
        samples = self._checked(samples)
        ends = (CURVE_COUNTS if counts is None else _whole_counts(counts)) - self.n
        *parts, rest = np.split(samples, ends[(ends > 0) & (ends <= len(samples))])
        scores = [self.update(part).value(beta) for part in parts]
        self.update(rest)
        return scores


@once_per_dataset
def _empty_isl(dataset: Dataset, kernel: Kernel, counters: DTypeLike | None, tested: bool) -> ISL:
    test = dataset.test if tested else dataset.validation[:1]
    return ISL(test, dataset.validation, kernel=kernel, counters=counters)


def empty_isl(
    dataset: Dataset, kernel: Kernel, counters: DTypeLike | None = None, tested: bool = True
) -> ISL:
    """Return an ISL without samples; all ISLs on one data set (with a test part) share the packed points.

    kernel, counters : see ``ISL``
    tested : whether the test part is scored, which takes as long as the validation part if it is as large
    """
    empty: ISL = _empty_isl(dataset, kernel, counters, tested)
    return empty.without_samples()


def paired_error(groups: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return the standard error of the difference between two ISLs of the same test points, in nats.

    Test points that are hard for one run are hard for the other; paired by groups of points, the error of the
    difference is therefore far smaller than the errors of the two values suggest. Like these, it covers the
    choice of test points, but not other runs of the chains.

    Parameters
    ----------
    groups, others : float64 (..., n_groups)
        Group values of both runs, from ``ISL.value_by_group``.

    Returns
    -------
    float64 (...)
        In nats; NaN with a single group.
    """
    n_groups = groups.shape[-1]
    if n_groups < 2:
        return np.full(groups.shape[:-1], np.nan)
    return np.asarray((groups - others).std(axis=-1, ddof=1) / math.sqrt(n_groups))


@known_keywords
def isl(
    samples: Any,
    test: AnyData | None = None,
    validation: ArrayLike | None = None,
    *,
    kernel: Kernel = "binary",
    beta: float | None = None,
) -> Score:
    """Return the ISL of samples (rates-FPCD, section 5); ``ISL`` describes the metric.

    Parameters
    ----------
    samples : Samples, or uint8 (m, n_visible), or float (m, n_visible) for the mean kernel
        Samples of 0 and 1, or means from 0 to 1.
    test : data set, name or file, or uint8 (n, n_visible), optional
        Data that are held out: of a data set beta is chosen on the validation part and the test part is
        scored, as by ``rbmviz score``. Of rows alone a tenth is taken for each of the two, see
        ``Dataset.from_arrays``. Default: the data that the samples' model was trained on.
    validation : uint8 (n, n_visible), optional
        The points on which beta is chosen; all rows of ``test`` are then scored, as with ``beta``.
    kernel : "binary" (default) or "mean"
        See ``ISL``.
    beta : float, optional
        Kernel parameter (default: the best on the validation part).

    Returns
    -------
    Score
        The ISL in nats, with beta, the number of samples and the standard error.

    Raises
    ------
    BadInput
        If shapes, types or values do not fit, the data have no test part, or there are none.

    Examples
    --------
    >>> samples = rbmviz.sample("bas_pcd", "gibbs", n=1000, seed=0)
    >>> score = rbmviz.metrics.isl(samples, "bas")
    >>> score.n, score.isl < 0, 0.5 < score.beta < 1
    (1000, True, True)
    """
    model = getattr(samples, "model", None)
    if test is None:
        if model is None:
            raise BadInput("ISL: these samples do not say their model: name the data, or give held-out rows.")
        test = data_of(model)
    elif validation is None and beta is None:
        test = as_dataset(test, "ISL: test", held_out=True)
    if kernel == "mean" and model is not None:
        samples = samples.p
    betas = [beta] if beta is not None and kernel == "mean" else None
    return ISL(test, validation, kernel=kernel, betas=betas).update(samples).value(beta)


def reference(
    train: AnyData,
    test: AnyData | None = None,
    validation: ArrayLike | None = None,
    *,
    kernel: Kernel = "binary",
    rbm: RBM | None = None,
) -> Score:
    """Return the ISL with the training set as the samples: the reference line of ISL curves (rates-FPCD).

    Samplers give means, and means score higher than rows of 0 and 1 (on USPS by 14 nats) because they are
    smooth. Compare means of samples with means of the training set: give their model.

    Parameters
    ----------
    train : data set, name or file, or uint8 (m, n_visible)
        The training set; a data set has the other parts, too.
    test, validation : uint8 (n, n_visible), optional
        See ``isl``.
    kernel : "binary" (default) or "mean"
        See ``ISL``.
    rbm : RBM, optional
        For the kernel "mean": takes E[v|h] in place of each training row, with one h drawn given the row.

    Raises
    ------
    BadInput
        If shapes, types or values do not fit, or a model is given for the binary kernel.
    """
    if isinstance(train, str | Path | Dataset):
        data = as_dataset(train, held_out=True)
        train, test = data.train, data if test is None else test
    if rbm is not None:
        if kernel != "mean":
            raise BadInput(f"reference: a model gives means, which the kernel '{kernel}' does not take.")
        g, v = rng.generator(0, "means of the training set"), np.asarray(train)
        h = g.random((len(v), rbm.n_hidden), np.float32) < rbm.mean_hidden(v)
        train = rbm.mean_visible(h.astype(np.float32))
    return isl(train, test, validation, kernel=kernel)
