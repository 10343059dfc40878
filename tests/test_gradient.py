"""Bias and variance of gradient estimators: the paper's formulas, and estimators with known bias."""

import numpy as np
import pytest

from rbmviz import RBM, BadInput, couple, make_trainer
from rbmviz.gradient import (
    RUNS,
    EstimatorRun,
    GradientReference,
    enumerated,
    gradient_quality,
    load_reference,
    quality,
    save_reference,
    tempered,
)
from rbmviz.metrics import tempered_ladders


@pytest.fixture
def rbm() -> RBM:
    g = np.random.default_rng(5)
    return RBM(g.normal(0, 1.5, (5, 3)), g.normal(0, 0.5, 5), g.normal(0, 0.5, 3))


@pytest.fixture
def data() -> np.ndarray:
    return np.random.default_rng(6).integers(0, 2, (24, 5), dtype=np.uint8)


def runs_of(estimates: np.ndarray) -> list[EstimatorRun]:
    """Cut estimates (RUNS, each, parameters) into runs."""
    return [EstimatorRun(len(x), x.mean(axis=0), float((x**2).sum(axis=1).mean())) for x in estimates]


def test_the_formulas_are_those_of_the_paper():
    exact = np.arange(7.0)
    estimates = np.random.default_rng(0).normal(0, 2, (RUNS, 11, 7)) + exact
    found = quality(GradientReference("enumeration", exact[None]), runs_of(estimates))
    flat = estimates.reshape(-1, 7)
    assert found.replications == RUNS * 11
    assert found.bias == pytest.approx(((flat.mean(axis=0) - exact) ** 2).sum() / 7)
    assert found.variance == pytest.approx(flat.var(axis=0, ddof=1).mean())
    means = estimates.mean(axis=1)
    assert found.bias_corrected == pytest.approx(found.bias - means.var(axis=0, ddof=1).mean() / RUNS)


@pytest.mark.parametrize("true", [0.0, 0.3])
def test_the_corrected_bias_is_right_within_its_error(true):
    """The paper's figure is not: of an unbiased estimator it shows variance / replications."""
    g = np.random.default_rng(1)
    exact = GradientReference("enumeration", np.zeros((1, 6)))
    found = [quality(exact, runs_of(g.normal(true, 1, (RUNS, 3, 6)))) for _ in range(200)]
    corrected = np.array([x.bias_corrected for x in found])
    assert corrected.mean() == pytest.approx(true**2, abs=3 * corrected.std() / 200**0.5)
    z = (corrected - true**2) / np.array([x.std_error for x in found])
    # Twenty runs: a t distribution with 19 degrees of freedom at best.
    assert 0.9 < (np.abs(z) < 2.5).mean()
    assert (np.abs(z) < 1).mean() < 0.9
    floor = 1 / (RUNS * 3)
    assert np.mean([x.bias for x in found]) - corrected.mean() == pytest.approx(floor, rel=0.1)


def test_the_exact_trainer_has_no_bias(rbm, data):
    found = gradient_quality(rbm, data, "exact", 40)
    assert found.bias < 1e-14
    assert found.variance < 1e-14
    batches = gradient_quality(rbm, data, "exact", 1200, batch_size=4)
    assert abs(batches.bias_corrected) < 1e-14  # 10 whole epochs a run
    h = rbm.mean_hidden(data)
    rows = np.hstack([(data[:, :, None] * h[:, None, :]).reshape(24, -1), data, h])
    # Four of 24 rows without replacement.
    assert batches.variance == pytest.approx(rows.var(axis=0, ddof=1).mean() / 4 * (1 - 4 / 24), rel=0.05)


def test_cd_is_biased_and_ucd_is_not(rbm, data):
    cd = gradient_quality(rbm, data, "cd", 2000)
    assert cd.bias_corrected > 20 * cd.std_error
    ucd = gradient_quality(rbm, data, make_trainer("ucd", t_max=100_000), 2000)
    assert cd.share_cut == ucd.share_cut == 0
    assert abs(ucd.bias_corrected) < 3 * ucd.std_error
    assert ucd.bias < 3 * ucd.variance / 2000 < cd.bias / 50
    # Pairs cut off are seen.
    cut = gradient_quality(rbm, data, "ucd", 2000, t_max=3)
    assert cut.bias_corrected > 5 * cut.std_error
    pairs = couple(rbm, data.repeat(500, axis=0), max_sweeps=3)
    assert cut.share_cut == pytest.approx(pairs.share_cut, abs=0.02)
    # The bias of CD falls with the sweeps.
    assert gradient_quality(rbm, data, "cd", 2000, k=5).bias < cd.bias / 4


def test_persistent_chains_are_run_in_first(rbm, data):
    for name in ("pcd", "pt"):
        late = gradient_quality(rbm, data, name, 400, burn_in=100)
        assert abs(late.bias_corrected) < 3 * late.std_error
    early = gradient_quality(rbm, data, "pcd", 40, burn_in=0)
    assert early.bias_corrected > 5 * late.std_error


def test_the_seed_decides(rbm, data):
    assert gradient_quality(rbm, data, "cd", 40, seed=3) == gradient_quality(rbm, data, "cd", 40, seed=3)
    assert gradient_quality(rbm, data, "cd", 40, seed=3) != gradient_quality(rbm, data, "cd", 40, seed=4)


def test_gradient_quality_refuses_bad_arguments(rbm, data):
    with pytest.raises(BadInput, match="whole number from 40 up"):
        gradient_quality(rbm, data, "cd", 39)
    with pytest.raises(BadInput, match=r"fpcd.*choose pcd"):
        gradient_quality(rbm, data, "fpcd", 40)
    large = RBM(np.zeros((30, 26)), np.zeros(30), np.zeros(26))
    with pytest.raises(BadInput, match=r"26 units.*exact gradient"):
        enumerated(large, np.eye(30, dtype=np.uint8))


def test_a_reference_of_tempering_finds_the_same_bias(rbm, data, tmp_path):
    """The bias of CD against long parallel tempering is that against the enumerated gradient."""
    exact = gradient_quality(rbm, data, "cd", 1000)
    ladders = tempered_ladders(rbm, samples=20_000, burn_in=100, n_temperatures=10, seed=1)
    reference = tempered(rbm, data, ladders)
    found = gradient_quality(rbm, data, "cd", 1000, reference=reference)
    assert found.reference == "parallel tempering"
    assert 0 < found.reference_error < exact.bias / 20
    assert abs(found.bias_corrected - exact.bias_corrected) < 4 * (found.std_error + exact.std_error)
    assert found.std_error > exact.std_error
    assert found.resolved
    assert exact.reference_error == 0
    # It is kept in a file, for this model and these rows alone.
    save_reference(tmp_path / "reference.npz", reference, rbm, data)
    again = load_reference(tmp_path / "reference.npz", rbm, data)
    assert gradient_quality(rbm, data, "cd", 1000, reference=again) == found
    with pytest.raises(BadInput, match="another model"):
        load_reference(tmp_path / "reference.npz", rbm, data[1:])
    for estimates, reason in ((np.full((3, 23), "x"), "numbers"), (np.full((3, 23), np.nan), "finite")):
        whole = dict(np.load(tmp_path / "reference.npz"))
        np.savez(tmp_path / "damaged.npz", **whole | {"estimates": estimates})
        with pytest.raises(BadInput, match=reason):
            load_reference(tmp_path / "damaged.npz", rbm, data)
    with pytest.raises(BadInput, match="7 parameters"):
        load_reference(tmp_path / "reference.npz", RBM(np.zeros((3, 1)), np.zeros(3), np.zeros(1)), data)


@pytest.mark.parametrize("error", [0.1, 1.0])
def test_a_bias_below_the_error_of_its_reference_is_not_resolved(error):
    """A mean is 0.3 away from the truth; references with this standard error see it, or do not."""
    g = np.random.default_rng(3)
    found = []
    for _ in range(200):
        estimates = g.normal(0, error * 10**0.5, (10, 6))
        runs = runs_of(g.normal(0.3, 0.1, (RUNS, 3, 6)))
        found.append(quality(GradientReference("parallel tempering", estimates), runs))
    assert np.mean([x.reference_error for x in found]) == pytest.approx(error**2, rel=0.1)
    corrected = np.array([x.bias_corrected for x in found])
    assert corrected.mean() == pytest.approx(0.09, abs=4 * corrected.std() / 200**0.5)
    assert np.mean([x.std_error for x in found]) == pytest.approx(corrected.std(), rel=0.35)
    resolved = np.mean([x.resolved for x in found])
    assert resolved > 0.5 if error < 0.3 else resolved < 0.2
