"""The canvas component: live pictures, class strips, numbers and knobs of all panels of a race."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import streamlit as st

from app.views import about, colour, titles
from rbmviz.datasets import Dataset
from rbmviz.knobs import Knob, knobs_of, values_of
from rbmviz.session import Race, Setting

HERE = Path(__file__).parent
FPS = 20

_component = st.components.v2.component(
    "rbmviz_live_grid", js=(HERE / "grid.js").read_text(), css=(HERE / "grid.css").read_text()
)


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
        # Infinite bounds have no slider; no knob of a sampler has them.
        "lo": knob.lo if math.isfinite(knob.lo) else None,
        "hi": knob.hi if math.isfinite(knob.hi) else None,
    }


def shape_of(setting: Setting) -> tuple[int, int]:
    """Return (rows, columns) of a picture: as the model or its data say, else nearly square."""
    n_visible = setting.model.rbm.n_visible
    declared = setting.model.meta.get("image_shape")
    if declared is None and setting.dataset is not None:
        declared = setting.dataset.image_shape
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


def live_grid(
    race: Race,
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
    """Mount the component; ``st.session_state[key].edit`` and ``.remove`` tell the callbacks what."""
    model, dataset = race.setting.model, race.setting.dataset
    samplers = [panel.worker.sampler for panel in race.panels]
    shares = data_shares(dataset)
    _component(
        key=key,
        data={
            "url": url,
            "fps": FPS,
            "view": view,
            "pixels": pixels,
            "cells": cells,
            "present": present,
            "n_visible": model.rbm.n_visible,
            "shape": shape_of(race.setting),
            "classes": dataset.classes if dataset and shares else (),
            "data_shares": shares,
            "panels": [
                {
                    "key": panel.key,
                    "label": label,
                    "about": about(sampler),
                    "colour": colour(sampler.name),
                    "knobs": [knob_spec(knob) for knob in knobs_of(sampler).values()],
                    "values": values_of(sampler),
                }
                for panel, sampler, label in zip(race.panels, samplers, titles(samplers), strict=True)
            ],
        },
        on_edit_change=on_edit,
        on_remove_change=on_remove,
    )
