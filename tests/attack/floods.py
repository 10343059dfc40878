"""Floods of a server's sockets and of its route of uploads, and page loads without end."""

import asyncio
import contextlib
import json
import multiprocessing
import os
import time
import urllib.error
import urllib.request
import uuid
from collections import Counter
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import psutil
from streamlit.proto.BackMsg_pb2 import BackMsg
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.attack import mutate
from tests.attack.server import Server
from tests.attack.visitor import STREAM, Refused, Visitor, request_of

Messages = list[str | bytes]


def messages_of(visitor: Visitor) -> dict[str, Messages]:
    """Return the kinds of hostile messages to the live socket of a visitor's page."""
    panel, request, rng = visitor.data["panels"][0]["key"], request_of(visitor.data), np.random.default_rng(0)
    knobs = {"panel": panel, "knobs": {"temperature": 1.0, "eps": 0.1}}
    damaged: Messages = [json.dumps(mutate.json_value(rng, each)) for each in [knobs, request] * 50]
    wishes = [request | {"fps": float("nan")}, request | {"panels": "all", "cells": [1]}]
    turns = [{"panel": panel, "knobs": {"n_chains": 1 + i}} for i in range(50)]
    return {
        "damaged": [*damaged, *map(json.dumps, wishes), "[" * 3000, bytes(1000), "k" * 10**6],
        "knobs": [json.dumps(turn) for turn in [*turns, knobs]],
        "wishes": [json.dumps(request)],
    }


def streamlit_message() -> bytes:
    """Return a message of 36 bytes that makes Streamlit run the page's script."""
    message = BackMsg()
    message.rerun_script.page_script_hash = "0" * 32
    packed = message.SerializeToString()
    assert len(packed) == 36
    return packed


def flood(address: str, path: str, messages: Messages, sockets: int, seconds: float) -> int:
    """Send messages as fast as the server takes them, and read nothing; return how many."""
    with contextlib.suppress(AttributeError, OSError):
        os.sched_setaffinity(0, {1})  # the second core, if there is one: the server has the first
    return asyncio.run(_flood(address, path, messages, sockets, time.monotonic() + seconds))


async def _flood(address: str, path: str, messages: Messages, sockets: int, end: float) -> int:
    sent = 0

    async def one() -> None:
        nonlocal sent
        closed = ConnectionClosed, InvalidStatus, OSError  # TimeoutError is one, too
        protocols = ["streamlit", "PLACEHOLDER_AUTH_TOKEN"] if path.endswith("stream") else None
        while time.monotonic() < end:
            with contextlib.suppress(*closed):
                async with connect(
                    address.replace("http", "ws", 1) + path,
                    origin=address,  # type: ignore[arg-type]
                    subprotocols=protocols,  # type: ignore[arg-type]
                    open_timeout=10,
                    close_timeout=1,
                    ping_interval=None,
                    proxy=None,
                ) as socket:
                    socket.transport.pause_reading()  # type: ignore[attr-defined]
                    while time.monotonic() < end:
                        async with asyncio.timeout(1):
                            await socket.send(messages[sent % len(messages)])
                        sent += 1
                        if sent % 50 == 0:
                            await asyncio.sleep(0)
            await asyncio.sleep(0.1)

    await asyncio.gather(*(one() for _ in range(sockets)))
    return sent


async def floods(server: Server, seconds: float = 4.0) -> tuple[float, dict[str, float], list[str]]:
    """Return the frames a second of a watched page before floods and beside each, and what was seen."""
    psutil.Process(server.process.pid).cpu_affinity([0])
    rates, told = {}, []
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as others:
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(others, os.getpid)  # it is there: only the flood is to be seen
        async with Visitor(server.address) as watched, Visitor(server.address) as victim:
            await asyncio.gather(watched.first_picture(), victim.first_picture())
            view = (await victim.share()).removeprefix(server.address)
            kinds = {what: (victim.data["url"], each, 1) for what, each in messages_of(victim).items()}
            kinds["of watchers"] = (f"{view}/live", kinds["damaged"][1], 2)
            kinds["of guessed tokens"] = (f"{view}-guessed/live", kinds["damaged"][1], 2)
            kinds["of Streamlit's socket"] = (STREAM, [streamlit_message()], 3)
            await asyncio.sleep(8)
            before = watched.fps_over(5)
            for what, flooded in kinds.items():
                frames, begin = watched.frames, time.monotonic()
                sent = await loop.run_in_executor(others, flood, server.address, *flooded, seconds)
                rates[what] = (watched.frames - frames) / (time.monotonic() - begin)
                told.append(f"beside {sent:,} messages {what}: {rates[what]:.1f} of {before:.1f} frames/s")
    return before, rates, told


async def page_loads(server: Server, count: int, at_once: int = 10) -> Counter[str]:
    """Load a page so many times; each load connects, has the page drawn, and goes on to the next one."""
    ends = Counter[str]()

    async def load(i: int) -> None:
        visitor = Visitor(server.address)
        try:
            await visitor.open(60)
            ends["drawn"] += 1
        except Refused as error:
            full = "half of what the server has free" in str(error)
            ends["told that there is no room" if full else f"refused: {error}"] += 1
        await visitor.close(abrupt=i % 2 == 0)

    for begin in range(0, count, at_once):
        await asyncio.gather(*(load(i) for i in range(begin, min(begin + at_once, count))))
    return ends


def put(address: str, session: str, size: int) -> int:
    """Send a file to the route of uploads; return the HTTP status of the answer."""
    page = urllib.request.urlopen(f"{address}/_stcore/health", timeout=30)
    cookie = page.headers.get("Set-Cookie", "").split(";")[0]
    edge = uuid.uuid4().hex
    head = (
        f'--{edge}\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n'
        "Content-Type: text/csv\r\n\r\n"
    )
    request = urllib.request.Request(
        f"{address}/_stcore/upload_file/{session}/{uuid.uuid4()}",
        head.encode() + bytes(size) + f"\r\n--{edge}--\r\n".encode(),
        {
            "Content-Type": f"multipart/form-data; boundary={edge}",
            "Cookie": cookie,
            "X-Xsrftoken": cookie.partition("=")[2],
        },
        method="PUT",
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:  # it has closed the connection, as it may: it does not want to read all of this
        return 0


async def uploads(server: Server, count: int = 40, size: int = 30_000_000) -> Counter[int]:
    """Send files to the route of uploads of one session; return how they were answered."""
    async with Visitor(server.address) as visitor:
        await visitor.first_picture()
        return Counter(
            [await asyncio.to_thread(put, server.address, visitor.session, size) for _ in range(count)]
        )
