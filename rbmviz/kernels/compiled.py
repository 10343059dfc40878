"""Notes in the cache that list the kernels it holds, so that nothing has to be loaded to find out."""

import contextlib
import functools
import hashlib
import os
import sys
from pathlib import Path
from typing import Any

import numba
from numba.core.registry import cpu_target

from rbmviz.kernels import _jit, _llvm

settings: Any = numba.config  # its names appear at run time only

_noted: set[str] = set()


def cache_base() -> Path | None:
    """Return the cache folder that RBMVIZ_CACHE_DIR names; None if this process cannot write to it."""
    folder = _jit.CACHE_FOLDER
    return Path(folder).parents[1] if folder is not None and os.access(folder, os.W_OK) else None


@functools.cache
def _file_name(name: str) -> str:
    return (
        hashlib.sha256(f"{name} {sys.version_info[:2]} {_llvm.processor()}".encode()).hexdigest()[:16]
        + _jit.NOTE
    )


def _mark(name: str) -> Path | None:
    return None if _jit.CACHE_FOLDER is None else Path(_jit.CACHE_FOLDER) / _file_name(name)


def note(name: str) -> None:
    """Note that the kernels called ``name`` have been compiled for this processor."""
    if name not in _noted:
        _noted.add(name)
        if (mark := _mark(name)) is not None:
            with contextlib.suppress(OSError):  # without the note they are loaded again
                mark.touch()


def is_noted(name: str) -> bool:
    """Return whether ``name`` is noted for this processor; lost or damaged files are compiled again."""
    if settings.DISABLE_JIT or name in _noted:
        return True
    mark = _mark(name)
    return mark is not None and os.path.exists(mark)


def load_numba() -> None:
    """Load what numba needs before its first kernel, which takes half a second."""
    cpu_target.target_context.refresh()
