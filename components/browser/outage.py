"""A site that answered when the episode began and no longer does: the environment's failure, never the agent's.

Only documents at the top of a tab count, and only those of the site (scheme, host and port) on which the episode began:
an address that does not exist elsewhere is the agent's mistake, and a site that answers with an error is there.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from urllib.parse import urlsplit

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Request, Response

from components.browser.errors import EnvError

PATIENCE_S = 0.2
"""How long an answer that is still to come is waited for; it is asked about again after the next step."""


class Home:
    """The site on which an episode began, and its last document that was asked for."""

    def __init__(self) -> None:
        self._origins: set[tuple[str, str]] = set()
        self._asked: Request | None = None

    def began(self, *urls: str) -> None:
        """The start page was opened: as the task names it, and where that led."""
        self._origins, self._asked = {_origin(url) for url in urls}, None

    def hear(self, request: Request) -> None:
        """A page asks for something."""
        if request.is_navigation_request() and _origin(request.url) in self._origins:
            with contextlib.suppress(PlaywrightError):  # a window that is not there yet
                if request.frame.parent_frame is None:
                    self._asked = request

    async def require(self, refusal: Callable[[Response], str | None]) -> None:
        """Raises:
        EnvError: the last document could not be had, since the site cannot be reached any more.
        """
        asked, why = self._asked, None
        if asked is None:
            return
        with contextlib.suppress(TimeoutError, PlaywrightError):
            async with asyncio.timeout(PATIENCE_S):
                response = await asked.response()
                self._asked = None
                if response is not None:
                    why = refusal(response)
                elif asked.frame.page.url.startswith("chrome-error:"):
                    why = "the server cannot be reached"
        if why:
            raise EnvError(f"{asked.url} could not be opened, though its site answered when the episode began: {why}")


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc
