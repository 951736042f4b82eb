"""What an error of Playwright means does not depend on the words in a page's address."""

from __future__ import annotations

import pytest
from playwright.async_api import Error as PlaywrightError

from components.browser.errors import EnvError, SandboxError
from components.browser.playwright_errors import ClosedError, NavigatedError, translate

ADDRESS = "http://gitlab.test/-/issues?state=closed&view=crashed"


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        (f'Page.goto: Navigation to "{ADDRESS}" is interrupted by another navigation to "{ADDRESS}2"', EnvError),
        (f"Page.goto: Timeout 8000ms exceeded.\nCall log:\n  - navigating to {ADDRESS}", EnvError),
        (f"Page.goto: net::ERR_CONNECTION_CLOSED at {ADDRESS}", EnvError),
        ("Page.goto: Target page, context or browser has been closed", ClosedError),
        ("Page.evaluate: Target crashed", SandboxError),
        ("Mouse.click: Connection closed while reading from the driver", SandboxError),
        ("Page.evaluate: Execution context was destroyed, most likely because of a navigation", NavigatedError),
    ],
)
def test_words_in_addresses_and_logs_say_nothing_of_the_browser(message, kind):
    assert type(translate(PlaywrightError(message))) is kind
