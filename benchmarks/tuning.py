"""A race of seeds (``sweep --race``) against Optuna's TPE, on one thread, in the same processor time.

``python -m benchmarks.tuning [MODEL [SAMPLES [STUDIES]]]`` tunes step size and decay of rates-FPCD. Optuna
takes one seed a trial, or five and prunes. Answers are scored on 20 fresh seeds: ISL of validation and test
part. The full grid comes last.
"""

import sys
import tempfile
import time
from typing import Any

import numpy as np

from benchmarks.environments import folder, python_of
from rbmviz import load_model, make_sampler, metrics, sample
from rbmviz.cli import print_message
from rbmviz.models import data_of
from rbmviz.sweeps import Axis, Budget, Store, SweepPlan, answer, cells, compare, run

DECAYS = (0.9, 0.95, 0.99, 1.0)
EPS = Axis("eps", tuple(np.geomspace(0.001, 0.3, 13).round(6).tolist()))


def main(name: str = "letters_fpcd", n: str = "20000", studies: str = "2") -> None:
    """Tune, and print what came out."""
    python_of("optuna")
    sys.path += map(str, (folder() / "optuna").glob("lib/python*/site-packages"))
    import optuna

    model, data = load_model(name), data_of(load_model(name))

    def score(knobs: Any, seed: int, test: np.ndarray = data.test) -> Any:
        v = sample(model, make_sampler("rates_fpcd", **knobs), n=int(n), seed=seed).v
        return metrics.isl(v, test, data.validation)

    def tell(what: str, knobs: Any, begin: float, more: str = "") -> None:
        took = time.process_time() - begin
        fresh = np.array([[s.validation, s.isl] for s in (score(knobs, seed) for seed in range(1000, 1020))])
        said = f"{fresh.mean(axis=0).round(3)} +- {(fresh.std(axis=0, ddof=1) / 20**0.5).round(3)}"
        print_message(f"{what}: {took:.1f} s, {dict(knobs)}; {said} {more}")

    def tune(race: bool) -> float:
        axes, budget = (EPS, Axis("alpha", DECAYS)), Budget("samples", int(n))
        plan = SweepPlan(algorithms=("rates_fpcd",), axes=axes, models=(name,), budget=budget, race=race)
        with tempfile.TemporaryDirectory() as out:
            store, begin = Store(out), time.process_time()
            store.prepare(plan)
            done = run(made := cells(plan), store, workers=1, race=race).done
            choice = compare(store.read(made))
        seconds = time.process_time() - begin
        tell(f"{done} runs", choice.best.knobs, begin, f"Tied: {len(choice.tied)}. {answer(choice)}")
        return seconds

    score({"eps": 0.01, "alpha": 0.9}, 0)  # compiled
    seconds = tune(race=True)
    for seeds, seed in ((seeds, seed) for seeds in (1, 5) for seed in range(int(studies))):
        begin = time.process_time()
        study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))
        while time.process_time() - begin < seconds:
            trial, scores = study.ask(), list[float]()
            knobs = {"eps": trial.suggest_float("eps", 0.001, 0.3, log=True)}
            knobs["alpha"] = trial.suggest_categorical("alpha", DECAYS)
            while len(scores) < seeds and not (scores and trial.should_prune()):
                scores.append(score(knobs, len(scores), data.validation[:1]).validation)
                trial.report(float(np.mean(scores)), len(scores))
            pruned = optuna.trial.TrialState.PRUNED if len(scores) < seeds else None
            study.tell(trial, None if pruned else float(np.mean(scores)), state=pruned)
        tell(f"Optuna, {seeds} seeds a trial, {len(study.trials)} trials", study.best_params, begin)
    tune(race=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
