"""Verdicts: the rule on made-up numbers on both sides of every claim, and that a quick run only says less."""

import math

import numpy as np
import pytest

from papers.claims import Bound, Estimate, PaperClaim, judge
from papers.recipe import all_recipes
from rbmviz.ledger import VERDICTS

CLAIMS = [
    pytest.param(claim, id=f"{name}-{claim.name}")
    for name, recipe in all_recipes().items()
    for claim in recipe.claims
]
MAY_BE_OF_A_QUICK_RUN = {
    "holds": {"holds", "in part", "not decided", "not run at this size"},
    "does not hold here": {
        "does not hold here",
        "contradicted in part",
        "not decided",
        "not run at this size",
    },
    "in part": {"in part", "contradicted in part", "not decided", "not run at this size"},
    "contradicted in part": {"contradicted in part", "not decided", "not run at this size"},
    "not decided": {"not decided", "not run at this size"},
}
"""What a quick run may say where a full run says the first."""


def inside(part):
    if math.isfinite(part.at_least) and math.isfinite(part.at_most):
        return (part.at_least + part.at_most) / 2
    return part.at_least + 1 if math.isfinite(part.at_least) else part.at_most - 1


def outside(part):
    return part.at_least - 1 if math.isfinite(part.at_least) else part.at_most + 1


@pytest.mark.parametrize("claim", CLAIMS)
def test_both_sides_of_each_claim(claim):
    """Numbers as the paper says, and others, with small errors and with large ones."""
    small = 1e-4
    agreeing = {part.number: Estimate(inside(part), small, 5) for part in claim.bounds}
    opposed = {part.number: Estimate(outside(part), small, 5) for part in claim.bounds}
    vague = {part.number: Estimate(outside(part), 1e6, 5) for part in claim.bounds}
    assert judge(claim, agreeing, "full").name == "holds"
    assert judge(claim, opposed, "full").name == "does not hold here"
    assert judge(claim, vague, "full").name == "not decided"
    assert judge(claim, {}, "full").name == "not run at this size"
    if len(claim.bounds) > 1:
        first = claim.bounds[0].number
        assert judge(claim, opposed | {first: agreeing[first]}, "full").name == "in part"
        hidden = judge(claim, vague | {first: opposed[first]}, "full")
        assert hidden.name == "contradicted in part"
        assert "not as the paper says" in hidden.reason
    for size in claim.shortened or ():
        assert judge(claim, agreeing, size).name == "in part"
        short = judge(claim, opposed, size)
        assert short.name == "contradicted in part"
        assert short.reason.endswith(claim.shortened[size])


@pytest.mark.parametrize("claim", CLAIMS)
def test_a_quick_run_is_never_stronger(claim):
    """Neither for the claim nor against it, whatever the numbers, and also if some were not measured."""
    g = np.random.default_rng(7)
    for _ in range(20):
        numbers = {
            part.number: Estimate(inside(part) + g.normal(0, 1), g.choice([0.01, 0.3, 2.0]), 4)
            for part in claim.bounds
        }
        full = judge(claim, numbers, "full")
        left = {key: one for key, one in numbers.items() if g.random() < 0.8}
        for quick in (judge(claim, numbers, "quick"), judge(claim, left, "quick")):
            assert quick.name in MAY_BE_OF_A_QUICK_RUN[full.name], (full, quick)


@pytest.mark.parametrize(
    ("number", "outcome"),
    [
        (Estimate(1.0), True),
        (Estimate(-1.0), False),
        (Estimate(1.0, 0.1, 4), True),
        (Estimate(0.1, 0.1, 4), None),
        (Estimate(-1.0, 0.1, 4), False),
        (Estimate(1.0, math.nan, 1), None),
        (Estimate(math.nan, 0.1, 4), None),
        (Estimate(0.3, 0.1, 400), True),
        (Estimate(0.3, 0.1, 3), None),  # of three replications, the interval is wide
        (Estimate(9.0, 1e-9, 2), None),  # two decide nothing
    ],
)
def test_a_part(number, outcome):
    assert Bound("x", "x", at_least=0).holds(number, "full") is outcome


def test_numbers_of_replications():
    number = Estimate.of([1.0, 2.0, 3.0])
    assert (number.value, number.n) == (2.0, 3)
    assert number.error == pytest.approx(1 / math.sqrt(3))
    assert math.isnan(Estimate.of([1.0]).error)
    low, high = number.interval("full")
    assert (high - low) / 2 == pytest.approx(4.3027 * number.error, rel=1e-4)  # Student's t, 2 degrees
    assert {*MAY_BE_OF_A_QUICK_RUN, "not run at this size"} == set(VERDICTS)


def test_how_many_replications_would_decide():
    """So many do, if the number stays; fewer do not."""
    part, found = Bound("x", "x", at_least=0), Estimate(0.3, 0.3, 4)
    assert part.holds(found, "quick") is None
    claim = PaperClaim("c", "C.", "p", (part,))
    reason = judge(claim, {"x": found}, "quick").reason
    needed = int(reason.partition("with about ")[2].split()[0])
    for n, outcome in ((needed, True), (needed - 1, None)):
        assert part.holds(Estimate(0.3, 0.3 * math.sqrt(4 / n), n), "quick") is outcome
    assert "more than 2,000" in judge(claim, {"x": Estimate(1e-9, 1.0, 4)}, "quick").reason
    flat = PaperClaim("c", "C.", "p", (part,), if_undecided="The optimum is flat.")
    assert judge(flat, {"x": found}, "quick").reason.endswith("not decided. The optimum is flat.")
