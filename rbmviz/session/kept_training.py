"""The trainings of a page as bytes, and back: their states, curves, beginnings and turned knobs.

An .npz: ``json`` says what the panels are, the arrays are numbered by panel. Each state is a checkpoint,
which ``load_checkpoint`` checks; all else is checked here. The data are not in it, only their fingerprint.
"""

import io
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from rbmviz.array_files import Damaged, Headers, read_json, read_npz, text_of
from rbmviz.errors import BadInput
from rbmviz.knobs import current_names, knobs_of, values_of
from rbmviz.rbm import RBM
from rbmviz.registry import trainers
from rbmviz.session.comparison import Comparison
from rbmviz.session.rebuild import MAX_CHANGES, Change
from rbmviz.session.training import (
    MAX_POINTS,
    Kept,
    Likelihood,
    Origin,
    TrainingPlan,
    TrainingRun,
    TrainingSetup,
)
from rbmviz.trainers import Trainer, make_trainer
from rbmviz.trainers.checkpoint import load_checkpoint

MAX_KEPT_PANELS, MAX_KEPT_REPLICATES = 100, 100
"""Larger numbers in a file are damage: no page has so many."""

LARGEST_KEPT_COUNT = 2**53

WRITTEN_ELSEWHERE = "What this link has kept is not what this program writes"


class KeptPanel(NamedTuple):
    """One training: plan, steps, changes; ``Worker.continue_from`` goes on at step n if ``kept`` is there."""

    plan: TrainingPlan
    changes: tuple[Change, ...]
    n: int
    kept: Kept | None


def write_trainings(comparison: Comparison[TrainingSetup]) -> bytes:
    """Return the trainings of all panels as bytes.

    A training that has failed or has made no update is written without its state: it begins anew.
    """
    arrays: dict[str, np.ndarray] = {}
    panels = []
    for i, (_, worker) in enumerate(comparison.panels):
        recorded = worker.rebuild_data(TrainingRun.whole_state)
        plan, n, changes, kept = recorded or (worker.plan, 0, (Change(0, worker.algorithm),), None)
        panels.append(_panel(i, plan, n, changes, kept, arrays))
    setup = comparison.setup
    page = {**setup._asdict(), "dataset": setup.dataset.name}
    content = io.BytesIO()
    text = json.dumps({"setup": page, "panels": panels})
    np.savez(content, json=np.array(text), **arrays)  # type: ignore[arg-type]
    return content.getvalue()


def _panel(
    i: int,
    plan: TrainingPlan,
    n: int,
    changes: Sequence[Change],
    kept: Kept | None,
    arrays: dict[str, np.ndarray],
) -> dict[str, Any]:
    """Return what the JSON says of a panel; its arrays are added to ``arrays``."""
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
            [p.update, p.seconds, *p.train, *p.test, *p.std_error, *p.ess, p.sweeps] for p in kept.likelihoods
        ]
        arrays[f"{i}.likelihoods"] = np.array(points, np.float64).reshape(-1, 3 + 4 * plan.replicates)
        clocks = [(update, seconds, sweeps) for update, sweeps, seconds in kept.clocks]
        arrays[f"{i}.clocks"] = np.array(clocks, np.float64).reshape(-1, 3)
        shape = len(kept.clocks), len(kept.names), plan.replicates
        arrays[f"{i}.stats"] = kept.stats.astype(np.float64).reshape(shape)
        said["state"] = {"n": n, "names": kept.names, "stride": kept.stride}
    return said


def read_trainings(content: bytes, setup: TrainingSetup) -> list[KeptPanel]:
    """Return the panels that ``write_trainings`` wrote.

    Parameters
    ----------
    content : bytes
        Not trusted: what gets through has the shapes, types and ranges that a training makes.
    setup : TrainingSetup
        That of the page; its data must be those that were learned from.

    Raises
    ------
    BadInput
        If it belongs to another setup, does not fit into the memory budget, or was not written here.
    """
    try:
        arrays = read_npz(content, "What this link has kept", lambda name: True, _need)
        said = read_json(text_of(arrays.pop("json", None), "json"))
        page = {**setup._asdict(), "dataset": setup.dataset.name}
        if said["setup"] != page:
            raise BadInput("What this link has kept was trained with other settings than the link has.")
        if not isinstance(said["panels"], list) or len(said["panels"]) > MAX_KEPT_PANELS:
            raise Damaged("panels")
        return [_read_panel(f"{i}.", panel, arrays, setup) for i, panel in enumerate(said["panels"])]
    except (Damaged, KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        if isinstance(error, BadInput):
            raise
        raise BadInput(f"{WRITTEN_ELSEWHERE}.") from None


def _need(headers: Headers) -> int:
    return sum(4 * header.nbytes for header in headers.values())


def _count(value: Any, least: int = 0, most: int = LARGEST_KEPT_COUNT) -> int:
    if type(value) is not int or not least <= value <= most:
        raise Damaged("a number")
    return value


def _bytes(arrays: Mapping[str, np.ndarray], name: str) -> bytes:
    x = arrays[name]
    if x.dtype != np.uint8 or x.ndim != 1:
        raise Damaged(name)
    return x.tobytes()


def _floats(arrays: Mapping[str, np.ndarray], name: str, *shape: int) -> np.ndarray:
    """Return an array, float64; the first axis has as many rows as it has, at most those of a curve."""
    x = arrays[name]
    if x.dtype != np.float64 or x.shape[1:] != shape or x.ndim != 1 + len(shape) or len(x) > MAX_POINTS + 1:
        raise Damaged(name)
    return x


def _with_sweeps(arrays: Mapping[str, np.ndarray], name: str, columns: int) -> np.ndarray:
    """Return an array, float64, whose last column are sweeps: 0 in files from before they were counted."""
    if arrays[name].ndim == 2 and arrays[name].shape[1] == columns:
        found = _floats(arrays, name, columns)
        return np.hstack([found, np.zeros((len(found), 1))])
    return _floats(arrays, name, columns + 1)


def _read_panel(
    i: str, said: dict[str, Any], arrays: Mapping[str, np.ndarray], setup: TrainingSetup
) -> KeptPanel:
    replicates = _count(said["replicates"], 1, MAX_KEPT_REPLICATES)
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
        return KeptPanel(plan, changes, 0, None)
    return KeptPanel(plan, changes, *_state(i, said["state"], arrays, plan, changes))


def _origin(i: str, said: Any, arrays: Mapping[str, np.ndarray], replicates: int) -> Origin | None:
    if said is None:
        return None
    models = tuple(RBM(*(arrays[f"{i}origin.{r}.{name}"] for name in "Wbc")) for r in range(replicates))
    path = tuple((str(label)[:100], _count(update)) for label, update in said["path"])
    # Files that were written before sweeps were counted have none.
    seconds, sweeps = float(said["seconds"]), float(said.get("sweeps", 0))
    if not (0 <= seconds < np.inf and 0 <= sweeps <= LARGEST_KEPT_COUNT) or len(path) > MAX_CHANGES:
        raise Damaged("origin")
    return Origin(models, _count(said["update"]), seconds, path, sweeps)


def _changes(name: str, said: list[Any]) -> tuple[Change, ...]:
    if not isinstance(name, str) or not 0 < len(said) <= MAX_CHANGES:
        raise Damaged("changes")
    cls = trainers[name]
    changes = tuple(Change(_count(n), make_trainer(name, **current_names(cls, knobs))) for n, knobs in said)
    if [change.n for change in changes] != sorted({change.n for change in changes}):
        raise Damaged("changes")
    for change in changes:
        _check_fixed(change.algorithm, changes[0].algorithm)
    return changes


def _check_fixed(one: Trainer, other: Trainer) -> None:
    """Refuse trainers that differ in a knob that no run changes: the arrays of a state depend on it."""
    fixed = [name for name, knob in knobs_of(other).items() if not knob.live]
    if one.name != other.name or any(getattr(one, name) != getattr(other, name) for name in fixed):
        raise Damaged("a knob that is not live")


def _state(
    i: str,
    said: dict[str, Any],
    arrays: Mapping[str, np.ndarray],
    plan: TrainingPlan,
    changes: Sequence[Change],
) -> tuple[int, Kept]:
    """Return the steps made and what was kept of them."""
    R = plan.replicates
    checkpoints = tuple(_bytes(arrays, f"{i}checkpoint.{r}") for r in range(R))
    found = [load_checkpoint(content, plan.dataset.train) for content in checkpoints]
    for one in found:
        _check_fixed(one.trainer, changes[0].algorithm)
        if one.state.theta.W.shape[1] != plan.n_hidden or one.state.update != found[0].state.update:
            raise Damaged("a checkpoint")
    progress = tuple(one.trainer.step(one.state, 0) for one in found)
    n = _count(said["n"])
    if n != found[0].state.update + (plan.origin.update if plan.origin else 0) or changes[-1].n > n:
        raise Damaged("n")
    names = tuple(said["names"])
    if not set(names) <= set(progress[0].stats) or len(set(names)) != len(names):
        raise Damaged("names")
    clocks = _with_sweeps(arrays, f"{i}clocks", 2)
    stats = _floats(arrays, f"{i}stats", len(names), R) if names else np.zeros((0, 0, R))
    if lacking := tuple(name for name in progress[0].stats if names and name not in names):
        # An earlier version computed fewer statistics.
        unknown = np.full((len(stats), len(lacking), R), np.nan)
        names, stats = (*names, *lacking), np.concatenate([stats, unknown], axis=1)
    points = _with_sweeps(arrays, f"{i}likelihoods", 2 + 4 * R)
    for x in (clocks, points[:, [0, 1, -1]]):
        if not (np.isfinite(x) & (x >= 0) & (x <= LARGEST_KEPT_COUNT)).all():
            raise Damaged("a clock")
    if len(stats) != len(clocks):
        raise Damaged("stats")
    return n, Kept(
        tuple(Likelihood(int(p[0]), float(p[-1]), float(p[1]), *p[2:-1].reshape(4, R)) for p in points),
        checkpoints,
        progress,
        names,
        tuple((int(update), float(sweeps), float(seconds)) for update, seconds, sweeps in clocks),
        stats,
        _count(said["stride"], 1),
    )
