"""Timers of a page that is paused stop until the next command, those of a hidden page until it is shown."""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from waiting import wait

from tests.attack.visitor import Visitor

pytestmark = pytest.mark.browser


async def until(condition, what):
    """Wait for a condition; ``what`` says what in the traceback."""
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.05)


@pytest.mark.slow
def test_a_paused_page_draws_nothing_until_the_next_command(server):
    async def visit(page):
        async with Visitor(server, page) as visitor:
            await visitor.first_picture()
            await until(lambda: visitor._timers, "charts with a timer")
            for command, before in (("Step", "Pause"), ("Play", "Step"), ("Reset", "Pause")):
                await visitor.press(before)
                stopped = lambda: not visitor._timers and visitor._script_done.is_set()  # noqa: E731
                await until(stopped, "the timers to stop")
                runs = visitor.runs
                await asyncio.sleep(1.5)  # a timer would have come: it has one second
                assert visitor.runs == runs
                await visitor.press(command)
                await until(lambda: visitor._timers, f"timers after {command}")

    async def visit_all():
        await asyncio.gather(*map(visit, ("", "coupling")))  # at once: most of it is waiting

    with ThreadPoolExecutor(1) as pool:  # Playwright has an event loop in this thread
        pool.submit(asyncio.run, visit_all()).result()


@pytest.mark.slow
def test_a_page_that_is_hidden_asks_for_nothing_until_it_is_shown(live):
    page, asked = live(), []

    def listen(socket):
        if "_stcore" in socket.url:
            socket.on("framesent", lambda _: asked.append(time.monotonic()))

    def hide(hidden):
        page.ask(
            f"""(Object.defineProperty(document, 'hidden', {{get: () => {hidden}, configurable: true}}),
            document.dispatchEvent(new Event('visibilitychange')))"""
        )

    page.page.on("websocket", listen)
    page.open("?p=gibbs&speed=5")
    hide("true")
    wait(lambda: page.ask("performance.now()") and time.monotonic() - asked[-1] > 1.5, "a timer that stops")
    sent = len(asked)
    hide("false")
    wait(lambda: page.ask("performance.now()") and len(asked) > sent + 3, "the timer again")
