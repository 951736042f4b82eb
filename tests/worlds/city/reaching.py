"""What a page of an episode reaches on this machine, besides the sites of its own server."""

from __future__ import annotations

import contextlib

from playwright.async_api import Error, Page

from perf.egress import Canary

HOSTS = ("127.0.0.1", "localhost", "shop.test")


async def hits_by_page(page: Page) -> int:
    """How many requests of a page arrive at a port on loopback that nothing else knows.

    The page need not be able to read an answer (`no-cors`), so that no rule of the browser hides that one came.
    """
    canary = Canary()
    await canary.listen()
    try:
        await page.evaluate(
            """async ([hosts, port]) => {
                for (const host of hosts)
                    for (const mode of ['cors', 'no-cors'])
                        await fetch(`http://${host}:${port}/`, {method: 'POST', mode, body: '{}'}).catch(() => null);
            }""",
            [HOSTS, canary.port],
        )
        return canary.hits
    finally:
        canary.close()


async def answer_to_page(page: Page, url: str) -> str:
    """The text that a page shows when it is sent to an address; the browser's error if it shows none."""
    with contextlib.suppress(Error):
        await page.goto(url)
        return await page.inner_text("body")
    return "no answer"
