"""How kernels are compiled: every flag once, with its reason."""

import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba import njit

from rbmviz.paths import cache_dir

settings: Any = numba.config  # its names appear at run time only

FLAGS: dict[str, Any] = {
    "nogil": True,  # worker threads run kernels side by side
    "error_model": "numpy",  # no zero-division branch: it would stop loops from vectorising
    "no_cfunc_wrapper": True,  # nobody calls kernels from C: saves a twentieth of compiling
    "cache": True,  # one compilation a machine, not one a process
}
# Not here, on purpose: parallel=True (two Python threads on numba's workqueue layer abort the whole
# process) and fastmath (every sum has the order that the code says, so that oracles are bit-exact), but for
# the order of sums in ``reduction``.


def _cache_folder() -> str:
    """Name the cache by what numba cannot see: edits in a *neighbouring* file, and numba's own version."""
    digest = hashlib.sha256(numba.__version__.encode())
    for source in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(source.read_bytes())
    folder = cache_dir() / "kernels" / digest.hexdigest()[:16]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            return str(folder)
    except OSError:
        pass
    return tempfile.mkdtemp(prefix="rbmviz-kernels-")


CACHE_FOLDER = _cache_folder()


def kernel(function: Callable[..., Any], **more: Any) -> Any:
    """Compile lazily with the flags above; the cache lies in a folder of our own."""
    before = settings.CACHE_DIR
    settings.CACHE_DIR = CACHE_FOLDER  # read when the function is decorated, so restored at once
    try:
        return njit(**FLAGS, **more)(function)
    finally:
        settings.CACHE_DIR = before


def inner(function: Callable[..., Any]) -> Any:
    """Compile a kernel that other kernels call and that makes no array of its own (numba refuses if it does).

    Elsewhere numba counts the references to every array at every call, by atomic additions: a sweep had 150
    of them, a tenth of its time, and threads with one model would fight for one counter. Here is nothing to
    be counted, for all arrays belong to the caller.
    """
    return kernel(function, _nrt=False)


def reduction(function: Callable[..., Any]) -> Any:
    """Compile an inner kernel whose sums may be taken in any order, for else they are taken one by one.

    For figures that are shown, never for what a sample depends on: the order is the compiler's, and another
    on another machine.
    """
    return kernel(function, _nrt=False, fastmath={"reassoc"})


def inline(function: Callable[..., Any]) -> Any:
    """Compile an ``inner`` kernel into the kernels that call it, and nowhere else: Python cannot call it.

    A call hands over seven words for every array, and a small step costs less than that.
    """
    alone: dict[str, Any] = {"cache": False, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return njit(**{**FLAGS, **alone, "_nrt": False, "forceinline": True})(function)
