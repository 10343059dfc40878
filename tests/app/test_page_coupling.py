"""The Coupling page without a browser: its run, frames, charts, downloads, links and presets."""

import functools

import numpy as np
import pytest
from page_settings import race_of, settings_of
from waiting import wait, wait_for_pause

from rbmviz import RBM, couple, rng
from rbmviz.coupling import ALGORITHMS, PAIRS_PER_BLOCK, STATISTICS
from rbmviz.datasets import Dataset
from rbmviz.metrics import model_statistics, sweep_distances
from rbmviz.models import random_rbm
from rbmviz.rbm import Model
from rbmviz.rbm.files import save_model
from rbmviz.session import Coupling, CouplingSetup
from rbmviz_app.code import MODEL_FILE, coupling_code
from rbmviz_app.pages.coupling import charts
from rbmviz_app.stream.encoder import FrameEncoder
from rbmviz_app.stream.requests import FrameRequest
from tests.frames import read_frame

SWEEPS = 40


@pytest.fixture
def race(open_race):
    """Forty sweeps of the pairs on show of a tiny random model, paused."""
    setup = CouplingSetup(random_rbm(9, 6, 5), seed=5)
    race = open_race(setup, Coupling(scale=1.2, max_sweeps=60))
    race.step(SWEEPS)
    wait_for_pause(race, SWEEPS)
    return race


def library(race, block=0):
    """The same pairs by ``couple``."""
    plan, coupling = race.setup, race.panels[0].algorithm
    rbm = RBM(*(coupling.scale * x for x in (plan.rbm.W, plan.rbm.b, plan.rbm.c)))
    seed = rng.child(plan.seed, "pairs", block)
    return rbm, {a: couple(rbm, plan.starts(block), a, coupling.max_sweeps, 1, seed) for a in ALGORITHMS}


def test_results_below_the_panels_equal_the_library(race):
    worker = race.panels[0]
    race.resume()

    def results(lag, k):
        return worker.read(lambda run: run.request_results(lag, k))

    wait(lambda: all(c.n > 50 for c in (*results(3, 2).pairs, *results(3, 2).lagged)), "lagged pairs")
    found = results(3, 2)
    wait(lambda: all(c.n > PAIRS_PER_BLOCK for c in results(1, 1).pairs), "a block of pairs")
    first = results(1, 1)
    rbm, pairs = library(race)
    for counted in first.pairs:
        np.testing.assert_array_equal(counted.tau[:PAIRS_PER_BLOCK], pairs[counted.algorithm].tau)
        assert counted.truncated_share == pytest.approx(counted.truncated.mean())
        assert counted.rejected_shares()[1].sum(axis=0) == pytest.approx([1, 1])
        assert counted.distances.sum(axis=1).tolist() == [counted.n] * len(counted.times)
        low, high = counted.distance_quantiles((0.1, 0.9)).T
        assert (low <= counted.mean_distance()).all()
        assert (counted.mean_distance()[:2] <= high[:2]).all()
    assert found.pairs[0].k == 2
    assert first.lagged[0].lag == 1
    model = model_statistics(rbm)
    i, j = first.unit
    assert (i, j) == np.unravel_index(np.abs(rbm.W).argmax(), rbm.W.shape)
    want = [model.b.mean(), model.c.mean(), model.b[i], model.c[j], model.W[i, j]]
    np.testing.assert_allclose(first.truth, want, rtol=1e-6)
    wait(lambda: len(results(1, 1).exact) > 8, "an exact curve")
    exact = results(1, 1).exact
    np.testing.assert_allclose(exact, sweep_distances(rbm, race.setup.start_law(), len(exact) - 1))


def test_a_reset_repeats_the_pairs_and_a_scale_begins_anew(race):
    before = race.poll()[0][1]
    race.reset()
    race.step(SWEEPS)
    wait(lambda: race.poll()[0][1].n == SWEEPS, "the same sweeps")
    again = race.poll()[0][1]
    for a, b in zip(before.displayed_pairs, again.displayed_pairs, strict=True):
        np.testing.assert_array_equal(a.v, b.v)
        assert (a.pair, a.t, a.path) == (b.pair, b.t, b.path)
    race.apply_knobs(race.panels[0].key, scale=0.02)  # hardly any weights: all pairs meet at once
    race.step(4)
    wait(lambda: race.poll()[0][1].n == SWEEPS + 4, "four sweeps")
    shown = race.poll()[0][1]
    assert (shown.run, shown.began) == (again.run, SWEEPS)
    assert [(pair.pair, pair.ended.tau) for pair in shown.displayed_pairs] == [(1, 2)] * 3


def test_starts_at_data_are_training_examples():
    rows = np.random.default_rng(3).integers(0, 2, (20, 9), dtype=np.uint8)
    plan = CouplingSetup(random_rbm(9, 6, 2), Dataset("toy", rows, rows[:0], rows[:0], "bits", "none"))
    known = {row.tobytes() for row in rows}
    assert {row.tobytes() for row in plan.starts(3)} <= known
    assert (plan.starts(3) != plan.starts(4)).any()
    assert plan.start_law().sum() == pytest.approx(1)
    assert (plan.start_law() > 0).sum() == len(known)


def test_a_random_model_is_that_of_the_command_line():
    from rbmviz.cli.couple import _random_model

    a, b = random_rbm(7, 4, 3), _random_model("7x4:0.1", 3)
    np.testing.assert_allclose(0.1 * a.W, b.W, rtol=1e-6)
    np.testing.assert_allclose(0.1 * a.c, b.c, rtol=1e-6)


def test_frames_of_pairs(race):
    shown = race.poll()[0][1]
    request = FrameRequest(20, "pairs", "binary", 1, 9, [race.panels[0].key])
    encoder = FrameEncoder(race)
    [(head, blocks)] = read_frame(encoder.encode_next(request)).panels
    for pair in shown.displayed_pairs:
        name, ended = pair.algorithm, pair.ended
        column = head["pair_columns"][name]
        assert (column["pair"], column["t"], column["ended"]["tau"]) == (pair.pair, pair.t, ended.tau)
        assert head["readouts"][f"{name}_counted"] == pair.counted.n
        for prefix, part in ((name, pair), (f"{name} ended", ended)):
            assert blocks[f"{prefix} path"].tolist() == list(part.path)
            for state, bits in (("v", part.v), ("v2", part.v2)):
                np.testing.assert_array_equal(np.packbits(blocks[f"{prefix} {state}"]), bits)
    [(head, blocks)] = read_frame(encoder.encode_next(request)).panels  # the same meeting is not sent twice
    assert [column["ended"] for column in head["pair_columns"].values()] == [None, None, None]
    assert not [name for name in blocks if "ended" in name]
    assert read_frame(encoder.encode_next(request._replace(n_visible=8))).panels == []


def test_charts_show_the_counted_pairs(race):
    worker = race.panels[0]
    wait(lambda: all(c.n >= 200 for c in worker.read(lambda run: run.request_results(4, 1)).lagged), "pairs")
    found = worker.read(lambda run: run.request_results(4, 1))
    bound = [row for row in charts.bound_rows(found) if row["series"] == "Algorithm 3"]
    assert len(bound) > 10
    assert all(0 <= row["low"] <= row["value"] <= 1 for row in bound)
    estimates = charts.estimate_rows(found, STATISTICS[0])
    unbiased = {name for name in charts.STYLES if name.startswith("UCD")}
    assert {row["series"] for row in estimates} == unbiased | {"CD-1", "exact"}
    last = [row for row in estimates if row["series"] == "UCD, algorithm 3"][-1]
    assert last["value"] == pytest.approx(found.pairs[0].unbiased[:, 0].mean())
    spread = found.pairs[0].unbiased[:, 0].std(ddof=1) / np.sqrt(found.pairs[0].n)
    assert last["high"] - last["value"] == pytest.approx(2 * spread)
    bins = charts.rejected_chart(found.pairs)[1].x.names
    assert [int(name.partition("–")[0]) for name in bins] == sorted(
        {row["order"] for row in charts.rejected_rows(found.pairs)}
    )
    for counted in found.pairs:  # a row is of the whole numbers from x to x2
        bars = [
            row for row in charts.tau_rows(found.pairs) if row["series"] == charts.NAMES[counted.algorithm]
        ]
        met = counted.tau[~counted.truncated]
        assert [row["value"] * counted.n for row in bars[:-1]] == pytest.approx(
            [((row["x"] <= met) & (met <= row["x2"])).sum() for row in bars[:-1]]
        )
        assert (bars[-1]["x"], bars[-1]["x2"]) == (counted.max_sweeps + 1, "")
        assert sum(row["value"] for row in bars) == pytest.approx(1)


@pytest.mark.parametrize("name", ["random", "PCD, 500 updates"])
def test_the_code_repeats_the_pairs_and_draws_them(race, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    save_model(Model(race.setup.rbm), MODEL_FILE)  # of a model that is in no list
    scope = {}
    exec(coupling_code(name, race.setup, race.panels[0].algorithm), scope)
    for algorithm, pairs in library(race)[1].items():
        np.testing.assert_array_equal(scope["pairs"][algorithm].tau, pairs.tau)
    assert (tmp_path / "meeting_times.html").stat().st_size > 1000


# The page


@pytest.fixture
def page(page):
    """Run the page."""
    return functools.partial(page, "coupling")


def notes(test):
    """Make all charts, as a frame would have it done; return the sentences below them."""
    parts = race_of(test, "coupling").parts
    offered = list(parts._offered.items())
    if not settings_of(test)["coupling_more"]:  # AppTest has no shell, which drops what has been folded
        offered = [(key, one) for key, one in offered if key in ("tau", "rejected proposals")]
    return " ".join(note for _, (make, _) in offered for note in make()[1])


def test_models_bring_their_own_scale_and_say_what_is_not_known(page):
    test = page(coupling_more="true")
    race = race_of(test, "coupling")
    test.selectbox(key="coupling_model").set_value("bas_pcd").run()
    assert not test.exception
    assert race.panels[0].algorithm.scale == 1.0
    assert race.setup.rbm.W.shape == (16, 16)
    test.segmented_control(key="coupling_start").set_value("data").run()
    assert race.setup.dataset.name == "bas"
    wait(lambda: race.poll()[0][1].n > 0, "sweeps")
    test.selectbox(key="coupling_model").set_value("mnist_cd1").run()
    wait(lambda: race.poll()[0][1].n > 0, "sweeps")
    wait(lambda: "No exact value" in notes(test.run()), "results")
    assert "too large for the exact curve" in notes(test)


@pytest.mark.parametrize("panels", [["none"], ["coupling:scale=1", "coupling:scale=2"]])
def test_the_page_has_one_panel_whatever_its_link_says(page, panels):
    test = page(c=panels)
    assert not test.exception
    assert len(race_of(test, "coupling").panels) == 1
    assert len(test.warning) == 1
