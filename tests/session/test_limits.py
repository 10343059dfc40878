"""Limits of a page and a server, from the environment."""

import pytest

from rbmviz import BadInput
from rbmviz.session import limits


def test_settings_come_from_the_environment(monkeypatch):
    assert (limits().panels, limits().sweeps_of_visitor, limits().panels_with_copies) == (12, 5, 48)
    monkeypatch.setenv("RBMVIZ_PANELS", "3")
    monkeypatch.setenv("RBMVIZ_SWEEPS", "")
    assert (limits().panels, limits().sweeps, limits().panels_with_copies) == (3, 20, 12)
    for bad in ("0", "-1", "1.5", "many", "9" * 10, "١"):
        monkeypatch.setenv("RBMVIZ_SERVER_MB", bad)
        with pytest.raises(BadInput, match=r"RBMVIZ_SERVER_MB = .*whole number from 1 up"):
            limits()
