"""A race: which runs are due, that it says what the grid says, and that killing it changes nothing."""

import dataclasses

from rbmviz.sweeps import CellRun, Store, SweepPlan, cells, compare, run
from rbmviz.sweeps.race import due
from rbmviz.sweeps.scores import SweepScores
from tests.sweeps.tables import same
from tests.sweeps.test_choose import table
from tests.sweeps.test_running import plan_of

SCORES = {
    0.1: [-100.0, -101.0, -99.0, -100.5],  # the best
    0.2: [-100.1, -101.3, -99.0, -100.6],  # tied from the third seed on
    0.3: [-103.0, -98.5, -101.5, -98.0],  # cannot be told
    0.4: [-140.0, -141.2, 0.0, 0.0],  # worse; would win by its further seeds
}
RUNS = [(f"rates_fpcd:eps={eps}", "bas_pcd", seed) for seed in range(4) for eps in SCORES]


def test_further_seeds_go_where_they_decide():
    done, rounds = [], []
    while found := due(RUNS, of(done), "samples"):
        rounds.append([(run[0][-3:], run[2]) for run in found])
        done += found
    assert rounds[0] == [(f"{eps}", seed) for seed in (0, 1) for eps in SCORES]
    assert [name for name, _ in rounds[1]] == ["0.1", "0.2", "0.3"]
    assert len(rounds) == 3
    assert compare(of(done)).best.knobs["eps"] == 0.1
    # What else is in the folder decides nothing, and a run that has failed holds nothing up.
    assert due(RUNS, of(RUNS), "samples") == []
    sure = [run for run in RUNS if "0.3" not in run[0]]
    assert due(sure, of([run for run in sure if run[2] < 3]), "samples") == []  # all are tied or worse
    some = [run for run in RUNS[:8] if run != RUNS[6]]
    assert due(RUNS, of(some), "samples") == [RUNS[6]]
    assert RUNS[6] not in due(RUNS, of(some), "samples", failed=[RUNS[6]]) != []


def of(runs):
    """Return the table of some runs."""
    whole = table(SCORES)
    rows = zip(whole["setting"], whole["model"], whole["seed"], strict=True)
    keep = [run in runs for run in rows]
    return {name: column[keep] for name, column in whole.items()} if any(keep) else {}


def test_killed_race_continues_to_the_same_results(tmp_path):
    plan = dataclasses.replace(plan_of(6, 5), race=True)
    assert SweepPlan.from_json(plan.to_json()) == plan
    made, whole, killed = cells(plan), Store(tmp_path / "whole"), Store(tmp_path / "killed")
    whole.prepare(plan)
    killed.prepare(plan)
    outcome = run(made, whole, race=True)
    assert 12 < outcome.done == outcome.cells < 30

    def interrupt(progress):
        raise KeyboardInterrupt

    times = 0
    while run(made, killed, workers=1, race=True, on_progress=interrupt).interrupted:
        times += 1
        assert SweepScores(plan, killed.read()).complete() == (killed.count() == outcome.done)
    assert times > 3
    same(killed.read(made), whole.read(made))
    cell = cells(dataclasses.replace(plan, race=False))[0]
    last, [only] = CellRun(cell).finish().points[-1], CellRun(made[0]).finish().points
    assert {**only, "seconds": 0} == {**last, "seconds": 0}  # measured at the end only
    run(made, killed)  # the full grid says the same
    assert compare(killed.read()).best.knobs == compare(whole.read()).best.knobs
