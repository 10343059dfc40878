"""Option, report and fixtures of the attacks."""

import pytest

REPORT = pytest.StashKey[list[str]]()


@pytest.fixture
def minutes(request) -> float:
    """The value of ``--attack-minutes``."""
    return request.config.getoption("--attack-minutes")


@pytest.fixture
def report(request):
    """A function that adds a text to the end of the report, before pytest's last line."""
    return request.config.stash.setdefault(REPORT, []).append


def pytest_terminal_summary(terminalreporter, config):
    for text in config.stash.get(REPORT, []):
        terminalreporter.write_line("")
        terminalreporter.write_line(text)
