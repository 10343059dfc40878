"""The pages without a browser: contents, error messages, downloads, and frames."""

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from page_settings import race_of
from waiting import wait, wait_for_pause

import rbmviz
from rbmviz import make_sampler, make_trainer
from rbmviz.charts import Style
from rbmviz.charts.style import GREY, colour, colours, labels, ramp, titles
from rbmviz.datasets import Dataset
from rbmviz.rbm.files import save_model
from rbmviz.session import SamplingRun, SamplingSetup, TrainingSetup
from rbmviz.session.training import Likelihood
from rbmviz.view.frames import write_frame
from rbmviz_app.code import DATA_FILE, MODEL_FILE, runs_of, sampling_code
from rbmviz_app.compared import Curve, curves_of
from rbmviz_app.pages.sample.charts import isl_chart
from rbmviz_app.pages.sample.panel import encode
from rbmviz_app.pages.sample.panel import readouts as sample_readouts
from rbmviz_app.pages.train.charts import (
    likelihood_rows,
    statistic_rows,
    training_chart,
)
from rbmviz_app.pages.train.drawing import ranking
from rbmviz_app.stream.encoder import ClientState, FrameEncoder
from rbmviz_app.stream.requests import FrameRequest
from tests.frames import read_frame


@pytest.fixture
def race(open_race, model, toy):
    """Two panels of a tiny model, 12 samples each, paused."""
    samplers = make_sampler("gibbs"), make_sampler("rates_fpcd", eps=0.1)
    race = open_race(SamplingSetup(model, toy, seed=4), *samplers)
    race.step(12)
    wait_for_pause(race, 12)
    return race


# Views


@pytest.fixture
def run_code(race, model, monkeypatch, tmp_path):
    """Run the code of a page for n samples in an empty folder; return its names."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(rbmviz, "load_model", lambda name: model)
    monkeypatch.setattr(rbmviz, "load_dataset", lambda name: race.setup.dataset)

    def run(code, n):
        scope = {}
        exec(code.replace("10_000", str(n)), scope)
        return scope

    return run


def test_the_snippet_repeats_a_run_whose_knobs_were_turned(race, run_code):
    driven = race.panels[1]
    race.apply_knobs(driven.key, eps=0.3)
    race.step(8)
    wait_for_pause(race, 20)
    scope = run_code(sampling_code("toy", runs_of(race), 4, "toy"), 20)
    made = [panel.read(SamplingRun.held_samples)[1] for panel in race.panels]
    np.testing.assert_array_equal(scope["samples"]["Gibbs 1"].v, made[0])
    np.testing.assert_array_equal(np.concatenate(scope["v_1"]), made[1])
    assert Path("samples.html").stat().st_size > 1000
    # Without a log it says so, and has the newest knobs.
    code = sampling_code("toy", [(driven.algorithm, None)], 4, "toy")
    assert "newest ones throughout" in code
    assert "eps=0.3" in code


def test_the_snippet_loads_the_files_of_what_is_in_no_list(race, model, tmp_path, monkeypatch):
    """A model that the Train page has sent, and data of one's own."""
    monkeypatch.chdir(tmp_path)
    save_model(model, MODEL_FILE)
    np.savez(DATA_FILE, x_train=race.setup.dataset.train)
    panel = race.panels[0]
    code = sampling_code("CD-k, 500 updates", runs_of(race)[:1], 4, "mine.csv")
    assert code.count("name its") == 1
    assert code.count("name it here") == 1
    scope = {}
    exec(code.replace("10_000", "12"), scope)
    np.testing.assert_array_equal(scope["samples"]["Gibbs 1"].v, panel.read(SamplingRun.held_samples)[1])


def charted(race, view="ISL"):
    shown = race.peek()
    compared = [one.compared for _, one in race.at_common_point(shown)]
    curves, kernel = curves_of([one for _, one in shown]), race.setup.kernel
    return isl_chart(curves, compared, None, "samples", view, kernel)


def test_the_chart_shows_differences_and_changes_of_knobs(race):
    second = race.panels[1]
    race.apply_knobs(second.key, eps=0.2)
    race.step(30)
    wait_for_pause(race, 42)
    # Too few since the change: the end of what was before it has the name of the curve.
    rows, _ = charted(race)
    [end] = rows[(rows["kind"] == "end") & (rows["label"] == "rates-FPCD")].to_dict("records")
    [setting] = rows[(rows["kind"] == "end") & (rows["tone"] == GREY)].to_dict("records")
    assert (end["x"], end["y"]) == (setting["x"], setting["y"])
    assert (setting["x"], setting["label"]) == (12, "Step size 0.1")
    race.step(30)
    wait_for_pause(race, 72)
    rows, drawn = charted(race)
    [common] = rows[rows["kind"] == "common"].to_dict("records")
    assert (common["x"], common["note"]) == (64, "panels without a turn compared at 64 samples")
    # The past is grey and ends with its setting; the new curve begins at its own first samples.
    content = drawn.content(rows, "ISL")
    lines = content["lines"]
    assert ("Step size 0.1", GREY) in [(end["label"], end["colour"]) for end in content["ends"]]
    [past] = [line for line in lines if not line["name"]]
    assert (past["colour"], [x for x, _ in past["points"]]) == (GREY, [5, 6, 7, 8, 9, 10, 12])
    assert [line["points"][0][0] for line in lines if line["name"] == "rates-FPCD"] == [50]
    rows, drawn = charted(race, "difference to the best")
    ends = rows[rows["kind"] == "end"]
    assert list(ends["label"]) == ["Gibbs", "rates-FPCD"]
    assert sorted(ends["y"])[1] == 0 > min(ends["y"])  # that of the best one with itself
    points = rows[rows["kind"] == "point"]
    assert ((points["low"] <= points["y"]) & (points["y"] <= points["high"])).all()
    assert points[points["sampler"] == "rates-FPCD"]["x"].max() == 56


def test_namesakes_are_told_apart_by_their_knobs_and_have_a_ramp():
    panels = [make_sampler("rates_fpcd", eps=eps) for eps in (0.1, 0.003, 0.03)]
    assert labels(panels) == ["step 0.1", "step 0.003", "step 0.03"]
    assert colours(panels) == ramp(3)
    both = [make_sampler("gibbs"), *panels]
    assert titles(both[:3]) == ["Gibbs", "rates-FPCD (step size 0.1)", "rates-FPCD (step size 0.003)"]
    assert colours(both)[0] == colour("gibbs")
    assert len(set(colours(both))) == 4
    assert labels([make_sampler("gibbs")] * 2) == ["Gibbs #1", "Gibbs #2"]


def test_a_panel_says_where_its_numbers_are_from(race, monkeypatch):
    """The numbers are those at the common point; a panel that is behind says so."""
    monkeypatch.setattr("rbmviz_app.stream.encoder.NUMBERS_SECONDS", 0.0)
    request = FrameRequest(20, "sequence", "binary", 100, 5, [panel.key for panel in race.panels])
    encoder = FrameEncoder(race)

    def heads():
        return [panel.head for panel in read_frame(encoder.encode_next(request)).panels]

    assert [head["standing"] for head in heads()] == ["Scores at 12 samples"] * 2
    race.apply_knobs(race.panels[0].key, k=10)
    race.step(18)
    wait_for_pause(race, 30)
    gibbs, other = heads()
    assert (gibbs["standing"], gibbs["since"]) == (
        "Too few yet: 18 of 50 samples since the change.",
        "Since sample 13: Sweeps per sample 10",
    )
    assert {gibbs["readouts"][name] for name in ("isl", "visited", "switches", "spurious")} == {None}
    assert (other["standing"], other["since"]) == ("Scores at 29 samples", "")
    race.step(38)
    wait_for_pause(race, 68)
    gibbs, other = heads()
    assert gibbs["standing"] == "Scores at 56 samples since the change"
    assert other["standing"] == "Scores at 64 samples"
    assert (gibbs["readouts"]["sweeps"], other["readouts"]["sweeps"]) == (10, 1)
    assert gibbs["readouts"]["isl"][0] == race.peek()[0][1].scores_at("samples", 56).isl.isl
    race.cost_unit = "sweeps"
    assert "Gibbs sweeps" in heads()[0]["standing"]


# What goes over the wire


def test_frames_carry_what_is_new_and_nothing_twice(race, monkeypatch):
    monkeypatch.setattr("rbmviz_app.stream.encoder.NUMBERS_SECONDS", 1e9)
    keys = [panel.key for panel in race.panels]
    request = FrameRequest(20, "sequence", "binary", 100, 5, keys)
    encoder = FrameEncoder(race)
    frame = read_frame(encoder.encode_next(request))
    assert frame.request == {name: value for name, value in request._asdict().items() if value is not None}
    for panel, (head, blocks) in zip(race.panels, frame.panels, strict=True):
        assert (head["key"], head["n"], head["status"]) == (panel.key, 12, "paused")
        np.testing.assert_array_equal(blocks["v"], panel.read(SamplingRun.held_samples)[1])
    assert [dict(panel.blocks) for panel in read_frame(encoder.encode_next(request)).panels] == [{}, {}]
    race.step(3)
    wait(lambda: all(s.n == 15 for _, s in race.poll()), "three more")
    blocks = read_frame(encoder.encode_next(request)).panels[0].blocks
    np.testing.assert_array_equal(blocks["v"], race.panels[0].read(SamplingRun.held_samples)[1][-3:])
    other = request._replace(cells=4, pixels="mean", panels=keys[:1])
    [(_, blocks)] = read_frame(encoder.encode_next(other)).panels
    np.testing.assert_array_equal(blocks["mean"], race.poll()[0][1].newest_samples.p[-4:])
    single = read_frame(encoder.encode_next(request._replace(view="single"))).panels[0].blocks
    assert [single[name].shape for name in ("v", "mean")] == [(1, 5), (1, 5)]
    assert read_frame(encoder.encode_next(request._replace(n_visible=6))).panels == []


def test_the_rows_of_a_look_travel_once(race):
    request = FrameRequest(20, "sequence", "binary", 100, 5, [race.panels[0].key])
    encoder, client = FrameEncoder(race), FrameEncoder(race, hidden="names")
    assert "energy" not in read_frame(encoder.encode_next(request)).panels[0].blocks
    race.step(138)
    wait_for_pause(race, 150)
    wait(lambda: race.poll()[0][1].findings is not None, "a look")
    shown = race.peek()[0][1]
    head, blocks = read_frame(encoder.encode_next(request)).panels[0]
    assert head["stride"] == 1
    np.testing.assert_allclose(blocks["energy"], shown.findings.traces.energy, rtol=1e-6)
    np.testing.assert_array_equal(blocks["energy_class"], shown.findings.traces.classes + 2)
    np.testing.assert_array_equal(blocks["jumps"], shown.jumps)
    assert len(blocks["autocorrelation"]) == shown.findings.n // 4
    race.step(1)
    wait_for_pause(race, 151)
    head, blocks = read_frame(encoder.encode_next(request)).panels[0]
    assert head["stride"] == 1
    assert not blocks.keys() & {"energy", "energy_class", "autocorrelation", "jumps"}
    assert not read_frame(client.encode_next(request)).panels[0].blocks.keys() & {"energy", "jumps"}


def test_a_ladder_travels_with_its_path_every_thirty_samples(race):
    panel = race.add(make_sampler("parallel_tempering", n_replicas=3))
    request = FrameRequest(20, "sequence", "binary", 100, 5, [panel.key])
    encoder = FrameEncoder(race)
    wait(lambda: race.poll()[-1][1].n == race.poll()[0][1].n, "the new panel has caught up")

    def frame_after(more):
        n = race.peek()[-1][1].n + more
        race.step(more)
        wait(lambda: race.poll()[-1][1].n == n, "more samples")
        return read_frame(encoder.encode_next(request)).panels[0], race.peek()[-1][1].ladder

    (head, blocks), ladder = frame_after(60)
    np.testing.assert_array_equal(blocks["path"], ladder.path)
    assert head["ladder"]["swaps"] == ladder.swap_rates.tolist()
    assert head["ladder"]["trips"] == ladder.trips
    assert [("path" in frame_after(20)[0].blocks) for _ in range(3)] == [False, True, False]


def test_numbers_of_runs_that_go_on_come_more_rarely_than_pictures(race, monkeypatch):
    request = FrameRequest(20, "sequence", "binary", 100, 5, [panel.key for panel in race.panels])
    encoder = FrameEncoder(race)

    def numbers():
        heads = [panel.head for panel in read_frame(encoder.encode_next(request)).panels]
        [known] = {("readouts" in head, "standing" in head, "knobs" in head) for head in heads}
        assert len(set(known)) == 1  # of all panels, or of none
        return known[0]

    monkeypatch.setattr("rbmviz_app.stream.encoder.NUMBERS_SECONDS", 1e9)
    assert [numbers(), numbers()] == [True, False]
    race.step(1)
    wait_for_pause(race, 13)
    assert numbers()  # of a step at once
    race.resume()
    wait(lambda: all(s.n > 13 and s.status == "running" for _, s in race.poll()), "they go on")
    assert numbers()  # another status
    before = [s.n for _, s in race.peek()]
    wait(lambda: all(s.n > n for (_, s), n in zip(race.poll(), before, strict=True)), "more samples")
    frame = read_frame(encoder.encode_next(request))
    assert all("readouts" not in panel.head and len(panel.blocks["v"]) for panel in frame.panels)
    race.set_live_knobs(race.panels[1].key, eps=0.2)
    wait(lambda: race.poll()[1][1].algorithm.eps == 0.2, "the new step size")
    assert [numbers(), numbers()] == [True, False]  # other knobs
    monkeypatch.setattr("rbmviz_app.stream.encoder.NUMBERS_SECONDS", 0.0)
    assert encoder.has_news(request)  # a frame is due even where nothing else is new
    assert numbers()


def test_frames_carry_the_readouts_that_are_declared(race):
    keys = [panel.key for panel in race.panels]
    request = FrameRequest(20, "sequence", "binary", 100, 5, keys)
    plan = race.setup.plan()
    for (_, shown), (head, _) in zip(
        race.poll(), read_frame(FrameEncoder(race).encode_next(request)).panels, strict=True
    ):
        declared = [readout.name for readout in sample_readouts(shown.algorithm, plan)]
        assert list(head["readouts"]) == declared
        assert head["readouts"]["isl"] == [shown.newest.isl, shown.newest.std_error]
        assert head["readouts"]["sweeps"] == shown.sweeps / shown.n
        assert head["readouts"]["rate"] == shown.n
    several = [readout.name for readout in sample_readouts(make_sampler("gibbs", n_chains=2), plan)]
    assert several == [*declared, "rhat", "ess"]


def test_shares_of_classes_are_of_all_samples_and_blank_ones_are_of_no_class(race):
    [(key, shown), _] = race.poll()
    mostly = replace(shown, occupancy=np.array([[1, 0], [0, 2]]), blanks=np.array([3, 0]))
    request = FrameRequest(20, "sequence", "binary", 100, 5, [key])
    shares = encode(mostly, request, ClientState(mostly.run)).blocks["class_shares"]
    np.testing.assert_array_equal(shares, [[64, 0], [0, 255]])


def test_a_reset_sends_everything_anew(race):
    request = FrameRequest(20, "sequence", "binary", 100, 5, [panel.key for panel in race.panels])
    encoder = FrameEncoder(race)
    run = read_frame(encoder.encode_next(request)).panels[0].head["run"]
    race.reset()
    race.step(2)
    wait(lambda: all(s.n == 2 for _, s in race.poll()), "two samples")
    head, blocks = read_frame(encoder.encode_next(request)).panels[0]
    assert (len(blocks["v"]), head["run"]) == (2, run + 1)


def test_heads_of_frames_must_be_json():
    with pytest.raises(ValueError, match="JSON"):
        write_frame({}, [({"n": float("nan")}, {})])


# Pages


def test_sample_page_says_why_nothing_is_scored(page):
    test = page("sample", model="bas_pcd", data="mnist5k")
    assert any("784 units and the model 16" in info.value for info in test.info)
    race = race_of(test, "sample")
    wait(lambda: race.poll()[0][1].n > 0, "samples all the same")


def test_code_is_that_of_the_panels_when_it_is_opened(page):
    test = page("sample", p=["gibbs"])
    race = race_of(test, "sample")
    assert not test.get("code")
    race.add(make_sampler("rates_fpcd"))  # as a fragment does: the page is not drawn again
    race.apply_knobs(race.panels[0].key, temperature=3.5)
    test.session_state["sample code"] = True
    [opened] = test.run().get("code")
    # Among the knobs of the sampler or, if it had made samples before, in the log of changes.
    assert "temperature=3.5" in opened.value or "'temperature': 3.5" in opened.value
    assert 'make_sampler("rates_fpcd"' in opened.value


@pytest.mark.parametrize(
    ("name", "setting"), [("sample", "model"), ("weights", "weights_model"), ("coupling", "coupling_model")]
)
def test_trained_models_are_offered_by_pages(page, model, name, setting):
    test = page(name, **{setting: "PCD, 3 updates"}, state={"trained": {"PCD, 3 updates": model}})
    race = race_of(test, name)
    assert (race.setup.rbm if name == "coupling" else race.setup.model.rbm) is model.rbm
    wait(lambda: all(s.n > 0 for _, s in race.poll()), "steps")


@pytest.fixture
def trainings(open_race):
    """Two trainers with two replicates each on tiny data, 40 updates, paused."""
    rows = np.random.default_rng(3).integers(0, 2, (40, 5), dtype=np.uint8)
    data = Dataset("toy", rows[:30], rows[30:35], rows[35:], "bits", "none")
    trainers = make_trainer("cd"), make_trainer("ucd", learning_rate=0.05)
    race = open_race(TrainingSetup(data, 3, 1, 2), *trainers)
    race.step(40)
    wait_for_pause(race, 40)
    scored = lambda s: s.likelihoods and s.likelihoods[-1].update == 40  # noqa: E731
    wait(lambda: all(scored(s) for _, s in race.poll()), "the last score")
    return race


def test_frames_of_training(trainings):
    request = FrameRequest(20, "both", "binary", 9, 5, [panel.key for panel in trainings.panels])
    panels = read_frame(FrameEncoder(trainings).encode_next(request)).panels
    for (head, blocks), (_, shown) in zip(panels, trainings.poll(), strict=True):
        assert head["n"] == 40
        # Each panel has its own newest numbers, not those at the last point that both have passed (38).
        assert head["standing"] == "Scored at 40 updates"
        at = shown.likelihoods[-1]
        assert (at.update, len(at.train)) == (40, 2)
        assert head["readouts"]["likelihood"] == at.train.mean()
        best = max(point.train.mean() for point in shown.likelihoods)
        assert head["readouts"]["below_best"] == best - at.train.mean()
        assert head["readouts"]["own_speed"] == pytest.approx(40 / shown.seconds)
        np.testing.assert_array_equal(blocks["v"], np.unpackbits(shown.fantasy.v[-9:], axis=1, count=5))
        W = shown.models[0].W.T
        units = (blocks["filters"] - 128.0) / 127 * np.abs(W).max()
        np.testing.assert_allclose(units, W, atol=np.abs(W).max() / 127)
    assert "trace" not in panels[0].blocks  # CD has no quantity of its own
    updates, values = panels[1].blocks["trace"].T
    assert updates.tolist() == list(range(1, 41))
    assert values[-1] == panels[1].head["readouts"]["tau_mean"]


def test_training_curves_are_of_all_replicates_and_compared_at_one_point(trainings):
    shown = [(f"panel {i}", snapshot) for i, (_, snapshot) in enumerate(trainings.poll())]
    rows = likelihood_rows(shown, "train")
    assert {row["trainer"] for row in rows} == {"panel 0", "panel 1"}
    assert all(row["low"] <= row["value"] <= row["high"] for row in rows)
    assert any(row["low"] < row["high"] for row in rows)  # two replicates differ
    curves = [Curve(Style(name, colour(one.algorithm.name)), one.algorithm.label, one) for name, one in shown]
    compared = [one.compared for _, one in trainings.at_common_point(trainings.peek())]
    data, _ = training_chart(rows, curves, "updates", "nats", [("a line", -1.0)], compared=compared)
    assert data["kind"].value_counts().to_dict() == {"point": len(rows), "end": 2, "common": 1}
    assert list(data[data["kind"] == "end"]["label"]) == ["CD-k", "UCD"]
    assert list(data[data["kind"] == "common"]["x"]) == [38]
    first, second = (snapshot.scores_at("updates", 38).train.mean() for _, snapshot in shown)
    order = "panel 0 .*, panel 1 " if first > second else "panel 1 .*, panel 0 "
    assert re.match(order, ranking(shown, compared, "train"))
    # At equal sweeps CD, with 30 chains, has made many more updates than UCD, with 100 pairs; without chains
    # there is nothing to compare, and nobody waits for it.
    trainings.cost_unit = "sweeps"
    trainings.add(make_trainer("exact"))
    trainings.step(2)
    wait(lambda: trainings.peek()[2][1].n == 42, "its updates")
    wait(lambda: trainings.peek()[2][1].passed("sweeps") is None, "its scores")
    cd, ucd, exact = (one.compared for _, one in trainings.at_common_point(trainings.peek()))
    assert cd.scores.update > 10 * ucd.scores.update
    assert exact.scores is None
    shown.append(("exact", trainings.peek()[2][1]))
    assert ranking(shown, [cd, ucd, exact], "train").endswith("exact not scored there")
    in_sweeps, _ = training_chart(rows, curves, "sweeps", "nats")
    assert in_sweeps["x"].min() > 0  # without the point before the first update: the axis is logarithmic
    assert {row["trainer"] for row in statistic_rows(shown, "tau_mean")} == {"panel 1"}


def test_the_band_of_a_single_estimate_is_two_standard_errors():
    point = Likelihood(7, 70.0, 0.5, *(np.array([x]) for x in (-3.0, -4.0, 0.25, 9.0, -5.0, -2.0)))
    [row] = likelihood_rows([("a", SimpleNamespace(likelihoods=(point,)))], "train")
    assert (row["update"], row["low"], row["value"], row["high"]) == (7, -3.5, -3.0, -2.5)
    [row] = likelihood_rows([("a", SimpleNamespace(likelihoods=(point,)))], "monte_carlo")
    assert (row["low"], row["value"], row["high"]) == (-5.0, -5.0, -5.0)  # it needs no log Z
    many = np.random.default_rng(0).normal(-2, 1, 100)
    several = point._replace(train=many, std_error=np.full(100, 0.25))
    [row] = likelihood_rows([("a", SimpleNamespace(likelihoods=(several,)))], "train")
    want = [np.quantile(many, 0.025), many.mean(), np.quantile(many, 0.975)]  # of the replicates
    assert [row["low"], row["value"], row["high"]] == pytest.approx(want)
