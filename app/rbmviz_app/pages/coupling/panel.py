"""The live panel of the Coupling page: for each algorithm a pair of chains, sweep by sweep."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from rbmviz.coupling import EQUATIONS
from rbmviz.session import Comparison, Coupling, CouplingSetup, CouplingSnapshot
from rbmviz.session.coupling import PairStatistics
from rbmviz_app.charts.style import colour
from rbmviz_app.formulas import equation, prose
from rbmviz_app.pages.coupling.charts import NAMES, style
from rbmviz_app.panel import Canvas, OnTrigger, panel_spec
from rbmviz_app.panel.readouts import Readout, Value, digits3
from rbmviz_app.stream.encoder import ClientState, PanelContent, frame_encoder
from rbmviz_app.stream.frames import Bits, Block
from rbmviz_app.stream.requests import FrameRequest

PAIR_COLUMNS = [
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
    {
        "name": "half_step",
        "label": "Half-step coupling",
        "help": "As algorithm 3, but the hidden units, too, are equal as often as they can be; where they "
        "are, the chains meet in the next sweep. The program of the paper’s authors draws its pairs so.",
    },
]
"""The two couplings of paper UCD and that of its authors' program, in the order of ALGORITHMS."""

HIGHLIGHT = "#ff5c00"
"""Pixels that differ: strong where they are on, pale where they are off."""


def _tau(pairs: PairStatistics) -> Value:
    if not pairs.n:
        return None
    at_least = "≥\u00a0" if pairs.truncated_share else ""  # the large number ends at the first plain space
    return f"{at_least}{digits3(pairs.tau_mean)} sweeps"


def _cut_off(pairs: PairStatistics) -> Value:
    if not pairs.n:
        return None
    return 100 * pairs.truncated_share or "none"  # a word stands without the unit


def _column_readouts(column: int, name: str) -> tuple[Readout, ...]:
    def of_pairs(value: Callable[[PairStatistics], Value]) -> Callable[[CouplingSnapshot], Value]:
        return lambda shown: value(shown.displayed_pairs[column].counted) if shown.displayed_pairs else None

    return (
        Readout(
            f"{name}-tau",
            "Mean τ",
            "How many sweeps it takes until the two chains are equal, on average over all pairs so far. ≥: "
            "some pairs were cut off and count with their last sweep, so that the true mean is larger.",
            of_pairs(_tau),
            formula=r"\mathbb{E}[\tau], \quad \tau = \min \{\, t > 1 : \xi_t = \eta_{t-1} \,\}",
            source="Qiu, Zhang, Wang (2020), section 3.",
            lead=True,
            slow=True,
        ),
        Readout(
            f"{name}-truncated",
            "Cut off",
            "Share of the pairs that were cut off before they met. Estimates that contain them are biased: "
            "turn up “Cut off after”.",
            of_pairs(_cut_off),
            "precision2",
            unit="%",
            formula=r"\Pr(\tau > t_{\max})",
            source="Counted over all pairs so far.",
            lead=True,
            slow=True,
        ),
        Readout(
            f"{name}-counted",
            "Pairs counted",
            "Pairs that have ended in the background. The charts below are made of them; the bound has pairs "
            "of its own if its lag is more than 1.",
            of_pairs(lambda pairs: pairs.n),
            "compact",
            source="Counted, up to 100,000.",
            slow=True,
        ),
        Readout(
            f"{name}-rejected",
            "Rejected, ξ | η",
            "Before each chain has its next state, some proposals are rejected: so many of the first and of "
            "the second chain, on average for each pair. They are what a meeting costs.",
            of_pairs(lambda pairs: pairs.rejected_mean if pairs.n else None),
            "pair",
            source="Qiu, Zhang, Wang (2020), figure 2, right.",
            slow=True,
        ),
    )


READOUTS = [_column_readouts(i, column["name"]) for i, column in enumerate(PAIR_COLUMNS)]
"""Numbers of each column."""


def readouts(coupling: Coupling, plan: CouplingSetup) -> tuple[Readout, ...]:
    """Return the readouts of the panel, those of all columns."""
    return tuple(readout for column in READOUTS for readout in column)


def every_readout() -> tuple[Readout, ...]:
    """Return all numbers of a column; those of all columns are called alike."""
    return READOUTS[0]


def _pair(prefix: str, pair: Any, n_visible: int) -> dict[str, Block]:
    """Return the blocks of a pair: its two states, and how many pixels differed on the way.

    prefix : of their names, as panel.js reads them: ``rbm``, and ``rbm ended`` for the newest finished pair
    """
    return {
        f"{prefix} v": Bits(pair.v, n_visible),
        f"{prefix} v2": Bits(pair.v2, n_visible),
        f"{prefix} path": np.array(pair.path, np.uint32),
    }


@frame_encoder(CouplingSnapshot, readouts, ("pairs",))
def encode(shown: CouplingSnapshot, request: FrameRequest, client: ClientState) -> PanelContent | None:
    """Encode the displayed pair of each column and, once, its newest finished pair (``... ended v``)."""
    if shown.n_visible != request.n_visible:
        return None
    pair_columns: dict[str, Any] = {}
    blocks: dict[str, Block] = {}
    # After a change of knobs other pairs are run, numbered from 0 again.
    known = client.newest_sent if client.newest_sent.get("began") == shown.began else {}
    newest_sent = {"began": shown.began}
    for pair in shown.displayed_pairs:
        name, ended = pair.algorithm, pair.ended
        column = {field: getattr(pair, field) for field in ("pair", "t", "met", "truncated", "stride")}
        pair_columns[name] = column | {"ended": None}
        blocks |= _pair(name, pair, shown.n_visible)
        if ended is not None:
            newest_sent[name] = ended.pair
            if known.get(name) != ended.pair:
                fields = ("pair", "tau", "truncated", "stride")
                pair_columns[name]["ended"] = {field: getattr(ended, field) for field in fields}
                blocks |= _pair(f"{name} ended", ended, shown.n_visible)
        elif name in known:
            newest_sent[name] = known[name]
    values = {"began": shown.began, "pair_columns": pair_columns}
    return PanelContent(values, blocks, client.after(newest_sent, client.slow_due))


_canvas = Canvas(Path(__file__).parent)


def coupling_panel(
    comparison: Comparison[CouplingSetup],
    url: str,
    *,
    title: str,
    labels: dict[str, str],
    shape: tuple[int, int],
    present: bool,
    on_edit: OnTrigger,
    key: str,
) -> None:
    """Draw a pair of chains for each coupling; see ``Canvas.mount``.

    labels : labels of knobs that differ for this model, by name
    """
    [panel] = comparison.panels
    spec = panel_spec(panel, title, colour("ucd"), readouts, front=lambda knob: True)
    spec["knobs"] = [knob | {"label": labels.get(knob["name"], knob["label"])} for knob in spec["knobs"]]
    pair_columns = [
        column
        | {
            "help": prose(column["help"]),
            "equation": equation(EQUATIONS[column["name"]], {}),
            "colour": colour(column["name"]),
            "dash": style(NAMES[column["name"]])[1],
            "readouts": [readout.spec() for readout in numbers],
        }
        for column, numbers in zip(PAIR_COLUMNS, READOUTS, strict=True)
    ]
    spec["readouts"] = []  # each column draws its own
    _canvas.mount(
        url,
        [spec],
        view="pairs",
        n_visible=comparison.setup.rbm.n_visible,
        shape=shape,
        present=present,
        on_edit=on_edit,
        key=key,
        highlight=HIGHLIGHT,
        pair_columns=pair_columns,
    )
