"""Seeds, named streams, and the quality of the kernels' random bits."""

import numpy as np

from rbmviz import rng
from rbmviz.kernels import random


def test_streams_are_named_and_independent_of_order():
    first = rng.generator(3, "chain").random(4)
    rng.generator(3, "metric").random(4)
    np.testing.assert_array_equal(rng.generator(3, "chain").random(4), first)
    others = [rng.generator(3, "metric"), rng.generator(4, "chain"), rng.generator(3, "chain", 1)]
    assert all((g.random(4) != first).all() for g in others)


def test_every_kind_of_seed_is_taken():
    sevens = np.random.SeedSequence(5, pool_size=7)
    for seed, sequence in ((5, np.random.SeedSequence(5)), (sevens, sevens)):
        words = rng.child(sequence, "chain").generate_state(4 * rng.STREAM_LANES, np.uint32)
        np.testing.assert_array_equal(rng.kernel_state(seed, "chain"), words.reshape(4, -1), strict=True)
    by_generator = [rng.kernel_state(np.random.default_rng(5), "chain") for _ in range(2)]
    np.testing.assert_array_equal(*by_generator)


def blocks_of(state: np.ndarray, n: int) -> np.ndarray:
    """Return n blocks of draws, one row per block."""
    out = np.empty((n, rng.STREAM_LANES), np.uint32)
    for block in out:
        random.random_bits(state, block)
    return out


def strangest(bits: np.ndarray) -> float:
    """Return the largest of some standardised statistics, each about N(0, 1) if all bits are fair coins.

    The statistics are counts of every bit, and products of neighbours within a lane and between lanes.
    """
    u = bits / 2.0**32 - 0.5 + 2.0**-33
    ones = np.array([(bits >> np.uint32(i) & 1).sum() for i in range(32)], float)
    found = [np.abs(ones - bits.size / 2).max() / np.sqrt(bits.size / 4)]
    for x, y in ((u[1:], u[:-1]), (u[:, 1:], u[:, :-1]), (u[7:], u[:-7]), (u[:, 32:], u[:, :32])):
        found.append(abs((x * y).sum()) * 12 / np.sqrt(x.size))
    counts = np.bincount((bits >> np.uint32(24)).ravel(), minlength=256)
    expected = bits.size / 256
    found.append((((counts - expected) ** 2 / expected).sum() - 255) / np.sqrt(2 * 255))
    return max(found)


def test_bits_look_like_fair_coins_in_every_lane_and_between_them():
    assert strangest(blocks_of(rng.kernel_state(5, "chain"), 20_000)) < 5
    alike = np.repeat(rng.kernel_state(5, "chain")[:, ::2], 2, axis=1).copy()  # lanes in twos
    assert strangest(blocks_of(alike, 2000)) > 20


def test_draws_are_as_frequent_as_their_means():
    mean = np.linspace(0, 1, 101, dtype=np.float32)
    state, out, counts, n = rng.kernel_state(6, "chain"), np.empty(101, np.uint8), np.zeros(101), 20_000
    for _ in range(n):
        random.bernoulli(state, mean, out)
        counts += out
    error = np.sqrt(n * mean * (1 - mean))
    assert (np.abs(counts - n * mean) <= 4.5 * error).all()  # never at 0, always at 1
    assert (np.abs(counts - n * np.sqrt(mean)) > 4.5 * error)[1:-1].all()
