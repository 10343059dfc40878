"""``python docs/_play/live_page.py FOLDER``: the live page of the site, a folder that phones open in seconds.

The page has a stored picture of the first samples, then loads its scripts and kernels and a small model, then
a larger one, and the largest on a click. Each is a file, compressed here, because many servers do not. The
single file of ``rbmviz play`` needs no server (``live``).
"""

import argparse
import base64
import html
import io
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from rbmviz.charts import styled
from rbmviz.charts.style import colours, titles
from rbmviz.datasets import data_of
from rbmviz.errors import BadInput
from rbmviz.knobs import values_of
from rbmviz.models import load_model
from rbmviz.samplers import make_sampler
from rbmviz.session import RunHistory, SamplingRun, SamplingSetup
from rbmviz.support.notebook import GAP, mosaic
from rbmviz.view import VIEW_FOLDER
from rbmviz.view.frames import write_frame
from rbmviz.view.live import Engine, Live, kernels_of_page, live_page, live_script, starts_of
from rbmviz.view.moving import BETWEEN, DARK, PAPER, replay_picture
from rbmviz.view.replay import (
    COMPRESSION,
    META,
    PAGE_HTML,
    PREVIEW,
    PREVIEW_SIZE,
    Replay,
    page_style,
    preview_tags,
    security_policy,
)
from rbmviz.view.specs import shape_of

HERE = Path(__file__).parent

TITLE = "Four ways to draw from one model. Which get stuck?"
ABOUT = (
    "Markov chains that mix, and others that do not, live in your browser: drag a knob and free one that is "
    "stuck. Nothing to install."
)
SAMPLERS = "rates_fpcd:eps=0", "gibbs", "rates_herding", "sample_penalization"
"""At step size 0 the first, which a phone shows, is the chain of Gibbs until a reader's first drag frees it.
In an address that names samplers all have their usual knobs."""


class SiteModel(NamedTuple):
    """A model of the page.

    about : the caption; seed : the first of the seeds to choose from
    """

    label: str
    about: str
    seed: int = 0


MODELS = {
    "bas_pcd": SiteModel(
        "Patterns", "Bars and stripes of 4 × 4 pixels. Drag the orange slider to free a stuck chain.", seed=4
    ),
    "usps_fpcd": SiteModel(
        "Small digits", "The strip names each digit. Drag the orange slider to free the chain that is stuck."
    ),
    "mnist_fpcd": SiteModel(
        "Large digits", "28 × 28 pixels. Drag the orange slider to free the chain that is stuck on a digit."
    ),
}
"""The first runs first, the second follows by itself, the others on a click."""

SIDE, SPEED = 7, 60
PREVIEW_SAMPLES = 400

PIXEL_INK, CELL_INK = 205, 12
"""Opacity of pixels that are on and off in the stored picture, which is black, and inverted in the dark."""

SITE_POLICY = "blob: 'wasm-unsafe-eval'; worker-src blob:; connect-src 'self'"
"""Permissions beyond the page's own script: unpack its other scripts and its models, which it fetches."""

BODY = """<main id="replay">
<h1>{title}</h1>
<div class="models" role="group" aria-label="Model">{buttons}</div>
<p class="caption">{caption}</p>
<div class="still"><div class="comparison shown">{panels}</div></div>
<nav class="doors" aria-label="Go on">
<p><b>Lessons in this tab</b> <a href="../_static/lesson_rbm.html">What is an RBM?</a>
<a href="../_static/lesson_stick.html">Why chains stick</a>
<a href="../_static/lesson_push.html">Pushing yourself away</a>
<a href="../_static/lesson_meet.html">Two chains that meet</a></p>
<p><b>The app</b> Training, couplings, tuning; your own data. <a href="../start.html">Install it</a>
<a href="../tour.html">Take the tour</a></p>
<p><b>Python</b> <code>rbmviz.sample("usps_fpcd", "gibbs")</code> <a href="../python.html">Begin</a>
<a href="../index.html">All pages</a></p>
</nav>
</main>
<noscript>These are stored samples: allow scripts to see them move.</noscript>
<script>{script}</script>"""

PANEL = """<section class="panel" data-sampler="{name}">
<header><span class="swatch"></span><h3>{label}</h3></header>
<div class="body"><div class="stage">
<img class="picture" alt="Stored samples of {label}" src="{picture}"></div></div>
</section>"""


def site_page(name: str) -> tuple[Live, bytes]:
    """Return a model of the page as ``Live``, and the bytes of its file."""
    model, chosen = load_model(name), MODELS[name]
    try:
        dataset = data_of(model)
    except BadInput:  # not on this machine: nothing is scored
        dataset = None
    setup = SamplingSetup(model, dataset, chosen.seed, "data")
    shape = shape_of(model.rbm.n_visible, model.meta.get("image_shape"), dataset)
    algorithms = [make_sampler(sampler) for sampler in SAMPLERS]
    live = Live(TITLE, chosen.about, model, algorithms, dataset, shape, starts_of(setup), SIDE, SPEED)
    engine = Engine(dataset)
    page, heads = live_page(live, engine)
    runs = engine.runs(algorithms, model, live.starts)
    usual = values_of(make_sampler(algorithms[0].name))
    data = {"page": page | {"model": name}, "heads": heads, "live": runs, "usual": usual}
    return live, zlib.compress(engine.frame(data, whole=False), COMPRESSION)


def _histories(live: Live, n: int) -> list[RunHistory]:
    """Return the first n samples of each panel, those that the browser makes."""
    seed, _ = live.starts[0]
    plan = SamplingSetup(live.model, live.dataset, seed, "data").plan()
    runs = [SamplingRun(1, plan, sampler) for sampler in live.samplers]
    for run in runs:
        run.prepare()
        while run.n < n:
            run.record_steps(run.timed_advance(min(run.max_steps(), n - run.n)))
        run.complete()
    return [RunHistory.of(run) for run in runs]


def _stills(live: Live) -> Iterator[str]:
    """Return the panels as the page has them before its script: the first samples, dark on nothing."""
    histories = _histories(live, SIDE**2)
    styles = styled(titles(live.samplers), colours(live.samplers))
    for sampler, style, history in zip(live.samplers, styles, histories, strict=True):
        v = np.unpackbits(history.v, axis=1, count=history.n_visible)
        grey, content = (
            np.pad(mosaic(v.astype(float), live.shape, SIDE), 1, constant_values=GAP),
            io.BytesIO(),
        )
        ink = np.where(grey == 0, PIXEL_INK, np.where(grey == 255, CELL_INK, 0)).astype(np.uint8)
        Image.fromarray(np.stack([0 * grey, ink], axis=2)).save(content, "PNG", optimize=True)
        source = f"data:image/png;base64,{base64.b64encode(content.getvalue()).decode()}"
        label = html.escape(style.name)
        yield PANEL.format(name=sampler.name, label=label, picture=source)


def write_site(folder: Path) -> None:
    """Write the page, its scripts, its models, and the picture for previews to a folder."""
    own, kernels = kernels_of_page()
    lives, files = {}, {"engine": zlib.compress(write_frame(own, [({}, kernels)]), COMPRESSION)}
    script = "\n".join([live_script(), (HERE / "live_page.js").read_text("utf-8")])
    files["page"] = zlib.compress(script.encode(), COMPRESSION)
    for name in MODELS:
        lives[name], files[name] = site_page(name)
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / f"{name}.bin").write_bytes(content)
    first, *_, last = lives.values()
    (folder / Path(PREVIEW).name).write_bytes(preview_png(last))
    sizes = {name: len(files[name]) for name in MODELS}
    begin = (HERE / "begin.js").read_text("utf-8").replace("SIZES", json.dumps(sizes))
    accents = zip(first.samplers, colours(first.samplers), strict=True)
    own_style = [f"[data-sampler={each.name}] {{ --accent: {colour}; }}" for each, colour in accents]
    sheets = [file.read_text("utf-8") for file in (VIEW_FOLDER / "pen.css", HERE / "live_page.css")]
    style = "\n".join([*own_style, page_style(), *sheets])
    buttons = "".join(
        f'<button type="button" data-model="{name}" aria-pressed="{str(i == 0).lower()}">{each.label}'
        f"<small>{'' if i < 2 else f'{sizes[name] / 1e6:.1f} MB'}</small></button>"
        for i, (name, each) in enumerate(MODELS.items())
    )
    page = PAGE_HTML.format(
        meta=META.format(
            policy=security_policy([begin], [style], SITE_POLICY), preview=preview_tags(TITLE, ABOUT, "play/")
        ),
        title=TITLE,
        styles=f"<style>{style}</style>",
        body=BODY.format(
            title=TITLE, caption=first.caption, buttons=buttons, panels="".join(_stills(first)), script=begin
        ),
    )
    (folder / "index.html").write_text(page, "utf-8")


def preview_png(live: Live) -> bytes:
    """Return the picture for previews: the question, a stuck and a free chain after some hundred samples."""
    histories = _histories(live, PREVIEW_SAMPLES)[1:3]
    panels = replay_picture(Replay(live.title, "", histories, None, live.shape, SIDE, SPEED), PREVIEW_SAMPLES)
    panels = panels.resize((2 * panels.width, 2 * panels.height), Image.Resampling.NEAREST)
    sheet, content = Image.new("RGB", PREVIEW_SIZE, PAPER), io.BytesIO()
    left, font = (sheet.width - panels.width) // 2, ImageFont.load_default(38)
    ImageDraw.Draw(sheet).text((left + 2 * BETWEEN, 36), live.title, fill=DARK, font=font)
    sheet.paste(panels, (left, 100))
    sheet.save(content, "PNG", optimize=True)
    return content.getvalue()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="live_page.py", description=__doc__)
    parser.add_argument("folder", type=Path)
    write_site(parser.parse_args().folder)
