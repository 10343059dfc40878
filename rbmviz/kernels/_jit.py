"""How kernels are compiled: every flag once, with its reason.

===========  ===================  ===============  ====================================================
decorator    who can call it      may make arrays  how kernels call it
===========  ===================  ===============  ====================================================
`kernel`     Python and kernels   yes              as numba does by itself
`inner`      Python and kernels   no               by a jump to its `private` form
`private`    kernels              no               by a jump
`inline`     kernels              no               not at all: it becomes a part of its caller
`reduction`  Python and kernels   no               as numba does by itself
===========  ===================  ===============  ====================================================

Under ``NUMBA_DISABLE_JIT=1`` none of them is compiled, and all run as Python (see ``_without_jit``).
"""

import atexit
import hashlib
import os
import shutil
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
from numba import njit
from numba.core import event
from numba.core.compiler_lock import global_compiler_lock

from rbmviz.kernels._cache import KernelCache
from rbmviz.kernels._within import InnerKernel, KernelCompiler, PrivateCompiler, PrivateKernel
from rbmviz.kernels._without_jit import PythonKernel
from rbmviz.paths import cache_dir

settings: Any = numba.config  # its names appear at run time only

FLAGS: dict[str, Any] = {
    "nogil": True,  # worker threads run kernels side by side
    "error_model": "numpy",  # no zero-division branch: it would stop loops from vectorising
    "no_cfunc_wrapper": True,  # nobody calls kernels from C: saves a twentieth of compiling
}
# Not here, on purpose: parallel=True (two Python threads on numba's workqueue layer abort the whole
# process) and fastmath (every sum has the order that the code says, so that oracles are bit-exact), except
# for the order of sums in ``reduction``.

PRIVATE_FLAGS: dict[str, Any] = {**FLAGS, "no_cpython_wrapper": True, "_nrt": False}
"""Flags of kernels that only kernels call."""


NOTE = ".compiled"
"""Suffix of the files that say which kernels are in a cache, see ``compiled``."""


def _cache_folder() -> str | None:
    """Name the cache by what numba cannot see: edits in a *neighbouring* file, and versions.

    If the cache folder cannot be written and nothing is in it, a temporary folder of this process is used;
    None if there is none.
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
        passing = Path(tempfile.mkdtemp(prefix="rbmviz-kernels-"))
        atexit.register(shutil.rmtree, passing, ignore_errors=True)
        folder = passing / folder.relative_to(cache_dir())
        folder.mkdir(parents=True)
    except OSError:
        return None
    return str(folder)


CACHE_FOLDER = _cache_folder()


def kernel(function: Callable[..., Any], **more: Any) -> Any:
    """Compile at the first call, with the flags above; a cache folder of our own keeps the machine code."""
    if settings.DISABLE_JIT:
        return PythonKernel(function)
    compiled = njit(**FLAGS, **more, pipeline_class=KernelCompiler)(function)
    if CACHE_FOLDER is None:
        return compiled
    before = settings.CACHE_DIR
    settings.CACHE_DIR = CACHE_FOLDER  # read when the cache is made, so restored at once
    try:
        compiled._cache = KernelCache(function)  # as enable_caching() does it with numba's own
    except (OSError, RuntimeError):  # the folder went, or its disk is full: every process compiles anew
        pass
    finally:
        settings.CACHE_DIR = before
    return compiled


def inner(function: Callable[..., Any]) -> Any:
    """Compile a kernel that makes no array of its own (numba refuses if it does).

    In other kernels numba counts the references to every array at every call, by atomic additions: a sweep
    had 150 of them, a tenth of its time, and threads that share a model would compete for the counters. In an
    inner kernel nothing has to be counted, because all arrays belong to the caller.

    Kernels that call it have it as a ``private`` kernel.
    """
    compiled = kernel(function, _nrt=False)
    if not settings.DISABLE_JIT:
        compiled.__class__ = InnerKernel
        compiled.private_form = private(function)
    return compiled


def private(function: Callable[..., Any], **more: Any) -> Any:
    """Compile an ``inner`` kernel that only kernels call, and that they call by a jump.

    The machine code is part of that of the kernel that Python calls, see ``_within``. There is no wrapper
    that takes Python's arguments apart, either: for nested tuples of arrays the wrapper takes longer than the
    kernel.
    """
    if settings.DISABLE_JIT:
        return PythonKernel(function)
    compiled = njit(**PRIVATE_FLAGS, **more, pipeline_class=PrivateCompiler)(function)
    compiled.__class__ = PrivateKernel
    return compiled


def reduction(function: Callable[..., Any]) -> Any:
    """Compile a kernel that makes no array, and whose sums may be computed in any order, not term by term.

    The order is chosen by the compiler, and differs between processors. It is meant for displayed numbers,
    such as norms. The one place in which samples depend on the order is named in ``fast_weights.norm.dot``.
    Kernels call it as numba does by itself: it has no ``private`` form.
    """
    return kernel(function, _nrt=False, fastmath={"reassoc"})


def inline(function: Callable[..., Any]) -> Any:
    """Compile a ``private`` kernel into the kernels that call it.

    A call hands over seven words for every array, and a small step costs less than that. A step within a loop
    over units has to be here, or else the loop does not use vectors.
    """
    return private(function, forceinline=True)


_after: list[Callable[[], None]] = []


class _Ends(event.Listener):
    def on_start(self, event: Any) -> None:
        pass

    def on_end(self, event: Any) -> None:
        main = threading.current_thread() is threading.main_thread()
        if _after and main and not global_compiler_lock.is_locked():
            _after.pop()()


event.register("numba:compiler_lock", _Ends())


def after_compiling(call: Callable[[], None]) -> bool:
    """Call this when the compilation in the main thread ends; False: there is none, and nothing is called.

    For interrupts: an exception between two calls of LLVM leaves objects that are freed twice, and Python
    crashes. Only the main thread may call this, and only the last ``call`` is made.
    """
    if not global_compiler_lock.is_locked():
        return False
    _after[:] = [call]
    return True
