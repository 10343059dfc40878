"""Save a page's trainings to a file, and read them: states, curves, knob changes, uploaded data, models.

The file is an .npz. It stores every state as a command-line checkpoint and every model as a .safetensors
file, which have their own readers and checks; everything else is checked here. For registered data, the file
has only the name, and checkpoints have a fingerprint; uploaded data are included as bits.
"""

import contextlib
import dataclasses
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rbmviz.array_files import Damaged, Headers, printable, read_json, read_npz, text_of
from rbmviz.datasets import Dataset
from rbmviz.datasets.own import READERS
from rbmviz.datasets.record import PARTS
from rbmviz.errors import BadInput
from rbmviz.knobs import knobs_of, values_of
from rbmviz.rbm import RBM, Model, load_model_bytes, model_bytes
from rbmviz.session.again import MAX_CHANGES, Change
from rbmviz.session.comparison import Comparison
from rbmviz.session.training import (
    MAX_HIDDEN,
    MAX_POINTS,
    MAX_REPLICATES,
    Kept,
    Likelihood,
    Origin,
    TrainingPlan,
    TrainingRun,
    TrainingSetup,
)
from rbmviz.trainers import Trainer, make_trainer
from rbmviz.trainers.checkpoint import load_checkpoint

MAX_SAVED_PANELS, MAX_SAVED_MODELS, MAX_SAVED_SEED = 100, 100, 2**31 - 1
"""Maximum numbers of panels and models, and maximum seed, in a file; no page exceeds them."""

LARGEST_SAVED_COUNT = 2**53

MAX_SAVED_UNITS = 2**20
"""Maximum number of visible units of the data in a file."""

MAX_SAVED_TEXT = 1000
"""Maximum number of characters in a name or sentence in a file."""

FOREIGN_FILE = "The file of trainings is not one that this program writes"


class SavedPanel(NamedTuple):
    """One training: plan, knob changes, steps; with ``kept``, ``Worker.continue_from`` resumes at step n."""

    plan: TrainingPlan
    changes: tuple[Change, ...]
    n: int
    kept: Kept | None


@dataclasses.dataclass(frozen=True)
class TrainingFile:
    """The contents of a file of trainings; panels are read later, when their data are available.

    setup : values shared by all trainings: ``n_hidden``, ``seed``, ``replicates``, name of the ``dataset``
    dataset : uploaded data; None: data registered under that name
    models : models sent to other pages, by title
    """

    setup: dict[str, Any]
    dataset: Dataset | None
    models: dict[str, Model]
    _arrays: dict[str, np.ndarray]
    _n_panels: int

    def panels(self, setup: TrainingSetup) -> list[SavedPanel]:
        """Return the trainings.

        setup : setup of the page; its data must be the training data

        Raises BadInput if the trainings have another setup, exceed the memory budget, or are not from this
        program.
        """
        if _setup(setup) != self.setup:
            raise BadInput("The trainings under this link have other settings than the link.")
        with _checked():
            return [_read_panel(f"{i}.", self._arrays, setup) for i in range(self._n_panels)]


def _setup(setup: TrainingSetup) -> dict[str, Any]:
    return {**setup._asdict(), "dataset": setup.dataset.name}


def is_upload(dataset: Dataset) -> bool:
    """Return whether data come from a file, so that on a server they exist only as an upload."""
    names = dataset.name, dataset.name.rpartition("@")[0]
    return any(Path(name).suffix.lower() in READERS for name in names)


@contextlib.contextmanager
def _checked() -> Iterator[None]:
    """Turn a reader's errors about a damaged file into one sentence."""
    try:
        yield
    except BadInput:
        raise
    except (Damaged, KeyError, TypeError, ValueError, AttributeError, OverflowError):
        raise BadInput(f"{FOREIGN_FILE}.") from None


# Writing


def write_trainings(comparison: Comparison[TrainingSetup], models: Mapping[str, Model]) -> bytes:
    """Return the trainings of all panels as a file, including uploaded data.

    A training that failed or has made no update is saved without its state, and restarts.

    models : models sent to other pages, by title
    """
    setup = comparison.setup
    arrays: dict[str, np.ndarray] = {}
    for i, (_, worker, _) in enumerate(comparison.panels):
        recorded = worker.rebuild_data(TrainingRun.whole_state)
        plan, n, changes, kept = recorded or (worker.plan, 0, (Change(0, worker.algorithm),), None)
        # Use one text per training, because thousands of knob changes make a long text.
        arrays[f"{i}.json"] = np.array(json.dumps(_panel(i, plan, n, changes, kept, arrays)))
    for i, model in enumerate(models.values()):
        arrays[f"model.{i}"] = np.frombuffer(model_bytes(model), np.uint8)
    text = json.dumps(
        {
            "setup": _setup(setup),
            "n_panels": len(comparison.panels),
            "models": list(models),
            "data": _data(setup.dataset, arrays) if is_upload(setup.dataset) else None,
        }
    )
    content = io.BytesIO()
    np.savez(content, json=np.array(text), **arrays)  # type: ignore[arg-type]
    return content.getvalue()


def _data(dataset: Dataset, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Return the JSON values for uploaded data; add their rows and labels to ``arrays``."""
    for part in PARTS:
        arrays[f"data.{part}"] = np.packbits(getattr(dataset, part), axis=1)
        labels = getattr(dataset, f"{part}_labels")
        if labels is not None:
            arrays[f"data.{part}_labels"] = labels.astype(np.int64)
    if dataset.vocabulary is not None:
        arrays["data.vocabulary"] = np.frombuffer("\n".join(dataset.vocabulary).encode(), np.uint8)
    said = ("name", "n_visible", "binarisation", "source", "classes", "image_shape")
    return {name: getattr(dataset, name) for name in said}


def _panel(
    i: int,
    plan: TrainingPlan,
    n: int,
    changes: Sequence[Change],
    kept: Kept | None,
    arrays: dict[str, np.ndarray],
) -> dict[str, Any]:
    """Return the JSON values for a panel; add its arrays to ``arrays``."""
    origin = None
    if plan.origin is not None:
        origin = {name: getattr(plan.origin, name) for name in ("update", "seconds", "path", "sweeps")}
        for r, rbm in enumerate(plan.origin.models):
            arrays |= {f"{i}.origin.{r}.{name}": getattr(rbm, name) for name in "Wbc"}
    if plan.checkpoint:
        arrays[f"{i}.begun"] = np.frombuffer(plan.checkpoint, np.uint8)
    said: dict[str, Any] = {
        "n_hidden": plan.n_hidden,
        "seed": plan.seed,
        "replicates": plan.replicates,
        "origin": origin,
    }
    said["trainer"] = changes[-1].algorithm.name
    said["changes"] = [[change.n, values_of(change.algorithm)] for change in changes]
    said["state"] = None
    if kept is not None:
        assert kept.stats is not None
        for r, checkpoint in enumerate(kept.checkpoints):
            arrays[f"{i}.checkpoint.{r}"] = np.frombuffer(checkpoint, np.uint8)
        points = [
            [p.update, p.seconds, *p.train, *p.test, *p.std_error, *p.ess, *p.monte_carlo, p.sweeps]
            for p in kept.likelihoods
        ]
        arrays[f"{i}.likelihoods"] = np.array(points, np.float64).reshape(-1, 3 + 5 * plan.replicates)
        arrays[f"{i}.clocks"] = np.array(kept.clocks, np.float64).reshape(-1, 3)
        shape = len(kept.clocks), len(kept.names), plan.replicates
        arrays[f"{i}.stats"] = kept.stats.astype(np.float64).reshape(shape)
        said["state"] = {"n": n, "names": kept.names, "stride": kept.stride}
    return said


# Reading


def read_training_file(content: bytes) -> TrainingFile:
    """Return the trainings that ``write_trainings`` saved.

    content : untrusted; it is accepted only with the shapes, types and ranges that this program writes

    Raises BadInput if the file exceeds the memory budget, or was not written by this program.
    """
    with _checked():
        arrays = read_npz(content, "The file of trainings", lambda name: True, _need)
        said = _json(arrays, "json")
        setup, titles = said["setup"], said["models"]
        _text(setup["dataset"])
        for name, least, most in (
            ("n_hidden", 1, MAX_HIDDEN),
            ("replicates", 1, MAX_REPLICATES),
            ("seed", 0, MAX_SAVED_SEED),
        ):
            _count(setup[name], least, most)
        if not isinstance(titles, list) or len(titles) > MAX_SAVED_MODELS:
            raise Damaged("models")
        models = {
            _text(title): load_model_bytes(_bytes(arrays, f"model.{i}"), "a saved model.safetensors")
            for i, title in enumerate(titles)
        }
        dataset = None if said["data"] is None else _read_data(said["data"], arrays)
        return TrainingFile(setup, dataset, models, arrays, _count(said["n_panels"], 0, MAX_SAVED_PANELS))


def _need(headers: Headers) -> int:
    """Return the peak memory; a packed byte of data is unpacked to eight bytes for checks."""
    return sum(
        (24 if name.startswith("data.") else 4) * header.nbytes + header.size
        for name, header in headers.items()
    )


def _json(arrays: Mapping[str, np.ndarray], name: str) -> Any:
    return read_json(text_of(arrays[name], name))


def _text(value: Any) -> str:
    if not isinstance(value, str) or len(value) > MAX_SAVED_TEXT:
        raise Damaged("a text")
    return printable(value)


def _count(value: Any, least: int = 0, most: int = LARGEST_SAVED_COUNT) -> int:
    if type(value) is not int or not least <= value <= most:
        raise Damaged("a number")
    return value


def _bytes(arrays: Mapping[str, np.ndarray], name: str) -> bytes:
    x = arrays[name]
    if x.dtype != np.uint8 or x.ndim != 1:
        raise Damaged(name)
    return x.tobytes()


def _floats(arrays: Mapping[str, np.ndarray], name: str, *shape: int) -> np.ndarray:
    """Return a float64 array with at most as many rows as a curve has points."""
    x = arrays[name]
    if x.dtype != np.float64 or x.shape[1:] != shape or x.ndim != 1 + len(shape) or len(x) > MAX_POINTS + 1:
        raise Damaged(name)
    return x


def _read_data(said: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> Dataset:
    """Return the uploaded data; ``Dataset`` checks rows, labels and class names."""
    n = _count(said["n_visible"], 1, MAX_SAVED_UNITS)
    fields: dict[str, Any] = {name: _text(said[name]) for name in ("name", "binarisation", "source")}
    for part in PARTS:
        packed = arrays[f"data.{part}"]
        if packed.dtype != np.uint8 or packed.ndim != 2 or packed.shape[1] != -(-n // 8):
            raise Damaged(part)
        fields[part] = np.unpackbits(packed, axis=1, count=n)
        labels = arrays.get(f"data.{part}_labels")
        if labels is not None and labels.dtype != np.int64:
            raise Damaged("labels")
        fields[f"{part}_labels"] = labels
    shape = said["image_shape"]
    if shape is not None:
        rows, columns = (_count(size, 1, MAX_SAVED_UNITS) for size in shape)
        if rows * columns != n:
            raise Damaged("the shape of images")
        fields["image_shape"] = rows, columns
    if "data.vocabulary" in arrays:
        words = _bytes(arrays, "data.vocabulary").decode()
        fields["vocabulary"] = tuple(map(printable, words.split("\n")))
    dataset = Dataset(**fields, classes=tuple(map(_text, said["classes"])))
    if not is_upload(dataset):  # its name would be taken for registered data
        raise Damaged("the name of the data")
    return dataset


def _read_panel(i: str, arrays: Mapping[str, np.ndarray], setup: TrainingSetup) -> SavedPanel:
    said = _json(arrays, f"{i}json")
    replicates = _count(said["replicates"], 1, MAX_REPLICATES)
    origin = _origin(i, said["origin"], arrays, replicates)
    begun = _bytes(arrays, f"{i}begun") if f"{i}begun" in arrays else b""
    plan = TrainingPlan(
        setup.dataset, _count(said["n_hidden"], 1), _count(said["seed"]), replicates, origin, begun
    )
    if origin is not None and any(
        rbm.W.shape != (setup.dataset.n_visible, plan.n_hidden) for rbm in origin.models
    ):
        raise Damaged("origin")
    changes = _changes(said["trainer"], said["changes"])
    if said["state"] is None:
        return SavedPanel(plan, changes, 0, None)
    return SavedPanel(plan, changes, *_state(i, said["state"], arrays, plan, changes))


def _origin(i: str, said: Any, arrays: Mapping[str, np.ndarray], replicates: int) -> Origin | None:
    if said is None:
        return None
    models = tuple(RBM(*(arrays[f"{i}origin.{r}.{name}"] for name in "Wbc")) for r in range(replicates))
    path = tuple((str(label)[:100], _count(update)) for label, update in said["path"])
    seconds, sweeps = float(said["seconds"]), float(said["sweeps"])
    if not (0 <= seconds < np.inf and 0 <= sweeps <= LARGEST_SAVED_COUNT) or len(path) > MAX_CHANGES:
        raise Damaged("origin")
    return Origin(models, _count(said["update"]), seconds, path, sweeps)


def _changes(name: str, said: list[Any]) -> tuple[Change, ...]:
    if not isinstance(name, str) or not 0 < len(said) <= MAX_CHANGES:
        raise Damaged("changes")
    changes = tuple(Change(_count(n), make_trainer(name, **knobs)) for n, knobs in said)
    first, *later = (change.n for change in changes)
    if later != sorted(set(later)) or min(later, default=first) < first:  # knobs may change before step 1
        raise Damaged("changes")
    for change in changes:
        _check_fixed(change.algorithm, changes[0].algorithm)
    return changes


def _check_fixed(trainer: Trainer, other: Trainer) -> None:
    """Refuse trainers that differ in a fixed knob, because a state's arrays depend on fixed knobs."""
    fixed = [name for name, knob in knobs_of(other).items() if not knob.live]
    if trainer.name != other.name or any(getattr(trainer, name) != getattr(other, name) for name in fixed):
        raise Damaged("a knob that is not live")


def _state(
    i: str,
    said: dict[str, Any],
    arrays: Mapping[str, np.ndarray],
    plan: TrainingPlan,
    changes: Sequence[Change],
) -> tuple[int, Kept]:
    """Return the number of steps, and the kept data of these steps."""
    R = plan.replicates
    checkpoints = tuple(_bytes(arrays, f"{i}checkpoint.{r}") for r in range(R))
    loaded = [load_checkpoint(content, plan.dataset.train) for content in checkpoints]
    updates = loaded[0].state.update
    for checkpoint in loaded:
        _check_fixed(checkpoint.trainer, changes[0].algorithm)
        state = checkpoint.state
        if state.theta.W.shape[1] != plan.n_hidden or state.update != updates:
            raise Damaged("a checkpoint")
    progress = tuple(checkpoint.trainer.step(checkpoint.state, 0) for checkpoint in loaded)
    n = _count(said["n"])
    if n != updates + (plan.origin.update if plan.origin else 0) or changes[-1].n > n:
        raise Damaged("n")
    names = tuple(said["names"])
    if names and sorted(names) != sorted(progress[0].stats):
        raise Damaged("names")
    clocks = _floats(arrays, f"{i}clocks", 3)
    stats = _floats(arrays, f"{i}stats", len(names), R) if names else np.zeros((0, 0, R))
    points = _floats(arrays, f"{i}likelihoods", 3 + 5 * R)
    for x in (clocks, points[:, [0, 1, -1]]):
        if not (np.isfinite(x) & (x >= 0) & (x <= LARGEST_SAVED_COUNT)).all():
            raise Damaged("a clock")
    if len(stats) != len(clocks):
        raise Damaged("stats")
    return n, Kept(
        tuple(Likelihood(int(p[0]), float(p[-1]), float(p[1]), *p[2:-1].reshape(5, R)) for p in points),
        checkpoints,
        progress,
        names,
        tuple((int(update), float(sweeps), float(seconds)) for update, sweeps, seconds in clocks),
        stats,
        _count(said["stride"], 1),
    )
