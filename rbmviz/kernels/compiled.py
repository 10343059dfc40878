"""Which kernels are in the cache, as far as somebody has noted it there: nobody has to load them to know."""

import contextlib
import functools
import hashlib
import os
import sys
from pathlib import Path
from typing import Any

import numba
from llvmlite import binding as llvm

from rbmviz.kernels import _jit

settings: Any = numba.config  # its names appear at run time only

_noted: set[str] = set()


def cache_base() -> Path | None:
    """Return the cache folder, as RBMVIZ_CACHE_DIR names it, whose kernels this process reads.

    None: it reads none, or cannot write to the folder.
    """
    folder = _jit.CACHE_FOLDER
    return Path(folder).parents[1] if folder is not None and os.access(folder, os.W_OK) else None


@functools.cache
def _file_name(name: str) -> str:
    processor = f"{llvm.get_host_cpu_name()} {llvm.get_host_cpu_features().flatten()}"
    return hashlib.sha256(f"{name} {sys.version_info[:2]} {processor}".encode()).hexdigest()[:16] + _jit.NOTE


def _mark(name: str) -> Path | None:
    return None if _jit.CACHE_FOLDER is None else Path(_jit.CACHE_FOLDER) / _file_name(name)


def note(name: str) -> None:
    """Note that the kernels called ``name`` have been compiled for this processor."""
    if name not in _noted:
        _noted.add(name)
        if (mark := _mark(name)) is not None:
            with contextlib.suppress(OSError):  # whoever does not read the note compiles, or loads, again
                mark.touch()


def is_noted(name: str) -> bool:
    """Return whether the kernels called ``name`` have been compiled for this processor.

    The files themselves may have gone, or be damaged: then they are compiled again, as always.
    """
    if settings.DISABLE_JIT or name in _noted:
        return True
    mark = _mark(name)
    return mark is not None and os.path.exists(mark)
