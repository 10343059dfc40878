"""The provenance of results: commit, machine, and citation of the program."""

import functools
import hashlib
import os
import platform
import subprocess
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[2]

RESULT_SOURCES = ("rbmviz", "app", "pretrained")
"""Folders of a checkout that determine results and their display."""


def processor() -> str:
    """Return the name of the processor."""
    processor = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
        return names[0] if names else processor
    except OSError:
        return processor


def machine() -> dict[str, Any]:
    """Return the processor, the number of its cores, and the versions of Python, numpy and numba."""
    versions = {"python": platform.python_version(), "numpy": version("numpy"), "numba": version("numba")}
    return {"processor": processor(), "cores": os.cpu_count(), **versions}


@functools.cache
def commit() -> str:
    """Return the commit of this checkout, followed by "-changed" if files differ; "" in an installation."""
    if not (ROOT / ".git").exists():
        return ""

    def git(*words: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(ROOT), *words], capture_output=True, encoding="utf-8", timeout=20
        )
        return done.stdout.strip() if done.returncode == 0 else ""

    try:
        name = git("rev-parse", "--short=12", "HEAD")
        changed = git("status", "--porcelain", "--untracked-files=no", "--", *RESULT_SOURCES)
    except (OSError, subprocess.SubprocessError):  # no git here, or it does not answer
        return ""
    return f"{name}-changed" if name and changed else name


def digest_of(arrays: Iterable[np.ndarray]) -> str:
    """Return a hash of arrays with their types and shapes, 16 hexadecimal digits."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()[:16]


def how_to_cite() -> str:
    """Return the citation of the program, as in CITATION.cff."""
    return f"The rbmviz authors. rbmviz: see Markov chains mix. Version {version('rbmviz')}, MIT licence."
