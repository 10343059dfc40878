"""A drawing on the Sample page: held in all panels, in links and code, and refused if it does not fit."""

import base64
from types import SimpleNamespace

import numpy as np
import pytest
from page_settings import race_of, set_settings, settings_of
from waiting import wait_for_pause

import rbmviz
from rbmviz import BadInput
from rbmviz.rbm.clamp import FREE, as_clamp
from rbmviz.session import SamplingRun, SamplingSetup
from rbmviz.view.specs import HELD
from rbmviz_app import session
from rbmviz_app.code import runs_of, sampling_code
from rbmviz_app.pages.sample import inside, pen
from rbmviz_app.pages.sample.panel import readouts, verdict_of
from rbmviz_app.stream.tiles import drawing_facts, energies_of_samples, energies_of_test, share_on, unit_facts

UNITS = np.r_[1, 0, 0, 1, 1, 0, 0, 1, np.full(8, FREE)]
TEXT = as_clamp(UNITS, 16).text
WITH_HIDDEN = np.r_[UNITS, 1, 0, np.full(14, FREE)]
HELD_TOO = pytest.mark.parametrize("more", [{}, {"clamp": as_clamp(WITH_HIDDEN, 16, 16).text, "ink": 0}])


@pytest.fixture
def setup():
    model = rbmviz.load_model("bas_pcd")
    return SamplingSetup(model, rbmviz.load_dataset("bas"), seed=3, clamp=TEXT)


def made(race, n):
    """Let all panels make n more samples."""
    n_before = race.panels[0].snapshot.n
    race.step(n)
    wait_for_pause(race, n_before + n)


@pytest.mark.parametrize("name", ["gibbs:n_chains=3", "rates_fpcd", "rates_herding", "parallel_tempering"])
@HELD_TOO
def test_a_run_with_a_drawing_has_the_samples_of_python(setup, name, more):
    """Bit for bit, from the same starts, with the drawing filled in before the first sample."""
    setup = setup._replace(**more)
    sampler = rbmviz.make_sampler(name)
    run = setup.plan().run(1, sampler)
    start = np.unpackbits(run.view("starting").start_picture, axis=1, count=16)
    np.testing.assert_array_equal(start[:, :8], np.tile(UNITS[:8], (sampler.n_chains, 1)))
    run.prepare()
    while run.n < 120:
        run.record_steps(run.timed_advance(min(run.max_steps(), 120 - run.n)))
    v0 = setup.starts(sampler.n_chains)
    drawn = rbmviz.sample(setup.model, sampler, 120, seed=3, v0=v0, clamp=setup.clamp, ink=setup.ink)
    np.testing.assert_array_equal(run.held_samples()[1], drawn.v)
    view = run.view("running")
    np.testing.assert_array_equal(view.newest_samples.p, np.rint(drawn.p * 255).astype(np.uint8))
    assert view.occupancy.sum() + view.blanks.sum() == view.covered.n > 0


def test_numbers_that_compare_with_the_data_are_not_there(setup, open_race):
    race = open_race(setup, rbmviz.make_sampler("gibbs"))
    made(race, 400)
    panel = race.panels[0]
    names = {number.name for number in readouts(panel.algorithm, panel.plan)}
    free = {number.name for number in readouts(panel.algorithm, panel.plan._replace(clamp=None))}
    assert free - names == {"isl", "class_coverage"}
    assert all(np.isnan(point.isl) for point in panel.snapshot.curve)
    assert panel.snapshot.findings is None
    assert verdict_of(panel.snapshot)["findings"] == [(HELD, "")]


@HELD_TOO
def test_the_code_of_a_page_holds_the_drawing(setup, open_race, tmp_path, monkeypatch, more):
    monkeypatch.chdir(tmp_path)
    setup = setup._replace(**more)
    race = open_race(setup, *map(rbmviz.make_sampler, ("gibbs", "rates_fpcd")))
    made(race, 12)
    race.apply_knobs(race.panels[1].key, eps=0.3)
    made(race, 8)
    scope = {}
    exec(
        sampling_code("bas_pcd", runs_of(race), 3, "bas", setup.clamp, setup.ink).replace("10_000", "20"),
        scope,
    )
    first, second = (panel.read(SamplingRun.held_samples)[1] for panel in race.panels)
    np.testing.assert_array_equal(scope["samples"]["Gibbs 1"].v, first)
    np.testing.assert_array_equal(np.concatenate(scope["v_1"]), second)


def test_a_drawing_travels_in_the_address_and_undo_takes_it_back(page, address_of):
    test = page("sample", model="bas_pcd", clamp=TEXT, curve="draw", p="gibbs")
    assert address_of(test)["clamp"] == [TEXT]
    assert race_of(test, "sample").setup.clamp == TEXT
    set_settings(test, clamp="").run()
    assert race_of(test, "sample").setup.clamp == ""
    assert "clamp" not in address_of(test) or not address_of(test)["clamp"]
    test.button(key="sample_undo").click().run()
    assert (settings_of(test)["clamp"], race_of(test, "sample").setup.clamp) == (TEXT, TEXT)


@pytest.mark.parametrize(
    ("model", "text", "sentence"),
    [
        ("bas_pcd", as_clamp(np.r_[1, np.full(255, FREE)], 256).text, "does not fit a model with 16 visible"),
        ("bas_pcd", "__9VVQ", "all units are held"),
        ("reviews_fpcd", as_clamp(np.r_[1, np.full(783, FREE)], 784).text, "does not fit a model with"),
    ],
)
def test_a_drawing_that_does_not_fit_is_one_sentence(page, model, text, sentence):
    test = page("sample", model=model, clamp=text, p="gibbs", curve="draw")
    assert race_of(test, "sample").setup.clamp == ""
    [error] = [one.value for one in test.error]
    assert error.startswith("Nothing is held: ")
    assert sentence in error


def test_a_model_of_texts_holds_words_and_takes_no_drawing(page):
    test = page("sample", model="reviews_fpcd", curve="draw", p="gibbs")
    assert any("has words, not pixels" in one.value for one in test.info)
    words = next(one for one in test.multiselect if one.label == "Hold words on")
    words.set_value(words.options[2:4]).run()
    setup = race_of(test, "sample").setup
    on = as_clamp(setup.clamp, setup.model.rbm.n_visible).units
    np.testing.assert_array_equal(np.flatnonzero(on == 1), [2, 3])
    assert (np.delete(on, [2, 3]) == FREE).all()


@pytest.mark.parametrize("units", [None, "x" * 9, [1, 0], [[1] * 16], [1] * 16, [2] + [FREE] * 15, {"a": 1}])
def test_hostile_drawings_are_refused(setup, open_race, units):
    race = open_race(setup)
    with pytest.raises(BadInput):
        pen.hold(pen.held_by(race, "draw", units), 16)


def test_facts_of_a_drawing(setup):
    """Its free energy with free pixels off, and the example that is nearest where pixels are held."""
    rbm, train = setup.model.rbm, setup.dataset.train
    facts = drawing_facts(rbm, setup.dataset, as_clamp(UNITS, 16))
    assert facts["energy"] == rbm.free_energy(np.maximum(UNITS, 0))
    nearest = np.unpackbits(np.frombuffer(base64.b64decode(facts["nearest"]), np.uint8))
    assert (nearest != UNITS)[:8].sum() == (train != UNITS)[:, :8].sum(axis=1).min()
    assert sum(energies_of_test(rbm, setup.dataset)["counts"]) == len(setup.dataset.test)


def test_buttons_hold_upper_halves(setup, open_race, monkeypatch):
    """Of the drawing; without one, of the newest sample or the start; and of one test image after another."""
    monkeypatch.setattr(session, "st", SimpleNamespace(session_state={}))
    race = open_race(setup)
    np.testing.assert_array_equal(pen.held_by(race, "upper", None).units, UNITS)
    first, second = (pen.held_by(race, "test", None).units for _ in range(2))
    assert (first[8:] == FREE).all()
    assert (first != second).any()
    assert all((setup.dataset.test == half)[:, :8].all(axis=1).any() for half in (first, second))
    free = open_race(setup._replace(clamp=""), rbmviz.make_sampler("gibbs"))
    halves = [pen.held_by(free, "upper", None).units[:8]]
    made(free, 5)
    halves.append(pen.held_by(free, "upper", None).units[:8])
    newest = free.panels[0].read(SamplingRun.held_samples)[1][-1]
    np.testing.assert_array_equal(halves, [free.setup.first_state()[:8], newest[:8]])


@pytest.mark.parametrize(("beta", "mark"), [(1, "fine"), (0.85, "inexact")])
def test_samples_of_another_temperature_have_a_mark_of_their_own(beta, mark):
    model, g = rbmviz.load_model("modes_pcd"), np.random.default_rng(1)
    p = rbmviz.metrics.probabilities(model) ** beta
    v = (g.choice(len(p), 1500, p=p / p.sum())[:, None] >> np.arange(16)[::-1] & 1).astype(np.uint8)
    found = rbmviz.metrics.findings(v, model, "modes")
    assert verdict_of(SimpleNamespace(clamp=None, findings=found))["mark"] == mark


def test_hidden_units_are_held_beside_a_drawing(setup, monkeypatch):
    """And set free again; the pen leaves them as they are, and one stays free."""
    monkeypatch.setattr(session, "st", SimpleNamespace(session_state={}))
    now = lambda: setup._replace(clamp=inside.Settings.clamp.value)  # noqa: E731
    inside.hold_unit(setup, 0, 1)
    inside.hold_unit(now(), 1, 0)
    np.testing.assert_array_equal(np.r_[now().held_units().units, now().held_units().hidden], WITH_HIDDEN)
    pen.hold([FREE] * 16, 16, now().clamp)
    np.testing.assert_array_equal(now().held_units().hidden, WITH_HIDDEN[16:])
    assert now().held_units().free.all()
    for unit in range(2):
        inside.hold_unit(now(), unit, FREE)
    assert now().clamp == ""
    pen.hold(UNITS, 16, "")
    inside.hold_unit(now(), 3, 1)
    inside.free_units()  # another model is chosen
    np.testing.assert_array_equal(now().held_units().units, UNITS)
    assert not len(now().held_units().hidden)
    pen.hold([FREE] * 16, 16, "")
    inside.hold_unit(now(), 3, 1)
    inside.free_units()
    assert now().clamp == ""
    for unit in range(15):
        inside.hold_unit(now(), unit, 1)
    with pytest.raises(BadInput, match="all hidden units are held"):
        inside.hold_unit(now(), 15, 1)


def test_facts_of_a_hidden_unit(setup, open_race):
    """The training images that make it likeliest, and how likely data and samples make it."""
    rbm, train = setup.model.rbm, setup.dataset.train
    facts, p = unit_facts(rbm, setup.dataset, 5), rbm.mean_hidden(train)[:, 5]
    images = np.unpackbits(np.frombuffer(base64.b64decode(facts["images"]), np.uint8)).reshape(-1, 16)
    np.testing.assert_allclose(rbm.mean_hidden(images)[:, 5], np.sort(p)[::-1][: facts["n"]], rtol=1e-5)
    assert facts["share"] == pytest.approx(p.mean(), rel=1e-5)
    race = open_race(setup._replace(clamp=""), rbmviz.make_sampler("gibbs"))
    made(race, 30)
    shown = race.panels[0].snapshot
    v = race.panels[0].read(SamplingRun.held_samples)[1]
    assert share_on(rbm, shown, 5) == f"{rbm.mean_hidden(v)[:, 5].mean():.0%}"
    np.testing.assert_allclose(energies_of_samples(rbm, shown), rbm.free_energy(v))
    chart, [said] = inside.energies_chart(race)
    assert f"Gibbs {np.median(rbm.free_energy(v)):.1f}".replace("-", "−") in said
    np.testing.assert_allclose(chart.rows.groupby("series")["share"].sum(), 1)
