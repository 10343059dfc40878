"""Attack on the pages: random links and uploads, by Streamlit's own test runner."""

import json
from pathlib import Path
from typing import Any

from streamlit.testing.v1 import AppTest

from rbmviz.datasets import list_datasets
from rbmviz.models import list_models
from rbmviz.registry import samplers, trainers
from tests.attack.families import Family, Refusals, make_data, make_model
from tests.attack.mutate import Rng, pick

KEYS = {
    "sample": "p model data kernel start seed view pixels cells speed axis present".split(),
    "train": "t train_data hidden rule begin train_seed replicates show train_pixels train_cells pace "
    "present".split(),
    "coupling": "c coupling_model coupling_visible coupling_hidden coupling_start coupling_seed lag "
    "coupling_statistic estimate_k coupling_speed".split(),
    "weights": "w weights_model weights_start weights_seed weights_pace".split(),
    "chain": "l land land_depth land_seed land_order land_pace little chain_steps chain_matrix".split(),
}
PANELS = {
    "sample": ("p", samplers),
    "train": ("t", trainers),
    "weights": ("w", trainers),
    "chain": ("l", samplers),
}
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
        "\x00",
        "%00",
    ),
    *(
        "/etc/passwd",
        "../../etc/passwd",
        "/etc/hosts.txt",
        "file:///etc/passwd",
        "<img src=x onerror=alert(1)>",
        ";",
    ),
    *("1,0;0,1", "0.5,0.5;0.5,0.5", "1,2;3,4", "1;1", "nan,nan;nan,nan", "-1,2;2,-1", ",;,", "1e400,0;0,1"),
    ";".join([",".join(["0.01"] * 100)] * 100),
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
    name = str(pick(rng, list(table)))
    knobs = [field for field in vars(table[name]) if not field.startswith("_")]
    values = ("1", "100", "0", "-1", "1e9", "nan", "inf", "0.5", "x", "", "10000", "1000000", "true", "mean")
    given = ",".join(f"{pick(rng, knobs)}={pick(rng, values)}" for _ in range(int(rng.integers(0, 4))))
    if rng.random() < 0.15:
        return str(pick(rng, TEXTS))
    return f"{name}:{given}" if given else name


def make_link(rng: Rng, folder: Path) -> dict[str, Any]:
    """Choose a page and the parts of its address."""
    page = str(pick(rng, list(KEYS)))
    query: dict[str, Any] = {}
    for _ in range(int(rng.integers(1, 4))):
        key = str(pick(rng, KEYS[page]))
        names = [
            *list_models(),
            *list_datasets(),
            *(f"{name}@{rng.integers(0, 9)}" for name in list_datasets()),
        ]
        numbers = [str(10 ** int(rng.integers(0, 12))), str(int(rng.integers(0, 100)))]
        query[key] = str(pick(rng, (names, numbers, TEXTS)[int(rng.integers(3))])).replace("\x00", "%00")
    if page in PANELS and rng.random() < 0.7:
        key, table = PANELS[page]
        many = int(pick(rng, (1, 2, 3, 4, 13, 150))) if rng.random() < 0.3 else 2
        query[key] = [_panel(rng, table).replace("\x00", "%00") for _ in range(many)]
    made: dict[str, Any] = {"page": page, "query": query}
    (folder / "link.json").write_text(json.dumps(made, indent=1))
    return made


def make_upload(rng: Rng, folder: Path) -> dict[str, Any]:
    """Choose a page with an upload, and write a damaged file for it."""
    page = str(pick(rng, ("sample", "train", "weights")))
    path = make_data(rng, folder)[0] if page == "train" else make_model(rng, folder)
    made = {"page": page, "query": {}, "upload": str(path)}
    (folder / "upload.json").write_text(json.dumps(made, indent=1))
    return made


def use_page(made: dict[str, Any]) -> Refusals:
    """Draw the page; what it says as an error is a refusal, an exception on it a defect."""
    test = AppTest.from_string(SCRIPT.format(made["page"]), default_timeout=100)
    for key, value in made["query"].items():
        test.query_params[key] = value
    if "upload" in made:
        path = Path(made["upload"])
        test.run()
        said = [element.value for element in test.exception]
        assert not said, f"an exception on the page: {said[0][:300]}"
        before = _said(test)
        upload = test.file_uploader[0]
        upload.set_value([(path.name, path.read_bytes(), "application/octet-stream")])
        test.run()
    else:
        before = []
        test.run()
    if test.exception:
        first = test.exception[0]
        raise AssertionError(
            f"an exception on the page: {first.value[:300]} {' '.join(first.stack_trace[-4:])}"
        )
    assert "passwd:" not in str(test.main) and "root:x:" not in str(test.main), "words of a local file"  # noqa: PT018
    return [text for text in _said(test) if text not in before]


def _said(test: AppTest) -> Refusals:
    return [element.value for element in (*test.error, *test.warning, *test.toast)]


PAGE_FAMILIES = [Family("link", make_link, use_page, 2), Family("upload", make_upload, use_page, 2)]
