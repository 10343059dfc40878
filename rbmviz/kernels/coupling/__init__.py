"""Two Gibbs chains drawn jointly so that they meet: algorithms 1 to 3 of paper UCD (Qiu, Zhang, Wang, 2020).

The first chain, xi, runs ``lag`` sweeps ahead of the second, eta. A pair is one row of starts; its meeting
time tau is the smallest t > lag with xi_t = eta_{t - lag}, the first joint sweep after which both are equal.
In numpy (the tests run this block), for lag 1::

    def sigmoid(x):
        return 1 / (1 + np.exp(-x))

    def couple_maximally(p, p2, common, uniform):
        def log_ratio(x):
            return np.log(np.where(x, p2 / p, (1 - p2) / (1 - p))).sum()

        *z, u = uniform(len(p) + 1)
        x = x2 = z < p                                          # (A1, 3; A3, 1)
        equal = np.log(u) <= log_ratio(x)                       # (A1, 4; A3, 2)
        first, second = common and not equal, not equal         # algorithm 1 keeps x
        while first or second:                                  # (A1, 7; A3, 5)
            *z, u, u2 = uniform(len(p) + 2)                     # (A3, 6)
            if first:                                           # (A3, 7)
                x = z < p                                       # (A3, 8)
                first = np.log(u) <= log_ratio(x)
            if second:                                          # (A3, 10)
                x2 = z < p2                                     # (A3, 11)
                second = np.log(u2) <= -log_ratio(x2)
        return x, x2, equal

    def coupled_sweep(W, b, c, h, h2, common, half_step, uniform):
        v, v2, met = couple_maximally(sigmoid(W @ h + b), sigmoid(W @ h2 + b), common, uniform)
        p, p2 = sigmoid(v @ W + c), sigmoid(v2 @ W + c)
        if half_step and not met:
            h, h2, _ = couple_maximally(p, p2, common, uniform)
            return v, h, v2, h2, met
        z = uniform(len(c))                                     # (A3, 15)
        h = h2 = z < p                                          # (A3, 16)
        if not met:
            z = z if common else uniform(len(c))
            h2 = z < p2
        return v, h, v2, h2, met

    def unbiased_estimate(W, b, c, v0, k, common, half_step, uniform):
        def f(v):
            return np.outer(v, sigmoid(v @ W + c))

        def draw_visible(h):
            return uniform(len(b)) < sigmoid(W @ h + b)

        def draw_hidden(v):
            return uniform(len(c)) < sigmoid(v @ W + c)

        h2 = draw_hidden(v0)                                    # (A2, 2 and 3) h_0 of both chains
        v = draw_visible(h2)                                    # (A1, 1) xi_1
        if half_step:                                           # eta_0 has another h_0, coupled with h_1
            p, p2 = sigmoid(v @ W + c), sigmoid(v0 @ W + c)
            h, h2, _ = couple_maximally(p, p2, common, uniform)
        else:
            h = draw_hidden(v)
        t, tau, met, total = 1, 0, False, f(v)
        while not met or t < k:                                 # (A1, 2)
            t += 1
            if met:                                             # met before k: only f(xi_k) is missing
                v = draw_visible(h)
                h = draw_hidden(v)
            else:
                v, h, v2, h2, met = coupled_sweep(W, b, c, h, h2, common, half_step, uniform)
                tau = t
            if t <= k:
                total = f(v)                                    # (A2, 4) f(xi_k)
            elif not met:
                total += f(v) - f(v2)                           # (A2, 4) f(xi_t) - f(eta_{t-1})
        return tau, total

(A1, 3) is line 3 of algorithm 1; the kernels carry the same marks. ``uniform(n)`` returns n uniform numbers;
``common`` is algorithm 3, without it algorithm 1; ``half_step`` (``PairSetup.half_steps``), with ``common``,
is the coupling of the authors' program, which also draws the hidden units by a maximal coupling. From the
same uniform numbers the kernels make the same chains, but cut pairs off at ``max_sweeps`` and give up a loop
after ``max_proposals``. Start reading at ``pairs.run_pairs``.
"""

from rbmviz.kernels.coupling.pairs import PairOutcomes, PairSetup, make_outcomes, make_progress, run_pairs
from rbmviz.kernels.coupling.state import CoupledChains, make_chains, unpack_bits
from rbmviz.kernels.coupling.statistics import (
    PairSums,
    WatchedPairs,
    make_gradient_buffer,
    no_sums,
    watch_nothing,
)

__all__ = [
    "CoupledChains",
    "PairOutcomes",
    "PairSetup",
    "PairSums",
    "WatchedPairs",
    "make_chains",
    "make_gradient_buffer",
    "make_outcomes",
    "make_progress",
    "no_sums",
    "run_pairs",
    "unpack_bits",
    "watch_nothing",
]
