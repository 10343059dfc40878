"""The live page as a notebook widget, wherever anywidget works.

Python receives the knobs of each run, not its samples: a cell cannot wait for a browser, because the kernel
reads messages only between cells. A second output beside the widget is for saved notebooks: pictures of the
samples, at first by Python and later the page's own, which the page hides while it is there.
"""

import contextlib
import html
import json
import re
import uuid
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import anywidget
import numpy as np
import traitlets

from rbmviz.browser.chains import MAX_LIVE_PANELS, turnable
from rbmviz.charts.style import titles
from rbmviz.datasets import AnyData, Dataset, as_dataset, data_of
from rbmviz.errors import BadInput, quoted, unknown
from rbmviz.knobs import Value, values_of
from rbmviz.models import describe_model, with_rates
from rbmviz.rbm import Model
from rbmviz.rbm.files import AnyModel, as_model
from rbmviz.samplers import AnySampler, Sampler, make_sampler, sample
from rbmviz.session import SamplingSetup, Start
from rbmviz.support import checks
from rbmviz.support.notebook import mosaic, png_url
from rbmviz.view import VIEW_FOLDER
from rbmviz.view.live import Live, check_playable, live_frames, live_script, starts_of
from rbmviz.view.replay import FASTEST, page_style
from rbmviz.view.specs import shape_of

PACKED = 1
"""Fastest compression level for the frames, because most notebooks run near their kernel."""


def _module() -> str:
    """Return the page's scripts as anywidget's module, in a function that gives each widget its own state."""
    style = re.sub(r":root\[(.*?)\]", r":host([\1])", page_style()).replace(":root", ":host")
    script = live_script() + "\n" + (VIEW_FOLDER / "widget.js").read_text("utf-8")
    style = re.sub(r"^body \{", ":host {", style, flags=re.MULTILINE)
    return f"export default () => {{\n{script}\nreturn notebookWidget({json.dumps(style)});\n}};\n"


class LiveSamplers(anywidget.AnyWidget):
    """Samplers that run in the browser, side by side; made by ``rbmviz.play``.

    Traits and page follow each other. A change on the page arrives about half a second later, or once the
    kernel is idle.

    Attributes
    ----------
    knobs : list of dict
        The knobs of each panel that can be turned while it runs. Knobs left out keep their values:
        ``live.knobs = [{}, {"eps": 0.1}]``.
    seed : int
        One of ten, beginning with the seed given to ``rbmviz.play``. A new seed restarts all runs.
    playing : bool
    error : str
        Sentence that explains why nothing runs; "" if there is no error.
    """

    _esm = _module()
    _run = traitlets.Bytes().tag(sync=True)
    _live = traitlets.Bytes().tag(sync=True)
    _stand_in = traitlets.Unicode().tag(sync=True)
    _still: traitlets.List[Any] = traitlets.List().tag(sync=True)
    knobs = traitlets.List(traitlets.Dict()).tag(sync=True)
    seed = traitlets.Int().tag(sync=True)
    playing = traitlets.Bool(True).tag(sync=True)
    error = traitlets.Unicode().tag(sync=True)

    def __init__(self, live: Live) -> None:
        self._samplers, self._seeds = live.samplers, [seed for seed, _ in live.starts]
        packed = {f"_{name}": zlib.compress(frame, PACKED) for name, frame in live_frames(live).items()}
        self._first, self._shown = live, None
        stand_in = f"rbmviz-{uuid.uuid4().hex}"
        super().__init__(
            knobs=[{} for _ in self._samplers], seed=self._seeds[0], _stand_in=stand_in, **packed
        )

    def _ipython_display_(self) -> None:
        from IPython.display import HTML, display

        widget, _ = self._repr_mimebundle_() or ({}, {})
        display(widget, raw=True)
        self._shown = display(HTML(self._repr_html_()), display_id=True)

    @traitlets.observe("_still")
    def _keep(self, _: Any) -> None:
        if self._shown is not None:
            from IPython.display import HTML

            self._shown.update(HTML(self._repr_html_()))

    def _repr_html_(self) -> str:
        """Return the newest picture of each panel; before the page sends any, the first ones, by Python."""
        figures = [
            f'<figure style="margin: 0"><img alt="Samples of {name}" src="{html.escape(str(url))}" '
            f'style="width: 240px; image-rendering: pixelated"><figcaption>{name}, {int(n):,} samples'
            "</figcaption></figure>"
            for name, (n, url) in zip(titles(self._samplers), self._still or self._first_still(), strict=True)
        ]
        style = "display: flex; flex-wrap: wrap; gap: 12px"
        return f'<div class="{self._stand_in}" style="{style}">{"".join(figures)}</div>'

    def _first_still(self) -> list[tuple[int, str]]:
        live, (seed, v0) = self._first, self._first.starts[0]
        n = live.side**2
        init: Start | None = "random" if v0 is None else None
        missing = live.shape[0] * live.shape[1] - live.model.rbm.n_visible  # as on the page, in the last row
        stills = []
        for sampler in live.samplers:
            v = sample(live.model, sampler, n, seed, v0, init).v.astype(np.float64)
            tiles = mosaic(np.pad(v, ((0, 0), (0, missing))), live.shape, live.side)
            stills.append((n, png_url(tiles)))
        return stills

    @traitlets.validate("knobs")
    def _check_knobs(self, proposal: Any) -> list[dict[str, Value]]:
        values, before = proposal["value"], self.knobs or [{} for _ in self._samplers]
        if len(values) != len(self._samplers):
            raise BadInput(f"knobs: give {len(self._samplers)} dicts, one a panel, and not {len(values)}.")
        return [
            _turned(sampler, {**old, **new})
            for sampler, old, new in zip(self._samplers, before, values, strict=True)
        ]

    @traitlets.validate("seed")
    def _check_seed(self, proposal: Any) -> int:
        seed: int = proposal["value"]
        if seed not in self._seeds:
            raise BadInput(f"The page has the seeds {', '.join(map(str, self._seeds))}, and not {seed}.")
        return seed


def _turned(sampler: Sampler, knobs: Mapping[str, Any]) -> dict[str, Value]:
    """Return the values of a sampler's knobs that the page can turn, with these changes."""
    live = list(turnable(sampler))
    for name in knobs:
        if name not in live:
            raise unknown(f"knob of a running {sampler.name}", name, live)
    values = values_of(replace(sampler, **knobs))  # type: ignore[type-var]
    return {name: values[name] for name in live}


def live_samplers(
    model: AnyModel,
    samplers: AnySampler | Sequence[AnySampler],
    dataset: AnyData | None,
    seed: int,
    init: Start | None,
    cells: int,
    speed: int,
) -> LiveSamplers:
    """Return the widget; see ``rbmviz.play``."""
    title = Path(model).stem if isinstance(model, str | Path) else "Live samplers"
    model = as_model(model)
    given = samplers if isinstance(samplers, Sequence) and not isinstance(samplers, str) else [samplers]
    algorithms = [make_sampler(sampler) for sampler in given]
    if not 1 <= len(algorithms) <= MAX_LIVE_PANELS:
        raise BadInput(f"play: {len(algorithms)} samplers: give one to {MAX_LIVE_PANELS}.")
    if init not in (None, "random", "data"):
        raise BadInput(f"play: init = {quoted(init)}: give 'random' or 'data'.")
    seed, cells = checks.whole("play: seed", seed), checks.whole("play: cells", cells, 1, 12)
    speed = checks.whole("play: speed", speed, 1, FASTEST)
    check_playable(algorithms, model)
    data = _data(model, dataset, needed=init == "data")
    if data is not None and model.rates is None and any(sampler.needs_rates for sampler in algorithms):
        model = with_rates(model, data)
    setup = SamplingSetup(model, data, seed, init or "data")  # without data they start at random bits
    shape = shape_of(model.rbm.n_visible, model.meta.get("image_shape"), data)
    caption = f"{describe_model(model)}. {setup.start_text()}"
    return LiveSamplers(Live(title, caption, model, algorithms, data, shape, starts_of(setup), cells, speed))


def _data(model: Model, dataset: AnyData | None, needed: bool) -> Dataset | None:
    if dataset is not None:
        given = as_dataset(dataset, held_out=True)
        return data_of(model, given.name or "The data", lambda _: given)
    with contextlib.nullcontext() if needed else contextlib.suppress(BadInput):
        return data_of(model)
    return None
