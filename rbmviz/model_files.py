"""Models by name or file, and the conversions that every public function applies to its model."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rbmviz import checks
from rbmviz.array_files import Damaged, is_file
from rbmviz.array_names import TRANSPOSED, Names, array_names, as_numpy, oriented
from rbmviz.errors import BadInput, quoted, unknown
from rbmviz.h5_files import read_chains
from rbmviz.rbm import H5_SUFFIXES, RBM, Model, ModelHeader, load_model_file, read_model_header

AnyModel = str | Path | Model | RBM
"""A model, the name of a pretrained one, or a file."""

_WITHIN, _BESIDE = (folder / "pretrained" for folder in Path(__file__).parents[:2])
FOLDER = _WITHIN if _WITHIN.is_dir() else _BESIDE
"""Folder of the pretrained models: beside the package in a checkout, installed or not; else within it."""

NO_MODELS = f"No pretrained model is in '{FOLDER}': install rbmviz again, or name a model file."
"""Message for an empty list of models."""


def as_model(model: AnyModel) -> Model:
    """Return the model given as a name, a file, a Model or an RBM.

    Raises
    ------
    BadInput
        If ``model`` is none of these, or the model cannot be loaded.
    """
    if isinstance(model, Model):
        return model
    if isinstance(model, RBM):
        return Model(model)
    if isinstance(model, str | Path):
        return load_model(model)
    raise BadInput(f"{quoted(model)} is not a model: give a name, a file, a Model or an RBM.")


def as_rbm(model: AnyModel) -> RBM:
    """Return the parameters of the model that ``as_model`` returns."""
    return model if isinstance(model, RBM) else as_model(model).rbm


def list_models() -> list[str]:
    """Return the names of the pretrained models."""
    return sorted(path.stem for path in FOLDER.glob("*.safetensors"))


def load_model(name: str | Path, names: Names | None = None, update: int | None = None) -> Model:
    """Return a pretrained model by name, or a model from a file.

    Parameters
    ----------
    name : str or Path
        A name of ``list_models()``, or a path that ends in .safetensors or .npz, or in .h5: an archive of
        rbms (PyTorch).
    names : mapping of str, optional
        Names of W, b and c in an .npz or .safetensors file, such as ``{"W": "weight.T", "b": "bias_v", "c":
        "bias_h"}``; ``.T`` says that the array is (n_hidden, n_visible). Default: W, b and c, or usual names
        such as ``weights``, ``vbias``, ``hbias``; W is then transposed if only that fits the biases.
    update : int, optional
        Number of an update in an archive of rbms (default: the last one).

    Raises
    ------
    BadInput
        If there is no such model, or the file is not a model (see ``rbm.load_model_file``). Pickles (.pkl,
        .joblib, .pt) are never opened, because that would run the code in them.

    Examples
    --------
    >>> model = rbmviz.load_model("usps_fpcd")
    >>> model.rbm.n_visible, model.rbm.n_hidden
    (256, 200)
    >>> model.meta["trainer"]
    'fpcd'
    """
    if not isinstance(name, str | Path):
        raise BadInput(f"{quoted(name)} is not a model: give a name, or a file.")
    if Path(name).suffix in (".safetensors", ".npz", *H5_SUFFIXES):
        return load_model_file(name, names, update)
    if str(name) not in list_models() and is_file(Path(name)):
        raise BadInput(
            f"'{name}' is not a model file, and is not opened: in the program that wrote it, save the "
            "weights by numpy.savez('model.npz', W=W, b=b, c=c), with W of shape (n_visible, n_hidden), b of "
            "the visible and c of the hidden units, or give them to rbmviz.from_arrays there."
        )
    return load_pretrained(str(name))


def from_arrays(arrays: Mapping[str, Any], names: Names | None = None) -> Model:
    """Return a model of another program's arrays: a torch ``state_dict``, or ``vars`` of a PyDeep model.

    Parameters
    ----------
    arrays : mapping of str to array or tensor
        W, b and c under these or other names; other entries are ignored. With ``ov`` and ``oh`` the model is
        centred, as in PyDeep: E(v, h) = -(v - ov)'W(h - oh) - b'(v - ov) - c'(h - oh).
    names : mapping of str, optional
        See ``load_model``.

    Raises
    ------
    BadInput
        If an array is missing, or the arrays do not fit each other.

    Examples
    --------
    >>> import numpy as np
    >>> state = {"rbm.weight": np.zeros((2, 3)), "rbm.v_bias": np.zeros(3), "rbm.h_bias": np.zeros(2)}
    >>> rbmviz.from_arrays(state).rbm
    RBM(3 visible, 2 hidden units)
    """
    if not isinstance(arrays, Mapping):
        raise BadInput(f"from_arrays: {quoted(arrays)} is not a mapping of arrays by name: give a dict.")
    stated = array_names([str(name) for name in arrays], names, "from_arrays: the mapping")
    parameters = {
        key: checks.numbers(f"from_arrays: {array}", as_numpy(arrays[array.removesuffix(TRANSPOSED)]))
        for key, array in stated.items()
    }
    centred = {"ov", "oh"} <= set(arrays)
    W, b, c = oriented(parameters, stated, stated if centred else names).values()
    if centred:
        ov, oh = (checks.numbers(f"from_arrays: {name}", arrays[name]).ravel() for name in ("ov", "oh"))
        RBM(W, b, c)  # refuses shapes that do not fit
        if ov.shape != b.shape or oh.shape != c.shape:
            raise BadInput(f"from_arrays: ov and oh have shapes {ov.shape} and {oh.shape}; W is {W.shape}.")
        b, c = b - W @ oh, c - ov @ W
    return Model(RBM(W, b, c))


def load_chains(path: str | Path) -> np.ndarray:
    """Return the chains of an archive of rbms, uint8 (chains, n_visible), for use as starts ``v0``.

    Raises
    ------
    BadInput
        If there is no such archive, or it has no chains, or the chains are not bits.
    """
    path = Path(path)
    try:
        chains = read_chains(path, f"'{path}'")
    except Damaged as error:
        raise BadInput(f"'{path}' is not a readable archive of rbms ({error}).") from None
    if chains is None:
        raise BadInput(f"'{path}' has no chains: start at random, without v0.")
    return checks.bits(f"'{path}': the chains", chains)


def read_pretrained_headers() -> dict[str, ModelHeader]:
    """Return the header of every pretrained model, by name."""
    return {name: read_model_header(FOLDER / f"{name}.safetensors") for name in list_models()}


def load_pretrained(name: object) -> Model:
    """Return a pretrained model by name; unlike ``load_model`` it never opens a path.

    Use it for names that come from a link or from a file's metadata.

    Raises
    ------
    BadInput
        If there is no such pretrained model.
    """
    names = list_models()
    if not names:
        raise BadInput(NO_MODELS)
    if name not in names:
        raise unknown("model", str(name), names, "'rbmviz list models' shows them.")
    return load_model_file(FOLDER / f"{name}.safetensors")
