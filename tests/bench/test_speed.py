"""The rbmviz part of every row of ``rbmviz bench speed``, timed by pytest-benchmark.

To compare two commits::

    pytest tests/bench --benchmark-save=before; ...; pytest tests/bench --benchmark-compare
"""

import pytest
from threadpoolctl import threadpool_limits

from rbmviz.bench.speed import BENCH_ROWS


@pytest.mark.parametrize("row", BENCH_ROWS, ids=lambda row: row.name)
def test_row(row, benchmark):
    ours = row.make(False).ours
    with threadpool_limits(limits=1):
        benchmark.extra_info["work"] = ours.work
        benchmark.pedantic(ours.run, rounds=7, warmup_rounds=1)
