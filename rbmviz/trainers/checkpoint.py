"""Checkpoints: a training as bytes, and back, so that it goes on to the very bits it would have had.

A line that says what it is, the SHA-256 of the rest, then safetensors: the arrays of the state, and
``json``, everything else. The state is walked as it is, so that a new trainer needs nothing here: its source
may be made of dataclasses, arrays, Parameters, numpy Generators and plain numbers.
"""

import dataclasses
import hashlib
import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from safetensors.numpy import load, save

from rbmviz import rng
from rbmviz.errors import BadInput
from rbmviz.knobs import values_of
from rbmviz.rbm import RBM
from rbmviz.trainers import Trainer, make_trainer, parts

MAGIC = b"rbmviz checkpoint 2\n"
START = len(MAGIC) + hashlib.sha256().digest_size


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A training read back: the trainer with its knobs, and the state it steps on from."""

    trainer: Trainer
    state: parts.State
    seed: Any


def save_checkpoint(trainer: Trainer, state: parts.State, seed: rng.Seed = 0) -> bytes:
    """Return a training as bytes; not while ``step`` runs in another thread.

    The training data are not among them, only their fingerprint. seed is kept for who resumes to compare.
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


def load_checkpoint(content: bytes, data: np.ndarray) -> Checkpoint:
    """Return the training that ``save_checkpoint`` wrote.

    Parameters
    ----------
    content : bytes
    data : uint8 (n, n_visible)
        The training data it was made with.

    Raises
    ------
    BadInput
        Where the bytes are no checkpoint or damaged, or the data are others.
    """
    if not content.startswith(MAGIC):
        raise BadInput(
            "This is not a checkpoint of this version of rbmviz: give the file that training wrote."
        )
    if content[len(MAGIC) : START] != hashlib.sha256(content[START:]).digest():
        raise BadInput("The checkpoint is damaged (its checksum is wrong): start anew, or take an older one.")
    arrays = load(content[START:])
    written = json.loads(arrays.pop("json").tobytes())
    if written["data"] != parts.Batches(data, np.random.default_rng(0)).fingerprint:
        raise BadInput(
            "The checkpoint was made with other training data: give the data set it was made with."
        )
    trainer = make_trainer(written["trainer"], **written["knobs"])
    theta = (arrays[f"state.theta.{name}"] for name in parts.Parameters._fields)
    state = _unpack(written["state"], arrays, trainer.init(RBM(*theta), data, 0))
    return Checkpoint(trainer, state, written["seed"])


def seed_name(seed: rng.Seed) -> Any:
    """Return a seed as JSON; a Generator has no name, for it has moved on."""
    if isinstance(seed, np.random.Generator):
        return None
    sequence = rng.seed_sequence(seed)
    return [sequence.entropy, list(sequence.spawn_key)]


def _pack(x: Any, name: str, arrays: dict[str, np.ndarray]) -> Any:
    if isinstance(x, np.ndarray):
        arrays[name] = x
        return {"$array": name}
    if isinstance(x, np.random.Generator):
        return {"$generator": x.bit_generator.state}
    if isinstance(x, parts.Parameters):
        return {"$parameters": [_pack(part, f"{name}.{key}", arrays) for key, part in x._asdict().items()]}
    if dataclasses.is_dataclass(x):
        saved = [field.name for field in dataclasses.fields(x) if field.metadata.get("saved", True)]
        return {key: _pack(getattr(x, key), f"{name}.{key}", arrays) for key in saved}
    return x


def _unpack(written: Any, arrays: dict[str, np.ndarray], fresh: Any) -> Any:
    match written:
        case {"$array": name}:
            return arrays[name].copy()
        case {"$generator": state}:
            generator = np.random.default_rng()
            generator.bit_generator.state = state
            return generator
        case {"$parameters": each}:
            return parts.Parameters(*(_unpack(part, arrays, None) for part in each))
        case dict():
            found = {key: _unpack(value, arrays, getattr(fresh, key)) for key, value in written.items()}
            return dataclasses.replace(fresh, **found)
    return written
