"""The module for browsers: the samples of the processor, from the committed file and from one built now."""

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest

import rbmviz
from rbmviz import browser
from rbmviz.browser.build import MAX_BYTES
from rbmviz.browser.scores import spaced
from rbmviz.metrics import ISL, Coverage
from rbmviz.metrics.coverage import COMPARED_EXAMPLES
from tests.browser.firefox import FIREFOX
from tests.kernels.engines import ENGINES, MODELS, SAMPLERS, bits_of, by_processor, chunks_of, frame_of

pytestmark = [
    pytest.mark.compiled,
    pytest.mark.skipif(shutil.which("node") is None, reason="needs node"),
]


def by_engine(model, n, names=tuple(SAMPLERS), seeds=(0, 1), name="node", dataset=None, module=None):
    """Return what the engine makes of runs of n samples a setting, by sampler and seed."""
    with ENGINES[name]() as engine:
        engine.open(frame_of(model, names, seeds, dataset), module or browser.KERNELS_FOLDER)
        return {
            (name, seed): engine(
                "runJob", {"panel": panel, "start": start, "chunks": chunks_of(name, SAMPLERS[name], n)}
            )
            for panel, name in enumerate(names)
            for start, seed in enumerate(seeds)
        }


def check_same(made, model, n):
    for (name, seed), run in made.items():
        v, norms = by_processor(model, name, seed, SAMPLERS[name], n)
        np.testing.assert_array_equal(bits_of(run, model.rbm.n_visible), v, err_msg=f"{name} {seed}")
        np.testing.assert_allclose(run["norms"], norms, rtol=1e-6, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("name", MODELS)
def test_the_engine_makes_the_samples_of_the_processor(name):
    """From two seeds, with knobs turned: the same bits; the norms, which are only shown, nearly."""
    model = rbmviz.load_model(name)
    check_same(by_engine(model, 400), model, 400)


PROGRAMS = {
    "chromium": shutil.which("chromium"),
    "firefox": FIREFOX,
    "webkit": shutil.which("WebKitWebDriver"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ENGINES)
def test_browsers_make_the_samples_of_the_processor(name):
    """In a worker of a page, as live pages do; 1,000 samples a setting."""
    if not PROGRAMS.get(name, True):
        pytest.skip(f"needs {name}")
    for model in map(rbmviz.load_model, MODELS):
        check_same(by_engine(model, 1000, name=name), model, 1000)


@pytest.mark.parametrize(("name", "data"), [("bas_pcd", "bas"), ("mnist_fpcd", "mnist5k")])
def test_the_engine_scores_as_python_does(name, data):
    """ISL to rounding, of exp and log; the nearest examples exactly."""
    model, dataset = rbmviz.load_model(name), rbmviz.load_dataset(data)
    [run] = by_engine(model, 300, ["gibbs"], [0], dataset=dataset).values()
    v, _ = by_processor(model, "gibbs", 0, SAMPLERS["gibbs"], 300)
    score = ISL(spaced(dataset.test), spaced(dataset.validation)).update(v).value()
    np.testing.assert_allclose(run["isl"], [score.isl, score.std_error], rtol=1e-9)
    coverage = Coverage(dataset, COMPARED_EXAMPLES)
    np.testing.assert_array_equal(run["nearest"], coverage.nearest(v)[0])


@pytest.mark.slow
def test_the_module_is_what_the_kernels_compile_to(tmp_path):
    """Built now, by this machine's linker: the same table, and the same samples."""
    if shutil.which("wasm-ld") is None or shutil.which("wasm-opt") is None:
        pytest.skip("needs wasm-ld and wasm-opt")
    build = [sys.executable, "-m", "rbmviz.browser.build", "--out", tmp_path]
    done = subprocess.run(build, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    assert json.loads((tmp_path / "kernels.json").read_text()) == browser.signatures()
    model = rbmviz.load_model("bas_pcd")
    shipped, built = (by_engine(model, 200, module=folder) for folder in (browser.KERNELS_FOLDER, tmp_path))
    assert built == shipped
    check_same(shipped, model, 200)
    assert len(browser.module()) <= MAX_BYTES
