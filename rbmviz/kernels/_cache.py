"""numba's cache on disk, if the disk is full or processes are killed: damaged entries are compiled again."""

import hashlib
import pickle
from collections.abc import Callable
from typing import Any

from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile


class _CheckedFile(IndexDataCacheFile):
    """The index and the machine code of one function, which begins with its SHA-256.

    numba does not check what it reads: an incomplete index raises an error, and incomplete machine code would
    be run.
    """

    def _load_index(self) -> dict[Any, str]:
        try:
            return super()._load_index()
        except Exception:  # pickles of damaged bytes raise anything
            return {}

    def _save_data(self, name: str, data: Any) -> None:
        content = self._dump(data)
        with self._open_for_write(self._data_path(name)) as file:
            file.write(hashlib.sha256(content).digest() + content)

    def _load_data(self, name: str) -> Any:
        path = self._data_path(name)
        with open(path, "rb") as file:
            content = file.read()
        size = hashlib.sha256().digest_size
        if hashlib.sha256(content[size:]).digest() != content[:size]:
            raise OSError(f"'{path}' is damaged.")  # numba then compiles the kernel
        return pickle.loads(content[size:])


class _OwnFolder(CompileResultCacheImpl):
    """Stores code in numba's CACHE_DIR only, never beside the sources or in numba's common folder."""

    _locator_classes = CompileResultCacheImpl._locator_classes[:1]  # those after it are for other places


class KernelCache(FunctionCache):
    """numba's cache of one kernel, except that errors of the cache never stop a program."""

    _impl_class = _OwnFolder

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        own: Any = self._cache_file
        self._cache_file = _CheckedFile(self._cache_path, self._impl.filename_base, own._source_stamp)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save compiled code, or continue without saving if the disk is full."""
        try:
            super().save_overload(sig, data)
        except OSError:
            pass
