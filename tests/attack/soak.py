"""A server under load for a given time: ``python -m tests.attack.soak --minutes 30``.

Prints a Markdown table: frames per second, memory and its growth, threads, share of a core, memory of a
visitor and how much of it is freed, and the time to the first frame alone and beside a visitor at full speed.
The visitors are frame readers (see ``visitor``) in this process; the share of a core is that of the server
alone.
"""

import argparse
import asyncio
import contextlib
import datetime
import itertools
import json
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import numpy as np
from scipy.stats import theilslopes

from benchmarks.machine import machine
from tests.attack import mutate, watching
from tests.attack.server import ROOT, Server, serving
from tests.attack.visitor import PAGES, Refused, Visitor

MIXED = ("", "", "", "", *PAGES[1:])
"""Pages of the eight visitors: half of them stay on the first one."""

FULL_SPEED = "speed=full"
"""Query of a link to the first page at full speed."""

DIED = "the server died"

Rows = list[tuple[str, str]]


class Watch:
    """A record of the memory, threads and processor time of a server while a block runs."""

    def __init__(self, server: Server, every: float = 2.0) -> None:
        self._server, self._every = server, every
        self.at: list[float] = []
        self.rss: list[float] = []
        self.threads: list[int] = []

    async def __aenter__(self) -> "Watch":
        self._began, self._cpu = time.monotonic(), self._server.cpu_seconds
        self._task = asyncio.create_task(self._look())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        self.seconds = time.monotonic() - self._began
        self.cpu = (self._server.cpu_seconds - self._cpu) / self.seconds

    async def _look(self) -> None:
        while True:
            self.at.append(time.monotonic() - self._began)
            self.rss.append(self._server.rss)
            self.threads.append(self._server.threads)
            await asyncio.sleep(self._every)

    @property
    def slope(self) -> float:
        """Growth in megabytes per minute over the last two thirds: the median slope between two readings.

        Least squares would follow single peaks and dips of some 10 MB.
        """
        late = [(t / 60, m) for t, m in zip(self.at, self.rss, strict=True) if t > self.seconds / 3]
        if len(late) < 3:
            return float("nan")
        at, rss = zip(*late, strict=True)
        return float(theilslopes(rss, at).slope)


@contextlib.asynccontextmanager
async def visiting(*visitors: Visitor) -> AsyncIterator[None]:
    """Open visitors one after another, wait for their first pictures, and close them in the end."""
    try:
        for visitor in visitors:
            await visitor.open()
        for visitor in visitors:
            await visitor.first_picture()
        yield
    finally:
        await asyncio.gather(*(visitor.close() for visitor in visitors))


def longest_gap(visitor: Visitor, since: float) -> float:
    """Return the longest time without a frame since a moment, in seconds."""
    times = [since, *(t for t in visitor.times if t > since), time.monotonic()]
    return max(b - a for a, b in itertools.pairwise(times))


async def mixed(server: Server, minutes: float) -> Rows:
    """Watch eight visitors on five pages."""
    visitors = [Visitor(server.address, page) for page in MIXED]
    async with visiting(*visitors):
        before = [visitor.frames for visitor in visitors]
        async with Watch(server) as watch:
            await asyncio.sleep(60 * minutes)
        rates = [(v.frames - n) / watch.seconds for v, n in zip(visitors, before, strict=True)]
        shown = [text for visitor in visitors for text in visitor.exceptions + visitor.errors]
    by_page = ", ".join(f"{page or 'sample'} {rate:.1f}" for page, rate in zip(MIXED, rates, strict=True))
    return [
        (f"8 visitors for {minutes:g} min: pictures a second (20 asked)", by_page),
        ("resident memory at the end", f"{watch.rss[-1]:.0f} MB"),
        ("its slope over the last two thirds", f"{watch.slope:+.2f} MB a minute"),
        ("threads, most", f"{max(watch.threads)}"),
        ("processor", f"{100 * watch.cpu:.0f} % of a core"),
        (
            "exceptions and errors shown on pages",
            f"{len(shown)}" + "".join(f"; {text[:80]}" for text in shown[:2]),
        ),
    ]


async def crowd(server: Server, watchers: int, seconds: float) -> Rows:
    """Watch one page's pictures by many sockets on its token, each asking for one a second."""
    owner = Visitor(server.address)
    async with visiting(owner):
        before, others = server.rss, []
        for _ in range(watchers):
            other = Visitor(server.address, fps=1)
            other.data = owner.data
            with contextlib.suppress(Refused):
                await other.watch_live()
            others.append(other)
        since, frames = time.monotonic(), [owner.frames, sum(other.frames for other in others)]
        async with Watch(server) as watch:
            await asyncio.sleep(seconds)
        own = (owner.frames - frames[0]) / watch.seconds
        theirs = (sum(other.frames for other in others) - frames[1]) / watch.seconds
        gap = longest_gap(owner, since)
        let_in = sum(other.live_closed is None for other in others)
        await asyncio.gather(*(other.close() for other in others))
    return [
        (f"{watchers} watchers of one page (1 a second each): let in", f"{let_in}"),
        ("pictures a second, all watchers; the page itself", f"{theirs:.0f}; {own:.1f}"),
        ("longest wait of the page for a picture", f"{gap:.2f} s"),
        (
            "memory of the watchers; processor",
            f"{max(watch.rss) - before:.0f} MB; {100 * watch.cpu:.0f} % of a core",
        ),
    ]


async def sessions(server: Server, count: int, at_once: int = 5) -> Rows:
    """Open and close sessions of the first page, some at once; half leave as a lost network does."""
    before, threads, refused, said = server.rss, server.threads, 0, ""
    async with Watch(server, 0.5) as watch:
        for begin in range(0, count, at_once):
            batch = [Visitor(server.address) for _ in range(min(at_once, count - begin))]
            found = await asyncio.gather(*(visitor.open() for visitor in batch), return_exceptions=True)
            pictures = [
                v.first_picture() for v, end in zip(batch, found, strict=True) if isinstance(end, Visitor)
            ]
            found = [*(end for end in found if not isinstance(end, Visitor))]
            found += await asyncio.gather(*pictures, return_exceptions=True)
            errors = [end for end in found if isinstance(end, BaseException)]
            refused, said = refused + len(errors), str(errors[0])[:120] if errors else said
            await asyncio.gather(*(visitor.close(abrupt=i % 2 == 0) for i, visitor in enumerate(batch)))
        await asyncio.sleep(12)
    return [
        (f"{count} sessions opened and closed, {at_once} at once: refused", f"{refused} {said}".strip()),
        (
            "memory: before, most, 12 s after the last",
            f"{before:.0f}, {max(watch.rss):.0f}, {server.rss:.0f} MB",
        ),
        ("threads: before, most, 12 s after the last", f"{threads}, {max(watch.threads)}, {server.threads}"),
    ]


def _floods(data: dict[str, object]) -> dict[str, Callable[[int], str | bytes]]:
    """Return the kinds of hostile messages: for each, a function from a number to a message."""
    panels = data["panels"]
    assert isinstance(panels, list)
    keys = [panel["key"] for panel in panels]
    request = {
        "fps": 60,
        "view": "sequence",
        "pixels": "mean",
        "cells": 100,
        "n_visible": data["n_visible"],
        "panels": keys,
    }
    damage = np.random.default_rng(0)
    knob = {"panel": keys[0], "knobs": {"temperature": 1.0, "eps": 0.1}}
    return {
        "damaged": lambda i: json.dumps(mutate.json_value(damage, knob if i % 2 else request)),
        "knobs that are not live": lambda i: json.dumps(
            {"panel": keys[0], "knobs": {"n_chains": 1 + i % 50}}
        ),
        "live knobs": lambda i: json.dumps(
            {"panel": keys[i % len(keys)], "knobs": {"temperature": 1 + i % 7 / 10}}
        ),
        "wishes, none of them read": lambda i: json.dumps(request),
        "wishes of NaN": lambda i: json.dumps({**request, "fps": float("nan")}),
        "wishes of wrong types": lambda i: json.dumps({**request, "panels": "all", "cells": [i]}),
        "a megabyte": lambda i: '{"panel": "' + "x" * 10**6 + '"}',
        "no JSON": lambda i: "[" * 3000,
        "bytes": lambda i: bytes(1000),
    }


async def _flood(
    server: Server, data: dict[str, object], message: Callable[[int], str | bytes], end: float
) -> int:
    """Send as fast as the server takes it, coming back whenever it closes."""
    sent = 0
    while time.monotonic() < end:
        try:
            hostile = Visitor(server.address)
            socket = await hostile._connect(str(data["url"]), None, 10)
            socket.transport.pause_reading()  # type: ignore[attr-defined]
            while time.monotonic() < end:
                async with asyncio.timeout(2):
                    await socket.send(message(sent))
                sent += 1
                if sent % 50 == 0:
                    await asyncio.sleep(0)
                if socket.state.name != "OPEN":
                    break
        except Exception:  # closed, refused, or the server takes no more: that is its right
            await asyncio.sleep(0.1)
    return sent


async def hostile(server: Server, seconds: float) -> Rows:
    """Watch an honest visitor beside floods on a socket of another page of his own."""
    rows: Rows = []
    honest, victim = Visitor(server.address), Visitor(server.address)
    async with visiting(honest, victim):
        for what, message in _floods(victim.data).items():
            since, frames, before = time.monotonic(), honest.frames, server.rss
            sent = await _flood(server, victim.data, message, since + seconds)
            await asyncio.sleep(1)
            rate = (honest.frames - frames) / (time.monotonic() - since)
            gap, grown = longest_gap(honest, since), server.rss - before
            told = f"{rate:.1f} pictures a second, longest wait {gap:.1f} s, memory {grown:+.0f} MB"
            rows.append((f"beside {sent:,} messages in {seconds:g} s: {what}", told))
        for origin, host in ((None, "evil.example"), ("http://evil.example", None)):
            guest = Visitor(server.address, host=host, origin=origin or (host and f"http://{host}"))
            try:
                await guest.open(patience=20)
                end = "let in"
            except Refused as error:
                end = f"refused ({str(error)[:60]})"
            await guest.close()
            rows.append((f"a page under another {'name' if host else 'origin'}", end))
    return rows


async def memory(server: Server, visitors: int = 4, settle: float = 8.0) -> Rows:
    """Measure what visitors of the first page cost beyond the first, and what is back after they left."""
    first = Visitor(server.address)
    more = [Visitor(server.address) for _ in range(visitors)]
    async with visiting(first):
        await asyncio.sleep(settle)
        base, at = server.rss, []
        for visitor in more:
            await visitor.open()
            await visitor.first_picture()
            await asyncio.sleep(settle)
            at.append(server.rss)
        await asyncio.gather(*(visitor.close() for visitor in more))
        await asyncio.sleep(12)
        after = server.rss
    each = (at[-1] - base) / visitors
    return [
        (f"memory of a visitor on the first page beyond the first (mean of {visitors})", f"{each:.0f} MB"),
        (
            f"memory: one visitor, {visitors + 1}, 12 s after {visitors} left",
            f"{base:.0f}, {at[-1]:.0f}, {after:.0f} MB",
        ),
    ]


async def first_pictures(server: Server, repeats: int = 9) -> Rows:
    """Time the first picture of the first page alone and beside a visitor at full speed."""

    async def median() -> float:
        found = []
        for _ in range(repeats):
            visitor = Visitor(server.address)
            await visitor.open()
            found.append(await visitor.first_picture())
            await visitor.close()
            await asyncio.sleep(0.5)
        return statistics.median(found)

    async with visiting(Visitor(server.address)):
        pass  # the first visitor waits for the kernels
    alone = await median()
    async with visiting(Visitor(server.address, query=FULL_SPEED)):
        beside = await median()
    return [
        (f"first picture alone (median of {repeats})", f"{alone:.2f} s"),
        ("beside a visitor at full speed", f"{beside:.2f} s ({beside / alone:.2f} times)"),
    ]


async def long_run(server: Server, samples: int = 200_000, patience: float = 140.0) -> Rows:
    """Measure the memory of a server whose panels have made many samples."""
    visitor = Visitor(server.address, query=FULL_SPEED)
    async with visiting(visitor):
        with contextlib.suppress(Refused):
            await visitor.until(lambda: min(visitor.n.values()) > samples, patience)
        least = min(visitor.n.values())
        found = f"{server.rss:.0f} MB ({len(visitor.n)} panels, each past {least:,})"
    return [(f"memory with every panel past {samples:,} samples", found)]


PHASES: dict[str, Callable[[Server, float], Awaitable[Rows]]] = {
    "memory": lambda server, minutes: memory(server),
    "first": lambda server, minutes: first_pictures(server),
    "long": lambda server, minutes: long_run(server),
    "mixed": mixed,
    "crowd": lambda server, minutes: crowd(server, 200, 20),
    "sessions": lambda server, minutes: sessions(server, 40),
    "hostile": lambda server, minutes: hostile(server, 6),
    "watchers": lambda server, minutes: watching.hostile(server, 30),
}


def soak(minutes: float, phases: list[str], root: Path = ROOT) -> Iterator[str]:
    """Run phases, each on a fresh server, and yield their figures as the lines of a Markdown table."""
    seen, today = machine(), datetime.datetime.now(datetime.UTC).date()
    yield f"{seen['processor']}, {seen['cores']} cores, load before {seen['load']:.1f}; {today}\n"
    yield "| what | measured |\n|---|---|"
    for phase in phases:
        with tempfile.TemporaryDirectory() as folder, serving(Path(folder) / "log.txt", root) as server:
            rows = asyncio.run(PHASES[phase](server, minutes))
            alive, tracebacks = server.process.poll() is None, server.tracebacks
        said = f"{len(tracebacks)}" + "".join(f"; {text[:100]}" for text in sorted(set(tracebacks))[:3])
        rows.append((f"{phase}: tracebacks in the server's log", said if alive else f"{said}; {DIED}"))
        yield "\n".join(f"| {what} | {value} |" for what, value in rows)


def main() -> None:
    """Soak from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30.0, help="of the eight visitors (default 30)")
    parser.add_argument("--phase", action="append", choices=list(PHASES), default=[], help="default: all")
    parser.add_argument("--root", type=Path, default=ROOT, help="serve another checkout")
    options = parser.parse_args()
    for line in soak(options.minutes, options.phase or list(PHASES), options.root):
        print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
