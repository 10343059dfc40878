"""The peers: the same work in numpy and scikit-learn, and in torch and rbms if they are installed.

Each function takes the model and a seed, and returns a function that does one unit of work per call. The
numpy code is what an experienced user would write: float32, preallocated parameters, one expression per line.
"""

import importlib.util
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from rbmviz.rbm import RBM, Model

STATES = 4096
"""Number of hidden states enumerated at a time."""


def installed() -> dict[str, str]:
    """Return the installed peers with their versions."""
    from importlib.metadata import version

    modules = {"numpy": "numpy", "scikit-learn": "sklearn", "torch": "torch", "rbms": "rbms"}
    found = {name: version(name) for name, module in modules.items() if importlib.util.find_spec(module)}
    if "torch" not in found:
        found.pop("rbms", None)
    return found


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

    peer = BernoulliRBM(rbm.n_hidden, random_state=seed, **more)
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


GIBBS = {"numpy": numpy_gibbs, "scikit-learn": sklearn_gibbs, "torch": torch_gibbs, "rbms": rbms_gibbs}


def numpy_rates_fpcd(
    model: Model, v0: np.ndarray, seed: int, eps: float, alpha: float
) -> Callable[[], tuple[np.ndarray, np.ndarray, list[np.ndarray]]]:
    """Return rates-FPCD in numpy, float32, without allocating matrices; a call returns v, h and theta_F."""
    assert model.rates is not None
    g, v = np.random.default_rng(seed), v0.astype(np.float32)
    W, b, c = model.rbm.W, model.rbm.b, model.rbm.c
    R = [model.rates.W, model.rates.b, model.rates.c]
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
    model: Model, v0: np.ndarray, seed: int, eps: float, alpha: float
) -> Callable[[], tuple[np.ndarray, np.ndarray, list[np.ndarray]]]:
    """Return rates-FPCD in numpy as written in the paper, in float64; a call returns v, h and theta_F."""
    assert model.rates is not None
    g, v = np.random.default_rng(seed), v0.astype(float)
    W, b, c, R_W, R_b, R_c = (x.astype(float) for of in (model.rbm, model.rates) for x in (of.W, of.b, of.c))
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


ISL_PEERS = {"sgemm": sgemm_isl, "bitwise_count": bitwise_count_isl, "cdist": cdist_isl}


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


def torch_update(rbm: RBM, rate: float, seed: int) -> Update:
    """Return the update of CD-1 in torch."""
    torch = _torch()
    W, b, c = (_tensor(x) for x in (rbm.W, rbm.b, rbm.c))
    g = torch.Generator().manual_seed(seed)

    def update(rows: np.ndarray) -> tuple[Any, Any, Any]:
        v = torch.from_numpy(rows)
        with torch.inference_mode():
            positive = torch.sigmoid(v @ W + c)
            w = torch.bernoulli(torch.sigmoid(torch.bernoulli(positive, generator=g) @ W.T + b), generator=g)
            negative = torch.sigmoid(w @ W + c)
            W.add_(v.T @ positive - w.T @ negative, alpha=rate / len(v))
            b.add_((v - w).mean(0), alpha=rate)
            c.add_((positive - negative).mean(0), alpha=rate)
        return W.numpy(), b.numpy(), c.numpy()

    return update


def rbms_update(rbm: RBM, rate: float, seed: int) -> Update:
    """Return the update of CD-1 in rbms: chains from data, ``sample_state``, ``compute_gradient``, SGD."""
    torch = _torch()
    torch.manual_seed(seed)
    peer = _bbrbm(rbm)
    for x in peer.parameters():
        x.grad = torch.zeros_like(x)
    optimizer = torch.optim.SGD(peer.parameters(), lr=rate, maximize=True)

    def update(rows: np.ndarray) -> tuple[Any, Any, Any]:
        v = torch.from_numpy(rows)
        data = peer.init_chains(len(v), start_v=v)
        chains = peer.sample_state(n_steps=1, chains=dict(data))
        optimizer.zero_grad(set_to_none=False)
        peer.compute_gradient(data, chains, centered=False)
        optimizer.step()
        return peer.weight_matrix.numpy(), peer.vbias.numpy(), peer.hbias.numpy()

    return update


CD_PEERS = {"numpy": numpy_update, "torch": torch_update, "rbms": rbms_update}


def sklearn_update(rbm: RBM, rate: float, seed: int, chains: np.ndarray) -> Update:
    """Return the update of PCD-1 in scikit-learn: ``partial_fit`` without checks; chains of hidden states."""
    peer = _bernoulli_rbm(rbm, seed, learning_rate=rate, batch_size=len(chains))
    g = np.random.RandomState(seed)
    peer.h_samples_ = peer._sample_hiddens(chains.astype(np.float32), g).astype(np.float32)

    def update(v: np.ndarray) -> tuple[Any, Any, Any]:
        peer._fit(v, g)
        return peer.components_.T, peer.intercept_visible_, peer.intercept_hidden_

    return update


def sklearn_fit(data: np.ndarray) -> Callable[[], object]:
    """Return one pass of ``BernoulliRBM.fit`` in scikit-learn, with its defaults."""
    from sklearn.neural_network import BernoulliRBM

    return lambda: BernoulliRBM(n_iter=1, random_state=0).fit(data)


PCD_PEERS = {"numpy": numpy_update, "scikit-learn": sklearn_update}


# Logarithm of the sum over the first 2^n_hidden / parts states of the hidden layer.


def _hidden_states(n: int, first: int, last: int, dtype: type) -> np.ndarray:
    return (np.arange(first, last)[:, None] >> np.arange(n - 1, -1, -1) & 1).astype(dtype)


def numpy_log_z(rbm: RBM, parts: int) -> Callable[[], float]:
    """Return the enumeration in numpy, float64."""
    W, b, c = (x.astype(np.float64) for x in (rbm.W, rbm.b, rbm.c))
    states = 2**rbm.n_hidden // parts

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

    peer, states = _bbrbm(rbm), 2**rbm.n_hidden // parts

    def total() -> float:
        logs = []
        for first in range(0, states, STATES):
            h = _hidden_states(rbm.n_hidden, first, min(first + STATES, states), np.float32)
            logs.append(compute_partition_function_rbm(peer, _tensor(h)))
        return float(np.logaddexp.reduce(logs))

    return total


FIT_PEERS = {"scikit-learn": sklearn_fit}

LOG_Z = {"numpy": numpy_log_z, "rbms": rbms_log_z}
