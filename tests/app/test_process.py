"""Memory that is freed goes back to the system."""

import platform
import subprocess
import sys
from pathlib import Path

import pytest

CODE = """
import numpy as np
from app.process import give_large_arrays_back
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096 / 1e6
give_large_arrays_back()
first = np.ones(4_000_000, np.uint8)
del first  # by default, from here on arrays below 4 MB would come from the heap
begin, arrays, between = resident(), [], []
for _ in range(40):
    arrays.append(np.ones(2_000_000, np.uint8))
    between.append(np.ones(100_000, np.uint8))
assert resident() - begin > 80
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
    assert left(CODE.replace("\ngive_large_arrays_back()", "")) > 60
