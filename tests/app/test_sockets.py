"""What a socket lets through: pages of this server, messages of its size, at its rate."""

import asyncio
import selectors
import time

import pytest
from routes import HOME, closed
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect
from waiting import run, wait

from rbmviz_app import sockets
from rbmviz_app.share.routes import watch_path
from rbmviz_app.sockets import LIVE, POLICY, STREAMLIT, WATCHING, Rate, Sockets, rate_of
from rbmviz_app.stream.socket import live_path

MESSAGES = "/_stcore/stream"
"""Of Streamlit."""

WHERE = [MESSAGES, f"{live_path()}token", f"{watch_path()}token/live"]


class Page:
    """A socket's handler that notes what it has read, and when."""

    def __init__(self):
        self.read, self.at, self.ended_at = [], [], 0.0

    async def serve(self, socket):
        await socket.accept()
        try:
            while True:
                self.read.append(await socket.receive_text())
                self.at.append(time.monotonic())
                await socket.send_text("read")
        except WebSocketDisconnect:
            self.ended_at = time.monotonic()
            await socket.send_text("nobody hears it")


@pytest.fixture
def page():
    return Page()


@pytest.fixture
def client(page):
    routes = [WebSocketRoute(path, page.serve) for path in WHERE]
    with TestClient(Starlette(routes=routes, middleware=[Middleware(Sockets)]), base_url=HOME) as client:
        yield client


def connect(client, path=MESSAGES, origin=HOME):
    headers = {} if origin is None else {"origin": origin}
    return client.websocket_connect(f"ws://127.0.0.1:8501{path}", headers=headers)


def test_each_socket_has_its_rate():
    assert [rate_of(path) for path in (*WHERE, "/base/_stcore/stream", "/other")] == [
        STREAMLIT,
        LIVE,
        WATCHING,
        STREAMLIT,
        STREAMLIT,
    ]


@pytest.mark.parametrize("path", WHERE)
@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "http://127.0.0.1:8502", "https://127.0.0.1:8501", "http://[::1", "null", ""],
)
def test_no_page_of_another_server_opens_a_socket(client, page, path, origin):
    """Also one of another port of this machine, whose browser sends the cookies of ours along."""
    with pytest.raises(WebSocketDisconnect) as refused, connect(client, path, origin):
        pass
    assert (refused.value.code, page.read) == (POLICY, [])


@pytest.mark.parametrize("origin", [HOME, None])
def test_a_page_of_ours_and_a_program_are_let_in(client, page, origin):
    with connect(client, origin=origin) as socket:
        socket.send_text("a click")
        assert socket.receive_text() == "read"


@pytest.mark.parametrize(("path", "rate"), list(zip(WHERE, (STREAMLIT, LIVE, WATCHING), strict=True)))
def test_too_long_message_closes_the_connection(client, page, path, rate, monkeypatch):
    monkeypatch.setattr(sockets, "PENALTY_SECONDS", 0.0)
    with connect(client, path) as socket:
        socket.send_text("x" * (rate.size - 1) + "é")
        assert closed(socket) == (POLICY, f"A message is longer than {rate.size:,} bytes.")
    with connect(client, path) as socket:
        socket.send_text("x" * rate.size)
        assert socket.receive_text() == "read"
    assert page.read == ["x" * rate.size]


def test_fast_messages_wait_and_none_is_lost(client, page, monkeypatch):
    """As after a lost connection, when all that a page has said meanwhile comes at once."""
    monkeypatch.setattr(sockets, "STREAMLIT", Rate(50, 20, 100))
    with connect(client) as socket:
        for i in range(60):
            socket.send_text(str(i))
        for _ in range(60):
            assert socket.receive_text() == "read"
    assert page.read == [str(i) for i in range(60)]
    assert page.at[-1] - page.at[0] >= 0.75  # 20 at once, and 40 at 50 a second


def test_a_flood_ends_the_connection_and_its_sender_waits(client, page, monkeypatch):
    monkeypatch.setattr(sockets, "PENALTY_SECONDS", 0.3)
    monkeypatch.setattr(sockets, "STREAMLIT", Rate(1, 30, 100))
    with connect(client) as socket:
        for _ in range(200):
            socket.send_text("a click")
        assert closed(socket) == (POLICY, "More than 1 messages a second, for too long.")
        assert time.monotonic() - page.ended_at >= 0.29  # the session ends at once, the connection later
    assert len(page.read) < 100


def test_closed_connections_are_not_waited_for(client, page, monkeypatch):
    monkeypatch.setattr(sockets, "STREAMLIT", Rate(0.01, 5, 100))
    monkeypatch.setattr(sockets, "PATIENCE_SECONDS", 1e6)
    with connect(client) as socket:
        for _ in range(50):
            socket.send_text("a click")
        wait(lambda: len(page.read) == 5, "what may come at once")
    wait(lambda: page.ended_at, "the end")
    assert len(page.read) == 5


class Leaping(selectors.DefaultSelector):
    """A selector by which the time of its loop leaps to the next timer: a busy machine changes nothing."""

    now = 0.0

    def select(self, timeout=None):
        self.now += timeout or 0.0
        return super().select(0)


def run_leaping(coroutine):
    """Return what a coroutine without input and output returns, by a clock that stands while it computes."""
    selector = Leaping()
    loop = asyncio.SelectorEventLoop(selector)
    loop.time = lambda: selector.now
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        return runner.run(coroutine)


async def flooded(together, on_read=lambda now: None):
    """Return the messages read within half a second of five floods and one click, and the seconds."""
    now = asyncio.get_running_loop().time
    read = []

    async def visit(name, clicks):
        sent = asyncio.Queue()
        inbox = sockets.Inbox(Rate(1000, 1000, 10), sent.get, together)
        filling = asyncio.create_task(inbox.fill())
        for _ in range(clicks):
            sent.put_nowait({"type": "websocket.receive", "text": name})
        for _ in range(clicks):
            read.append((await inbox.take())["text"])
            on_read(now())
        filling.cancel()

    floods = [asyncio.create_task(visit(f"flood {i}", 1000)) for i in range(5)]
    while len(read) < 10:
        await asyncio.sleep(0.001)
    before, begin = len(read), now()
    await visit("click", 1)
    while now() < begin + 0.5:
        await asyncio.sleep(0.01)
    seconds = now() - begin
    for flood in floods:
        flood.cancel()
    return read[before:], seconds


def test_floods_of_several_connections_share_one_rate():
    """Each is within its own; the click of a visitor who does not flood waits for one message of each."""
    read, seconds = run_leaping(flooded(sockets.Turns(Rate(50, 1, 10))))
    assert read.index("click") <= 6
    assert len(read) <= 50 * seconds + 2


@pytest.mark.parametrize("is_counted", [True, False])
def test_scripts_of_all_connections_share_the_time_of_a_core(monkeypatch, is_counted):
    """At a rate that the messages keep, the scripts that they run would take 50 times as long."""
    monkeypatch.setattr(sockets, "SCRIPTS_BURST", 0.0)
    scripts = sockets.ScriptTime()
    together = sockets.Turns(Rate(1000, 1000, 10), scripts)
    cost = 0.05 * sockets.SCRIPTS_SHARE

    def run_script(now):
        if is_counted:
            scripts.count(cost, now)

    read, seconds = run_leaping(flooded(together, run_script))
    assert read.index("click") <= 6
    assert (len(read) <= seconds / 0.05 + 7) == is_counted


def test_seconds_of_a_script_are_those_of_its_thread(monkeypatch):
    scripts = sockets.ScriptTime()
    monkeypatch.setattr(sockets, "SCRIPTS_BURST", 0.0)
    with scripts.running():
        time.sleep(0.3)
    assert scripts.interval(time.monotonic()) < 0.05
    end = time.thread_time() + 0.1
    with scripts.running():
        while time.thread_time() < end:
            pass
    assert scripts.interval(time.monotonic()) > 0.05


def test_closed_connection_delays_no_other():
    async def left():
        together, sent = sockets.Turns(Rate(1, 1, 10)), asyncio.Queue()
        inbox = sockets.Inbox(Rate(1000, 1000, 10), sent.get, together)
        filling = asyncio.create_task(inbox.fill())
        for _ in range(50):
            sent.put_nowait({"type": "websocket.receive", "text": "a click"})
        sent.put_nowait({"type": "websocket.disconnect"})
        read = [await inbox.take() for _ in range(2)]
        filling.cancel()
        return [message["type"] for message in read], together.due(inbox._now()) - inbox._now()

    read, wait_of_others = run(left())
    assert read == ["websocket.receive", "websocket.disconnect"]
    assert wait_of_others <= 1
