"""A server of the app on a free port, with the memory, threads and processor time of its process."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.waiting import free_port, wait_for_answer

ROOT = Path(__file__).parents[2]

LEFT = "starlette.websockets.WebSocketDisconnected: WebSocket is not connected."


@dataclass
class Server:
    """A running server: its address, process, and log file (standard output and error)."""

    address: str
    process: subprocess.Popen[bytes]
    log: Path

    def __post_init__(self) -> None:
        self._seen = psutil.Process(self.process.pid)

    @property
    def rss(self) -> float:
        """Resident memory, in megabytes of 10^6 bytes."""
        return self._seen.memory_info().rss / 1e6

    @property
    def cpu_seconds(self) -> float:
        """Processor time of the process so far, in seconds."""
        return sum(self._seen.cpu_times()[:2])

    @property
    def tracebacks(self) -> list[str]:
        """The parts of the log in which a traceback leads through this project.

        Streamlit itself logs one if a browser leaves while it connects, within our middleware or not.
        """
        parts = self.log.read_text(errors="replace").split("Exception in ASGI application")
        ours = [f'File "{ROOT / folder}' for folder in ("app", "rbmviz")]
        return [part for part in parts if LEFT not in part and any(file in part for file in ours)]


@contextlib.contextmanager
def serving(
    log: Path,
    root: Path = ROOT,
    folder: Path | None = None,
    open_files: int | None = None,
    command: Sequence[str] = (),
    **environment: str,
) -> Iterator[Server]:
    """Serve the app of a checkout with Streamlit's command, or another, from its root or another folder.

    ``open_files`` is the number of file descriptors that the process may have, for good.
    """
    port = free_port()
    command = command or [sys.executable, "-m", "streamlit", "run", str(root / "app" / "main.py")]
    environment |= {
        "STREAMLIT_SERVER_HEADLESS": "true",
        "STREAMLIT_SERVER_PORT": str(port),
        "STREAMLIT_SERVER_ADDRESS": "127.0.0.1",
    }
    before = ["prlimit", f"--nofile={open_files}:{open_files}"] if open_files else []
    with log.open("wb") as out:
        process = subprocess.Popen(
            [*before, *command],
            cwd=folder or root,
            stdout=out,
            stderr=subprocess.STDOUT,
            env=os.environ | environment,
        )
    server = Server(f"http://127.0.0.1:{port}", process, log)
    try:
        wait_for_answer(f"{server.address}/_stcore/health", process)
        yield server
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
