"""What speaks against a run's samples comes with its snapshots."""

from types import SimpleNamespace

import numpy as np
from command_line import run
from waiting import wait, wait_for_pause

from rbmviz import load_dataset, load_model
from rbmviz.metrics.findings import FEWEST_SAMPLES, findings
from rbmviz.samplers import make_sampler
from rbmviz.session import SamplingRun, SamplingSetup
from rbmviz.session.diagnosis import Diagnosis
from rbmviz_app.pages.sample.panel import verdict_of


def found(page):
    return page.peek()[0][1].findings


def test_a_page_at_rest_says_what_the_function_says(open_race, model, toy):
    page = open_race(SamplingSetup(model, toy), make_sampler("gibbs", temperature=4.0))
    assert found(page) is None
    page.step(FEWEST_SAMPLES)
    wait_for_pause(page, FEWEST_SAMPLES)
    page.poll()
    wait(lambda: found(page) is not None and "single units" in found(page).looked_at, "findings")
    v = page.panels[0].read(SamplingRun.held_samples)[1]
    assert found(page) == findings(v, model, toy)
    assert found(page).n == FEWEST_SAMPLES


def test_findings_begin_anew_after_a_turn_of_a_knob(open_race, model, toy):
    page = open_race(SamplingSetup(model, toy), make_sampler("gibbs", temperature=4.0))
    page.step(400)
    wait_for_pause(page, 400)
    page.poll()
    wait(lambda: found(page) is not None and "temperature" in [one.name for one in found(page)], "heat")
    page.apply_knobs(page.panels[0].key, temperature=1.0)
    page.step(1)
    wait_for_pause(page, 401)
    assert found(page) is None
    page.step(400)
    wait_for_pause(page, 801)
    page.poll()
    wait(lambda: found(page) is not None and "single units" in found(page).looked_at, "new findings")
    v = page.panels[0].read(SamplingRun.held_samples)[1][400:]
    assert found(page) == findings(v[: found(page).n], model, toy)


def test_a_look_is_repeated_when_another_class_is_visited(model, toy, monkeypatch):
    monkeypatch.setattr("rbmviz.session.diagnosis.NEWS_SECONDS", 0.0)
    diagnosis, v = Diagnosis(model.rbm, toy, 1), toy.train[np.zeros(FEWEST_SAMPLES, int)]
    diagnosis.update(v)
    diagnosis.request(visited=(1, 2))
    wait(lambda: diagnosis.has_news, "a look")
    diagnosis.update(v[:30])
    diagnosis.request(visited=(1, 2))
    assert diagnosis.newest.n == len(v)
    assert not diagnosis._busy
    diagnosis.request(visited=(2, 2))
    wait(lambda: diagnosis.newest.n == len(v) + 30, "another look")


def test_no_look_begins_before_its_kernels_are_compiled(model, monkeypatch):
    monkeypatch.setattr("rbmviz.session.compiling.COMPILING.request", lambda names: names != ["findings"])
    diagnosis = Diagnosis(model.rbm, None, 1)
    diagnosis.update(np.zeros((FEWEST_SAMPLES, model.rbm.n_visible), np.uint8))
    diagnosis.request(paused=True)
    assert diagnosis.is_open
    assert not diagnosis._busy
    monkeypatch.undo()
    diagnosis.request(paused=True)
    wait(lambda: diagnosis.has_news, "a look")


def test_page_function_and_command_line_say_the_same(capsys, tmp_path):
    """Of the same samples, which the run passes on in parts."""
    path, dataset = tmp_path / "s.npz", load_dataset("bas")
    run(
        capsys,
        "sample",
        "--model",
        "bas_pcd",
        "--sampler",
        "gibbs:temperature=1.4",
        "-n",
        6000,
        "--out",
        path,
    )
    with np.load(path) as file:
        v = file["v"]
    diagnosis = Diagnosis(load_model("bas_pcd").rbm, dataset, 1)
    for part in np.split(v, [1, 99, 2500, 4097]):
        diagnosis.update(part)
    diagnosis.request(paused=True)
    wait(lambda: diagnosis.has_news, "a look")
    found = findings(v, "bas_pcd", dataset)
    assert {"temperature"} <= {one.name for one in found}
    assert diagnosis.newest == found
    np.testing.assert_array_equal(diagnosis.newest.traces.energy, found.traces.energy)
    said = verdict_of(SimpleNamespace(findings=diagnosis.newest, clamp=None))
    assert (said["mark"], said["verdict"]) == ("inexact", found[0].line)
    assert said["findings"][:-1] == [(one.sentence, one.source) for one in found]
    scored = run(capsys, "score", path)
    assert {name: scored[name] for name in ("verdict", "findings", "looked_at")} == found.as_data()
