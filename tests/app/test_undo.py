"""The Undo button: runs, panels and settings come back."""

from page_settings import comparison_of
from waiting import wait


def test_hidden_units_reset_a_closed_panel_and_a_preset_can_be_undone(page):
    test = page("train", t=["cd", "pcd"], pace="50")
    comparison = comparison_of(test, "train")
    wait(lambda: all(s.n > 10 for _, s in comparison.poll()), "updates")
    panels, setup = comparison.panels, comparison.setup

    def undo():
        """Press Undo; the runs go on beyond where they were."""
        assert comparison.can_undo
        test.button(key="train_undo").click().run()
        assert not test.exception
        assert (comparison.setup, comparison.panels) == (setup, panels)
        assert not comparison.can_undo
        wait(lambda: all(s.n > m for (_, s), m in zip(comparison.poll(), n, strict=True)), "updates")

    n = [s.n for _, s in comparison.poll()]
    test.number_input(key="hidden").set_value(7).run()
    assert comparison.setup.n_hidden == 7
    undo()
    assert test.number_input(key="hidden").value == 16
    n = [s.n for _, s in comparison.poll()]
    comparison.reset()  # as the socket does, without a run of the script
    test.run()
    undo()
    comparison.remove(panels[0].key)
    test.run()
    undo()
    next(button for button in test.button if button.label == "The yardstick").click().run()
    assert comparison.setup.dataset.name == "bas@3"
    undo()
    assert (test.selectbox(key="train_data").value, test.number_input(key="hidden").value) == ("bas", 16)


def test_undo_of_a_reset_leaves_the_settings_that_were_changed_before_it(page):
    """The socket resets without a run of the script, so only the number of the command tells them apart."""
    test = page("train", t=["cd"], pace="50")
    comparison = comparison_of(test, "train")
    test.number_input(key="hidden").set_value(7).run()
    comparison.reset()
    test.button(key="train_undo").click().run()
    assert not test.exception
    assert (comparison.setup.n_hidden, test.number_input(key="hidden").value) == (7, 7)
    assert not comparison.can_undo
