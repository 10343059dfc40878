"""The canvas components: live pictures, strips, numbers and knobs of all panels of a comparison."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from app.charts.style import about, colour, origin_text, titles
from rbmviz.datasets import Dataset
from rbmviz.knobs import Knob, knobs_of, values_of
from rbmviz.metrics import Landscape
from rbmviz.session import (
    Comparison,
    CouplingSetup,
    LandscapeSetup,
    SamplingSetup,
    TrainingSetup,
    WeightSetup,
)
from rbmviz.session.importance_weights import TILES

HERE = Path(__file__).parent
FPS = 20
TRAIL_SIDE = 10
"""Squared: new states that a frame can carry."""


def _component(name: str) -> Any:
    js = "\n".join((HERE / file).read_text() for file in ("base.js", f"{name}.js"))
    return st.components.v2.component(f"rbmviz_{name}", js=js, css=(HERE / "grid.css").read_text())


_samples, _training, _coupling = (_component(name) for name in ("sample", "train", "coupling"))
_landscapes, _live_slider = _component("landscape"), _component("dial")
_weights = _component("weights")


def knob_spec(knob: Knob) -> dict[str, Any]:
    """Return what the page needs to draw a knob's control, as JSON values."""
    return {
        "name": knob.name,
        "kind": knob.kind.__name__,
        "label": knob.label + (f" ({knob.unit})" if knob.unit else ""),
        "help": knob.help,
        "range": knob.range_text,
        "scale": knob.scale,
        "zero": knob.zero,
        "choices": knob.choices,
        "live": knob.live,
        # Infinite bounds have no slider; no knob of a sampler has them.
        "lo": knob.lo if math.isfinite(knob.lo) else None,
        "hi": knob.hi if math.isfinite(knob.hi) else None,
    }


def shape_of(
    n_visible: int, declared: Sequence[int] | None = None, dataset: Dataset | None = None
) -> tuple[int, int]:
    """Return (rows, columns) of a picture: as declared, as the data say, else nearly square."""
    if declared is None and dataset is not None:
        declared = dataset.image_shape
    if declared is not None and math.prod(declared) == n_visible:
        return declared[0], declared[1]
    columns = math.isqrt(n_visible - 1) + 1
    return -(-n_visible // columns), columns


def data_shares(dataset: Dataset | None) -> list[float]:
    """Return the share of each class in the training part."""
    if dataset is None or dataset.train_labels is None:
        return []
    labels = dataset.train_labels
    return [float((labels == c).mean()) for c in range(len(dataset.classes))]


def _panels(
    comparison: Comparison[Any],
    front: Callable[[Knob], bool],
    origins: Sequence[str] = (),
    hidden: Sequence[str] = (),
) -> list[dict[str, Any]]:
    algorithms = [panel.worker.algorithm for panel in comparison.panels]
    return [
        {
            "key": panel.key,
            "label": label,
            "about": about(algorithm),
            "colour": colour(algorithm.name),
            "knobs": [
                knob_spec(knob) | {"front": front(knob)}
                for knob in knobs_of(algorithm).values()
                if knob.name not in hidden
            ],
            "values": {name: value for name, value in values_of(algorithm).items() if name not in hidden},
        }
        for panel, algorithm, label in zip(
            comparison.panels, algorithms, titles(algorithms, origins), strict=True
        )
    ]


def rarest_first(dataset: Dataset | None, n_visible: int) -> list[tuple[str, int]]:
    """Return the words of the visible units and their places, those of fewest examples first."""
    if dataset is None or dataset.vocabulary is None or dataset.n_visible != n_visible:
        return []
    order = dataset.train.mean(axis=0).argsort(kind="stable")
    return [(dataset.vocabulary[i], int(i)) for i in order]


def sample_grid(
    comparison: Comparison[SamplingSetup],
    url: str,
    *,
    view: str,
    pixels: str,
    cells: int,
    present: bool,
    on_edit: Callable[[], None],
    on_remove: Callable[[], None],
    key: str,
) -> None:
    """Mount the samplers' panels; ``st.session_state[key].edit`` and ``.remove`` tell the callbacks what."""
    model, dataset = comparison.setup.model, comparison.setup.dataset
    shares = data_shares(dataset)
    _samples(
        key=key,
        data={
            "url": url,
            "fps": FPS,
            "view": view,
            "pixels": pixels,
            "cells": cells,
            "present": present,
            "n_visible": model.rbm.n_visible,
            "shape": shape_of(model.rbm.n_visible, model.meta.get("image_shape"), dataset),
            "classes": dataset.classes if dataset and shares else (),
            "data_shares": shares,
            "vocabulary": rarest_first(dataset, model.rbm.n_visible),
            "panels": _panels(comparison, lambda knob: knob.live),
        },
        on_edit_change=on_edit,
        on_remove_change=on_remove,
    )


NUMBERS = [
    (
        "likelihood",
        "Log-likelihood",
        "Mean over training examples, in nats: exact, or by AIS. Higher is better.",
    ),
    ("speed", "Updates/s", "What the trainer itself does in a second, scoring and waiting not counted."),
    (
        "reconstruction",
        "Reconstruction",
        "How far a mini-batch moves up and down once, a share of a bit: low says little.",
    ),
]
"""Numbers of every trainer: name, label, help; its inner ones follow."""


def train_grid(
    comparison: Comparison[TrainingSetup],
    url: str,
    *,
    view: str,
    pixels: str,
    cells: int,
    present: bool,
    on_edit: Callable[[], None],
    on_remove: Callable[[], None],
    key: str,
) -> None:
    """Mount the trainers' panels; ``st.session_state[key].edit`` and ``.remove`` tell the callbacks what."""
    dataset = comparison.setup.dataset
    origins = [origin_text(panel.worker.plan) for panel in comparison.panels]
    panels = _panels(comparison, lambda knob: knob.front, origins)
    for spec, panel in zip(panels, comparison.panels, strict=True):
        inner, origin = panel.worker.algorithm.inner, panel.worker.plan.origin
        spec["inner"] = next(iter(inner.values()), "")
        spec["numbers"] = [*NUMBERS, *((name, label, label) for name, label in inner.items())]
        spec["begun"], spec["spent"] = (origin.update, origin.seconds) if origin else (0, 0.0)
        spec["n_hidden"] = panel.worker.plan.n_hidden
    _training(
        key=key,
        data={
            "url": url,
            "fps": FPS,
            "view": view,
            "pixels": pixels,
            "cells": cells,
            "present": present,
            "n_visible": dataset.n_visible,
            "shape": shape_of(dataset.n_visible, None, dataset),
            "vocabulary": rarest_first(dataset, dataset.n_visible),
            "panels": panels,
        },
        on_edit_change=on_edit,
        on_remove_change=on_remove,
    )


COUPLINGS = [
    {
        "name": "rbm",
        "label": "Algorithm 3, for RBMs",
        "help": "Where the chains do not meet, both draw from the same random numbers, and so stay close.",
    },
    {
        "name": "general",
        "label": "Algorithm 1, general",
        "help": "Where the chains do not meet, each draws from random numbers of its own.",
    },
]
"""The two couplings of paper UCD, in the order of rbmviz.coupling.ALGORITHMS."""

HIGHLIGHT = "#ff5c00"
"""Pixels that differ: strong where they are on, pale where they are off."""


def coupling_panel(
    comparison: Comparison[CouplingSetup],
    url: str,
    *,
    title: str,
    labels: dict[str, str],
    shape: tuple[int, int],
    present: bool,
    on_edit: Callable[[], None],
    key: str,
) -> None:
    """Mount the two pairs of chains; ``st.session_state[key].edit`` tells the callback what.

    labels : names of knobs that are called otherwise for this model
    """
    [panel] = comparison.panels
    coupling = panel.worker.algorithm
    knobs = [knob_spec(knob) | {"front": True} for knob in knobs_of(coupling).values()]
    _coupling(
        key=key,
        data={
            "url": url,
            "fps": FPS,
            "view": "pairs",
            "pixels": "binary",
            "cells": 1,
            "present": present,
            "n_visible": comparison.setup.rbm.n_visible,
            "shape": shape,
            "highlight": HIGHLIGHT,
            "lanes": [lane | {"colour": colour(lane["name"])} for lane in COUPLINGS],
            "panels": [
                {
                    "key": panel.key,
                    "label": title,
                    "about": about(coupling),
                    "colour": colour("ucd"),
                    "knobs": [knob | {"label": labels.get(knob["name"], knob["label"])} for knob in knobs],
                    "values": values_of(coupling),
                }
            ],
        },
        on_edit_change=on_edit,
    )


def landscape_grid(
    comparison: Comparison[LandscapeSetup],
    land: Landscape,
    url: str,
    *,
    present: bool,
    on_edit: Callable[[], None],
    on_remove: Callable[[], None],
    key: str,
) -> None:
    """Mount the panels that walk; ``st.session_state[key].edit`` and ``.remove`` tell the callbacks what."""
    model = comparison.setup.model
    base = -np.log(land.law)
    _landscapes(
        key=key,
        data={
            "url": url,
            "fps": FPS,
            "view": "landscape",
            "pixels": "binary",
            "cells": TRAIL_SIDE,
            "present": present,
            "n_visible": model.rbm.n_visible,
            "land": {
                "law": land.law.tolist(),
                "base": base.tolist(),
                "order": land.order.tolist(),
                "edges": [0.0, *np.cumsum(land.width).tolist()],
                "valleys": [list(valley) for valley in land.valleys],
                "shape": shape_of(model.rbm.n_visible, model.meta.get("image_shape")),
                "top": float(min(max(base.max() + 2, 6), 20)),
                "highest": 1.2 * float(land.law.max()),
            },
            "panels": _panels(
                comparison,
                lambda knob: knob.front,
                hidden=("n_chains", "share"),  # one chain is drawn
            ),
        },
        on_edit_change=on_edit,
        on_remove_change=on_remove,
    )


def live_slider(
    knob: Knob, value: float, colour: str, *, on_value: Callable[[], None], key: str, width: int = 320
) -> None:
    """Mount a slider that tells its value while it is dragged: ``st.session_state[key].value``."""
    _live_slider(
        key=key,
        data={"knob": knob_spec(knob), "value": value, "colour": colour},
        on_value_change=on_value,
        width=width,
    )


WEIGHT_KNOBS = {
    "k": (
        "Sweeps",
        "Gibbs sweeps before a sample is weighed: more of them even the weights out, if they mix.",
    ),
    "proposal": (
        "Proposal",
        "What a weight compares the model with: p(v|h), p(h|v), or a mixture of p(v|h).",
    ),
    "mixture": (
        "Hidden states in the mixture",
        "Only for the mixture proposal: more of them smooth the weights.",
    ),
    "n_chains": (
        "Samples a batch",
        "Samples that share one normalisation: more of them, less bias; 0 takes 100.",
    ),
}
"""Knobs of pop-CD that its weights depend on, with what they are called where nothing is trained."""


def weights_grid(
    comparison: Comparison[WeightSetup],
    url: str,
    *,
    labels: Sequence[str],
    present: bool,
    on_edit: Callable[[], None],
    on_remove: Callable[[], None],
    key: str,
) -> None:
    """Mount the panels of pop-CD; ``st.session_state[key].edit`` and ``.remove`` tell the callbacks what."""
    model, dataset = comparison.setup.model, comparison.setup.dataset
    panels = _panels(comparison, lambda knob: knob.name != "mixture")
    for spec, label in zip(panels, labels, strict=True):
        spec["label"] = label
        spec["knobs"] = [
            knob | dict(zip(("label", "help"), WEIGHT_KNOBS[knob["name"]], strict=True))
            for knob in spec["knobs"]
            if knob["name"] in WEIGHT_KNOBS
        ]
        spec["knobs"].sort(key=lambda knob: list(WEIGHT_KNOBS).index(knob["name"]))
        spec["values"] = {name: spec["values"][name] for name in WEIGHT_KNOBS}
    _weights(
        key=key,
        data={
            "url": url,
            "fps": FPS,
            "view": "weights",
            "pixels": "binary",
            "cells": 1,
            "tiles": TILES,
            "present": present,
            "n_visible": model.rbm.n_visible,
            "shape": shape_of(model.rbm.n_visible, model.meta.get("image_shape"), dataset),
            "panels": panels,
        },
        on_edit_change=on_edit,
        on_remove_change=on_remove,
    )
