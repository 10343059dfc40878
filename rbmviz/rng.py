"""Random numbers: from the user's seed, one independent stream for each named purpose.

A stream is derived from its *name*, not from the order in which streams are created, so that a new purpose
(another metric, for example) never changes the numbers of an existing one. That holds for seeds that are
integers or a SeedSequence; a Generator advances with each stream, so that the order matters.
"""

import zlib
from numbers import Integral

import numpy as np

from rbmviz.errors import BadInput, quoted

Seed = int | np.random.SeedSequence | np.random.Generator

STREAM_LANES = 64
"""Parallel lanes of one kernel stream: four 512-bit vectors of uint32, so that draws are vectorised."""

STREAM_WORDS = np.arange(4 * STREAM_LANES)
WORD_HASHES = np.cumprod(np.r_[0x8B51F9DD, np.full(len(STREAM_WORDS), 0x58F38DED)], dtype=np.uint32)
"""Constants of numpy's ``SeedSequence.generate_state``, for each word of a stream and its successor."""


def seed_sequence(seed: Seed) -> np.random.SeedSequence:
    """Return the SeedSequence of a user's seed.

    seed : int, SeedSequence or Generator; a whole number from 0 to 2^128 - 1. A Generator gives 128 bits of
        entropy, which advances it.

    Raises BadInput if the seed is none of these.
    """
    if isinstance(seed, np.random.SeedSequence):
        return seed
    if isinstance(seed, np.random.Generator):
        return np.random.SeedSequence(seed.integers(0, 2**32, size=4, dtype=np.uint32).tolist())
    if isinstance(seed, bool) or not isinstance(seed, Integral) or not 0 <= seed < 2**128:
        raise BadInput(f"The seed {quoted(seed)} is not a seed: give a whole number from 0 up.")
    return np.random.SeedSequence(int(seed))


def child(seed: Seed, name: str, index: int = 0) -> np.random.SeedSequence:
    """Return the child of ``seed`` for the purpose ``name`` and the chain or replication ``index``."""
    parent = seed_sequence(seed)
    key = (*parent.spawn_key, zlib.crc32(name.encode()), index)
    return np.random.SeedSequence(parent.entropy, spawn_key=key, pool_size=parent.pool_size)


def generator(seed: Seed, name: str, index: int = 0) -> np.random.Generator:
    """Return the numpy Generator of the named stream."""
    return np.random.default_rng(child(seed, name, index))


def kernel_state(seed: Seed, name: str, index: int = 0) -> np.ndarray:
    """Return the named stream's state for kernels: uint32 (4, STREAM_LANES), one xoshiro128++ per lane."""
    pool = child(seed, name, index).pool  # generate_state makes its words one by one
    words = (pool[STREAM_WORDS % len(pool)] ^ WORD_HASHES[:-1]) * WORD_HASHES[1:]
    return (words ^ words >> 16).reshape(4, STREAM_LANES)
