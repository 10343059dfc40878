"""Where rbmviz keeps what it can make again: compiled kernels and downloaded data."""

import os
from pathlib import Path

from platformdirs import user_cache_dir


def cache_dir() -> Path:
    """Return the cache folder: ``RBMVIZ_CACHE_DIR``, or the user's own cache folder.

    Who has no home at all has no such folder either: the path is then one that cannot be made.
    """
    if given := os.environ.get("RBMVIZ_CACHE_DIR"):
        return Path(given)
    try:
        folder = Path(user_cache_dir("rbmviz", appauthor=False))
    except RuntimeError:  # older platformdirs name a folder "~" in this one instead
        folder = Path("~")
    return folder if folder.parts[0] != "~" else Path(os.devnull) / "no home folder"
