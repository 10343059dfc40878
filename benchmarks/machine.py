"""Description of the machine, printed beside the timings."""

import os
import platform
from importlib.metadata import version
from typing import Any

from rbmviz.files.provenance import processor


def machine() -> dict[str, Any]:
    """Return processor, number of cores, current load, and versions of Python and the libraries."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    versions = {"python": platform.python_version(), **{name: version(name) for name in ("numba", "numpy")}}
    return {"processor": processor(), "cores": os.cpu_count(), "load": load, "versions": versions}
