"""``python -m benchmarks.tuning [MODEL [SAMPLES]]``: ``sweep --race``, Optuna in as much time, the grid.

They tune step size and decay of rates-FPCD on one thread. Answers are scored on 20 fresh seeds: ISL of
validation and test part.
"""

import sys
import tempfile
import time
from typing import Any

import numpy as np

from benchmarks.environments import folder, python_of
from rbmviz import load_model, make_sampler, metrics, sample
from rbmviz.cli import print_message
from rbmviz.datasets import data_of
from rbmviz.sweeps import Axis, Budget, Store, SweepPlan, answer, cells, compare, run

AXES = (
    Axis("eps", tuple(np.geomspace(0.001, 0.3, 13).round(6).tolist())),
    Axis("alpha", (0.9, 0.95, 0.99, 1.0)),
)


def main(name: str = "letters_fpcd", n: str = "20000") -> None:
    """Tune, and print what came out."""
    python_of("optuna")
    sys.path += map(str, (folder() / "optuna").glob("lib/python*/site-packages"))
    import optuna

    model, data = load_model(name), data_of(load_model(name))

    def score(knobs: Any, seed: int, test: np.ndarray = data.test) -> Any:
        v = sample(model, make_sampler("rates_fpcd", **knobs), n=int(n), seed=seed).v
        return metrics.isl(v, test, data.validation)

    def tell(what: str, knobs: Any, begin: float, more: str = "") -> float:
        took = time.process_time() - begin
        fresh = np.array([[s.validation, s.isl] for s in (score(knobs, seed) for seed in range(1000, 1020))])
        said = f"{fresh.mean(axis=0).round(3)} +- {(fresh.std(axis=0, ddof=1) / 20**0.5).round(3)}"
        print_message(f"{what}: {took:.1f} s, {dict(knobs)}; {said} {more}")
        return took

    def tune(race: bool) -> float:
        budget = Budget("samples", int(n))
        plan = SweepPlan(algorithms=("rates_fpcd",), axes=AXES, models=(name,), budget=budget, race=race)
        with tempfile.TemporaryDirectory() as out:
            store, begin = Store(out), time.process_time()
            store.prepare(plan)
            done = run(made := cells(plan), store, workers=1, race=race).done
            choice = compare(store.read(made))
        return tell(f"{done} runs", choice.best.knobs, begin, answer(choice))

    score({"eps": 0.01, "alpha": 0.9}, 0)  # compiled
    seconds = tune(race=True)
    for seed in range(2):
        study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))
        begin = time.process_time()
        while time.process_time() - begin < seconds:
            trial = study.ask()
            knobs = {"eps": trial.suggest_float("eps", 0.001, 0.3, log=True)}
            knobs["alpha"] = trial.suggest_categorical("alpha", AXES[1].values)
            study.tell(trial, score(knobs, 0, data.validation[:1]).validation)
        tell(f"Optuna, {len(study.trials)} trials", study.best_params, begin)
    tune(race=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
