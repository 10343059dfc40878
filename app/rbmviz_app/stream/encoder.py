"""The next frame for one browser: for each panel, only the data that this browser does not have yet.

Each kind of snapshot has one encoder, registered with ``frame_encoder`` in the ``panel.py`` of its page. A
browser can only request pictures of a page that this process has drawn, and drawing it loads ``panel.py``.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from rbmviz.metrics.numbers import Number
from rbmviz.session import Race, Snapshot
from rbmviz.view.frames import Block, write_frame
from rbmviz.view.specs import finite
from rbmviz_app.messages import without_commands
from rbmviz_app.parts import NO_CHARTS
from rbmviz_app.race import PageRace
from rbmviz_app.stream.requests import FrameRequest, Hidden

NUMBERS_SECONDS = 0.4
"""Minimum seconds between frames with the numbers, texts and slow pictures (class strips, filters, traces) of
active runs: nobody could read them faster, and they take more than half of a frame's time. The other pictures
come with every frame."""


class ClientState(NamedTuple):
    """The data of a panel's run that a browser already has.

    run : number of the run
    newest_sent : newest number sent, by name, for items numbered and sent once, such as samples or pairs
    numbers_due : whether the next frame has numbers; otherwise ``encode`` skips work needed only for them,
        and the browser keeps its old ones
    """

    run: int
    newest_sent: Mapping[str, int] = MappingProxyType({})
    numbers_due: bool = True


class PanelContent(NamedTuple):
    """A panel's part of the next frame.

    values : JSON values for the panel's own JavaScript. Register sentences with numbers in WORDS_OF_NUMBERS,
        and blocks that identify algorithms in BLOCKS_OF_NUMBERS: a quiz hides them.
    blocks : arrays by name
    client : the browser's state after the frame
    warning : one sentence for the reader; "" (the default): none
    """

    values: dict[str, Any]
    blocks: dict[str, Block]
    client: ClientState
    warning: str = ""


Encode = Callable[[Any, FrameRequest, ClientState], PanelContent | None]
"""Encodes a snapshot of one kind; returns None if its pictures differ in size from the request."""

Readouts = Callable[[Any, Any], Sequence[Number]]
"""Returns the numbers of a panel with this algorithm and plan."""

Snapshots = list[tuple[int, Any]]

AdjustAll = Callable[[Race[Any], Snapshots], Snapshots]
"""Adjusts the snapshots of all panels for display side by side."""


class PanelEncoder(NamedTuple):
    """The encoder of one kind of snapshot, its readouts, and the views that may be requested."""

    encode: Encode
    readouts: Readouts
    views: tuple[str, ...]
    adjust_all: AdjustAll | None


_encoders: dict[type[Snapshot], PanelEncoder] = {}


def frame_encoder(
    snapshot: type[Snapshot],
    readouts: Readouts,
    views: tuple[str, ...],
    adjust_all: AdjustAll | None = None,
) -> Callable[[Encode], Encode]:
    """Register the decorated function as the encoder of a kind of snapshot."""

    def register(encode: Encode) -> Encode:
        _encoders[snapshot] = PanelEncoder(encode, readouts, views, adjust_all)
        return encode

    return register


def registered_views() -> set[str]:
    """Return the views that the registered encoders can show."""
    return {view for encoder in _encoders.values() for view in encoder.views}


VALUES_OF_PICTURES = ("state", "bins_before")
"""Values needed to draw a panel's pictures: a frame that hides names has only these."""

WORDS_OF_NUMBERS = ("standing", "since", "verdict", "findings")
"""Values with numbers in sentences: a frame that hides numbers leaves them empty."""

BLOCKS_OF_NUMBERS = ("trace", "histogram", "energy", "energy_class", "autocorrelation", "jumps")
"""Blocks that a frame without names omits: curves and bars that only some algorithms have."""


class FrameEncoder:
    """Makes the frames for one browser, and remembers what the browser has.

    hidden : content that the frames omit; without names, they have only pictures and class strips
    """

    def __init__(self, race: PageRace[Any], hidden: Hidden = "nothing") -> None:
        self._race, self._hidden = race, hidden
        self._request: FrameRequest | None = None
        self._sent: tuple[Any, ...] | None = None  # what the last frame was made of
        self._clients: dict[int, ClientState] = {}  # by key of the panel
        self._readouts: dict[int, Sequence[Number]] = {}  # of the panel's run
        self._numbers_at = 0.0  # time.monotonic() of the last frame with numbers
        self._numbers_of: Any = None  # the request and unit, and run, status, knobs and steps of the panels
        self._numbers_left_out = False  # from the last frame
        self._numbers_unit = ""  # the unit of comparison of the last numbers
        self._charts = NO_CHARTS  # the contents that the browser has, by key

    def has_news(self, request: FrameRequest) -> bool:
        """Return whether the next frame would differ from the last one, and keep the page awake.

        Even if the runs have not changed, it may have the numbers that were not yet due in the last one, or
        are in another unit, or new charts.
        """
        if self._sent != (request, self._race.running, *self._race.poll()):
            return True
        if self._newest_charts() is not self._charts:
            return True
        if self._numbers_left_out:
            return time.monotonic() - self._numbers_at > NUMBERS_SECONDS
        return self._numbers_unit != self._race.cost_unit

    def _newest_charts(self) -> Mapping[str, Any]:
        return self._race.parts.renew() if self._hidden == "nothing" else NO_CHARTS

    def _take_numbers(self, request: FrameRequest, snapshots: Snapshots) -> bool:
        """Return whether the next frame has numbers: not too often while all runs simply go on, or rest."""
        self._numbers_unit = self._race.cost_unit
        steps = [shown.n if shown.status != "running" else None for _, shown in snapshots]
        runs = [(key, shown.run, shown.status, shown.algorithm) for key, shown in snapshots]
        numbers_of = request, self._numbers_unit, runs, steps
        recent = time.monotonic() - self._numbers_at < NUMBERS_SECONDS
        self._numbers_left_out = recent and self._numbers_of == numbers_of
        if not self._numbers_left_out:
            self._numbers_at, self._numbers_of = time.monotonic(), numbers_of
        return not self._numbers_left_out

    def encode_next(self, request: FrameRequest) -> bytes:
        """Make the next frame; from now on the browser is assumed to have it."""
        if request != self._request:
            self._request = request
            self._clients.clear()
            self._charts = NO_CHARTS
        # A command takes effect at once, but a snapshot's status only changes with the first step, which may
        # have to be compiled: until then a paused run is shown as waiting.
        waiting = self._race.running
        panels = []
        newest = self._race.poll()
        self._sent = (request, waiting, *newest)
        numbers = self._take_numbers(request, newest)
        shown = newest
        if newest and numbers and (adjust_all := _encoders[type(newest[0][1])].adjust_all):
            shown = adjust_all(self._race, newest)
        for key, snapshot in shown:
            if key not in request.panels:
                continue
            client = self._clients.get(key)
            if client is None or client.run != snapshot.run:
                client = ClientState(snapshot.run)
                if not self._declare_readouts(key, snapshot):
                    continue
            client = client._replace(numbers_due=numbers)
            content = _encoders[type(snapshot)].encode(snapshot, request, client)
            if content is not None:
                self._clients[key] = content.client
                head, blocks = self._head(key, snapshot, content, waiting), content.blocks
                if numbers:
                    head["readouts"] = {
                        number.name: finite(number.shown(snapshot)) for number in self._readouts[key]
                    }
                if self._hidden == "names":
                    head, blocks = _without_names(head, blocks)
                elif self._hidden == "numbers" and numbers:
                    head |= {"readouts": {}} | {name: "" for name in WORDS_OF_NUMBERS if name in head}
                panels.append((head, blocks))
        before, self._charts = self._charts, self._newest_charts()
        charts = None  # the browser has them
        if self._charts is not before:
            charts = {key: chart is before.get(key) or chart for key, chart in self._charts.items()}
        return write_frame(request._asdict(), panels, waiting, charts)

    def _declare_readouts(self, key: int, snapshot: Snapshot) -> bool:
        """Record the readouts of a panel's run; return False if the panel has since been removed."""
        plans = [panel.plan for panel in self._race.panels if panel.key == key]
        for plan in plans:
            self._readouts[key] = _encoders[type(snapshot)].readouts(snapshot.algorithm, plan)
        return bool(plans)

    def _head(self, key: int, snapshot: Snapshot, content: PanelContent, waiting: bool) -> dict[str, Any]:
        """Return the header of a panel's part, without its readouts."""
        head: dict[str, Any] = {
            "key": key,
            "run": snapshot.run,
            "status": "waiting" if waiting and snapshot.status == "paused" else snapshot.status,
            "n": snapshot.n,
        }
        if snapshot.status == "starting":
            panel_of_key = (panel for panel in self._race.panels if panel.key == key)
            head["compiling"] = next((panel.compiling for panel in panel_of_key), None)
        if snapshot.status in ("failed", "rebuilding"):
            head |= {"error": without_commands(snapshot.error or ""), "rebuilt": snapshot.rebuilt}
        if content.warning:
            head["warning"] = content.warning
        if content.values:
            head |= content.values
        return head


def _without_names(head: dict[str, Any], blocks: dict[str, Block]) -> tuple[dict[str, Any], dict[str, Block]]:
    """Return only the pictures of a panel's part, without anything that identifies the algorithm."""
    kept = ("key", "run", "status", "n", "compiling", *VALUES_OF_PICTURES)
    head = {name: head[name] for name in kept if name in head} | {"readouts": {}}
    return head, {k: block for k, block in blocks.items() if k not in BLOCKS_OF_NUMBERS}
