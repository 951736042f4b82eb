"""Keeps the errors of event listeners with the tab whose events they handle.

Playwright raises an exception of a listener in the next call of its API, which may be one of another episode.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

Event = TypeVar("Event")
Listener = Callable[[Event], Awaitable[None] | None]


class ListenerErrors:
    """The first error of the listeners of one tab."""

    def __init__(self) -> None:
        self._first: Exception | None = None

    def guarded(self, listener: Listener[Event]) -> Listener[Event]:
        """A listener that raises nothing: its error is kept for `raise_first`."""

        def call(event: Event) -> Awaitable[None] | None:
            try:
                answer = listener(event)
            except Exception as error:
                self._keep(error)
                return None
            return None if answer is None else self._awaited(answer)

        return call

    def raise_first(self) -> None:
        """Raise the first error that was kept, once.

        Raises:
            Exception: what a listener raised.
        """
        error, self._first = self._first, None
        if error is not None:
            raise error

    def forget(self) -> None:
        """Drop what an earlier episode left."""
        self._first = None

    async def _awaited(self, answer: Awaitable[None]) -> None:
        try:
            await answer
        except Exception as error:
            self._keep(error)

    def _keep(self, error: Exception) -> None:
        if self._first is None:
            self._first = error
