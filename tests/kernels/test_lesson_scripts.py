"""Walks and claims of lessons as files: the scripts of their pages in node, against Python."""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from rbmviz import browser
from rbmviz.browser.chains import Blocks, chain_spec
from rbmviz.browser.landscapes import walk_data
from rbmviz.knobs import values_of
from rbmviz.lessons import load_lesson
from rbmviz.lessons.claims import parse_claim
from rbmviz.metrics import landscape
from rbmviz.metrics.landscape import state_bits
from rbmviz.metrics.numbers import NUMBERS
from rbmviz.registry import samplers
from rbmviz.session.unit_by_unit import UnitByUnit
from rbmviz.view.frames import write_frame
from rbmviz_app.pages.chain.units import sentence
from rbmviz_app.play.lesson import units_data

pytestmark = [
    pytest.mark.compiled,
    pytest.mark.skipif(shutil.which("node") is None, reason="needs node"),
]

SCRIPT = Path(__file__).with_name("run_lesson.js")

ENDS = 0, 1, 24, 600


def by_node(folder, walks=(), claims=(), chains=(), blocks=None, units=None):
    """Return what the scripts make of walks, claims and units."""
    frame = folder / "frame"
    request = {"chains": chains, "walks": walks, "claims": claims, "units": units}
    frame.write_bytes(write_frame(request, [({}, blocks.by_name if blocks else {})]))
    files = browser.KERNELS_FOLDER / "kernels.wasm", browser.KERNELS_FOLDER / "kernels.json", frame
    done = subprocess.run(["node", SCRIPT, *files], capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    return json.loads(done.stdout)


def walks_of_lessons():
    """Return the setup and the sampler of each panel of the lessons' landscapes, and one that is heated."""
    steps = [step.state for name in ("stick", "push") for step in load_lesson(name).steps]
    steps = [state for state in steps if state.page == "chain" and state.settings["little"] == "landscape"]
    found = {}
    for state in steps:
        for text, sampler in zip(state.panels, state.algorithms(), strict=True):
            found[state.settings["land"], state.settings["land_depth"], text] = (state.setup(), sampler)
    heated = samplers.read("gibbs:temperature=1.5")
    return [*found.values(), (steps[0].setup(), heated)]


def test_walks_are_those_of_python(tmp_path):
    """In rows and in a history, at theta / T: states and counts exactly, the ground to rounding of floats."""
    blocks, chains, jobs, walks = Blocks(), [], [], walks_of_lessons()
    assert len(walks) >= 8
    for place, (setup, sampler) in enumerate(walks):
        model = setup.model
        spec = walk_data(model, landscape(model.rbm))
        v0 = state_bits(spec["start"], model.rbm.n_visible)
        chains.append(chain_spec(sampler, model, [(setup.seed, v0)], blocks))
        jobs.append({"chain": place, "spec": spec, "knobs": values_of(sampler), "ends": ENDS})
    for (setup, sampler), views in zip(
        walks, by_node(tmp_path, jobs, (), chains, blocks)["walked"], strict=True
    ):
        run = setup.plan().run(1, sampler)
        run.prepare()
        for end, view in zip(ENDS, views, strict=True):
            run.advance_to(end)
            shown = run.view("paused")
            assert view["state"] == shown.trail[-1]
            assert view["trail"] == shown.trail[len(shown.trail) - min(end, len(shown.trail)) :].tolist()
            np.testing.assert_allclose(view["visits"], shown.visits / max(end, 1), atol=1e-7)
            np.testing.assert_allclose(view["ground"], -np.log(shown.law), rtol=1e-5, atol=1e-6)
            for name, number in view["numbers"].items():
                expected = NUMBERS["chain"][name].measured(shown)
                assert (number is None) == (expected is None), name
                if expected is not None:
                    np.testing.assert_allclose(number, expected, rtol=1e-6, atol=1e-5, err_msg=name)
            if sampler.name == "gibbs" and sampler.temperature == 1:
                assert view["numbers"]["raised"] == 0  # claims say so


def test_claims_hold_as_in_python(tmp_path):
    """The claims of the lessons, and others, about numbers around what they are compared with."""
    texts = [
        claim.text for name in ("stick", "push") for step in load_lesson(name).steps for claim in step.claims
    ]
    texts += [f"panel1.visits {sign} panel2.visits - 3 at 10 samples" for sign in (">", "<", ">=", "<=", "=")]
    texts += ["panel1.visits = 7 at 10 samples", "panel1.isl <= -2 at 10 samples"]
    rng, jobs, expected = np.random.default_rng(5), [], []
    for text in texts:
        claim = parse_claim(text)
        for shift in (-1.0, 0.0, 1.0, None):
            other = float(rng.integers(0, 50))
            value = None if shift is None else claim.number + shift + (other if claim.of else 0)
            for n, missing in ((claim.n - 1, False), (claim.n, False), (claim.n + 7, True)):
                panels = [{"n": n, "numbers": {}} for _ in range(9)]
                if claim.of:
                    panels[claim.of[0]]["numbers"][claim.of[1]] = None if missing else other
                panels[claim.panel]["numbers"][claim.metric] = value
                fields = ("panel", "metric", "operator", "number", "of", "n")
                jobs.append({"claim": {name: getattr(claim, name) for name in fields}, "panels": panels})
                values = {about: panels[about[0]]["numbers"].get(about[1]) for about in claim.about}
                holds = claim.judged(*values.values()).holds
                expected.append([holds and 0 < claim.n <= n, holds])
    assert {seen for seen, _ in expected} == {True, False}
    assert by_node(tmp_path, claims=jobs)["evaluated"] == expected


def test_units_are_drawn_as_in_python(tmp_path):
    """By clicks, steps and sweeps: the same states, and the same sentence."""
    state = UnitByUnit.begin()
    for i, (said, last, following, v, h) in enumerate(by_node(tmp_path, units=units_data())["drawn"]):
        assert said == sentence(state)
        drawn = state.last
        assert last == (drawn and pytest.approx([drawn.layer, drawn.unit, drawn.p, drawn.u]))
        assert (tuple(following), v, h) == (state.next_unit, state.v.tolist(), state.h.tolist())
        if i % 7 == 3:
            state = state.draw("visible", i % 6)
        else:
            state = state.sweep() if i % 11 == 5 else state.draw(*state.next_unit)
