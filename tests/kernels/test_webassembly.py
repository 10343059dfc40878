"""The module for browsers: the samples of the processor, from the committed file and from one built now."""

import base64
import json
import shutil
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import rbmviz
from rbmviz import browser
from rbmviz.browser.build import MAX_BYTES
from rbmviz.browser.findings import WITHOUT_KERNELS
from rbmviz.browser.scores import spaced
from rbmviz.metrics import ISL, RULES, Coverage, Findings, findings, probabilities
from rbmviz.metrics.coverage import COMPARED_EXAMPLES
from rbmviz.metrics.landscape import state_bits
from rbmviz.rbm.clamp import FREE, as_clamp
from rbmviz.samplers.interleave import given
from rbmviz.view.live import Engine
from tests.browser.firefox import FIREFOX
from tests.kernels.engines import ENGINES, MODELS, SAMPLERS, bits_of, by_processor, chunks_of, frame_of

pytestmark = [
    pytest.mark.compiled,
    pytest.mark.skipif(shutil.which("node") is None, reason="needs node"),
]
large = pytest.param(MODELS[0], marks=pytest.mark.slow)
of_models = pytest.mark.parametrize("name", [large, *MODELS[1:]])


def by_engine(model, n, names=tuple(SAMPLERS), seeds=(0, 1), name="node", dataset=None, module=None, **job):
    """Return what the engine makes of runs of n samples a setting, by sampler and seed."""
    with ENGINES[name]() as engine:
        engine.open(frame_of(model, names, seeds, dataset), module or browser.KERNELS_FOLDER)
        return {
            (name, seed): engine(
                "runJob",
                {"panel": panel, "start": start, "chunks": chunks_of(name, SAMPLERS[name], n), **job},
            )
            for panel, name in enumerate(names)
            for start, seed in enumerate(seeds)
        }


def check_same(made, model, n):
    for (name, seed), run in made.items():
        v, norms = by_processor(model, name, seed, SAMPLERS[name], n)
        np.testing.assert_array_equal(bits_of(run, model.rbm.n_visible), v, err_msg=f"{name} {seed}")
        np.testing.assert_allclose(run["norms"], norms, rtol=1e-6, atol=1e-9, err_msg=name)


@of_models
def test_the_engine_makes_the_samples_of_the_processor(name):
    """From two seeds, with knobs turned: the same bits; the norms, which are only shown, nearly."""
    model = rbmviz.load_model(name)
    check_same(by_engine(model, 400), model, 400)


@of_models
def test_the_engine_completes_as_the_processor_does(name):
    """The same bits of the free units, with the rates of the nearest examples or of all data.

    The negative control: with another value of one held pixel, the bits are others.
    """
    model, data = rbmviz.load_model(name), {"bas_pcd": "bas", "mnist_fpcd": "mnist5k"}.get(name)
    dataset = rbmviz.load_dataset(data) if data else None
    at, half = np.arange(model.rbm.n_visible), model.rbm.n_visible // 2
    units = np.where(at < half - 3, at // 3 % 2, FREE)  # the number of the free ones is no multiple of 4
    clamp, other = as_clamp(units, 2 * half), np.where(at == 0, 1, units)
    changed = by_engine(model, 200, dataset=dataset, clamp=other.tolist())
    for (sampler, seed), run in by_engine(model, 200, dataset=dataset, clamp=units.tolist()).items():
        first = rbmviz.make_sampler(sampler)
        state = first.init(given(clamp, model, first, dataset) if dataset else clamp.model(model), seed)
        v = np.concatenate([replace(first, **knobs).step(state, 200).v for knobs in SAMPLERS[sampler]])
        np.testing.assert_array_equal(bits_of(run, half + 3), v, err_msg=f"{sampler} {seed}")
        assert (bits_of(changed[sampler, seed], half + 3) != v).any()


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


def exact(model, n, seed):
    """Return independent draws of a small model, uint8 (n, n_visible)."""
    p = probabilities(model)
    state = np.random.default_rng(seed).choice(len(p), n, p=p / p.sum())
    return np.array([state_bits(one, model.rbm.n_visible) for one in state])


def in_many_ways_broken():
    """Return samples of modes_pcd by the kind of finding that they are made for; "": none."""
    model, data, g = rbmviz.load_model("modes_pcd"), rbmviz.load_dataset("modes"), np.random.default_rng(4)
    fair, noise = exact(model, 3000, 1), g.integers(0, 2, (3000, 16), np.uint8)
    return {
        "": fair[:700],
        "spurious": noise,
        "one_class": g.choice(data.train[data.train_labels == 2], 400),
        "missing_classes": data.train[np.isin(data.train_labels, [0, 3])][:2500],
        "repeats": fair[np.arange(3000) % 37],
        "drift": np.concatenate([noise[:300], fair[300:1803]]),
        "rhat": np.concatenate([fair[:900], np.minimum(fair[900:1801], g.random((901, 16)) < 0.7)]),
        "ess": fair[np.arange(2999) // 100],
        "constant": np.tile(fair[:1], (300, 1)),
    }


@pytest.mark.parametrize("scored", [True, False])
def test_the_engine_finds_what_python_finds(scored):
    """By the same sentences; numbers to the rounding of free energies, which Python makes of 32 bits."""
    model, dataset = rbmviz.load_model("modes_pcd"), rbmviz.load_dataset("modes") if scored else None
    frames = Engine(dataset)
    frame = frames.frame(frames.runs([rbmviz.make_sampler("gibbs")], model, [(0, None)]))
    with ENGINES["node"]() as engine:
        engine.open(frame)
        for made_for, v in in_many_ways_broken().items():
            look = engine("lookAt", base64.b64encode(v.tobytes()).decode())
            found = findings(v, model, dataset)
            expected = [one for one in found if one.name not in WITHOUT_KERNELS]
            names = [one.name for one in expected]
            assert made_for in names or made_for in ("", "constant") or RULES[made_for].of_data > scored
            assert [one["name"] for one in look["found"]] == names, made_for
            for one, want in zip(look["found"], expected, strict=True):
                said = {name: one[name] for name in ("line", "sentence", "source")}
                assert said == {name: getattr(want, name) for name in said}
                numbers = [one["value"], one["threshold"]]
                assert numbers == pytest.approx([want.value, want.threshold], rel=1e-4), made_for
            mark = Findings(expected, found.n, found.looked_at).verdict
            assert (look["said"]["mark"], look["said"]["stride"]) == (mark, found.traces.stride)
            np.testing.assert_allclose(look["traced"]["energy"], found.traces.energy[0], atol=1e-4)
            np.testing.assert_array_equal(look["traced"]["energy_class"], found.traces.classes[0] + 2)
            correlation = look["traced"]["autocorrelation"]
            np.testing.assert_allclose(correlation, found.traces.autocorrelation, atol=1e-4)


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
