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
        (
            {"cost_unit": "sweeps", "point": 690, "most_passed": 900, "passed": 900, "least_passed": 800},
            23,
            "Scores at 690 Gibbs sweeps (23 updates)",
        ),
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
    ],
)
def test_panel_states_its_comparison_point(changed, made, text):
    assert point_text(AT._replace(**changed), "updates", made) == text


def test_amounts_are_written_out():
    written = [amount_text("seconds", 0.00012), amount_text("sweeps", 1764.0), amount_text("samples", 1)]
    assert written == ["0.00012 s", "1,764 Gibbs sweeps", "1 sample"]
