"""What a page says about one sample that a reader points at: its free energy, its nearest training image.

And about a drawing, a part of an image; about a hidden unit; and the free energies of data and samples.
"""

import base64
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from rbmviz import RBM
from rbmviz.datasets import Dataset
from rbmviz.metrics import Coverage
from rbmviz.metrics.coverage import COMPARED_EXAMPLES
from rbmviz.rbm import sigmoid
from rbmviz.rbm.clamp import Clamp
from rbmviz.session import Race, SamplingSnapshot
from rbmviz_app.stream.requests import TileRequest

TILE_SECONDS = 0.2
"""Minimum seconds between two answers to a browser; each takes a few milliseconds."""

ENERGY_BINS = 40
"""Number of bars of the histogram of free energies."""

MAX_ENERGIES, MAX_FILTERS, RESPONSES = 2000, 100, 8
"""Maximum number of free energies of a part of the data, of hidden units, and of images of a unit."""


def tile_of(race: Race[Any], asked: TileRequest) -> dict[str, Any]:
    """Return the answer to a browser, as JSON values: the request, and what ``image_facts`` returns.

    The answer has only the request if the panel is gone, or no longer has the sample.
    """
    answer: dict[str, Any] = asked._asdict()
    panel = next((panel for panel in race.panels if panel.key == asked.panel), None)
    snapshot = None if panel is None else panel.snapshot
    if panel is None or not isinstance(snapshot, SamplingSnapshot):
        return answer
    newest = snapshot.newest_samples
    row = asked.sample - newest.first
    if not 0 <= row < len(newest.v):
        return answer
    v = np.unpackbits(newest.v[row], count=newest.n_visible)
    return answer | image_facts(panel.plan.model.rbm, panel.plan.dataset, v)


def image_facts(rbm: RBM, dataset: Dataset | None, image: np.ndarray) -> dict[str, Any]:
    """Return what there is to say about an image, uint8 (n_visible,), as JSON values.

    ``energy`` is its free energy, ``p`` the probability of each pixel given the means of the hidden units
    that see the image. ``nearest`` is the nearest training example, if there are data: its bits, the pixels
    in which it differs, its free energy and, with labels, its class.
    """
    v = image[None]
    p = rbm.mean_visible(rbm.mean_hidden(v))[0]
    facts: dict[str, Any] = {"energy": float(rbm.free_energy(v)[0])}
    facts["p"] = _text(np.rint(255 * p).astype(np.uint8))
    if dataset is None:
        return facts
    coverage = Coverage(dataset, COMPARED_EXAMPLES)
    (index,), (distance,) = coverage.nearest(v)
    bits = coverage.packed[index].view(np.uint8)
    example = np.unpackbits(bits, count=len(image))
    facts["nearest"] = {
        "v": _text(bits),
        "differ": int(distance),
        "energy": float(rbm.free_energy(example[None])[0]),
        "of": None if coverage.labels is None else int(coverage.labels[index]),
        "unlike": bool(distance > coverage.threshold),
        "blank": bool(coverage.is_blank(v)[0]),
    }
    return facts


def drawing_facts(rbm: RBM, dataset: Dataset | None, clamp: Clamp) -> dict[str, Any]:
    """Return ``image_facts`` of a drawing, free pixels off; ``nearest``: the bits of the nearest example."""
    facts = image_facts(rbm, None, (clamp.units == 1).astype(np.uint8))
    if dataset is not None and len(dataset.train):
        facts["nearest"] = _text(np.packbits(dataset.train[clamp.differing(dataset.train).argmin()]))
    return facts


def energies_of_test(rbm: RBM, dataset: Dataset) -> dict[str, Any]:
    """Return the histogram of the free energies of test images (``energies_of_data``), as JSON values."""
    counts, edges = np.histogram(energies_of_data(rbm, dataset)["test data"], ENERGY_BINS)
    return {"counts": counts.tolist(), "lo": float(edges[0]), "hi": float(edges[-1])}


@functools.lru_cache(maxsize=4)
def energies_of_data(rbm: RBM, dataset: Dataset) -> dict[str, np.ndarray]:
    """Return the free energies of at most MAX_ENERGIES training and as many test examples, by name."""
    parts = {"training data": dataset.train, "test data": dataset.test}
    return {name: rbm.free_energy(rows[:: len(rows) // MAX_ENERGIES + 1]) for name, rows in parts.items()}


def energies_of_samples(rbm: RBM, snapshot: SamplingSnapshot) -> np.ndarray:
    """Return the free energies of the samples that were looked at; before that, of the newest ones, (n,)."""
    traces = snapshot.findings.traces if snapshot.findings is not None else None
    return rbm.free_energy(_newest(snapshot)) if traces is None else traces.energy.ravel()


def share_on(rbm: RBM, snapshot: SamplingSnapshot, unit: int) -> str:
    """Return the mean probability of a hidden unit given the newest samples, as text."""
    v = _newest(snapshot)
    return f"{_probability(rbm, v, unit).mean():.0%}" if len(v) else "?"


@functools.lru_cache(maxsize=16)
def unit_facts(rbm: RBM, dataset: Dataset, unit: int) -> dict[str, Any]:
    """Return a hidden unit's mean probability given training images, and the n that make it likeliest."""
    blocks = np.array_split(dataset.train, len(dataset.train) // 4096 + 1)
    p = np.concatenate([_probability(rbm, rows, unit) for rows in blocks])
    first = np.argsort(-p, kind="stable")[:RESPONSES]
    images = _text(np.packbits(dataset.train[first], axis=1))
    return {"share": float(p.mean()), "images": images, "n": len(first)}


def _newest(snapshot: SamplingSnapshot) -> np.ndarray:
    return np.unpackbits(snapshot.newest_samples.v, axis=1, count=snapshot.newest_samples.n_visible)


def _probability(rbm: RBM, v: np.ndarray, unit: int) -> np.ndarray:
    return sigmoid(v @ rbm.W[:, unit] + rbm.c[unit])


def hidden_units(rbm: RBM, others: Sequence[int]) -> tuple[list[int], str]:
    """Return the numbers of the hidden units with the largest weights and of others, and their filters."""
    largest = np.argsort(-np.square(rbm.W).sum(axis=0), kind="stable")[:MAX_FILTERS].tolist()
    units = sorted({*largest, *others})
    return units, _text(filters(rbm, units))


def filters(rbm: RBM, units: slice | Sequence[int]) -> np.ndarray:
    """Return the weights of hidden units, uint8 (units, n_visible): 128 is 0, 1 and 255 are the largest."""
    W = rbm.W[:, units].T
    largest = float(np.abs(W).max()) or 1.0
    return np.rint(128 + 127 * (W / largest)).astype(np.uint8)


def _text(values: np.ndarray) -> str:
    return base64.b64encode(values.tobytes()).decode()
