"""Reads pages for a task's rule when the episode is over: an address, or the page that the agent left.

Pages are opened in a new tab of the episode's context, so with the agent's login and cart, and through the same
egress guard. Expressions run in our isolated JavaScript world of the page, never in this process. A missing page
(404) is read as a page without the expected content. A server that fails or does not answer gives no reading. Content
that appears late is awaited for up to `FIND_TIMEOUT_S`; published harnesses sleep three seconds in every case.
`image_reading` reads images.
"""

from __future__ import annotations

import asyncio
import time

from playwright.async_api import Response
from pydantic import TypeAdapter

from components.browser.errors import EnvError
from components.browser.image_reading import image_addresses, read_copies, read_images
from components.browser.playwright_errors import NavigatedError
from components.browser.tab import Tab
from components.browser.tabs import PageSession
from components.records import Image, Probe, Reading

FIND_TIMEOUT_S = 3.0
FIND_INTERVAL_S = 0.25
EXPRESSION_TIMEOUT_S = 30.0
"""For one expression, which may ask a server."""
MAX_CHARACTERS = 2_000_000
"""In one reading. A longer text is an error: if it were cut, the cut could hide what the rule looks for."""
_HTML = "document.documentElement.outerHTML"
_NO_IMAGES = "[]"
"""What `image_addresses` gives while there are none."""
_VALUE = TypeAdapter(tuple[bool, str])
_SERVER_ERROR = 500
_TOO_MANY_REQUESTS = 429


def unread(probe: Probe, error: str) -> Reading:
    """The reading of a page that could not be read."""
    return Reading(url=probe.url, locator=probe.locator, address=probe.address or "", text=None, error=error)


async def read_page(session: PageSession, probe: Probe) -> Reading:
    """Answer a probe.

    Raises:
        EnvError: the page could not be opened, its server failed, or it did not answer.
        SandboxError: the browser died.
    """
    await session.tabs.update(shows_windows=False)
    if probe.address is None:
        tab, patience_s = session.tabs.active, 0.0
    else:
        tab = session.tabs[await session.tabs.open(shows=False)]
        patience_s = 0.0 if probe.must_answer else FIND_TIMEOUT_S
        await _open(session, tab, probe.address)
    if probe.resolve:
        has_value, address = await _value(tab, probe.resolve)
        if not has_value or not address:
            raise EnvError(f"the address to read could not be found: {address or 'there is none'}")
        await _open(session, tab, address)
    for statement in probe.prepare:
        await _value(tab, statement)  # a failure is ignored: what the statement opens may be open already
        await tab.look(session.params.settle_ms, quiet_ms=session.params.quiet_ms)
    script = image_addresses(probe.locator) if probe.reads_images else probe.script or _HTML
    has_value, text = await _find(tab, script, patience_s)
    if not has_value and probe.must_answer:
        raise EnvError(text)
    if len(text) > MAX_CHARACTERS:
        raise EnvError(f"there are more than {MAX_CHARACTERS} characters to read")
    reading = Reading(
        url=probe.url,
        locator=probe.locator,
        address=tab.page.url,
        text=text if has_value else "",
        error=None if has_value else text,
    )
    return await _with_images(session, probe, reading) if probe.reads_images and has_value else reading


async def _with_images(session: PageSession, probe: Probe, reading: Reading) -> Reading:
    """The reading with the images at the addresses that it has as text, and with the probe's copies."""
    tab = session.tabs[await session.tabs.open(shows=False)]

    async def open_address(address: str) -> Response | None:
        response = await tab.page.goto(address, timeout=session.params.start_timeout_s * 1000)
        _require_answer(session, response, address)
        return response

    images: list[Image] = await read_images(reading.text or _NO_IMAGES, open_address)
    copies: list[Image] = await read_copies(probe.copies, open_address)
    return reading.model_copy(update={"images": images, "copies": copies})


async def _open(session: PageSession, tab: Tab, address: str) -> None:
    response = await tab.page.goto(address, timeout=session.params.start_timeout_s * 1000)
    _require_answer(session, response, address)
    await tab.look(session.params.settle_ms, quiet_ms=session.params.quiet_ms)


def _require_answer(session: PageSession, response: Response | None, address: str) -> None:
    """Raise EnvError where the server failed, or the egress guard answered in its place."""
    reason = session.refusal(response) if response is not None else None
    if response is not None and (reason or response.status >= _SERVER_ERROR or response.status == _TOO_MANY_REQUESTS):
        raise EnvError(f"{address} was answered with {reason or f'status {response.status}'}")


async def _find(tab: Tab, expression: str, patience_s: float) -> tuple[bool, str]:
    """Evaluate an expression until its value is neither empty nor an empty list; after `patience_s`, the last value."""
    end = time.monotonic() + patience_s
    while True:
        has_value, text = await _value(tab, expression)
        if (has_value and text not in ("", _NO_IMAGES)) or time.monotonic() >= end:
            return has_value, text
        await asyncio.sleep(FIND_INTERVAL_S)


async def _value(tab: Tab, expression: str) -> tuple[bool, str]:
    """True and the value of an expression as text, or false and the error that it threw.

    Raises:
        EnvError: the expression is not JavaScript, or the page did not answer.
    """
    guarded = (
        f"(async () => {{ try {{ return [true, String((await ({expression})) ?? '')]; }} "
        "catch (error) { return [false, String(error)]; } })()"
    )
    for _ in range(3):
        try:
            return _VALUE.validate_python(await tab.evaluate(guarded, EXPRESSION_TIMEOUT_S))
        except NavigatedError:
            await tab.look(0)
    raise EnvError("the page kept navigating while it was read")
