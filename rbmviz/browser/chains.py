"""A chain as data for ``engine.js``: the arrays that ``init`` makes, with equal contents stored once.

Weights take the most space. The transposes of W and R are not stored. A large block stores the first byte of
every number, then the second bytes, and so on, so that signs and exponents compress well.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from rbmviz.errors import BadInput
from rbmviz.knobs import Knob, knobs_of
from rbmviz.rbm import RBM, Model
from rbmviz.registry import samplers
from rbmviz.samplers import Sampler
from rbmviz.samplers.fast_weights import follow_norm

KERNEL_KNOBS = {
    "gibbs": ("temperature", "k"),
    "driven": ("eps", "alpha", "k", "statistics"),
    "herding": ("eps", "alpha", "max_sweeps"),
    "tempering": ("k",),
}
"""Knobs that ``Chain.advance`` in ``engine.js`` accepts, by kernel; others keep their defaults."""

IN_STATE = {"tempering": ("n_replicas", "spacing", "burn_in", "lowest", "reference")}
"""Knobs that only ``init`` reads, by kernel: a page has its arrays."""

STORED_SEEDS = 10
"""Number of seeds with which a page can begin."""

MAX_LIVE_PANELS = 6
"""Maximum number of samplers in a page: each has a worker, and phones have few cores."""

SHUFFLED_BYTES = 100_000
"""Minimum size of a block whose bytes are stored by their position within a number."""


class Blocks:
    """Blocks of a frame by name; equal contents have one name."""

    def __init__(self) -> None:
        self.by_name: dict[str, np.ndarray] = {}
        self._names: dict[bytes, str] = {}

    def name(self, array: np.ndarray) -> str:
        """Return the name of the block with the bytes of an array."""
        content = np.ascontiguousarray(array).view(np.uint8).reshape(-1)
        digest = hashlib.sha256(content.data).digest()
        if digest not in self._names:
            self._names[digest] = f"b{len(self.by_name)}"
            large = content.nbytes >= SHUFFLED_BYTES
            self.by_name[self._names[digest]] = (
                np.ascontiguousarray(content.reshape(-1, array.itemsize).T) if large else content
            )
        return self._names[digest]


def leaves(path: str, state: Any) -> dict[str, Any]:
    """Return arrays and numbers of a state, or of a kernel's argument, by path: field names and dots.

    A model is no part of them: its parameters are among the arrays of the chain.
    """
    if isinstance(state, RBM):
        return {}
    if is_dataclass(state):
        parts = {field.name: getattr(state, field.name) for field in fields(state)}
    elif isinstance(state, tuple):
        parts = state._asdict()  # type: ignore[attr-defined]
    else:
        return {path: state}
    by_path: dict[str, Any] = {}
    for name, part in parts.items():
        by_path |= leaves(f"{path}.{name}" if path else name, part)
    return by_path


def kernel_of(sampler: Sampler | type[Sampler]) -> str:
    """Return the name of the kernel that has the steps of a sampler, for browsers; "" if there is none."""
    classes = map(vars, (sampler if isinstance(sampler, type) else type(sampler)).__mro__)
    return str(next(own for own in classes if own.keys() & {"kernel", "step", "_step"}).get("kernel", ""))


def check_runs(sampler: Sampler) -> None:
    """Raise BadInput unless a browser can run the sampler."""
    if kernel_of(sampler) not in KERNEL_KNOBS:
        others = ", ".join(name for name in samplers if kernel_of(samplers[name]) in KERNEL_KNOBS)
        raise BadInput(f"{sampler.name} has no form for browsers; {others} have one.")
    taken = (*turnable(sampler), *IN_STATE.get(kernel_of(sampler), ()), "share")  # one chain shares nothing
    for name, knob in knobs_of(sampler).items():
        value = getattr(sampler, name)
        if name not in taken and value != knob.default:
            raise BadInput(
                f"{sampler.name}: browsers run it with {name} = {knob.default} only, and not {value}."
            )


def turnable(sampler: Sampler) -> dict[str, Knob]:
    """Return the knobs that can be turned while a browser runs the chain, by name."""
    names = KERNEL_KNOBS[kernel_of(sampler)]
    return {name: knob for name, knob in knobs_of(sampler).items() if name in names}


def chain_spec(
    sampler: Sampler, model: Model, starts: Sequence[tuple[int, np.ndarray | None]], blocks: Blocks
) -> dict[str, Any]:
    """Return the data of a chain, see ``ChainSpec`` in ``engine.js``; contents are added to the blocks.

    starts : sequence of (seed, v0), at least one, all with v0 or all without; see ``Sampler.init``
    """
    check_runs(sampler)
    states = (leaves("", follow_norm(sampler.init(model, seed, v0))) for seed, v0 in starts)
    first = next(states)
    numbers = {path: first.pop(path) for path in [*first] if isinstance(first[path], int)}
    sources = {path: _source(path, first, blocks) for path in first}
    changed: list[dict[str, Any]] = [{}]
    for state in states:
        other = {path for path in first if not np.array_equal(_bytes(state[path]), _bytes(first[path]))}
        changed.append({path: _source(path, state, blocks) for path in sorted(other)})
    return {
        "kind": kernel_of(sampler),
        "n_visible": model.rbm.n_visible,
        "n_hidden": model.rbm.n_hidden,
        "numbers": numbers,
        "arrays": {path: [kind_of(x), list(x.shape), sources[path]] for path, x in first.items()},
        "drawn": starts[0][1] is None,
        "starts": [{"seed": seed, "changed": part} for (seed, _), part in zip(starts, changed, strict=True)],
    }


def kind_of(array: np.ndarray) -> str:
    """Return the name of an array's dtype, or of its records."""
    return array.dtype.type.__name__ if array.dtype.fields else array.dtype.name


def _bytes(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array).view(np.uint8)


def _source(path: str, state: dict[str, np.ndarray], blocks: Blocks) -> str | list[str] | None:
    """Return the source of an array's content: none (zeros), a block, or its transpose."""
    array = state[path]
    if not _bytes(array).any():
        return None
    twin = "up" + path.removeprefix("down")
    if path.startswith("down.") and path.endswith(".weights") and twin in state:
        m, n = len(state[twin]), len(array)
        transposed = np.zeros_like(array)
        transposed[:, :m] = state[twin][:, :n].T
        if np.array_equal(_bytes(transposed), _bytes(array)):
            return [twin]
    return blocks.name(array)
