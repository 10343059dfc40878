"""A race of seeds (``rbmviz sweep --race``) against Optuna, in the same processor time.

    python -m benchmarks.tuning [--model letters_fpcd] [-n 20000] [--studies 3]

Both tune step size and decay of rates-FPCD on one thread. Optuna, in an environment of ``environments``, runs
its default sampler for as long as the race took: with one seed a trial, or up to five and its default pruner.
It scores the validation part alone, at the end; the race both parts, at all points of the curve. Answers are
scored on 20 fresh seeds. Processor time is compared, so that a busy machine changes nothing.
"""

import argparse
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

SEEDS, FRESH = 5, range(1000, 1020)
DECAYS = (0.9, 0.95, 0.99, 1.0)
EPS = Axis("eps", tuple(np.geomspace(0.001, 0.3, 13).round(6).tolist()))


def main() -> None:
    """Tune, and print what came out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="letters_fpcd")
    parser.add_argument("--studies", type=int, default=3)
    parser.add_argument("-n", type=int, default=20_000)
    args = parser.parse_args()
    python_of("optuna")
    sys.path += map(str, (folder() / "optuna").glob("lib/python*/site-packages"))
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    model = load_model(args.model)
    data = data_of(model)

    def score(knobs: Any, seed: int, test: np.ndarray) -> Any:
        v = sample(model, make_sampler("rates_fpcd", **knobs), n=args.n, seed=seed).v
        return metrics.isl(v, test, data.validation)

    def tell(name: str, seconds: float, knobs: Any, more: str = "") -> None:
        fresh = np.array([[s.validation, s.isl] for s in (score(knobs, seed, data.test) for seed in FRESH)])
        mean, error = fresh.mean(axis=0), fresh.std(axis=0, ddof=1) / len(fresh) ** 0.5
        said = ", ".join(f"{m:.3f} +- {e:.3f}" for m, e in zip(mean, error, strict=True))
        print_message(f"{name}: {seconds:.1f} s, {dict(knobs)}; fresh seeds, validation and test: {said}. {more}")

    def objective(trial: Any, seeds: int) -> float:
        alpha, scores = trial.suggest_categorical("alpha", DECAYS), []
        knobs = {"eps": trial.suggest_float("eps", 0.001, 0.3, log=True), "alpha": alpha}
        for seed in range(seeds):
            scores.append(score(knobs, seed, data.validation[:1]).validation)
            trial.report(np.mean(scores), seed)
            if trial.should_prune():
                raise optuna.TrialPruned
        return float(np.mean(scores))

    score({"eps": 0.01, "alpha": 0.9}, 0, data.test)  # compiled
    limit = 0.0  # seconds of the race
    for race, measured in ((True, ()), (True, ("isl_validation",)), (False, ())):
        plan = SweepPlan(algorithms=["rates_fpcd"], axes=[EPS, Axis("alpha", DECAYS)], models=[args.model],
                         seeds=range(SEEDS), budget=Budget("samples", args.n), metrics=measured, race=race)  # fmt: skip
        with tempfile.TemporaryDirectory() as out:
            store, begin = Store(out), time.process_time()
            store.prepare(plan)
            done = run(made := cells(plan), store, workers=1, race=race).done
            choice, seconds = compare(store.read(made)), time.process_time() - begin
        name = f"{'race' if race else 'grid'}, {done} runs{', --metric isl_validation' * bool(measured)}"
        tell(name, seconds, choice.best.knobs, f"{len(choice.tied)} tied, {len(choice.unsure)} open. {answer(choice)}")
        limit = limit or seconds * race
    for seeds in (1, SEEDS):
        for seed in range(args.studies):
            begin = time.process_time()
            study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))

            def stop(study: Any, _: Any, end: float = begin + limit) -> None:
                if time.process_time() > end:
                    study.stop()

            study.optimize(lambda trial, seeds=seeds: objective(trial, seeds), callbacks=[stop])
            seconds, trials = time.process_time() - begin, f"{len(study.trials)} trials"
            tell(f"Optuna, study {seed}, {seeds} seeds, {trials}", seconds, study.best_params)


if __name__ == "__main__":
    main()
