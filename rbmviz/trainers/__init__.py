"""Trainers: one file per algorithm; to write another, copy ``cd.py``, one of the shortest.

A trainer is a frozen record of its knobs. ``init(rbm, data, seed)`` makes the state, ``step(state, n)``
advances it by n updates in place and returns the progress; how a training is divided into steps never changes
its result.

Trainers share ``training.py`` (the loop and its update rule), ``batches.py`` (mini-batches, Gibbs sweeps of
many rows), ``rbm/parameters.py``, ``common_knobs.py``, and ``checkpoint.py`` (training files). The
contract is ``rbmviz.testing.check_trainer``.
"""

from __future__ import annotations

import dataclasses
import math
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol

import numpy as np

from rbmviz import registry, rng
from rbmviz.datasets import AnyData, Dataset, as_dataset
from rbmviz.errors import BadInput, DoubtfulResult, quoted
from rbmviz.files.budget import check_state
from rbmviz.knobs import knobs_of, values_of
from rbmviz.metrics.numbers import SCORED_EXAMPLES, TRAINER_STATISTICS
from rbmviz.rbm import RBM, Model, Statistics
from rbmviz.rbm.files import AnyModel, as_rbm
from rbmviz.support import checks
from rbmviz.support.notebook import data_frame, short_repr
from rbmviz.trainers.common_knobs import CommonKnobs
from rbmviz.trainers.likelihood import LIKELIHOODS, likelihood, method_of, remarks

DEFAULT_UPDATES = 5000
"""Updates of a training that is not told how many."""

DEFAULT_HIDDEN = 16
"""Hidden units of a training that is not told how many."""

STATS = {number.name: number.titled() for number in TRAINER_STATISTICS}
"""Labels of the statistics that every trainer reports; ``Trainer.own_stats`` has the labels of a trainer's
own.

gradient_norm and weight_norm are Euclidean norms, of the gradient of the last update and of W. reconstruction
is the mean of ``|v - E[v|E[h|v]]|`` over units and rows of the last mini-batch. free_energy_gap is the mean
free energy of that mini-batch minus the mean over the samples of the last update, or NaN if the trainer draws
no samples; it is near 0 if the model looks like the data. variance_W, variance_b and variance_c are the
variance of the negative statistics of *one* chain, E|f - E f|^2 summed over the parameters of W, b and c and
estimated from the chains of the last update (paper UCD, appendix C and figure 12); the update's variance is
smaller by the number of its chains. NaN if the trainer draws no samples, unless it computes these variances
itself, as UCD does.
"""


@dataclass(frozen=True, eq=False)
class Progress:
    """The result of the updates so far.

    Parameters
    ----------
    update : int
        Updates so far.
    rbm : RBM
        The present model. If the knob ``average`` is on, it has the mean of the iterates (paper UCD,
        algorithm 2, line 7), while the updates continue from the last iterate.
    stats : dict of float
        Values of ``STATS`` and of the trainer's ``own_stats`` by name; NaN before there is a value.
    seconds : float
        Time spent in updates so far.
    iterations : int
        The trainer's knob: updates until a linear schedule reaches 0; a training may have fewer, or more.
    per_chain : dict of arrays (n,)
        Quantities with one value for each chain of the last update, by label: meeting times (UCD), log
        weights (pop-CD).
    warning : str
        One sentence about a problem of the last update, or empty.
    sweeps : int
        Sweeps of all chains together so far: 32 an update where each of 32 chains makes one. 0 if the trainer
        makes none, or does not count them.
    rates : Statistics or None
        The rates that the updates keep fixed, which the model then keeps, too; None: the model has the rates
        of its training data.
    """

    update: int
    rbm: RBM
    stats: dict[str, float]
    seconds: float
    iterations: int
    per_chain: dict[str, np.ndarray] = field(default_factory=dict)
    warning: str = ""
    sweeps: int = 0
    rates: Statistics | None = None

    __repr__ = short_repr


class Trainer(Protocol):
    """The interface of trainers: rbmviz needs nothing else.

    Knobs that are ``live`` may change between two steps (``dataclasses.replace``) and act from the next
    update on.

    Attributes
    ----------
    name, label, paper, colour : str
        Arguments of the decorator ``registry.trainer``.
    chains : "fresh", "persistent" or "driven"
        Chains of the negative statistics: "fresh" chains restart at each update, "persistent" chains continue
        and need time to forget their start, "driven" chains are persistent and run under additional
        parameters that each update moves (fast weights): without updates they say nothing about a model.
    about : str, optional
        What the pages say about it, in whole sentences; LaTeX between dollars (default: its docstring).
    equation : tuple of str, optional
        How it estimates the statistics of the model, in formulas, see ``view.formulas``.
    own_stats : dict of str
        Labels of the statistics that this trainer adds to ``STATS``, by name, the most informative first.
    share_cut : method, optional
        Takes the state and returns the share of the last update's pairs of chains that were cut off before
        they met, from 0 to 1: more than 0 biases an estimate that is unbiased otherwise.
    finished : method, optional
        Takes the state and returns whether the trainer makes no more updates; they end at the same one
        however the training is divided into steps.
    sweeps_from : "batch", "chains" or "population", optional
        Declares that ``negative`` is the mean over chains after k sweeps, from the mini-batch or from
        ``own_state``, where they end: kernels then make many updates in a call, without ``negative``.
        "population": from the mini-batch, with the weights of pop-CD, whose ``Population`` is ``own_state``.
    positive : method, optional
        Takes the state and returns the positive statistics of an update as fresh ``Parameters`` (default:
        computed from the mini-batch).
    batch_size : int
        Rows of a mini-batch; 0 means 100, or all rows if there are fewer. This knob and the following two are
        read by the program; ``common_knobs.CommonKnobs`` declares them, and others that ``training.advance``
        reads.
    iterations : int
        Updates until a linear schedule reaches 0; the updates of a training may be fewer, or more.
    learning_rate : float
        Learning rate of the first update.
    """

    name: ClassVar[str]
    label: ClassVar[str]
    paper: ClassVar[str]
    colour: ClassVar[str]
    chains: ClassVar[str]
    own_stats: ClassVar[dict[str, str]]

    @property
    def batch_size(self) -> int: ...  # noqa: D102
    @property
    def iterations(self) -> int: ...  # noqa: D102
    @property
    def learning_rate(self) -> float: ...  # noqa: D102

    def init(self, rbm: RBM, data: np.ndarray, seed: rng.Seed) -> Any:
        """Return the state of a training, a ``training.TrainingState``.

        Parameters
        ----------
        rbm : RBM
            The initial parameters.
        data : uint8 (n, n_visible)
            The training rows, values 0 and 1.
        seed : int, SeedSequence or Generator
            Same seed, same training.

        Raises
        ------
        BadInput
            If the data are not bits, all rows are equal, their width differs, or there are fewer than
            ``batch_size``.
        """

    def negative(self, state: Any, theta: Any, batch: np.ndarray) -> Any:
        """Return the negative statistics of one update, and advance the chains.

        Parameters
        ----------
        state : training.TrainingState
            Its chains and random streams are advanced in place; its parameters are not changed. Where the
            trainer draws samples, it stores them as ``state.samples``, which ``free_energy_gap`` needs. It
            adds the sweeps of all its chains to ``state.sweeps``, by which trainings are compared.
        theta : parameters.FixedParameters
            The parameters of the state, which do not change during the update.
        batch : float32 (n, n_visible)
            The mini-batch, values 0 and 1.

        Returns
        -------
        parameters.Parameters or parameters.Rows
            float32, shaped like theta: estimates of <v h'>, <v>, <h> under the model. ``batches.statistics``
            returns Rows, which an update adds to W one by one, without a matrix of their sum.
        """

    def step(self, state: Any, n: int) -> Progress:
        """Advance the state by n updates, in place, and return the progress."""


AnyTrainer = Trainer | type[Trainer] | str
"""What stands for a trainer: the trainer, its class, or its name, perhaps with knobs."""

FIT_ARGUMENTS = "n_hidden iterations seed warm_start every callback max_seconds likelihoods".split()
"""Arguments of ``fit`` and ``train`` that are no knobs."""


def make_trainer(name: AnyTrainer, **knobs: Any) -> Trainer:
    """Return the trainer ``name`` with these knobs, the others at their defaults.

    Parameters
    ----------
    name : str, Trainer or class
        One of ``list_trainers()``, perhaps with knobs: ``"cd:k=10"``; or a trainer, whose other knobs stay.
    **knobs : int, float, bool or str
        Values by name; ``rbmviz list trainers`` shows names, ranges and defaults.

    Returns
    -------
    Trainer
        A frozen record; ``dataclasses.replace`` gives one with other knobs.

    Raises
    ------
    BadInput
        If there is no such trainer or knob, or a value is out of range.

    Examples
    --------
    >>> rbmviz.make_trainer("exact", learning_rate=0.1).learning_rate
    0.1
    """
    trainer: Trainer = registry.trainers.read(name, **knobs)
    return trainer


def list_trainers() -> list[str]:
    """Return the registered names."""
    return list(registry.trainers)


def check_data(data: np.ndarray) -> np.ndarray:
    """Return training data as uint8 (n, n_visible).

    Raises
    ------
    BadInput
        If the data have values other than 0 and 1, are not two-dimensional, or all rows are equal.
    """
    rows = checks.bits("The training data", data)
    if (rows == rows[0]).all():
        raise BadInput(f"All {len(rows)} training rows are the same: there is nothing to learn from them.")
    return rows


def initial_rbm(data: np.ndarray, n_hidden: int, seed: rng.Seed, trainer: Trainer | None = None) -> RBM:
    """Return the parameters that a training begins with: W ~ N(0, 0.01^2), c = 0, b the data's log odds.

    Parameters
    ----------
    data : uint8 (n, n_visible)
        The training rows; their means are clipped to [0.001, 0.999].
    n_hidden : int
        Hidden units.
    seed : int, SeedSequence or Generator
        W, and then random biases b and c, are drawn from the stream "init".
    trainer : Trainer, optional
        Its knobs ``initial_scale``, ``initial_law`` and ``initial_biases`` give another start; defaults
        apply to a trainer without them.
    """
    (_, m), generator = data.shape, rng.generator(seed, "init")
    knobs = knobs_of(CommonKnobs)

    def value(name: str) -> Any:
        return getattr(trainer, name, knobs[name].default)

    scale, law, biases = value("initial_scale"), value("initial_law"), value("initial_biases")

    def draw(*shape: int) -> np.ndarray:
        return (
            generator.uniform(-scale, scale, shape) if law == "uniform" else generator.normal(0, scale, shape)
        )

    W = draw(m, n_hidden)
    if biases == "random":
        return RBM(W, draw(m), draw(n_hidden))
    if biases == "zero":
        return RBM(W, np.zeros(m), np.zeros(n_hidden))
    mean = np.clip(data.mean(axis=0), 0.001, 0.999)
    return RBM(W, np.log(mean / (1 - mean)), np.zeros(n_hidden))


def finished(trainer: Trainer, state: Any) -> bool:
    """Return whether a trainer has stopped by its own criterion; see ``Trainer``."""
    return hasattr(trainer, "finished") and bool(trainer.finished(state))


class Training(Iterator[Progress]):
    """An iterator over the progress of a training, every few updates until the last.

    ``len(training)`` is the number of progress records that are still to come, or the most if the trainer
    itself may end them.

    Attributes
    ----------
    trainer : Trainer
        May be replaced by one with other live knobs before the next progress is asked for.
    state : training.TrainingState
        The state, advanced in place.
    dataset : Dataset
        What is trained on.
    """

    def __init__(
        self, dataset: Dataset, trainer: Trainer, state: Any, seed: rng.Seed, iterations: int, every: int
    ) -> None:
        self.trainer, self.state = trainer, state
        self.dataset, self._seed, self._iterations, self._every = dataset, seed, iterations, every
        self._last: Progress | None = None
        self._records: list[dict[str, float]] = []
        self._part = 0

    def __repr__(self) -> str:
        return f"Training({self.trainer.name}, update {self.state.update:,} of {self._iterations:,})"

    def __len__(self) -> int:
        return max(-(-(self._iterations - self.state.update) // self._every), 0)

    def __next__(self) -> Progress:
        left = self._iterations - self.state.update
        if left < 1 or finished(self.trainer, self.state):
            raise StopIteration
        last = self._last = self.trainer.step(self.state, min(self._every, left))
        self._records.append(
            {"update": last.update, "seconds": last.seconds, "sweeps": last.sweeps, **last.stats}
        )
        return last

    @property
    def history(self) -> dict[str, np.ndarray]:
        """``update``, ``seconds``, ``sweeps``, statistics, and scores of each progress, arrays (records,)."""
        names = dict.fromkeys(name for record in self._records for name in record)
        return {name: np.array([record.get(name, math.nan) for record in self._records]) for name in names}

    def score(self, most: int | None = SCORED_EXAMPLES, *, often: int = 0) -> None:
        """Add ``trainers.likelihood.likelihood`` of the training part to the newest record of the history.

        most : maximum number of examples where it is exact (default 2,000); None: all
        often : score only if another of so many equal parts of the training has ended; 0: in any case
        """
        if self._last is None or "log_likelihood" in self._records[-1]:
            return
        part, before = (self._last.update * often // self._iterations, self._part)
        if not often or part > before:
            self._part, seed = part, self._seed if isinstance(self._seed, int) else 0
            self._records[-1] |= likelihood(self.dataset.train, self._last.rbm, seed, most)

    def history_frame(self) -> Any:
        """Return the history as a pandas DataFrame, one row per progress."""
        return data_frame(self.history)

    @property
    def model(self) -> Model:
        """The model of the last progress, with the rates of the training data, metadata and the history."""
        last = self._last or self.trainer.step(self.state, 0)
        seed = int(self._seed) if isinstance(self._seed, int | np.integer) else None
        model = trained_model(self.dataset, self.trainer, last, seed)
        return replace(model, history=self.history, data=self.dataset)

    def checkpoint(self) -> bytes:
        """Return the training as bytes, from which ``train(..., resume=...)`` continues to the same bits."""
        from rbmviz.trainers.checkpoint import save_checkpoint  # it imports this module

        return save_checkpoint(self.trainer, self.state, self._seed)


def train(
    dataset: AnyData,
    trainer: AnyTrainer = "pcd",
    n_hidden: int | None = None,
    iterations: int = DEFAULT_UPDATES,
    seed: rng.Seed = 0,
    warm_start: AnyModel | None = None,
    every: int | None = None,
    resume: bytes | None = None,
    **knobs: Any,
) -> Training:
    """Train an RBM: return an iterator over the progress.

    Parameters
    ----------
    dataset : Dataset, name, file, or rows (n, n_visible)
        The data set, whose training part is used, or the training rows themselves, 0 and 1: an array or a
        data frame.
    trainer : Trainer, class or str
        A name may have knobs, ``"cd:k=10"`` (default PCD). Its knob ``iterations``, at which a linear
        schedule reaches 0, is set to the number of updates.
    n_hidden : int, optional
        Hidden units (default 16, or as many as the warm start has).
    iterations : int
        Number of updates (default 5000): a linear schedule reaches 0 after the last one.
    seed : int, SeedSequence or Generator
        Same seed, same training (default 0).
    warm_start : Model, RBM, name or file, optional
        The initial parameters (paper UCD, figure 9); default: ``initial_rbm``.
    every : int, optional
        Updates from one progress to the next; default: a hundredth of all.
    resume : bytes, optional
        A ``checkpoint()`` of the same training, from which to continue. All other arguments must be as they
        were; only ``iterations`` may be larger, unless the schedule is linear, or smaller, but not below the
        updates that have been made.
    **knobs : int, float, bool or str
        Knobs of the trainer, such as ``learning_rate``; ``rbmviz list trainers`` shows them.

    Returns
    -------
    Training
        Each ``next`` makes ``every`` updates and returns a ``Progress``. ``model`` and ``history`` cover the
        updates so far.

    Raises
    ------
    BadInput
        If sizes do not fit, or the checkpoint is of another training; while iterating, if the parameters are
        no longer finite: the last progress is from before that, and its model is finite.

    Examples
    --------
    >>> for progress in rbmviz.train("bas", "cd", iterations=200, every=100, learning_rate=0.1):
    ...     print(progress.update, rbmviz.metrics.log_likelihood(progress.rbm, "bas") < -3)
    100 True
    200 True
    """
    dataset = as_dataset(dataset, "The training data")
    data = dataset.train
    iterations = checks.whole("iterations", iterations, 1)
    start = None if warm_start is None else as_rbm(warm_start)
    if start is not None and start.n_visible != data.shape[1]:
        raise BadInput(f"The warm start has {start.n_visible} visible units, the data {data.shape[1]}.")
    if n_hidden is None:
        n_hidden = start.n_hidden if start else DEFAULT_HIDDEN
    n_hidden = checks.whole("n_hidden", n_hidden, 1)
    if start is not None and n_hidden != start.n_hidden:
        raise BadInput(f"The warm start has {start.n_hidden} hidden units; leave n_hidden = {n_hidden} out.")
    every = max(iterations // 100, 1) if every is None else checks.whole("every", every, 1)
    given = registry.trainers.read(trainer, arguments=FIT_ARGUMENTS, **knobs)
    used: Trainer = dataclasses.replace(given, iterations=iterations)
    check_state("This training", used, data.shape[1], n_hidden, "give fewer hidden units or chains")
    if resume is None:
        state = used.init(start or initial_rbm(data, n_hidden, seed, used), data, seed)
    else:
        state = _resumed(resume, data, used, n_hidden, seed)
    if state.update > iterations:
        raise BadInput(
            f"The checkpoint has made {state.update:,} updates already, more than iterations = {iterations}."
        )
    return Training(dataset, used, state, seed, iterations, every)


def _resumed(content: bytes, data: np.ndarray, trainer: Trainer, n_hidden: int, seed: rng.Seed) -> Any:
    from rbmviz.trainers.checkpoint import load_checkpoint, seed_name

    checkpoint = load_checkpoint(content, data)
    was = {
        "trainer": checkpoint.trainer.name,
        "n_hidden": checkpoint.state.theta.W.shape[1],
        "seed": checkpoint.seed,
    }
    now = {"trainer": trainer.name, "n_hidden": n_hidden, "seed": seed_name(seed)}
    if was["trainer"] == now["trainer"]:
        was, now = was | values_of(checkpoint.trainer), now | values_of(trainer)
        if now.get("schedule") != "linear":
            now["iterations"] = was["iterations"]
    for name, value in was.items():
        if value != now[name]:
            # Of a seed ([entropy, spawn key], see ``seed_name``) the message has the entropy only.
            before, after = (x[0] if name == "seed" and x else x for x in (value, now[name]))
            raise BadInput(f"The checkpoint was made with {name} = {before}, not {after}: resume with that.")
    return checkpoint.state


def fit(
    x: AnyData,
    trainer: AnyTrainer = "pcd",
    n_hidden: int | None = None,
    iterations: int = DEFAULT_UPDATES,
    seed: rng.Seed = 0,
    *,
    warm_start: AnyModel | None = None,
    every: int | None = None,
    callback: Callable[[Progress], object] | None = None,
    max_seconds: float = math.inf,
    progress_bar: bool | None = None,
    likelihoods: bool = True,
    **knobs: Any,
) -> Model:
    """Train an RBM to its end, and return it with its rates, its history and its data.

    Parameters
    ----------
    x, trainer, n_hidden, iterations, seed, warm_start, every
        As for ``train``, which returns the same training step by step.
    callback : callable, optional
        Is called with every ``Progress``; the training ends if it returns True.
    max_seconds : float
        The training ends at the first progress after this time, the callback's time included (default: no
        limit).
    progress_bar : bool, optional
        Whether a bar is drawn (default: on a terminal, and in a notebook with ipywidgets).
    likelihoods : bool
        Whether the history has the log-likelihood of the training part (default True): 10 times, exactly, up
        to 16 units in the smaller layer, or 6 times by AIS. It takes a tenth to a third more processor time
        (784 visible units, 5,000 updates).
    **knobs : int, float, bool or str
        Knobs of the trainer, such as ``learning_rate``; ``rbmviz list trainers`` shows them.

    Returns
    -------
    Model
        The model with rates, metadata, ``history``: a dict of arrays with a value for each progress, and
        ``data``, the default data of scores, starts and sweeps.

    Raises
    ------
    BadInput
        As ``train``, and if the training diverges.

    Warns
    -----
    DoubtfulResult
        If the model is not above independent units, or has fallen below its best, as ``rbmviz train`` says.

    Examples
    --------
    >>> model = rbmviz.fit("bas", "pcd", n_hidden=16, iterations=200, learning_rate=0.1)
    >>> model
    Model(16 visible, 16 hidden units, bas, pcd, 200 updates, with rates)
    >>> model.history["update"][-1], model.history["log_likelihood"][-1] > -12
    (np.int64(200), np.True_)
    """
    from tqdm.auto import tqdm  # imports IPython's display where there is one

    if not max_seconds > 0:
        raise BadInput(f"max_seconds = {quoted(max_seconds)} is not valid: give a number above 0.")
    steps = train(x, trainer, n_hidden, iterations, seed, warm_start, every, **knobs)
    often = LIKELIHOODS[method_of(*steps.state.theta.W.shape)]
    begin = time.perf_counter()
    disable = None if progress_bar is None else not progress_bar
    with tqdm(total=iterations, unit=" updates", desc=steps.trainer.label, disable=disable) as bar:
        for progress in steps:
            bar.update(progress.update - bar.n)
            if likelihoods:
                steps.score(often=often)
            if callback is not None and callback(progress) is True:
                break
            if time.perf_counter() - begin > max_seconds:
                break
    if likelihoods:
        steps.score()
        for remark in remarks(steps.history):
            warnings.warn(remark, DoubtfulResult, stacklevel=2)
    return steps.model


def trained_model(
    dataset: AnyData, trainer: AnyTrainer, progress: Progress, seed: int | None = None, **more: Any
) -> Model:
    """Return a trained RBM as a Model, with its provenance and its rates.

    The rates are the means of the statistics over the training set, with E[h|v] for h, of this model; a model
    with fixed rates keeps them, and ``polished`` says by how many updates.

    dataset, trainer, seed : those of the training
    progress : where the training is
    more : further keys of the provenance, such as ``scores`` and ``reference``
    """
    dataset, trainer = as_dataset(dataset), make_trainer(trainer)
    meta = {
        "dataset": dataset.name or None,
        "scored_on": dataset.scored_on or dataset.name or None,
        "binarisation": dataset.binarisation,
        "source": dataset.source,
        "image_shape": list(dataset.image_shape) if dataset.image_shape else None,
        "trainer": trainer.name,
        "knobs": values_of(trainer) | {"iterations": progress.iterations},
        "seed": seed,
        "updates": progress.update,
        **({} if progress.rates is None else {"polished": {"updates": progress.update}}),
        **more,
    }
    return Model(progress.rbm, progress.rates or progress.rbm.rates(dataset.train), meta)
