import numpy as np

from rbmviz import rng


def test_streams_are_named_and_independent_of_order():
    first = rng.generator(3, "chain").random(4)
    rng.generator(3, "metric").random(4)
    np.testing.assert_array_equal(rng.generator(3, "chain").random(4), first)
    others = [rng.generator(3, "metric"), rng.generator(4, "chain"), rng.generator(3, "chain", 1)]
    assert all((g.random(4) != first).all() for g in others)


def test_every_kind_of_seed_is_taken():
    by_int = rng.kernel_state(5, "chain")
    by_sequence = rng.kernel_state(np.random.SeedSequence(5), "chain")
    np.testing.assert_array_equal(by_int, by_sequence)
    assert by_int.shape == (4, rng.LANES)
    assert by_int.dtype == np.uint32
    by_generator = [rng.kernel_state(np.random.default_rng(5), "chain") for _ in range(2)]
    np.testing.assert_array_equal(*by_generator)
