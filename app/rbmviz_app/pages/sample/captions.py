"""Captions of the Sample page: a chain is stuck, a drag frees its neighbour, and decay breaks that one."""

from collections.abc import Iterator
from operator import attrgetter
from typing import NamedTuple

from rbmviz.session import SamplingSetup, SamplingSnapshot
from rbmviz.session.snapshot import FEWEST_SCORED
from rbmviz_app.captions import WHY, Named, all_of, at_least, in_words
from rbmviz_app.pages.sample.panel import points_of_turn, turn_text

STUCK_AFTER = 300
"""Samples, five seconds at the usual speed, before a chain is called stuck."""

STUCK, ONLY = 0.7, 0.985
"""Share of a class from which on a chain is stuck, and has drawn almost only this class."""

GARBLED, MOSTLY_GARBLED, WORSE_BY = 0.3, 0.5, 2
"""Shares of samples unlike the data from which something broke, and from which most are; standard errors of a
fall of the ISL from which something broke."""


def how_often(share: float) -> str:
    """Return "only", "almost only" or "mostly"."""
    return "only" if share == 1 else "almost only" if share >= ONLY else "mostly"


class Drawn(NamedTuple):
    """What a panel has drawn since the last turn of a knob.

    most, share : what most samples show ("5s", "blank images"), and their share
    visited, all_at : number of classes visited (0: not known yet), and of samples after which all were
    """

    name: str
    shown: SamplingSnapshot
    n: int
    most: str
    share: float
    visited: int
    all_at: int | None


def captions(panels: Named, setup: SamplingSetup) -> Iterator[str]:
    """Yield what may be said about samplers; without classes, only what was found."""
    drawn = _drawn(panels, setup)
    if setup.clamp:
        yield _completed(drawn, drawing=not setup.held_units().free.all())
        return
    if drawn and setup.dataset is not None:
        yield from _of_classes(drawn, setup.dataset.classes)
        return
    for name, shown in panels:
        if shown.findings:
            yield f"{name}: {shown.findings[0].sentence}"


def _drawn(panels: Named, setup: SamplingSetup) -> list[Drawn]:
    found: list[Drawn] = []
    for name, shown in panels:
        if setup.dataset is None or shown.occupancy is None or not shown.occupancy.shape[1]:
            continue
        counts = [*shown.occupancy[shown.bins_before :].sum(axis=0), shown.blanks[shown.bins_before :].sum()]
        names = [f"{each}s" if each.isdigit() else f"“{each}”" for each in setup.dataset.classes]
        share, most = max(zip(counts, [*names, "blank images"], strict=True))
        visited = shown.covered.visited[0] if shown.covered is not None else 0
        all_at = next((each.n for each in shown.counts if len(set(each.visited)) == 1), None)
        n = shown.since_turn.samples
        found.append(Drawn(name, shown, n, most, share / max(sum(counts), 1), visited, all_at))
    return found


def _completed(drawn: list[Drawn], drawing: bool) -> str:
    """Return what may be said while a part of the image is held (``drawing``), or only hidden units are."""
    begun = [each for each in drawn if each.n >= FEWEST_SCORED]
    if not begun:
        return f"{'A part is' if drawing else 'Hidden units are'} held: the samplers draw the rest."
    surest, widest = (max(begun, key=attrgetter(field)) for field in ("share", "visited"))
    how = how_often(surest.share)
    said = f"{surest.name} {f'completes it {how} as' if drawing else f'draws {how}'} {surest.most}"
    others = surest.visited < widest.visited
    return f"{said}; {widest.name} tries {in_words(widest.visited)} classes." if others else f"{said}."


def _of_classes(drawn: list[Drawn], names: tuple[str, ...]) -> Iterator[str]:
    kind = "digits" if all(name.isdigit() for name in names) else "classes"
    every = f"{in_words(len(names))} {kind}"
    turned = max((each for each in drawn if each.shown.past), key=lambda each: each.shown.begin, default=None)
    if turned is not None:
        yield from _since_turn(turned, every, f"{len(names)} {kind}")
    algorithms = [each.shown.algorithm for each in drawn]
    is_off = any(each.name == "rates_fpcd" and getattr(each, "eps", 1) == 0 for each in algorithms)
    drag = " Drag the orange slider." if is_off else ""  # it has a halo
    stuck = next((each for each in drawn if each.n >= STUCK_AFTER and each.share >= STUCK), None)
    free = [each.name for each in drawn if each.all_at is not None and each is not stuck]
    yield from _safe_bet(drawn)
    if stuck is not None:
        how = how_often(stuck.share)
        said = f"{stuck.name} has drawn {how} {stuck.most} in {at_least(stuck.n)} samples"
        if drag or not free:
            yield f"{said}.{drag}"
        else:
            yield f"{said}; {free[0]} has drawn all {every}."
    if len(free) == len(drawn):
        yield f"{all_of(free)} drew all {every}. Which comes closest to the data? Compare the ISL."
    least = min(drawn, key=lambda each: each.visited)
    if least.n >= STUCK_AFTER:
        some = f"{least.visited} of {len(names)} {kind}"
        yield f"{least.name} has drawn {some} in {at_least(least.n)} samples.{drag}"


def _safe_bet(drawn: list[Drawn]) -> Iterator[str]:
    """Yield why samples that look like nothing have a better ISL than clear ones."""
    scored = [
        (each.shown.covered.spurious, each.shown.newest.isl, each)
        for each in drawn
        if each.shown.covered is not None and each.shown.newest is not None
    ]
    for spurious, high, blurred in scored:
        for others, low, clear in scored:
            if spurious >= MOSTLY_GARBLED and others < GARBLED and low < high:
                said = f"The specks of {blurred.name} score above the clear {clear.most} of {clear.name}"
                yield f"{said}: by the ISL blank is a safe bet."


def _since_turn(drawn: Drawn, every: str, of: str) -> Iterator[str]:
    """Yield what may be said about a panel since its turn; every, of : "ten digits", "10 digits"."""
    name, shown = drawn.name, drawn.shown
    turn, points, decay = turn_text(shown), points_of_turn(shown), getattr(shown.algorithm, "alpha", 0)
    turn = turn[0].upper() + turn[1:]
    if points is not None and decay < float(shown.before.get("alpha", 0)):
        before, now = points
        compared = f"ISL {now.isl:.0f} after {now.n:,} samples, before {before.isl:.0f}".replace("-", "−")
        if now.isl < before.isl - WORSE_BY * now.std_error:
            yield f"Decay {decay:.3g} breaks it: {compared}.{WHY}"
        yield f"Nothing breaks at decay {decay:.3g} so far: {compared}."
    if shown.covered is not None and shown.covered.spurious >= GARBLED:
        share = f"{100 * shown.covered.spurious:.0f} %"
        yield f"Too far: {share} of the samples since the change look like nothing in the data."
    if drawn.all_at is not None:
        lead = "Free" if shown.before.get("eps") == 0 else turn
        then = " Now pull its decay to .9: what breaks?" if decay == 1 else ""
        yield f"{lead}: {every} in {drawn.all_at:,} samples.{then}"
    if drawn.visited:
        yield f"{turn}: {drawn.visited} of {of} in {drawn.n:,} samples so far."
    yield f"{turn}: watch the strip of {name}."
