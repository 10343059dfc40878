"""scikit-learn's ``BernoulliRBM``, trained and sampled by rbmviz."""

import dataclasses
import math
import time
from typing import Any, ClassVar

import numpy as np

from rbmviz.errors import BadInput, brought_by
from rbmviz.files.budget import check_state
from rbmviz.knobs import read_knobs
from rbmviz.metrics import log_likelihood
from rbmviz.rbm import RBM, Model, Statistics
from rbmviz.rbm.parameters import Parameters
from rbmviz.registry import trainers
from rbmviz.samplers import AnySampler, Samples, sample
from rbmviz.trainers import AnyTrainer, Trainer, initial_rbm, make_trainer
from rbmviz.trainers.batches import Batches
from rbmviz.trainers.training import TrainingState

with brought_by("sklearn", "rbmviz.sklearn"):
    from scipy import sparse
    from sklearn import neural_network
    from sklearn.base import _fit_context
    from sklearn.utils import check_random_state
    from sklearn.utils.validation import check_is_fitted, validate_data

__all__ = ["BernoulliRBM"]
__dir__ = __all__.copy  # what an editor offers


class BernoulliRBM(neural_network.BernoulliRBM):
    """A restricted Boltzmann machine as a scikit-learn estimator, in place of scikit-learn's own class.

    Everything not named below is inherited: ``transform``, ``gibbs``, ``score_samples``, feature
    names, pandas output, sparse input (converted to dense here).

    Parameters
    ----------
    n_components : int
        Number of hidden units (default 256).
    learning_rate : float
        Learning rate of the first update (default 0.1).
    batch_size : int
        Rows per mini-batch (default 10), and number of persistent chains unless ``trainer`` says otherwise.
    n_iter : int
        Passes over the training rows (default 10), each of ceil(n / batch_size) updates.
    verbose : int
        Whether the pseudo-likelihood is printed after every pass (default 0).
    random_state : int, RandomState or None
        The same integer gives the same model. scikit-learn draws other numbers and gets another model.
    trainer : str, Trainer or class
        One of ``rbmviz.list_trainers()``, perhaps with knobs (``"cd:k=10"``); default ``"pcd"``, as in
        scikit-learn. As there, weights begin at N(0, 0.01^2) and biases at 0, unless it says otherwise.
    sampler : str, Sampler or class
        Sampler for ``sample``: one of ``rbmviz.list_samplers()``, perhaps with knobs (default gibbs).

    Attributes
    ----------
    components_ : float (n_components, n_features)
        Weights, of the type of the training data.
    intercept_hidden_, intercept_visible_ : float (n_components,), (n_features,)
        Biases.
    h_samples_ : float (chains, n_components)
        Hidden units drawn for the chains of the last update.
    model_ : Model
        The model for the other functions of rbmviz; with rates after ``fit``, without after ``partial_fit``.

    Notes
    -----
    Values between 0 and 1 are means of bits: the positive statistics are computed from the values themselves,
    as in scikit-learn, and chains that start at the data start at bits drawn once. Mini-batches are
    reshuffled in each pass; scikit-learn takes the rows in order.

    Examples
    --------
    >>> import numpy as np
    >>> from rbmviz.sklearn import BernoulliRBM
    >>> X = np.array([[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 1]])
    >>> rbm = BernoulliRBM(n_components=2, trainer="ucd", random_state=0).fit(X)
    >>> rbm.transform(X).shape, rbm.sample(5).v.shape
    ((4, 2), (5, 3))
    """

    _parameter_constraints: ClassVar[dict] = {
        **neural_network.BernoulliRBM._parameter_constraints,
        "trainer": "no_validation",  # checked when they are used, in one sentence
        "sampler": "no_validation",
    }

    def __init__(
        self,
        n_components: int = 256,
        *,
        learning_rate: float = 0.1,
        batch_size: int = 10,
        n_iter: int = 10,
        verbose: int = 0,
        random_state: Any = None,
        trainer: AnyTrainer = "pcd",
        sampler: AnySampler = "gibbs",
    ) -> None:
        super().__init__(
            n_components,
            learning_rate=learning_rate,
            batch_size=batch_size,
            n_iter=n_iter,
            verbose=verbose,
            random_state=random_state,
        )
        self.trainer, self.sampler = trainer, sampler

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> "BernoulliRBM":
        """Fit the model to X (n_samples, n_features), dense or sparse; y is ignored.

        Raises
        ------
        BadInput
            If the trainer is unknown or cannot train this model, or if training diverges.
        """
        X = validate_data(self, X, accept_sparse="csr", dtype=(np.float64, np.float32))
        rows = self._begin(X)
        size = min(self.batch_size, X.shape[0])
        updates = math.ceil(len(rows.values) / size)
        steps = dataclasses.replace(
            self._trainer,  # type: ignore[type-var]
            batch_size=size,
            iterations=max(self.n_iter * updates, 1),
        )
        self._publish(steps.step(self._state, 0).rbm, X.dtype)
        for done in range(1, self.n_iter + 1):
            begin = time.perf_counter()
            self._publish(steps.step(self._state, updates).rbm, X.dtype)
            if self.verbose:
                score, seconds = self.score_samples(X).mean(), time.perf_counter() - begin
                print(  # noqa: T201
                    f"[{type(self).__name__}] Iteration {done}, pseudo-likelihood = {score:.2f}, "
                    f"time = {seconds:.2f}s"
                )
        self._rates = self.model_.rbm.mean_statistics(rows.values)
        del self._state.batches  # a pickle of the estimator must not hold the data
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any = None) -> "BernoulliRBM":
        """Make one update with all rows of X (n_samples, n_features), at most 10,000; y is ignored."""
        first = not hasattr(self, "components_")
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=first)
        if hasattr(self, "_state"):
            self._state.batches = _Rows.of(X, self._state.starts_generator, self._state)
        else:
            self._begin(X)
        if not first:  # the parameters may have been set by hand
            self._state.theta = Parameters(*(np.array(x, np.float32) for x in self._parameters()))
        step = dataclasses.replace(
            self._trainer,  # type: ignore[type-var]
            batch_size=X.shape[0],
            learning_rate=float(self.learning_rate),
        )
        self._publish(step.step(self._state, 1).rbm, X.dtype)
        del self._state.batches
        self._rates = None
        return self

    _rates: Statistics | None = None

    @property
    def model_(self) -> Model:
        """The model, for the other functions of rbmviz."""
        check_is_fitted(self)
        meta = {"trainer": self._trainer.name} if hasattr(self, "_trainer") else {}
        return Model(RBM(*self._parameters()), self._rates, meta)

    def sample(self, n: int) -> Samples:
        """Return n samples of ``sampler``; the next call continues the random stream, not the chain."""
        check_is_fitted(self)
        if not hasattr(self, "random_state_"):
            self.random_state_ = check_random_state(self.random_state)
        return sample(self.model_, self.sampler, n, _seed(self.random_state_))

    def log_likelihood(self, X: Any) -> float:
        """Return the mean log-likelihood of binary rows X in nats; ``score_samples`` is only a proxy.

        It is exact if the smaller layer has at most 25 units, else log Z is estimated by AIS; see
        ``metrics.log_likelihood``.
        """
        check_is_fitted(self)
        return log_likelihood(self.model_, X.toarray() if sparse.issparse(X) else X)

    def _parameters(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.components_.T, self.intercept_visible_, self.intercept_hidden_

    def _begin(self, X: Any) -> "_Rows":
        """Make the trainer and its state with new random weights; return the rows."""
        (_, m), seed = X.shape, _seed(check_random_state(self.random_state))
        trainer = self._trainer = self._chosen_trainer()
        check_state("This training", trainer, m, self.n_components, "give fewer components or chains")
        ends = np.repeat(np.array([[0], [1]], np.uint8), m, axis=1)  # ``init`` requires bits that differ
        rbm = initial_rbm(ends, self.n_components, seed, trainer)
        self._state = dataclasses.replace(trainer, batch_size=1).init(rbm, ends, seed)  # type: ignore[type-var]
        rows = self._state.batches = _Rows.of(X, self._state.batches.generator, self._state)
        return rows

    def _chosen_trainer(self) -> Trainer:
        own = {"learning_rate": float(self.learning_rate), "schedule": "constant"}
        if not isinstance(self.trainer, str):
            return make_trainer(self.trainer, learning_rate=own["learning_rate"])
        name, _, text = self.trainer.partition(":")
        cls, knobs = trainers[name], read_knobs(trainers[name], text)
        for knob in ("learning_rate", "batch_size", "iterations"):
            if knob in knobs:
                raise BadInput(f"trainer = {self.trainer!r}: {knob} is a parameter of the estimator.")
        chains = {"n_chains": self.batch_size} if cls.chains != "fresh" else {}
        return cls(**{**own, "initial_biases": "zero", **chains, **knobs})

    def _publish(self, rbm: RBM, dtype: np.dtype) -> None:
        """Set the parameters under scikit-learn's names."""
        self.components_ = rbm.W.astype(dtype).T
        self.intercept_visible_, self.intercept_hidden_ = rbm.b.astype(dtype), rbm.c.astype(dtype)
        self._n_features_out = self.n_components
        v = self._state.samples
        if v is not None:
            drawn = np.random.RandomState(self._state.update)
            self.h_samples_ = self._sample_hiddens(v.astype(dtype), drawn).astype(dtype)


def _seed(random_state: np.random.RandomState) -> int:
    return int(random_state.randint(np.iinfo(np.int32).max))


@dataclasses.dataclass(eq=False)
class _Rows(Batches):
    """Rows of any values, ``values`` (n, n_visible); ``data`` are bits drawn from them, for chains."""

    values: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros((0, 0)))

    @classmethod
    def of(cls, X: Any, order: np.random.Generator, state: TrainingState) -> "_Rows":
        values = X.toarray() if sparse.issparse(X) else X
        if ((values == 0) | (values == 1)).all():
            bits = values = np.ascontiguousarray(values, dtype=np.uint8)
        else:
            values = np.ascontiguousarray(values, dtype=np.float32)
            bits = (state.starts_generator.random(values.shape, np.float32) < values).astype(np.uint8)
        return cls(bits, order, values=values)

    def rows(self, order: np.ndarray) -> np.ndarray:
        return self.values[order].astype(np.float32)

    @property
    def packed(self) -> np.ndarray | None:
        return super().packed if self.values is self.data else None
