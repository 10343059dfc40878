"""The same work in other libraries: numpy, scikit-learn, torch, rbms, JAX, thrml.

A library runs in an environment of its own, by ``python peers.py``, see ``environments``: this file imports
neither rbmviz nor, before a function needs it, any library but numpy. Each function takes the model and a
seed, and returns a function that does one unit of work per call. The code is what an experienced user of the
library would write: float32, preallocated parameters, one expression per line; compiled where that is the
library's way.
"""

import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np

STATES = 4096
"""Number of hidden states enumerated at a time."""


class RBM(NamedTuple):
    """The parameters of a model, or its rates, float32."""

    W: np.ndarray
    b: np.ndarray
    c: np.ndarray


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


@cache
def _torch() -> Any:
    import torch

    torch.set_num_threads(1)
    return torch


def _tensor(x: np.ndarray) -> Any:
    return _torch().from_numpy(np.array(x, dtype=np.float32))


# One Gibbs sweep from v0: uint8 (n_visible,) for one chain, (chains, n_visible) for many.


def numpy_gibbs(rbm: RBM, v0: np.ndarray, seed: int) -> Callable[[], np.ndarray]:
    """Return block Gibbs sampling in numpy."""
    g, v, down = np.random.default_rng(seed), v0.astype(np.float32), np.ascontiguousarray(rbm.W.T)

    def sweep() -> np.ndarray:
        nonlocal v
        mean = _sigmoid(v @ rbm.W + rbm.c)
        h = (g.random(mean.shape, np.float32) < mean).astype(np.float32)
        mean = _sigmoid(h @ down + rbm.b)
        v = (g.random(mean.shape, np.float32) < mean).astype(np.float32)
        return v

    return sweep


def _bernoulli_rbm(rbm: RBM, seed: int, **more: Any) -> Any:
    from sklearn.neural_network import BernoulliRBM

    peer = BernoulliRBM(len(rbm.c), random_state=seed, **more)
    peer.components_ = np.array(rbm.W.T, order="F")  # the memory order that ``fit`` leaves
    peer.intercept_visible_, peer.intercept_hidden_ = rbm.b.copy(), rbm.c.copy()
    return peer


def sklearn_gibbs(rbm: RBM, v0: np.ndarray, seed: int) -> Callable[[], np.ndarray]:
    """Return block Gibbs sampling by ``BernoulliRBM.gibbs`` of scikit-learn."""
    peer, v = _bernoulli_rbm(rbm, seed), np.atleast_2d(v0).astype(np.float32)

    def sweep() -> np.ndarray:
        nonlocal v
        v = peer.gibbs(v)
        return v.reshape(v0.shape)

    return sweep


def torch_gibbs(rbm: RBM, v0: np.ndarray, seed: int) -> Callable[[], np.ndarray]:
    """Return block Gibbs sampling in torch."""
    torch = _torch()
    W, b, c, v = (_tensor(x) for x in (rbm.W, rbm.b, rbm.c, v0))
    down, g = W.T.contiguous(), torch.Generator().manual_seed(seed)

    def sweep() -> np.ndarray:
        nonlocal v
        with torch.inference_mode():
            h = torch.bernoulli(torch.sigmoid(v @ W + c), generator=g)
            v = torch.bernoulli(torch.sigmoid(h @ down + b), generator=g)
        return v.numpy()

    return sweep


def _bbrbm(rbm: RBM) -> Any:
    with warnings.catch_warnings(action="ignore"):  # torch warns about functions that rbms uses
        from rbms.bernoulli_bernoulli.classes import BBRBM

    return BBRBM(_tensor(rbm.W), _tensor(rbm.b), _tensor(rbm.c))


def rbms_gibbs(rbm: RBM, v0: np.ndarray, seed: int) -> Callable[[], np.ndarray]:
    """Return block Gibbs sampling by rbms; its own ``sample_state`` would draw h once more at the end."""
    _torch().manual_seed(seed)
    peer, start = _bbrbm(rbm), np.atleast_2d(v0)
    chains = peer.init_chains(len(start), start_v=_tensor(start))

    def sweep() -> np.ndarray:
        nonlocal chains
        chains = peer.sample_visibles(peer.sample_hiddens(chains))
        return chains["visible"].numpy().reshape(v0.shape)

    return sweep


@cache
def _jax() -> Any:
    import jax

    return jax


def jax_gibbs(rbm: RBM, v0: np.ndarray, seed: int, sweeps: int) -> Callable[[], np.ndarray]:
    """Return ``sweeps`` of block Gibbs sampling in JAX, in one compiled loop; the last state is returned."""
    jax = _jax()
    W, b, c = (jax.numpy.asarray(x) for x in rbm)

    def sweep(v: Any, key: Any) -> tuple[Any, Any]:
        up, down = jax.random.split(key)
        h = jax.random.bernoulli(up, jax.nn.sigmoid(v @ W + c)).astype(W.dtype)
        v = jax.random.bernoulli(down, jax.nn.sigmoid(h @ W.T + b)).astype(W.dtype)
        return v, v

    run = jax.jit(lambda v, key: jax.lax.scan(sweep, v, jax.random.split(key, sweeps)))
    v, key = jax.numpy.asarray(v0, W.dtype), jax.random.key(seed)

    def block() -> np.ndarray:
        nonlocal v, key
        key, now = jax.random.split(key)
        v, every = run(v, now)
        every.block_until_ready()
        return np.asarray(v)

    return block


def thrml_gibbs(rbm: RBM, v0: np.ndarray, seed: int, sweeps: int) -> Callable[[], np.ndarray]:
    """Return ``sweeps`` of block Gibbs sampling by thrml, whose units are spins of -1 and 1."""
    from thrml import Block, SamplingSchedule, SpinNode, sample_states
    from thrml.models import IsingEBM, IsingSamplingProgram

    jax, (W, b, c), start = _jax(), rbm, np.atleast_2d(v0).astype(bool)
    visible, hidden = ([SpinNode() for _ in x] for x in (b, c))
    # theta of units 0 and 1 in spins: W / 4, and half of what a unit gets on average from the others.
    biases = jax.numpy.asarray(np.concatenate([b / 2 + W.sum(axis=1) / 4, c / 2 + W.sum(axis=0) / 4]))
    edges = [(v, h) for v in visible for h in hidden]
    model = IsingEBM(visible + hidden, edges, biases, jax.numpy.asarray(W.ravel() / 4), jax.numpy.array(1.0))
    blocks = [Block(hidden), Block(visible)]
    program, schedule = IsingSamplingProgram(model, blocks, []), SamplingSchedule(0, sweeps, 1)
    run = jax.jit(jax.vmap(lambda key, state: sample_states(key, program, schedule, state, [], blocks)))
    key, state = jax.random.key(seed), [jax.numpy.zeros((len(start), len(c)), bool), jax.numpy.asarray(start)]

    def block() -> np.ndarray:
        nonlocal key, state
        key, now = jax.random.split(key)
        state = [x[:, -1] for x in jax.block_until_ready(run(jax.random.split(now, len(start)), state))]
        return np.asarray(state[1]).astype(np.float32).reshape(v0.shape)

    return block


def numpy_tempering(rbm: RBM, v0: np.ndarray, betas: np.ndarray, seed: int) -> Callable[[], np.ndarray]:
    """Return a sweep of all replicas and a round of swaps, in numpy; the coldest replica's v."""
    g, v, down, turn = (
        np.random.default_rng(seed),
        np.tile(v0, (len(betas), 1)).astype(np.float32),
        rbm.W.T,
        0,
    )

    def sweep() -> np.ndarray:
        nonlocal v, turn
        mean = _sigmoid(betas[:, None] * (v @ rbm.W + rbm.c))
        h = (g.random(mean.shape, np.float32) < mean).astype(np.float32)
        drive = h @ down + rbm.b
        v = (g.random(drive.shape, np.float32) < _sigmoid(betas[:, None] * drive)).astype(np.float32)
        energy = -(v * drive).sum(axis=1) - h @ rbm.c
        for i in range(turn, len(betas) - 1, 2):
            if np.log1p(-g.random()) < (betas[i] - betas[i + 1]) * (energy[i] - energy[i + 1]):
                v[[i, i + 1]] = v[[i + 1, i]]
        turn = 1 - turn
        return v[0]

    return sweep


def rbms_tempering(rbm: RBM, v0: np.ndarray, betas: np.ndarray, seed: int) -> Callable[[], np.ndarray]:
    """Return the same by rbms, which lets all pairs of neighbours swap in each round."""
    _torch().manual_seed(seed)
    peer, ladder = _bbrbm(rbm), _tensor(betas)
    from rbms.sampling.pt import swap_configurations

    chains = [peer.init_chains(1, start_v=_tensor(v0[None])) for _ in betas]

    def sweep() -> np.ndarray:
        for i, beta in enumerate(betas):
            chains[i] = peer.sample_visibles(peer.sample_hiddens(chains[i], beta), beta)
        swap_configurations(chains, peer, ladder)
        return chains[0]["visible"].numpy()[0]

    return sweep


def numpy_rates_fpcd(
    rbm: RBM, rates: RBM, v0: np.ndarray, seed: int, eps: float, alpha: float
) -> Callable[[], tuple[np.ndarray, np.ndarray, list[np.ndarray]]]:
    """Return rates-FPCD in numpy, float32, without allocating matrices; a call returns v, h and theta_F."""
    g, v, (W, b, c), R = np.random.default_rng(seed), v0.astype(np.float32), rbm, rates
    F, A, s_W = [np.zeros_like(x) for x in R], np.empty_like(W), np.empty_like(W)

    def step() -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
        nonlocal v
        np.add(W, F[0], out=A)
        mean = _sigmoid(v @ A + (c + F[2]))
        h = (g.random(mean.shape, np.float32) < mean).astype(np.float32)
        mean = _sigmoid(A @ h + (b + F[1]))
        v = (g.random(mean.shape, np.float32) < mean).astype(np.float32)
        np.outer(v, h, out=s_W)
        for f, r, s in zip(F, R, (s_W, v.copy(), h.copy()), strict=True):
            np.subtract(r, s, out=s)
            s *= np.float32(eps)
            f *= np.float32(alpha)
            f += s
        return v, h, F

    return step


def naive_rates_fpcd(
    rbm: RBM, rates: RBM, v0: np.ndarray, seed: int, eps: float, alpha: float
) -> Callable[[], tuple[np.ndarray, np.ndarray, list[np.ndarray]]]:
    """Return rates-FPCD in numpy as written in the paper, in float64; a call returns v, h and theta_F."""
    g, v = np.random.default_rng(seed), v0.astype(float)
    W, b, c, R_W, R_b, R_c = (x.astype(float) for x in (*rbm, *rates))
    F_W, F_b, F_c = np.zeros_like(W), np.zeros_like(b), np.zeros_like(c)

    def step() -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
        nonlocal v, F_W, F_b, F_c
        h = (g.random(c.shape) < _sigmoid(c + F_c + v @ (W + F_W))).astype(float)
        v = (g.random(b.shape) < _sigmoid(b + F_b + (W + F_W) @ h)).astype(float)
        F_W = alpha * F_W + eps * (R_W - np.outer(v, h))
        F_b = alpha * F_b + eps * (R_b - v)
        F_c = alpha * F_c + eps * (R_c - h)
        return v, h, [F_W, F_b, F_c]

    return step


# Distance histograms, int64 (points, width + 1), of a block of samples.


def _add_to_histograms(histograms: np.ndarray, distances: np.ndarray) -> np.ndarray:
    """Count a block of distances (samples, points) in the histograms, and return the histograms."""
    rows = np.arange(histograms.shape[0])
    for distance in distances:
        histograms[rows, distance] += 1
    return histograms


def sgemm_isl(test: np.ndarray, samples: np.ndarray) -> Callable[[], np.ndarray]:
    """Return the histograms by one matrix product: |t - s| = |t| + |s| - 2 t.s."""
    t, s = test.astype(np.float32), samples.astype(np.float32)
    histograms = np.zeros((len(test), test.shape[1] + 1), np.int64)

    def block() -> np.ndarray:
        distances = s.sum(axis=1)[:, None] + t.sum(axis=1) - 2 * (s @ t.T)
        return _add_to_histograms(histograms, distances.astype(np.int64))

    return block


def bitwise_count_isl(test: np.ndarray, samples: np.ndarray) -> Callable[[], np.ndarray]:
    """Return the histograms by ``numpy.bitwise_count`` of packed words."""

    def words(rows: np.ndarray) -> np.ndarray:
        packed = np.packbits(rows, axis=1)
        return np.ascontiguousarray(np.pad(packed, ((0, 0), (0, -packed.shape[1] % 8)))).view(np.uint64)

    t, s = words(test), words(samples)
    histograms, rows = np.zeros((len(test), test.shape[1] + 1), np.int64), np.arange(len(test))

    def block() -> np.ndarray:
        for one in s:
            histograms[rows, np.bitwise_count(t ^ one).sum(axis=1, dtype=np.int64)] += 1
        return histograms

    return block


def cdist_isl(test: np.ndarray, samples: np.ndarray) -> Callable[[], np.ndarray]:
    """Return the histograms by ``scipy.spatial.distance.cdist``."""
    from scipy.spatial.distance import cdist

    t, s = test.astype(bool), samples.astype(bool)
    histograms = np.zeros((len(test), test.shape[1] + 1), np.int64)
    return lambda: _add_to_histograms(
        histograms, np.rint(cdist(s, t, "hamming") * t.shape[1]).astype(np.int64)
    )


# One update by CD-1 or PCD-1 with a mini-batch, float32 (n, n_visible); returns W, b, c.

Update = Callable[[np.ndarray], tuple[Any, Any, Any]]


def numpy_update(rbm: RBM, rate: float, seed: int, chains: np.ndarray | None = None) -> Update:
    """Return the update of PCD-1 in numpy if ``chains``, uint8 (n, n_visible), are given, else of CD-1."""
    g, W, b, c = np.random.default_rng(seed), rbm.W.copy(), rbm.b.copy(), rbm.c.copy()
    u = None if chains is None else chains.astype(np.float32)

    def update(v: np.ndarray) -> tuple[Any, Any, Any]:
        nonlocal u
        positive = _sigmoid(v @ W + c)
        mean = positive if u is None else _sigmoid(u @ W + c)
        h = (g.random(mean.shape, np.float32) < mean).astype(np.float32)
        mean = _sigmoid(h @ W.T + b)
        w = (g.random(mean.shape, np.float32) < mean).astype(np.float32)
        negative = _sigmoid(w @ W + c)
        W[:] += np.float32(rate) * (v.T @ positive / len(v) - w.T @ negative / len(w))
        b[:] += np.float32(rate) * (v.mean(axis=0) - w.mean(axis=0))
        c[:] += np.float32(rate) * (positive.mean(axis=0) - negative.mean(axis=0))
        if u is not None:
            u = w
        return W, b, c

    return update


def torch_update(rbm: RBM, rate: float, seed: int, chains: np.ndarray | None = None) -> Update:
    """Return the update in torch, as ``numpy_update``."""
    torch = _torch()
    W, b, c = (_tensor(x) for x in rbm)
    g, u = torch.Generator().manual_seed(seed), None if chains is None else _tensor(chains)

    def update(rows: np.ndarray) -> tuple[Any, Any, Any]:
        nonlocal u
        v = torch.from_numpy(rows)
        with torch.inference_mode():
            positive = torch.sigmoid(v @ W + c)
            h = torch.bernoulli(positive if u is None else torch.sigmoid(u @ W + c), generator=g)
            w = torch.bernoulli(torch.sigmoid(h @ W.T + b), generator=g)
            negative = torch.sigmoid(w @ W + c)
            W.add_(v.T @ positive / len(v) - w.T @ negative / len(w), alpha=rate)
            b.add_(v.mean(0) - w.mean(0), alpha=rate)
            c.add_(positive.mean(0) - negative.mean(0), alpha=rate)
            if u is not None:
                u = w
        return W.numpy(), b.numpy(), c.numpy()

    return update


def rbms_update(rbm: RBM, rate: float, seed: int, chains: np.ndarray | None = None) -> Update:
    """Return the update by rbms, as ``numpy_update``: ``sample_state``, ``compute_gradient``, torch's SGD.

    As in its own ``train``, but with the plain gradient: neither centred nor divided by its norm.
    """
    torch = _torch()
    torch.manual_seed(seed)
    peer = _bbrbm(rbm)
    for x in peer.parameters():
        x.grad = torch.zeros_like(x)
    optimizer = torch.optim.SGD(peer.parameters(), lr=rate, maximize=True)
    kept = None if chains is None else peer.init_chains(len(chains), start_v=_tensor(chains))

    @torch.no_grad()
    def update(rows: np.ndarray) -> tuple[Any, Any, Any]:
        nonlocal kept
        v = torch.from_numpy(rows)
        data = peer.init_chains(len(v), start_v=v)
        sampled = peer.sample_state(n_steps=1, chains=dict(data) if kept is None else kept)
        if kept is not None:
            kept = sampled
        optimizer.zero_grad(set_to_none=False)
        peer.compute_gradient(data, sampled, centered=False)
        optimizer.step()
        return peer.weight_matrix.numpy(), peer.vbias.numpy(), peer.hbias.numpy()

    return update


def jax_update(rbm: RBM, rate: float, seed: int, chains: np.ndarray | None = None) -> Update:
    """Return the update in JAX, as ``numpy_update``; compiled, into the memory of the old parameters."""
    jax, np_ = _jax(), _jax().numpy
    theta, key = tuple(np_.array(x) for x in rbm), jax.random.key(seed)
    u = None if chains is None else np_.asarray(chains, np_.float32)

    def compiled(theta: Any, v: Any, u: Any, key: Any) -> tuple[Any, Any]:
        (W, b, c), (up, down) = theta, jax.random.split(key)
        positive = jax.nn.sigmoid(v @ W + c)
        mean = positive if u is None else jax.nn.sigmoid(u @ W + c)
        h = jax.random.bernoulli(up, mean).astype(W.dtype)
        w = jax.random.bernoulli(down, jax.nn.sigmoid(h @ W.T + b)).astype(W.dtype)
        negative = jax.nn.sigmoid(w @ W + c)
        gradient = v.T @ positive / len(v) - w.T @ negative / len(w)
        of_b, of_c = v.mean(0) - w.mean(0), positive.mean(0) - negative.mean(0)
        return (W + rate * gradient, b + rate * of_b, c + rate * of_c), w

    run = jax.jit(compiled, donate_argnums=0)

    def update(rows: np.ndarray) -> tuple[Any, Any, Any]:
        nonlocal theta, key, u
        key, now = jax.random.split(key)
        theta, w = run(theta, rows, u, now)
        if u is not None:
            u = w
        return jax.block_until_ready(theta)

    return update


def sklearn_update(rbm: RBM, rate: float, seed: int, chains: np.ndarray) -> Update:
    """Return the update of PCD-1 in scikit-learn: ``partial_fit`` without checks; chains of hidden states."""
    peer = _bernoulli_rbm(rbm, seed, learning_rate=rate, batch_size=len(chains))
    g = np.random.RandomState(seed)
    peer.h_samples_ = peer._sample_hiddens(chains.astype(np.float32), g).astype(np.float32)

    def update(v: np.ndarray) -> tuple[Any, Any, Any]:
        peer._fit(v, g)
        return peer.components_.T, peer.intercept_visible_, peer.intercept_hidden_

    return update


def batches(function: str, data: np.ndarray, size: int, seed: int, **more: Any) -> Callable[[], Any]:
    """Return updates by a function of this file, each with the next mini-batch of shuffled data."""
    update, following = globals()[function](seed=seed, **more), _shuffled(data, size, seed)
    return lambda: update(next(following))


def passes(function: str, data: np.ndarray, size: int, seed: int, **more: Any) -> Callable[[], Any]:
    """Return passes over shuffled data; a call returns the parameters after one."""
    one = batches(function, data, size, seed, **more)
    return lambda: [one() for _ in range(len(data) // size)][-1]


def _shuffled(data: np.ndarray, size: int, seed: int) -> Iterator[np.ndarray]:
    g, rows = np.random.default_rng(seed), data.astype(np.float32)
    while True:
        order = g.permutation(len(rows))
        for first in range(0, len(rows) - size + 1, size):
            yield rows[order[first : first + size]]


def sklearn_fit(data: np.ndarray, passes: int) -> Callable[[], object]:
    """Return ``BernoulliRBM.fit`` in scikit-learn, with its defaults."""
    from sklearn.neural_network import BernoulliRBM

    return lambda: BernoulliRBM(n_iter=passes, random_state=0).fit(data)


# Logarithm of the sum over the first 2^n_hidden / parts states of the hidden layer.


def _hidden_states(n: int, first: int, last: int, dtype: type) -> np.ndarray:
    return (np.arange(first, last)[:, None] >> np.arange(n - 1, -1, -1) & 1).astype(dtype)


def numpy_log_z(rbm: RBM, parts: int) -> Callable[[], float]:
    """Return the enumeration in numpy, float64."""
    W, b, c = (x.astype(np.float64) for x in (rbm.W, rbm.b, rbm.c))
    states = 2 ** len(rbm.c) // parts

    def total() -> float:
        logs = []
        for first in range(0, states, STATES):
            h = _hidden_states(len(c), first, min(first + STATES, states), np.float64)
            logs.append(np.logaddexp.reduce(h @ c + np.logaddexp(0, h @ W.T + b).sum(axis=1)))
        return float(np.logaddexp.reduce(logs))

    return total


def rbms_log_z(rbm: RBM, parts: int) -> Callable[[], float]:
    """Return the enumeration by ``compute_partition_function_rbm`` of rbms, in blocks of states, float32."""
    from rbms.partition_function.exact import compute_partition_function_rbm

    peer, states = _bbrbm(rbm), 2 ** len(rbm.c) // parts

    def total() -> float:
        logs = []
        for first in range(0, states, STATES):
            h = _hidden_states(len(rbm.c), first, min(first + STATES, states), np.float32)
            logs.append(compute_partition_function_rbm(peer, _tensor(h)))
        return float(np.logaddexp.reduce(logs))

    return total


def torch_log_z(rbm: RBM, parts: int) -> Callable[[], float]:
    """Return the enumeration in torch, float64."""
    torch = _torch()
    (W, b, c), states = (torch.from_numpy(x.astype(np.float64)) for x in rbm), 2 ** len(rbm.c) // parts

    def total() -> float:
        logs = []
        for first in range(0, states, STATES):
            h = torch.from_numpy(_hidden_states(len(c), first, min(first + STATES, states), np.float64))
            logs.append(torch.logsumexp(h @ c + torch.nn.functional.softplus(h @ W.T + b).sum(1), 0))
        return float(torch.logsumexp(torch.stack(logs), 0))

    return total


def jax_log_z(rbm: RBM, parts: int) -> Callable[[], float]:
    """Return the enumeration in JAX, compiled, in float32, which it uses unless told otherwise."""
    jax, np_ = _jax(), _jax().numpy
    (W, b, c), states = (np_.asarray(x) for x in rbm), 2 ** len(rbm.c) // parts
    size = min(STATES, states)

    def block(first: Any) -> Any:
        h = ((first + np_.arange(size))[:, None] >> np_.arange(len(c) - 1, -1, -1) & 1).astype(W.dtype)
        return jax.nn.logsumexp(h @ c + jax.nn.softplus(h @ W.T + b).sum(1))

    run = jax.jit(lambda: jax.nn.logsumexp(jax.lax.map(block, np_.arange(0, states, size))))
    return lambda: float(run())


GIBBS = {
    "numpy": "numpy_gibbs",
    "scikit-learn": "sklearn_gibbs",
    "torch": "torch_gibbs",
    "rbms": "rbms_gibbs",
    "jax": "jax_gibbs",
    "thrml": "thrml_gibbs",
}
CD = {"numpy": "numpy_update", "torch": "torch_update", "rbms": "rbms_update", "jax": "jax_update"}
PCD = {**CD, "scikit-learn": "sklearn_update"}
LOG_Z = {"numpy": "numpy_log_z", "torch": "torch_log_z", "rbms": "rbms_log_z", "jax": "jax_log_z"}
TEMPERING = {"numpy": "numpy_tempering", "rbms": "rbms_tempering"}
FIT = {"scikit-learn": "sklearn_fit"}
"""Functions that do the same work, by environment."""


# A process of its own: each line that it reads is a request, each line that it writes the reply.


def _arguments(request: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a function: numbers, arrays, and models of three arrays."""
    found: dict[str, Any] = dict(request["values"])
    if request["arrays"]:
        with np.load(request["arrays"]) as file:
            for name in file.files:
                argument, _, part = name.partition(".")
                found[argument] = RBM(*(file[f"{argument}.{x}"] for x in "Wbc")) if part else file[name]
    return found


def _answer(request: dict[str, Any], made: dict[str, Callable[[], Any]]) -> dict[str, Any]:
    """Do what is asked for: "versions" of packages; "make" a function, "run" it; "forget" all of them."""
    match request["do"]:
        case "versions":
            from importlib.metadata import version

            return {name: version(name) for name in request["packages"]}
        case "make":
            made[request["name"]] = globals()[request["function"]](**_arguments(request))
        case "forget":
            made.clear()
        case "run":
            run, wall, processor = made[request["name"]], time.perf_counter(), time.process_time()
            with np.errstate(over="ignore"):  # harmless, in 1 / (1 + exp(large))
                for _ in range(request["calls"]):
                    result = run()
            if request["result"]:
                np.savez(request["result"], *(result if isinstance(result, list | tuple) else [result]))
            return {"processor": time.process_time() - processor, "wall": time.perf_counter() - wall}
    return {}


def main() -> None:
    """Answer requests until there are no more; what libraries print goes to the errors."""
    replies, sys.stdout = sys.stdout, sys.stderr
    made: dict[str, Callable[[], Any]] = {}
    for line in sys.stdin:
        try:
            reply = _answer(json.loads(line), made)
        except Exception as error:  # whatever a library raises is the reason why it has no time
            reply = {"error": f"{type(error).__name__}: {error}".split("\n")[0]}
        replies.write(json.dumps(reply) + "\n")
        replies.flush()


if __name__ == "__main__":
    main()
