"""The cache folder, whose kernels and data can be recreated at any time, and the site's address."""

import functools
import os
from importlib import metadata
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


@functools.cache
def site_address() -> str:
    """Return the address of the published site, without a slash at its end; "" until it is published.

    It is ``Documentation`` of ``[project.urls]`` in pyproject.toml, read from the installed package.
    """
    try:
        urls = metadata.metadata("rbmviz").get_all("Project-URL") or []
    except metadata.PackageNotFoundError:  # a checkout that is not installed
        urls = []
    named = dict(url.split(", ", 1) for url in urls)
    return named.get("Documentation", "").rstrip("/")
