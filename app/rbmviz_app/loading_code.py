"""Lines of Python that load a page's model or data."""

from rbmviz.datasets import list_datasets
from rbmviz.models import list_models

MODEL_FILE, DATA_FILE = "model.safetensors", "data.npz"
"""Placeholders in code for files that only their owner can name."""


def load_model_lines(name: str) -> list[str]:
    """Return code that sets ``model``; for an unlisted model, a comment asks for its file."""
    if name in list_models():
        return [f'model = rbmviz.load_model("{name}")']
    return [
        "# The model is in no list: name its file here. On the page Train the button Model saves one.",
        f'model = rbmviz.load_model("{MODEL_FILE}")',
    ]


def load_dataset_lines(name: str) -> list[str]:
    """Return code that sets ``data``; for unregistered data, a comment asks for their file."""
    if name.partition("@")[0] in list_datasets():
        return [f'data = rbmviz.load_dataset("{name}")']
    return ["# The data are a file of your own: name it here.", f'data = rbmviz.load_dataset("{DATA_FILE}")']
