"""Timers of a page that is paused stop, and every command starts them again."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.attack.visitor import Visitor

pytestmark = pytest.mark.browser


async def until(condition, what):
    """Wait for a condition; ``what`` says what in the traceback."""
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.2)


@pytest.mark.parametrize("page", ["", "coupling"])
def test_a_paused_page_draws_nothing_until_the_next_command(server, page):
    async def visit():
        async with Visitor(server[0], page) as visitor:
            await visitor.first_picture()
            await until(lambda: visitor._timers, "charts with a timer")
            for command, before in (("Step", "Pause"), ("Play", "Step"), ("Reset", "Pause")):
                await visitor.press(before)
                await until(lambda: not visitor._timers, "the timers to stop")
                runs = visitor.runs
                await asyncio.sleep(2.5)
                assert visitor.runs == runs
                await visitor.press(command)
                await until(lambda: visitor._timers, f"timers after {command}")

    with ThreadPoolExecutor(1) as pool:  # Playwright has an event loop in this thread
        pool.submit(asyncio.run, visit()).result()
