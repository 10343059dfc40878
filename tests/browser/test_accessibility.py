"""WCAG 2.2 AA on every page, in both themes, as far as axe-core can tell; texts of pictures; no warnings."""

from pathlib import Path

import axe_playwright_python
import pytest

pytestmark = pytest.mark.browser

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text()
"""axe-core, which the package brings: nothing is fetched."""

RULES = {
    "light": {
        "type": "tag",
        "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa", "best-practice"],
    },
    "dark": {"type": "rule", "values": ["color-contrast"]},
}
"""All rules on the light page; on the dark one, whose elements are the same, those about colours."""

PAGES = (
    *("", "train", "coupling", "weights", "chain", "chain?little=matrix", "tune", "papers", "glossary"),
    *("?present=1", "learn", "chain?lesson=stick&step=1"),
)

NOT_OURS = {
    ("empty-table-header", "th:nth-child(1)"): "Streamlit's table editor: the corner over the row numbers",
}
"""What we cannot reach, by rule and the end of the selector; an entry that is not needed fails the test."""

RUN = """async rules => (await axe.run(document, { runOnly: rules })).violations
    .flatMap(v => v.nodes.map(n => [v.id, n.target.flat(9).join(' '), n.html.slice(0, 200)]))"""

SPOKEN = """panels.every(p => [...p.querySelectorAll('canvas')].filter(c => c.offsetHeight).every(c =>
    c.ariaLabel && p.querySelector('#' + c.getAttribute('aria-describedby')).textContent.length > 20))"""


BACKGROUND = "getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor"


def found_on(page, path):
    """Open a page with all that unfolds; return what breaks the rules of each theme, and the warnings."""
    warnings, found = [], {}
    page.page.on("console", lambda told: warnings.append(told.text) if told.type == "warning" else None)
    page.page.emulate_media(color_scheme="light")
    page.page.goto(f"{page.address}/{path}")
    page.page.locator("h1").wait_for()
    if "lesson" in path:
        page.until("panels.length > 0 && panels.every(p => p.dataset.status === 'paused')")
    elif path not in ("chain?little=matrix", "papers", "glossary", "learn"):
        # The map of the Tune page is empty until somebody presses Start.
        page.until(
            "panels.length > 0 && panels.every(p => p.querySelector('.map') || Number(p.dataset.n) > 0)"
        )
        page.until(SPOKEN)
        page.ask("panels.forEach(p => p.querySelectorAll('details').forEach(d => { d.open = true; }))")
    if path == "papers":  # figure and reasons of an entry
        page.page.get_by_text("Figure, reasons, and how it is run").first.click()
    if path not in ("glossary", "tune", "learn") and "lesson" not in path:
        page.page.locator("[data-testid=stVegaLiteChart] :is(canvas, svg)").first.wait_for()
    if path == "chain?little=matrix":
        page.page.locator("[data-testid=stDataFrame] th").first.wait_for(state="attached")
    assert page.page.locator("h1").count() == 1
    page.page.evaluate(AXE)
    for scheme, background in (("light", "rgb(255, 255, 255)"), ("dark", "rgb(23, 22, 20)")):
        page.page.emulate_media(color_scheme=scheme)
        page.until(f"{BACKGROUND} === '{background}'")
        page.until(
            "document.getAnimations().every(a => !(a instanceof CSSTransition))"
        )  # of one theme's colours
        found[scheme] = page.page.evaluate(RUN, RULES[scheme])
    return found, warnings


def test_no_page_has_a_barrier_that_is_ours(live):
    page, needed = live(), set()
    for path in PAGES:
        found, warnings = found_on(page, path)
        for scheme, nodes in found.items():
            for rule, target, html in nodes:
                entry = next((key for key in NOT_OURS if key[0] == rule and target.endswith(key[1])), None)
                assert entry is not None, f"{path} ({scheme}): {rule} at {target}: {html}"
                needed.add(entry)
        assert [text for text in warnings if text.startswith("WARN")] == [], path
    assert needed == set(NOT_OURS)
