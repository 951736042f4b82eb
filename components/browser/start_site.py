"""Detects that the site on which an episode began cannot be reached any more, which is never the agent's failure.

Only top-level documents count, and only those of the origins (scheme, host, port) on which the episode began. An
address elsewhere that does not exist is the agent's mistake, and a site that answers with an error status is reachable.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Callable
from urllib.parse import urlsplit

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Request, Response

from components.browser.errors import EnvError

RESPONSE_WAIT_S = 0.2
"""How long a response that is still to come is awaited; the request is checked again after the next step."""


_NO_ANSWER = re.compile(
    r"ERR_(?:CONNECTION|NAME_|ADDRESS|TIMED_OUT|EMPTY_RESPONSE|TUNNEL|PROXY|INTERNET|NETWORK|SSL|CERT|SOCKET|FAILED)"
)
"""Chromium's errors of a connection."""


class StartSite:
    """The site on which an episode began, and the last top-level request to it."""

    def __init__(self) -> None:
        self._origins: set[tuple[str, str]] = set()
        self._last_request: Request | None = None

    def opened(self, *urls: str) -> None:
        """Note the start page: its addresses in the task, and the address to which they led."""
        self._origins, self._last_request = {_origin(url) for url in urls}, None

    def on_request(self, request: Request) -> None:
        """Note a request of a page."""
        if not request.is_navigation_request():
            return
        with contextlib.suppress(PlaywrightError):  # the request's window may not exist yet
            if request.frame.parent_frame is not None:
                return
            last = self._last_request
            if _origin(request.url) in self._origins:
                self._last_request = request
            elif last is not None and request.redirected_from is None and request.frame == last.frame:
                self._last_request = None  # its tab has gone elsewhere, and what it shows is no answer of the site

    async def require_reachable(self, refusal: Callable[[Response], str | None]) -> None:
        """Check the last request.

        Args:
            refusal: `Session.refusal`.

        Raises:
            EnvError: the last document could not be loaded because the site cannot be reached any more.
        """
        request, reason = self._last_request, None
        if request is None:
            return
        with contextlib.suppress(TimeoutError, PlaywrightError):
            async with asyncio.timeout(RESPONSE_WAIT_S):
                response = await request.response()
                self._last_request = None
                if response is not None:
                    reason = refusal(response)
                elif request.frame.page.url.startswith("chrome-error:") and _is_unreachable(request.failure):
                    reason = "the server cannot be reached"
        if reason:
            raise EnvError(
                f"{request.url} could not be opened, though its site answered when the episode began: {reason}"
            )


def _is_unreachable(failure: str | None) -> bool:
    """Whether a request failed because no server answered. Chromium shows a page of its own for other reasons, too: the
    answer to a form that `go_back` would have to send again, a circle of redirects."""
    return failure is None or _NO_ANSWER.search(failure) is not None


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc
