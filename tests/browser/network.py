"""The network between a browser and the server, which a test can cut."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit


class Network:
    """A relay on a port of its own. While it is cut, nothing passes, and nobody is told.

    address : of the server through this network
    """

    def __init__(self, server: str) -> None:
        to = urlsplit(server)
        self._to = to.hostname, to.port
        self._passes = threading.Event()
        self._passes.set()
        self._listens = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._listens.getsockname()[1]}"
        self._accepts = threading.Thread(target=self._accept)
        self._accepts.start()

    def cut(self) -> None:
        """Lose all that is sent from now on, as a phone without signal."""
        self._passes.clear()

    def mend(self) -> None:
        """Pass on what was sent and is sent."""
        self._passes.set()

    def close(self) -> None:
        """End all connections, and accept no more."""
        self.mend()
        self._listens.shutdown(socket.SHUT_RDWR)
        self._accepts.join()

    def _accept(self) -> None:
        with self._listens, contextlib.suppress(OSError), ThreadPoolExecutor(1000) as relays:
            open_ends = []
            while True:
                try:
                    near, _ = self._listens.accept()
                except OSError:  # closed
                    for end in open_ends:
                        _end(end)
                    raise
                far = socket.create_connection(self._to)
                open_ends += near, far
                relays.submit(self._relay, near, far, relays)

    def _relay(self, near: socket.socket, far: socket.socket, relays: ThreadPoolExecutor) -> None:
        with near, far:
            back = relays.submit(self._pass_on, far, near)
            self._pass_on(near, far)
            back.result()

    def _pass_on(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while content := source.recv(65536):
                self._passes.wait()
                sink.sendall(content)
        self._passes.wait()
        _end(source)
        _end(sink)


def _end(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def network_to(server: str) -> Iterator[Network]:
    """Open a network to a server."""
    network = Network(server)
    try:
        yield network
    finally:
        network.close()
