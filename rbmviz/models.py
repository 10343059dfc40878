"""Models and their data: what a model is scored on, models of scikit-learn, small constructed models."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from rbmviz import rng
from rbmviz.datasets import AnyData, Dataset, rows_of
from rbmviz.errors import BadInput, brought_by
from rbmviz.files.metadata import data_name
from rbmviz.metrics import Kernel, model_statistics
from rbmviz.rbm import RBM, Model
from rbmviz.rbm.files import (
    FOLDER,
    NO_MODELS,
    AnyModel,
    ModelHeader,
    as_rbm,
    list_models,
    load_model,
    load_pretrained,
    of_estimator,
    read_pretrained_headers,
)
from rbmviz.registry import datasets, trainers

__all__ = [
    "FOLDER",
    "NO_MODELS",
    "list_models",
    "load_model",
    "load_pretrained",
    "read_pretrained_headers",
]

LANDSCAPE_PATTERNS = {
    "two halves": ("111/000", "000/111"),
    "three patterns": ("1100/1100", "0011/0011", "1010/0101"),
    "four patterns": ("1111/0000", "0000/1111", "1001/1001", "0110/0110"),
    "letters L T X": ("100/100/111", "111/010/010", "101/010/101"),
}
"""Patterns of the small models whose states can all be drawn, see ``pattern_model``."""


def with_rates(model: Model, dataset: Dataset) -> Model:
    """Add the rates of the training part of its data to a model that has none.

    Raises BadInput if the examples have another number of units than the model has visible ones.
    """
    if dataset.n_visible != model.rbm.n_visible:
        raise BadInput(
            f"{dataset.name} has {dataset.n_visible} units and this model {model.rbm.n_visible} visible "
            "ones: name the data that it was trained on."
        )
    return replace(model, rates=model.rbm.rates(dataset.train))


def describe_model(model: Model | ModelHeader) -> str:
    """Describe a model in one line: its data, size and training, as far as its file has them.

    Examples
    --------
    >>> rbmviz.models.describe_model(rbmviz.load_model("bas_cd1"))
    'Bars and Stripes; 16 visible and 16 hidden units, trained by CD-1 for 10,000 updates'
    """
    size, meta = model.rbm if isinstance(model, Model) else model, model.meta
    label, by, updates = _data_of_title(meta), _trainer_of_title(meta), meta.get("updates")
    line = f"{label}; " if label else ""
    line += f"{size.n_visible} visible and {size.n_hidden} hidden units"
    return line + (by and f", trained by {by}" + (f" for {updates:,} updates" if updates else ""))


def model_title(meta: Mapping[str, Any]) -> str:
    """Return the title shown instead of a model's name; "" if its metadata do not suffice.

    Examples
    --------
    >>> rbmviz.models.model_title(rbmviz.load_model("mnist_fpcd").meta)
    'MNIST digits, trained by FPCD'
    """
    label, by = _data_of_title(meta), _trainer_of_title(meta)
    return f"{label}, trained by {by}" if label and by else ""


def data_label(name: str) -> str:
    """Return the label shown instead of the name of data, perhaps of a variant; unknown names stay.

    Examples
    --------
    >>> rbmviz.models.data_label("mnist5k"), rbmviz.models.data_label("bas@3")
    ('MNIST digits (5,000)', 'Bars and Stripes, 3')
    """
    base, _, variant = name.partition("@")
    if base not in list(datasets):
        return name
    return f"{datasets[base].label}{variant and f', {variant}'}"


def _data_of_title(meta: Mapping[str, Any]) -> str:
    base = (meta.get("dataset") or data_name(meta) or "").partition("@")[0]
    return data_label(base).partition(" (")[0] if base in list(datasets) else ""


def _trainer_of_title(meta: Mapping[str, Any]) -> str:
    trainer = meta.get("trainer")
    if trainer not in list(trainers):
        return ""
    return trainers[str(trainer)].label.replace("-k", f"-{(meta.get('knobs') or {}).get('k', 'k')}")


def from_sklearn(estimator: Any, data: AnyData | None = None) -> Model:
    """Return a fitted ``sklearn.neural_network.BernoulliRBM`` as a Model.

    Parameters
    ----------
    estimator : BernoulliRBM
        The fitted estimator; its ``components_`` (n_hidden, n_visible) become W, transposed.
    data : Dataset, name, file, or uint8 (n, n_visible), optional
        Training data of the estimator. The model then has their rates, which the driven samplers need.

    Raises
    ------
    BadInput
        If the estimator is not a fitted BernoulliRBM, or the data do not have its number of columns.

    Examples
    --------
    >>> estimator = rbmviz.to_sklearn("bas_pcd")
    >>> rbmviz.from_sklearn(estimator, "bas")
    Model(16 visible, 16 hidden units, scikit-learn BernoulliRBM, with rates)
    """
    model = of_estimator(estimator)
    if data is None:
        return model
    return replace(model, rates=model.rbm.rates(rows_of("The data", data, model.rbm.n_visible, "train")))


def to_sklearn(model: AnyModel) -> Any:
    """Return a model as a fitted ``sklearn.neural_network.BernoulliRBM``, in float32, for its pipelines.

    ``rbmviz.sklearn.BernoulliRBM`` is the estimator that rbmviz trains.

    model : Model, RBM, name or file; raises BadInput if scikit-learn is not installed

    Examples
    --------
    >>> estimator = rbmviz.to_sklearn("bas_pcd")
    >>> estimator.transform(rbmviz.load_dataset("bas").test).shape
    (32, 16)
    """
    with brought_by("sklearn", "to_sklearn"):
        from sklearn.neural_network import BernoulliRBM
    rbm = as_rbm(model)
    estimator = BernoulliRBM(rbm.n_hidden)
    estimator.components_, estimator.intercept_visible_ = np.array(rbm.W.T, order="F"), rbm.b.copy()
    estimator.intercept_hidden_ = rbm.c.copy()
    estimator.h_samples_ = np.zeros((estimator.batch_size, rbm.n_hidden), np.float32)
    estimator.n_features_in_, estimator._n_features_out = rbm.n_visible, rbm.n_hidden
    return estimator


def pattern_model(patterns: Sequence[str], depth: float) -> Model:
    """Return a small model with one valley for each pattern; its rates are its own exact statistics.

    Hidden unit j represents pattern x_j: W_:j = s (2 x_j - 1), c_j = s (r - |x_j|), b = 0. The unit is on
    with log odds ``depth`` = s r at its pattern, and s less for each bit that differs; r is half the smallest
    distance between two patterns (for a single pattern, half its number of bits). A Gibbs chain leaves the
    valley only when this unit turns off, so its stay grows about threefold with each nat of depth.

    patterns : distinct patterns of "0" and "1", with "/" between the rows of the picture: "110/110"
    depth : depth of the valleys, in nats

    Raises BadInput if the patterns are not distinct pictures of one shape.
    """
    rows = [pattern.split("/") for pattern in patterns]
    shapes = {(len(picture), *{len(row) for row in picture}) for picture in rows}
    alike = len(set(patterns)) < len(patterns)
    if alike or len(shapes) != 1 or len(next(iter(shapes))) != 2 or set("".join(patterns)) - set("01/"):
        raise BadInput(
            f"The patterns {', '.join(patterns)} are not different 0/1 pictures of one shape, as '110/110'."
        )
    x = np.array([[int(bit) for bit in "".join(picture)] for picture in rows], dtype=np.float64)
    apart = [np.abs(first - other).sum() for first, other in itertools.combinations(x, 2)]
    radius = min(apart, default=x.shape[1]) / 2
    s = depth / radius
    rbm = RBM(s * (2 * x.T - 1), np.zeros(x.shape[1]), s * (radius - x.sum(axis=1)))
    return Model(rbm, model_statistics(rbm), {"image_shape": list(next(iter(shapes)))})


def random_rbm(n_visible: int, n_hidden: int, seed: rng.Seed, sd: float = 1.0) -> RBM:
    """Return a model with all parameters drawn from N(0, sd^2), as in UCD, appendix A.2."""
    g = rng.generator(seed, "model")
    return RBM(*(g.normal(0, sd, shape) for shape in ((n_visible, n_hidden), n_visible, n_hidden)))


def random_model(n_visible: int, n_hidden: int, scale: float, seed: rng.Seed = 0) -> Model:
    """Return a small model with weights N(0, scale^2); its rates are its own exact statistics.

    The biases make every v as likely as its complement 1 - v, so that the valleys are far apart.
    """
    W = rng.generator(seed, "weights").normal(0, scale, (n_visible, n_hidden))
    rbm = RBM(W, -W.sum(axis=1) / 2, -W.sum(axis=0) / 2)
    return Model(rbm, model_statistics(rbm))


AUTOMATIC = "automatic"
"""The choice of data for "the data that the model was trained on"."""


class TrainingSetScore(NamedTuple):
    """ISL of a training set as its own sample, in nats per test example; how many examples it has.

    of_model : whether the model's file names it, so that it covers all the training data
    means : whether its rows are E[v|h], as the samples' are, and not 0 and 1
    """

    isl: float
    n: int
    of_model: bool
    means: bool = False


def training_set_score(
    model: Model, dataset: Dataset, kernel: Kernel, compute: Callable[[Dataset, Kernel, Model], float]
) -> TrainingSetScore | None:
    """Return the score of the training set: stored with the model, or computed from the data at hand.

    dataset : what the model's samples are scored against
    kernel : kernel of the ISL, "binary" or "mean"
    compute : returns the ISL of the training part of a data set, of its means (``metrics.reference``) if the
        kernel is on means. Older files have that of its rows of 0 and 1, which is not used.

    None if the data have no training part.
    """
    stored, means = (model.meta.get("reference") or {}).get(kernel), kernel == "mean"
    if dataset.name == data_name(model.meta) and stored is not None and stored.get("means", False) == means:
        return TrainingSetScore(stored["isl"], stored["n"], True, means)
    if not len(dataset.train):
        return None
    whole = stored is not None and stored["n"] == len(dataset.train) and dataset.name == data_name(model.meta)
    return TrainingSetScore(compute(dataset, kernel, model), len(dataset.train), whole, means)
