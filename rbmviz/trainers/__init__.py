"""Trainers: one file an algorithm, ``cd.py`` the shortest and the one to copy.

A trainer is a frozen record of its knobs. ``init(rbm, data, seed)`` makes the state, ``step(state, n)``
advances it by n updates in place and returns where it stands; how steps are cut changes nothing.

What trainers are composed of: ``training.py`` (the loop and its update rule), ``batches.py`` (mini-batches,
Gibbs sweeps of many rows), ``parameters.py``, ``common_knobs.py``, and ``stored.py`` (what a checkpoint may
hold). The contract is ``rbmviz.testing.check_trainer``.
"""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np

from rbmviz import checks, rng
from rbmviz.budget import check_memory
from rbmviz.datasets import Dataset
from rbmviz.errors import BadInput
from rbmviz.knobs import values_of
from rbmviz.rbm import RBM, Model
from rbmviz.registry import trainers

STATS = {
    "gradient_norm": "Gradient norm",
    "weight_norm": "Weight norm",
    "reconstruction": "Reconstruction error (share of a bit)",
    "free_energy_gap": "Free energy, data - model (nats)",
}
"""Labels of the statistics that every trainer gives; a trainer's ``inner`` has those of its own.

gradient_norm is that of the last update, weight_norm that of W. reconstruction is the mean of
``|v - E[v|E[h|v]]|`` over the last mini-batch, free_energy_gap its mean free energy minus that of the last
update's samples from the model (NaN if a trainer has none): near 0 if the model looks like the data.
"""


@dataclass(frozen=True, eq=False)
class Progress:
    """Where training stands.

    Parameters
    ----------
    update : int
        Updates so far.
    rbm : RBM
        The present model; if the knob ``average`` is on, the mean of the iterates (paper UCD, algorithm 2,
        line 7), while training goes on from the last of them.
    stats : dict of float
        ``STATS`` and what the trainer adds, by name; NaN before there is a value.
    seconds : float
        Time spent in updates so far.
    iterations : int
        Number of updates of the whole schedule.
    inner_samples : dict of arrays (n,)
        Quantities of which the last update has many, by label: stopping times (UCD), log weights (pop-CD).
    warning : str
        One sentence about a problem of the last update, or empty.
    """

    update: int
    rbm: RBM
    stats: dict[str, float]
    seconds: float
    iterations: int
    inner_samples: dict[str, np.ndarray] = field(default_factory=dict)
    warning: str = ""


class Trainer(Protocol):
    """The interface of trainers: the program uses nothing else.

    Knobs that are ``live`` may change between two steps (``dataclasses.replace``) and act from the next
    update on.

    Attributes
    ----------
    name, label, paper, colour : str
        Arguments of the decorator ``registry.trainer``.
    chains : "fresh", "persistent" or "driven"
        Chains of the negative statistics: "fresh" ones begin anew at each update, "persistent" ones go on and
        need time to forget their start, "driven" ones are moved by the updates themselves.
    about : str, optional
        What the pages say of it, in whole sentences; LaTeX between dollars (default: its docstring).
    inner : dict of str
        Labels of the statistics that this trainer adds to ``STATS``, by name, the most telling one first.
    batch_size : int
        Rows of a mini-batch; 0 is 100, or all of smaller data. This and the following ones are the knobs that
        are read outside of the trainer; ``common_knobs.CommonKnobs`` has them.
    iterations : int
        Updates until a linear schedule reaches 0.
    learning_rate : float
        Learning rate of the first update.
    """

    name: ClassVar[str]
    label: ClassVar[str]
    paper: ClassVar[str]
    colour: ClassVar[str]
    chains: ClassVar[str]
    inner: ClassVar[dict[str, str]]

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
            If the data are no bits, all alike, of another width, or fewer than ``batch_size``.
        """

    def state_bytes(self, n_visible: int, n_hidden: int) -> int:
        """Return an upper bound of the bytes of the state that ``init`` makes, without the data.

        Computed without building anything, so that a state that is too large is refused before it is built.
        """

    def negative(self, state: Any, theta: Any, data: np.ndarray) -> Any:
        """Return the negative statistics of one update, and move the chains.

        Parameters
        ----------
        state : training.TrainingState
            The chains and random streams of the state move on; its parameters stay.
        theta : parameters.FixedParameters
            The state's parameters.
        data : float32 (n, n_visible)
            The mini-batch, values 0 and 1.

        Returns
        -------
        parameters.Parameters
            float32, shaped like theta: estimates of <v h'>, <v>, <h> under the model.
        """

    def step(self, state: Any, n: int) -> Progress:
        """Advance the state by n updates, in place, and return where it stands."""


def make_trainer(name: str, **knobs: Any) -> Trainer:
    """Return the trainer ``name`` with these knobs, the others at their defaults.

    Parameters
    ----------
    name : str
        One of ``list_trainers()``.
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
    return trainers.make(name, **knobs)


def list_trainers() -> list[str]:
    """Return the registered names."""
    return list(trainers)


def check_data(data: np.ndarray) -> np.ndarray:
    """Return training data as uint8 (n, n_visible).

    Raises
    ------
    BadInput
        If the data hold other values than 0 and 1, are no rows, or have rows that are all alike.
    """
    rows = checks.bits("The training data", data)
    if (rows == rows[0]).all():
        raise BadInput(f"All {len(rows)} training rows are the same: there is nothing to learn from them.")
    return rows


def initial_rbm(data: np.ndarray, n_hidden: int, seed: rng.Seed) -> RBM:
    """Return the usual start: W ~ N(0, 0.01^2), c = 0, b the log odds of the data's means.

    Parameters
    ----------
    data : uint8 (n, n_visible)
        The training rows; their means are clipped to [0.001, 0.999].
    n_hidden : int
        Hidden units.
    seed : int, SeedSequence or Generator
        W is drawn from the stream "init".
    """
    mean = np.clip(data.mean(axis=0), 0.001, 0.999)
    W = rng.generator(seed, "init").normal(0, 0.01, (data.shape[1], n_hidden))
    return RBM(W, np.log(mean / (1 - mean)), np.zeros(n_hidden))


class Training(Iterator[Progress]):
    """A training to iterate over: progress every few updates until all are done.

    Between two of them ``trainer`` may be replaced by one with other live knobs.
    """

    def __init__(self, trainer: Trainer, state: Any, seed: rng.Seed, iterations: int, every: int) -> None:
        self.trainer, self.state = trainer, state
        self._seed, self._iterations, self._every = seed, iterations, every

    def __next__(self) -> Progress:
        left = self._iterations - self.state.update
        if left < 1:
            raise StopIteration
        return self.trainer.step(self.state, min(self._every, left))

    def checkpoint(self) -> bytes:
        """Return the training as it stands; ``train(..., resume=...)`` goes on from it to the same bits."""
        from rbmviz.trainers.checkpoint import save_checkpoint  # which needs what is above

        return save_checkpoint(self.trainer, self.state, self._seed)


def train(
    dataset: Dataset | np.ndarray,
    trainer: Trainer,
    n_hidden: int = 16,
    iterations: int = 1000,
    seed: rng.Seed = 0,
    warm_start: RBM | None = None,
    every: int | None = None,
    resume: bytes | None = None,
) -> Training:
    """Train on the training part and yield progress every ``every`` updates (default: a hundredth).

    Parameters
    ----------
    dataset : Dataset, or uint8 (n, n_visible)
        Its training part, or the rows to learn from.
    trainer : Trainer
        Its knob ``iterations``, the length of a falling schedule, is set to ``iterations``.
    n_hidden, iterations, seed
        Hidden units, updates, seed.
    warm_start : RBM, optional
        Begin at these parameters (paper UCD, figure 9) instead of ``initial_rbm``.
    resume : bytes, optional
        Go on from a ``checkpoint()`` of the same training. Everything else must be as it was, but that more
        ``iterations`` may be asked for unless the schedule is linear.

    Raises
    ------
    BadInput
        If sizes do not fit, the checkpoint is of another training, or, while it runs, the parameters are
        no longer finite: the last progress is the last model that was.

    Examples
    --------
    >>> data, trainer = rbmviz.load_dataset("bas"), rbmviz.make_trainer("cd", learning_rate=0.1)
    >>> for progress in rbmviz.train(data, trainer, n_hidden=16, iterations=200, seed=0, every=100):
    ...     print(progress.update, rbmviz.metrics.log_likelihood(progress.rbm, data.train) < -3)
    100 True
    200 True
    """
    data = check_data(dataset.train if isinstance(dataset, Dataset) else dataset)
    iterations, n_hidden = checks.whole("iterations", iterations, 1), checks.whole("n_hidden", n_hidden, 1)
    if warm_start is not None and not isinstance(warm_start, RBM):
        raise BadInput(f"The warm start is a {type(warm_start).__name__}: give an RBM, of a model its rbm.")
    if warm_start is not None and warm_start.n_visible != data.shape[1]:
        raise BadInput(f"The warm start has {warm_start.n_visible} visible units, the data {data.shape[1]}.")
    every = max(iterations // 100, 1) if every is None else checks.whole("every", every, 1)
    trainer = dataclasses.replace(trainer, iterations=iterations)  # type: ignore[type-var]
    needed = trainer.state_bytes(data.shape[1], n_hidden) + 16 * data.shape[1] * n_hidden  # the first weights
    check_memory("This training", needed, "give fewer hidden units or chains")
    if resume is None:
        state = trainer.init(warm_start or initial_rbm(data, n_hidden, seed), data, seed)
    else:
        state = _resumed(resume, data, trainer, n_hidden, seed)
    return Training(trainer, state, seed, iterations, every)


def _resumed(content: bytes, data: np.ndarray, trainer: Trainer, n_hidden: int, seed: rng.Seed) -> Any:
    from rbmviz.trainers.checkpoint import load_checkpoint, seed_name

    found = load_checkpoint(content, data)
    was = {"trainer": found.trainer.name, "n_hidden": found.state.theta.W.shape[1], "seed": found.seed}
    now = {"trainer": trainer.name, "n_hidden": n_hidden, "seed": seed_name(seed)}
    if was["trainer"] == now["trainer"]:
        was, now = was | values_of(found.trainer), now | values_of(trainer)
        if now.get("schedule") != "linear":
            now["iterations"] = was["iterations"]
    for name, value in was.items():
        if value != now[name]:
            before, after = (x[0] if name == "seed" and x else x for x in (value, now[name]))
            raise BadInput(f"The checkpoint was made with {name} = {before}, not {after}: resume it so.")
    return found.state


def trained_model(dataset: Dataset, trainer: Trainer, progress: Progress, seed: int, **more: Any) -> Model:
    """Return a trained RBM as a Model: with the rates of its training set and its provenance.

    ``more`` goes into the provenance as it is: scores, reference lines, the data to score against.
    """
    meta = {
        "dataset": dataset.name,
        "scored_on": dataset.scored_on or dataset.name,
        "binarisation": dataset.binarisation,
        "source": dataset.source,
        "image_shape": list(dataset.image_shape) if dataset.image_shape else None,
        "trainer": trainer.name,
        "knobs": values_of(trainer) | {"iterations": progress.iterations},
        "seed": seed,
        "updates": progress.update,
        **more,
    }
    return Model(progress.rbm, progress.rbm.rates(dataset.train), meta)
