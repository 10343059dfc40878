"""The process that imports everything once and forks a child for each case (started by ``pool``)."""

import os
import tempfile

import altair  # noqa: F401
import pandas  # noqa: F401

from rbmviz.cli.options import all_commands
from tests.attack.commands import COMMANDS
from tests.attack.families import READERS, prepare
from tests.attack.pages import PAGE_FAMILIES
from tests.attack.pool import serve_cases

FAMILIES = {family.name: family for family in (*READERS, *COMMANDS, *PAGE_FAMILIES)}

if __name__ == "__main__":
    all_commands()
    prepare()
    # Kernels come from the cache of this machine; downloads of the cases go into a temporary cache.
    with tempfile.TemporaryDirectory(prefix="rbmviz-attack-cache-") as cache:
        os.environ["RBMVIZ_CACHE_DIR"] = cache
        serve_cases(FAMILIES)
