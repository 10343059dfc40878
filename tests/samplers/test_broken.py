"""The sampler that is broken on purpose keeps the contract, and breaks its law as it says."""

import numpy as np
import pytest

import rbmviz
from rbmviz import registry
from rbmviz.testing import check_sampler
from rbmviz.testing.broken import BURN_IN, FAULTS, PERIOD, Broken


def test_it_keeps_the_contract_of_samplers():
    check_sampler(Broken)


def test_it_is_found_by_name_and_stands_in_no_list():
    assert rbmviz.make_sampler("broken", fault="noise") == registry.samplers.read("broken:fault=noise")
    assert "broken" not in rbmviz.list_samplers()
    with pytest.raises(rbmviz.BadInput, match="unbroken"):
        rbmviz.make_sampler("unbroken")


def drawn(fault: str, n: int = 4000) -> np.ndarray:
    return rbmviz.sample("bas_cd1", f"broken:fault={fault}", n, seed=1).v


def test_each_fault_is_what_its_name_says():
    model = rbmviz.load_model("bas_cd1")
    warm = rbmviz.metrics.effective_temperature(drawn("temperature"), model)
    assert warm.interval[0] < 1 / 1.5 < warm.interval[1]
    stuck = np.flatnonzero(np.ptp(drawn("stuck_unit"), axis=0) == 0)
    assert list(stuck) == [int((model.rbm.W**2).sum(axis=1).argmax())]
    energy = model.rbm.free_energy(drawn("no_burn_in"))
    assert energy[: BURN_IN // 4].mean() > energy[BURN_IN:].mean() + 5
    mode = drawn("one_mode")
    assert (mode != mode[0]).sum(axis=1).max() <= 4  # two bits from the start, each
    assert len(np.unique(mode, axis=0)) > 1
    assert abs(drawn("noise").mean() - 0.5) < 0.01
    again = drawn("periodic")
    np.testing.assert_array_equal(again[PERIOD:], again[:-PERIOD])
    assert (again[1 : PERIOD + 1] != again[:PERIOD]).any()


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize(("model", "data"), [("bas_pcd", "bas"), ("modes_pcd", "modes")])
def test_findings_find_it(model, data, fault):
    samples = rbmviz.sample(model, f"broken:fault={fault}", 10_000, seed=0)
    assert rbmviz.metrics.findings(samples, model, data).verdict == "found"
