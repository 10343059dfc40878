"""What a page says about one sample that a reader points at: its free energy, its nearest training image.

And about a drawing, which is an image like a sample.
"""

import base64
import functools
from typing import Any

import numpy as np

from rbmviz import RBM
from rbmviz.datasets import Dataset
from rbmviz.metrics import Coverage
from rbmviz.metrics.coverage import COMPARED_EXAMPLES
from rbmviz.session import Race, SamplingSnapshot
from rbmviz_app.stream.requests import TileRequest

TILE_SECONDS = 0.2
"""Minimum seconds between two answers to a browser; each takes a few milliseconds."""

ENERGY_BINS = 40
"""Number of bars of the histogram of free energies."""


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


@functools.lru_cache(maxsize=4)
def test_energies(rbm: RBM, dataset: Dataset) -> dict[str, Any]:
    """Return the histogram of the free energies of the test images, as JSON values."""
    counts, edges = np.histogram(rbm.free_energy(dataset.test), ENERGY_BINS)
    return {"counts": counts.tolist(), "lo": float(edges[0]), "hi": float(edges[-1])}


def _text(values: np.ndarray) -> str:
    return base64.b64encode(values.tobytes()).decode()
