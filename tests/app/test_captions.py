"""Captions: each is reached by some state of the panels, and says what these show."""

import ast
import inspect
from functools import partial
from types import SimpleNamespace as Made

import numpy as np
import pytest

from rbmviz import make_sampler
from rbmviz_app.captions import WHY
from tests.app.preset_runs import live_pages

LIVE = live_pages()
DIGITS = Made(dataset=Made(classes=tuple("0123456789")), clamp="")
HELD, INSIDE = (
    Made(dataset=DIGITS.dataset, clamp="AAAA", held_units=lambda free=free: Made(free=np.array([True, free])))
    for free in (False, True)
)


def drew(
    name,
    n,
    classes,
    blank=0,
    all_at=None,
    since=None,
    isl=(),
    spurious=0.0,
    score=-300.0,
    findings=(),
    **knobs,
):
    """Return a sampler's panel n samples after a knob was turned, or after its start.

    classes : samples of each class; all_at : number of samples after which all were visited
    since : the values before the turn; isl : after 200 samples before and since the turn
    """
    visited = sum(count > n / 100 for count in classes), len(classes)
    before, now = (tuple(Made(n=200, isl=x, std_error=1.0) for x in each) for each in (isl[:1], isl[1:]))
    algorithm, past = make_sampler(name, **knobs), [] if since is None else [Made(curve=before)]
    turned = {knob: getattr(algorithm, knob) for knob in since or ()}
    return algorithm.label, Made(
        algorithm=algorithm,
        **{"begin": (0,), "since_turn": Made(samples=n), "past": past, "segments": [*past, Made(curve=now)]},
        **{"turned": turned, "before": since or {}, "findings": findings, "bins_before": len(past)},
        occupancy=np.array([[600] * len(classes)] * len(past) + [classes]),
        blanks=np.array([600] * len(past) + [blank]),
        counts=[Made(n=all_at, visited=visited)] if all_at else [],
        covered=Made(visited=visited, spurious=spurious),
        newest=Made(isl=score),
    )


def learned(name, likelihoods):
    """Return a trainer's panel with these log-likelihoods, at equal distances."""
    points = enumerate(map(np.array, likelihoods))
    return name, Made(likelihoods=[Made(update=i, train=x, std_error=np.zeros(1)) for i, x in points])


def met(**times):
    """Return the panel of pairs; times : meeting times by coupling, 1000 for a pair that was cut off."""
    pairs = []
    for name, taus in times.items():
        cut = Made(truncated_share=taus.count(1000) / len(taus), max_sweeps=1000)
        pairs.append(Made(algorithm=name, n=len(taus), tau_mean=np.mean(taus), **vars(cut)))
    return "pairs", Made(displayed_pairs=[Made(counted=pair) for pair in pairs])


def weighed(name, size, ess_share, max_share, low=0.0, n=10):
    """Return a panel of pop-CD whose estimate of log Z is too low."""
    log_z = {"reference": Made(log_z=7.0), "newest": Made(log_z=7.0 - low)}
    return name, Made(n=n, batch=Made(v=range(size)), ess_share=ess_share, max_share=max_share, **log_z)


def walked(name, n, crossings, visits):
    return name, Made(n=n, crossings=crossings, curve=[Made(visits=visits)])


FIVES, EVEN = [0] * 5 + [1234] + [0] * 4, [30] * 10
UP, DECAYED, WARMED = {"eps": 0.0}, {"alpha": 1.0}, {"temperature": 1.0}
stuck, off = drew("gibbs", 1234, FIVES), drew("rates_fpcd", 1234, FIVES, eps=0.0)
freed = partial(drew, "rates_fpcd", 300, EVEN, all_at=180)
herding = drew("rates_herding", 1234, [123] * 10, all_at=60)
hot = Made(sentence="The samples look hotter.")

BREAKS, BREAKS_NOT = (partial(freed, since=DECAYED, alpha=0.9, isl=(-281.0, x)) for x in (-310.0, -282.0))
TEN = "ten digits in 180 samples"
SAMPLE = {
    # The story of the first page: a stuck chain, the drag that frees its neighbour, and what decay breaks.
    "Gibbs has drawn only 5s in 1,000 samples. Drag the orange slider.": [stuck, off],
    "Step size 0 → 0.03: watch the strip of rates-FPCD.": [stuck, drew("rates_fpcd", 20, [0] * 10, since=UP)],
    "Step size 0 → 0.03: 5 of 10 digits in 100 samples so far.": [
        stuck,
        drew("rates_fpcd", 100, [20] * 5 + [0] * 5, since=UP),
    ],
    f"Free: {TEN}. Now pull its decay to .9: what breaks?": [stuck, freed(since=UP)],
    f"Decay 0.9 breaks it: ISL −310 after 200 samples, before −281.{WHY}": [stuck, BREAKS()],
    "Nothing breaks at decay 0.9 so far: ISL −282 after 200 samples, before −281.": [stuck, BREAKS_NOT()],
    # Other turns, and other panels.
    "Too far: 80 % of the samples since the change look like nothing in the data.": [
        drew("rates_fpcd", 300, EVEN, since=UP, eps=1.0, spurious=0.8)
    ],
    f"Temperature 1 → 2: {TEN}.": [drew("gibbs", 300, EVEN, all_at=180, since=WARMED, temperature=2.0)],
    "Gibbs has drawn only 5s in 1,000 samples; rates-herding has drawn all ten digits.": [stuck, herding],
    "Gibbs has drawn mostly blank images in 1,000 samples.": [drew("gibbs", 1000, [20] * 10, blank=800)],
    "The specks of Gibbs score above the clear 5s of Gibbs: by the ISL blank is a safe bet.": [
        stuck,
        drew("gibbs", 1000, [50] * 10, blank=500, spurious=0.7, score=-280.0),
    ],
    "Both drew all ten digits. Which comes closest to the data? Compare the ISL.": [herding, freed()],
    "Gibbs has drawn 2 of 10 digits in 1,000 samples.": [drew("gibbs", 1000, [400, 600] + [0] * 8)],
    "Gibbs: The samples look hotter.": [drew("gibbs", 1000, [], findings=[hot])],
    # While a part is held.
    "A part is held: the samplers draw the rest.": [drew("gibbs", 20, [20] + [0] * 9)],
    "Gibbs completes it only as 5s.": [stuck],
    "Gibbs completes it only as 5s; rates-herding tries ten classes.": [stuck, herding],
}
rises, level = np.linspace(-14, -9, 12), [-14, *[-10] * 11]
fell, fell_more = [-14, *[-10] * 6, *[-10.5] * 5], [-14, *[-9] * 6, *[-11.2] * 5]
TRAIN = {
    "Both still rise.": [learned("CD", rises), learned("UCD", rises)],
    "CD has fallen below its best; pop-CD is highest.": [
        learned("CD", fell),
        learned("pop-CD", rises),
    ],
    "CD and PCD have fallen below their best; pop-CD is highest.": [
        learned("CD", fell),
        learned("PCD", fell_more),
        learned("pop-CD", level),
    ],
    "pop-CD still rises; no other does.": [learned("CD", level), learned("pop-CD", rises)],
    "No curve rises any more; CD is highest.": [learned("CD", level)],
}
COUPLING = {
    "Half-step pairs meet in 18 sweeps on average, algorithm 1 in 186: ten times later.": [
        met(half_step=[18] * 30, rbm=[20] * 30, general=[186] * 30)
    ],
    "Pairs of algorithm 1: 25 % have not met after 1,000 sweeps; half-step pairs meet in 18 on average.": [
        met(half_step=[18] * 30, general=[200] * 15 + [1000] * 5)
    ],
    "Even half-step pairs take long: 10 % have not met after 1,000 sweeps.": [
        met(half_step=[18] * 18 + [1000] * 2, general=[200] * 15 + [1000] * 5)
    ],
    "Half-step pairs meet in 18 sweeps on average, algorithm 1 in more than 208: 12 times later.": [
        met(half_step=[18] * 100, general=[200] * 99 + [1000])
    ],
    "All meet in 6 to 8 sweeps on average. Drag the first slider right: who falls behind?": [
        met(half_step=[6] * 30, general=[8] * 30)
    ],
}
WEIGHTS = {
    "On average one of 100 samples holds most of the weight: fewer than 2 effective samples in 100.": [
        weighed("a", 10, 0.1, 0.9),
        weighed("b", 100, 0.018, 0.59),
    ],
    "visible: even weights, yet log Z is 3.4 nats too low. Rare heavy samples are missing.": [
        weighed("visible", 100, 0.7, 0.1, low=3.4),
        weighed("mixture", 100, 0.6, 0.1),
    ],
    "The least even weights: 30 effective samples in 100 (b).": [
        weighed("a", 100, 0.7, 0.1),
        weighed("b", 100, 0.3, 0.2),
    ],
}
CHAIN = {
    "Gibbs has not left its valley in 500 samples; rates-FPCD has crossed 12 times.": [
        walked("Gibbs", 642, 0, 0.3),
        walked("rates-FPCD", 642, 12, 0.1),
    ],
    "No chain has left its valley in 500 samples.": [walked("Gibbs", 642, 0, 0.3)],
    "rates-FPCD has crossed most often, 12 times, and its visits are closest to the model: off by 0.1.": [
        walked("Gibbs", 642, 2, 0.21),
        walked("rates-FPCD", 642, 12, 0.1),
    ],
}
STATES = {"sample": SAMPLE, "train": TRAIN, "coupling": COUPLING, "weights": WEIGHTS, "chain": CHAIN}
BEGUN = {
    "sample": [drew("gibbs", 5, [5] + [0] * 9), drew("rates_fpcd", 5, [5] + [0] * 9, eps=0.0)],
    "train": [learned("CD", rises), learned("UCD", [-14, np.nan, -12, -11, -10])],
    "coupling": [met(half_step=[6] * 30, general=[5] * 3)],
    "weights": [weighed("a", 100, 0.1, 0.9), weighed("b", 100, 0.1, 0.9, n=2)],
    "chain": [walked("Gibbs", 642, 0, 0.3), walked("Gibbs", 20, 0, 0.5)],
}


def line_of(captions):
    """Return the line that has yielded the last caption."""
    while captions.gi_yieldfrom is not None:
        captions = captions.gi_yieldfrom
    return captions.gi_frame.f_lineno


@pytest.mark.parametrize("page", STATES)
def test_every_caption_is_reached_and_says_what_the_panels_show(page):
    reached = set()
    for said, panels in STATES[page].items():
        is_held = "held" in said or "completes" in said
        captions = LIVE[page].captions(panels, HELD if is_held else DIGITS)
        assert next(captions) == said
        assert len(said) <= 105  # two lines beside the curve
        reached.add(line_of(captions))
    module = inspect.getmodule(LIVE[page].captions)
    yields = [node for node in ast.walk(ast.parse(inspect.getsource(module))) if isinstance(node, ast.Yield)]
    assert {node.lineno for node in yields} == reached


@pytest.mark.parametrize("page", STATES)
def test_nothing_is_said_of_runs_that_have_just_begun(page):
    assert [*LIVE[page].captions(BEGUN[page], DIGITS)] == []
    assert [*LIVE[page].captions([], DIGITS)] == []


def test_captions_name_other_classes_and_what_has_none():
    captions = LIVE["sample"].captions
    assert [*captions([stuck], INSIDE)] == ["Gibbs draws only 5s."]  # nothing is drawn that it could complete
    toys = Made(dataset=Made(classes=("bag", "shoe")), clamp="")
    assert next(captions([drew("gibbs", 1000, [800, 200])], toys)).startswith("Gibbs has drawn mostly “bag”")
    assert [*captions([stuck], Made(dataset=None, clamp=""))] == []
