"""What presets claim, measured as the claims of lessons are: the same runs, without a browser.

``python -m tests.app.preset_runs 5`` writes the numbers of every claim for five seeds, a table in Markdown;
``--preset gibbs-sticks`` only those of presets with this name in the address.
"""

import argparse
import itertools
import sys
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from rbmviz.lessons import PageState, measure_claims
from rbmviz.lessons.claims import Measured, StepClaim, parse_claim, read_claim
from rbmviz.pages import PAGES
from rbmviz.sweeps import CellRun, cells, measures, table
from rbmviz.sweeps.from_settings import plan_of
from rbmviz.sweeps.plan import TABLES
from rbmviz_app.page import LivePage
from rbmviz_app.pages import page_modules
from rbmviz_app.presets import Preset


def live_pages() -> dict[str, LivePage]:
    """Return the pages with live panels, by name."""
    return {name: page_modules()[name].PAGE for name in PAGES}


def state_of(live: LivePage, preset: Preset, seed: int | None = None) -> PageState:
    """Return the page as a preset sets it, its variants as further panels; seed: instead of its own."""
    values = live.spec.defaults() | dict(preset.settings)
    if seed is not None:
        values |= {name: seed for name in values if name.endswith("seed")}
    return PageState(live.name, (*preset.panels, *preset.variants), values)


def claims_of(live: LivePage, preset: Preset) -> list[StepClaim]:
    """Return the claims of a preset, read."""
    state = state_of(live, preset)
    if live.name != "tune":
        return [read_claim(text, state) for text in preset.claims]
    claims = [parse_claim(text) for text in preset.claims]
    for claim in claims:
        shown = range(len(preset.panels), len(state.panels))
        assert all(panel in shown and name in measures for panel, name in claim.about)
        assert claim.unit == ("updates" if state.settings["tune_what"] == "trainers" else "samples")
    return claims


def measured(
    live: LivePage, preset: Preset, claims: list[StepClaim], seed: int | None = None
) -> list[Measured]:
    """Return the claims with their numbers."""
    state = state_of(live, preset, seed)
    return (
        _measure_settings(state, claims, 2 * (seed or 0))
        if live.name == "tune"
        else measure_claims(state, claims)
    )


def _measure_settings(state: PageState, claims: list[StepClaim], first_seed: int) -> list[Measured]:
    """Return claims about settings of a sweep: each number is the mean of two seeds, up to n on the curve."""
    found = {}
    for panel in {panel for claim in claims for panel, _, _ in claim.points}:
        plan = plan_of(state.settings)
        algorithm = TABLES[plan.kind].read(state.panels[panel])
        plan = replace(plan, algorithms=(algorithm,), axes=(), seeds=(first_seed, first_seed + 1))
        assert plan.settings()[0].algorithm in {one.algorithm for one in plan_of(state.settings).settings()}
        points = [point for claim in claims for point in claim.points if point[0] == panel]
        runs = [CellRun(cell) for cell in cells(plan)]
        for run in runs:
            while run.n < max(n for _, _, n in points) and run.step(0):
                pass
        for _, name, n in points:
            tables = [table([run.result()]) for run in runs]
            at_n = [each[name][np.flatnonzero(each["n"] <= n)[-1]] for each in tables]
            found[panel, name, n] = float(np.mean(at_n))
    return [claim.judged(*(found[point] for point in claim.points)) for claim in claims]


def rows(live: LivePage, preset: Preset, seeds: int) -> Iterator[tuple[str, ...]]:
    """Yield for each claim what it is about, its least and largest value, and how often it holds."""
    claims = claims_of(live, preset)
    of_seeds = [measured(live, preset, claims, seed) for seed in range(seeds)]
    for claim, *found in zip(claims, *of_seeds, strict=True):
        base = claim.number if claim.of is not None else 0
        values = [one.value - (one.other - base if claim.of is not None else 0) for one in found]
        held = f"{sum(one.holds for one in found)} of {seeds}"
        yield f"{live.name}: {preset.label}", claim.text, f"{min(values):.4g}", f"{max(values):.4g}", held


def main() -> None:
    """Write what all claims have been measured at, for several seeds."""
    parser = argparse.ArgumentParser()
    parser.add_argument("seeds", type=int)
    parser.add_argument("pages", nargs="*", default=list(live_pages()))
    parser.add_argument("--preset", help="only presets with this name in the address")
    args = parser.parse_args()
    head = ("preset", "claim", "least", "most", "holds")
    lines = itertools.chain(
        (head, ["---"] * len(head)),
        *(
            rows(live_pages()[name], one, args.seeds)
            for name in args.pages
            for one in live_pages()[name].presets
            if args.preset in (None, one.slug)
        ),
    )
    for line in lines:
        sys.stdout.write(f"| {' | '.join(map(str, line))} |\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
