"""One server, crowded: floods of its sockets, page loads without end, uploads that nobody reads.

From the command line, with the load on a core of its own where the machine has two::

    python -m tests.attack.crowding flood     # frames of a watched page beside flooded sockets
    python -m tests.attack.crowding loads     # 1,000 page loads against 1,024 file descriptors
    python -m tests.attack.crowding uploads   # 40 files of 60 MB, sent to the route of uploads
"""

import argparse
import asyncio
import contextlib
import multiprocessing
import os
import tempfile
import time
import urllib.error
import urllib.request
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import psutil
from streamlit.proto.BackMsg_pb2 import BackMsg
from websockets.exceptions import ConnectionClosed

from tests.attack.server import ROOT, Server, serving
from tests.attack.visitor import Refused, Visitor

Rows = list[tuple[str, str]]

MB = 10**6


def _to_core(core: int) -> None:
    """Let this process compute on one core only, where the system can say so and there are two."""
    if hasattr(os, "sched_setaffinity") and len(os.sched_getaffinity(0)) > 1:
        os.sched_setaffinity(0, {core})


def flood_stream(address: str, sessions: int, seconds: float) -> int:
    """Send 36-byte messages to Streamlit's own socket as fast as it takes them; return how many."""
    _to_core(1)
    return asyncio.run(_flood_stream(address, sessions, seconds))


async def _flood_stream(address: str, sessions: int, seconds: float) -> int:
    end = time.monotonic() + seconds
    sent = 0

    async def one() -> None:
        nonlocal sent
        while time.monotonic() < end:
            visitor = Visitor(address)
            with contextlib.suppress(Refused, ConnectionClosed, TimeoutError, OSError):
                await visitor.open(patience=seconds, live=False)
                assert visitor._stream is not None
                message = BackMsg()
                message.rerun_script.page_script_hash = "0" * 32
                packed = message.SerializeToString()
                assert len(packed) == 36
                while time.monotonic() < end:
                    async with asyncio.timeout(1):
                        await visitor._stream.send(packed)
                    sent += 1
                    if sent % 50 == 0:
                        await asyncio.sleep(0)
            await visitor.close(abrupt=True)

    await asyncio.gather(*(one() for _ in range(sessions)))
    return sent


class Answers:
    """The slowest answer of a server while a block runs, of one that is asked again and again."""

    def __init__(self, server: Server) -> None:
        self._address, self.slowest, self.failed = f"{server.address}/_stcore/health", 0.0, 0

    async def __aenter__(self) -> "Answers":
        self._task = asyncio.create_task(self._ask())
        return self

    async def __aexit__(self, *_: object) -> None:
        self.slowest = max(self.slowest, time.monotonic() - self._asked)
        self._task.cancel()

    async def _ask(self) -> None:
        while True:
            self._asked = time.monotonic()
            if not await asyncio.to_thread(answers, self._address):
                self.failed += 1
            self.slowest = max(self.slowest, time.monotonic() - self._asked)
            await asyncio.sleep(0.1)


def answers(address: str, seconds: float = 30.0) -> bool:
    """Return whether a server answers within so many seconds."""
    try:
        with urllib.request.urlopen(address, timeout=seconds) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


async def flood(server: Server, sessions: int = 3, seconds: float = 7.0) -> tuple[float, float, Rows]:
    """Return the frames a second of a watched page before a flood and beside it, and what else was seen."""
    psutil.Process(server.process.pid).cpu_affinity([0])
    async with Visitor(server.address) as watched:
        await watched.first_picture()
        await asyncio.sleep(8)
        before = watched.fps_over(5)
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as others:
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(others, os.getpid)  # it is there: only the flood is to be seen
            async with Answers(server) as asked:
                begin, frames = time.monotonic(), watched.frames
                sent = await loop.run_in_executor(others, flood_stream, server.address, sessions, seconds)
                beside = (watched.frames - frames) / (time.monotonic() - begin)
            await asyncio.sleep(5)
            after = watched.fps_over(3)
    return (
        before,
        beside,
        [
            (f"{sessions} sessions flood Streamlit's socket for {seconds:g} s", f"{sent:,} messages"),
            (
                "the watched page before, beside, after",
                f"{before:.1f}, {beside:.1f}, {after:.1f} frames a second",
            ),
            ("slowest answer beside; not answered", f"{asked.slowest:.2f} s; {asked.failed}"),
        ],
    )


async def page_loads(
    server: Server, count: int, at_once: int = 10, every: float = 0.0, patience: float = 60.0
) -> tuple[Counter[str], Rows]:
    """Load a page so many times; each load connects, has the page drawn, and goes on to the next one."""
    ends, most, began = Counter[str](), 0, time.monotonic()
    process = psutil.Process(server.process.pid)

    async def load(i: int) -> None:
        nonlocal most
        visitor = Visitor(server.address)
        try:
            await visitor.open(patience)
            ends["drawn"] += 1
        except Refused as error:
            full = "half of what the server has free" in str(error)
            ends["told that there is no room" if full else f"refused: {error}"] += 1
        except Exception as error:
            ends[type(error).__name__] += 1
        await visitor.close(abrupt=i % 2 == 0)
        most = max(most, process.num_fds())

    for begin in range(0, count, at_once):
        started = time.monotonic()
        await asyncio.gather(*(load(i) for i in range(begin, min(begin + at_once, count))))
        if ends.total() - ends["drawn"] - ends["told that there is no room"] >= 50:
            break  # it does not recover
        await asyncio.sleep(max(every - (time.monotonic() - started), 0))
    took = time.monotonic() - began
    await asyncio.sleep(15)
    alive = answers(f"{server.address}/_stcore/health")
    return ends, [
        (f"{ends.total()} of {count} page loads in {took:.0f} s, {at_once} at once", str(dict(ends))),
        ("file descriptors: most, 15 s after the last", f"{most}, {process.num_fds()}"),
        ("memory after", f"{server.rss:.0f} MB"),
        ("it answers", str(alive)),
    ]


def put(address: str, session: str, size: int) -> int:
    """Send a file to the route of uploads; return the HTTP status of the answer."""
    page = urllib.request.urlopen(f"{address}/_stcore/health", timeout=30)
    cookie = page.headers.get("Set-Cookie", "").split(";")[0]
    edge = uuid.uuid4().hex
    head = (
        f'--{edge}\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n'
        "Content-Type: text/csv\r\n\r\n"
    )
    body = head.encode() + bytes(size) + f"\r\n--{edge}--\r\n".encode()
    request = urllib.request.Request(
        f"{address}/_stcore/upload_file/{session}/{uuid.uuid4()}",
        body,
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


async def uploads(server: Server, count: int = 40, size: int = 60 * MB) -> tuple[Counter[int], Rows]:
    """Send files to the route of uploads of one session; return how they were answered."""
    async with Visitor(server.address) as visitor:
        await visitor.first_picture()
        before, most, ends = server.rss, 0.0, Counter[int]()
        for _ in range(count):
            ends[await asyncio.to_thread(put, server.address, visitor.session, size)] += 1
            most = max(most, server.rss)
    return ends, [
        (f"{count} files of {size / MB:.0f} MB to the route of uploads: HTTP statuses", str(dict(ends))),
        ("memory before, most", f"{before:.0f}, {most:.0f} MB"),
    ]


async def _loads(server: Server) -> Rows:
    return (await page_loads(server, 1000))[1]


async def _flood(server: Server) -> Rows:
    return (await flood(server))[2]


async def _uploads(server: Server) -> Rows:
    return (await uploads(server))[1]


KINDS: dict[str, Callable[[Server], Awaitable[Rows]]] = {
    "flood": _flood,
    "loads": _loads,
    "uploads": _uploads,
}


def main() -> None:
    """Print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=KINDS)
    parser.add_argument("--root", type=Path, default=ROOT, help="serve another checkout")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log.txt"
        with serving(log, options.root, open_files=1024 if options.what == "loads" else None) as server:
            rows = asyncio.run(KINDS[options.what](server))
            print("\n".join(f"{what}: {value}" for what, value in rows))  # noqa: T201
            print("tracebacks:", Counter(server.tracebacks).most_common(3))  # noqa: T201


if __name__ == "__main__":
    main()
