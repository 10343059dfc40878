"""Choosing a setting, on tables that are made up so that the answer is known."""

import math

import numpy as np
import pytest
from scipy import stats

from rbmviz.errors import BadInput
from rbmviz.sweeps import answer, compare, robustness, select, telling_point

COUNTS = np.array([1, 10, 100, 1000])


def table(scores, *, model="bas_pcd", tests=None, sampler="rates_fpcd", seconds=1e-3, **more):
    """Return a table: ``scores`` by eps a list of curves (or last values), one for each seed."""
    rows = []
    for eps, of_seeds in scores.items():
        for seed, curve in enumerate(of_seeds):
            curve = np.broadcast_to(curve, len(COUNTS)) if np.ndim(curve) == 0 else np.array(curve)
            for n, value in zip(COUNTS, curve, strict=False):
                rows.append(
                    {
                        **{"identity": f"{sampler} {eps} {seed} {model}", "setting": f"{sampler}:eps={eps}"},
                        **{"algorithm": sampler, "model": model, "seed": seed, "n": n, "sweeps": 2 * n},
                        **{"seconds": n * seconds * eps, "knob_eps": eps, "isl_validation": value},
                        "isl_test": value + 1 if tests is None else tests[eps][seed],
                        "isl_test_error": 0.7,
                        "blank": 0.0,
                        **more,
                    }
                )
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def joined(*tables):
    return {name: np.concatenate([each[name] for each in tables]) for name in tables[0]}


def test_the_differences_are_paired_and_their_errors_are_over_seeds():
    # Seeds differ by far more than settings do: only paired differences tell the settings apart.
    luck = np.array([-20.0, 5.0, 40.0, 0.0, 11.0])
    worse = np.array([1.0, 1.4, 0.6, 0.9, 1.3])
    same = np.array([0.4, -0.5, 0.3, -0.3, 0.2])
    choice = compare(table({0.1: luck, 0.5: luck - worse, 0.02: luck - same - 0.1}))
    best, close, far = choice.settings
    assert (best.knobs["eps"], close.knobs["eps"], far.knobs["eps"]) == (0.1, 0.02, 0.5)
    assert choice.point == 1000
    assert choice.seeds == (0, 1, 2, 3, 4)
    assert far.difference == pytest.approx(-worse.mean())
    assert far.std_error == pytest.approx(worse.std(ddof=1) / math.sqrt(5))
    quantile = stats.t.ppf(0.975, 4)
    assert quantile == pytest.approx(2.776445, abs=1e-6)
    assert far.interval == pytest.approx(
        (-worse.mean() - quantile * far.std_error, -worse.mean() + quantile * far.std_error)
    )
    assert [one.knobs["eps"] for one in choice.region] == [0.1, 0.02]
    assert best.std_dev == pytest.approx(luck.std(ddof=1))
    # The test part has chosen nothing; the error over test points stands apart.
    assert best.test == pytest.approx(luck.mean() + 1)
    assert best.test_std_dev == pytest.approx(luck.std(ddof=1))
    assert best.test_point_error == pytest.approx(0.7)
    assert (best.difference, best.std_error) == (0, 0)


@pytest.mark.parametrize(("factor", "inside"), [(0.999, True), (1.001, False)])
def test_the_border_of_the_region_is_the_quantile_of_t(factor, inside):
    noise = np.array([1.0, -1.0, 0.0])
    half = stats.t.ppf(0.975, 2) * noise.std(ddof=1) / math.sqrt(3)
    choice = compare(table({0.1: [0.0, 0.0, 0.0], 0.5: noise - factor * half}))
    assert choice.settings[1].in_region is inside


def test_tied_is_an_interval_within_the_margin_and_noise_cannot_be_told():
    """Three settings at the same distance from the best, whose seeds vary by 0.1, 3 and 0.01."""
    best = np.array([-100.0, -101.0, -99.0, -100.0])
    away = np.array([1.0, -1.0, 1.0, -1.0])
    cells = table({0.1: best, 0.2: best - 0.5 + 0.1 * away, 0.3: best - 0.5 + 3 * away})
    choice = compare(cells)
    assert choice.margin == pytest.approx(1.0)
    assert [each.knobs["eps"] for each in choice.tied] == [0.1, 0.2]
    assert [each.knobs["eps"] for each in choice.unsure] == [0.3]
    assert max(map(abs, choice.settings[1].interval)) < 1
    assert "It cannot be told yet whether one other (step size 0.3) is as good" in answer(choice)
    strict = compare(cells, margin=0.4)
    assert [len(strict.tied), len(strict.region)] == [1, 3]
    assert "has the best mean" in answer(strict)
    with pytest.raises(BadInput, match="margin -1 is not a number"):
        compare(cells, margin=-1)


def test_importance_is_the_share_of_main_effects():
    """Scores are 3 a + b, and then a b, with values on both sides of 0."""
    rows = [one_of(a, b, 3 * a + b) for a in (0.0, 1.0) for b in (0.0, 1.0)]
    cells = joined(*rows)
    assert compare(cells).importance == pytest.approx({"eps": 0.9, "alpha": 0.1})
    assert "Over the grid, scores differ by step size (90 %) and decay (10 %)." in answer(compare(cells))
    product = joined(*(one_of(a, b, a * b) for a in (-1.0, 1.0) for b in (-1.0, 1.0)))
    assert compare(product).importance == pytest.approx({"eps": 0, "alpha": 0})
    assert compare(select(cells, knob_eps=1.0)).importance == {}
    assert compare(joined(*rows[:3])).importance == {}  # not a grid


def one_of(eps, alpha, score):
    made = table({eps: [score, score + 1.0]}, knob_alpha=alpha)
    return made | {"setting": np.array([f"rates_fpcd:eps={eps},alpha={alpha}"] * len(made["n"]))}


def test_seeds_that_only_some_settings_have_are_used_without_their_luck():
    """The third seed is 50 nats better for all; only the two that have it are told apart by it."""
    luck = np.array([0.0, 4.0, 50.0, -20.0])
    noise = np.array([0.1, -0.1, 0.05, -0.05])
    choice = compare(table({0.1: luck, 0.2: luck - 0.6 + noise, 0.3: luck[:2] - 0.5 + 0.2 * noise[:2]}))
    assert [each.knobs["eps"] for each in choice.settings] == [0.1, 0.3, 0.2]
    assert [each.in_region for each in choice.settings] == [True, False, False]
    assert choice.seeds == (0, 1)
    assert compare(table({0.1: luck[:2], 0.2: luck - 6, 0.3: luck[:2] - 1})).best.knobs["eps"] == 0.1


def test_a_winner_of_the_test_part_is_not_the_winner():
    scores = {0.1: [0.0, 0.1, 0.0], 0.5: [-3.0, -3.1, -3.0]}
    choice = compare(table(scores, tests={0.1: [0.0, 0.0, 0.0], 0.5: [9.0, 9.0, 9.0]}))
    assert choice.best.knobs["eps"] == 0.1
    assert choice.best.test == 0
    assert choice.settings[1].test == 9


def test_rounding_and_one_seed_tell_nothing_apart():
    """The same mean share of blank samples, added up in another order."""
    assert len(compare(table({0.1: [0.0], 0.5: [-30.0]})).region) == 2
    choice = compare(table({0.1: [0.1 + 0.2] * 3, 0.5: [0.3] * 3}))
    assert choice.settings[1].difference < 0
    assert len(choice.region) == 2
    assert len(compare(table({0.1: [0.3 + 1e-9] * 3, 0.5: [0.3] * 3})).region) == 1


def test_no_setting_is_told_apart_between_two_that_are_tied():
    """The second is surely worse than the best; the third, whose seeds vary, may be as good as either."""
    exact = {0.1: [0.0, 0.01, -0.01], 0.5: [-0.5, -0.51, -0.49]}
    assert len(compare(table(exact)).region) == 1
    choice = compare(table(exact | {0.2: [-3.0, 2.0, -1.0]}))
    assert [each.in_region for each in choice.settings] == [True] * 3


def test_incomplete_sweep_is_compared_by_complete_seeds():
    choice = compare(table({0.1: [0.0, 0.0, 100.0], 0.5: [-1.0, -1.2], 0.2: [1.0, 1.0]}))
    assert choice.seeds == (0, 1)
    assert choice.best.knobs["eps"] == 0.2  # the lucky third seed of 0.1 does not count
    assert choice.settings[-1].difference == pytest.approx(-2.1)


def test_points_between_two_of_a_curve_are_read_off_in_the_logarithm():
    choice = compare(table({0.1: [[0, 10, 20, 30], [0, 10, 20, 30]]}), point=10**1.5)
    assert choice.best.mean == pytest.approx(15)
    assert compare(table({0.1: [[0, 10, 20, 30]]}), point=40).best.n == 40  # what was spent is no score
    sweeps = compare(table({0.1: [[0, 10, 20, 30]]}), point=200, effort="sweeps")
    assert sweeps.best.mean == 20
    # A point of the curve has its own number, even beside one that is not known.
    assert compare(table({0.1: [[0, 10, np.nan, np.nan]]}), point=10).best.mean == 10


def test_equal_seconds_are_not_equal_samples():
    cells = table({0.1: [[0, 10, 20, 30]] * 2, 1.0: [[5, 15, 25, 35]] * 2})
    assert compare(cells, point=100).best.knobs["eps"] == 1.0
    choice = compare(cells, point=0.1, effort="seconds")
    assert choice.best.knobs["eps"] == 0.1
    assert [one.n for one in choice.settings] == pytest.approx([1000, 100])
    assert compare(cells, effort="seconds").point == pytest.approx(0.1)  # all have got so far


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ((0.1, 0.2, 0.3), "smallest"),
        ((0.01, 0.05, 0.1), "largest"),
        ((0.05, 0.1, 0.2), ""),
        ((0.0, 0.1), "largest"),
    ],
)
def test_the_border_of_the_grid_is_said(values, said):
    cells = table({eps: [0.0 if eps == 0.1 else -9.0, 0.0 if eps == 0.1 else -9.1] for eps in values})
    border = compare(cells).border
    assert (said in border[0]) if said else border == ()


def test_the_telling_point_is_where_settings_differ_beyond_chance():
    rng = np.random.default_rng(0)
    # Early, seeds differ and settings do not; at 100 settings differ; at the end all are alike.
    scores = {
        eps: [
            [30 * rng.normal(), 20 * rng.normal(), 10 * eps + 0.1 * rng.normal(), 0.1 * rng.normal()]
            for _ in range(5)
        ]
        for eps in (0.1, 0.3, 1.0)
    }
    assert 70 < telling_point(table(scores)) < 140
    assert telling_point(table({eps: seeds[:1] for eps, seeds in scores.items()})) is None


def test_lower_is_better_for_what_is_better_low():
    cells = table({0.1: [0.0, 0.1], 0.5: [0.0, 0.1]})
    cells["spurious"] = np.where(cells["knob_eps"] == 0.1, 0.4, 0.1) + 0.01 * cells["seed"]
    assert compare(cells, by="spurious").best.knobs["eps"] == 0.5
    assert len(compare(cells, by="spurious").region) == 1


def test_robustness_is_the_spread_over_models():
    one = table({0.1: [-10.0, -12.0], 0.5: [-20.0, -20.0]}, model="bas_pcd")
    two = table({0.1: [-30.0, -32.0], 0.5: [-22.0, -22.0]}, model="bas_cd1")
    steady, shaky = robustness(joined(one, two), by="isl_validation")
    assert "eps=0.1" in steady.setting or steady.mean >= shaky.mean
    by_eps = {found.setting[-3:]: found for found in (steady, shaky)}
    assert by_eps["0.1"].by_model == (-11, -31)
    assert by_eps["0.1"].errors == pytest.approx((1, 1))
    assert by_eps["0.1"].spread == pytest.approx(20 / math.sqrt(2))
    assert (by_eps["0.1"].mean, by_eps["0.1"].worst) == (-21, "bas_cd1")
    assert by_eps["0.5"].spread == pytest.approx(math.sqrt(2))
    with pytest.raises(BadInput, match="two or more models"):
        robustness(one)


def test_robustness_is_paired_over_seeds():
    """A seed that is missing, or diverged, on one model counts on none of them."""
    one = table({0.1: [-10.0, -12.0, -50.0], 0.5: [-20.0, -20.0, -20.0]}, model="bas_pcd")
    two = table({0.1: [-30.0, -32.0, math.nan], 0.5: [math.nan] * 3}, model="bas_cd1")
    [found] = robustness(joined(one, two), by="isl_validation")
    assert (found.setting[-3:], found.seeds, found.by_model) == ("0.1", (0, 1), (-11, -31))
    assert found.errors == pytest.approx((1, 1))
    with pytest.raises(BadInput, match=r"^No setting has a number of 'isl_validation' on each of the 2"):
        robustness(joined(one, table({0.1: [math.nan] * 3}, model="bas_cd1")), by="isl_validation")


def test_incomparable_cells_are_refused():
    cells = table({0.1: [0.0], 0.5: [1.0]})
    with pytest.raises(BadInput, match="has reached"):
        compare(cells, point=1e6)
    with pytest.raises(BadInput, match="differ in their data"):
        compare(cells | {"data_digest": np.where(cells["knob_eps"] == 0.1, "a", "b")})
    with pytest.raises(BadInput, match="no column"):
        compare({"n": np.zeros(1)})
    with pytest.raises(BadInput, match="no cell of the sweep has ended"):
        compare({name: column[:0] for name, column in cells.items()})
    with pytest.raises(BadInput, match="did you mean 'isl_test'"):
        compare(cells, by="isl_tset")
    assert len(select(cells, seed=0, knob_eps=0.1)["n"]) == len(COUNTS)


@pytest.mark.parametrize("column", ["model_digest", "version"])
def test_results_of_two_models_or_versions_under_one_name_are_not_mixed(column):
    old, new = table({0.1: [0.0, 0.1]}, **{column: "a"}), table({0.1: [5.0, 5.1]}, **{column: "b"})
    new["identity"] = np.array([f"new {one}" for one in new["identity"]])
    with pytest.raises(BadInput, match="from two models of that name, or from two versions"):
        compare(joined(old, new))
    assert compare(select(joined(old, new), **{column: "b"})).best.mean == pytest.approx(5.05)


@pytest.mark.parametrize("effort", ["sweeps", "seconds"])
def test_diverged_training_stops_no_other(effort):
    found = table({0.1: [[-4.0, -3.0, -2.0, -1.0]] * 2, 0.5: [[-1.0, np.nan, np.nan, np.nan]] * 2})
    found["isl_test"] = np.where(np.isnan(found["isl_validation"]), np.nan, found["isl_test"])
    for name in ("isl_test_error", "blank"):
        found[name] = np.where(np.isnan(found["isl_validation"]), np.nan, found[name])
    whole = compare(found, effort=effort)
    diverged = np.isnan(found["isl_validation"])
    for name in ("sweeps", "seconds"):  # they stand still where it diverged
        found[name] = np.where(diverged, found[name][found["knob_eps"] == 0.5][0], found[name])
    choice = compare(found, effort=effort)
    assert choice.point == whole.point
    assert choice.best.knobs["eps"] == 0.1
    assert [one.knobs["eps"] for one in choice.region] == [0.1]
    assert math.isnan(choice.settings[1].mean)
    assert choice.not_reached == 0


def test_a_seed_that_every_setting_lacks_a_number_of_is_said():
    with pytest.raises(BadInput, match="Every setting lacks a number of 'isl_validation' with some seed"):
        compare(table({0.1: [0.0, np.nan], 0.5: [np.nan, 1.0]}))
