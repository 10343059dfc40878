"""Scripts of components and of the watchers' page, on an empty page without a server."""

import base64

import pytest

import rbmviz
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

MAP = """{ x: { label: 'X', values: ['1', '2'], apart: false }, y: null, positions: [[0, 0, -1], [0, 1, -1]],
    facets: [{ title: '', columns: [0, 1], rows: [-1] }], blank: '', cost_units: ['samples'], seeds: 2,
    runs: 4, measures: [{ name: 'isl', label: 'ISL', short: 'ISL', help: '', better: 'high',
    digits: 1 }], open_settings: [] }"""
"""Of two settings along one axis."""


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


def test_a_slider_sends_while_it_is_dragged(scripts):
    page = scripts(*SHARED, PANEL_FOLDER / "slider.js")
    during, after = page.evaluate(f"""async () => {{
        const sent = [], wait = ms => new Promise(then => setTimeout(then, ms));
        const data = {{ knob: {KNOB}, value: 0, colour: '', equation: [], present: false }};
        mounted({{ data, parentElement: document.body, setTriggerValue: (_, value) => sent.push(value) }});
        const range = document.querySelector('input[type=range]');
        for (let i = 1; i <= 50; i++) {{
            range.value = 10 * i;
            range.dispatchEvent(new Event('input'));
            await wait(10);
        }}
        const during = sent.length;
        await wait(300);
        return [during, sent];
    }}""")
    assert 2 <= during <= 10
    assert after[-1] == 0.5


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
        page.wait_for_timeout(50)
        assert button.get_attribute("aria-expanded") == str(is_open).lower()
    page.keyboard.press("Escape")
    assert not menu.evaluate("menu => menu.matches(':popover-open')")


def watchers(scripts):
    """Open the watchers' page; its ``show`` gives it the card of a step with a question."""
    files = [*SHARED, VIEW_FOLDER / "curves.js", APP / "share" / "lesson_card.js", APP / "share" / "watch.js"]
    before = f"{SOCKET}const PANEL_CLASSES = {{}}, drawUnits = () => {{}};"
    return scripts(*files, before=before, after=SHOW, body="<main id='watch'></main>")


def test_a_vote_while_the_page_connects_again_is_sent(scripts):
    page = watchers(scripts)
    sent = page.evaluate("""async () => {
        await show(sockets[0], 'Step 1');
        sockets[0].onclose({ code: 1006, reason: '' });
        while (sockets.length < 2) await wait(50);
        vote(1);
        await wait(700);
        await show(sockets[1], 'Step 1');
        await wait(700);
        return sockets[1].sent;
    }""")
    assert sent == ["vote 1"]


def test_the_words_of_the_newest_sample_are_shown_after_fast_steps(scripts):
    page = scripts(*SHARED, VIEW_FOLDER / "sample" / "panel.js", after=GRID)
    page.evaluate("""() => {
        const grid = makeGrid({ vocabulary: [['first', 0], ['second', 1]] }), panel = grid.panels.get(0);
        [0b10000000, 0b01000000].forEach((byte, i) => {
            const v = { dtype: 'bits', shape: [1, 2], data: Uint8Array.of(byte) };
            const head = { key: 0, run: 0, status: 'paused', n: i + 1, readouts: {} };
            panel.readPart({ head, blocks: { v } });
            grid.draw();
        });
    }""")
    page.wait_for_timeout(1500)
    assert page.locator(".words").text_content() == "second"


def test_pointing_beside_the_landscape_selects_no_state(scripts):
    page = scripts(*SHARED, APP / "pages" / "chain" / "panel.js")
    at = """pointer => new LandscapePicture({ land: { order: [0, 1], edges: [0, 0.5, 1] }, heights: {},
        pointer, grid: { back: [0, 0, 0] } }, [], null, 100, 100).hover"""
    assert [page.evaluate(at, x) for x in (10, 30, 99, 100, 140)] == [None, 0, 1, None, None]


@pytest.mark.parametrize(("low", "high"), [(21, 45), (310, 340), (1, 1000), (3, 4)])
def test_a_short_logarithmic_axis_has_ticks(scripts, low, high):
    page = scripts(*SHARED, VIEW_FOLDER / "curves.js")
    ticks = page.evaluate(f"""() => new Axis({{ title: '', scale: 'log', percent: false, unit: '',
        domain: null, zero: false, ticks: [], names: [] }}, [{low}, {high}], 4, 0).ticks""")
    assert 2 <= len(ticks) <= 8
    assert all(low * 0.999 <= tick <= high * 1.001 for tick in ticks)


def test_widget_closed_while_opening_stops(scripts):
    page, live = scripts(), rbmviz.play("bas_pcd", ["gibbs"])
    state = {name: live.get_state()[name] for name in ("_run", "_live", "knobs", "seed", "playing")}
    for name in ("_run", "_live"):
        state[name] = base64.b64encode(state[name]).decode()
    workers, told = page.evaluate(
        """async ([esm, state]) => {
            for (const name of ['_run', '_live']) {
                state[name] = Uint8Array.from(atob(state[name]), c => c.charCodeAt(0));
            }
            const wait = ms => new Promise(then => setTimeout(then, ms));
            let workers = 0, told = 0;
            const Own = Worker;
            window.Worker = class extends Own {
                constructor(url) { super(url); workers++; }
                terminate() { super.terminate(); workers--; }
            };
            const model = { get: name => state[name], set: (name, value) => { state[name] = value; },
                save_changes: () => told++, on: () => {} };
            const url = URL.createObjectURL(new Blob([esm], { type: 'text/javascript' }));
            const widget = (await import(url)).default, el = document.body;
            const made = typeof widget === 'function' ? await widget() : widget;
            const close = made.initialize({ model }), shown = made.render({ model, el });
            close();
            await shown;
            await wait(1500);
            return [workers, told];
        }""",
        [live.get_state()["_esm"], state],
    )
    assert (workers, told) == (0, 0)


@pytest.mark.parametrize(
    ("low", "high", "percent"),
    [(1_000_100, 1_000_900, "false"), (-123.47, -123.45, "false"), (0.9995, 0.99999, "true")],
)
def test_ticks_have_labels_that_differ(scripts, low, high, percent):
    page = scripts(*SHARED, VIEW_FOLDER / "curves.js")
    labels = page.evaluate(f"""() => {{
        const spec = {{ title: '', scale: 'linear', unit: '', domain: null, zero: false, ticks: [] }};
        const axis = new Axis({{ ...spec, names: [], percent: {percent} }}, [{low}, {high}], 4, 0);
        return axis.ticks.map(tick => axis.text(tick));
    }}""")
    assert len(labels) > 1
    assert len(set(labels)) == len(labels), labels


def test_removed_help_leaves_nothing_behind(scripts):
    page = scripts(*SHARED, body="<div style='height: 5000px'></div>")
    listening = page.evaluate("""async () => {
        const listening = new Set(), { addEventListener: add, removeEventListener: remove } = window;
        window.addEventListener = (name, act, how) => {
            listening.add(act);
            add.call(window, name, act, how);
        };
        window.removeEventListener = (name, act, how) => {
            listening.delete(act);
            remove.call(window, name, act, how);
        };
        const wait = ms => new Promise(then => setTimeout(then, ms)), place = document.createElement('div');
        const [button, help] = helpButton('A', ['text']);
        place.append(button, help);
        document.body.append(place);
        help.showPopover();
        place.remove();
        scrollTo(0, 100);
        await wait(200);
        return listening.size;
    }""")
    assert listening == 0


def test_the_ball_does_not_glide_where_less_motion_is_preferred(scripts):
    page = scripts(*SHARED, APP / "pages" / "chain" / "panel.js", after=GRID)
    balls = {}
    for motion in ("no-preference", "reduce"):
        page.emulate_media(reduced_motion=motion)
        balls[motion] = page.evaluate("""() => {
            const land = { law: [0.5, 0.2, 0.2, 0.1], base: [1, 2, 2, 3], order: [0, 1, 2, 3], top: 9,
                highest: 1, edges: [0, 0.25, 0.5, 0.75, 1], valleys: [], shape: [1, 2] };
            const panel = makeGrid({ land }, LandscapePanel).panels.get(0);
            const ground = { dtype: 'float32', shape: [4], data: Float32Array.of(1, 2, 2, 3) };
            return [0, 3].map(state => {
                const head = { key: 0, run: 0, status: 'running', n: 1 + state, state, readouts: {} };
                panel.readPart({ head, blocks: { ground, visits: ground } });
                panel.drawPictures();
                return panel.ball;
            });
        }""")
    assert 0 < balls["no-preference"][1] < 3
    assert balls["reduce"] == [0, 3]


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


def test_vote_for_a_past_step_is_not_sent(scripts):
    page = watchers(scripts)
    sent = page.evaluate("""async () => {
        await show(sockets[0], 'Step 1');
        vote(0);
        await wait(50);
        vote(1);
        await show(sockets[0], 'Step 2');
        await wait(1000);
        return sockets[0].sent;
    }""")
    assert sent == ["vote 0"]  # the server ends the view of who sends anything but a digit


def test_an_answer_of_the_session_before_answers_no_press(scripts):
    grid = GRID.replace("connect() {}", "")
    page = scripts(*SHARED, VIEW_FOLDER / "sample" / "panel.js", before=SOCKET, after=grid)
    waiting = page.evaluate("""async () => {
        const grid = makeGrid({ url: '/one' });
        sockets[0].onmessage({ data: JSON.stringify({ done: 7, running: true }) });
        grid.configure({ ...grid.data, url: '/two' });
        grid.presses.press('play');
        await new Promise(then => requestAnimationFrame(() => setTimeout(then)));
        return [grid.presses.waiting.length, grid.presses.running];
    }""")
    assert waiting == [1, False]


def test_the_axis_of_weights_includes_the_estimate(scripts):
    page = scripts(*SHARED, APP / "pages" / "weights" / "panel.js", after=GRID)
    low, high = page.evaluate("""() => {
        const panel = makeGrid({ tiles: 2 }, WeightPanel).panels.get(0);
        const log_weights = { dtype: 'float32', shape: [2], data: Float32Array.of(2, 1) };
        const head = { key: 0, run: 0, status: 'paused', n: 9, log_total: 3, log_z: 20, truth: null };
        panel.readPart({ head: { ...head, readouts: {} }, blocks: { log_weights } });
        return panel.axis();
    }""")
    assert low < 1
    assert high > 20


def test_the_card_of_a_lesson_that_closes_leaves_nothing_behind(scripts):
    body = "<div id='scrolled'><div class='st-key-lesson'><div id='host'></div></div></div>"
    page = scripts(SHARED[0], APP / "storage.js", APP / "card.js", body=body)
    listening = page.evaluate("""() => {
        const scrolled = document.getElementById('scrolled'), parentElement = document.getElementById('host');
        const listening = new Set();
        scrolled.addEventListener = (name, act, { signal } = {}) => {
            listening.add(act);
            signal?.addEventListener('abort', () => listening.delete(act));
        };
        scrolled.removeEventListener = (name, act) => listening.delete(act);
        const data = { head: 'H', lesson: 'a', step: 1, seen: false, blind: false, asks: false,
            playing: false, revealed: false };
        const close = mounted({ data, parentElement, setTriggerValue() {} });
        const before = listening.size;
        close();
        return [before, listening.size];
    }""")
    assert listening == [1, 0]


def test_the_card_of_a_lesson_names_the_number_that_it_points_at(scripts):
    """Large ones, whose button is a question mark, and those in a fold that has been closed."""
    body = "<div class='stBidiComponent'><div id='panels'></div></div><div id='host'></div>"
    page = scripts(*SHARED, body=body)
    card = "\n".join((APP / name).read_text() for name in ("storage.js", "card.js"))
    page.add_script_tag(content=f"{{ {card.replace('export default', 'window.mounted =')} }}")
    texts = page.evaluate("""() => {
        const root = document.getElementById('panels').attachShadow({ mode: 'open' });
        const panel = element('section', { class: 'panel' }), list = new ReadoutList();
        const number = { help: [], formula: '', source: '', format: 'fixed1', unit: '' };
        list.declare([{ ...number, name: 'large', label: 'Large', lead: true },
            { ...number, name: 'first', label: 'First', lead: false },
            { ...number, name: 'small', label: 'Small', lead: false }]);
        panel.append(list.lead, element('details', {}, list.more));
        root.append(panel);
        return ['large', 'small'].map(name => {
            const parentElement = element('div'), data = { look: `panel1.${name}`, words: 'the panel' };
            mounted({ data, parentElement, setTriggerValue() {} });
            panel.querySelector('details').open = false;
            parentElement.rbmvizBringsUntil = 0;
            mounted({ data, parentElement, setTriggerValue() {} })();
            return parentElement.textContent;
        });
    }""")
    assert texts == [f"Look here: “{name}” in the panel" for name in ("Large", "Small")]
