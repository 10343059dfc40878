"""AIS against enumeration: unbiased weights, correct standard errors, and a warning if they are not."""

import numpy as np
import pytest
from naive import random_rbm
from threadpoolctl import threadpool_limits

from rbmviz import BadInput, Model, load_model
from rbmviz.metrics import ais_blocks, ais_log_z, log_z
from rbmviz.metrics.ais import ais_steps


@pytest.mark.parametrize("base", ["data", "rates", "own"])
def test_the_mean_weight_is_z_even_with_few_temperatures(base):
    rbm = random_rbm(5, 3, 1.0, 1)
    data = np.random.default_rng(2).integers(0, 2, (9, 5), dtype=np.uint8) | np.uint8([1, 0, 0, 0, 0])
    model = Model(rbm, rbm.rates(data)) if base == "rates" else rbm
    betas = np.array([0, 0.3, 0.8, 1])
    found = ais_log_z(model, data if base == "data" else None, n_chains=20_000, betas=betas, seed=3)
    ratio = np.exp(found.log_weights - log_z(rbm))
    error = ratio.std() / len(ratio) ** 0.5
    assert error < 0.02
    assert ratio.mean() == pytest.approx(1, abs=3.5 * error)
    assert found.std_error == pytest.approx(error, rel=0.05)
    assert (found.n_chains, found.n_temperatures) == (20_000, 4)
    assert found.ess == pytest.approx(ratio.sum() ** 2 / (ratio**2).sum())


@pytest.mark.parametrize(("m", "n", "scale"), [(7, 13, 1.0), (90, 9, 0.3), (11, 600, 0.1)])
def test_log_z_is_exact_within_its_own_error(m, n, scale):
    rbm = random_rbm(m, n, scale, 2)
    found = ais_log_z(rbm, seed=0)
    assert found.std_error < 0.05
    assert abs(found.log_z - log_z(rbm)) < 3 * found.std_error
    assert found.warning == ""


def test_the_error_covers_the_truth_as_often_as_it_should():
    """20 seeds: z is standard normal. The same with a base whose log Z is off by 0.1 is refused."""
    rbm = random_rbm(12, 7, 0.7, 5)
    runs = [ais_log_z(rbm, betas=300, seed=seed) for seed in range(20)]
    z = np.array([(run.log_z - log_z(rbm)) / run.std_error for run in runs])
    error = np.array([run.std_error for run in runs])
    assert (np.abs(z) < 2).sum() >= 17  # at a level of 95 %, fewer happen once in 60 times or less
    assert 6 < (z**2).sum() < 45  # chi-square with 20 degrees of freedom, 0.1 % on either side
    wrong = z + 0.1 / error
    assert (np.abs(wrong) < 2).sum() < 17
    assert (wrong**2).sum() > 45


def test_too_few_temperatures_are_noticed():
    model = load_model("bas_pcd")
    found = ais_log_z(model, betas=5)
    assert found.ess < 10
    assert f"Only {found.ess:.1f} of 128 chains" in found.warning
    runs = [ais_log_z(model, betas=5, seed=seed) for seed in range(20)]
    far = [abs(run.log_z - log_z(model.rbm)) > 2 * run.std_error for run in runs]
    assert sum(far) > 4  # the level says 1: such an error is not to be trusted


def returned(generator):
    """Run a generator to its end; return what it returns."""
    while True:
        try:
            next(generator)
        except StopIteration as end:
            return end.value


def test_steps_have_the_weights_of_all_at_once():
    """Whatever BLAS may do elsewhere in the process: a sum over 784 units in another order is another one."""
    rbm, given = random_rbm(784, 500, 0.05, 2), {"n_chains": 40, "betas": 5, "seed": 3}
    with threadpool_limits(limits=4, user_api="blas"):
        found = returned(ais_steps(rbm, **given))
        np.testing.assert_array_equal(found.log_weights, ais_log_z(rbm, **given).log_weights)


def test_a_seed_gives_the_same_weights_on_any_number_of_threads(monkeypatch):
    rbm = random_rbm(13, 7, 0.5, 1)
    want = ais_log_z(rbm, n_chains=70, betas=50, seed=4).log_weights
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    np.testing.assert_array_equal(ais_log_z(rbm, n_chains=70, betas=50, seed=4).log_weights, want)
    blocks = list(ais_blocks(rbm, n_chains=70, betas=50, seed=4))
    assert [len(block) for block in blocks] == [32, 32, 6]
    np.testing.assert_array_equal(np.concatenate(blocks), want)
    assert len(np.unique(want)) == 70
    assert not np.isin(ais_log_z(rbm, n_chains=70, betas=50, seed=5).log_weights, want).any()


def test_bad_arguments_are_refused():
    rbm = random_rbm(16, 3, 1, 0)
    for betas in (1, [0, 1, 0.5], [0.1, 1], [0, 0.9], [0, np.nan, 1], [[0, 1]]):
        with pytest.raises(BadInput, match="AIS"):
            ais_log_z(rbm, betas=betas)
    with pytest.raises(BadInput, match="at least 2 chains"):
        ais_log_z(rbm, n_chains=1)
