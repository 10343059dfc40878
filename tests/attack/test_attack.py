"""The attacks as tests: ``pytest -m attack``, a minute each; ``--attack-minutes 30`` for long ones.

Their modules are imported inside the tests, because every run of pytest collects this file.
"""

import asyncio
import gc
import warnings
from pathlib import Path

import pytest

pytestmark = pytest.mark.attack
LONG = 5
"""Minutes from which on the slow parts are run, too."""


def test_damaged_inputs_are_refused_in_a_sentence_or_work(minutes, report):
    from tests.attack import fuzz

    outcomes = fuzz.fuzz(minutes)
    report(fuzz.table(outcomes))
    defects = fuzz.kinds(outcomes)
    assert not defects, f"inputs in {fuzz.KEEP.resolve()}:\n{defects}"


def test_a_server_stands_visitors_watchers_and_floods(minutes, report, tmp_path):
    from tests.attack import soak
    from tests.attack.server import serving

    if minutes >= LONG:
        table = "\n".join(soak.soak(minutes, list(soak.PHASES)))
        report(table)
        assert soak.DIED not in table
        return
    with serving(tmp_path / "log.txt") as server:
        with warnings.catch_warnings():
            # Visitors that break off leave sockets open on purpose; the warnings about them are ignored.
            warnings.simplefilter("ignore", ResourceWarning)
            rows = asyncio.run(short_soak(server))
            gc.collect()
        assert server.process.poll() is None, server.log.read_text()
        report("\n".join(f"{what}: {value}" for what, value in rows))
        # Streamlit itself logs a traceback if a browser leaves while it connects; these are ignored.
        text, root = server.log.read_text(), Path(__file__).parents[2]
        assert not [part for part in ("app", "rbmviz") if f'File "{root / part}' in text], text[-3000:]


async def short_soak(server):
    from tests.attack import soak, watching

    rows = await soak.mixed(server, 0.15)
    rows += await soak.crowd(server, 50, 4)
    rows += await soak.sessions(server, 10)
    rows += await soak.hostile(server, 1)
    rows += await watching.hostile(server, 4)
    return rows


def test_a_crowded_server_goes_on(minutes, report, tmp_path):
    from tests.attack import crowding
    from tests.attack.server import serving

    with serving(tmp_path / "flood.txt", RBMVIZ_SERVER_MB="1000") as server:
        before, beside, rows = asyncio.run(crowding.flood(server))
        ends, more = asyncio.run(crowding.uploads(server, size=30_000_000))
        rows += more
    loads = 1000 if minutes >= LONG else 100
    # Each page that was left keeps three descriptors, as long as Streamlit keeps its session: 128 of them.
    with serving(tmp_path / "loads.txt", open_files=1024) as server:
        drawn, more = asyncio.run(crowding.page_loads(server, loads, every=0 if minutes >= LONG else 1.0))
        assert crowding.answers(f"{server.address}/_stcore/health")
    report("\n".join(f"{what}: {value}" for what, value in (*rows, *more)))
    assert beside > before / 2
    assert 0 < ends[204] < 40  # none is larger than half of what is left
    assert ends[204] + ends[413] == 40
    # A page without room is told so; its memory comes back ten seconds after it was left.
    assert drawn["drawn"] > 0
    assert drawn["drawn"] + drawn["told that there is no room"] == loads, drawn


def test_killed_commands_leave_whole_files(minutes, report):
    from tests.attack.kills import kill

    rounds = max(round(minutes / 2), 1)
    table, *wrong = kill(rounds, all_kernels=minutes >= LONG)
    report(table)
    assert not wrong, "\n".join(wrong)
