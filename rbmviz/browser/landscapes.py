"""Data for walks over all states of a small model in browsers."""

from typing import Any

from rbmviz.metrics import Landscape
from rbmviz.rbm import Model


def walk_data(model: Model, land: Landscape) -> dict[str, Any]:
    """Return the data of ``Walk`` in ``landscape.js``, see ``LandSpec`` there.

    land : the landscape of the model, in any order
    """
    return {
        "valley": land.valley.tolist(),
        "start": land.valleys[0].floor,
        "rates": None if model.rates is None else model.rates.b.tolist(),
    }
