"""A browser that sends the old values of all widgets, because what the server has set is still on its way."""

import pytest

from rbmviz_app.component import mounting
from rbmviz_app.shared import title_of_model

pytestmark = pytest.mark.browser

NAME = "One weight takes all"
PRESET = {"preset": "one-weight-takes-all", "weights_model": "mnist_fpcd"}


class Line:
    """The messages between one browser and the server; each way can be held up."""

    def __init__(self, page):
        self.held = {"server": [], "browser": []}
        self.holds = set()
        page.route_web_socket("**/_stcore/stream", self._connect)

    def _connect(self, browser):
        server = browser.connect_to_server()
        self.ends = {"server": server, "browser": browser}
        browser.on_message(lambda message: self._take("server", message))
        server.on_message(lambda message: self._take("browser", message))

    def _take(self, to, message):
        if to in self.holds:
            self.held[to].append(message)
        else:
            self.ends[to].send(message)

    def hold(self, to):
        self.holds.add(to)

    def release(self, to):
        self.holds.discard(to)
        for message in self.held[to]:
            self.ends[to].send(message)
        self.held[to].clear()


@pytest.fixture
def weights(live):
    """The Weights page, with the line to its server."""
    page = live()
    line = Line(page.page)
    return page.open("weights"), line


def click(page, label):
    """Click a button from a script: a menu that stands over it, or its fading, makes no difference."""
    page.page.evaluate(
        "label => [...document.querySelectorAll('button')]"
        ".find(button => button.textContent.trim().endsWith(label)).click()",
        label,
    )


def move_speed(page):
    """Move the slider of the speed by one place, from what it shows."""
    page.page.get_by_role("slider", name="Batches per second").first.press("ArrowRight")


def reaches(page, wanted, seconds=3.0):
    """Wait until screen and address agree on these values, which stay after timers have drawn again."""
    parts = [f"{name}={value}" for name, value in wanted.items()]
    page.until(f"{parts}.every(part => location.search.includes(part))")
    lists = "[...document.querySelectorAll('input[role=combobox]')]"
    page.until(f"{lists}.some(e => e.value === '{title_of_model(wanted['weights_model'])}')")
    page.page.wait_for_timeout(1000 * seconds)
    assert [part for part in parts if part not in page.url] == [], page.url


def test_a_preset_stays_where_a_slider_is_moved_before_its_answer_and_takes_back_one_moved_before(weights):
    page, line = weights
    page.menu("Presets", page.page.get_by_role("button", name=NAME))
    line.hold("browser")
    click(page, NAME)
    page.page.wait_for_timeout(1500)  # the server has set it, and the browser does not know
    move_speed(page)
    page.page.wait_for_timeout(1500)
    line.release("browser")
    reaches(page, PRESET)
    assert "weights_pace" not in page.url
    # A slider that is moved just before the preset.
    page.menu("Presets", page.page.get_by_role("button", name=NAME))
    line.hold("server")
    move_speed(page)
    click(page, NAME)
    page.page.wait_for_timeout(300)
    line.release("server")
    reaches(page, PRESET)
    assert "weights_pace" not in page.url
    # A slider is drawn without the panels, whose part writes the address, which has it all the same.
    move_speed(page)
    page.page.wait_for_url("**weights_pace=30**")
    move_speed(page)  # the slider keeps the focus
    page.page.wait_for_url("**weights_pace=100**")


@pytest.mark.slow
def test_undo_within_400_ms_of_a_slider_takes_the_preset_back(weights):
    page, line = weights
    page.pick("Presets", NAME)
    reaches(page, PRESET, 0)
    line.hold("browser")
    move_speed(page)
    page.page.wait_for_timeout(300)
    click(page, "Undo")
    page.page.wait_for_timeout(1500)
    move_speed(page)  # with the old values of all others
    page.page.wait_for_timeout(1500)
    line.release("browser")
    reaches(page, {"weights_model": "bas_pcd", "weights_pace": "30"})


def test_knobs_turned_while_the_server_is_busy_are_all_taken(live):
    """Of the messages of one component that wait for its script, Streamlit keeps the newest alone."""
    page = live()
    line = Line(page.page)
    page.open("?model=bas_pcd&p=rates_fpcd&p=rates_herding&p=sample_penalization&p=rates_fpcd:k=2&speed=5")
    line.hold("server")
    for panel in range(4):
        page.set_knob(panel, "n_chains", 2 / 3)  # not live: only the page can take it
        page.page.wait_for_timeout(300)  # longer than knobs are collected, so that each is a message
    line.release("server")
    turned = "[...panels[0].getRootNode().rbmviz.panels.values()].map(panel => panel.spec.values.n_chains)"
    shown = "panels.map(p => p.querySelector('.knob:has([id$=-n_chains]) .value').value).join()"
    page.until(f"new Set({turned}).size === 1 && {turned}[0] === 100")
    assert page.ask("panels[0].getRootNode().rbmviz.events") == []
    line.hold("server")
    page.set_knob(0, "n_chains", 0)
    page.page.wait_for_timeout(300)
    line.held["server"].clear()  # a message that is lost altogether is sent again
    line.release("server")
    page.until(f"{turned}.join() === '1,100,100,100'")
    # The answer to an earlier turn changes no control that has been turned since.
    line.hold("browser")
    page.set_knob(0, "n_chains", 1 / 3)
    page.until(f"{shown} === '10,100,100,100'")
    page.page.wait_for_timeout(600)
    line.hold("server")
    page.set_knob(0, "n_chains", 2 / 3)
    line.release("browser")
    page.until(f"{turned}.join() === '10,100,100,100'")
    assert page.ask(shown) == "100,100,100,100"
    line.release("server")
    page.until(f"{turned}.join() === '100,100,100,100' && {shown} === '100,100,100,100'")
    # What the server has refused is taken back, also where the slider has the focus.
    page.ask(
        """(() => {
            const grid = panels[0].getRootNode().rbmviz, [first, ...others] = grid.data.panels;
            panels[0].querySelector('details').open = true;
            panels[0].querySelector('input[id$="-n_chains"]').focus();
            const refused = { ...first, values: { ...first.values, n_chains: 1 } };
            grid.configure({ ...grid.data, panels: [refused, ...others] });
        })()"""
    )
    assert page.ask(shown) == "1,100,100,100"


def test_a_component_is_cleaned_up_when_it_leaves_the_page_not_when_its_data_changes(chromium):
    page = chromium.new_page()
    cleaned = page.evaluate(
        """async script => {
            const address = URL.createObjectURL(new Blob([script], { type: 'text/javascript' }));
            const { default: mount } = await import(address);
            const parentElement = document.body.appendChild(document.createElement('div'));
            const cleanUp = mount({ parentElement });
            window.cleaned = 0;
            cleanUp(); // of a call that a newer one has overtaken
            const before = window.cleaned;
            parentElement.remove();
            cleanUp();
            return [before, window.cleaned];
        }""",
        mounting("export default () => () => { window.cleaned += 1; };"),
    )
    page.close()
    assert cleaned == [0, 1]
