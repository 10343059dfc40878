"""Stored results of three papers, recomputed by programs that share no code with the package."""

import ast
import json

import pytest

from tests.papers.independent import compare, coupling, fast_weights, plain, verdicts

FOLDER = compare.ROOT / "tests" / "papers" / "independent"
MOST = 4.0
"""Standard errors that a recomputed number may be from the stored one; there are some fifteen of them."""


def agree(found):
    assert found
    for one in found:
        assert abs(one.z) < MOST, one.row()


def test_nothing_of_the_package_is_imported():
    allowed = {"numpy", "json", "struct", "os", "pathlib", "typing", "collections"}
    programs = [path for path in FOLDER.glob("*.py") if not path.name.startswith("test_")]
    assert len(programs) == 6
    for path in programs:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                assert {name.name.partition(".")[0] for name in node.names} <= allowed
            elif isinstance(node, ast.ImportFrom) and not node.level:
                assert str(node.module).partition(".")[0] in allowed


def test_a_difference_would_show():
    """Negative control: meeting times of the one coupling are not those of the other."""
    one = compare.compare(
        "unbiased_cd_meeting_times",
        "within_10",
        [coupling.shares_met(False, seed, 100, most=10)[0] for seed in range(2)],
    )
    assert one.z < -MOST


def test_meeting_times_are_the_stored_ones():
    agree(compare.meeting(2, 150, general=False))


def test_cutting_pairs_off_is_as_biased_as_stored():
    agree(compare.unbiased(100, 2))


def test_bias_and_variance_are_the_stored_ones():
    agree(compare.bias_and_variance("bas", 1, 1))


@pytest.mark.parametrize(("series", "alpha", "eps"), [("alpha = 1", 1.0, 0.1), ("alpha = 0.95", 0.95, 0.003)])
def test_a_point_of_the_curves_with_and_without_decay(series, alpha, eps, data_dir):
    """The figure has the mean over four chains, and a range that is about that of all of them."""
    stored = json.loads((compare.RESULTS / "rates_fpcd_decay-quick.json").read_text())["figure"]["rows"]
    (row,) = [row for row in stored if row["series"] == f"{series}, eps = {eps:g}" and row["x"] == 982]
    found = fast_weights.decay(data_dir, 982, 1, {alpha: (eps,)})
    assert abs(found[alpha, eps][0][1] - row["y"]) < 2 * (row["high"] - row["low"])


@pytest.mark.slow
def test_numbers_behind_five_verdicts_that_changed(data_dir):
    agree(compare.changed(data_dir, 1))
    # Negative control: of another model 16,000 samples are no expectation, and the direction is wrong.
    assert verdicts.turned_by_one_out(plain.shipped("bas_pcd"), plain.bars_and_stripes(), 0) > 3e-3


@pytest.mark.slow
def test_all_of_it(data_dir):
    for part in compare.long_form(data_dir):
        agree(part())
