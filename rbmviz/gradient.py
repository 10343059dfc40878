"""Bias and variance of gradient estimators against a reference gradient (population CD, section 4.1).

The reference is enumerated for small models and estimated by long parallel tempering otherwise.
"""

import hashlib
import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from rbmviz import rng
from rbmviz.datasets import AnyData, data_of, rows_of
from rbmviz.errors import BadInput
from rbmviz.files.arrays import Damaged, read_npz, text_of
from rbmviz.files.output import write_whole
from rbmviz.metrics import Ladder, Tempered, exact_gradient, tempered_ladders, too_large
from rbmviz.metrics.tempering import MAX_LADDERS
from rbmviz.rbm import RBM
from rbmviz.rbm.files import AnyModel, as_model
from rbmviz.rbm.parameters import FixedParameters
from rbmviz.registry import trainers
from rbmviz.support import checks
from rbmviz.trainers import AnyTrainer, Trainer, training

RUNS = 20
"""Independent runs that share the estimates; standard errors come from their spread."""

CHAIN_BURN_IN = 1000
"""Updates of persistent chains before the first estimate of a run."""

ReferenceKind = Literal["enumeration", "parallel tempering"]


@dataclass(frozen=True, eq=False)
class GradientReference:
    """The gradient of the mean log-likelihood of the training rows, against which a bias is measured.

    kind : "enumeration" or "parallel tempering"; how it was computed
    estimates : float64 (n, parameters); independent estimates with the reference as their mean: one per
        ladder of temperatures, or the exact gradient
    warning : why its error may be too small; "" if there is no sign of it
    """

    kind: ReferenceKind
    estimates: np.ndarray
    warning: str = ""

    @property
    def mean(self) -> np.ndarray:
        """The reference, float64 (parameters,)."""
        return self.estimates.mean(axis=0)

    @property
    def error(self) -> float:
        """Squared standard error per parameter, in the unit of a squared bias; 0 if exact."""
        n = len(self.estimates)
        return float(self.estimates.var(axis=0, ddof=1).mean() / n) if n > 1 else 0.0


@dataclass(frozen=True)
class GradientQuality:
    """Squared bias and variance of one estimator, both per parameter, as in the paper's table 1.

    Parameters
    ----------
    bias : float
        Squared distance of the mean of all estimates to the reference, per parameter. From finitely many
        estimates it is too large by at most about variance / replications, which is its value for an unbiased
        estimator. It includes ``reference_error``.
    bias_corrected : float
        ``bias`` minus the squared errors of the mean, estimated from the runs, and of the reference;
        unbiased, may be negative.
    std_error : float
        Standard error of ``bias_corrected`` (and of ``bias``), by the jackknife over the runs, and over the
        ladders of the reference.
    variance : float
        Mean squared distance of the estimates to their mean, per parameter.
    replications : int
        Number of estimates.
    share_cut : float
        Share of coupled pairs cut off before they met, from 0 to 1; 0 for estimators without pairs. With cut
        pairs an unbiased estimator is biased.
    reference : "enumeration" or "parallel tempering"
        How the reference gradient was computed.
    reference_error : float
        Its squared standard error per parameter; 0 if enumerated.
    """

    bias: float
    bias_corrected: float
    std_error: float
    variance: float
    replications: int
    share_cut: float = 0.0
    reference: ReferenceKind = "enumeration"
    reference_error: float = 0.0

    @property
    def resolved(self) -> bool:
        """Whether the bias exceeds two standard errors and the reference's error."""
        return self.bias_corrected > max(2 * self.std_error, self.reference_error)


@dataclass(frozen=True, eq=False)
class EstimatorRun:
    """The estimates of one independent run.

    n : number of estimates
    mean : float64 (parameters,); their mean
    square : the mean of their squared lengths
    share_cut : share of pairs cut off, see ``GradientQuality``
    """

    n: int
    mean: np.ndarray
    square: float
    share_cut: float = 0.0


def flat(parameters: Any) -> np.ndarray:
    """Return parameters or statistics as one vector, float64: W row by row, b, c."""
    return np.concatenate([np.ravel(x) for x in (parameters.W, parameters.b, parameters.c)], dtype=np.float64)


def gradient_runs(
    rbm: RBM,
    data: np.ndarray,
    trainer: Trainer,
    replications: int = 1000,
    seed: rng.Seed = 0,
    burn_in: int = CHAIN_BURN_IN,
) -> Iterator[EstimatorRun]:
    """Yield the 20 runs of ``gradient_quality`` one by one, for callers with a progress bar."""
    if trainer.chains == "driven":
        raise BadInput(
            f"gradient: the chains of {trainer.name} need updates, which are not made here: choose pcd."
        )
    replications = checks.whole("gradient: replications", replications, 2 * RUNS)
    burn_in = checks.whole("gradient: burn_in", burn_in)
    each = -(-replications // RUNS)
    for index in range(RUNS):
        yield _run(each, rbm, data, trainer, index, seed, burn_in)


def _run(
    n: int, rbm: RBM, data: np.ndarray, trainer: Trainer, index: int, seed: rng.Seed, burn_in: int
) -> EstimatorRun:
    """Return the ``index``-th run, of n estimates."""
    state = trainer.init(rbm, data, rng.child(seed, "gradient", index))
    total, square, cut = np.zeros(sum(x.size for x in state.theta)), 0.0, 0.0
    share_cut = getattr(trainer, "share_cut", None)
    for _ in range(burn_in if trainer.chains == "persistent" else 0):
        trainer.negative(state, FixedParameters(*state.theta), data[:1].astype(np.float32))
    for _ in range(n):
        gradient = flat(training.gradient(trainer, state))
        total += gradient
        square += gradient @ gradient
        cut += share_cut(state) if share_cut else 0.0
    return EstimatorRun(n, total / n, square / n, cut / n)


def quality(reference: GradientReference, runs: Iterable[EstimatorRun]) -> GradientQuality:
    """Return bias and variance of an estimator of the reference, estimated from runs."""
    runs = list(runs)
    n = sum(run.n for run in runs)
    means, target = np.array([run.mean for run in runs]), reference.mean
    size = len(target)
    products = _products(means, target)
    squared_error = _jackknife(products)
    if len(reference.estimates) > 1:
        # All runs share the reference: its squared error is in every product.
        squared_error += _jackknife(_products(reference.estimates, means.mean(axis=0)))
    mean = means.mean(axis=0)
    variance = (np.mean([run.square for run in runs]) - mean @ mean) / size * n / (n - 1)
    return GradientQuality(
        bias=float(products.mean()),
        bias_corrected=_unbiased(products) - reference.error,
        std_error=float(np.sqrt(squared_error)),
        variance=max(float(variance), 0.0),  # negative by rounding if all estimates are equal
        replications=n,
        share_cut=float(np.mean([run.share_cut for run in runs])),
        reference=reference.kind,
        reference_error=reference.error,
    )


def _products(estimates: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return the products of the errors of each two estimates, per parameter, float64 (n, n)."""
    errors = estimates - target
    return errors @ errors.T / len(target)


def _unbiased(products: np.ndarray) -> float:
    """Return the mean over pairs of different estimates, whose errors are independent."""
    k = len(products)
    return float((products.sum() - np.trace(products)) / (k * (k - 1)))


def _jackknife(products: np.ndarray) -> float:
    """Return the squared standard error of ``_unbiased``."""
    n = len(products)
    left = [np.delete(np.delete(products, i, axis=0), i, axis=1) for i in range(n)]
    return (n - 1) * float(np.var([_unbiased(each) for each in left]))


def enumerated(rbm: RBM, data: np.ndarray) -> GradientReference:
    """Return the exact gradient of the mean log-likelihood of the rows.

    Raises BadInput if the model is too large to enumerate.
    """
    if refusal := too_large(rbm):
        raise BadInput(f"{refusal}; the bias is measured against the exact gradient.")
    return GradientReference("enumeration", flat(exact_gradient(rbm, data))[None])


def tempered(rbm: RBM, data: np.ndarray, ladders: Iterable[Ladder]) -> GradientReference:
    """Return the gradient of the mean log-likelihood of the rows, from ladders of parallel tempering.

    data : uint8 (n, n_visible); the training set
    ladders : from ``metrics.tempered_ladders``, at least 3
    """
    means = Tempered(tuple(ladders))
    positive = flat(rbm.rates(data))
    estimates = np.array([positive - flat(ladder) for ladder in means.ladders])
    return GradientReference("parallel tempering", estimates, means.warning)


def _fingerprint(rbm: RBM, data: np.ndarray) -> str:
    """Return a hash of the model and the training rows of a stored reference."""
    digest = hashlib.sha256(repr((rbm.W.shape, data.shape)).encode())
    for array in (rbm.W, rbm.b, rbm.c, data):
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def save_reference(path: str | Path, reference: GradientReference, rbm: RBM, data: np.ndarray) -> None:
    """Write a reference of parallel tempering, one estimate per ladder, to an ``.npz`` file.

    Raises OutputFailure if the file cannot be written.
    """
    content = io.BytesIO()
    np.savez(
        content,
        estimates=reference.estimates,
        model_and_data=np.array(_fingerprint(rbm, data)),
        warning=np.array(reference.warning),
    )
    write_whole(path, content.getvalue())


def load_reference(path: str | Path, rbm: RBM, data: np.ndarray) -> GradientReference:
    """Return a reference of parallel tempering written by ``save_reference``.

    Raises BadInput if the file is invalid, or belongs to another model or other training rows.
    """
    size = rbm.W.size + len(rbm.b) + len(rbm.c)
    try:
        arrays = read_npz(Path(path), ("estimates", "model_and_data", "warning"))
        estimates = arrays.get("estimates", np.zeros(0))
        if estimates.ndim != 2 or estimates.shape[1] != size or not 3 <= len(estimates) <= MAX_LADDERS:
            raise Damaged(
                f"its estimates are of shape {estimates.shape}, and the model has {size:,} parameters"
            )
        if estimates.dtype.kind != "f" or not np.isfinite(estimates).all():
            raise Damaged("its estimates are not all finite floating-point numbers")
        if text_of(arrays.get("model_and_data"), "model_and_data") != _fingerprint(rbm, data):
            raise Damaged("it belongs to another model or to other training rows")
        warning = text_of(arrays["warning"], "warning") if "warning" in arrays else ""
    except Damaged as error:
        raise BadInput(f"'{path}' is not a reference for this gradient: {error}.") from None
    return GradientReference("parallel tempering", estimates.astype(np.float64), warning)


def gradient_quality(
    rbm: AnyModel,
    data: AnyData | None,
    trainer: AnyTrainer,
    replications: int = 1000,
    seed: rng.Seed = 0,
    burn_in: int = CHAIN_BURN_IN,
    reference: GradientReference | None = None,
    **knobs: Any,
) -> GradientQuality:
    """Measure bias and variance of a trainer's gradient estimate at fixed parameters.

    As in population CD, section 4.1: the bias is the squared distance between the mean of many estimates and
    the true gradient of the whole training set, the variance the mean squared distance of the estimates to
    their mean, both per parameter. Two differences: for small models the true gradient is enumerated (the
    paper uses 200,000 samples of parallel tempering), and ``bias_corrected`` is free of the noise of the
    mean. For larger models the reference is parallel tempering with 100 temperatures, as in the paper; its
    error is ``reference_error``, and a bias below it is not ``resolved``.

    An estimate is the gradient of one update: the next mini-batch of ``batch_size`` rows gives the positive
    statistics and, if chains start at data, the starts. Batches are drawn in whole epochs, as in training, so
    that the mean contains little of their noise. Persistent chains (pcd, pt, herding) sample the fixed model
    for ``burn_in`` updates before the first estimate of a run.

    ``ucd`` is unbiased only if its pairs meet: read ``bias`` together with ``share_cut``. On the shipped
    bas_cd1 about 1 % of the pairs are cut at the default t_max of 100.

    Measured (16 hidden units, CD-1 at rate 0.1 for 10,000 updates, batches of 32 and 500): CD-1 has 16 to 142
    times the bias of pop-CD-1 on six models of Bars and Stripes, 91 times with seed 0 (paper: 156). On
    Artificial Modes the bias is 0.157 for CD-1 and not measurable for pop-CD-1, 1e-10 in 50,000 estimates
    (paper: 8e-9, the noise of independently drawn batches).

    Parameters
    ----------
    rbm : Model, RBM, name, file, dict of arrays, or fitted BernoulliRBM
        The model; with at most 25 units in the smaller layer it is enumerated.
    data : uint8 (n, n_visible), or a data set, name or file, or None
        The training set; None: the data that the model was trained on.
    trainer : Trainer, class or str
        A trainer, or its name with its knobs, ``"ucd:t_max=1000"``; fpcd is refused: it has no gradient apart
        from its updates.
    replications : int
        Estimates (default 1000, paper 50,000), at least 40, rounded up to a multiple of 20.
    seed : int, SeedSequence or Generator
        Same seed, same estimates.
    burn_in : int
        Updates of persistent chains before the first estimate (default 1000).
    reference : GradientReference, optional
        From ``enumerated`` or ``tempered``; computed by default, which takes seconds to minutes for a model
        that cannot be enumerated. Pass it to measure several estimators on one model.
    **knobs : int, float, bool or str
        Knobs of the trainer.

    Raises
    ------
    BadInput
        If a size does not fit.

    Examples
    --------
    >>> from rbmviz.gradient import gradient_quality
    >>> quality = gradient_quality("bas_cd1", "bas", "cd", replications=40, k=1)
    >>> quality.resolved
    True
    """
    model, given = as_model(rbm), trainers.read(trainer, arguments=("replications", "burn_in"), **knobs)
    rbm = model.rbm
    data = rows_of("The data", data_of(model) if data is None else data, rbm.n_visible, "train")
    if reference is None and too_large(rbm):
        reference = tempered(rbm, data, tempered_ladders(rbm, seed=rng.child(seed, "reference")))
    elif reference is None:
        reference = enumerated(rbm, data)
    return quality(reference, gradient_runs(rbm, data, given, replications, seed, burn_in))
