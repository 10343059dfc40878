"""Waiting for other threads and programs, without any assumption about their speed."""

import asyncio
import contextlib
import socket
import subprocess
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor

PATIENCE = 240.0  # seconds: longer than a machine needs that compiles beside other work


def wait(condition, what):
    """Return once the condition holds; fail after PATIENCE seconds."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"never happened: {what}"
        time.sleep(0.005)


def free_port() -> int:
    """Return a port of this machine on which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def wait_for_answer(address: str, process: subprocess.Popen) -> None:
    """Return once a server answers; fail if its process has ended."""

    def answers():
        assert process.poll() is None, f"{process.args} has ended with {process.returncode}"
        with contextlib.suppress(OSError):
            return urllib.request.urlopen(address, timeout=5).close() is None
        time.sleep(0.1)

    wait(answers, f"an answer of {address}")


def wait_for_pause(race, n=None):
    """Return once every panel is paused, after n steps in all if a number is given."""

    def at_rest():
        return all(s.status == "paused" and n in (None, s.n) for _, s in race.poll())

    wait(at_rest, "a pause" if n is None else f"a pause after {n} steps")


def close(race):
    """Close a race, and wait until no thread works at its panels."""
    race.close()
    wait(lambda: not race.works, "the end of all jobs")


def run(coroutine):
    """Return what a coroutine returns. Its thread is its own: Playwright leaves a loop in the main one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, coroutine).result()
