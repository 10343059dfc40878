"""The runs of presets without a browser: the numbers that their claims are about.

``python tests/app/preset_runs.py 5`` writes the numbers of every claim for five seeds, a table in Markdown.
"""

import argparse
import importlib
import itertools
import math
import operator
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np

from rbmviz.coupling import STATISTICS
from rbmviz.session.importance_weights import MAX_UNITS_EXACT_LOG_Z
from rbmviz.sweeps import CellRun, cells
from rbmviz.sweeps.from_settings import plan_of
from rbmviz.sweeps.plan import read_algorithm
from rbmviz_app.presets import PLAYED_SECONDS

PAGES = {
    "sample": "rbmviz_app.pages.sample.page",
    "train": "rbmviz_app.pages.train.page",
    "coupling": "rbmviz_app.pages.coupling.page",
    "weights": "rbmviz_app.pages.weights.page",
    "chain": "rbmviz_app.pages.chain.landscape",
    "tune": "rbmviz_app.pages.tune.page",
}
COMPARED = {">": operator.gt, "<": operator.lt}


def live_page(name):
    """Return the ``LivePage`` of a page."""
    return importlib.import_module(PAGES[name]).PAGE


def _classes(run, shown):
    return shown.occupancy.sum(axis=0)


METRICS = {
    "spurious_not_blank": lambda run, shown: 100 * (shown.spurious - shown.blank),  # in percent, as spurious
    "classes": lambda run, shown: int((_classes(run, shown) > 0).sum()),
    "largest_class": lambda run, shown: _classes(run, shown).max() / shown.n,
    "blank_now": lambda run, shown: 1 - run.held_samples()[1][-100:].any(axis=1).mean(),
    "empty_share": lambda run, shown: shown.visits[0] / shown.n,
    "isl": lambda run, shown: shown.curve[-1].isl,  # at the last point of the curve
    "likelihood_error": lambda run, shown: float(shown.likelihoods[-1].std_error[0]),
}
"""Numbers of a run that are no readouts, by name; of a snapshot ``shown``."""


def _errors(values, truth):
    """Return by how many standard errors the mean of "both units on" is off."""
    x = values[:, STATISTICS.index("both units on")]
    return abs(x.mean() - truth[STATISTICS.index("both units on")]) / (x.std() / math.sqrt(len(x)))


PAIR_METRICS = {
    "mean": lambda pairs, found: pairs.tau.mean(),
    "median": lambda pairs, found: np.median(pairs.tau),
    "within_10": lambda pairs, found: (pairs.tau <= 10).mean(),
    "cut_share": lambda pairs, found: pairs.truncated.mean(),
    "ucd_errors": lambda pairs, found: _errors(pairs.unbiased, found.truth),
    "cd_errors": lambda pairs, found: _errors(pairs.cd_estimate, found.truth),
}
"""Numbers of the pairs of one algorithm, by the end of their name: ``rbm_mean``, ``half_step_mean``."""


def advance(run, n):
    """Bring a run to its n-th step and score it there, as a pause does."""
    while run.n < n:
        run.record_steps(run.advance(min(run.max_steps(), n - run.n)))
    run.complete()


NO_REFERENCE = SimpleNamespace(value=None, work=lambda seconds: False)


class PanelRun:
    """The run of one panel, whose numbers are known at rising counts of steps."""

    def __init__(self, live, setup, text):
        plan, [algorithm] = setup.plan(), live.read([text])[0]
        self._readouts = {
            one.name: one.value
            for one in importlib.import_module(f"rbmviz_app.pages.{live.name}.panel").readouts(
                algorithm, plan
            )
        }
        self._run = plan.run(1, algorithm)
        if live.name == "weights" and min(setup.model.rbm.W.shape) > MAX_UNITS_EXACT_LOG_Z:
            self._run._reference = NO_REFERENCE  # as long as all batches; no claim is about it
        self._run.prepare()

    def numbers(self, names, n):
        """Return the numbers of these names after n steps, by name."""
        advance(self._run, n)
        if "likelihood" in self._readouts or "gap" in self._readouts:
            while self._run.background_work(True):
                pass
        shown = self._run.view("paused")
        values = {
            name: METRICS[name](self._run, shown) if name in METRICS else self._readouts[name](shown)
            for name in names
        }
        # Of a number with its error, the number.
        return {name: value[0] if isinstance(value, tuple) else value for name, value in values.items()}


class PairsRun:
    """The run of coupled chains, whose steps are pairs that are counted."""

    def __init__(self, live, setup, text):
        self._run = setup.plan().run(1, live.read([text])[0][0])
        self._run.prepare()

    def numbers(self, names, n):
        """Return the numbers of these names after the first n pairs of each algorithm, by name."""
        while min(pairs.n for pairs in self._run.request_results().pairs) < n:
            self._run.background_work(False)
        found = self._run.request_results()
        first = {
            pairs.algorithm: pairs._replace(
                **{part: getattr(pairs, part)[:n] for part in ("tau", "truncated", "cd_estimate", "unbiased")}
            )
            for pairs in found.pairs
        }
        numbers = {}
        for name in names:
            [algorithm] = [one for one in first if name.startswith(f"{one}_")]
            metric = name.removeprefix(f"{algorithm}_")
            numbers[name] = PAIR_METRICS[metric](first[algorithm], found)
        return numbers


class SettingRuns:
    """The cells of one setting of a sweep, for two of its seeds; a number is their mean."""

    def __init__(self, values, text, first_seed):
        plan = plan_of(values)
        algorithm = read_algorithm(plan.kind, text)
        self.plan = replace(plan, algorithms=(algorithm,), axes=(), seeds=range(first_seed, first_seed + 2))
        assert self.plan.settings()[0].algorithm in {one.algorithm for one in plan.settings()}
        self._runs = [CellRun(cell) for cell in cells(self.plan)]

    def numbers(self, names, n):
        """Return the means of these measures at the last point of the curves up to n, by name."""
        for run in self._runs:
            while run.n < n and run.step(0):
                pass
        tables = [run.columns() for run in self._runs]
        rows = [np.flatnonzero(table["n"] <= n)[-1] for table in tables]
        return {
            name: np.mean([table[name][row] for table, row in zip(tables, rows, strict=True)])
            for name in names
        }


def steps(live, preset):
    """Return the steps that panels make in PLAYED_SECONDS at the speed of a preset."""
    return int(PLAYED_SECONDS * live.values_of(preset)[live.speed.key])


def asked(live, preset):
    """Return the names of the numbers that the claims of a preset are about: {(panel, steps): names}."""
    found = {}
    for claim in preset.claims:
        n = claim.n or steps(live, preset)
        used = [(claim.panel, n), (claim.of, claim.n_of or n), (claim.not_of, n)]
        for panel, at in [*used, (claim.not_of, claim.n_of or n)]:
            if panel is not None:
                found.setdefault((panel, at), set()).add(claim.metric)
    return found


def measured(live, preset, seed=None):
    """Return the numbers that the claims of a preset are about: {(panel, steps, name): number}.

    seed : instead of the preset's own
    """
    values = live.values_of(preset)
    if seed is not None:
        values |= {name: seed for name in values if name.endswith("seed")}
    setup, runs, found = live.setup_of(values), {}, {}
    for (panel, n), names in sorted(asked(live, preset).items()):
        if panel not in runs:
            text = (*preset.panels, *preset.variants)[panel]
            if live.name == "tune":
                runs[panel] = SettingRuns(values, text, 2 * (seed or 0))
            else:
                runs[panel] = (PairsRun if live.name == "coupling" else PanelRun)(live, setup, text)
        for name, number in runs[panel].numbers(sorted(names), n).items():
            found[panel, n, name] = float(number)
    return found


def sides(live, preset, claim, found):
    """Return the two numbers that a claim compares."""
    n = claim.n or steps(live, preset)
    other = claim.number
    if claim.of is not None:
        other += found[claim.of, claim.n_of or n, claim.metric]
    return found[claim.panel, n, claim.metric], other


def holds(live, preset, claim, found):
    """Return whether a claim holds for these numbers."""
    return bool(COMPARED[claim.operator](*sides(live, preset, claim, found)))


def rows(live, preset, seeds):
    """Yield for each claim what it is about, its least and largest value, and how often it holds."""
    all_found = [measured(live, preset, seed) for seed in range(seeds)]
    for claim in preset.claims:
        n, what, values = claim.n or steps(live, preset), claim.metric, []
        if claim.of is not None:
            what += f" minus panel {claim.of + 1}" + (f" after {claim.n_of:,}" if claim.n_of else "")
        for found in all_found:
            number, other = sides(live, preset, claim, found)
            values.append(number - (other - claim.number if claim.of is not None else 0))
        held = sum(holds(live, preset, claim, found) for found in all_found)
        yield (
            *(f"{live.name}: {preset.label}", claim.panel + 1, what, f"{n:,}"),
            *(f"{claim.operator} {claim.number:g}", f"{min(values):.4g}", f"{max(values):.4g}"),
            f"{held} of {seeds}",
        )


def main():
    """Write what all claims have been measured at, for several seeds."""
    parser = argparse.ArgumentParser()
    parser.add_argument("seeds", type=int)
    parser.add_argument("pages", nargs="*", default=list(PAGES))
    args = parser.parse_args()
    head = ("preset", "panel", "number", "steps", "claim", "least", "most", "holds")
    lines = itertools.chain(
        (head, ["---"] * len(head)),
        *(rows(live_page(name), one, args.seeds) for name in args.pages for one in live_page(name).presets),
    )
    for line in lines:
        sys.stdout.write(f"| {' | '.join(map(str, line))} |\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
