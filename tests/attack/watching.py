"""A shared view and those who watch it: what a crowd gets and costs, and what hostile watchers do.

From the root of the repository, with warm kernels::

    python -m tests.attack.watching --watchers 1 30 100 --seconds 30

Prints a row for each crowd: frames a second of each watcher (median and least), megabits a second of all,
frames and samples a second of the teacher, the share of a core of the server, memory before, at the beginning
and at the end. The watchers count frames and unpack none: they are to cost little beside the server.
"""

import argparse
import asyncio
import contextlib
import json
import statistics
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from tests.attack import mutate
from tests.attack.server import ROOT, Server, serving
from tests.attack.visitor import Refused, Visitor

HEAD = (
    "| watchers | frames/s of each: median, least | Mbit/s of all | teacher: frames/s, samples/s | of a core "
    "| MB without, with, after | \n|--:|--:|--:|--:|--:|--:|"
)


class Watching:
    """One watcher: it counts what it gets."""

    def __init__(self, url: str) -> None:
        self.url = url.replace("http", "ws", 1) + "/live"
        self.frames = self.n_bytes = 0
        self._task: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Connect, and read from then on."""
        socket = await connect(self.url, max_size=None, open_timeout=60, ping_interval=None, proxy=None)
        self._task = asyncio.create_task(self._read(socket))

    async def _read(self, socket: ClientConnection) -> None:
        with contextlib.suppress(ConnectionClosed):
            async with socket:
                async for message in socket:
                    self.frames += isinstance(message, bytes)
                    self.n_bytes += len(message)

    async def close(self) -> None:
        """Leave."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)


async def share(teacher: Visitor) -> str:
    """Have a teacher share the page; return the address for those who watch."""
    await teacher.press("Share this view")
    end = time.monotonic() + 30
    while not teacher.shared:
        if time.monotonic() > end:
            raise Refused("the page tells no address to watch")
        await asyncio.sleep(0.1)
    return teacher.shared


async def crowd(server: Server, n: int, query: str, seconds: float) -> str:
    """Return a row of the table: what so many watchers get, and what they cost."""
    async with Visitor(server.address, query=query) as teacher:
        await teacher.first_picture()
        url = await share(teacher)
        await asyncio.sleep(5)
        without = server.rss
        watchers = [Watching(url) for _ in range(n)]
        try:
            await asyncio.gather(*(watcher.open() for watcher in watchers))
            await asyncio.sleep(5)
            memory, cpu, begin = server.rss, server.cpu_seconds, time.monotonic()
            frames, n_bytes = [watcher.frames for watcher in watchers], sum(w.n_bytes for w in watchers)
            own, steps = teacher.frames, sum(teacher.n.values())
            await asyncio.sleep(seconds)
            passed = time.monotonic() - begin
            rates = [(w.frames - before) / passed for w, before in zip(watchers, frames, strict=True)]
            megabits = 8e-6 * (sum(w.n_bytes for w in watchers) - n_bytes) / passed
            samples = (sum(teacher.n.values()) - steps) / passed / max(len(teacher.n), 1)
            return (
                f"| {n} | {statistics.median(rates):.1f}, {min(rates):.1f} | {megabits:.0f} "
                f"| {(teacher.frames - own) / passed:.1f}, {samples:.1f} "
                f"| {(server.cpu_seconds - cpu) / passed:.0%} "
                f"| {without:.0f}, {memory:.0f}, {server.rss:.0f} |"
            )
        finally:
            await asyncio.gather(*(watcher.close() for watcher in watchers))


async def hostile(server: Server, seconds: float) -> list[tuple[str, str]]:
    """Have watchers say what is damaged, much or nothing at all, beside one who only watches.

    They are another process: whatever it takes them to attack is not to look like what the server loses.
    """
    async with Visitor(server.address) as teacher:
        await teacher.first_picture()
        url = await share(teacher)
        honest = Watching(url)
        await honest.open()
        await asyncio.sleep(5)
        alone, frames, begin = honest.frames / 5, honest.frames, time.monotonic()
        with ProcessPoolExecutor(1, get_context("spawn")) as others:
            attacked = asyncio.get_running_loop().run_in_executor(others, attack, honest.url, seconds)
            ends = await attacked
            rate = (honest.frames - frames) / (time.monotonic() - begin)
            own = teacher.fps_over(seconds)
        await honest.close()
    told = ", ".join(f"{end} {count}" for end, count in sorted(ends.items()))
    return [
        (f"hostile watchers for {seconds:g} s", told),
        ("another watcher before, and beside them", f"{alone:.1f}, {rate:.1f} frames a second"),
        ("the teacher beside them", f"{own:.1f} frames a second"),
    ]


def attack(address: str, seconds: float) -> Counter[str]:
    """Attack the socket of a shared view for so long; return how the connections ended."""
    return asyncio.run(_attack(address, seconds))


async def _attack(address: str, seconds: float) -> Counter[str]:
    rng, ends, stuck = np.random.default_rng(0), Counter[str](), []
    valid = [
        '"alive"',
        '{"panel": 0, "knobs": {"eps": 0.1}}',
        '{"fps": 60, "view": "sequence", "panels": [0]}',
    ]
    begin = time.monotonic()
    while time.monotonic() < begin + seconds:
        text: Any = mutate.pick(rng, valid)
        said = [
            mutate.text(rng, text),
            json.dumps(mutate.json_value(rng, json.loads(text))),
            "alive",
            "k" * 3_000_000,
            b"\x00" * 1000,
        ][int(rng.integers(5))]
        token = "-guessed" if rng.random() < 0.2 else ""
        try:
            where = address.replace("/live", f"{token}/live")
            socket = await connect(where, max_size=None, open_timeout=20, close_timeout=1, proxy=None)
            if said == "alive":  # takes nothing of what is sent to it
                socket.transport.pause_reading()  # type: ignore[attr-defined]
                stuck.append(socket)
                ends["takes nothing"] += 1
                continue
            for _ in range(20):
                await socket.send(said)
            async with asyncio.timeout(5):
                await socket.wait_closed()
            ends[f"closed with {socket.close_code}"] += 1
        except ConnectionClosed as closed:
            ends[f"closed with {closed.rcvd.code if closed.rcvd else 'nothing'}"] += 1
        except TimeoutError:
            ends["stays open"] += 1
        except OSError as error:
            ends[type(error).__name__] += 1
    for socket in stuck:
        socket.transport.abort()
    return ends


async def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--watchers", type=int, nargs="+", default=[1, 30, 100], metavar="N")
    parser.add_argument("--query", default="", help="query string of the teacher's link")
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--root", type=Path, default=ROOT, help="serve another checkout")
    options = parser.parse_args()
    print(HEAD)  # noqa: T201
    for n in options.watchers:
        with tempfile.TemporaryDirectory() as folder:
            with serving(Path(folder) / "log.txt", options.root, RBMVIZ_WATCHERS="1000") as server:
                print(await crowd(server, n, options.query, options.seconds), flush=True)  # noqa: T201


if __name__ == "__main__":
    asyncio.run(_main())
