"""Small runs through every kernel: ``python tests/kernels/small_runs.py OUT.npz`` writes their results.

The runs come through the public door, so that they stay the same when kernels are taken apart. Results whose
names end in "about" depend on logarithms, exponentials, or sums in an order of the compiler's choice.
"""

import dataclasses
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np

import rbmviz
from rbmviz.coupling import PairStream
from rbmviz.datasets import Dataset
from rbmviz.metrics import ISL, Coverage, ais_log_z, log_z
from rbmviz.rbm.parameters import FixedParameters
from rbmviz.rng import kernel_state
from rbmviz.trainers import batches, initial_rbm


def _model(m, n, scale=1.0):
    g = np.random.default_rng(m)
    rbm = rbmviz.RBM(g.normal(0, scale, (m, n)), g.normal(0, 0.5, m), g.normal(0, 0.5, n))
    return rbmviz.Model(rbm, rbm.rates(_rows(40, m)))


def _rows(n, width, share=0.5):
    return (np.random.default_rng(width).random((n, width)) < share).astype(np.uint8)


SMALL, WIDE = _model(5, 3), _model(70, 37, 0.3)
"""WIDE is wider than a word, a block of draws, and the widest sum; it is no multiple of the padding."""


def _samples(samples):
    fast = {"fast_norm_about": samples.info["fast_norm"]} if "fast_norm" in samples.info else {}
    return {"v": samples.v, "p": samples.p, "sweeps": samples.info.get("sweeps", np.zeros(0)), **fast}


def _sampled(name, model, n, **knobs):
    sampler = rbmviz.make_sampler(name, **knobs)
    return lambda: _samples(rbmviz.sample(model, sampler, n, seed=5, fast_norm=True))


def _tuned(model, n, *steps):
    """One chain of rates-FPCD whose knobs are changed: it goes through both regimes, and back."""

    def run():
        sampler = rbmviz.make_sampler("rates_fpcd")
        state, found = sampler.init(model, 3), {}
        for i, knobs in enumerate(steps):
            made = _samples(dataclasses.replace(sampler, **knobs).step(state, n))
            found |= {f"{i}_{key}": value for key, value in made.items()}
        return found

    return run


IN_ORDER = ("cd", "pcd", "fpcd", "pt", "herding")
"""Trainers whose updates are sums in one order; others use logarithms, or sums in the compiler's order."""


def _trained(name, **knobs):
    def run():
        about, visible, hidden = ("", 70, 37) if name in IN_ORDER else ("_about", 16, 3)
        trainer = rbmviz.make_trainer(name, batch_size=10, initial_biases="random", **knobs)
        rows = _rows(40, visible)
        state = trainer.init(initial_rbm(rows, hidden, 2, trainer), rows, 2)
        trainer.step(state, 3)
        return {f"{part}{about}": getattr(state.theta, part) for part in "Wbc"}

    return run


def _batch(chains):
    """Sweeps of the same parameters, and of others."""
    v, stream = _rows(chains, 70).astype(np.float32), kernel_state(0, "chain")
    found, theta = {}, FixedParameters(*(getattr(WIDE.rbm, part) for part in "Wbc"))
    for t in range(4):
        v = found[f"v{t}"] = batches.sweep(theta, v, stream)
    return found | {"x": theta.inputs(v)[:, :37].copy()}


def _coupled(algorithm, model, pairs, **knobs):
    def run():
        v0 = _rows(pairs, model.rbm.n_visible)
        found = rbmviz.couple(model.rbm, v0, algorithm, max_sweeps=12, seed=2, **knobs)
        results = {"tau": found.tau, "rejected": found.rejected, "truncated": found.truncated}
        if found.lag == 1:
            results |= {f"{i}_about": part for i, part in enumerate(found.estimate)}
        return results

    return run


def _streamed():
    v0 = _rows(256, 5)
    stream = PairStream(SMALL.rbm, lambda block: v0, "general", 20, 1, 7, k=2, times=np.array([1, 4]))
    for _ in range(10):
        stream.advance(5)
    ends = {"tau": stream.tau, "rejected": stream.rejected, "unbiased_about": stream.unbiased}
    ends = {key: value[: stream.finished] for key, value in ends.items()}
    return {**ends, "finished": np.array(stream.finished), "distances": stream.distances}


def _scores():
    data, test, samples = _rows(8, 70), _rows(7, 70, 0.4), _rows(150, 70, 0.45)
    isl = ISL(data, test).update(samples)
    counts = Coverage(Dataset("rows", data, test, test, "", ""))
    return {
        "histograms": isl.histograms(),
        "isl_about": np.array(isl.value().isl),
        "nearest": np.array(counts.nearest(samples)),
    }


def _sums_over_states():
    ais = ais_log_z(SMALL.rbm, seed=1, n_chains=3, betas=5)
    return {"log_z_about": np.array(log_z(SMALL.rbm)), "ais_about": np.array(ais.log_z)}


RUNS = {
    "gibbs": _sampled("gibbs", SMALL, 300, temperature=1.5),  # more sweeps than REBUILD_SWEEPS
    "gibbs wide": _sampled("gibbs", WIDE, 20, k=2),
    "gibbs, 3 chains": _sampled("gibbs", SMALL, 20, n_chains=3),
    "rates-FPCD, history": _sampled("rates_fpcd", SMALL, 60, alpha=0.5, eps=0.1),  # M becomes fixed
    "rates-FPCD, rows": _sampled("rates_fpcd", SMALL, 300, alpha=0.995, eps=0.05),
    "rates-FPCD, no decay": _sampled("rates_fpcd", SMALL, 60, alpha=1.0, eps=0.01),
    "rates-FPCD wide": _sampled("rates_fpcd", WIDE, 20, alpha=0.6, eps=0.1),
    "rates-FPCD wide, rows": _sampled("rates_fpcd", WIDE, 20, alpha=0.999, eps=0.1),
    "rates-FPCD, means": _sampled("rates_fpcd", SMALL, 30, statistics="mean"),
    "rates-FPCD, shared": _sampled("rates_fpcd", SMALL, 30, n_chains=3, share=True),
    "rates-FPCD, tuned": _tuned(
        SMALL, 30, {"alpha": 0.5}, {"alpha": 0.999}, {"alpha": 0.6, "eps": 0.3}, {"eps": 0.0, "alpha": 0.0}
    ),
    "rates-herding": _sampled("rates_herding", SMALL, 30),
    "rates-herding wide": _sampled("rates_herding", WIDE, 15, alpha=0.9, eps=0.2),
    "sample penalization": _sampled("sample_penalization", SMALL, 30, alpha=0.9, eps=0.1),
    "couple, algorithm 3": _coupled("rbm", SMALL, 12),
    "couple, algorithm 1": _coupled("general", SMALL, 12, k=3),
    "couple, half-step": _coupled("half_step", SMALL, 12, k=2),
    "couple, half-step, lag": _coupled("half_step", WIDE, 3, lag=2),
    "couple, lag": _coupled("rbm", SMALL, 6, lag=3),
    "couple wide": _coupled("rbm", WIDE, 2),
    "pairs in a stream": _streamed,
    "chains in a batch": lambda: _batch(130),
    "scores": _scores,
    "sums over states": _sums_over_states,
    **{f"train {name}": _trained(name) for name in rbmviz.list_trainers() if name != "pt"},
    "train pt": _trained("pt", n_temperatures=3, n_chains=20),
    "train cd, momentum": _trained("cd", momentum=0.5, k=3),
}


def check_same(name: str, results: Mapping[str, np.ndarray]) -> None:
    """Compare a run with results that another process has written."""
    found = RUNS[name]()
    assert found
    for key, value in found.items():
        want = results[f"{name}/{key}"]
        assert value.dtype == want.dtype, key
        if key.endswith("about"):
            np.testing.assert_allclose(value, want, rtol=2e-6, atol=2e-6, err_msg=key)
        else:
            np.testing.assert_array_equal(value, want, err_msg=key)


def results_of(folder: Path, **environment: str) -> Mapping[str, np.ndarray]:
    """Return the results of all runs, by run and name, from a process with this environment."""
    path = folder / "results.npz"
    others = {name: value for name, value in os.environ.items() if name != "NUMBA_DISABLE_JIT"}
    subprocess.run([sys.executable, __file__, str(path)], check=True, env=others | environment)
    with np.load(path) as results:
        return dict(results)


if __name__ == "__main__":
    results = {f"{name}/{key}": value for name, run in RUNS.items() for key, value in run().items()}
    np.savez(sys.argv[1], **results)
