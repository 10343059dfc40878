"""The models that come with rbmviz, and anybody else's from a file."""

from pathlib import Path
from typing import Any

import numpy as np

from rbmviz.errors import BadInput, unknown
from rbmviz.rbm import RBM, Model, load_model_file

FOLDER = Path(__file__).parents[1] / "pretrained"
"""Beside the package in a checkout."""


def list_models() -> list[str]:
    """Return the names of the pretrained models."""
    return sorted(path.stem for path in FOLDER.glob("*.safetensors"))


def load_model(name: str | Path) -> Model:
    """Return a pretrained model by name, or read one from a file (.safetensors, .npz).

    Raises
    ------
    BadInput
        Where there is no such model, or the file is not a model (see ``rbm.load_model_file``).
    """
    if Path(name).suffix in (".safetensors", ".npz"):
        return load_model_file(name)
    if str(name) not in list_models():
        raise unknown("model", str(name), list_models())
    return load_model_file(FOLDER / f"{name}.safetensors")


def from_sklearn(estimator: Any, data: np.ndarray | None = None) -> Model:
    """Return the Model of a fitted ``sklearn.neural_network.BernoulliRBM``.

    Parameters
    ----------
    estimator : BernoulliRBM
        Its ``components_`` (n_hidden, n_visible) are W transposed.
    data : uint8 (n, n_visible), optional
        Its training data: the model then carries their rates, which the driven samplers need.

    Raises
    ------
    BadInput
        Where the estimator is of another kind or not fitted, or the data do not fit.
    """
    try:
        W = estimator.components_.T
        rbm = RBM(W, estimator.intercept_visible_, estimator.intercept_hidden_)
    except AttributeError:
        raise BadInput(
            f"This {type(estimator).__name__} is not a fitted BernoulliRBM: call its fit(data) first."
        ) from None
    knobs = {name: getattr(estimator, name, None) for name in ("learning_rate", "batch_size", "n_iter")}
    rates = None if data is None else rbm.rates(np.asarray(data))
    return Model(rbm, rates, {"trainer": "scikit-learn BernoulliRBM", "knobs": knobs})
