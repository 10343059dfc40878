"""Captions of the Coupling page: how long pairs take to meet, and with which coupling they take longest."""

from collections.abc import Iterator

from rbmviz.coupling import ALGORITHM_LABELS
from rbmviz.session import CouplingSetup
from rbmviz_app.captions import Named, in_words, two_digits

FEWEST_PAIRS = 20
"""Pairs of each coupling before anything is said."""

MANY_CUT, ALIKE = 0.05, 1.5
"""Share of pairs cut off from which on means say little, and ratio of means up to which they are alike."""

PAIRS = {"rbm": "Pairs of algorithm 3", "general": "Pairs of algorithm 1", "half_step": "Half-step pairs"}


def captions(panels: Named, setup: CouplingSetup) -> Iterator[str]:
    """Yield what may be said about pairs."""
    counted = [pair.counted for _, shown in panels for pair in shown.displayed_pairs]
    if not counted or min(pairs.n for pairs in counted) < FEWEST_PAIRS:
        return
    counted.sort(key=lambda pairs: (pairs.truncated_share, pairs.tau_mean))
    fast, slow = counted[0], counted[-1]
    low, high = ("more than " * bool(x.truncated_share) + two_digits(x.tau_mean) for x in (fast, slow))
    limit = f"have not met after {slow.max_sweeps:,} sweeps"
    if fast.truncated_share >= MANY_CUT:
        yield f"Even {PAIRS[fast.algorithm].lower()} take long: {100 * fast.truncated_share:.2g} % {limit}."
    if slow.truncated_share >= MANY_CUT:
        said = f"{PAIRS[slow.algorithm]}: {100 * slow.truncated_share:.2g} % {limit}"
        yield f"{said}; {PAIRS[fast.algorithm].lower()} meet in {low} on average."
    if slow.tau_mean >= ALIKE * fast.tau_mean:
        later = f"{in_words(round(slow.tau_mean / fast.tau_mean))} times later"
        said = f"{PAIRS[fast.algorithm]} meet in {low} sweeps on average"
        yield f"{said}, {ALGORITHM_LABELS[slow.algorithm]} in {high}: {later}."
    yield f"All meet in {low} to {high} sweeps on average. Drag the first slider right: who falls behind?"
