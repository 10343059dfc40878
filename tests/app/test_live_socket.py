"""The live socket under attack: every refusal, and limits that protect the other visitors."""

import base64
import json
import threading
import time

import numpy as np
import pytest
from routes import HOME, closed, served
from starlette.middleware import Middleware
from starlette.websockets import WebSocketDisconnect
from waiting import PATIENCE, wait, wait_for_pause

from rbmviz import BadInput, make_sampler
from rbmviz.session import (
    SamplingRun,
    SamplingSetup,
)
from rbmviz_app import race as page_race
from rbmviz_app.races import races_by_token
from rbmviz_app.sockets import Sockets
from rbmviz_app.stream import socket as live
from rbmviz_app.stream.encoder import FrameEncoder
from rbmviz_app.stream.requests import MAX_PANELS, MOST
from tests.frames import read_header

ROUTE = "ws://127.0.0.1:8501/rbmviz/live/"
PAGE = {"origin": HOME}
REQUEST = {"fps": 60, "view": "sequence", "pixels": "binary", "cells": 4, "n_visible": 5, "panels": [0]}
REQUEST |= {"frames": 1}


@pytest.fixture
def race(open_race, model):
    """A panel of a tiny model that runs, known by the token 'secret'."""
    race = open_race(SamplingSetup(model), make_sampler("rates_fpcd"), rate=200)
    race.resume()
    races_by_token()["secret"] = race
    return race


@pytest.fixture
def client(race):
    with served(live, Middleware(Sockets)) as client:
        yield client


def connect(client, token="secret", **headers):
    return client.websocket_connect(ROUTE + token, headers=PAGE | headers)


def frame(socket):
    return read_header(socket.receive_bytes())


def test_a_page_of_ours_gets_frames_and_turns_knobs(client, race):
    with connect(client) as socket:
        socket.send_json(REQUEST)
        assert frame(socket)["request"] == REQUEST
        socket.send_json({"panel": 0, "knobs": {"eps": 0.25}})
        wait(lambda: race.panels[0].algorithm.eps == 0.25, "another step size")
        socket.send_json(REQUEST)
        [head] = frame(socket)["panels"]
        assert head["run"] == 1


def test_a_browser_that_comes_back_opens_its_page_until_it_goes(client, race):
    """Streamlit runs no script then that would."""
    race.close()
    with connect(client) as socket:
        socket.send_json(REQUEST)
        wait(lambda: race.is_open, "the page is opened")
    wait(lambda: not race.is_open, "the page is left")


def test_a_page_goes_on_if_only_streamlits_connection_was_lost(client, race):
    """Its socket stays, and asks again when half of its frames have come, which it does not wait for."""
    with connect(client) as socket:
        socket.send_json(REQUEST | {"frames": 4})
        frame(socket)
        race.leave()
        assert not race.is_open
        left_at = time.monotonic()
        for _ in range(3):
            n = frame(socket)["panels"][0]["n"]
        assert time.monotonic() - left_at < live.QUIET_SECONDS
        assert not race.is_open  # a connection that nobody reads asks for nothing
        socket.send_json(REQUEST)
        wait(lambda: race.is_open, "the page is opened")
        frame(socket)
        wait(lambda: race.peek()[0][1].n > n, "it goes on")
    wait(lambda: not race.is_open, "the page is left")


def test_a_program_without_an_origin_needs_the_token_all_the_same(client):
    with client.websocket_connect(ROUTE + "secret") as socket:
        socket.send_json(REQUEST)
        assert frame(socket)["request"] == REQUEST
    with client.websocket_connect(ROUTE + "guessed") as socket:
        assert closed(socket) == (live.UNKNOWN_TOKEN, "This page belongs to a session that has ended.")


def test_a_name_that_now_leads_to_this_machine_gets_nothing(client):
    """DNS rebinding; what else each socket refuses at its door stands in ``test_sockets``."""
    rebound = {"host": "evil.example:8501", "origin": "http://evil.example:8501"}
    with pytest.raises(WebSocketDisconnect), connect(client, **rebound):
        pass
    with connect(client, host="localhost:8501", origin="http://localhost:8501") as socket:
        socket.send_json(REQUEST)
        assert frame(socket)


BROKEN = {
    "a knob with the name of a parameter": '{"panel": 0, "knobs": {"key": 1}}',
    "nonsense": "nonsense",
    "bytes": b"\x00" * 100,
    "a knob in other letters": json.dumps({"panel": 0, "knobs": {"ж" * 300: 1}}),
    "no object": "[1, 2]",
    "deep nesting": "[" * 2000,
    "a huge number": '{"panel": 0, "knobs": {"eps": ' + "9" * 3900 + "}}",
    "a request and a knob": json.dumps(REQUEST | {"panel": 0, "knobs": {"eps": 0.1}}),
    "NaN": json.dumps(REQUEST | {"fps": float("nan")}),
    "an infinite rate": json.dumps(REQUEST).replace("60", "1e999"),
    "a rate in words": json.dumps(REQUEST | {"fps": "20"}),
    "a view of its own": json.dumps(REQUEST | {"view": "all"}),
    "a billion cells": json.dumps(REQUEST | {"cells": 10**9}),
    "a large width": json.dumps(REQUEST | {"n_visible": 10**30}),
    "too many panels": json.dumps(REQUEST | {"panels": list(range(MAX_PANELS + 1))}),
    "too many frames": json.dumps(REQUEST | {"frames": MOST["frames"] + 1}),
    "panels in words": json.dumps(REQUEST | {"panels": ["0"]}),
    "an entry that no page sends": json.dumps(REQUEST | {"at": 5}),
    "a panel in words": '{"panel": "0", "knobs": {"eps": 0.1}}',
    "no knob": '{"panel": 0, "knobs": {}}',
    "an unknown button": '{"press": "undo", "page": "0123456789abcdef", "n": 1}',
    "a page by another name": '{"press": "play", "page": "../0123456789abc", "n": 1}',
    "half a press": '{"press": "play", "page": "0123456789abcdef", "n": 1.5}',
    "an unknown knob": '{"panel": 0, "knobs": {"hot": 1}}',
    "a knob of Python": '{"panel": 0, "knobs": {"__class__": 1}}',
    "a knob that begins anew": '{"panel": 0, "knobs": {"n_chains": 7}}',
    "a knob out of range": '{"panel": 0, "knobs": {"eps": 1e308}}',
    "a whole number beyond all floats": '{"panel": 0, "knobs": {"eps": ' + "9" * 400 + "}}",
    "a knob that is NaN": '{"panel": 0, "knobs": {"eps": NaN}}',
    "a knob in words": '{"panel": 0, "knobs": {"eps": "large"}}',
    "a sample in words": '{"panel": 0, "sample": "1"}',
    "a sample before the first": '{"panel": 0, "sample": -1}',
    "half a sample": '{"panel": 0, "sample": 0.5}',
    "a sample beyond all integers": '{"panel": 0, "sample": 9007199254740993}',
    "a tile of a panel that is a truth": '{"panel": true, "sample": 0}',
    "a nested knob": '{"panel": 0, "knobs": {"eps": {"eps": 1}}}',
}


@pytest.mark.parametrize("message", BROKEN.values(), ids=BROKEN)
def test_invalid_messages_close_the_connection_with_a_reason(client, race, message):
    before = race.panels[0].algorithm
    with connect(client) as socket:
        (socket.send_bytes if isinstance(message, bytes) else socket.send_text)(message)
        code, reason = closed(socket)
    assert code == live.UNSUPPORTED
    assert 10 < len(reason.encode()) <= 123
    assert race.panels[0].algorithm == before
    assert not live._connections


def test_knob_of_a_removed_panel_is_ignored(client):
    with connect(client) as socket:
        socket.send_json({"panel": 77, "knobs": {"eps": 0.1}})
        socket.send_json(REQUEST)
        assert frame(socket)["request"] == REQUEST


def test_a_tile_is_what_the_model_and_the_training_set_say_of_a_sample(open_race, client, model, toy):
    race = open_race(SamplingSetup(model, toy), make_sampler("gibbs"), rate=200)
    race.step(20)
    races_by_token()["tiles"] = race
    wait(lambda: race.panels[0].snapshot.n == 20, "all samples")
    newest = race.panels[0].snapshot.newest_samples
    v = np.unpackbits(newest.v[7:8], axis=1, count=newest.n_visible)
    with connect(client, "tiles") as socket:
        for asked in ({"panel": 0, "sample": 7}, {"panel": 0, "sample": 20}, {"panel": 5, "sample": 7}):
            socket.send_json(asked)
            tile = socket.receive_json()["tile"]
            assert {name: tile[name] for name in asked} == asked
            assert ("energy" in tile) == (asked == {"panel": 0, "sample": 7})
            if "energy" in tile:
                known = tile
    assert known["energy"] == pytest.approx(model.rbm.free_energy(v)[0])
    p = np.frombuffer(base64.b64decode(known["p"]), np.uint8) / 255
    np.testing.assert_allclose(p, model.rbm.mean_visible(model.rbm.mean_hidden(v))[0], atol=0.002)
    differ = (toy.train != v).sum(axis=1)
    nearest = known["nearest"]
    example = np.unpackbits(np.frombuffer(base64.b64decode(nearest["v"]), np.uint8), count=len(v[0]))
    assert nearest["differ"] == differ.min() == (example != v[0]).sum()
    assert nearest["of"] == toy.train_labels[differ.argmin()]


def test_connections_to_one_page_are_bounded(client):
    sockets = [connect(client) for _ in range(live.MAX_SOCKETS)]
    for socket in sockets:
        socket.__enter__()
    with connect(client) as one_more:
        assert closed(one_more) == (live.BUSY, "This page has too many connections.")
    sockets.pop().__exit__(None, None, None)
    wait(lambda: live._connections["secret"] < live.MAX_SOCKETS, "one has gone")
    with connect(client) as another:
        another.send_json(REQUEST)
        assert frame(another)
    for socket in sockets:
        socket.__exit__(None, None, None)
    wait(lambda: not live._connections, "all have gone")


def test_newest_value_of_a_knob_wins_without_a_restart(client, race, monkeypatch):
    turned, turn = [], race.set_live_knobs
    first, go_on = threading.Event(), threading.Event()

    def slowly(panel, **knobs):
        turned.append(knobs)
        first.set()
        assert go_on.wait(PATIENCE)
        turn(panel, **knobs)

    monkeypatch.setattr(race, "set_live_knobs", slowly)
    with connect(client) as socket:
        socket.send_json({"panel": 0, "knobs": {"eps": 0.5}})
        assert first.wait(PATIENCE)
        for i in range(100):
            socket.send_json({"panel": 0, "knobs": {"eps": (1 + i) / 200}})
        socket.send_json({"panel": 0, "knobs": {"alpha": 0.9}})
        socket.send_json(REQUEST)
        run = frame(socket)["panels"][0]["run"]  # frames go on meanwhile
        go_on.set()
        wait(lambda: race.panels[0].algorithm.alpha == 0.9, "the last value")
    assert turned == [{"eps": 0.5}, {"eps": 0.5, "alpha": 0.9}]
    assert race.poll()[0][1].run == run == 1


def test_frame_comes_with_the_end_of_a_job(client, race, monkeypatch):
    """Without it there would be none: nothing is looked at in between."""
    monkeypatch.setattr(live, "POLL_SECONDS", 1e6)
    shown = []

    def read(socket):
        for _ in range(6):
            socket.send_json(REQUEST)
            shown.append(frame(socket)["panels"][0]["n"])

    wait(lambda: race.peek()[0][1].n > 0, "a start")
    with connect(client) as socket:
        reader = threading.Thread(target=read, args=(socket,), daemon=True)
        reader.start()
        wait(lambda: len(shown) == 6, "six frames")
        assert sorted(shown) == shown
        assert len(set(shown)) > 3  # a frame with numbers may follow its pictures


def test_a_request_gets_as_many_frames_as_it_asks_for(client, monkeypatch):
    taken, take_request = [], live.PendingMessages.take_request

    async def note_and_take(self):
        taken.append(len(made))
        return await take_request(self)

    made, original = [], FrameEncoder.encode_next
    monkeypatch.setattr(FrameEncoder, "encode_next", lambda *asked: made.append(asked) or original(*asked))
    monkeypatch.setattr(live.PendingMessages, "take_request", note_and_take)
    with connect(client) as socket:
        socket.send_json(REQUEST | {"frames": 3})
        assert [frame(socket)["request"]["frames"] for _ in range(3)] == [3, 3, 3]
        wait(lambda: taken == [0, 3], "it waits for a request")
        socket.send_json(REQUEST | {"frames": 2})
        assert [frame(socket)["request"]["frames"] for _ in range(2)] == [2, 2]
        wait(lambda: taken == [0, 3, 5], "it waits again")


def test_a_request_replaces_the_frames_that_are_to_come(client, race):
    race.pause()
    wait(lambda: all(snapshot.status == "paused" for _, snapshot in race.peek()), "a page at rest")
    with connect(client) as socket:
        for cells in range(1, 21):  # at rest, only another request brings a frame
            socket.send_json(REQUEST | {"cells": cells, "frames": 8})
            assert frame(socket)["request"]["cells"] == cells


def test_paused_page_with_other_panels_is_answered_at_once(client, race, monkeypatch):
    """Else it would wait for the frame by which dead connections are found: seconds without a picture."""
    taken, take_request = [], live.PendingMessages.take_request

    async def take_and_note(self):
        taken.append(await take_request(self))
        return taken[-1]

    monkeypatch.setattr(live, "QUIET_SECONDS", 15.0)
    monkeypatch.setattr(live.PendingMessages, "take_request", take_and_note)
    race.pause()
    wait(lambda: all(shown.status == "paused" for _, shown in race.peek()), "a page at rest")
    with connect(client) as socket:
        socket.send_json(REQUEST)
        assert frame(socket)["request"] == REQUEST
        socket.send_json(REQUEST)  # it waits: nothing is new
        wait(lambda: len(taken) == 2, "the second request")
        socket.send_json(REQUEST | {"panels": []})
        assert frame(socket)["request"]["panels"] == []


def test_an_error_in_making_a_frame_is_no_lost_connection(client, monkeypatch):
    """It would be in no log, and the page would connect again for ever."""

    def broken(encoder, request):
        raise RuntimeError("dictionary changed size during iteration")

    monkeypatch.setattr(live.FrameEncoder, "encode_next", broken)

    def ask():
        with connect(client) as socket:
            socket.send_json(REQUEST)
            closed(socket)

    with pytest.raises(ExceptionGroup) as told:
        ask()
    assert "changed size" in str(told.value.exceptions)


def test_a_live_knob_does_not_begin_a_failed_run_anew(client, race, monkeypatch):
    def fail(run, n):
        raise BadInput("no more: 'rbmviz sample' makes some.")

    monkeypatch.setattr(SamplingRun, "advance", fail)
    wait(lambda: race.poll()[0][1].status == "failed", "a failure")
    with connect(client) as socket:
        socket.send_json(REQUEST)
        assert frame(socket)["panels"][0]["error"] == "no more."
    monkeypatch.undo()
    race.set_live_knobs(0, eps=0.2)
    assert (race[0].algorithm.eps, race[0].snapshot.run) == (0.2, 1)
    race.apply_knobs(0, eps=0.2)  # where the hand lets go
    wait(lambda: race.poll()[0][1].status == "running", "a new run")
    assert race[0].snapshot.run == 2


# Presses of Play, Pause, Step and Reset: each acts once, however often it is sent.

NAME = "0123456789abcdef"


def press(name, n, page=NAME):
    return {"press": name, "page": page, "n": n}


def answer(socket):
    """Return the next answer to a press, frames before it left aside."""
    while True:
        message = socket.receive()
        if message.get("text"):
            return json.loads(message["text"])


def paused(race):
    wait_for_pause(race)
    return race.poll()[0][1].n


def test_buttons_act_in_the_order_of_their_presses_and_frames_say_whether_the_page_plays(client, race):
    with connect(client) as socket:
        socket.send_json(REQUEST)
        frame(socket)
        socket.send_json(press("pause", 1))
        assert answer(socket) == {"done": 1, "running": False}
        n, run = paused(race), race.poll()[0][1].run
        socket.send_json(REQUEST)
        assert not frame(socket)["running"]
        for i in range(50):
            socket.send_json(press("step", 2 + i))
        assert [answer(socket)["done"] for _ in range(50)] == list(range(2, 52))
        wait(lambda: race.poll()[0][1].n == n + 50, "fifty steps")
        socket.send_json(press("reset", 52))
        socket.send_json(press("play", 53))
        assert [answer(socket) for _ in range(2)] == [
            {"done": 52, "running": False},
            {"done": 53, "running": True},
        ]
        wait(lambda: race.poll()[0][1].run == run + 1, "another run")
        socket.send_json(REQUEST)
        assert frame(socket)["running"]


def test_two_connections_with_the_same_press_make_one_step(race, monkeypatch):
    begun, go_on, made = threading.Event(), threading.Event(), []

    def slowly(self):
        made.append(self)
        begun.set()
        assert go_on.wait(PATIENCE)

    monkeypatch.setitem(page_race.CARRIES_OUT, "step", slowly)
    threads = [threading.Thread(target=race.carry_out, args=("step", NAME, 1)) for _ in "12"]
    for thread in threads:
        thread.start()
    assert begun.wait(PATIENCE)
    go_on.set()
    for thread in threads:
        thread.join(PATIENCE)
    assert made == [race]


def test_more_presses_than_a_page_leaves_unanswered_end_the_connection(client, race, monkeypatch):
    go_on = threading.Event()
    monkeypatch.setattr(live, "MAX_PRESSES", 5)
    monkeypatch.setitem(page_race.CARRIES_OUT, "step", lambda race: go_on.wait(PATIENCE))
    with connect(client) as socket:
        for i in range(10):
            socket.send_json(press("step", i + 1))
        wait(lambda: threading.Timer(0.3, go_on.set).start() or True, "a late end of the first")
        assert closed(socket) == (live.UNSUPPORTED, "More than 5 presses of buttons wait.")


def test_a_race_remembers_only_so_many_pages(race, monkeypatch):
    monkeypatch.setitem(page_race.CARRIES_OUT, "step", lambda race: None)
    for i in range(3 * page_race.MAX_PAGES):
        race.carry_out("step", f"{i:016x}", 1)
    assert len(race.presses) == page_race.MAX_PAGES
