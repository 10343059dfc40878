"""The live panels of the landscape: all states of a small model side by side, and the chain's position."""

from pathlib import Path
from typing import Any

import numpy as np

from rbmviz.metrics import Landscape
from rbmviz.metrics.numbers import OF_LANDSCAPE, Number
from rbmviz.pages import PAGES
from rbmviz.samplers import Sampler
from rbmviz.session import LandscapeSetup, LandscapeSnapshot
from rbmviz.view.frames import Block
from rbmviz.view.specs import shape_of
from rbmviz_app.panel import Canvas, panel_specs
from rbmviz_app.race import PageRace
from rbmviz_app.session import PageSettings
from rbmviz_app.stream.encoder import ClientState, PanelContent, frame_encoder
from rbmviz_app.stream.requests import FrameRequest

Settings = PageSettings(PAGES["chain"].settings)

TRAIL_SIDE = 10
"""A frame carries at most TRAIL_SIDE ** 2 new states."""


def readouts(sampler: Sampler, plan: LandscapeSetup) -> tuple[Number, ...]:
    """Return a panel's numbers."""
    return OF_LANDSCAPE


@frame_encoder(LandscapeSnapshot, readouts, ("landscape",))
def encode(snapshot: LandscapeSnapshot, request: FrameRequest, client: ClientState) -> PanelContent | None:
    """Encode ``ground`` (-log p) and ``visits`` (share) of every state, and ``trail``, the newest states."""
    if len(snapshot.law) != 2**request.n_visible:
        return None
    count = min(snapshot.n, len(snapshot.trail), request.cells)
    with np.errstate(divide="ignore"):
        ground = -np.log(snapshot.law)
    blocks: dict[str, Block] = {
        "ground": ground.astype(np.float32),
        "visits": (snapshot.visits / max(snapshot.n, 1)).astype(np.float32),
        "trail": snapshot.trail[len(snapshot.trail) - count :].astype(np.uint16),
    }
    return PanelContent({"state": int(snapshot.trail[-1])}, blocks, client)


_canvas = Canvas(Path(__file__).parent)


def landscape_grid(race: PageRace[LandscapeSetup], land: Landscape, **mounted: Any) -> None:
    """Draw the panels of the walks; ``mounted`` holds further arguments of ``Canvas.mount``."""
    model = race.setup.model
    shape = shape_of(model.rbm.n_visible, model.meta.get("image_shape"))
    specs = panel_specs(
        race,
        readouts,
        front=lambda knob: knob.front,
        hidden=("n_chains", "share"),  # a panel draws one chain
    )
    _canvas.mount(
        race,
        specs,
        view="landscape",
        side=TRAIL_SIDE,
        n_visible=model.rbm.n_visible,
        shape=shape,
        land=land_data(land, shape),
        **mounted,
    )


def land_data(land: Landscape, shape: tuple[int, int]) -> dict[str, Any]:
    """Return the ``Land`` for ``panel.js``; ``shape`` is the shape of a state's picture."""
    base = -np.log(land.law)
    return {
        "law": land.law.tolist(),
        "base": base.tolist(),
        "order": land.order.tolist(),
        "edges": [0.0, *np.cumsum(land.width).tolist()],
        "valleys": [list(valley) for valley in land.valleys],
        "shape": shape,
        "top": float(min(max(base.max() + 2, 6), 20)),
        "highest": 1.2 * float(land.law.max()),
    }
