"""Coupled chains as data for ``pairs.js``: the arguments of the kernel ``run_pairs``."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from rbmviz import kernels, rng
from rbmviz.browser.chains import Blocks, kind_of, leaves
from rbmviz.coupling import ALGORITHMS, PAIRS_PER_BLOCK, Algorithm, pair_setup, pair_streams
from rbmviz.rbm import RBM


def pair_arguments(
    rbm: RBM, v0: np.ndarray, streams: np.ndarray, algorithm: Algorithm = "rbm", max_sweeps: int = 1000
) -> dict[str, Any]:
    """Return the arguments of ``run_pairs`` for one pair from each row of v0, with lag 1."""
    coupling = kernels.coupling
    return {
        "chains": coupling.make_chains(rbm.W, rbm.b, rbm.c),
        "v0": np.ascontiguousarray(v0, np.uint8),
        "streams": streams,
        "setup": pair_setup(algorithm, 1, 1, max_sweeps),
        "sweeps": 1,
        "progress": coupling.make_progress(),
        "outcomes": coupling.make_outcomes(len(v0)),
        "sums": coupling.no_sums(*rbm.W.shape),
        "watched": coupling.watch_nothing(),
    }


def pairs_spec(
    rbm: RBM, starts: Sequence[np.ndarray], seed: rng.Seed, max_sweeps: int, blocks: Blocks
) -> dict[str, Any]:
    """Return the ``PairsSpec`` of ``pairs.js``; contents are added to the blocks.

    Its pairs are those of ``PairStream`` with this seed, which it makes at any scale of the parameters.

    rbm : the model at scale 1
    starts : starts of the blocks of pairs, uint8 (PAIRS_PER_BLOCK, n_visible) each
    """
    seeds = (rng.child(seed, "pairs", block) for block in range(len(starts)))
    streams = np.concatenate([pair_streams(PAIRS_PER_BLOCK, each) for each in seeds])
    v0 = np.concatenate(starts)
    flat: dict[str, Any] = {}
    for name, argument in pair_arguments(rbm, v0, streams, max_sweeps=max_sweeps).items():
        flat |= leaves(name, argument)
    arrays = {path: x for path, x in flat.items() if isinstance(x, np.ndarray)}
    sources = {path: blocks.name(x) if x.view(np.uint8).any() else None for path, x in arrays.items()}
    described = {path: [kind_of(x), list(x.shape), sources[path]] for path, x in arrays.items()}
    kind, shape, _ = described.pop("chains.v.weights")  # after those that it is the transpose of
    described["chains.v.weights"] = [kind, shape, ["chains.h.weights"]]
    setups = ((each, pair_setup(each, 1, 1, max_sweeps)) for each in ALGORITHMS)
    return {
        "n_visible": rbm.n_visible,
        "n_hidden": rbm.n_hidden,
        "pairs": len(v0),
        "numbers": {path: x for path, x in flat.items() if path not in arrays},
        "arrays": described,
        "setups": {
            each: {"setup.common": setup.common, "setup.half_steps": setup.half_steps}
            for each, setup in setups
        },
    }
