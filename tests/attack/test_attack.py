"""The attacks as tests: ``pytest -m attack``, a minute each; ``--attack-minutes 30`` for long ones.

Their modules are imported inside the tests, because every run of pytest collects this file.
"""

import pytest
from waiting import run

pytestmark = pytest.mark.attack


def report(capsys, *lines):
    """Print what was seen, also where a test passes."""
    with capsys.disabled():
        print("", *lines, sep="\n")  # noqa: T201


def test_damaged_inputs_are_refused_in_a_sentence_or_work(minutes, capsys):
    from tests.attack import fuzz

    outcomes = fuzz.fuzz(minutes)
    report(capsys, fuzz.table(outcomes))
    defects = fuzz.kinds(outcomes)
    assert not defects, f"inputs in {fuzz.KEEP.resolve()}:\n{defects}"


def test_flooded_server_goes_on(minutes, capsys, tmp_path):
    from tests.attack import floods
    from tests.attack.server import serving

    with serving(tmp_path / "log.txt", RBMVIZ_SERVER_MB="1000") as server:
        before, rates, told = run(floods.floods(server, 4 * max(minutes, 1)))
        report(capsys, *told)
        assert min(rates.values()) > before / 2, told
        # None is larger than half of what is left.
        ends = run(floods.uploads(server))
        assert 0 < ends[204] < 40
        assert ends[204] + ends[413] == 40
        assert server.process.poll() is None
        assert not server.tracebacks


def test_pages_that_were_left_take_no_descriptors_from_the_next(minutes, capsys, tmp_path):
    """Nor memory: a page without room is told so; its memory comes back ten seconds after it was left."""
    from tests.attack import floods
    from tests.attack.server import serving

    with serving(tmp_path / "log.txt", open_files=1024) as server:
        count = 100 * round(max(minutes, 1))
        drawn = run(floods.page_loads(server, count))
    report(capsys, f"{count} page loads: {dict(drawn)}")
    assert drawn["drawn"] > 0
    assert drawn["drawn"] + drawn["told that there is no room"] == count
