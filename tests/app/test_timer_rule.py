"""When a page has nothing new to draw until the next command."""

from types import SimpleNamespace

import pytest

from rbmviz_app.timer import waits_for_command


@pytest.mark.parametrize(
    ("statuses", "waiting", "expected"),
    [
        (["paused", "finished", "failed"], False, True),
        (["paused", "running"], False, False),
        (["paused", "starting"], False, False),
        (["paused", "rebuilding"], False, False),
        (["paused", "paused"], True, False),  # a common start, which comes without a command
    ],
)
def test_only_comparisons_that_need_a_command_wait_for_one(statuses, waiting, expected):
    shown = [(i, SimpleNamespace(status=status)) for i, status in enumerate(statuses)]
    assert waits_for_command(SimpleNamespace(waiting_for_all=waiting, peek=lambda: shown)) is expected
