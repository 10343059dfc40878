"""Waiting for other threads, without any assumption about their speed."""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor

PATIENCE = 600.0  # seconds: longer than any machine needs, also one that compiles beside other work


def wait(condition, what):
    """Return once the condition holds; fail after PATIENCE seconds."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"never happened: {what}"
        time.sleep(0.005)


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
