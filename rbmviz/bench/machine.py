"""What a reader of timings must know of the machine."""

import os
import platform
from importlib.metadata import version
from typing import Any

from rbmviz.bench.peers import installed


def machine() -> dict[str, Any]:
    """Return what a reader of timings must know: processor, cores, load now, versions."""
    processor = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo") as file:
            names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
        processor = names[0] if names else processor
    except OSError:
        pass
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    versions = {"python": platform.python_version(), "numba": version("numba"), **installed()}
    return {"processor": processor, "cores": os.cpu_count(), "load": load, "versions": versions}
