"""Waiting for what other threads do, without asking how fast they are."""

import time

PATIENCE = 120.0  # the first run of a kernel may have to compile it, on a machine that has other work


def wait(condition, what):
    """Return once the condition holds; fail after PATIENCE seconds."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"never happened: {what}"
        time.sleep(0.005)
