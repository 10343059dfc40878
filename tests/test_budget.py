"""Settings of the environment: the memory budget, and the limits of a page and a server."""

import pytest

from rbmviz.errors import BadInput
from rbmviz.files.budget import check_memory, memory_budget
from rbmviz.session import limits


def test_the_budget_is_a_setting(monkeypatch):
    monkeypatch.delenv("RBMVIZ_MEMORY_MB", raising=False)
    assert memory_budget() == 10**9
    monkeypatch.setenv("RBMVIZ_MEMORY_MB", "250")
    assert memory_budget() == 250 * 10**6
    check_memory("'a.npz'", 250 * 10**6, "give fewer rows")
    with pytest.raises(BadInput, match=r"'a.npz' needs 0\.26 GB .* budget is 0\.25 GB: give fewer rows, or"):
        check_memory("'a.npz'", 260 * 10**6, "give fewer rows")


@pytest.mark.parametrize("text", ["0", "-1", "1e3", "many", "١٢", "9" * 13])
def test_invalid_size_setting_is_refused(monkeypatch, text):
    monkeypatch.setenv("RBMVIZ_MEMORY_MB", text)
    with pytest.raises(BadInput, match="RBMVIZ_MEMORY_MB"):
        memory_budget()


def test_limits_are_settings(monkeypatch):
    assert (limits().panels, limits().sweeps_of_visitor, limits().panels_with_copies) == (12, 5, 48)
    monkeypatch.setenv("RBMVIZ_PANELS", "3")
    monkeypatch.setenv("RBMVIZ_SWEEPS", "")
    assert (limits().panels, limits().sweeps, limits().panels_with_copies) == (3, 20, 12)
    for bad in ("0", "-1", "1.5", "many", "9" * 10, "١"):
        monkeypatch.setenv("RBMVIZ_SERVER_MB", bad)
        with pytest.raises(BadInput, match=r"RBMVIZ_SERVER_MB = .*whole number from 1 up"):
            limits()
