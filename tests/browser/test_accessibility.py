"""WCAG 2.2 AA on every page, in both themes, as far as axe-core can tell; texts of pictures; no warnings."""

import itertools
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

WORDIEST = {
    "papers": ".papers-entry",
    "glossary": "main li",
    "learn": ".lesson-picture",
}
"""The last to come on pages that ``test_first_screen`` does not open."""

THEMES = {"light": "rgb(255, 255, 255)", "dark": "rgb(23, 22, 20)"}
"""Background of each."""

PAGES = (
    *("", "train", "coupling", "weights", "chain", "tune", "papers", "glossary"),
    *("chain?little=landscape", "chain?little=matrix"),
    *("?present=1", "learn", "chain?lesson=stick&step=1"),
)

FIRST_SCREENS = ("", "train", "coupling", "weights", "tune", "chain?little=landscape")
"""Pages that ``test_first_screen`` opens, and checks for barriers, too."""

SLOW = "speed=5&pace=10&coupling_speed=1&weights_pace=1&land_pace=1&tune_speed=5"
"""What is looked at need not run fast meanwhile; of a lesson the step says how fast."""

THEME_OF = {path: [*THEMES][i % 2] for i, path in enumerate(PAGES)}
"""Each page in one theme; in the other one in the long form. ``test_colours`` measures contrasts in both."""
QUICK = [
    pytest.param(path, theme, marks=[pytest.mark.slow] * (path in ("?present=1", "glossary")))
    for path, theme in THEME_OF.items()
    if path not in FIRST_SCREENS
]
LONG = [pytest.param(path, [*THEMES][i % 2 - 1], marks=pytest.mark.slow) for i, path in enumerate(PAGES)]

NOT_OURS = {
    # Streamlit's table editor: the corner over the row numbers.
    "chain?little=matrix": [("empty-table-header", "th:nth-child(1)")],
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


def open_all(page, path):
    """Open a page with all that unfolds."""
    page.goto(f"{slowly(path)}")
    if path in WORDIEST:
        page.until(f"document.querySelector('{WORDIEST[path]}') && {SETTLED}")
        most = MOST_WORDS_OF_PAGE + 50 * (path == "papers")  # a line for each figure, more with each recipe
        assert page.page.evaluate(FIRST_SCREEN)["page"] <= most
    unfold(page, path)


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


@pytest.mark.parametrize(("path", "theme"), QUICK + LONG)
def test_no_page_has_a_barrier_that_is_ours(live, path, theme):
    page = live(color_scheme=theme)
    warnings = warnings_of(page)
    open_all(page, path)
    has_no_barrier(page, path, theme, warnings)


def has_no_barrier(page, path, theme, warnings):
    """Check an open page with all that unfolds, in this window and on a phone."""
    assert page.page.locator("h1").count() == 1
    page.page.evaluate(AXE)
    page.until(f"{BACKGROUND} === '{THEMES[theme]}'")
    page.until(SETTLED)
    barriers, expected = page.page.evaluate(RUN, RULES), NOT_OURS.get(path, [])
    assert [
        b for b in barriers if not any(b[0] == rule and b[1].endswith(end) for rule, end in expected)
    ] == []
    assert len({rule for rule, *_ in barriers}) == len(expected)
    page.page.set_viewport_size(PHONE)
    page.until(f"{WIDTH} <= {PHONE['width']}")
    assert page.page.evaluate(RUN, {"type": "rule", "values": ["button-name"]}) == []
    assert page.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert page.ask("panels[0]?.getBoundingClientRect().right ?? 0") <= PHONE["width"]
    if "present" not in path:  # which is for a projector
        assert page.page.evaluate(TOO_SMALL) == []
    assert [text for text in warnings if text.startswith("WARN")] == []


HEARD = """panel => {
    window.heard = [];
    new MutationObserver(() => window.heard.push(performance.now()))
        .observe(panel.querySelector('.spoken'), { childList: true });
}"""
"""From now on note when what a screen reader says of a panel changes."""


@pytest.mark.slow
def test_a_running_panel_speaks_every_two_seconds_at_most_and_only_if_it_has_the_focus(live):
    page = live().open("?model=bas_pcd&p=gibbs&p=rates_fpcd&speed=20")
    live_regions = "panels.map(p => p.querySelector('.spoken').ariaLive)"
    page.until(f"{live_regions}.every(said => said === 'off')")
    page.ask("panels[0].querySelector('input[type=range]').focus()")
    page.until(f"{live_regions}.join() === 'polite,off'")
    page.ask(f"({HEARD})(panels[0])")
    page.until("window.heard.length >= 3")
    heard = page.ask("window.heard")
    assert min(later - earlier for earlier, later in itertools.pairwise(heard)) >= 1900
