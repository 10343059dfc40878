"""Settings in a popover, in a browser: a closed one draws no widgets, and knows nothing of what is set."""

import time

import pytest

pytestmark = pytest.mark.browser


def choose_units(page, n):
    """Type a number of units, and Enter."""

    def fill(box, timeout):
        box.fill(str(n), timeout=timeout)
        box.press("Enter", timeout=timeout)

    page.menu("Settings", page.page.get_by_role("spinbutton", name="Visible units"), fill)


def pick(page, preset, part):
    """Click on a preset, and wait until the address has a part."""
    page.pick("Presets", preset)
    page.page.wait_for_url(f"**{part}**")


def stays(page, part, seconds=6.0):
    """Wait until the address has a part; it still has it after so long: the slowest timer takes 5 seconds."""
    page.page.wait_for_url(f"**{part}**")
    time.sleep(seconds)
    assert part in page.url


@pytest.mark.slow
def test_presets_and_undo_set_what_stands_in_a_closed_popover(live):
    page = live().open("coupling?coupling_speed=1")
    popover = page.menu("Settings", page.page.locator("[data-testid=stPopoverBody]"))
    time.sleep(1)  # as an eye needs
    page.page.keyboard.press("Escape")
    popover.wait_for(state="detached")
    pick(page, "Sharing randomness", "coupling_visible=500")
    stays(page, "coupling_visible=500")
    page.page.wait_for_url("**preset=sharing-randomness**")
    # A user's own choice is taken, though it is the value of before.
    choose_units(page, 16)
    page.page.wait_for_url(lambda url: "coupling_visible=500" not in url)
    stays(page, "coupling_hidden=100", 3)
    assert "coupling_visible=500" not in page.url
    # Undo sets back what stands in a closed popover, too.
    page.page.keyboard.press("Escape")
    pick(page, "Weights grow", "coupling_visible=100&")
    pick(page, "Sharing randomness", "coupling_visible=500")
    page.page.get_by_role("button", name="Undo", exact=True).click()
    page.page.wait_for_url("**coupling_visible=100&**")
    stays(page, "preset=weights-grow")
    assert "coupling_visible=100&" in page.url
    # What Undo has taken back can be chosen again, as soon as it can be seen.
    choose_units(page, 500)
    page.until("panels.every(p => p.textContent.includes('500 × '))")
    page.page.wait_for_url("**coupling_visible=500**")
    choose_units(page, 16)
    page.page.wait_for_url("**coupling_visible=16&**")
    page.page.keyboard.press("Escape")
    # The browser still sends the units of before both presets with the click on Undo.
    pick(page, "Sharing randomness", "coupling_visible=500")
    pick(page, "Weights grow", "coupling_visible=100")
    page.page.get_by_role("button", name="Undo", exact=True).click()
    page.page.wait_for_url("**preset=sharing-randomness**")
    page.page.wait_for_url("**coupling_visible=500**")
