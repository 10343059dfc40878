"""Option of the attacks."""

import pytest


@pytest.fixture
def minutes(request) -> float:
    """The value of ``--attack-minutes``."""
    return request.config.getoption("--attack-minutes")
