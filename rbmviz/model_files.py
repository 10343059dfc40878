"""Models by name or file, and the doors through which every public function takes a model."""

from importlib import resources
from pathlib import Path

from rbmviz.array_files import is_file
from rbmviz.errors import BadInput, shown, unknown
from rbmviz.rbm import RBM, Model, ModelHeader, load_model_file, read_model_header

AnyModel = str | Path | Model | RBM
"""What stands for a model: the name of a pretrained one, a file, or the object."""

FOLDER = Path(str(resources.files("rbmviz.pretrained")))
"""Folder of the pretrained models: ``pretrained/`` in a checkout, within the package in an installation."""

NONE_FOUND = f"No pretrained model is in '{FOLDER}': install rbmviz again, or name a model file."
"""What an empty list of models is called."""


def as_model(model: AnyModel) -> Model:
    """Return the model that a name, a file, a Model or an RBM stands for.

    Raises
    ------
    BadInput
        If it is none of them, or cannot be loaded.
    """
    if isinstance(model, Model):
        return model
    if isinstance(model, RBM):
        return Model(model)
    if isinstance(model, str | Path):
        return load_model(model)
    raise BadInput(f"{shown(model)} is not a model: give a name, a file, a Model or an RBM.")


def as_rbm(model: AnyModel) -> RBM:
    """Return the parameters of the model that ``as_model`` returns."""
    return model if isinstance(model, RBM) else as_model(model).rbm


def list_models() -> list[str]:
    """Return the names of the pretrained models."""
    return sorted(path.stem for path in FOLDER.glob("*.safetensors"))


def load_model(name: str | Path) -> Model:
    """Return a pretrained model by name, or a model from a file.

    Parameters
    ----------
    name : str or Path
        A name of ``list_models()``, or a path that ends in .safetensors or .npz.

    Raises
    ------
    BadInput
        If there is no such model, or the file is not a model (see ``rbm.load_model_file``). Pickles (.pkl,
        .joblib, .pt) are never opened, because that would run code in them.

    Examples
    --------
    >>> model = rbmviz.load_model("usps_fpcd")
    >>> model.rbm.n_visible, model.rbm.n_hidden
    (256, 200)
    >>> model.meta["trainer"]
    'fpcd'
    """
    if Path(name).suffix in (".safetensors", ".npz"):
        return load_model_file(name)
    if str(name) not in list_models() and is_file(Path(name)):
        raise BadInput(
            f"'{name}' is not a model file, and is not opened: in the program that has written it, save the "
            "weights by numpy.savez('model.npz', W=W, b=b, c=c), with W of shape (n_visible, n_hidden), b of "
            "the visible and c of the hidden units."
        )
    return load_pretrained(str(name))


def read_pretrained_headers() -> dict[str, ModelHeader]:
    """Return the header of every pretrained model, by name."""
    return {name: read_model_header(FOLDER / f"{name}.safetensors") for name in list_models()}


def load_pretrained(name: object) -> Model:
    """Return a pretrained model by name; unlike ``load_model`` it never opens a path.

    It is for names that the user did not type, but that come from a link or from a file's metadata.

    Raises
    ------
    BadInput
        If there is no such pretrained model.
    """
    names = list_models()
    if not names:
        raise BadInput(NONE_FOUND)
    if name not in names:
        raise unknown("model", str(name), names, "'rbmviz list models' shows them.")
    return load_model_file(FOLDER / f"{name}.safetensors")
