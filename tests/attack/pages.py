"""Attack on the pages: random links and uploads, by Streamlit's own test runner."""

import json
from pathlib import Path
from typing import Any

from streamlit.testing.v1 import AppTest

from rbmviz.datasets import list_datasets
from rbmviz.knobs import knobs_of
from rbmviz.models import list_models
from rbmviz.registry import samplers, trainers
from rbmviz_app.pages import settings
from tests.attack.families import Family, Refusals, make_data, make_model
from tests.attack.mutate import Rng, pick

PANELS = {"sample": ("p", samplers), "train": ("t", trainers), "weights": ("w", trainers)}
PANELS |= {"chain": ("l", samplers)}
PAGES = [*PANELS, "coupling"]
TEXTS = [
    *(
        "",
        "0",
        "-1",
        "1e308",
        "nan",
        "inf",
        "x",
        "true",
        "None",
        "[]",
        "9" * 30,
        "é" * 500,
        "a" * 5000,
        "%00",
    ),
    *("/etc/passwd", "../../etc/passwd", "file:///etc/passwd", "<img src=x onerror=alert(1)>", ";"),
    *("1,0;0,1", "1,2;3,4", "1;1", "nan,nan;nan,nan", "-1,2;2,-1", ",;,", "1e400,0;0,1"),
    ";".join([",".join(["0.001"] * 1000)] * 1000),
]
SCRIPT = """
from rbmviz_app.links import open_link
from rbmviz_app.pages.{0} import page

open_link("{0}")
page.main()
"""
"""A page as the app draws it: after the address has been read."""


def _panel(rng: Rng, table: Any) -> str:
    if rng.random() < 0.15:
        return str(pick(rng, TEXTS))
    name = str(pick(rng, list(table)))
    values = ("1", "100", "0", "-1", "1e9", "nan", "inf", "0.5", "x", "", "10000", "1000000", "true", "mean")
    knobs = [f"{pick(rng, list(knobs_of(table[name])))}={pick(rng, values)}" for _ in range(rng.integers(4))]
    return f"{name}:{','.join(knobs)}" if knobs else name


def make_link(rng: Rng, folder: Path) -> tuple[str, dict[str, Any], Path | None]:
    """Choose a page and the parts of its address."""
    page = str(pick(rng, PAGES))
    query: dict[str, Any] = {}
    names = [*list_models(), *list_datasets(), *(f"{name}@{rng.integers(0, 9)}" for name in list_datasets())]
    for _ in range(int(rng.integers(1, 4))):
        numbers = [str(10 ** int(rng.integers(0, 12))), str(int(rng.integers(0, 100)))]
        query[pick(rng, [*settings(page), "present", "little"])] = pick(
            rng, pick(rng, (names, numbers, TEXTS))
        )
    if page in PANELS and rng.random() < 0.7:
        key, table = PANELS[page]
        query[key] = [_panel(rng, table) for _ in range(pick(rng, (1, 2, 2, 2, 4, 13, 150)))]
    (folder / "link.json").write_text(json.dumps([page, query]))
    return page, query, None


def make_upload(rng: Rng, folder: Path) -> tuple[str, dict[str, Any], Path | None]:
    """Choose a page with an upload, and write a damaged file for it."""
    page = str(pick(rng, ("sample", "train", "weights")))
    return page, {}, make_data(rng, folder)[0] if page == "train" else make_model(rng, folder)


def use_page(made: tuple[str, dict[str, Any], Path | None]) -> Refusals:
    """Draw the page; what it says as an error is a refusal, an exception on it a defect."""
    page, query, file = made
    test = AppTest.from_string(SCRIPT.format(page), default_timeout=100)
    for key, value in query.items():
        test.query_params[key] = value
    test.run()
    before = _said(test) if file else []
    if file:
        test.file_uploader[0].set_value([(file.name, file.read_bytes(), "application/octet-stream")])
        test.run()
    for each in test.exception:
        raise AssertionError(f"an exception on the page: {each.value[:300]} {each.stack_trace[-4:]}")
    assert "root:x:" not in str(test.main), "words of a local file"
    return [text for text in _said(test) if text not in before]


def _said(test: AppTest) -> Refusals:
    return [element.value for element in (*test.error, *test.warning, *test.toast)]


PAGE_FAMILIES = [Family("link", make_link, use_page, 2), Family("upload", make_upload, use_page, 2)]
