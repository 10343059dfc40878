"""Page that replays runs: one file with the samples, which needs no server or network.

It uses the scripts of the live pages. Its data are one frame, as on live pages (``view.frames``), compressed
and in base64, so that the title is the only user input in the HTML. The page's security policy allows its own
script and style, by their hashes, and nothing else.
"""

import base64
import hashlib
import html
import json
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from rbmviz.charts import Style, styled
from rbmviz.charts.style import colours, titles
from rbmviz.datasets import Dataset
from rbmviz.files.arrays import printable
from rbmviz.knobs import knobs_of, value_text, values_of
from rbmviz.metrics.coverage import VISITED_SHARE
from rbmviz.metrics.numbers import SCORES, Number
from rbmviz.paths import site_address
from rbmviz.samplers import Sampler
from rbmviz.session import RunHistory
from rbmviz.session.history import Kinds
from rbmviz.session.snapshot import FEWEST_SCORED
from rbmviz.view import PANEL_FOLDER, SHARED_SCRIPTS, VIEW_FOLDER
from rbmviz.view.curves import isl_plot, score_rows
from rbmviz.view.formulas import equation, equation_of, prose, symbols_of
from rbmviz.view.frames import Bits, Block, write_frame
from rbmviz.view.specs import about, class_names, class_shares, finite, rarest_first, readout_specs

SAMPLE_PANEL = VIEW_FOLDER / "sample" / "panel.js"

EXPORTED = re.compile(r"^export default component => mount\((\w+), component\);$", re.MULTILINE)
"""The last line of a page's ``panel.js``: it names the class that draws its panels."""

FASTEST = 5000
"""Maximum samples per second; at full speed, viewers would see nothing."""

COMPRESSION = 9
"""Compression level of deflate; the highest, because a file is made only once."""

PAGE_HTML = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
{meta}
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>{title}</title>
{styles}
</head>
<body>
{body}
</body>
</html>
"""
"""Template of the program's pages outside Streamlit."""

META = """<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="generator" content="rbmviz">
{preview}"""

PREVIEW, PREVIEW_SIZE = "play/preview.png", (1200, 630)
"""Picture on the site for previews of pages, and its size in pixels, that of networks' large previews."""

BODY = """<noscript>This page plays samples by a script of its own: allow scripts to see them.</noscript>
<main id="replay">
<p>Opening. If nothing else appears, the file is incomplete: copy or download it again.</p>
</main>
{data}
<script>{script}</script>"""


@dataclass(frozen=True, eq=False)
class Replay:
    """Runs of one model, shown side by side, with the text around them.

    title : heading, which is user input, as the caption may be
    caption : a sentence below the heading; "": none
    histories : the runs, from left to right
    dataset : data that define the samples' classes; None: no classes
    shape : (rows, columns); size of a sample, in pixels
    side : rows and columns of the square of samples in a panel (default 10)
    speed : initial samples per second (default 60)
    """

    title: str
    caption: str
    histories: Sequence[RunHistory]
    dataset: Dataset | None
    shape: tuple[int, int]
    side: int = 10
    speed: float = 60

    @cached_property
    def kinds(self) -> list[Kinds]:
        """The class of each sample of each run."""
        return [history.kinds(self.dataset) for history in self.histories]


def replay_html(replay: Replay) -> bytes:
    """Return the page, as the bytes of an HTML file."""
    script = shared_script() + "\nshowRuns((root, frame) => new ReplayPage(root, frame));\n"
    return assembled(replay.title, {"run": write_frame(*replay_frame(replay))}, script, about=replay.caption)


def assembled(
    title: str,
    frames: Mapping[str, bytes],
    script: str,
    policy: str = "",
    sheets: Iterable[str] = (),
    about: str = "",
) -> bytes:
    """Return a page with one script, and frames by the ``id`` of their elements.

    policy : further permissions of the security policy, beginning with sources of scripts
    sheets : further style sheets
    about : a sentence for previews of the page
    """
    style, data = "\n".join([page_style(), *sheets]), []
    for name, frame in frames.items():
        content = base64.b64encode(zlib.compress(frame, COMPRESSION)).decode()
        data.append(f'<script type="application/octet-stream" id="{name}">{content}</script>')
    return PAGE_HTML.format(
        meta=META.format(
            policy=security_policy([script], [style], policy), preview=preview_tags(title, about)
        ),
        title=html.escape(printable(title)),
        styles=f"<style>{style}</style>",
        body=BODY.format(data="\n".join(data), script=script),
    ).encode()


def preview_tags(title: str, about: str, page: str | None = None) -> str:
    """Return the tags of which chats and social networks make a preview of a page.

    page : its path on the site; None: a file, wherever it may be. Tags with an address need a published site.
    """
    site = site_address()
    tags = {"og:type": "website", "og:site_name": "rbmviz", "og:title": title, "og:description": about}
    tags |= {"description": about, "twitter:card": "summary_large_image" if site else "summary"}
    if site:
        width, height = map(str, PREVIEW_SIZE)
        tags |= {"og:image": f"{site}/{PREVIEW}", "og:image:width": width, "og:image:height": height}
    if site and page is not None:
        tags["og:url"] = f"{site}/{page}"
    texts = {name: html.escape(printable(text)) for name, text in tags.items() if text}
    kinds = {name: "property" if name.startswith("og:") else "name" for name in texts}
    return "\n".join(f'<meta {kinds[name]}="{name}" content="{text}">' for name, text in texts.items())


def security_policy(scripts: Iterable[str], styles: Iterable[str], more: str = "") -> str:
    """Return a policy that allows these scripts and styles only; more : see ``assembled``."""

    def hashes(texts: Iterable[str]) -> str:
        digests = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts)
        return " ".join(f"'sha256-{digest}'" for digest in digests) or "'none'"

    return (
        f"default-src 'none'; script-src {f'{hashes(scripts)} {more}'.strip()}; "
        f"style-src {hashes(styles)}; img-src data:; base-uri 'none'; form-action 'none'"
    )


def shared_script(*more: Path) -> str:
    """Return the scripts of the live panels and of this page, as one script without modules.

    more : ``panel.js`` of further pages
    """
    own = (VIEW_FOLDER / "curves.js", VIEW_FOLDER / "replay.js")
    panels = panels_script([SAMPLE_PANEL, *more])
    return "\n'use strict';\n" + "\n".join([panels, *(file.read_text("utf-8") for file in own)])


def panels_script(files: Iterable[Path]) -> str:
    """Return the shared scripts of panels, and ``PANEL_CLASSES``: the class that draws a page's panels.

    files : ``panel.js`` of each page; it has its own namespace
    """
    parts = [(PANEL_FOLDER / name).read_text("utf-8") for name in SHARED_SCRIPTS]
    parts.append("const PANEL_CLASSES = {")
    for file in files:
        own = EXPORTED.sub(r"return \1;", file.read_text("utf-8"))
        parts.append(f"{json.dumps(file.parent.name)}: (() => {{\n{own}\n}})(),")
    return "\n".join([*parts, "};"])


def page_style() -> str:
    """Return the style sheets of the page."""
    sheets = (PANEL_FOLDER / "theme.css", PANEL_FOLDER / "panel.css")
    files = (*sheets, VIEW_FOLDER / "curves.css", VIEW_FOLDER / "replay.css")
    return "\n".join(file.read_text("utf-8") for file in files)


def replay_frame(
    replay: Replay,
) -> tuple[dict[str, Any], list[tuple[dict[str, Any], Mapping[str, Block]]]]:
    """Return the content of the page for ``write_frame``: the data that all panels share, and the panels."""
    n_visible = replay.histories[0].n_visible
    algorithms = [history.algorithm for history in replay.histories]
    styles = styled(titles(algorithms), colours(algorithms))
    panels = [
        _panel(replay, key, style, history, kinds)
        for key, (style, history, kinds) in enumerate(
            zip(styles, replay.histories, replay.kinds, strict=True)
        )
    ]
    runs = zip(styles, replay.histories, strict=True)
    isl = isl_plot(styles).of([row for style, run in runs for row in score_rows(style.name, run)])
    page = page_data(replay.title, replay.caption, n_visible, replay.shape, replay.dataset)
    page |= {"side": replay.side, "speed": replay.speed, "isl": isl.content("ISL")}
    return page, panels


def page_data(
    title: str, caption: str, n_visible: int, shape: tuple[int, int], dataset: Dataset | None
) -> dict[str, Any]:
    """Return the data that all panels of a page share, without ``side``, ``speed`` and ``isl``."""
    return {
        "title": title,
        "caption": caption,
        "shape": list(shape),
        "n_visible": n_visible,
        "fewest_scored": FEWEST_SCORED,
        "visited_share": VISITED_SHARE,
        "classes": class_names(dataset),
        "data_shares": class_shares(dataset),
        "vocabulary": rarest_first(dataset, n_visible),
    }


def panel_data(key: int, style: Style, algorithm: Any, numbers: Iterable[Number]) -> dict[str, Any]:
    """Return a panel's spec, but no knobs."""
    return {
        "key": key,
        "label": style.name,
        "about": prose(about(algorithm)),
        "equation": equation(equation_of(algorithm), symbols_of(algorithm)),
        "colour": style.colour,
        "dash": style.dash,
        "knobs": [],
        "values": {},
        "multiples": [],
        "readouts": readout_specs(numbers),
    }


def scores_without_server(*, isl: bool, classes: bool, blank: bool, spurious: bool) -> list[Number]:
    """Return the numbers that a page without a server counts for a panel's samples."""
    names = {"isl"} if isl else set()
    names |= {"visited", "class_coverage", "switches"} if classes else set()
    names |= {"blank"} if blank else set()
    names |= {"spurious"} if spurious else set()
    return [number for number in SCORES if number.name in names]


def _panel(
    replay: Replay, key: int, style: Style, history: RunHistory, kinds: Kinds
) -> tuple[dict[str, Any], Mapping[str, Block]]:
    algorithm, points = history.algorithm, history.segments[0].curve
    curve = [[point.n, finite(point.isl), finite(point.std_error)] for point in points]
    numbers = scores_without_server(
        isl=bool(curve),
        classes=bool(class_names(replay.dataset)),
        blank=bool(len(kinds.blank)),
        spurious=bool(len(kinds.spurious)),
    )
    head = {
        "key": key,
        "first": history.first,
        "n_chains": algorithm.n_chains,
        "segments": [{"begin": 0, "curve": curve}],
        "knobs_at": [[0, knobs_text(algorithm)]],
        "spec": panel_data(key, style, algorithm, numbers),
    }
    blocks: dict[str, Block] = {"v": Bits(history.v, history.n_visible)}
    blocks |= {name: array for name, array in kinds._asdict().items() if len(array)}
    return head, blocks


def knobs_text(algorithm: Sampler) -> str:
    """Describe the knobs that can be turned during a run, and others that differ from their defaults."""
    parts, values = [], values_of(algorithm)
    for name, knob in knobs_of(algorithm).items():
        value = values[name]
        if knob.live or value != knob.default:
            parts.append(f"{knob.label[0].lower()}{knob.label[1:]} {value_text(value)}")
    return ", ".join(parts)
