"""Bounds the operations of one episode and turns what they raise into the exceptions of `errors`."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable

from playwright.async_api import Browser
from playwright.async_api import Error as PlaywrightError

from components.browser.deadline import Deadline, deadline
from components.browser.errors import BlockedError, EnvError, HarnessError, SandboxError
from components.browser.playwright_errors import translate

DEATH_NOTICE_S = 0.5
"""An operation may fail before Playwright reports the browser's death that broke it; this long the report is
awaited."""


class OperationGuard:
    """The guard of one episode.

    Args:
        browser: the episode's browser.
        measure_health: `BrowserPool.health`, read once after a failure.
        has_crashed: whether the renderer of one of the episode's tabs died.
        loss: why the browser's program or the server of the episode's site is gone; None if both are there.
    """

    def __init__(
        self,
        browser: Browser | None,
        measure_health: Callable[[], dict[str, float]],
        has_crashed: Callable[[], bool],
        loss: Callable[[], str | None],
    ) -> None:
        self.broken = False
        """True once an error made the browser context unfit for another episode."""
        self.health: dict[str, float] = {}
        """The browser's state after the last failure; empty before."""
        self.deadline: Deadline | None = None
        """Of the operation that runs now; None between operations."""
        self._browser = browser
        self._measure_health = measure_health
        self._has_crashed = has_crashed
        self._loss = loss

    @contextlib.asynccontextmanager
    async def operation(self, kind: type[EnvError], limit_s: float, label: str) -> AsyncIterator[None]:
        """Run an operation. After any error the context is marked as broken.

        Args:
            kind: the error that a time-out or a failure of the page becomes.
            label: names the operation in the message.

        Raises:
            kind: the operation failed or took longer than `limit_s` seconds.
            BlockedError: unchanged; it is a finding about the page.
            HarnessError: the operation raised an unexpected exception.
            SandboxError: the browser, a renderer or the site's server died.
        """
        try:
            async with deadline(limit_s, self._browser) as self.deadline:
                yield
        except TimeoutError as error:
            self.broken = True
            raise await self._or_death(kind(f"{label} took longer than {limit_s:.0f} s")) from error
        except PlaywrightError as error:
            self.broken = True
            reason = translate(error)
            raise await self._or_death(
                reason if isinstance(reason, SandboxError) else kind(f"{label}: {reason}")
            ) from error
        except BlockedError:
            self.broken = True
            raise
        except EnvError as error:
            self.broken = True
            known = isinstance(error, kind | HarnessError | SandboxError)
            raise await self._or_death(error if known else kind(f"{label}: {error}")) from error
        except Exception as error:
            self.broken = True
            if self._is_dead:  # any code may fail on a browser that is dying
                raise SandboxError(f"the browser died: {error!r}") from error
            raise HarnessError.of(label, error) from error
        except BaseException:
            self.broken = True
            raise
        finally:
            self.deadline = None
            if self.broken:
                self.health = self._measure_health()

    def on_crash(self) -> None:
        """A renderer died: end the running operation now."""
        if self.deadline is not None:
            self.deadline.expire()

    @property
    def _is_dead(self) -> bool:
        return self._has_crashed() or (self._browser is not None and not self._browser.is_connected())

    async def _or_death(self, error: EnvError) -> EnvError:
        """The error, or a `SandboxError` if the browser's death caused it, or its program or the site's server is
        gone."""
        if isinstance(error, SandboxError):
            return error
        end = time.monotonic() + DEATH_NOTICE_S
        while not self._is_dead and time.monotonic() < end:
            await asyncio.sleep(0.01)
        if problem := self._loss():  # a browser without its program still runs, but can start none of its processes
            return SandboxError(problem)
        return SandboxError(f"the browser died: {error}") if self._is_dead else error
