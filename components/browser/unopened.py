"""Tells the agent of pages that a click, a form or a script wanted to open and that could not be opened.

`goto_url` and `go_back` fail with the reason. After a click, only the screenshot would show Chromium's page of an
error, and a list of elements nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Request, Response

from components.browser.playwright_errors import network_reason
from components.browser.tabs import EpisodeTabs

UNOPENED = "unopened"
"""The kind of these notices."""
_ABORTED = "net::ERR_ABORTED"
"""Chromium's word for a download, an answer without content, and a navigation that another one has replaced."""


class UnopenedPages:
    """Notes each top-level page that could not be opened, in the tab that was to show it.

    Args:
        refusal: why the egress guard answered instead of the server; None if the server answered.
    """

    def __init__(self, tabs: EpisodeTabs, refusal: Callable[[Response], str | None]) -> None:
        self._tabs = tabs
        self._refusal = refusal

    def on_response(self, response: Response) -> None:
        """Note a page for which the egress guard answered."""
        if response.request.is_navigation_request() and (reason := self._refusal(response)):
            self._note(response.request, reason)

    def on_failure(self, request: Request) -> None:
        """Note a page to which there was no answer."""
        if request.is_navigation_request() and request.failure and request.failure != _ABORTED:
            self._note(request, network_reason(request.failure))

    def _note(self, request: Request, reason: str) -> None:
        with contextlib.suppress(PlaywrightError):  # the request's window may not exist yet, or no longer
            if request.frame.parent_frame is not None:
                return
            for tab in self._tabs:
                if tab.page == request.frame.page:
                    tab.notices.note(UNOPENED, f"{request.url[:200]} could not be opened: {reason}.")
