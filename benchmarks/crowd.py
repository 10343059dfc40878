"""What a crowd costs and gets: visitors, each with a page of their own, or watchers of one shared view.

From the root of the repository, with warm kernels::

    python -m benchmarks.crowd crowd --crowd 1 8 16 30 --seconds 25
    python -m benchmarks.crowd watchers --crowd 1 30 100 --seconds 60

Prints a row for each crowd. ``--root`` serves another checkout, to compare with.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from pathlib import Path

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from tests.attack.server import ROOT, Server, serving
from tests.attack.visitor import Visitor

CROWD = (
    "| visitors | of a core, each | visitor's own program | frames/s | samples/s a panel "
    "| paused, of a core, each | MB each | MB 40 s after they left |\n|---|---|---|---|---|---|---|---|"
)
WATCHERS = (
    "| watchers | frames/s of each: median, least | Mbit/s of all | teacher: frames/s, samples/s | of a core "
    "| MB without, with, after | \n|--:|--:|--:|--:|--:|--:|"
)


async def warm(server: Server) -> None:
    """Wait until the server has been idle for three seconds, so that its kernels are loaded."""
    quiet = 0
    while quiet < 3:
        before = server.cpu_seconds
        await asyncio.sleep(1)
        quiet = quiet + 1 if server.cpu_seconds - before < 0.1 else 0


async def crowd(server: Server, n: int, query: str, seconds: float) -> str:
    """Return a row of the table: what so many visitors cost and get, and what they leave behind."""
    before = server.rss
    visitors = [Visitor(server.address, query=query) for _ in range(n)]
    try:
        for visitor in visitors:
            await visitor.open()
        await asyncio.gather(*(visitor.first_picture() for visitor in visitors))
        await asyncio.sleep(6)
        share, own, frames, samples = await _measured(server, visitors, seconds)
        memory = (server.rss - before) / n
        await asyncio.gather(*(visitor.press("Pause") for visitor in visitors))
        await asyncio.sleep(5)
        paused, *_ = await _measured(server, visitors, seconds)
    finally:
        await asyncio.gather(*(visitor.close() for visitor in visitors))
    await asyncio.sleep(40)
    return (
        f"| {n} | {share:.1%} | {own:.1%} | {frames:.1f} | {samples:.1f} | {paused:.2%} | {memory:.0f} "
        f"| {server.rss - before:.0f} |"
    )


async def _measured(
    server: Server, visitors: list[Visitor], seconds: float
) -> tuple[float, float, float, float]:
    """Return what each visitor costs and gets.

    Share of a core of the server, and of this process, which plays the visitors; frames a second; samples a
    second of a panel.
    """
    cpu, own, frames = server.cpu_seconds, time.process_time(), sum(visitor.frames for visitor in visitors)
    steps, begin = sum(sum(visitor.n.values()) for visitor in visitors), time.monotonic()
    await asyncio.sleep(seconds)
    passed = time.monotonic() - begin
    each = passed * len(visitors)
    return (
        (server.cpu_seconds - cpu) / each,
        (time.process_time() - own) / each,
        (sum(visitor.frames for visitor in visitors) - frames) / each,
        (sum(sum(visitor.n.values()) for visitor in visitors) - steps)
        / (passed * sum(len(visitor.n) for visitor in visitors)),
    )


class Watcher:
    """One who watches: counts frames and unpacks none, to cost little beside the server."""

    def __init__(self) -> None:
        self.frames = self.n_bytes = 0

    async def read(self, url: str) -> None:
        """Connect, and read until this is cancelled."""
        try:
            async with connect(url, max_size=None, open_timeout=60, ping_interval=None, proxy=None) as socket:
                async for message in socket:
                    self.frames += isinstance(message, bytes)
                    self.n_bytes += len(message)
        except ConnectionClosed:
            pass


async def watchers(server: Server, n: int, query: str, seconds: float) -> str:
    """Return a row of the table: what so many watchers get, and what they cost."""
    async with Visitor(server.address, query=query) as teacher:
        await teacher.first_picture()
        url = (await teacher.share()).replace("http", "ws", 1) + "/live"
        await asyncio.sleep(5)
        without, all_of_them = server.rss, [Watcher() for _ in range(n)]
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(watcher.read(url)) for watcher in all_of_them]
            while not all(watcher.frames for watcher in all_of_them):
                await asyncio.sleep(0.1)
            memory, begin = server.rss, [(watcher.frames, watcher.n_bytes) for watcher in all_of_them]
            (share_of_core, _, own, samples) = await _measured(server, [teacher], seconds)
            rates = [(w.frames - f) / seconds for w, (f, _) in zip(all_of_them, begin, strict=True)]
            n_bytes = sum(w.n_bytes - b for w, (_, b) in zip(all_of_them, begin, strict=True))
            for task in tasks:
                task.cancel()
        return (
            f"| {n} | {statistics.median(rates):.1f}, {min(rates):.1f} | {8e-6 * n_bytes / seconds:.1f} "
            f"| {own:.1f}, {samples:.1f} | {share_of_core:.0%} "
            f"| {without:.0f}, {memory:.0f}, {server.rss:.0f} |"
        )


async def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=["crowd", "watchers"])
    parser.add_argument("--root", type=Path, default=ROOT)
    parser.add_argument("--query", default="", help="query string of the link")
    parser.add_argument("--crowd", type=int, nargs="+", default=[1, 8, 16, 30], metavar="N")
    parser.add_argument("--seconds", type=float, default=30.0)
    options = parser.parse_args()
    head, row = (CROWD, crowd) if options.what == "crowd" else (WATCHERS, watchers)
    print(head)  # noqa: T201
    with tempfile.TemporaryDirectory() as folder:
        with serving(Path(folder) / "log.txt", options.root, RBMVIZ_WATCHERS="1000") as server:
            await warm(server)
            for n in options.crowd:
                print(await row(server, n, options.query, options.seconds), flush=True)  # noqa: T201


if __name__ == "__main__":
    asyncio.run(_main())
