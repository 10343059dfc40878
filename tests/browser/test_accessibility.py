"""WCAG 2.2 AA on every page, as far as axe-core can tell; texts of pictures; no warnings."""

from pathlib import Path

import axe_playwright_python
import pytest

from tests.browser.live import FIRST_SCREEN, PHONE, SETTLED

pytestmark = pytest.mark.browser

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text()
"""axe-core, which the package brings: nothing is fetched."""

RULES = {
    "type": "tag",
    "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa", "best-practice"],
}
MOST_WORDS_OF_PAGE = 250
"""With its folds closed."""

WORDIEST = {"papers": ".papers-entry", "glossary": "main li", "learn": ".small-picture"}
"""The last to come on pages that ``test_first_screen`` does not open."""

DARK = "rgb(23, 22, 20)"
"""Background of the dark theme."""

PAGES = ("chain", "papers", "glossary", "chain?little=matrix", "learn", "chain?lesson=stick&step=1")

FIRST_SCREENS = ("", "train", "coupling", "weights", "tune", "chain?little=landscape")
"""Pages that ``test_first_screen`` opens, and checks for barriers, too."""

BOTH_THEMES = ("", "coupling")
"""Pages whose contrasts are measured in the dark, too; ``test_colours`` measures those of all colours."""

SLOW = "speed=5&pace=10&coupling_speed=1&weights_pace=1&land_pace=1&tune_speed=5"
"""What is looked at need not run fast meanwhile; of a lesson the step says how fast."""

NOT_OURS = {
    # Streamlit's table editor: the corner over the row numbers.
    "chain?little=matrix": [("empty-table-header", "th:nth-child(1)")]
}
"""What we cannot reach: rules and ends of selectors by page; an entry that is not needed fails the test."""

RUN = """async rules => (await axe.run(document, { runOnly: rules, resultTypes: ['violations'] })).violations
    .flatMap(v => v.nodes.map(n => [v.id, n.target.flat(9).join(' '), n.html.slice(0, 200)]))"""

SPOKEN = """panels.every(p => [...p.querySelectorAll('canvas')].filter(c => c.offsetHeight).every(c =>
    c.ariaLabel && p.querySelector('#' + c.getAttribute('aria-describedby')).textContent.length > 20))"""

TOO_SMALL = """() => {
    const within = root => [...root.querySelectorAll('*')]
        .flatMap(e => [e, ...(e.shadowRoot ? within(e.shadowRoot) : [])]);
    const boxOf = e => e.getBoundingClientRect(), sizeOf = e => Math.min(boxOf(e).width, boxOf(e).height);
    return within(document.body)
        .filter(e => e.matches('a[href], button, input, select, summary, [role=button]'))
        .filter(e => !e.matches('[data-testid=stSidebar] *, [data-testid=stSlider] input, [role=combobox]'))
        .filter(e => e.checkVisibility({ opacityProperty: true, visibilityProperty: true }))
        .map(e => [e.outerHTML.slice(0, 150), Math.max(...[e, ...(e.labels ?? [])].map(sizeOf))])
        .filter(([, size]) => size > 1 && size < 23.5)
        .map(([html, size]) => ['below 24 pixels', String(size), html]);
}"""
"""What a finger would miss; Streamlit's sliders and lists are hit on their whole track and box."""

WIDTH = "document.querySelector('[data-testid=stMain]').scrollWidth"

BACKGROUND = "getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor"


def slowly(path):
    """Return the address of a page whose pictures need not move fast."""
    return path if "lesson" in path else f"{path}{'&' if '?' in path else '?'}{SLOW}"


@pytest.mark.parametrize("path", PAGES)
def test_no_page_has_a_barrier_that_is_ours(live, path):
    page = live()
    warnings = warnings_of(page)
    page.goto(slowly(path))
    if path in WORDIEST:
        page.until(f"document.querySelector('{WORDIEST[path]}') && {SETTLED}")
        most = MOST_WORDS_OF_PAGE + 50 * (path == "papers")  # a line for each figure, more with each recipe
        assert page.page.evaluate(FIRST_SCREEN)["page"] <= most
    unfold(page, path)
    has_no_barrier(page, path, warnings)


def unfold(page, path):
    """Wait until a page is whole, and open what folds."""
    page.page.locator("h1").wait_for()
    if "lesson" in path:
        page.until("panels.length > 0 && panels.every(p => p.dataset.status === 'paused')")
    elif path not in ("chain", "chain?little=matrix", "papers", "glossary", "learn"):
        # The map of the Tune page is empty until somebody presses Start.
        page.until(
            "panels.length > 0 && panels.every(p => p.querySelector('.map') || Number(p.dataset.n) > 0)"
        )
        page.until(SPOKEN)
        page.ask("panels.forEach(p => p.querySelectorAll('details').forEach(d => { d.open = true; }))")
    if path == "papers":
        page.page.locator(".papers-entry").first.wait_for(state="attached")
        page.ask("document.querySelectorAll('main details').forEach(d => { d.open = true; })")
        page.page.locator(".papers-entry img").first.wait_for()
        page.until("document.querySelector('.papers-entry img').naturalWidth > 0")
    if path not in ("chain", "glossary", "learn", "papers") and "lesson" not in path:
        page.page.locator(".plot canvas").filter(visible=True).first.wait_for()
    if path == "chain?little=matrix":
        page.page.locator("[data-testid=stDataFrame] th").first.wait_for(state="attached")


def warnings_of(page):
    """Return a list to which what the browser warns of is added."""
    warnings = []

    def note(told):
        if told.type == "warning":
            warnings.append(told.text)

    page.page.on("console", note)
    return warnings


def has_no_barrier(page, path, warnings):
    """Check an open page with all that unfolds, in this window and on a phone."""
    assert page.page.locator("h1").count() == 1
    page.page.evaluate(AXE)
    page.until(SETTLED)
    barriers, expected = page.page.evaluate(RUN, RULES), NOT_OURS.get(path, [])
    assert [
        b for b in barriers if not any(b[0] == rule and b[1].endswith(end) for rule, end in expected)
    ] == []
    assert len({rule for rule, *_ in barriers}) == len(expected)
    if path in BOTH_THEMES:
        page.page.emulate_media(color_scheme="dark")
        page.until(f"{BACKGROUND} === '{DARK}' && {SETTLED}")
        assert page.page.evaluate(RUN, {"type": "rule", "values": ["color-contrast"]}) == []
    page.page.set_viewport_size(PHONE)
    page.until(f"{WIDTH} <= {PHONE['width']}")
    assert page.page.evaluate(RUN, {"type": "rule", "values": ["button-name"]}) == []
    assert page.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert page.ask("panels[0]?.getBoundingClientRect().right ?? 0") <= PHONE["width"]
    assert page.page.evaluate(TOO_SMALL) == []
    assert [text for text in warnings if text.startswith("WARN")] == []
