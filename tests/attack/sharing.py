"""Memory of each further visitor, and the effect of a visitor at full speed on the others.

From the root of the repository, with warm kernels::

    python -m tests.attack.sharing memory               # megabytes per visitor and threads, for each page
    python -m tests.attack.sharing fairness             # first picture alone, and beside twelve panels
    python -m tests.attack.sharing growth --seconds 300 # slope of memory under one visitor at full speed
    python -m tests.attack.sharing crowd --crowd 1 8 30 # processor, frames and samples of so many visitors

``--root`` serves another checkout, to compare with.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

from tests.attack.server import ROOT, Server, serving
from tests.attack.visitor import PAGES, Visitor

FULL = "speed=full"
TWELVE = "&".join([FULL, *["p=gibbs&p=rates_fpcd&p=rates_herding&p=sample_penalization"] * 3])


CROWD = (
    "| visitors | of a core, each | visitor's own program | frames/s | samples/s a panel "
    "| paused, of a core, each | MB each | MB 40 s after they left |\n|---|---|---|---|---|---|---|---|"
)


async def warm(server: Server) -> None:
    """Wait until the server has been idle for three seconds, so that its kernels are loaded."""
    quiet = 0
    while quiet < 3:
        before = server.cpu_seconds
        await asyncio.sleep(1)
        quiet = quiet + 1 if server.cpu_seconds - before < 0.1 else 0


async def memory(server: Server, page: str, query: str, visitors: int, settle: float) -> str:
    """Return a row of the table: what one more visitor takes, settled for so many seconds."""
    opened: list[Visitor] = []
    sizes = [server.rss]
    for _ in range(visitors):
        opened.append(await Visitor(server.address, page, query).open())
        await opened[-1].first_picture()
        await asyncio.sleep(settle)
        sizes.append(server.rss)
    threads = server.threads
    for visitor in opened:
        await visitor.close()
    await asyncio.sleep(15)
    each = (sizes[-1] - sizes[1]) / (visitors - 1)
    return (
        f"| {page or 'sample'} | {query[:20]} | {sizes[0]:.0f} | {sizes[1] - sizes[0]:.0f} | {each:.0f} "
        f"| {threads} | {server.rss:.0f} |"
    )


async def fairness(server: Server, times: int) -> str:
    """Return the medians of the first picture alone and beside twelve panels at full speed, in turns."""
    alone, beside = [], []
    async with Visitor(server.address) as visitor:
        await visitor.first_picture()
    for _ in range(times):
        async with Visitor(server.address) as visitor:
            alone.append(await visitor.first_picture())
        async with Visitor(server.address, query=TWELVE) as greedy:
            await greedy.first_picture()
            await asyncio.sleep(2)
            async with Visitor(server.address) as visitor:
                beside.append(await visitor.first_picture())
        await asyncio.sleep(1)
    a, b = statistics.median(alone), statistics.median(beside)
    shown = (
        f"{name} {[round(t, 2) for t in found]}" for name, found in (("alone", alone), ("beside", beside))
    )
    return f"first picture alone {a:.2f} s, beside {b:.2f} s, {b / a:.2f} times as long; {'; '.join(shown)}"


async def growth(server: Server, seconds: float) -> str:
    """Return memory under one visitor at full speed, and its slope over the last two thirds of the time."""
    async with Visitor(server.address, query=FULL) as visitor:
        await visitor.first_picture()
        at, sizes = [], []
        for i in range(int(seconds)):
            await asyncio.sleep(1)
            at.append(i / 60)
            sizes.append(server.rss)
        late = len(at) // 3
        slope = np.polyfit(at[late:], sizes[late:], 1)[0]
        return f"samples {visitor.n}: {sizes[-1]:.0f} MB, {slope:+.2f} MB a minute"


async def crowd(server: Server, n: int, query: str, seconds: float, settle: float) -> str:
    """Return a row of the table: what so many visitors cost and get, and what they leave behind."""
    before = server.rss
    visitors = [Visitor(server.address, query=query) for _ in range(n)]
    try:
        for visitor in visitors:
            await visitor.open()
        await asyncio.gather(*(visitor.first_picture() for visitor in visitors))
        await asyncio.sleep(settle)
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
    steps, begin = sum(sum(visitor.n.values()) for visitor in visitors), asyncio.get_running_loop().time()
    panels = sum(len(visitor.n) for visitor in visitors)
    await asyncio.sleep(seconds)
    passed = asyncio.get_running_loop().time() - begin
    each = passed * len(visitors)
    made = sum(sum(visitor.n.values()) for visitor in visitors) - steps
    return (
        (server.cpu_seconds - cpu) / each,
        (time.process_time() - own) / each,
        (sum(visitor.frames for visitor in visitors) - frames) / each,
        made / (passed * panels),
    )


async def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=["memory", "fairness", "growth", "crowd"])
    parser.add_argument("--root", type=Path, default=ROOT)
    parser.add_argument("--page", action="append", help=f"one of {PAGES}; default: all")
    parser.add_argument("--query", default="", help="query string of the link")
    parser.add_argument("--visitors", type=int, default=4)
    parser.add_argument("--crowd", type=int, nargs="+", default=[1, 8, 16, 30], metavar="N")
    parser.add_argument("--times", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--settle", type=float, default=6.0, help="seconds that each visitor stays alone")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for page in options.page or PAGES if options.what == "memory" else [""]:
            # A server for each page, so that leftovers of one page are not counted for the next.
            with serving(Path(folder) / "log.txt", options.root) as server:
                await warm(server)
                if options.what == "memory":
                    given = server, page, options.query, options.visitors, options.settle
                    text = await memory(*given)
                elif options.what == "crowd":
                    rows = [
                        await crowd(server, n, options.query, options.seconds, options.settle)
                        for n in options.crowd
                    ]
                    text = "\n".join([CROWD, *rows])
                elif options.what == "fairness":
                    text = await fairness(server, options.times)
                else:
                    text = await growth(server, options.seconds)
            print(text, flush=True)  # noqa: T201


if __name__ == "__main__":
    asyncio.run(_main())
