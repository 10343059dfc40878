"""The cache folder: compiled kernels and downloaded data, which can be recreated at any time."""

import os
from pathlib import Path

from platformdirs import user_cache_dir


def cache_dir() -> Path:
    """Return the cache folder: ``RBMVIZ_CACHE_DIR``, or else the user's cache folder.

    For a user without a home folder, the returned path cannot be created.
    """
    if named := os.environ.get("RBMVIZ_CACHE_DIR"):
        return Path(named)
    try:
        folder = Path(user_cache_dir("rbmviz", appauthor=False))
    except RuntimeError:  # older versions of platformdirs return a folder named "~" instead
        folder = Path("~")
    return folder if folder.parts[0] != "~" else Path(os.devnull) / "no home folder"
