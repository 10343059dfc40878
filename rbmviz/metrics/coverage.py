"""Mode coverage: the classes a chain visits, its class changes, and samples unlike any data."""

import copy
from typing import NamedTuple, Self

import numpy as np

from rbmviz import kernels
from rbmviz.datasets import AnyData, as_dataset
from rbmviz.datasets.record import Dataset, once_per_dataset
from rbmviz.registry import metric
from rbmviz.support import checks

PERCENTILE = 99
"""Percentile of the distances of held-out data beyond which a sample counts as spurious."""

VISITED_SHARE = 0.01
"""Share of the samples above which a class counts as visited: a few look-alikes are no visit."""

COMPARED_EXAMPLES = 5000
"""Maximum number of training examples in live runs, sample files and sweeps; comparing with all would take
longer than sampling."""


def visited(recognised: np.ndarray, n: int) -> int:
    """Return the number of classes with more than VISITED_SHARE of ``n`` samples.

    recognised : int64 (classes,); number of samples of each class that are not spurious
    """
    return int(np.count_nonzero(recognised > VISITED_SHARE * n))


def _nearest(packed: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    index, distance = np.zeros(len(v), np.int64), np.zeros(len(v), np.int64)
    for at, block in zip(
        range(0, len(v), kernels.hamming.BLOCK_SAMPLES), kernels.hamming.pack_blocks(v), strict=True
    ):
        part = slice(at, at + block.shape[1])
        kernels.hamming.nearest(packed, block, index[part], distance[part])
    return index, distance


class _Examples(NamedTuple):
    """Packed training examples, their labels, and the bounds beyond which a sample is far or blank."""

    packed: np.ndarray
    labels: np.ndarray | None
    threshold: float
    blank_below: float


@once_per_dataset
def _examples(dataset: Dataset, most: int | None) -> _Examples:
    """Return at most ``most`` training examples, prepared once per data set and then shared."""
    total = len(dataset.train)
    chosen = np.arange(total)
    if most is not None and total > most:
        chosen = np.arange(most) * total // most
    packed = kernels.hamming.pack(dataset.train[chosen])
    labels = None if dataset.train_labels is None else dataset.train_labels[chosen]
    held_out = np.concatenate([dataset.validation, dataset.test])
    threshold = np.nan
    if len(held_out):
        threshold = float(np.percentile(_nearest(packed, held_out)[1], PERCENTILE))
    units_on = dataset.train[chosen].sum(axis=1, dtype=np.int64)
    blank_below = float(np.percentile(units_on, 100 - PERCENTILE)) / 2
    return _Examples(packed, labels, threshold, blank_below)


@metric("coverage")
class Coverage:
    """Streaming mode coverage by the nearest training example (Hamming distance; of several, the first).

    A sample belongs to the class of its nearest training example. It is *far* if it is farther from every
    example than 99 % of held-out data are. It is *blank* if fewer than half as many units are on as in the
    emptiest 1 % of the examples (MNIST: fewer than about 20 of 784 pixels). No sample is blank if the data
    contain an empty image, as Bars and Stripes do. A far or blank sample is *spurious* and visits no class:
    an empty image is close to a thin 1, but nobody would read it as a 1.

    Parameters
    ----------
    dataset : Dataset, name, file or rows
        Data with a training part. Without labels there are no classes and no switches.
    max_examples : int, optional
        Number of training examples to compare with, evenly spaced (default: all).
    n_chains : int
        Chains that the samples come from: sample t belongs to chain t mod n_chains (default 1).

    Attributes
    ----------
    packed, labels : uint64 (examples, words), int64 (examples,) or None
        The training examples that samples are compared with, packed (``hamming.pack``), and their classes.
    examples : int
        Number of these training examples.
    threshold : float
        99th percentile of the distances of held-out data (validation and test) to their nearest training
        examples, in bits. NaN without held-out data: then no sample is far.
    blank_below : float
        Half the first percentile of the number of units on in the examples.
    n : int
        Number of samples so far.
    switches : int
        Class changes between consecutive samples of one chain, summed over the chains.
    occupancy : int64 (classes,)
        Number of samples of each class, spurious ones included.
    recognised : int64 (classes,)
        Number of samples of each class that are not spurious.
    data_shares : float64 (classes,)
        Share of each class in the whole training part.

    Raises
    ------
    BadInput
        If ``max_examples`` is not a whole number from 1 up.
    """

    def __init__(self, dataset: AnyData, max_examples: int | None = None, n_chains: int = 1) -> None:
        if max_examples is not None:
            max_examples = checks.whole("Coverage: max_examples", max_examples, 1)
        dataset = as_dataset(dataset)
        self.packed, self.labels, self.threshold, self.blank_below = _examples(dataset, max_examples)
        self.examples = len(self.packed)
        self._width = dataset.train.shape[1]
        self.data_shares = np.zeros(0)
        if dataset.train_labels is not None:
            counts = np.bincount(dataset.train_labels, minlength=len(dataset.classes))
            self.data_shares = counts / len(dataset.train)
        self._n_chains = n_chains
        self._clear()

    def _clear(self) -> None:
        """Forget all samples."""
        self.occupancy = np.zeros(len(self.data_shares), np.int64)
        self.recognised = np.zeros(len(self.data_shares), np.int64)
        self.n = self.switches = self._spurious = self._blank = self._on = 0
        self._last = np.zeros(0, np.int64)  # class of the last sample of each chain, in the order of samples

    def without_samples(self) -> Self:
        """Return a Coverage of the same examples, without samples."""
        other = copy.copy(self)
        other._clear()
        return other

    def nearest(self, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the index of the nearest example and its distance in bits, both int64 (n,).

        Parameters
        ----------
        v : uint8 (n, n_visible)
            Samples of 0 and 1.

        Raises
        ------
        BadInput
            If shape, type or values are not as described.
        """
        return _nearest(self.packed, checks.bits("Coverage: the samples", v, self._width, 0))

    def kinds(self, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return classes, int64 (n,), empty without labels; which samples are blank; which are spurious."""
        index, distance = self.nearest(v)
        blank = self.is_blank(v)
        classes = np.zeros(0, np.int64) if self.labels is None else self.labels[index]
        return classes, blank, blank | (distance > self.threshold)

    def is_blank(self, v: np.ndarray) -> np.ndarray:
        """Return which samples are blank, bool (n,), of ``v``: uint8 (n, n_visible) of 0 and 1."""
        return np.asarray(v.sum(axis=1, dtype=np.int64) < self.blank_below)

    def update(self, v: np.ndarray, compare: bool = True) -> np.ndarray:
        """Add consecutive samples and return their classes.

        Parameters
        ----------
        v : uint8 (n, n_visible)
            Samples of 0 and 1.
        compare : bool
            Compare with the training examples (default True). Without, only ``blank`` and ``ink`` are known,
            in a fraction of the time; use the same value in all updates.

        Returns
        -------
        int64 (n,)
            Class of the nearest training example of each sample; empty without labels.

        Raises
        ------
        BadInput
            If shape, type or values are not as described.
        """
        self.n += len(v)
        self._on += int(v.sum(dtype=np.int64))
        if not compare:
            self._blank += int(self.is_blank(v).sum())
            return np.zeros(0, np.int64)
        classes, blank, spurious = self.kinds(v)
        self._blank += int(blank.sum())
        self._spurious += int(spurious.sum())
        if self.labels is None or not len(v):
            return np.zeros(0, np.int64)
        newest = np.concatenate([self._last, classes])
        self.switches += int((newest[self._n_chains :] != newest[: -self._n_chains]).sum())
        self._last = newest[-self._n_chains :]
        self.occupancy += np.bincount(classes, minlength=len(self.occupancy))
        self.recognised += np.bincount(classes[~spurious], minlength=len(self.recognised))
        return classes

    @property
    def shares(self) -> np.ndarray:
        """Share of the samples in each class, float64 (classes,); NaN before the first sample."""
        return self.occupancy / self.n if self.n else np.full(len(self.occupancy), np.nan)

    @property
    def visited(self) -> int:
        """Number of classes with more than 1 % of the samples; spurious samples count for no class."""
        return visited(self.recognised, self.n)

    @property
    def class_coverage(self) -> float:
        """How much of the data's classes the samples cover, from 0 to 1; NaN without samples or labels.

        Sum over the classes of the smaller of two shares: of the class among the training examples, and of
        its recognised samples among all samples. 1: every class is as frequent as in the data.
        """
        if not self.n or not len(self.recognised):
            return np.nan
        return float(np.minimum(self.recognised / self.n, self.data_shares).sum())

    @property
    def blank(self) -> float:
        """Share of blank samples, from 0 to 1; NaN before the first sample."""
        return self._blank / self.n if self.n else np.nan

    @property
    def ink(self) -> float:
        """Mean share of the units that are on, from 0 to 1; NaN before the first sample."""
        return self._on / (self.n * self._width) if self.n else np.nan

    @property
    def spurious(self) -> float:
        """Share of samples that are far or blank; NaN before samples or threshold."""
        return self._spurious / self.n if self.n and not np.isnan(self.threshold) else np.nan
