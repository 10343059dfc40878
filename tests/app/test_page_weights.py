"""The Weights page without a browser: contents, frames and downloads."""

import numpy as np
import pytest
from page_settings import origin_of_files
from waiting import wait, wait_for_pause

from rbmviz import make_trainer
from rbmviz.datasets import Dataset
from rbmviz.lessons import read_state
from rbmviz.session import WeightSetup
from rbmviz_app.code import weights_code
from rbmviz_app.pages.weights import panel as weights_panel
from rbmviz_app.pages.weights.charts import EQUAL, log_z_chart, population_titles, shares_chart, sizes_chart
from rbmviz_app.stream.encoder import FrameEncoder
from rbmviz_app.stream.requests import FrameRequest
from tests.frames import read_frame


@pytest.fixture
def race(open_race, model):
    """Two populations of a tiny model, 12 batches each, paused."""
    rows = np.random.default_rng(3).integers(0, 2, (40, 5), dtype=np.uint8)
    data = Dataset("toy", rows[:30], rows[30:35], rows[35:], "bits", "none")
    trainers = make_trainer("pop_cd", n_chains=9), make_trainer("pop_cd", n_chains=9, proposal="joint")
    race = open_race(WeightSetup(model, data, seed=4), *trainers)
    race.step(12)
    wait_for_pause(race, 12)
    wait(lambda: all(s.summary and s.summary.n == 108 for _, s in race.poll()), "a summary")
    wait(lambda: all(s.reference for _, s in race.poll()), "log Z")
    return race


def named(race):
    shown = [snapshot for _, snapshot in race.poll()]
    return list(zip(population_titles([s.algorithm for s in shown]), shown, strict=True))


# Views


def test_files_name_a_link_that_opens_the_same_batches(page):
    panels = ["pop_cd:n_chains=40", "pop_cd:n_chains=7,k=3"]
    test = page("weights", w=panels, weights_model="bas_pcd", weights_start="random", weights_seed="5")
    command = origin_of_files(test)["command"]
    state = read_state(command.removeprefix("rbmviz app; "))
    setup = state.setup()
    assert (setup.seed, setup.start_from, setup.model.rbm.n_visible) == (5, "random", 16)
    assert [(one.n_chains, one.k) for one in state.algorithms()] == [(40, 1), (7, 3)]


def test_charts_show_the_summaries(race):
    shown = named(race)
    shares, _ = shares_chart(shown)
    for name, snapshot in shown:
        mine = shares[shares["panel"] == name]
        np.testing.assert_array_equal(mine["held"], snapshot.summary.held)
    equal = shares[shares["panel"] == EQUAL.name]
    np.testing.assert_allclose(equal["held"], equal["samples"])
    sizes, _ = sizes_chart(shown)
    ours = sizes[sizes["panel"] == "pop-CD-1"]
    assert list(ours["size"]) == [1, 2, 4, 8, 16, 32]  # a single batch of 64 has no error
    np.testing.assert_allclose(ours["share"] * ours["size"], ours["ess"])
    assert (ours["low"] <= ours["share"]).all()
    assert (ours["high"] <= 1).all()
    points, drawn = log_z_chart(shown)
    for name, snapshot in shown:
        last = points[points["panel"] == name].iloc[-1]
        assert (last["n"], last["log_z"]) == (108, snapshot.newest.log_z)
        assert last["high"] - last["low"] == pytest.approx(4 * snapshot.newest.std_error)
        assert last["low"] - 0.5 < snapshot.reference.log_z < last["high"] + 0.5
    [truth] = drawn.content(points, "")["levels"]
    assert truth["y"] == pytest.approx(shown[0][1].reference.log_z)


def test_the_code_weighs_such_batches_and_draws_them(monkeypatch, model, tmp_path):
    import rbmviz

    monkeypatch.chdir(tmp_path)
    code = weights_code("toy", None, [make_trainer("pop_cd", n_chains=20, k=2)], 3)
    monkeypatch.setattr(rbmviz, "load_model", lambda name: model)
    scope = {}
    exec(code, scope)
    assert scope["batches"]["pop-CD-2 1"].v.shape == (20, 5)
    assert (tmp_path / "log_weights.html").stat().st_size > 1000
    assert 'load_dataset("bas")' in weights_code("bas_pcd", "bas", [make_trainer("pop_cd")], 0)


# What goes over the wire


def test_frames_carry_the_heaviest_and_the_lightest(race, monkeypatch):
    monkeypatch.setattr("rbmviz_app.stream.encoder.NUMBERS_SECONDS", 1e9)
    request = FrameRequest(20, "weights", "binary", 1, 5, [panel.key for panel in race.panels])
    encoder = FrameEncoder(race)
    panels = read_frame(encoder.encode_next(request)).panels
    for (head, blocks), (_, shown) in zip(panels, race.poll(), strict=True):
        readouts, batch = head["readouts"], shown.batch
        assert (head["n"], readouts["pooled"], readouts["ess"]) == (12, 108, [batch.ess, 9])
        assert head["log_z"] == readouts["log_z"] == shown.newest.log_z
        assert head["truth"] == readouts["truth"] == shown.reference.log_z
        assert readouts["gap"] == shown.reference.log_z - shown.newest.log_z
        for name, rows in (("heaviest", slice(6)), ("lightest", slice(3, None))):
            np.testing.assert_array_equal(blocks[name], batch.v[rows])
            np.testing.assert_allclose(blocks[f"{name} shares"], batch.shares[rows], rtol=1e-6)
        np.testing.assert_allclose(blocks["log_weights"], batch.log_weights, rtol=1e-6)
        assert blocks["histogram"].sum() == 108
        assert head["histogram"] == [shown.summary.low, shown.summary.high]
        assert head["log_total"] == pytest.approx(np.log(np.exp(batch.log_weights).sum()))
        assert "light_log_weights" not in blocks
    again = read_frame(encoder.encode_next(request)).panels
    assert [dict(panel.blocks) for panel in again] == [{}] * len(panels)  # nothing is sent twice
    assert read_frame(encoder.encode_next(request._replace(n_visible=6))).panels == []


def test_a_large_batch_is_sent_in_part_with_its_ends_and_its_whole_weight(race, monkeypatch):
    monkeypatch.setattr(weights_panel, "MAX_WEIGHTS_SENT", 4)
    request = FrameRequest(20, "weights", "binary", 1, 5, [panel.key for panel in race.panels])
    panels = read_frame(FrameEncoder(race).encode_next(request)).panels
    assert panels
    for (head, blocks), (_, shown) in zip(panels, race.poll(), strict=True):
        logs = shown.batch.log_weights
        np.testing.assert_allclose(blocks["log_weights"], logs[:4], rtol=1e-6)
        np.testing.assert_allclose(blocks["light_log_weights"], logs[[4, 5, 7, 8]], rtol=1e-6)
        assert head["log_total"] == pytest.approx(np.log(np.exp(logs).sum()))


# The page


def test_the_stored_figure_of_bias_has_its_verdict(page):
    said = " ".join(text.value for text in page("weights", weights_more="true").markdown)
    assert "- *holds*: On generated data with 16 hidden units the bias of pop-CD is much smaller" in said
