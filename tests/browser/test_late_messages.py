"""A browser that sends the old values of all widgets, because what the server has set is still on its way."""

import pytest

from rbmviz_app.shared import title_of_model
from tests.browser.line import Line
from tests.browser.live import SETTLED

pytestmark = pytest.mark.browser

NAME = "More sweeps even the weights out"
GRID = "panels[0].getRootNode().rbmviz"
PRESET = {"preset": "more-sweeps-even-the-weights-out", "weights_model": "mnist_cd1"}


@pytest.fixture
def weights(live):
    """The Weights page, with the line to its server."""
    page = live()
    line = Line(page.page)
    return page.open("weights"), line


def click_preset(page):
    """Click from a script: a menu that stands over it, or its fading, makes no difference."""
    buttons = "[...document.querySelectorAll('button')]"
    page.page.evaluate(f"{buttons}.find(button => button.textContent.trim().endsWith('{NAME}')).click()")


def move_speed(page):
    """Move the slider of the speed by one place, from what it shows."""
    page.page.get_by_role("slider", name="Batches per second").first.press("ArrowRight")


def shows_preset(page):
    """Wait until screen and address agree that the preset is set, and the speed is not."""
    parts = [f"{name}={value}" for name, value in PRESET.items()]
    page.until(f"{parts}.every(part => location.search.includes(part))")
    model = title_of_model(PRESET["weights_model"])
    page.until(f"[...document.querySelectorAll('input[role=combobox]')].some(e => e.value === '{model}')")
    page.until(SETTLED)
    assert "weights_pace" not in page.url


def test_a_preset_stays_where_a_slider_is_moved_before_its_answer_and_takes_back_one_moved_before(weights):
    page, line = weights
    page.menu("Presets", page.page.get_by_role("button", name=NAME))
    line.hold("browser")
    click_preset(page)
    line.wait_for_run(of="")  # the server has set it, and the browser does not know
    move_speed(page)
    line.wait_for_run()
    line.release("browser")
    shows_preset(page)
    # A slider that is moved just before the preset.
    page.menu("Presets", page.page.get_by_role("button", name=NAME))
    line.hold("server")
    move_speed(page)
    click_preset(page)
    line.wait_for_messages(1)  # the slider's, or both in one
    line.release("server")
    shows_preset(page)
    # A slider is drawn without the panels, whose part writes the address, which has it all the same. Now all
    # messages from before have been answered.
    for pace in (30, 100):  # the slider keeps the focus
        move_speed(page)
        page.page.wait_for_url(f"**weights_pace={pace}**")
    assert "weights_model=mnist_cd1" in page.url


def test_knobs_turned_while_the_server_is_busy_are_all_taken(live):
    """Of the messages of one component that wait for its script, Streamlit keeps the newest alone."""
    page = live()
    line = Line(page.page)
    page.open("?model=bas_pcd&p=rates_fpcd&p=rates_herding&p=sample_penalization&p=rates_fpcd:k=2&speed=5")
    line.hold("server")
    for panel in range(4):
        page.set_knob(panel, "n_chains", 2 / 3)  # not live: only the page can take it
        line.wait_for_messages(panel + 1)
    line.release("server")
    turned = f"[...{GRID}.panels.values()].map(panel => panel.spec.values.n_chains)"
    shown = "panels.map(p => p.querySelector('.knob:has([id$=-n_chains]) .value').value).join()"
    page.until(f"new Set({turned}).size === 1 && {turned}[0] === 100")
    page.until(f"{GRID}.events.length === 0")
    line.hold("server")
    page.set_knob(0, "n_chains", 0)
    line.wait_for_messages(1)
    line.held["server"].clear()  # a message that is lost altogether is sent again
    line.release("server")
    page.until(f"{turned}.join() === '1,100,100,100'")
    # The answer to an earlier turn changes no control that has been turned since.
    line.hold("server")
    page.set_knob(0, "n_chains", 1 / 3)
    line.wait_for_messages(1)
    line.hold("browser")
    line.release("server")
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
