"""The rbmviz part of every row of ``python -m benchmarks speed``, timed by pytest-benchmark.

To compare two commits::

    pytest benchmarks --benchmark-save=before; ...; pytest benchmarks --benchmark-compare
"""

from typing import Any

import pytest
from threadpoolctl import threadpool_limits

from benchmarks.speed import BENCH_ROWS, Row


@pytest.mark.parametrize("row", BENCH_ROWS, ids=lambda row: row.name)
def test_row(row: Row, benchmark: Any) -> None:
    """Time the rbmviz part of one row."""
    ours = row.make(None).ours
    with threadpool_limits(limits=1):
        benchmark.extra_info["work"] = ours.work
        benchmark.pedantic(ours.run, rounds=7, warmup_rounds=1)
