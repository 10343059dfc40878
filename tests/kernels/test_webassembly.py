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
from rbmviz.browser.scores import score_data, spaced
from rbmviz.knobs import values_of
from rbmviz.metrics import ISL, Coverage
from rbmviz.metrics.coverage import COMPARED_EXAMPLES
from rbmviz.view.frames import write_frame

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


def by_engine(folder, model, n, names=tuple(SAMPLERS), seeds=(0, 1), module=None, dataset=None):
    """Return what the engine makes of runs of n samples a setting, by sampler and seed."""
    blocks, chains, jobs = Blocks(), [], []
    for panel, name in enumerate(names):
        sampler = rbmviz.make_sampler(name)
        chains.append(chain_spec(sampler, model, [(seed, None) for seed in seeds], blocks))
        chunks = [(n, values_of(replace(sampler, **knobs))) for knobs in SAMPLERS[name]]
        jobs += [{"panel": panel, "start": start, "chunks": chunks} for start in range(len(seeds))]
    frame = folder / "frame"
    scores, score_blocks = score_data(dataset)
    request = {"chains": chains, "score_spec": scores}
    frame.write_bytes(write_frame(request, [({}, blocks.by_name | score_blocks)]))
    module = module or browser.KERNELS_FOLDER
    files = module / "kernels.wasm", module / "kernels.json", frame, json.dumps(jobs)
    done = subprocess.run(["node", ENGINE, *files], capture_output=True, text=True, check=False, timeout=300)
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


@pytest.mark.parametrize(("name", "data"), [("bas_pcd", "bas"), ("mnist_fpcd", "mnist5k")])
def test_the_engine_scores_as_python_does(name, data, tmp_path):
    """ISL to rounding, of exp and log; the nearest examples exactly."""
    model, dataset = rbmviz.load_model(name), rbmviz.load_dataset(data)
    [run] = by_engine(tmp_path, model, 300, ["gibbs"], [0], dataset=dataset).values()
    sampler, (first, second) = rbmviz.make_sampler("gibbs"), SAMPLERS["gibbs"]
    state = sampler.init(model, 0)
    v = np.concatenate([replace(sampler, **knobs).step(state, 300).v for knobs in (first, second)])
    score = ISL(spaced(dataset.test), spaced(dataset.validation)).update(v).value()
    np.testing.assert_allclose(run["isl"], [score.isl, score.std_error], rtol=1e-9)
    coverage = Coverage(dataset, COMPARED_EXAMPLES)
    np.testing.assert_array_equal(run["nearest"], coverage.nearest(v)[0])


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
    shipped, built = (by_engine(tmp_path, model, 200, module=folder) for folder in (None, tmp_path))
    assert built == shipped
    check_same(shipped, model, 200)
    assert len(browser.module()) <= MAX_BYTES
