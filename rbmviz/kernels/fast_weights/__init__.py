"""A *driven* chain: its parameters theta + theta_F move after every emitted sample.

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

The same rule is in ``samplers/shared_fast_weights.py`` (a batch of chains with one theta_F),
``samplers/symmetric_units.py`` (units -1 and +1), ``tests/naive.py`` (slowly), ``benchmarks/peers.py``
(twice) and in the samplers' ``equation``. Here line (4) is in ``sample``, ``rows``, ``history`` and ``norm``,
and its limit in ``regime``. Change all of them together.

Rates-herding sets a unit to 1 if its pre-activation is above 0 instead of drawing it, and repeats (1) and (2)
until v no longer changes, at most ``max_sweeps`` times.

Adding a whole matrix per sample would cost more than the sweep. theta_F is therefore kept in parts,

    theta + theta_F = theta_coef theta + rates_coef R + M_coef M - P,

with three scalars, a matrix M with its own biases, and P, the weighted sum of the statistics of the newest
samples. M holds part or all of theta_F, in some phases plus theta. The pre-activations under theta, R and M
are updated from the units that flipped, see ``layers``. The cost is memory traffic, so each of the two
regimes updates as few of them as possible:

- **History** (alpha below 0.98389): the newest samples are stored as bits (see ``history``), and P is the
  weighted sum of their statistics. At first ``rates_coef`` moves towards its limit eps / (1 - alpha), and the
  old content of M fades. One history length later M absorbs theta + limit R and stays: theta_coef = 0,
  M_coef = 1, and ``rates_coef`` becomes the excess over the limit, 0. From then on only the pre-activations
  under M are updated, and where |theta_F| is followed, from v to h those under R. When eps changes,
  ``rates_coef`` moves again, and R is updated in both directions until M has absorbed the new limit.
- **Rows** (alpha near 1, or s with the means of h, which are not bits): P = 0, and every sample is a rank-1
  update of M; the decay multiplies the scalars. theta_F is regularly written out into M, because otherwise
  ``rates_coef R`` and ``M_coef M`` would grow against each other until float32 loses their difference. The
  rank-1 updates are *pending* (see ``rows``). Without decay (alpha = 1) M absorbs theta as well, and the
  pre-activations under theta are updated only from v to h, where |theta_F| is followed.

A kernel never changes the regime, because that code would be compiled into it. ``regime.prepare`` chooses the
regime between two calls and the number of samples for which it is valid. Where the norm is followed, which
takes a quarter of a sample's time, |theta_F|^2 and <theta_F, R> are advanced from the pre-activations at the
new v, and recomputed when M holds all of theta_F: at each change of regime, and in rows at each write-out
(see ``norm``). In a history their errors decay.

Rounding: the pre-activations have the error of float32 sums of the size of rates_coef R v. A row of M is
rounded whenever its unit flips. The pending update is summed in float64, because its error would reach every
row.

==================  =====================================================================================
``state``           the state of a chain: its half-steps in both directions, its scalars
``history``         the newest samples as bits, and products with their weighted sum P
``intrinsics``      a masked sum of samples stored as bits, in LLVM
``rows``            rank-1 updates of M that reach a row when its unit flips
``norm``            |theta_F|, from one sample to the next
``regime``          which parts hold theta_F, and the change from one regime to the other
``sample``          the algorithms, and what callers use: ``sample_chain``, ``climb_chain``
==================  =====================================================================================
"""

from rbmviz.kernels.fast_weights.history import history_length_of
from rbmviz.kernels.fast_weights.sample import climb_chain, sample_chain
from rbmviz.kernels.fast_weights.state import DrivenChain, current_parameters, make_chain

__all__ = [
    "DrivenChain",
    "climb_chain",
    "current_parameters",
    "history_length_of",
    "make_chain",
    "sample_chain",
]
