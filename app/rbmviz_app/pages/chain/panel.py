"""The live panels of the landscape: all states of a small model side by side, and where the chain is."""

from pathlib import Path
from typing import Any

import numpy as np

from rbmviz.metrics import Landscape
from rbmviz.samplers import Sampler
from rbmviz.session import Comparison, LandscapeSetup, LandscapeSnapshot
from rbmviz.session.landscape import LandscapePlan
from rbmviz_app.panel import Canvas, OnTrigger, panel_specs, shape_of
from rbmviz_app.panel.readouts import Readout, rate_readout
from rbmviz_app.stream.encoder import ClientState, PanelContent, frame_encoder
from rbmviz_app.stream.frames import Block
from rbmviz_app.stream.requests import FrameRequest

TRAIL_SIDE = 10
"""A frame carries at most TRAIL_SIDE squared new states."""

READOUTS = (
    Readout(
        "crossings",
        "Crossings",
        "How often the chain has gone from one valley to another: a chain that sticks has none.",
        lambda shown: shown.crossings,
        "compact",
        source="Counted: two samples in a row that lie in different valleys.",
        lead=True,
    ),
    Readout(
        "visits",
        "Visits off by",
        "How far the shares of visits are from the model’s probabilities: 1 is as wrong as can be, 0 is "
        "right. It falls as the walk covers the model.",
        lambda shown: shown.curve[-1].visits if shown.curve else None,
        "fixed3",
        formula=r"\frac{1}{2} \sum_v \left| \frac{\text{visits of } v}{n} - p(v) \right|",
        source="Total variation distance, over all states of the model.",
        lead=True,
    ),
    Readout(
        "raised",
        "Ground raised",
        "How many nats the ground under the chain lies higher than in the model: what it has unlearned of "
        "where it is now.",
        lambda shown: shown.raised,
        "signed2",
        formula=r"\log p(v) - \log p_{\theta + \theta_F}(v)",
        source="rates-FPCD, section 3; exact, by enumeration.",
    ),
    Readout(
        "bent",
        "Ground bent by",
        "How far the probabilities that the next sweep samples from are from the model’s: 0 where nothing "
        "is bent, 1 at most.",
        lambda shown: shown.bent,
        "fixed3",
        formula=r"\frac{1}{2} \sum_v \left| p_{\theta + \theta_F}(v) - p(v) \right|",
        source="Total variation distance, over all states of the model.",
    ),
    Readout(
        "moments",
        "Moments off by",
        "Distance between the mean of the samples so far and that of the rates, which are of the training "
        "set or, where nothing was trained, of the model itself.",
        lambda shown: shown.curve[-1].moments if shown.curve else None,
        "fixed3",
        formula=r"\left| \langle v \rangle_{\text{samples}} - R_b \right|",
        source="rates-FPCD, section 4.",
    ),
    Readout(
        "fast_norm",
        "Fast norm",
        "How large the push away from the trained model is: 0 where the sampler has none.",
        lambda shown: shown.fast_norm,
        formula=r"|\theta_F|",
        source="rates-FPCD, section 4.",
    ),
    rate_readout("Samples"),
)


def readouts(sampler: Sampler, plan: LandscapePlan) -> tuple[Readout, ...]:
    """Return the readouts of a panel."""
    return READOUTS


def every_readout() -> tuple[Readout, ...]:
    """Return all numbers that a panel of this page can have."""
    return READOUTS


@frame_encoder(LandscapeSnapshot, readouts, ("landscape",), look_back=Comparison.look_back)
def encode(shown: LandscapeSnapshot, request: FrameRequest, client: ClientState) -> PanelContent | None:
    """Encode ``ground`` (-log p), ``visits`` (a share) of every state, and ``trail``, the newest states."""
    if len(shown.law) != 2**request.n_visible:
        return None
    n = shown.n if shown.at is None else shown.at
    count = min(n, len(shown.trail), request.cells)
    with np.errstate(divide="ignore"):
        ground = -np.log(shown.law)
    blocks: dict[str, Block] = {
        "ground": ground.astype(np.float32),
        "visits": (shown.visits / max(shown.n, 1)).astype(np.float32),
        "trail": shown.trail[len(shown.trail) - count :].astype(np.uint16),
    }
    values: dict[str, Any] = {"state": int(shown.trail[-1]), "held_from": shown.held_from}
    values |= {} if shown.at is None else {"at": shown.at}
    return PanelContent(values, blocks, client.after({}))


_canvas = Canvas(Path(__file__).parent)


def landscape_grid(
    comparison: Comparison[LandscapeSetup],
    land: Landscape,
    url: str,
    *,
    present: bool,
    on_edit: OnTrigger,
    on_remove: OnTrigger,
    key: str,
) -> None:
    """Draw the panels that walk; see ``Canvas.mount``."""
    model = comparison.setup.model
    base = -np.log(land.law)
    shape = shape_of(model.rbm.n_visible, model.meta.get("image_shape"))
    specs = panel_specs(
        comparison,
        readouts,
        front=lambda knob: knob.front,
        hidden=("n_chains", "share"),  # one chain is drawn
    )
    _canvas.mount(
        url,
        specs,
        view="landscape",
        side=TRAIL_SIDE,
        n_visible=model.rbm.n_visible,
        shape=shape,
        present=present,
        on_edit=on_edit,
        on_remove=on_remove,
        key=key,
        looks_back=True,
        stays="Ground, visits and numbers stay",
        land={
            "law": land.law.tolist(),
            "base": base.tolist(),
            "order": land.order.tolist(),
            "edges": [0.0, *np.cumsum(land.width).tolist()],
            "valleys": [list(valley) for valley in land.valleys],
            "shape": shape,
            "top": float(min(max(base.max() + 2, 6), 20)),
            "highest": 1.2 * float(land.law.max()),
        },
    )
