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


def test_what_is_killed_leaves_whole_files(minutes, report):
    from tests.attack.kills import kill

    rounds = max(round(minutes / 2), 1)
    table, *wrong = kill(rounds, all_kernels=minutes >= LONG)
    report(table)
    assert not wrong, "\n".join(wrong)
