"""The live panel of the Coupling page: for each algorithm a pair of chains, sweep by sweep."""

from pathlib import Path
from typing import Any

import numpy as np

from rbmviz.charts.style import colour
from rbmviz.coupling import EQUATIONS
from rbmviz.metrics.numbers import Number, numbers_of_pairs
from rbmviz.session import Coupling, CouplingSetup, CouplingSnapshot
from rbmviz.view.formulas import equation, prose
from rbmviz.view.frames import Bits, Block
from rbmviz.view.specs import readout_specs
from rbmviz_app.pages.coupling.charts import NAMES, STYLES
from rbmviz_app.panel import Canvas, panel_spec
from rbmviz_app.race import PageRace
from rbmviz_app.stream.encoder import ClientState, PanelContent, frame_encoder
from rbmviz_app.stream.requests import FrameRequest

PAIR_COLUMNS = [
    {
        "name": "rbm",
        "label": "Algorithm 3, for RBMs",
        "help": "While the chains differ, both use the same random numbers, so they stay close.",
    },
    {
        "name": "general",
        "label": "Algorithm 1, general",
        "help": "While the chains differ, each uses its own random numbers.",
    },
    {
        "name": "half_step",
        "label": "Half-step coupling",
        "help": "Like algorithm 3, but the hidden units are also made equal as often as possible; if they "
        "are, the chains meet in the next sweep. The paper’s authors’ program uses this coupling.",
    },
]
"""Paper UCD's two couplings and a third from its authors' program, in the order of ALGORITHMS."""

HIGHLIGHT = "#ff5c00"
"""Colours of differing pixels: strong if on, pale if off."""


READOUTS = [[number for number in numbers_of_pairs(column["name"]) if number.help] for column in PAIR_COLUMNS]


def readouts(coupling: Coupling, plan: CouplingSetup) -> tuple[Number, ...]:
    """Return the numbers of all columns of the panel."""
    return tuple(number for column in READOUTS for number in column)


def _pair(prefix: str, pair: Any, n_visible: int) -> dict[str, Block]:
    """Return the blocks of a pair: its two states, and the number of differing pixels over time.

    prefix : prefix of the block names in panel.js: ``rbm``, or ``rbm ended`` for the newest finished pair
    """
    return {
        f"{prefix} v": Bits(pair.v, n_visible),
        f"{prefix} v2": Bits(pair.v2, n_visible),
        f"{prefix} path": np.array(pair.path, np.uint32),
    }


@frame_encoder(CouplingSnapshot, readouts, ("pairs",))
def encode(snapshot: CouplingSnapshot, request: FrameRequest, client: ClientState) -> PanelContent | None:
    """Encode the displayed pair of each column and, once, its newest finished pair (``... ended v``)."""
    if snapshot.n_visible != request.n_visible:
        return None
    pair_columns: dict[str, Any] = {}
    blocks: dict[str, Block] = {}
    # A change of knobs starts new pairs, numbered from 0 again.
    sent = client.newest_sent if client.newest_sent.get("began") == snapshot.began else {}
    newest_sent = {"began": snapshot.began}
    for pair in snapshot.displayed_pairs:
        name, ended = pair.algorithm, pair.ended
        column = {field: getattr(pair, field) for field in ("pair", "t", "met", "truncated", "stride")}
        pair_columns[name] = column | {"ended": None}
        blocks |= _pair(name, pair, snapshot.n_visible)
        if ended is not None:
            newest_sent[name] = ended.pair
            if sent.get(name) != ended.pair:
                fields = ("pair", "tau", "truncated", "stride")
                pair_columns[name]["ended"] = {field: getattr(ended, field) for field in fields}
                blocks |= _pair(f"{name} ended", ended, snapshot.n_visible)
        elif name in sent:
            newest_sent[name] = sent[name]
    values = {"began": snapshot.began, "pair_columns": pair_columns}
    return PanelContent(values, blocks, client._replace(newest_sent=newest_sent))


_canvas = Canvas(Path(__file__).parent)


def pair_columns() -> list[dict[str, Any]]:
    """Return what the panel's script draws of each coupling besides its pairs."""
    return [
        column
        | {
            "help": prose(column["help"]),
            "equation": equation(EQUATIONS[column["name"]], {}),
            "colour": colour(column["name"]),
            "dash": STYLES[NAMES[column["name"]]].dash,
            "readouts": readout_specs(numbers),
        }
        for column, numbers in zip(PAIR_COLUMNS, READOUTS, strict=True)
    ]


def coupling_panel(
    race: PageRace[CouplingSetup], labels: dict[str, str], shape: tuple[int, int], **mounted: Any
) -> None:
    """Draw a pair of chains for each coupling; labels : knob labels that differ for this model, by name."""
    [panel] = race.panels
    rbm = race.setup.rbm
    title = f"{rbm.n_visible} × {rbm.n_hidden} units"
    spec = panel_spec(panel, title, colour("ucd"), readouts, front=lambda knob: True)
    spec["knobs"] = [knob | {"label": labels.get(knob["name"], knob["label"])} for knob in spec["knobs"]]
    spec["readouts"] = []  # each column draws its own readouts
    _canvas.mount(
        race,
        [spec],
        view="pairs",
        n_visible=rbm.n_visible,
        shape=shape,
        highlight=HIGHLIGHT,
        pair_columns=pair_columns(),
        **mounted,
    )
