"""Python code that repeats a page's runs (on Weights with other random numbers), and draws its main chart."""

from collections.abc import Iterable, Sequence
from typing import Any

from rbmviz import BadInput
from rbmviz.coupling import ALGORITHMS
from rbmviz.datasets import list_datasets
from rbmviz.knobs import Value, values_of
from rbmviz.metrics.exact import MAX_UNITS_ENUMERATED
from rbmviz.models import list_models
from rbmviz.pages import RANDOM_MODEL
from rbmviz.samplers import Sampler
from rbmviz.session import Coupling, CouplingSetup, Race, SamplingRun, SamplingSetup, TrainingSetup
from rbmviz.trainers import Trainer
from rbmviz.trainers.batches import USUAL_BATCH
from rbmviz.trainers.pop_cd import PopCD

MODEL_FILE, DATA_FILE = "model.safetensors", "data.npz"
"""Placeholders in code for files that only their owner can name."""

Changes = Sequence[tuple[int, dict[str, Value]]]
"""Pairs of a sample number n and the run's knobs from then on; the first n is 0."""

MAX_TURNS = 50


def load_model_lines(name: str) -> list[str]:
    """Return code that sets ``model``; for an unlisted model, a comment asks for its file."""
    if name in list_models():
        return [f'model = rbmviz.load_model("{name}")']
    return [
        "# The model is not in any list: name its file here. The Model button on the Train page saves one.",
        f'model = rbmviz.load_model("{MODEL_FILE}")',
    ]


def load_dataset_lines(name: str) -> list[str]:
    """Return code that sets ``data``; for unregistered data, a comment asks for their file."""
    if name.partition("@")[0] in list_datasets():
        return [f'data = rbmviz.load_dataset("{name}")']
    return ["# The data are a file of your own: name it here.", f'data = rbmviz.load_dataset("{DATA_FILE}")']


def _made(kind: str, algorithm: Any) -> str:
    knobs = "".join(f", {name}={value!r}" for name, value in values_of(algorithm).items())
    return f'rbmviz.make_{kind}("{algorithm.name}"{knobs})'


def runs_of(race: Race[SamplingSetup]) -> list[tuple[Sampler, Changes | None]]:
    """Return the sampler of each panel and the log of its knobs, with None for a missing log.

    A run at rest, or with too many turns, has no log.
    """

    def changes(panel: Any) -> Changes | None:
        try:
            return panel.read(SamplingRun.run_log).changes
        except BadInput:
            return None

    return [(panel.algorithm, changes(panel)) for panel in race.panels]


def sampling_code(
    model_name: str,
    runs: Iterable[tuple[Sampler, Changes | None]],
    seed: int,
    dataset: str | None,
    clamp: str = "",
    ink: int = 1,
) -> str:
    """Return code that repeats the runs of Sample from their first sample.

    runs : sampler and log of each run, see ``runs_of``. If there are more than MAX_TURNS turns, or no log, a
        comment says which part of the run the code repeats.
    dataset : data of the chains' starts; None: they start at random bits
    clamp, ink : ``Clamp.text`` of the units that are held ("": none are), and the value that stands for ink
    """
    lines, imports, start = load_model_lines(model_name), set(), "None"
    held = ", clamp=clamp" * bool(clamp) + f", ink={ink}" * (ink != 1)
    if clamp:
        lines += [f'clamp = "{clamp}"  # the units that are held, as in the address of the page']
    if dataset is not None:
        lines += [*load_dataset_lines(dataset), f"starts = SamplingSetup(model, data, seed={seed}).starts"]
        start, imports = "starts(sampler.n_chains)", {"SamplingSetup"}
    lines += ["", "samples = {}"]
    for i, (sampler, changes) in enumerate(runs):
        if changes is not None and 1 < len(changes) <= 1 + MAX_TURNS:
            imports |= {"RunLog", "replay"}
            first = "".join(f", {name}={value!r}" for name, value in changes[0][1].items())
            lines += [
                "# Knobs were turned while it ran: the number of the first sample (from 0) with these knobs.",
                "turns = (",
                *(f"    ({n}, {dict(knobs)!r})," for n, knobs in changes),
                ")",
                f'sampler = rbmviz.make_sampler("{sampler.name}"{first})',
                f'log = RunLog("{sampler.name}", {seed}, {start}, turns)',
                f"v_{i} = [made.v for made in replay(log, model, n=10_000{held})]",
            ]
            continue
        if changes is None or len(changes) > 1:
            lines.append("# Earlier knob values are not included: it has the newest ones throughout.")
        v0 = f", v0={start}" if dataset is not None else ', init="random"'
        lines += [
            f"sampler = {_made('sampler', sampler)}",
            f'samples["{sampler.label} {i + 1}"] = '
            f"rbmviz.sample(model, sampler, n=10_000, seed={seed}{v0}{held})",
        ]
    first_lines = ["import rbmviz"]
    first_lines += [f"from rbmviz.session import {', '.join(sorted(imports))}"] if imports else []
    scored = dataset is not None and not clamp
    drawn = "rbmviz.plot.isl(samples, data)" if scored else "rbmviz.plot.mosaic(samples)"
    return "\n".join([*first_lines, "", *lines, "", "if samples:", f'    {drawn}.save("samples.html")'])


def training_code(setup: TrainingSetup, trainers: Sequence[Trainer], others: Sequence[str] = ()) -> str:
    """Return code that repeats the first replicate of each training, if its knobs were never turned.

    trainers : trainers that began at small random weights
    others : names of trainings that began at learned weights; a comment says that they are not repeated
    """
    lines = [
        "import rbmviz",
        "",
        "# With the knobs as they are now: it repeats a training whose knobs were never turned while it ran.",
        *load_dataset_lines(setup.dataset.name),
        "trainings = {}",
    ]
    for i, trainer in enumerate(trainers):
        knobs = values_of(trainer)
        # A linear schedule ends with the training, so a different number of updates would change it.
        updates = knobs["iterations"] if knobs.get("schedule") == "linear" else 10_000
        lines += [
            f"trainer = {_made('trainer', trainer)}",
            f'trainings["{trainer.label} {i + 1}"] = rbmviz.train(data, trainer, n_hidden={setup.n_hidden}, '
            f"iterations={updates:_}, seed={setup.seed})",
        ]
    for name in others:
        said = "".join(c for c in name if c.isprintable())
        lines.append(
            f"# Not repeated here: {said}. It continued an earlier model; its checkpoint continues it."
        )
    if min(setup.dataset.n_visible, setup.n_hidden) <= MAX_UNITS_ENUMERATED:
        return "\n".join([*lines, "", 'rbmviz.plot.likelihood(trainings).save("likelihood.html")'])
    lines[1:1] = ["from rbmviz.metrics import ais_log_z  # an estimate: too many units to enumerate"]
    return "\n".join(
        [
            *lines,
            "",
            "for name, training in trainings.items():",
            "    for progress in training:",
            "        rbm = progress.rbm",
            "    print(name, -rbm.free_energy(data.train).mean() - ais_log_z(rbm).log_z)",
        ]
    )


def coupling_code(model_name: str, setup: CouplingSetup, coupling: Coupling) -> str:
    """Return code that repeats the first pairs of Coupling."""
    m, n = setup.rbm.W.shape
    lines = [
        "import rbmviz",
        "from rbmviz import rng",
        "from rbmviz.session import CouplingSetup",
        "",
    ]
    if model_name == RANDOM_MODEL:
        lines.append(f"rbm = rbmviz.models.random_rbm({m}, {n}, seed={setup.seed})")
    else:
        lines += [*load_model_lines(model_name), "rbm = model.rbm"]
    lines += ["data = None"] if setup.dataset is None else load_dataset_lines(setup.dataset.name)
    lines += [
        f"starts = CouplingSetup(rbm, data, seed={setup.seed}).starts(0)",
        f"scale = {coupling.scale!r}",
        "rbm = rbmviz.RBM(scale * rbm.W, scale * rbm.b, scale * rbm.c)",
        f'seed = rng.child({setup.seed}, "pairs", 0)',
        "pairs = {",
        f"    algorithm: rbmviz.couple(rbm, starts, algorithm, max_sweeps={coupling.max_sweeps}, seed=seed)",
        f"    for algorithm in {ALGORITHMS}",
        "}",
        'rbmviz.plot.meeting_times(pairs).save("meeting_times.html")',
    ]
    return "\n".join(lines)


def weights_code(model_name: str, dataset: str | None, algorithms: Sequence[PopCD], seed: int) -> str:
    """Return code that weights batches like those of Weights; its random numbers differ."""
    lines = ["import numpy as np", "import rbmviz", "", *load_model_lines(model_name), "rbm = model.rbm"]
    lines += [f"generator = np.random.default_rng({seed})", "batches = {}"]
    if dataset is None:
        rows, usual = "generator.integers(0, 2, ({n}, rbm.n_visible), dtype=np.uint8)", str(USUAL_BATCH)
    else:
        lines += load_dataset_lines(dataset)
        rows, usual = "generator.choice(data.train, {n})", f"min({USUAL_BATCH}, len(data.train))"
    for i, algorithm in enumerate(algorithms):
        knobs = f'proposal="{algorithm.proposal}", mixture={algorithm.mixture}'
        lines += [
            f"starts = {rows.format(n=algorithm.n_chains or usual)}",
            f'batches["pop-CD-{algorithm.k} {i + 1}"] = '
            f"rbmviz.pop_weights(rbm, starts, k={algorithm.k}, seed={seed}, {knobs})",
        ]
    lines.append('rbmviz.plot.log_weights(batches).save("log_weights.html")')
    return "\n".join([*lines, "print(rbmviz.metrics.log_z(rbm))  # where it can be enumerated"])
