"""The navigation of a page's main frame, followed through DevTools events.

They come in order on the same channel as the answers: when a probe after a click is answered, a navigation that the
click requested has already been announced. So no fixed sleep is needed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from playwright.async_api import CDPSession

from components.browser.listener_errors import ListenerErrors


class Navigation:
    """Knows whether a main frame is navigating, and counts its documents.

    Args:
        frame_id: DevTools' id of the main frame.
        on_document: called when the frame shows another document.
    """

    def __init__(self, frame_id: str, on_document: Callable[[], None]) -> None:
        self.documents = 0
        """Number of documents that the frame has shown so far."""
        self._frame_id = frame_id
        self._on_new_document = on_document
        self.unanswered: str | None = None
        """The address of the document that was requested and is not shown yet; None without such a request."""
        self._idle = asyncio.Event()
        """Set while no navigation is under way."""
        self._idle.set()

    def follow(self, cdp: CDPSession, errors: ListenerErrors) -> None:
        """Listen to the events of a page, whose domain `Page` is enabled."""
        cdp.on("Page.frameRequestedNavigation", errors.guarded(self._on_requested))
        cdp.on("Page.frameStartedNavigating", errors.guarded(self._on_requested))
        cdp.on("Page.frameNavigated", errors.guarded(self._on_document))
        cdp.on("Page.navigatedWithinDocument", errors.guarded(self._on_ended))
        cdp.on("Page.frameStoppedLoading", errors.guarded(self._on_ended))

    @property
    def is_under_way(self) -> bool:
        """Whether another document was requested and is not shown yet."""
        return not self._idle.is_set()

    async def ended(self) -> None:
        """Wait until no navigation is under way."""
        await self._idle.wait()

    def give_up(self) -> None:
        """Count the navigation as ended: it takes too long, became a download, or its renderer died."""
        self._idle.set()

    def _on_requested(self, event: dict) -> None:
        if event["frameId"] == self._frame_id and event.get("navigationType") not in (
            "sameDocument",
            "historySameDocument",
        ):
            self._idle.clear()
            self.unanswered = event["url"]

    def _on_document(self, event: dict) -> None:
        if event["frame"]["id"] == self._frame_id:
            self.documents += 1
            self.unanswered = None
            self._on_new_document()

    def _on_ended(self, event: dict) -> None:
        if event["frameId"] == self._frame_id:
            self._idle.set()
            self.unanswered = None
