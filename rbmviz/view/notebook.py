"""Samplers that run live in a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rbmviz.datasets import AnyData
from rbmviz.errors import brought_by, known_keywords
from rbmviz.rbm.files import AnyModel
from rbmviz.samplers import AnySampler

if TYPE_CHECKING:
    from rbmviz.session import Start
    from rbmviz.view.widget import LiveSamplers


@known_keywords
def play(
    model: AnyModel,
    samplers: AnySampler | Sequence[AnySampler],
    dataset: AnyData | None = None,
    *,
    seed: int = 0,
    init: Start | None = None,
    cells: int = 8,
    speed: int = 60,
) -> LiveSamplers:
    """Show samplers that run live in a notebook: the browser draws the samples, and Python stays free.

    Parameters
    ----------
    model : Model, RBM, name or file
        The model to sample.
    samplers : sequence of Sampler, class or str, or one of them
        One to six, with one chain each: Gibbs sampling, rates-FPCD, rates-herding or sample penalization. A
        name may have knobs, ``"rates_fpcd:eps=0.1"``.
    dataset : Dataset, name, file or rows, optional
        Data for scores, classes and starts (default: the data that the model was trained on; without them
        nothing is scored).
    seed : int
        The first of ten seeds to choose from (default 0).
    init : "data" or "random", optional
        Whether the chains start at a held-out example or at random bits; default: data where there are some.
    cells : int
        Rows and columns of the pictures in each panel (default 8).
    speed : int
        Samples per second at first (default 60).

    Returns
    -------
    LiveSamplers
        The widget: put it on the last line of a cell. Read and set its traits ``knobs``, ``seed`` and
        ``playing``.

    Raises
    ------
    BadInput
        If a sampler cannot run in a browser, the model is too large for it, or anywidget is not installed
        (``pip install "rbmviz[notebook]"``).

    Examples
    --------
    >>> live = rbmviz.play("bas_pcd", ["gibbs", "rates_fpcd"])
    >>> live.knobs = [{"temperature": 2}, {"eps": 0.1}]
    >>> live.knobs[1]["eps"]
    0.1
    """
    with brought_by("notebook", "A live page in a notebook"):
        from rbmviz.view.widget import live_samplers
    return live_samplers(model, samplers, dataset, seed, init, cells, speed)
