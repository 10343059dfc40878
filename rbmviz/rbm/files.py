"""Models by name or file, and the conversions that every public function applies to its model."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save

from rbmviz.errors import BadInput, known, known_keywords, quoted
from rbmviz.files import metadata
from rbmviz.files.array_names import TRANSPOSED, Names, array_names, as_numpy, oriented
from rbmviz.files.arrays import MAX_HEADER, Damaged, FileContent, is_file, read_arrays, read_json, text_of
from rbmviz.files.h5 import read_chains, read_h5
from rbmviz.files.output import write_whole
from rbmviz.rbm import RBM, Model, Statistics
from rbmviz.support import checks

SCHEMA = 1

ARRAYS_HEADER = 2**11
"""Most bytes of the header of a .safetensors besides the metadata: names, shapes and places of six arrays."""

H5_SUFFIXES = (".h5", ".hdf5")
RATES = tuple(f"rates.{name}" for name in "Wbc")

AnyModel = str | Path | Model | RBM | Mapping[str, Any] | Any
"""What stands for a model, see ``as_model``; the last one is a fitted ``BernoulliRBM``."""

_WITHIN, _BESIDE = (folder / "pretrained" for folder in Path(__file__).parents[1:3])
FOLDER = _WITHIN if _WITHIN.is_dir() else _BESIDE
"""Folder of the pretrained models: beside the package in a checkout, installed or not; else within it."""

NO_MODELS = f"No pretrained model is in '{FOLDER}': install rbmviz again, or name a model file."
"""Message for an empty list of models."""


class ModelHeader(NamedTuple):
    """Numbers of units and metadata of a model file."""

    n_visible: int
    n_hidden: int
    meta: Mapping[str, Any]


def as_model(model: AnyModel) -> Model:
    """Return the model given as a name, a file, a Model, an RBM, a fitted BernoulliRBM, or arrays by name.

    Raises BadInput if ``model`` is none of these, or the model cannot be loaded.
    """
    if isinstance(model, Model):
        return model
    if isinstance(model, RBM):
        return Model(model)
    if isinstance(model, str | Path):
        return load_model(model)
    if isinstance(model, Mapping):
        return from_arrays(model)
    if isinstance(fitted := getattr(model, "model_", None), Model):  # of ``rbmviz.sklearn``
        return fitted
    if hasattr(model, "get_params"):
        return of_estimator(model)
    raise BadInput(
        f"{quoted(model)} is not a model: give a name, a file, a Model, an RBM, a dict of arrays W, b and c, "
        "or a fitted BernoulliRBM."
    )


def of_estimator(estimator: Any) -> Model:
    """Return a fitted estimator of scikit-learn as a Model, or raise BadInput."""
    try:
        W = estimator.components_.T
        rbm = RBM(W, estimator.intercept_visible_, estimator.intercept_hidden_)
    except AttributeError:
        raise BadInput(
            f"This {type(estimator).__name__} is not a fitted BernoulliRBM: call its fit(data) first."
        ) from None
    knobs = {name: getattr(estimator, name, None) for name in ("learning_rate", "batch_size", "n_iter")}
    return Model(rbm, None, {"trainer": "scikit-learn BernoulliRBM", "knobs": knobs})


def as_rbm(model: AnyModel) -> RBM:
    """Return the parameters of the model that ``as_model`` returns."""
    return model if isinstance(model, RBM) else as_model(model).rbm


def list_models() -> list[str]:
    """Return the names of the pretrained models."""
    return sorted(path.stem for path in FOLDER.glob("*.safetensors"))


@known_keywords
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
        If there is no such model, or the file is not a model (see ``load_model_bytes``). Pickles (.pkl,
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
        model = load_model_bytes(Path(name), str(name), names, update)
        return replace(model, data=beside(name, metadata.data_name(model.meta)))
    if str(name) not in list_models() and is_file(Path(name)):
        raise BadInput(
            f"'{name}' is not a model file, and is not opened: in the program that wrote it, save the "
            "weights by numpy.savez('model.npz', W=W, b=b, c=c), with W of shape (n_visible, n_hidden), b of "
            "the visible and c of the hidden units, or give them to rbmviz.from_arrays there."
        )
    return load_pretrained(str(name))


def beside(file: str | Path, name: str | None) -> Path | None:
    """Return the file of data or of a model that metadata name, in the folder of their file only, or None."""
    base, at, variant = (name or "").partition("@")
    path = Path(file).parent / Path(base).name
    return Path(f"{path}{at}{variant}") if Path(base).suffix and is_file(path) else None


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

    path : str or Path; an HDF5 file

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

    Raises BadInput if there is no such pretrained model.
    """
    names = list_models()
    if not names:
        raise BadInput(NO_MODELS)
    found = known("model", str(name), names, "'rbmviz list models' shows them.")
    file = FOLDER / f"{found}.safetensors"
    return load_model_bytes(file, str(file))


def model_bytes(model: Model, suffix: str = ".safetensors") -> bytes:
    """Return the content of a model file, .safetensors or .npz.

    Arrays (float32): W, b, c, and rates.W, rates.b, rates.c if the model has rates.
    Header string ``rbmviz`` (in .npz an array of one string): JSON of the schema version and ``model.meta``.

    Raises BadInput if the metadata are longer than readers accept.
    """
    arrays = {"W": model.rbm.W, "b": model.rbm.b, "c": model.rbm.c}
    if model.rates is not None:
        arrays |= {f"rates.{name}": getattr(model.rates, name) for name in "Wbc"}
    header = json.dumps({"schema": SCHEMA, **model.meta}, sort_keys=True)
    if len(json.dumps(header)) > MAX_HEADER - ARRAYS_HEADER:  # .safetensors has it as a text within JSON
        raise BadInput(f"The model's metadata are too long for a file: at most {MAX_HEADER:,} bytes of JSON.")
    if suffix == ".safetensors":
        return save(arrays, metadata={"rbmviz": header})
    content = io.BytesIO()
    np.savez(content, rbmviz=np.array(header), **arrays)  # type: ignore[arg-type]
    return content.getvalue()


def save_model(model: AnyModel, path: str | Path) -> None:
    """Write a model: the whole file or none.

    Parameters
    ----------
    model : Model, RBM, dict of arrays, fitted BernoulliRBM, name or file
        What is written; an RBM has no rates and no metadata.
    path : str or Path
        Ends in .safetensors or .npz (see ``model_bytes``).

    Raises
    ------
    BadInput
        If it is not a model, or the name ends otherwise.
    OutputFailure
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> model = rbmviz.load_model("bas_pcd")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rbmviz.save_model(model, f"{folder}/mine.npz")
    ...     again = rbmviz.load_model(f"{folder}/mine.npz")
    >>> bool((again.rbm.W == model.rbm.W).all())
    True
    """
    if not isinstance(path, str | Path):
        raise BadInput(f"{quoted(model)} is not a model to save: give a Model or an RBM, and then the file.")
    model = as_model(model)
    suffix = Path(path).suffix
    if suffix not in (".safetensors", ".npz"):
        raise BadInput(f"A model file ends in .safetensors or .npz, not '{Path(path).name}'.")
    write_whole(path, model_bytes(model, suffix))


def load_model_bytes(
    content: FileContent, name: str, names: Names | None = None, update: int | None = None
) -> Model:
    """Return the model in a .safetensors, .npz or .h5 file.

    content : the bytes (of an upload), or the file that contains them
    name : the file's name for error messages; its suffix determines the format
    names, update : see ``load_model``

    Raises BadInput if the file is missing, truncated, of another format (pickles are never read), or its
    arrays do not fit each other.
    """
    suffix = Path(name).suffix
    if isinstance(content, Path) and not is_file(content):
        raise BadInput(f"There is no model file '{name}'; 'rbmviz list models' shows the pretrained ones.")
    if suffix in H5_SUFFIXES:
        try:
            archived, meta = read_h5(content, f"'{name}'", update)
        except Damaged as error:
            raise BadInput(f"'{name}' is not a readable model file ({error}).") from None
        return _named(name, lambda: Model(RBM(**archived), None, meta))
    if update is not None:
        raise BadInput(f"'{name}' holds one model: leave update = {update} out.")
    keys: dict[str, str] = {}
    names_in_file: Names = {}

    def choose(available: list[str]) -> list[str]:
        nonlocal names_in_file
        names_in_file = array_names([array for array in available if array != "rbmviz"], names, f"'{name}'")
        keys.update({array.removesuffix(TRANSPOSED): key for key, array in names_in_file.items()})
        keys.update({array: array for array in (*RATES, "rbmviz") if array in available})
        return list(keys)

    try:
        found, texts = read_arrays(content, suffix if suffix == ".npz" else ".safetensors", choose)
        text = found.pop("rbmviz", None)
        meta = read_json(texts.get("rbmviz", "{}") if text is None else text_of(text, "rbmviz"))
    except Damaged as error:
        raise BadInput(
            f"'{name}' is not a readable model file ({error}); give a .safetensors or an .npz with W, b, c."
        ) from None
    arrays = {keys[array]: value for array, value in found.items()}
    schema = meta.pop("schema", SCHEMA) if isinstance(meta, dict) else SCHEMA
    if not isinstance(schema, int) or schema > SCHEMA:
        raise BadInput(f"'{name}' was written by a newer rbmviz; update rbmviz to read it.")
    rates = Statistics(*(arrays.pop(array) for array in RATES)) if len(arrays) == 6 else None
    return _named(name, lambda: Model(RBM(**oriented(arrays, names_in_file, names)), rates, meta))


def _named(name: str, make: Callable[[], Model]) -> Model:
    """Return a model; an error names its file."""
    try:
        return make()
    except BadInput as error:
        raise BadInput(f"'{name}': {error}") from None


def read_model_header(path: Path) -> ModelHeader:
    """Read the header of a .safetensors model of the package, without its weights: 24 of them take 4 ms."""
    with safe_open(path, "numpy") as file:
        meta = read_json((file.metadata() or {}).get("rbmviz", "{}"))
        n_visible, n_hidden = (file.get_slice(bias).get_shape()[0] for bias in "bc")
    meta.pop("schema", None)
    return ModelHeader(n_visible, n_hidden, metadata.checked(meta))
