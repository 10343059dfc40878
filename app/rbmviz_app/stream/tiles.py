"""What a page says about one sample that a reader points at: its free energy, its nearest training image."""

import base64
from typing import Any

import numpy as np

from rbmviz.metrics import Coverage
from rbmviz.metrics.coverage import COMPARED_EXAMPLES
from rbmviz.session import Race, SamplingSnapshot
from rbmviz_app.stream.requests import TileRequest

TILE_SECONDS = 0.2
"""Minimum seconds between two answers to a browser; each takes a few milliseconds."""


def tile_of(race: Race[Any], asked: TileRequest) -> dict[str, Any]:
    """Return the answer to a browser, as JSON values.

    ``energy`` is the sample's free energy under the page's model, ``p`` the probability of each pixel given
    the means of the hidden units that see the sample. ``nearest`` is the nearest training example, if there
    are data: its bits, the pixels in which it differs, its free energy and, with labels, its class.

    The answer has only the request if the panel is gone, or no longer has the sample.
    """
    answer: dict[str, Any] = asked._asdict()
    panel = next((panel for panel in race.panels if panel.key == asked.panel), None)
    snapshot = None if panel is None else panel.snapshot
    if panel is None or not isinstance(snapshot, SamplingSnapshot):
        return answer
    newest, rbm = snapshot.newest_samples, panel.plan.model.rbm
    row = asked.sample - newest.first
    if not 0 <= row < len(newest.v):
        return answer
    v = np.unpackbits(newest.v[row : row + 1], axis=1, count=newest.n_visible)
    p = rbm.mean_visible(rbm.mean_hidden(v))[0]
    answer |= {"energy": float(rbm.free_energy(v)[0]), "p": _text(np.rint(255 * p).astype(np.uint8))}
    if panel.plan.dataset is None:
        return answer
    coverage = Coverage(panel.plan.dataset, COMPARED_EXAMPLES)
    (index,), (distance,) = coverage.nearest(v)
    bits = coverage.packed[index].view(np.uint8)
    example = np.unpackbits(bits, count=newest.n_visible)
    answer["nearest"] = {
        "v": _text(bits),
        "differ": int(distance),
        "energy": float(rbm.free_energy(example[None])[0]),
        "of": None if coverage.labels is None else int(coverage.labels[index]),
        "unlike": bool(distance > coverage.threshold),
        "blank": bool(coverage.is_blank(v)[0]),
    }
    return answer


def _text(values: np.ndarray) -> str:
    return base64.b64encode(values.tobytes()).decode()
