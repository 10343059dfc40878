"""A visitor without a browser, who uses the protocols of Streamlit and of the live frames.

``Visitor`` opens a page over Streamlit's own WebSocket, repeats the fragments that ask for it, finds the
live component in what it is sent, and asks for pictures as ``rbmviz/view/panel/base.js`` does. It reads the
header of a frame, not its pictures, so that dozens of visitors cost little beside the server that they
are to judge. From the command line::

    python -m tests.attack.visitor --address http://127.0.0.1:8501 --seconds 10
"""

import argparse
import asyncio
import contextlib
import json
import secrets
import time
from typing import Any, Self
from urllib.parse import urlsplit

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.frames import read_header

FRAMES_ASKED = 4
"""Frames per request, as ``base.js`` has it."""

STREAM = "/_stcore/stream"
"""Path of Streamlit's own socket."""


class Refused(Exception):
    """The server refuses this visitor, or has sent no frame in time."""


def request_of(data: dict[str, Any]) -> dict[str, Any]:
    """Return the message with which the browser asks for a frame, from the data of the live component."""
    request = {name: data[name] for name in ("fps", "view", "pixels", "n_visible")}
    request |= {"cells": data["side"] ** 2, "panels": [panel["key"] for panel in data["panels"]]}
    order = ("fps", "view", "pixels", "cells", "n_visible", "panels")
    return {name: request[name] for name in order} | {"frames": FRAMES_ASKED}


class Visitor:
    """One open page.

    Parameters
    ----------
    address : str
        Address of the server, as ``http://127.0.0.1:8501``.
    page : str
        Path of the page, ``""`` for the first.
    query : str
        Query string of the link, without ``?``.

    Attributes
    ----------
    frames : int
        Number of received frames.
    times : list of float
        Arrival of each frame, in monotonic seconds.
    states : dict
        Newest header of each panel, by its key.
    exceptions, errors : list of str
        Texts of the exceptions and of the error messages that the page has shown.
    """

    def __init__(self, address: str, page: str = "", query: str = "") -> None:
        self.address, self.page = address.rstrip("/"), page
        self.query = query or ("little=landscape" if page == "chain" else "")  # the part with live panels
        self._base = urlsplit(self.address).path  # of a server behind a proxy
        self.session = ""
        self.data: dict[str, Any] = {}
        self.buttons: dict[str, tuple[str, str]] = {}  # label -> (widget id, fragment id)
        self.shared = ""  # the address for those who watch, if the page is shared
        self.exceptions: list[str] = []
        self.errors: list[str] = []
        self.frames = 0
        self.runs: list[int] = []  # how each run of the script ended
        self.times: list[float] = []
        self.states: dict[int, dict[str, Any]] = {}
        self.opened_at = 0.0
        self.live_closed: tuple[int, str] | None = None
        self._page_hash = ""
        self._cached: dict[str, ForwardMsg] = {}
        self._timers: dict[str, asyncio.Task[None]] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._presses, self._name = 0, secrets.token_hex(8)
        self._transport = ("", "")  # ids of its component and its fragment
        self._arrived = asyncio.Event()
        self._script_done = asyncio.Event()
        self._stream: ClientConnection | None = None
        self._live: ClientConnection | None = None

    # Opening and closing

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def open(self, patience: float = 120.0) -> Self:
        """Open the page and its live pictures; the first may be yet to come.

        Raises
        ------
        Refused
            Where the server refuses the connection, or the page has no live pictures after ``patience`` s.
        """
        self.opened_at = time.monotonic()
        protocols = ["streamlit", "PLACEHOLDER_AUTH_TOKEN", *([self.session] if self.session else [])]
        self._stream = await self._connect(self._base + STREAM, protocols, patience)
        self._tasks = [asyncio.create_task(self._read_stream())]
        self._script_done.clear()
        await self.rerun()
        try:
            async with asyncio.timeout(patience):
                while not self.data and not self._tasks[0].done():
                    await self._moment(self._script_done)
                    if self._script_done.is_set() and not self.data:
                        break
        except TimeoutError:
            pass
        if not self.data:
            told = (self.exceptions + self.errors or ["nothing"])[-1]
            ends = [ForwardMsg.ScriptFinishedStatus.Name(end) for end in self.runs]
            seconds = time.monotonic() - self.opened_at
            gone = self._stream.close_reason or self._stream.close_code
            await self.close()
            raise Refused(
                f"the page has no live pictures; it shows: {told[:300]} (script runs: {ends}, "
                f"after {seconds:.1f} s, connection closed: {gone})"
            )
        self._live = await self._connect(self.data["url"], None, patience)
        self._tasks.append(asyncio.create_task(self._read_live(self._live)))
        return self

    async def close(self, abrupt: bool = False) -> None:
        """Leave; abruptly: as when the network is gone, with no word of farewell."""
        for task in (*self._tasks, *self._timers.values()):
            task.cancel()
        await asyncio.gather(*self._tasks, *self._timers.values(), return_exceptions=True)
        self._tasks, self._timers = [], {}
        for socket in (self._live, self._stream):
            if socket is not None and abrupt:
                socket.transport.abort()
            elif socket is not None:
                await socket.close()
        self._live = self._stream = None

    async def _connect(self, path: str, protocols: list[str] | None, patience: float) -> ClientConnection:
        target = urlsplit(self.address)
        try:
            return await connect(
                f"ws://{target.netloc}{path}",
                origin=f"{target.scheme}://{target.netloc}",  # type: ignore[arg-type]
                subprotocols=protocols,  # type: ignore[arg-type]
                max_size=None,
                open_timeout=patience,
                close_timeout=2,
                ping_interval=None,
                proxy=None,
            )
        except (InvalidStatus, ConnectionClosed, OSError) as error:  # TimeoutError is one, too
            raise Refused(f"{path.split('?')[0]}: {error or type(error).__name__}") from None

    @staticmethod
    async def _moment(event: asyncio.Event, seconds: float = 0.1) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(event.wait(), seconds)

    # The page

    async def rerun(self, fragment: str = "", auto: bool = False, **trigger: str) -> None:
        """Run the page's script, or one fragment of it; trigger: ``widget`` (its id) and ``value`` (JSON)."""
        assert self._stream is not None
        message = BackMsg()
        state = message.rerun_script
        state.query_string, state.page_name, state.page_script_hash = self.query, self.page, self._page_hash
        state.fragment_id, state.is_auto_rerun = fragment, auto
        state.cached_message_hashes.extend(self._cached)
        state.context_info.timezone, state.context_info.locale = "UTC", "en-GB"
        state.context_info.url = f"{self.address}/{self.page}"
        if trigger:
            widget = state.widget_states.widgets.add(id=trigger["widget"])
            if "value" in trigger:
                widget.json_trigger_value = trigger["value"]
            else:
                widget.trigger_value = True
        await self._stream.send(message.SerializeToString())

    async def press(self, label: str) -> None:
        """Press the button with this label; those of the transport go over the live socket."""
        if label in ("Play", "Pause", "Step", "Reset"):
            assert self._live is not None
            self._presses += 1
            press = {"press": label.lower(), "page": self._name, "n": self._presses}
            await self._live.send(json.dumps(press))
            return
        widget, fragment = self.buttons[label]
        await self.rerun(fragment, widget=widget)

    async def share(self) -> str:
        """Share the page; return the address for those who watch."""
        await self.press("Share this view")
        end = time.monotonic() + 30
        while not self.shared:
            if time.monotonic() > end:
                raise Refused("the page tells no address to watch")
            await asyncio.sleep(0.1)
        return self.shared

    async def _read_stream(self) -> None:
        assert self._stream is not None
        try:
            async for packed in self._stream:
                assert isinstance(packed, bytes)
                message = ForwardMsg.FromString(packed)
                if message.WhichOneof("type") == "ref_hash":
                    kept = ForwardMsg()
                    kept.CopyFrom(self._cached[message.ref_hash])
                    kept.metadata.CopyFrom(message.metadata)
                    message = kept
                elif message.metadata.cacheable:
                    self._cached[message.hash] = message
                self._take(message)
        except ConnectionClosed:
            pass
        self._script_done.set()

    def _take(self, message: ForwardMsg) -> None:
        match message.WhichOneof("type"):
            case "new_session":
                new = message.new_session
                self._script_done.clear()
                self.session = new.initialize.session_id or self.session
                self._page_hash = new.page_script_hash
                if not message.metadata.run.fragment_ids:
                    self._stop_timers(list(self._timers))
            case "navigation":  # the page that the shell has chosen by its address
                self._page_hash = message.navigation.page_script_hash
            case "auto_rerun":
                rerun = message.auto_rerun
                self._stop_timers([rerun.fragment_id])
                timer = self._repeat(rerun.fragment_id, rerun.interval)
                self._timers[rerun.fragment_id] = asyncio.create_task(timer)
            case "stop_auto_rerun":
                self._stop_timers(message.stop_auto_rerun.fragment_ids)
            case "script_finished":
                self.runs.append(message.script_finished)
                if message.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN:
                    self._script_done.set()
            case "delta" if message.delta.WhichOneof("type") == "new_element":
                self._take_element(message)

    def _take_element(self, message: ForwardMsg) -> None:
        element = message.delta.new_element
        match element.WhichOneof("type"):
            case "bidi_component":
                component = element.bidi_component
                text = component.json or component.mixed.json
                if "transport" in component.component_name:
                    self._transport = component.id, message.delta.fragment_id
                if '"url"' in text and "panels" in (data := json.loads(text)):  # charts have the address, too
                    self.data = data | {"widget": component.id}
            case "exception":
                self.exceptions.append(f"{element.exception.type}: {element.exception.message}")
            case "alert":
                self.errors.append(element.alert.body)
            case "code" if "/watch/" in element.code.code_text:
                self.shared = element.code.code_text
            case "button":
                self.buttons[element.button.label] = element.button.id, message.delta.fragment_id

    def _stop_timers(self, fragments: Any) -> None:
        for fragment in fragments:
            if fragment in self._timers:
                self._timers.pop(fragment).cancel()

    async def _repeat(self, fragment: str, interval: float) -> None:
        with contextlib.suppress(ConnectionClosed):
            while True:
                await asyncio.sleep(interval)
                await self.rerun(fragment, auto=True)

    # The live pictures

    @property
    def n(self) -> dict[int, int]:
        """Steps of each panel, by its key, in its newest frame."""
        return {key: state["n"] for key, state in self.states.items()}

    async def _ask(self, socket: ClientConnection) -> None:
        await socket.send(json.dumps(request_of(self.data)))

    async def _read_live(self, socket: ClientConnection) -> None:
        try:
            await self._ask(socket)
            to_come = FRAMES_ASKED
            async for frame in socket:
                if isinstance(frame, str):  # a press has been carried out
                    widget, fragment = self._transport
                    done = json.dumps([{"event": "done", "value": self._presses}])
                    await self.rerun(
                        fragment, widget=f"$$STREAMLIT_INTERNAL_KEY_{widget}__events", value=done
                    )
                    continue
                for panel in read_header(frame)["panels"]:
                    self.states[panel["key"]] = panel
                self.frames += 1
                self.times.append(time.monotonic())
                self._arrived.set()
                to_come -= 1
                if to_come <= FRAMES_ASKED // 2:
                    await self._ask(socket)
                    to_come = FRAMES_ASKED
        except ConnectionClosed:
            pass
        self.live_closed = (socket.close_code or 1006, socket.close_reason or "")
        self._arrived.set()

    async def until(self, condition: Any, patience: float = 120.0) -> None:
        """Return when the condition (of no argument) holds after a frame; else raise Refused."""
        end = time.monotonic() + patience
        while not condition():
            if time.monotonic() > end or (self.live_closed and not self._arrived.is_set()):
                raise Refused(f"never came: closed {self.live_closed}, states {self.states}")
            self._arrived.clear()
            await self._moment(self._arrived)

    async def first_picture(self, patience: float = 120.0) -> float:
        """Return the seconds from opening until every panel has made a step."""
        await self.until(lambda: self.states and all(n > 0 for n in self.n.values()), patience)
        return self.times[-1] - self.opened_at

    def fps_over(self, seconds: float) -> float:
        """Return the frames per second over the last ``seconds``."""
        since = time.monotonic() - seconds
        return sum(t > since for t in reversed(self.times)) / seconds


async def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--address", default="http://127.0.0.1:8501")
    parser.add_argument("--seconds", type=float, default=10.0)
    options = parser.parse_args()
    async with Visitor(options.address) as visitor:
        first, before = await visitor.first_picture(), visitor.frames
        await asyncio.sleep(options.seconds)
        rate = (visitor.frames - before) / options.seconds
        print(  # noqa: T201
            f"first picture {first:.2f} s, {rate:.1f} frames/s, n {visitor.n}, "
            f"script runs {visitor.runs}, shown {visitor.exceptions + visitor.errors}"
        )


if __name__ == "__main__":
    asyncio.run(_main())
