"""Scripts of components and of the watchers' page, on an empty page without a server."""

import pytest
from playwright.sync_api import expect

from rbmviz.view import PANEL_FOLDER, SHARED_SCRIPTS, VIEW_FOLDER
from tests.browser.live import ROOT

pytestmark = pytest.mark.browser

APP = ROOT / "app" / "rbmviz_app"
SHARED = [PANEL_FOLDER / name for name in SHARED_SCRIPTS]

KNOB = """{ name: 'x', kind: 'float', label: 'X', symbol: '', help: '', range: '0 to 1', scale: 'linear',
    zero: false, choices: [], live: true, front: true, lo: 0, hi: 1 }"""

SOCKET = """
window.sockets = [];
window.WebSocket = class {
    static OPEN = 1;
    readyState = 0;
    sent = [];
    constructor() { sockets.push(this); }
    send(text) { this.sent.push(text); }
    close() {}
};
"""
"""In place of the browser's own: the test opens it, and hears what is sent."""

SHOW = """
window.wait = ms => new Promise(then => setTimeout(then, ms));
window.show = async (socket, head) => {
    const card = { head, title: 'T', text: [], question: [], answers: ['a', 'b'], right: -1, do: [],
        reveal: [], claims: [] };
    socket.readyState = 1;
    socket.onmessage({ data: JSON.stringify({ card }) });
    await wait(50);
};
window.vote = i => document.querySelectorAll('.ballot button')[i].click();
"""
"""For the watchers' page: a step with a question comes over a socket, and is answered."""

GRID = """
window.makeGrid = (more, Kind = SamplePanel) => new (class extends Grid { connect() {} })(document.body, {
    url: '', view: 'sequence', pixels: 'binary', side: 1, n_visible: 2, shape: [1, 2], present_knobs: [],
    classes: [], data_shares: [], panels: [{ key: 0, label: 'A', about: [], equation: [], colour: '#000000',
        dash: [], knobs: [], values: {}, multiples: [], readouts: [] }], ...more,
}, () => {}, Kind);
"""


@pytest.fixture
def scripts(chromium):
    """Return a function that opens an empty page with these scripts."""
    pages = []

    def make(*files, before="", after="", body=""):
        texts = [file.read_text() for file in files]
        pages.append(chromium.new_page())
        pages[-1].set_content(body)
        whole = "\n".join(text.replace("export default", "window.mounted =") for text in texts)
        pages[-1].add_script_tag(content=f"{before}\n{whole}\n{after}")
        return pages[-1]

    yield make
    for page in pages:
        page.close()


def test_the_button_of_a_menu_also_closes_it(scripts):
    place = "<div id='host'></div><div class='st-key-share-menu'><button>Copy</button></div>"
    page = scripts(SHARED[0], APP / "share" / "menu.js", body=place)
    page.evaluate("""() => {
        const parentElement = document.getElementById('host').attachShadow({ mode: 'open' });
        for (let i = 0; i < 2; i++) mounted({ data: { label: 'Share' }, parentElement });
    }""")
    button, menu = page.locator("#host button"), page.locator(".st-key-share-menu")
    for is_open in (True, False, True):
        button.click()
        assert menu.evaluate("menu => menu.matches(':popover-open')") == is_open
        expect(button).to_have_attribute("aria-expanded", str(is_open).lower())
    page.keyboard.press("Escape")
    assert not menu.evaluate("menu => menu.matches(':popover-open')")


def test_a_vote_is_sent_once_the_page_is_connected_and_only_for_the_open_step(scripts):
    files = [*SHARED, VIEW_FOLDER / "curves.js", APP / "share" / "lesson_card.js", APP / "share" / "watch.js"]
    before = f"{SOCKET}const PANEL_CLASSES = {{}}, drawUnits = () => {{}};"
    page = scripts(*files, before=before, after=SHOW, body="<main id='watch'></main>")
    sent = page.evaluate("""async () => {
        await show(sockets[0], 'Step 1');
        sockets[0].onclose({ code: 1006, reason: '' });
        while (sockets.length < 2) await wait(50);
        vote(1); // while it connects again
        await show(sockets[1], 'Step 1');
        while (!sockets[1].sent.length) await wait(50);
        vote(0);
        await show(sockets[1], 'Step 2');
        await wait(700); // longer than a vote is held back
        return sockets[1].sent;
    }""")
    assert sent == ["vote 1"]  # the server ends the view of who sends anything but a digit


@pytest.mark.parametrize(
    ("low", "high", "more"),
    [
        *((low, high, "scale: 'log'") for low, high in ((21, 45), (310, 340), (1, 1000), (3, 4))),
        (1_000_100, 1_000_900, "scale: 'linear'"),
        (-123.47, -123.45, "scale: 'linear'"),
        (0.9995, 0.99999, "scale: 'linear', percent: true"),
    ],
)
def test_a_short_axis_has_ticks_with_labels_that_differ(scripts, low, high, more):
    page = scripts(*SHARED, VIEW_FOLDER / "curves.js")
    ticks, labels = page.evaluate(f"""() => {{
        const spec = {{ title: '', percent: false, unit: '', domain: null, zero: false, ticks: [] }};
        const axis = new Axis({{ ...spec, names: [], {more} }}, [{low}, {high}], 4, 0);
        return [axis.ticks, axis.ticks.map(tick => axis.text(tick))];
    }}""")
    assert 2 <= len(ticks) <= 8
    assert len(set(labels)) == len(labels), labels
    if "log" in more:
        assert all(low * 0.999 <= tick <= high * 1.001 for tick in ticks)


def test_a_number_is_typed_to_its_end_although_the_page_is_drawn_again(scripts):
    page = scripts(*SHARED)
    page.evaluate(f"""() => {{
        window.changes = [];
        window.control = knobControl({KNOB}, 0.5, 'x', value => changes.push(value));
        document.body.append(control.node);
    }}""")
    box = page.locator("input.value")
    box.fill("0.2")
    page.evaluate("control.set(0.5)")  # what the server knew before
    page.keyboard.type("5")
    page.keyboard.press("Enter")
    assert (box.input_value(), page.evaluate("changes")) == ("0.25", [0.25])
    page.evaluate("control.set(0.75)")
    assert box.input_value() == "0.75"
    box.fill("x")
    box.blur()
    assert (box.input_value(), page.evaluate("changes.length")) == ("0.75", 1)


def test_an_answer_of_the_session_before_answers_no_press(scripts):
    grid = GRID.replace("connect() {}", "")
    page = scripts(
        *SHARED, VIEW_FOLDER / "curves.js", VIEW_FOLDER / "sample" / "panel.js", before=SOCKET, after=grid
    )
    waiting = page.evaluate("""async () => {
        const grid = makeGrid({ url: '/one' });
        sockets[0].onmessage({ data: JSON.stringify({ done: 7, running: true }) });
        grid.configure({ ...grid.data, url: '/two' });
        grid.presses.press('play');
        await new Promise(then => requestAnimationFrame(() => setTimeout(then)));
        return [grid.presses.waiting.length, grid.presses.running];
    }""")
    assert waiting == [1, False]
