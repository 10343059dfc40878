"""Coupled chains: each is an exact Gibbs chain, the chains meet, and their estimate is unbiased."""

import numpy as np
import pytest

import rbmviz.coupling
from rbmviz import RBM, BadInput, couple, rng
from rbmviz.coupling import ALGORITHMS, PAIRS_PER_BLOCK, PairStream, tv_bound
from rbmviz.metrics import model_statistics, start_law, sweep_distances


def small(m: int, n: int) -> RBM:
    g = np.random.default_rng(m)
    return RBM(g.normal(0, 0.8, (m, n)), g.normal(0, 0.4, m), g.normal(0, 0.4, n))


def starts(m: int, pairs: int) -> np.ndarray:
    """Starts at a few fixed "data" rows, far from the model's law."""
    rows = np.random.default_rng(1).integers(0, 2, (3, m), dtype=np.uint8)
    return np.tile(rows, (pairs // 3 + 1, 1))[:pairs]


def worst(rbm: RBM, pairs) -> float:
    """Largest deviation of the mean estimate from the truth, in standard errors over pairs."""
    model = model_statistics(rbm)
    found = []
    for estimate, want in zip(pairs.estimate, (model.W, model.b, model.c), strict=True):
        error = estimate.std(axis=0) / np.sqrt(len(estimate))
        found.append((np.abs(estimate.mean(axis=0) - want) / error).max())
    return max(found)


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("size", [(5, 3), (4, 7), (10, 8)])
def test_the_estimate_is_unbiased(size, algorithm, k):
    rbm = small(*size)
    pairs = couple(rbm, starts(size[0], 10_000), algorithm, max_sweeps=100_000, k=k, seed=k)
    assert not pairs.truncated.any()
    assert pairs.loops_given_up == 0
    assert worst(rbm, pairs) < 5


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_capped_residual_loop_is_biased(algorithm, monkeypatch):
    """Negative control: so is CD-1, and the test above tells."""
    rbm = small(5, 3)
    monkeypatch.setattr(rbmviz.coupling, "MAX_PROPOSALS", 1)
    pairs = couple(rbm, starts(5, 40_000), algorithm, max_sweeps=100_000)
    assert pairs.loops_given_up > 0
    assert worst(rbm, pairs) > 7


def test_truncated_pairs_are_counted_and_biased():
    rbm = small(10, 8)
    pairs = couple(rbm, starts(10, 50_000), max_sweeps=2)
    assert pairs.truncated.mean() > 0.2
    assert (pairs.tau[pairs.truncated] == 2).all()
    assert worst(rbm, pairs) > 7


def test_sharing_randomness_makes_them_meet_sooner():
    """Paper UCD, appendix A.2: 65.4 % of tau <= 10 with algorithm 3, a long tail with algorithm 1."""
    g = np.random.default_rng(0)
    rbm = RBM(g.normal(0, 0.1, (500, 100)), g.normal(0, 0.1, 500), g.normal(0, 0.1, 100))
    v0 = g.integers(0, 2, (400, 500), dtype=np.uint8)
    shared = couple(rbm, v0, "rbm")
    assert 0.5 < (shared.tau <= 10).mean() < 0.8
    assert not shared.truncated.any()
    half_step = couple(rbm, v0, "half_step")  # h of both is equal more often: they meet sooner still
    assert (half_step.tau <= 10).mean() > (shared.tau <= 10).mean() + 0.05
    assert half_step.share_cut == 0
    general = couple(rbm, v0[:40], "general", max_sweeps=300)
    assert (general.tau <= 10).mean() < 0.1
    assert general.share_cut == general.truncated.mean() > 0


def test_seeds_and_bad_input():
    rbm, v0 = small(5, 3), starts(5, 50)
    a, b, other = (couple(rbm, v0, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(a.tau, b.tau)
    assert (a.tau != other.tau).any()
    np.testing.assert_array_equal(couple(rbm, v0[:20], seed=1).tau, a.tau[:20])
    with pytest.raises(BadInput, match="rbm, general, half_step"):
        couple(rbm, v0, "maximal")
    with pytest.raises(BadInput, match="from 6 up"):
        couple(rbm, v0, lag=5, max_sweeps=5)
    with pytest.raises(BadInput, match="for lag 1"):
        _ = couple(rbm, v0, lag=2).estimate


def random_starts(m: int):
    return lambda block: rng.generator(3, "starts", block).integers(
        0, 2, (PAIRS_PER_BLOCK, m), dtype=np.uint8
    )


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(("lag", "k", "most"), [(1, 1, 30), (1, 4, 30), (3, 1, 30), (1, 12, 3)])
def test_a_stream_runs_the_pairs_of_the_library(algorithm, lag, k, most):
    """Same seed, same tau, however the sweeps are cut, and where pairs are cut off before k."""
    rbm, starts, unit = small(10, 8), random_starts(10), (7, 2)
    times = np.array([t for t in (lag, lag + 1, lag + 2, 20) if t <= most])
    stream = PairStream(rbm, starts, algorithm, most, lag, 5, k=k, unit=unit, times=times)
    for sweeps in [1, 1, 3, 50, 7, *[400] * 200]:
        stream.advance(sweeps)
    assert stream.finished > 2 * PAIRS_PER_BLOCK
    n = 2 * PAIRS_PER_BLOCK
    blocks = [
        couple(rbm, starts(block), algorithm, most, lag, rng.child(5, "pairs", block), k=k)
        for block in range(2)
    ]
    np.testing.assert_array_equal(stream.tau[:n], np.concatenate([pairs.tau for pairs in blocks]))
    np.testing.assert_array_equal(stream.truncated[:n], np.concatenate([pairs.truncated for pairs in blocks]))
    np.testing.assert_array_equal(
        stream.rejected[:n].sum(axis=1), np.concatenate([pairs.rejected for pairs in blocks])
    )
    if algorithm == "general":  # the first chain keeps its refused candidate
        assert not stream.rejected[:n, 0].any()
    assert stream.distances.sum(axis=1).tolist() == [stream.finished] * len(times)
    met = (stream.tau[: stream.finished] <= times[-1]) & ~stream.truncated[: stream.finished]
    assert stream.distances[-1, 0] >= met.sum() > 0
    assert (stream.tau[:n] <= most).all()
    if lag == 1:
        W, b, c = (np.concatenate([pairs.estimate[i] for pairs in blocks]) for i in range(3))
        want = [b.mean(axis=1), c.mean(axis=1), b[:, 7], c[:, 2], W[:, 7, 2]]
        np.testing.assert_allclose(stream.unbiased[:n], np.transpose(want), atol=1e-5)


@pytest.mark.parametrize(("algorithm", "k"), [("rbm", 1), ("general", 1), ("rbm", 6), ("half_step", 1)])
def test_the_pair_on_show_is_the_coupled_chain(algorithm, k):
    """One sweep at a time: the chains differ until tau, and are equal there, in the library's pair, too."""
    rbm, starts, times = small(10, 8), random_starts(10), [1, 2, 4]
    stream = PairStream(rbm, starts, algorithm, 1000, seed=5, k=k, times=np.array(times))
    for wrong in ([0, 2], [2, 1001], [2, 2]):  # after the cut nothing would tell a pair from one that has met
        with pytest.raises(BadInput, match="from 1 to 1,000"):
            PairStream(rbm, starts, algorithm, 1000, times=np.array(wrong))
    with pytest.raises(BadInput, match="PairStream: max_sweeps"):
        PairStream(rbm, starts, algorithm, 3, lag=5)
    want = couple(rbm, starts(0), algorithm, 1000, 1, rng.child(5, "pairs", 0)).tau
    distances = np.zeros((3, 11), int)
    for tau in want[:20]:
        seen = dict.fromkeys(times, 0)  # pairs that have met are 0 apart
        for t in range(1, tau):
            stream.advance(1)
            assert stream.t == t
            (v, h), (v2, h2) = stream.chains()
            assert (h != h2).any() or (v != v2).any()
            if t in seen:
                seen[t] = (v != v2).sum()
        stream.advance(1)
        for x, x2 in zip(*stream.chains(), strict=True):
            np.testing.assert_array_equal(x, x2)
        distances[range(3), list(seen.values())] += 1
    assert stream.finished == 20
    np.testing.assert_array_equal(stream.distances, distances)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_pair_cut_off_before_k_has_an_estimate(algorithm):
    """Its first chain goes on to k alone: f(xi_k) has its law, whenever the second chain is cut off."""
    rbm, starts = small(10, 8), random_starts(10)
    cut, whole = (PairStream(rbm, starts, algorithm, most, 1, 5, k=12) for most in (2, 10_000))
    for stream in (cut, whole):
        while stream.finished < 4000:
            stream.advance(10_000)
    assert cut.truncated[:4000].mean() > 0.2
    assert cut.tau.max() == 2
    np.testing.assert_array_equal(cut.cd_estimate[:4000], cut.unbiased[:4000])
    difference = cut.cd_estimate[:4000] - whole.cd_estimate[:4000]
    assert (np.abs(difference.mean(axis=0)) < 5 * difference.std(axis=0) / 4000**0.5).all()


@pytest.mark.parametrize(("lag", "algorithm"), [(1, "rbm"), (4, "rbm"), (4, "half_step")])
def test_the_bound_lies_above_the_exact_curve_over_seeds(lag, algorithm):
    """At every t, within Monte-Carlo error; at small t it is above by far, at large t it comes near."""
    rbm, starts, times = small(8, 5), random_starts(8), np.arange(25)
    exact = sweep_distances(rbm, start_law(np.concatenate([starts(block) for block in range(40)])), 24)
    for seed in range(5):
        stream = PairStream(rbm, starts, algorithm, 10_000, lag, seed)
        while stream.finished < 10_000:
            stream.advance(100_000)
        bound, error = tv_bound(stream.tau[:10_000], lag, times)
        assert (bound + 4 * error + 4 / 10_000 >= exact).all()
        # Negative controls: the bound of a wrong time, and of pairs cut off, do not hold.
        assert not (tv_bound(stream.tau[:10_000], lag, times + 12)[0] + 4 * error >= exact).all()
        assert not (tv_bound(np.minimum(stream.tau[:10_000], lag + 2), lag, times)[0] + 0.01 >= exact).all()


def test_the_error_of_the_bound_is_that_of_a_mean():
    tau, lag = np.random.default_rng(0).geometric(0.2, 500) + 3, 3
    bound, error = tv_bound(tau, lag, np.array([0, 4]))
    for i, t in enumerate((0, 4)):
        values = np.maximum(np.ceil((tau - lag - t) / lag), 0)
        assert bound[i] == pytest.approx(values.mean())
        assert error[i] == pytest.approx(values.std() / np.sqrt(500))
