"""The models that come with rbmviz, and anybody else's from a file."""

from pathlib import Path

from rbmviz.errors import unknown
from rbmviz.rbm import Model, load_model_file

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
