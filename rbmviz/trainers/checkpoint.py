"""Checkpoints: a training as bytes; resumed from them it ends with the same bits as without interruption.

A checkpoint consists of a line that names the format, the SHA-256 of the rest, and a safetensors file: the
arrays of the state, and an array ``json`` with everything else. The state is written field by field, so that
a new trainer needs no code here: its own state may consist of dataclasses, arrays, Parameters, numpy
Generators and plain numbers.

The checksum detects damage, not malice: anybody who writes a file can compute it. The state is therefore
compared with the one that the trainer's own ``init`` makes: arrays have the same dtype and shape, because
kernels do not check indices, and only an array of at most one row may have another number of rows.
"""

import dataclasses
import hashlib
import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from safetensors.numpy import load, save

from rbmviz import rng
from rbmviz.datasets import AnyData, rows_of
from rbmviz.errors import MAX_SHOWN, BadInput
from rbmviz.files.arrays import Damaged, damaged
from rbmviz.files.budget import check_state
from rbmviz.knobs import values_of
from rbmviz.rbm import RBM
from rbmviz.rbm.parameters import Parameters
from rbmviz.trainers import Trainer, make_trainer
from rbmviz.trainers.batches import Batches
from rbmviz.trainers.training import TrainingState

MAGIC = b"rbmviz checkpoint 2\n"
START = len(MAGIC) + hashlib.sha256().digest_size
"""Offset of the safetensors content."""

LARGEST_COUNT = 2**53
"""Largest integer in a state: float64 does not represent all larger ones."""


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A training that was read: the trainer with its knobs, its state, and the seed (see ``seed_name``)."""

    trainer: Trainer
    state: TrainingState
    seed: Any


def save_checkpoint(trainer: Trainer, state: TrainingState, seed: rng.Seed = 0) -> bytes:
    """Return a training as bytes; not to be called while ``step`` runs in another thread.

    The training data are not saved, only their fingerprint.

    trainer : the trainer
    state : its state, from ``trainer.init`` or after ``trainer.step``
    seed : the seed of the training, which ``train`` compares when it resumes (default 0)
    """
    arrays: dict[str, np.ndarray] = {}
    written = {
        "trainer": trainer.name,
        "knobs": values_of(trainer),
        "data": state.batches.fingerprint,
        "seed": seed_name(seed),
        "state": _pack(state, "state", arrays),
    }
    arrays["json"] = np.frombuffer(json.dumps(written).encode(), np.uint8)
    content = save(arrays)
    return MAGIC + hashlib.sha256(content).digest() + content


def load_checkpoint(content: bytes, data: AnyData) -> Checkpoint:
    """Return the training that ``save_checkpoint`` wrote.

    Parameters
    ----------
    content : bytes
        What ``save_checkpoint`` returned.
    data : uint8 (n, n_visible), or a data set, name or file
        The training data with which it was made.

    Raises
    ------
    BadInput
        If the bytes are not a checkpoint or are damaged, the data are different, the trainer would not write
        this content, or the state would not fit into ``budget.memory_budget()``.
    """
    data = rows_of("The training data", data, None, "train")
    if not isinstance(content, bytes) or not content.startswith(MAGIC):
        raise BadInput(
            "This is not a checkpoint of this version of rbmviz: give the file that training wrote."
        )
    if content[len(MAGIC) : START] != hashlib.sha256(content[START:]).digest():
        raise BadInput("The checkpoint is damaged (its checksum is wrong): start again, or use an older one.")
    try:
        with damaged():
            return _read(content[START:], data)
    except Damaged as error:
        raise BadInput(
            f"The checkpoint is not one that this version of rbmviz wrote ({str(error)[:MAX_SHOWN]}): start "
            "again, or use another."
        ) from None


def _read(content: bytes, data: np.ndarray) -> Checkpoint:
    arrays = load(content)
    written = json.loads(arrays.pop("json").tobytes())
    if written["data"] != Batches(data, np.random.default_rng(0)).fingerprint:
        raise BadInput(
            "The checkpoint was made with other training data: give the data set it was made with."
        )
    trainer = make_trainer(written["trainer"], **written["knobs"])
    if values_of(trainer).keys() != written["knobs"].keys() or not isinstance(written["seed"], list | None):
        raise Damaged("it lacks a knob, or the seed")
    begin = RBM(*(arrays[f"state.theta.{name}"] for name in Parameters._fields))
    what = "The training in the checkpoint"
    check_state(what, trainer, begin.n_visible, begin.n_hidden, "train with fewer chains")
    state = _value(written["state"], _example(trainer, begin, data), "state", arrays)
    if not state.averaged <= state.update or (state.mean is None) != (state.averaged == 0):
        raise Damaged(f"state.averaged does not fit {state.update} updates")
    if state.batches.order.size and not 0 <= state.batches.order.min() <= state.batches.order.max() < len(
        data
    ):
        raise Damaged("state.batches.order holds other rows than the data have")
    trainer.step(state, 0)  # fails if parts of the state do not fit each other
    return Checkpoint(trainer, state, written["seed"])


def _example(trainer: Trainer, begin: RBM, data: np.ndarray) -> TrainingState:
    """Return a state as it is after some updates, in which nothing is None that an update makes."""
    state = trainer.init(begin, data, 0)
    rows = np.zeros((0, begin.n_visible), np.float32)
    mean = Parameters(*(x.astype(np.float64) for x in state.theta))
    return dataclasses.replace(state, velocity=state.theta, mean=mean, batch=rows, samples=rows)


_NONE_AT_FIRST = ("state.velocity", "state.mean", "state.batch", "state.samples")


def _value(written: Any, like: Any, name: str, arrays: dict[str, np.ndarray]) -> Any:
    """Return the value that was written where the trainer's own state has ``like``."""
    if written is None and (like is None or name in _NONE_AT_FIRST):
        return None
    if isinstance(like, Parameters):
        return Parameters(
            *(
                _array(arrays, f"{name}.{key}", x, free=False)
                for key, x in zip(like._fields, like, strict=True)
            )
        )
    if isinstance(like, np.ndarray):
        return _array(arrays, name, like, free=len(like) < 2)
    if isinstance(like, np.random.Generator):
        generator = np.random.Generator(type(like.bit_generator)())
        generator.bit_generator.state = written["$generator"]
        return generator
    if dataclasses.is_dataclass(like):
        values = {
            field.name: _value(written[field.name], getattr(like, field.name), f"{name}.{field.name}", arrays)
            for field in _saved(like)
        }
        return dataclasses.replace(like, **values)  # type: ignore[type-var]
    if type(written) is not type(like):
        raise Damaged(f"{name} is not a {type(like).__name__}")
    known = math.isfinite(written) or math.isnan(like)
    if not known or abs(written) > LARGEST_COUNT or (isinstance(like, int) and written < 0):
        raise Damaged(f"{name} is out of range")
    return written


def _array(arrays: dict[str, np.ndarray], name: str, like: np.ndarray, free: bool) -> np.ndarray:
    """Return an array with the dtype and shape of ``like``; free: it may have another number of rows."""
    x = arrays[name]
    unknown = like.dtype.kind == "f" and bool(np.isnan(like).all())  # what is counted may be whole numbers
    wanted = (len(x), *like.shape[1:]) if free and x.ndim else like.shape
    if x.shape != wanted or (x.dtype != like.dtype and not (unknown and x.dtype == np.int64)):
        raise Damaged(f"{name} is {x.dtype} {x.shape}, not {like.dtype} {wanted}")
    return x.copy()


def _saved(record: Any) -> list[dataclasses.Field[Any]]:
    return [field for field in dataclasses.fields(record) if field.metadata.get("saved", True)]


def seed_name(seed: rng.Seed) -> Any:
    """Return a seed as JSON, or None for a Generator, whose original state is not known."""
    if isinstance(seed, np.random.Generator):
        return None
    sequence = rng.seed_sequence(seed)
    return [sequence.entropy, list(sequence.spawn_key)]


def _pack(x: Any, name: str, arrays: dict[str, np.ndarray]) -> Any:
    """Return x as JSON; arrays in it are added to ``arrays`` under their names, which begin with ``name``."""
    if isinstance(x, np.ndarray):
        arrays[name] = np.ascontiguousarray(x)  # safetensors writes memory as it lies
        return {"$array": name}
    if isinstance(x, np.random.Generator):
        return {"$generator": x.bit_generator.state}
    if isinstance(x, Parameters):
        return {"$parameters": [_pack(part, f"{name}.{key}", arrays) for key, part in x._asdict().items()]}
    if dataclasses.is_dataclass(x):
        return {
            field.name: _pack(getattr(x, field.name), f"{name}.{field.name}", arrays) for field in _saved(x)
        }
    if x is None or isinstance(x, int | float):
        return x
    raise BadInput(
        f"A checkpoint cannot contain {name}, a {type(x).__name__}: use an array, Parameters, a Generator, a "
        "dataclass or a number of Python."
    )
