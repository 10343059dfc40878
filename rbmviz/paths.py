"""Where rbmviz keeps what it can make again: compiled kernels and downloaded data."""

import os
from pathlib import Path

from platformdirs import user_cache_dir


def cache_dir() -> Path:
    """Return the cache folder: ``RBMVIZ_CACHE_DIR``, or the user's own cache folder."""
    return Path(os.environ.get("RBMVIZ_CACHE_DIR") or user_cache_dir("rbmviz", appauthor=False))
