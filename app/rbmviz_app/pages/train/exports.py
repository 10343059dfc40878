"""Files of the Train page, and code that repeats it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rbmviz import BadInput, Model
from rbmviz.knobs import values_of
from rbmviz.metrics.exact import MAX_UNITS_ENUMERATED
from rbmviz.metrics.numbers import SCORED_EXAMPLES
from rbmviz.rbm import model_bytes
from rbmviz.session import TrainingSetup, TrainingSnapshot
from rbmviz.session.training import YARDSTICKS
from rbmviz.trainers import Trainer
from rbmviz_app.charts.style import csv_bytes
from rbmviz_app.loading_code import load_dataset_lines


def training_csv(named: Sequence[tuple[str, TrainingSnapshot]]) -> bytes:
    """Return every curve of every replicate as CSV, with one value per row.

    update, sweeps (of all chains), seconds (inside the trainer) : totals so far. Log-likelihoods are in nats
    per example; ``std_error`` (nats) and ``ess`` (effective number of AIS chains) belong to their estimates.
    The quantity "ess" is different: the effective size of a pop-CD batch.
    """
    columns = ("trainer", "replicate", "update", "sweeps", "seconds", "quantity", "value", "std_error", "ess")
    return csv_bytes(columns, _values(named))


def _values(named: Sequence[tuple[str, TrainingSnapshot]]) -> Iterator[tuple[Any, ...]]:
    for name, snapshot in named:
        for point in snapshot.likelihoods:
            for field, yardstick in YARDSTICKS.items():
                if field == "monte_carlo" and not point.has_average:
                    continue  # nobody has requested this value
                for r, value in enumerate(getattr(point, field)):
                    error = (point.std_error[r], point.ess[r]) if yardstick.needs_log_z else ("", "")
                    quantity = f"log_likelihood_{field}"
                    yield (name, r, point.update, point.sweeps, point.seconds, quantity, value, *error)
        for trace in snapshot.traces:
            for quantity, values in trace.stats.items():
                for r, value in enumerate(values):
                    yield (name, r, trace.update, trace.sweeps, trace.seconds, quantity, value, "", "")


def model_file(model: Model | None, origin: Mapping[str, Any]) -> bytes:
    """Return a model as a file that names its ``origin``; raise BadInput if there is no model yet."""
    if model is None:
        raise BadInput("There is no model yet: let the trainer make its first update.")
    return model_bytes(Model(model.rbm, model.rates, {**model.meta, "origin": dict(origin)}))


def snippet(setup: TrainingSetup, trainers: Sequence[Trainer], others: Sequence[str] = ()) -> str:
    """Return Python code that repeats the first replicate of each training, if its knobs were never turned.

    A comment in the code states this condition. See ``loading_code``.

    trainers : trainers that began at small random weights
    others : names of trainings that began at learned weights; a comment says that they are not repeated
    """
    lines = [
        "import rbmviz",
        "",
        "# With the knobs as they are now: it repeats a training whose knobs were never turned while it ran.",
        *(
            [f"# Likelihoods are of all training examples; the page scores {SCORED_EXAMPLES:,} of them."]
            if len(setup.dataset.train) > SCORED_EXAMPLES
            else []
        ),
        *load_dataset_lines(setup.dataset.name),
    ]
    enumerable = min(setup.dataset.n_visible, setup.n_hidden) <= MAX_UNITS_ENUMERATED
    if enumerable:
        likelihood = "rbmviz.metrics.log_likelihood(progress_{}.rbm, data.train)"
    else:
        likelihood = "-progress_{0}.rbm.free_energy(data.train).mean() - ais_log_z(progress_{0}.rbm).log_z"
        lines.insert(1, "from rbmviz.metrics import ais_log_z  # an estimate: too many units to enumerate")
    for i, trainer in enumerate(trainers):
        knobs = values_of(trainer)
        # A linear schedule ends with the training, so a different number of updates would change it.
        updates = knobs["iterations"] if knobs.get("schedule") == "linear" else 10_000
        written = "".join(f", {name}={value!r}" for name, value in knobs.items())
        lines += [
            "",
            f'trainer = rbmviz.make_trainer("{trainer.name}"{written})',
            f"training = rbmviz.train(data, trainer, n_hidden={setup.n_hidden}, iterations={updates:_}, "
            f"seed={setup.seed})",
            f"for progress_{i} in training:",
            *(
                [f"    print(progress_{i}.update, {likelihood.format(i)})"]
                if enumerable
                else [f"    print(progress_{i}.update)", f"print({likelihood.format(i)})"]
            ),
        ]
    for name in others:
        said = "".join(c for c in name if c.isprintable())
        lines += [
            "",
            f"# Not repeated here: {said}. It began at what had been learned; its Checkpoint goes on.",
        ]
    return "\n".join(lines)
