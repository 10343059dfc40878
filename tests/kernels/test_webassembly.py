"""The module for browsers: the samples of the processor, from the committed file and from one built now."""

import hashlib
import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import rbmviz
from rbmviz import browser
from rbmviz.browser.build import MAX_BYTES
from rbmviz.browser.chains import Blocks, chain_spec
from rbmviz.knobs import values_of
from rbmviz_app.stream.frames import write_frame

pytestmark = [
    pytest.mark.compiled,
    pytest.mark.skipif(shutil.which("node") is None, reason="needs node"),
]

ENGINE = Path(__file__).with_name("run_engine.js")

SAMPLERS = {
    "gibbs": [{}, {"temperature": 1.7, "k": 2}],
    "rates_fpcd": [{}, {"alpha": 0.9, "eps": 0.1}, {"statistics": "mean"}],
    "rates_herding": [{}, {"alpha": 0.95, "max_sweeps": 3}],
    "sample_penalization": [{}, {"alpha": 1.0, "k": 2}],
}
"""Both regimes of all samplers; a run turns its knobs from each setting to the next."""

MODELS = "mnist_fpcd", "usps_fpcd", "bas_pcd"


def by_engine(folder, model, n, names=tuple(SAMPLERS), seeds=(0, 1), module=browser.FOLDER):
    """Return what the engine makes of runs of n samples a setting, by sampler and seed."""
    blocks, chains, jobs = Blocks(), [], []
    for panel, name in enumerate(names):
        sampler = rbmviz.make_sampler(name)
        chains.append(chain_spec(sampler, model, [(seed, None) for seed in seeds], blocks))
        chunks = [(n, values_of(replace(sampler, **knobs))) for knobs in SAMPLERS[name]]
        jobs += [{"panel": panel, "start": start, "chunks": chunks} for start in range(len(seeds))]
    frame = folder / "frame"
    frame.write_bytes(write_frame({"chains": chains}, [({}, blocks.by_name)]))
    files = module / "kernels.wasm", module / "kernels.json", frame, json.dumps(jobs)
    done = subprocess.run(["node", ENGINE, *files], capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    runs = [(name, seed) for name in names for seed in seeds]
    return dict(zip(runs, json.loads(done.stdout), strict=True))


def by_processor(model, name, seed, n):
    sampler = rbmviz.make_sampler(name)
    state = sampler.init(model, seed)
    parts = [replace(sampler, **knobs).step(state, n) for knobs in SAMPLERS[name]]
    v = np.concatenate([part.v for part in parts])
    norms = [part.info.get("fast_norm", np.zeros(n)) for part in parts]
    return hashlib.sha256(v.tobytes()).hexdigest(), np.concatenate(norms)


def check_same(made, model, n):
    for (name, seed), run in made.items():
        v, norms = by_processor(model, name, seed, n)
        assert run["v"] == v, (name, seed)
        np.testing.assert_allclose(run["norms"], norms, rtol=1e-6, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("name", MODELS)
def test_the_engine_makes_the_samples_of_the_processor(name, tmp_path):
    """From two seeds, with knobs turned: the same bits; the norms, which are only shown, nearly."""
    model = rbmviz.load_model(name)
    check_same(by_engine(tmp_path, model, 400), model, 400)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_the_engine_makes_the_samples_of_the_processor_for_long(name, tmp_path):
    model = rbmviz.load_model(name)
    check_same(by_engine(tmp_path, model, 2500), model, 2500)


def test_the_module_is_what_the_kernels_compile_to(tmp_path):
    """Built now, by this machine's linker: the same table, and the same samples."""
    if shutil.which("wasm-ld") is None or shutil.which("wasm-opt") is None:
        pytest.skip("needs wasm-ld and wasm-opt")
    build = [sys.executable, "-m", "rbmviz.browser.build", "--out", tmp_path]
    done = subprocess.run(build, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    assert json.loads((tmp_path / "kernels.json").read_text()) == browser.signatures()
    model = rbmviz.load_model("bas_pcd")
    shipped, built = (by_engine(tmp_path, model, 200, module=folder) for folder in (browser.FOLDER, tmp_path))
    assert built == shipped
    check_same(shipped, model, 200)
    assert len(browser.module()) <= MAX_BYTES
