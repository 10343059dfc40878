"""Samples of a random RBM: the true distribution is known, and it is itself an RBM."""

import numpy as np

from rbmviz import kernels, rng
from rbmviz.datasets import Dataset
from rbmviz.datasets.binarise import full_name, whole_option
from rbmviz.datasets.fields import PARTS
from rbmviz.rbm import RBM
from rbmviz.registry import dataset

N_VISIBLE, N_HIDDEN = 200, 20
SIMULATION_CHAINS = 50
"""Independent chains per part; each gives the same number of observations."""

SWEEPS_BETWEEN = 100
"""Sweeps between two observations of a chain."""

SIMULATION_BURN_IN = 1000
"""Sweeps before the first observation of a chain. The hidden states of the true model have very unequal
probabilities (for seed 0 one of them has 93 %): 10 sweeps from uniform bits leave a total variation distance
of 0.26 to their exact distribution (0.56 for seed 2); after 1,000 sweeps 2,000 chains show no difference."""


def truth(seed: int = 0) -> RBM:
    """Return the true model: 200 visible, 20 hidden units, all parameters N(0, 1) (UCD, section 6.2)."""
    g = rng.generator(seed, "simulated truth")
    shapes = (N_VISIBLE, N_HIDDEN), N_VISIBLE, N_HIDDEN
    return RBM(*(g.standard_normal(shape) for shape in shapes))


def observations(rbm: RBM, n: int, seed: np.random.SeedSequence) -> np.ndarray:
    """Return n visible states of one Gibbs chain that starts at uniform bits, uint8 (n, n_visible)."""
    v = rng.generator(seed, "start").integers(0, 2, rbm.n_visible, dtype=np.uint8)
    up = kernels.layers.make_preactivation(rbm.W, rbm.c)
    down = kernels.layers.make_preactivation(rbm.W.T, rbm.b)
    v_flips, h_flips = kernels.layers.make_flips(rbm.n_visible), kernels.layers.make_flips(rbm.n_hidden)
    kernels.layers.start_at_input(v_flips, v, up)
    first = SIMULATION_BURN_IN // SWEEPS_BETWEEN - 1
    out_v = np.empty((first + n, rbm.n_visible), np.uint8)
    out_p = np.empty(out_v.shape, np.float32)
    h, sweeps = np.zeros(rbm.n_hidden, np.uint8), np.zeros(1, np.int64)
    stream = rng.kernel_state(seed, "chain")
    state = up, down, v, h, v_flips, h_flips, stream, sweeps
    kernels.gibbs.gibbs(
        *state, np.float32(1.0), SWEEPS_BETWEEN, np.empty(rbm.n_hidden, np.float32), out_v, out_p
    )
    return out_v[first:]


@dataset("simulated", label="Simulated bits")
def simulated(seed: int | str = 0) -> Dataset:
    """Gibbs samples of a random RBM, 200 x 20 (paper UCD, section 6.2): 1,000 / 1,000 / 1,000.

    All parameters of the true model (see ``truth``) are N(0, 1). The paper takes its observations from one
    long Gibbs run. Here each part has 50 independent chains with 20 observations each, 100 sweeps apart after
    1,000 sweeps of burn-in, so that no part depends on the path of a single chain.

    seed : seed of the true model and of the chains (default 0)

    Raises BadInput if the seed is not a whole number from 0 up.
    """
    seed = whole_option("simulated: seed", seed, 0)
    rbm, parts = truth(seed), {}
    for part in PARTS:
        chains = (rng.child(seed, f"simulated {part}", i) for i in range(SIMULATION_CHAINS))
        parts[part] = np.concatenate(
            [observations(rbm, 1000 // SIMULATION_CHAINS, chain) for chain in chains]
        )
    return Dataset(
        name=full_name("simulated", str(seed), default="0"),
        **parts,  # type: ignore[arg-type]
        binarisation="drawn as bits",
        source=(
            f"an RBM of {N_VISIBLE} x {N_HIDDEN} units with parameters N(0, 1), seed {seed}: "
            f"{SIMULATION_CHAINS} Gibbs chains a part, {SIMULATION_BURN_IN:,} sweeps of burn-in, "
            f"{SWEEPS_BETWEEN} between observations"
        ),
    )
