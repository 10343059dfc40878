"""Memory that is freed goes back to the system, and what only the collector frees is freed in time."""

import asyncio
import gc
import platform
import subprocess
import sys
import weakref
from pathlib import Path

import pytest
from waiting import run

from rbmviz_app import process
from rbmviz_app.stream import socket

CODE = """
import numpy as np
from rbmviz_app.process import configure_allocators
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096 / 1e6
configure_allocators()
first = np.ones(4_000_000, np.uint8)
del first  # by default, from here on arrays below 4 MB would come from the heap
begin, arrays, between = resident(), [], []
for _ in range(40):
    arrays.append(np.ones(2_000_000, np.uint8))
    between.append(np.ones(100_000, np.uint8))
assert resident() - begin > 70  # nearly all of 84 MB: some of it may lie in what Python had freed
arrays.clear()
print(resident() - begin)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
def test_large_arrays_go_back_to_the_system_though_small_ones_stay_between():
    def left(code):
        root = Path(__file__).parents[2]
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True
        )
        return float(done.stdout)

    assert left(CODE) < 15
    # Negative control: the C library as it is keeps them.
    assert left(CODE.replace("\nconfigure_allocators()", "")) > 60


class Cycle:
    """An object that no reference count frees."""

    def __init__(self):
        self.myself = self


def test_the_server_collects_cycles_that_python_would_leave_for_long(monkeypatch):
    monkeypatch.setattr(process, "COLLECT_SECONDS", 0.01)
    monkeypatch.setattr(socket, "_warm_up", lambda: None)

    async def serve():
        left = weakref.ref(Cycle())
        async with socket.lifespan(None):
            async with asyncio.timeout(20):
                while left() is not None:
                    await asyncio.sleep(0.01)

    gc.disable()
    try:
        run(serve())
    finally:
        gc.enable()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")
def test_the_server_takes_the_file_descriptors_that_the_system_lets_it_have():
    code = """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (100, 200))
from rbmviz_app.process import allow_open_files
allow_open_files()
print(resource.getrlimit(resource.RLIMIT_NOFILE))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "(200, 200)"
