"""DevTools commands to one page: each has a time limit, and a failure is one of `errors`, never Playwright's."""

from __future__ import annotations

from playwright.async_api import CDPSession
from playwright.async_api import Error as PlaywrightError

from components.browser.errors import EnvError, SandboxError
from components.browser.page_limits import PageLimits
from components.browser.playwright_errors import translate

PROBE_TIMEOUT_S = 10.0
"""For one question to a page that does not wait for anything."""


class DevTools:
    """A page's DevTools session.

    Args:
        limits: the time limits of operations on the page.
    """

    def __init__(self, cdp: CDPSession, limits: PageLimits) -> None:
        self.crashed = False
        """Whether the page's renderer died. Commands then fail at once."""
        self._cdp = cdp
        self._limits = limits

    async def send(self, method: str, arguments: dict, timeout_s: float) -> dict:
        """The answer to a command.

        Raises:
            EnvError: the page did not answer in time, or refused the command.
            SandboxError: the renderer or the browser died.
            NavigatedError: the document was replaced meanwhile.
            ClosedError: the page was closed.
        """
        if self.crashed:
            raise SandboxError("the page's renderer died")
        try:
            async with self._limits.limit(timeout_s):
                return await self._cdp.send(method, arguments)
        except TimeoutError as error:
            if self.crashed:
                raise SandboxError("the page's renderer died") from error
            raise EnvError(f"the page did not answer {method} within {timeout_s:.0f} s") from error
        except PlaywrightError as error:
            raise translate(error) from error
