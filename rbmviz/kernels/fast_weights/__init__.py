"""One *driven* chain, whose parameters move: theta + theta_F, updated after every emitted sample.

R, the rates, are the means of (v E[h|v]', v, E[h|v]) over the training data. In numpy (the tests run this
block), one sample of rates-FPCD (with R = 0, of sample penalization); theta, theta_F and R are (W, b, c)::

    def sample(v, theta, theta_F, R, eps, alpha, k, bernoulli):
        W, b, c = (part + fast for part, fast in zip(theta, theta_F))
        for _ in range(k):
            h = bernoulli(sigmoid(c + v @ W))  # (1) sample h ~ p(h | v; theta + theta_F)
            v = bernoulli(sigmoid(b + W @ h))  # (2) sample v ~ p(v | h; theta + theta_F)
        s = np.outer(v, h), v, h  # (3) emit v
        for fast, rate, now in zip(theta_F, R, s):  # (4) theta_F <- alpha theta_F + eps (R - s)
            fast[...] = alpha * fast + eps * (rate - now)
        return v, h

This rule is written again for a batch of chains with one theta_F (``samplers/shared_fast_weights.py``), for
units -1 and +1 (``samplers/symmetric_units.py``), slowly in ``tests/naive.py``, and twice in
``benchmarks/peers.py``; samplers state it in their ``equation``. Here line (4) is in ``sample``, ``rows``,
``history`` and ``norm``, and its limit in ``regime``. All have to change together.

Instead of drawing a unit, rates-herding sets it to 1 if its pre-activation is above 0, and repeats (1) and
(2) until v no longer changes, ``max_sweeps`` times at most.

Adding a whole matrix for each sample would cost more than the sweep. theta_F is therefore kept in parts,

    theta + theta_F = theta_coef theta + rates_coef R + M_coef M - P,

with three scalars, a matrix M with biases of its own, and P, the weighted sum of the statistics of the newest
samples. M holds a part of theta_F or all of it, and in some phases theta, too. The pre-activations under
theta, R and M are updated from the units that flipped, see ``layers``. The cost is memory traffic. There are
two regimes, each of which updates the pre-activations under as few of theta, R and M as possible:

- **History** (alpha below 0.98389): the newest samples are stored as bits (see ``history``), and P is the
  weighted sum of their statistics. It has two phases. At first ``rates_coef`` moves towards its limit
  eps / (1 - alpha), and what M held before fades. A history's length later both have ended, and M absorbs
  theta + limit R, and no longer changes: theta_coef = 0, M_coef = 1, and ``rates_coef`` is from then on the
  excess over the limit, 0. Only the pre-activations under M are still updated, and from v to h those under
  R, which the norm of theta_F needs. When eps changes, ``rates_coef`` moves again, and R is updated in both
  directions until M has absorbed the new limit.
- **Rows** (alpha near 1, or s with the means of h, which are not bits): P = 0, and every sample is one
  rank-1 update of M; the decay multiplies the scalars. From time to time theta_F is written out into M,
  because ``rates_coef R`` and ``M_coef M`` would otherwise grow against each other until float32 loses
  their difference. The rank-1 updates are *pending* (see ``rows``). If nothing decays (alpha = 1), M
  absorbs theta as well, and the pre-activations under theta are no longer updated from h to v; from v to h
  they are, because |theta_F| needs them.

A kernel never changes the regime, because the code of the change would be compiled into it.
``regime.prepare`` chooses the regime between two calls, and sets for how many samples that choice is valid.
|theta_F|^2 and <theta_F, R> are advanced from the pre-activations at the new v, most of which the sweep needs
anyway, and recomputed when M holds all of theta_F, alone or with theta: at each change of the regime, and in
rows at each write-out (see ``norm``). In a history their errors decay.

Rounding: the error of the pre-activations is that of float32 sums of the size of rates_coef R v. A row of M
is rounded whenever its unit flips. The pending update is summed in float64, because its rounding error would
be added to every row.

==================  =====================================================================================
``state``           the records of a chain: its half-steps in both directions, its scalars
``history``         the newest samples as bits, and products with their weighted sum P
``intrinsics``      a masked sum of samples that are stored as bits, in LLVM
``rows``            rank-1 updates of M that reach a row when its unit flips
``norm``            |theta_F|, from one sample to the next
``regime``          which parts hold theta_F, and the passage from one regime to the other
``sample``          the algorithms, and what callers use: ``sample_chain``, ``climb_chain``
==================  =====================================================================================
"""

from rbmviz.kernels.fast_weights.history import history_length_of
from rbmviz.kernels.fast_weights.sample import climb_chain, sample_chain
from rbmviz.kernels.fast_weights.state import DrivenChain, chain_bytes, current_parameters, make_chain

__all__ = [
    "DrivenChain",
    "chain_bytes",
    "climb_chain",
    "current_parameters",
    "history_length_of",
    "make_chain",
    "sample_chain",
]
