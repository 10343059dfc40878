"""Connections of a real server: what asks for nothing is closed, and what is one too many is refused."""

import asyncio
import contextlib
import socket
import threading
import time

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from waiting import wait
from websockets.sync.client import connect

from rbmviz_app import connections

REQUEST = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"
SECONDS = 0.4


async def answer(request):
    await request.body()
    await asyncio.sleep(float(request.query_params.get("seconds", 0)))
    return PlainTextResponse("answer")


async def echo(web_socket):
    await web_socket.accept()
    await web_socket.send_text(await web_socket.receive_text())


@pytest.fixture
def address(monkeypatch):
    """Serve two routes as Streamlit serves the app; a client has SECONDS, and ten may be connected."""
    monkeypatch.setattr(connections, "HEAD_SECONDS", SECONDS)
    monkeypatch.setattr(connections, "most", lambda: 10)
    monkeypatch.setattr(connections, "HTTP_PROTOCOLS", dict(uvicorn.config.HTTP_PROTOCOLS))
    monkeypatch.setattr(uvicorn.config, "HTTP_PROTOCOLS", connections.HTTP_PROTOCOLS)
    connections.limit()
    app = Starlette(routes=[Route("/", answer, methods=["GET", "POST"]), WebSocketRoute("/socket", echo)])
    config = uvicorn.Config(app, "127.0.0.1", 0, log_level="error", ws="websockets-sansio")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    wait(lambda: server.started, "a server")
    yield server.servers[0].sockets[0].getsockname()
    server.should_exit = True
    thread.join()


def ends(address, content):
    """Send this; return all that comes back until the server closes the connection."""
    with socket.create_connection(address, timeout=60) as client:
        client.sendall(content)
        return b"".join(iter(lambda: client.recv(10_000), b""))


@pytest.mark.parametrize(
    "content",
    [b"", b"GET / HT", REQUEST[:-2], b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\nhalf"],
)
def test_silent_client_is_disconnected(address, content):
    begin = time.monotonic()
    assert b"200 OK" not in ends(address, content)
    assert time.monotonic() - begin > SECONDS / 2


def test_half_of_a_second_request_does_not_keep_the_connection(address):
    assert ends(address, REQUEST + REQUEST[:9]).endswith(b"answer")


def test_slow_answer_and_open_socket_stay(address):
    slow = REQUEST.replace(b"GET /", f"GET /?seconds={4 * SECONDS}".encode())
    host, port = address
    with connect(f"ws://{host}:{port}/socket") as web_socket:
        assert ends(address, slow.replace(b"host: x", b"host: x\r\nconnection: close")).endswith(b"answer")
        web_socket.send("still here")
        assert web_socket.recv() == "still here"


def test_connections_beyond_the_limit_are_refused(address, monkeypatch):
    monkeypatch.setattr(connections, "HEAD_SECONDS", 60)
    with contextlib.ExitStack() as stack:
        idle = [stack.enter_context(socket.create_connection(address, timeout=60)) for _ in range(10)]
        assert b"503 Service Unavailable" in ends(address, b"")
        idle[0].sendall(REQUEST)
        assert idle[0].recv(10_000).startswith(b"HTTP/1.1 200 OK")


def test_server_keeps_descriptors_for_its_pages():
    assert 0 < connections.most() <= connections.open_files() / 2
