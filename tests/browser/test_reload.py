"""A tab that is reloaded, or loses its connection, continues: its share, its lesson and its runs."""

import pytest

from tests.browser.line import Line
from tests.browser.live import PHONE
from tests.browser.test_sharing import started

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PAGE = "?model=bas_pcd&p=gibbs&p=rates_fpcd&cells=6&speed=5"


def watch(live, url):
    """Return another browser that watches, once it has pictures."""
    watcher = live(PHONE, another=True)
    watcher.page.goto(url)
    watcher.until("panels.length === 2 && panels.every(p => Number(p.dataset.n) > 0)")
    return watcher


def follows(watcher, teacher):
    """Return once the watcher has more steps than the teacher has now."""
    count = teacher.counts()[0]
    watcher.until(f"panels.length && Number(panels[0].dataset.n) > {count}")
    watcher.page.get_by_text("Live", exact=True).wait_for()


def test_watchers_follow_through_a_reload_and_to_another_link(live):
    teacher = live().open(PAGE)
    url = started(teacher)
    watcher = watch(live, url)
    before = teacher.counts()[0]
    teacher.page.reload()
    teacher.until(f"panels.length === 2 && Number(panels[0].dataset.n) > {before}")  # the runs continue
    teacher.page.get_by_role("button", name="Shared").wait_for()
    follows(watcher, teacher)
    teacher.open("coupling?c=maximal")
    watcher.page.get_by_role("heading", name="How long until two chains meet", exact=False).wait_for()
    watcher.until("panels.length === 1")
    assert started(teacher, "Shared") == url


def test_watchers_follow_through_a_loss_of_the_network(live):
    """Nothing passes, and nobody is told, as on a phone without signal."""
    teacher = live()
    lines = [Line(teacher.page, socket) for socket in ("**/_stcore/stream", "**/rbmviz/live/**")]
    teacher.open(PAGE)
    watcher = watch(live, started(teacher))
    before = teacher.counts()[0]
    for line in lines:
        line.hold("server")
        line.hold("browser")
    watcher.until(f"Number(panels[0].dataset.n) > {before + 20}")  # the runs go on meanwhile
    assert teacher.counts()[0] < before + 20
    for line in lines:
        line.release("server")
        line.release("browser")
    teacher.until(f"Number(panels[0].dataset.n) > {before + 20}")
    follows(watcher, teacher)


def test_reloaded_lesson_keeps_its_answer_and_its_run(live):
    page = live()
    page.goto("learn?lesson=stick&step=1")
    page.page.locator(".st-key-lesson [role=radiogroup]").wait_for()
    page.page.locator(".st-key-lesson [role=radiogroup] label").nth(2).click()
    page.play()
    page.until("panels.length && panels.every(p => Number(p.dataset.n) > 5)")
    page.pause()
    counts = page.counts()
    page.page.reload()
    page.until(f"JSON.stringify(panels.map(p => Number(p.dataset.n))) === '{counts}'".replace(" ", ""))
    assert page.page.locator(".st-key-lesson [role=radiogroup] input").nth(2).is_checked()
