"""A page from its first moment on: it may open a dialog before anything of it can be read.

Such a dialog blocks the page's scripts and every DevTools command to it, so a window that a page opens handles dialogs
before it becomes a tab. Playwright dismisses a dialog to which nothing listens.
"""

from __future__ import annotations

from playwright.async_api import Dialog, Page

from components.browser.listener_errors import ListenerErrors
from components.browser.notices import Notices
from components.browser.page_limits import PageLimits


class Window:
    """A page with what its dialogs need."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.opener: Page | None = None
        """The page that opened it; known once it opens a dialog."""
        self.notices = Notices()
        """What happened without being visible on the page, for the next line of feedback."""
        self.limits = PageLimits()
        """The time limits of operations on the page."""
        self.listener_errors = ListenerErrors()
        """What the listeners to the page's events raised."""
        page.on("dialog", self.listener_errors.guarded(self.on_dialog))

    @property
    def viewport(self) -> tuple[int, int]:
        """Width and height in CSS pixels. A window that a page opened may have a size of its own."""
        size = self.page.viewport_size
        assert size is not None, "contexts are opened with a viewport (`context_options`)"
        return size["width"], size["height"]

    async def on_dialog(self, dialog: Dialog) -> None:
        """Handle a dialog of the page."""
        self.opener = await self.page.opener()
        await self.notices.on_dialog(dialog)
