"""What speaks against a run's samples comes with its snapshots."""

from waiting import wait, wait_for_pause

from rbmviz.metrics.findings import FEWEST_SAMPLES, findings
from rbmviz.samplers import make_sampler
from rbmviz.session import SamplingRun, SamplingSetup


def found(page):
    return page.peek()[0][1].findings


def test_a_page_at_rest_says_what_the_function_says(open_race, model, toy):
    page = open_race(SamplingSetup(model, toy), make_sampler("gibbs", temperature=4.0))
    assert found(page) is None
    page.step(FEWEST_SAMPLES)
    wait_for_pause(page, FEWEST_SAMPLES)
    page.poll()
    wait(lambda: found(page) is not None, "findings")
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
    wait(lambda: found(page) is not None, "findings after the turn")
    v = page.panels[0].read(SamplingRun.held_samples)[1][400:]
    assert found(page) == findings(v[: found(page).n], model, toy)
