"""What one browser is sent next: of each panel only what is new to this browser.

Each kind of snapshot has one encoder. It stands in the ``panel.py`` of its page and is registered there with
``frame_encoder``. A browser can only ask for pictures of a page that this process has drawn, and that page
has loaded its ``panel.py``.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

from app.panel.readouts import Readout, finite
from app.stream.frames import Block, write_frame
from app.stream.requests import FrameRequest
from rbmviz.session import Comparison, Snapshot

SLOW_SECONDS = 0.5
"""What changes slowly (class strips, filters, traces, some readouts) is sent this often."""


@dataclass(frozen=True)
class ClientState:
    """What a browser already has of one run of a panel.

    Parameters
    ----------
    run : int
        Number of the run.
    seen : mapping of str to int
        The newest number that was sent of things that are numbered and sent once: samples, say, or pairs.
    slow_at : float
        When what changes slowly was sent last, on the clock of ``time.monotonic``.
    """

    run: int
    seen: Mapping[str, int] = field(default_factory=dict)
    slow_at: float = 0.0

    @property
    def slow_due(self) -> bool:
        """Whether it is time again for what changes slowly."""
        return time.monotonic() - self.slow_at > SLOW_SECONDS

    def after(self, seen: Mapping[str, int], slow: bool = False) -> Self:
        """Return the state once a frame has been sent; slow: it had in it what changes slowly."""
        return replace(self, seen=seen, slow_at=time.monotonic() if slow else self.slow_at)


class PanelContent(NamedTuple):
    """What the next frame holds of one panel.

    values are JSON values that the panel's own JavaScript reads; blocks are arrays by name; sent is what the
    browser has after the frame; warning is one sentence for a person, or empty.
    """

    values: dict[str, Any]
    blocks: dict[str, Block]
    sent: ClientState
    warning: str = ""


Encode = Callable[[Any, FrameRequest, ClientState], PanelContent | None]
"""Encoder of one kind of snapshot; None where it does not fit the pictures that the browser has laid out."""

Readouts = Callable[[Any, Any], Sequence[Readout]]
"""Readouts of a panel with this algorithm and this plan."""


class PanelEncoder(NamedTuple):
    """How one kind of snapshot is sent: its encoder, its readouts, and the views that may be asked for."""

    encode: Encode
    readouts: Readouts
    views: tuple[str, ...]


_encoders: dict[type[Snapshot], PanelEncoder] = {}


def frame_encoder(
    snapshot: type[Snapshot], readouts: Readouts, views: tuple[str, ...]
) -> Callable[[Encode], Encode]:
    """Register the decorated function as the encoder of one kind of snapshot."""

    def register(encode: Encode) -> Encode:
        _encoders[snapshot] = PanelEncoder(encode, readouts, views)
        return encode

    return register


def known_views() -> set[str]:
    """Return the views that the encoders known so far can show."""
    return {view for encoder in _encoders.values() for view in encoder.views}


class _Client(NamedTuple):
    """What is known of one panel at one browser: what it has, and the readouts of this run."""

    sent: ClientState
    readouts: Sequence[Readout]


class FrameEncoder:
    """Makes the frames of one browser, and remembers what the browser has."""

    def __init__(self, comparison: Comparison[Any]) -> None:
        self._comparison = comparison
        self._request: FrameRequest | None = None
        self._clients: dict[int, _Client] = {}

    def encode_next(self, request: FrameRequest) -> bytes:
        """Make the next frame; from now on the browser counts as having it."""
        if request != self._request:
            self._request = request
            self._clients.clear()
        waiting = self._comparison.waiting_for_all
        panels = []
        for key, shown in self._comparison.snapshots():
            if key not in request.panels:
                continue
            encoder = _encoders[type(shown)]
            client = self._clients.get(key)
            if client is None or client.sent.run != shown.run:
                plan = next(
                    (panel.worker.plan for panel in self._comparison.panels if panel.key == key), None
                )
                if plan is None:  # the panel has been removed meanwhile
                    continue
                client = _Client(ClientState(shown.run), encoder.readouts(shown.algorithm, plan))
            content = encoder.encode(shown, request, client.sent)
            if content is None:
                continue
            slow = content.sent.slow_at != client.sent.slow_at
            head = {
                "key": key,
                "run": shown.run,
                "status": "waiting" if waiting and shown.status == "paused" else shown.status,
                "error": shown.error,
                "n": shown.n,
                "rebuilt": shown.rebuilt,
                "warning": content.warning,
                "readouts": {
                    readout.name: finite(readout.value(shown))
                    for readout in client.readouts
                    if slow or not readout.slow
                },
                **content.values,
            }
            self._clients[key] = client._replace(sent=content.sent)
            panels.append((head, content.blocks))
        return write_frame(request._asdict(), panels)
