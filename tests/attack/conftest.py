import pytest

REPORT = pytest.StashKey[list[str]]()


def pytest_collection_modifyitems(config, items):
    """Attacks run where they are asked for: ``pytest -m attack``."""
    if "attack" in config.option.markexpr:
        return
    attacks = [item for item in items if item.get_closest_marker("attack")]
    if attacks:
        config.hook.pytest_deselected(items=attacks)
        items[:] = [item for item in items if item not in attacks]


@pytest.fixture
def minutes(request) -> float:
    return request.config.getoption("--attack-minutes")


@pytest.fixture
def report(request):
    """Say something at the end of the run, before pytest's own closing line."""
    return request.config.stash.setdefault(REPORT, []).append


def pytest_terminal_summary(terminalreporter, config):
    for text in config.stash.get(REPORT, []):
        terminalreporter.write_line("")
        terminalreporter.write_line(text)
