"""What a timer's message reports is passed on without clicks; all other messages as they came."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg

from rbmviz_app import insides
from rbmviz_app.insides import MESSAGES, ClicksOnce, without_clicks


@pytest.fixture(autouse=True)
def checked(monkeypatch):
    monkeypatch.setattr(insides, "_messages", [])
    insides._read_messages(None)


def test_without_the_check_at_the_start_every_message_passes(monkeypatch):
    monkeypatch.setattr(insides, "_messages", [])
    assert without_clicks(report(True, trigger_value=True)) == report(True, trigger_value=True)


def report(automatic: bool, **click) -> bytes:
    """Return a page's message with the state of one slider, and perhaps a click."""
    message = BackMsg()
    message.rerun_script.is_auto_rerun = automatic
    message.rerun_script.query_string = "t=cd"
    message.rerun_script.widget_states.widgets.add(id="slider", double_value=2.5)
    if click:
        message.rerun_script.widget_states.widgets.add(id="button", **click)
    return message.SerializeToString()


@pytest.mark.parametrize(
    "click",
    [{"trigger_value": True}, {"string_trigger_value": {"data": "x"}}, {"json_trigger_value": '{"key": 3}'}],
)
def test_only_the_clicks_of_a_timer_are_taken_out(click):
    assert without_clicks(report(True, **click)) == report(True)
    assert without_clicks(report(False, **click)) == report(False, **click)


@pytest.mark.parametrize(
    "content", [report(True), report(False), BackMsg(stop_script=True).SerializeToString()]
)
def test_a_message_without_a_click_stays_as_it_is(content):
    assert without_clicks(content) is content


def test_what_is_no_message_is_left_to_streamlit():
    assert without_clicks(b"\xff\xff not a message") == b"\xff\xff not a message"


@pytest.mark.parametrize(
    ("kind", "path", "filtered"),
    [
        ("websocket", MESSAGES, True),
        ("websocket", "/base" + MESSAGES, True),
        ("websocket", "/live/1", False),
        ("http", MESSAGES, False),
    ],
)
def test_only_the_pages_own_connection_is_read(kind, path, filtered):
    sent = report(True, trigger_value=True)
    received = []

    async def app(scope, receive, send):
        received.append(await receive())
        received.append(await receive())

    async def receive():
        if received:
            return {"type": "websocket.disconnect"}
        return {"type": "websocket.receive", "bytes": sent}

    with ThreadPoolExecutor(1) as pool:  # the browser tests of this process have a loop in its main thread
        pool.submit(asyncio.run, ClicksOnce(app)({"type": kind, "path": path}, receive, None)).result()
    assert received[0]["bytes"] == (report(True) if filtered else sent)
    assert received[1] == {"type": "websocket.disconnect"}
