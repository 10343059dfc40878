"""How kernels are compiled: every flag once, with its reason.

===========  ===================  ===============  ====================================================
decorator    who can call it      may make arrays  how kernels call it
===========  ===================  ===============  ====================================================
`kernel`     Python and kernels   yes              numba's own way
`inner`      Python and kernels   no               by a jump to its `private` form
`private`    kernels              no               by a jump
`inline`     kernels              no               inlined into the caller
===========  ===================  ===============  ====================================================

With ``NUMBA_DISABLE_JIT=1`` all run as Python (see ``_without_jit``). If numba's internals are not what
``_numba`` expects, all are plain ``njit`` functions without a cache: the same samples, but each process
compiles for longer.
"""

import atexit
import functools
import hashlib
import logging
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
from numba import njit

from rbmviz.kernels._without_jit import PythonKernel
from rbmviz.paths import cache_dir

settings: Any = numba.config  # its names appear at run time only

inside: Any
try:
    from rbmviz.kernels import _numba as inside

    inside.check()
except (ImportError, AttributeError, TypeError) as change:
    inside = None
    logging.getLogger(__name__).warning(
        "numba %s has changed inside (%s): kernels compile longer, and in every process.",
        numba.__version__,
        change,
    )

PUBLIC_FLAGS: dict[str, Any] = {
    "nogil": True,  # worker threads run kernels side by side
    "error_model": "numpy",  # no zero-division branch: it would stop loops from vectorising
}
FLAGS: dict[str, Any] = {
    **PUBLIC_FLAGS,
    "no_cfunc_wrapper": True,  # nobody calls kernels from C: saves a twentieth of compiling
}
# Deliberately absent: parallel=True (two Python threads on numba's workqueue layer abort the process) and
# fastmath (sums keep the order of the code, so that oracles, and browsers, have the same bits).

PRIVATE_FLAGS: dict[str, Any] = {**FLAGS, "no_cpython_wrapper": True, "_nrt": False}

NOTE = ".compiled"
"""Suffix of the files that say which kernels are in a cache, see ``compiled``."""


def _cache_folder() -> str | None:
    """Name the cache by what numba cannot see: edits in *other* files of the package, and versions.

    A temporary folder of this process replaces a cache folder that is empty and cannot be written; None if
    there is none.
    """
    versions = numba.__version__, llvmlite.__version__, np.__version__
    digest = hashlib.sha256(" ".join(versions).encode())
    for source in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(source.read_bytes())
    folder = cache_dir() / "kernels" / digest.hexdigest()[:16]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK) or any(folder.iterdir()):
            return str(folder)
    except OSError:
        pass
    try:
        temporary = Path(tempfile.mkdtemp(prefix="rbmviz-kernels-"))
        atexit.register(shutil.rmtree, temporary, ignore_errors=True)
        folder = temporary / folder.relative_to(cache_dir())
        folder.mkdir(parents=True)
    except OSError:
        return None
    return str(folder)


CACHE_FOLDER = _cache_folder()


def kernel(function: Callable[..., Any], **more: Any) -> Any:
    """Compile at the first call; the machine code is kept in CACHE_FOLDER."""
    if settings.DISABLE_JIT:
        return PythonKernel(function)
    if inside is None:
        return njit(**PUBLIC_FLAGS)(function)
    compiled = njit(**FLAGS, **more, pipeline_class=inside.KernelCompiler)(function)
    if CACHE_FOLDER is not None:
        inside.cache_in(CACHE_FOLDER, compiled)
    return compiled


def inner(function: Callable[..., Any]) -> Any:
    """Compile a kernel that creates no arrays (numba refuses if it does).

    In other kernels numba counts the references to every array at every call, by atomic additions: a sweep
    had 150 of them, a tenth of its time, and threads that share a model would compete for the counters. In an
    inner kernel all arrays belong to the caller, and nothing is counted. Kernels call its ``private`` form.
    """
    compiled = kernel(function, _nrt=False)
    if not settings.DISABLE_JIT and inside is not None:
        compiled.__class__ = inside.InnerKernel
        compiled.private_form = private(function)
    return compiled


def checked(fits: Callable[..., bool]) -> Callable[[Any], Callable[..., Any]]:
    """Check the arguments of a kernel in Python, before each call, by a function that takes the same.

    For kernels of dozens of arrays: the checks took a tenth of the time of compiling.
    """

    def decorate(compiled: Any) -> Callable[..., Any]:
        @functools.wraps(compiled.py_func)
        def call(*args: Any) -> Any:
            if not fits(*args):
                raise ValueError(f"{compiled.py_func.__name__}: the arrays do not fit each other")
            return compiled(*args)

        return call

    return decorate


def private(function: Callable[..., Any], **more: Any) -> Any:
    """Compile an ``inner`` kernel that only kernels call, by a jump; see ``_numba``.

    It has no wrapper that unpacks Python's arguments: for nested tuples of arrays, the wrapper would take
    longer to compile than the kernel.
    """
    if settings.DISABLE_JIT or inside is None:
        return kernel(function)
    compiled = njit(**PRIVATE_FLAGS, **more, pipeline_class=inside.PrivateCompiler)(function)
    compiled.__class__ = inside.PrivateKernel
    return compiled


def inline(function: Callable[..., Any]) -> Any:
    """Compile a ``private`` kernel into the kernels that call it.

    A call passes seven words per array, more than a small step costs, and a loop over units vectorises only
    if its step is inlined.
    """
    return private(function, forceinline=True)


def after_compiling(call: Callable[[], None]) -> bool:
    """See ``_numba.after_compiling``; False if numba's internals have changed."""
    return inside is not None and inside.after_compiling(call)
