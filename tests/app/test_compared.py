"""What panels say of the point at which they are compared."""

import pytest

from rbmviz.session.equal_points import Compared
from rbmviz_app.compared import amount_text, point_text

AT = Compared(
    "updates", point=23, scores="its scores", passed=31, most_passed=90, least_passed=31, seconds_left=0
)


@pytest.mark.parametrize(
    ("changed", "made", "text"),
    [
        ({}, 23, "Scores at 23 updates: this panel is behind, the first has 90 updates."),
        ({"passed": 90}, 23, "Scores at 23 updates, where the slowest panel is now."),
        ({"passed": 30, "most_passed": 31}, 23, "Scores at 23 updates"),
        (
            {"passed": 31, "most_passed": 31, "least_passed": 1, "point": 1},
            1,
            "Scores at 1 update, where the slowest panel is now.",
        ),
        (
            {"cost_unit": "sweeps", "point": 690, "most_passed": 900, "passed": 900, "least_passed": 800},
            23,
            "Scores at 690 Gibbs sweeps (23 updates)",
        ),
        ({"scores": None}, None, "It had no scores yet at 23 updates, where the others are compared."),
        ({"passed": None, "cost_unit": "sweeps"}, None, "Makes no sweeps: not compared at equal sweeps."),
        (
            {"passed": 4, "scores": None, "seconds_left": 9.2},
            None,
            "Not compared yet: it catches up, 4 of 31 updates, and joins in about 10 s.",
        ),
        (
            {"passed": 0, "scores": None, "failed": True},
            None,
            "Not compared: it failed after 0 updates, and the others continue without it.",
        ),
        (
            {"failed": True},
            23,
            "Scores at 23 updates: it failed after 31 updates, and the others continue without it.",
        ),
    ],
)
def test_panel_states_its_comparison_point(changed, made, text):
    assert point_text(AT._replace(**changed), "updates", made) == text


def test_amounts_of_one_are_singular():
    written = [amount_text(unit, 1) for unit in ("samples", "updates", "sweeps", "seconds")]
    assert written == ["1 sample", "1 update", "1 Gibbs sweep", "1 s"]
