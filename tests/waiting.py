"""Waiting for other threads, without any assumption about their speed."""

import time

PATIENCE = 120.0  # seconds; the first run of a kernel may compile it, on a machine with other load


def wait(condition, what):
    """Return once the condition holds; fail after PATIENCE seconds."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"never happened: {what}"
        time.sleep(0.005)
