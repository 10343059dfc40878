"""numba's cache on disk, for any number of processes at once: what is not whole and right is compiled again.

numba keeps an index of the compilations of each function, and numbers the files of machine code. Two
processes that compile different things at the same moment could then take the same number, and one would run
the code of the other. Here each compilation has a file of its own, named by what it was compiled for, and
nothing is read back that does not say the same inside.
"""

import hashlib
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile


class _CheckedFiles(IndexDataCacheFile):
    """The machine code of one function; each file begins with the SHA-256 of numba's version and the rest.

    A key says what code was compiled for: types of the arguments, processor, bytecode.
    """

    def _path_of(self, key: Any) -> Path:
        index = Path(self._index_path)
        return index.with_name(f"{index.stem}.{hashlib.sha256(repr(key).encode()).hexdigest()[:16]}.nbc")

    def _digest(self, content: bytes) -> bytes:
        return hashlib.sha256(self._version.encode() + content).digest()

    def save(self, key: Any, data: Any) -> None:
        """Save code, under a name of its own and at once, so that no other process reads a part of it."""
        content = self._dump((self._source_stamp, key, data))
        with self._open_for_write(self._path_of(key)) as file:
            file.write(self._digest(content) + content)

    def load(self, key: Any) -> Any:
        """Return the code; None if there is none, or it is damaged, or was compiled for something else."""
        try:
            content = self._path_of(key).read_bytes()
        except OSError:
            return None
        size = hashlib.sha256().digest_size
        if self._digest(content[size:]) != content[:size]:
            return None
        stamp, known, data = pickle.loads(content[size:])
        return data if stamp == self._source_stamp and known == key else None


_CacheDir: Any = CompileResultCacheImpl._locator_classes[0]  # its name differs between versions of numba


class _Folder(_CacheDir):
    """numba's CACHE_DIR, also if it can only be read: an image of a machine may come with a full cache."""

    def ensure_cache_path(self) -> None:
        """Make the folder of a source file."""
        Path(self.get_cache_path()).mkdir(parents=True, exist_ok=True)


class _OwnFolder(CompileResultCacheImpl):
    """Stores code in numba's CACHE_DIR only, never beside the sources or in numba's common folder."""

    _locator_classes = [_Folder]  # noqa: RUF012


class KernelCache(FunctionCache):
    """numba's cache of one kernel, except that errors of the cache never stop a program."""

    _impl_class = _OwnFolder

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        own: Any = self._cache_file
        self._cache_file = _CheckedFiles(self._cache_path, self._impl.filename_base, own._source_stamp)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save compiled code, or continue without saving if the disk is full or the folder read-only."""
        try:
            super().save_overload(sig, data)
        except OSError:
            pass
