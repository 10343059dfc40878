"""A link whose updates take minutes, on a real server: the end of the server does not wait for them."""

import asyncio
import subprocess
import sys

import pytest
from waiting import run

from tests.attack.server import serving
from tests.attack.visitor import Visitor

LONG = "train_data=digits&hidden=2000&t=pcd:n_chains=10000,k=1000"
"""An update takes more than four minutes of a core."""

pytestmark = pytest.mark.slow


async def open_long(server):
    """Open the long link; return once its first update runs."""
    visitor = await Visitor(server.address, "train", LONG).open()
    await visitor.until(lambda: visitor.states)
    before = server.cpu_seconds
    while server.cpu_seconds < before + 5:
        await asyncio.sleep(0.1)
    assert list(visitor.n.values()) == [0]
    return visitor


def test_server_ends_while_a_long_update_runs(tmp_path):
    async def visit(server):
        visitor = await open_long(server)
        server.process.terminate()
        try:
            await asyncio.to_thread(server.process.wait, 20)
        except subprocess.TimeoutExpired:
            pytest.fail("The server has not ended after 20 s.")
        await visitor.close(abrupt=True)

    command = (sys.executable, "-m", "rbmviz", "app", "--no-browser")
    with serving(tmp_path / "log.txt", command=command, RBMVIZ_STEP_SECONDS="1000000") as server:
        run(visit(server))
