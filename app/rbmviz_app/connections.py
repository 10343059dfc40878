"""Connections, before they are requests: how many there are at once, and how long each may take to ask.

By itself uvicorn, which serves the app, keeps connections that send nothing, or half of a request, for ever.
What a WebSocket may say later is limited in ``sockets``.
"""

import asyncio
import functools
from typing import Any

from uvicorn.config import HTTP_PROTOCOLS
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from rbmviz_app.process import open_files

HEAD_SECONDS = 15.0
"""Seconds for a request's line and headers, and without any byte of its body; a later request of the same
connection has up to twice as many."""

FULL = b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


@functools.cache
def most() -> int:
    """Return how many connections the server keeps: half of its file descriptors, as pages need others."""
    return open_files() // 2


class Connection(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """A connection that is closed if it is one too many, or if its client keeps the server waiting."""

    received = 0

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Keep the connection, or refuse it."""
        super().connection_made(transport)
        if len(self.connections) > most():
            transport.write(FULL)
            transport.close()
        else:
            self.loop.call_later(HEAD_SECONDS, self._check, self._awaited())

    def data_received(self, data: bytes) -> None:
        """Take what has come."""
        self.received += len(data)
        super().data_received(data)

    def _awaited(self) -> Any:
        """Return what the client has yet to send, as an object that changes with it; None: nothing."""
        cycle = self.cycle
        if cycle is None or cycle.response_complete:
            return (cycle,)
        return (cycle, self.received) if cycle.more_body and not self.flow.read_paused else None

    def _check(self, before: Any) -> None:
        """Close the connection if the same is awaited as before."""
        if self.transport.is_closing() or self.transport.get_protocol() is not self:  # it is a WebSocket now
            return
        awaited = self._awaited()
        if awaited is not None and awaited == before:
            self.transport.close()
        else:
            self.loop.call_later(HEAD_SECONDS, self._check, awaited)


def limit() -> None:
    """Let uvicorn use this class: Streamlit, which configures it, leaves the choice to uvicorn."""
    HTTP_PROTOCOLS["auto"] = f"{__name__}:{Connection.__name__}"
