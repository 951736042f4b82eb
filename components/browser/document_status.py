"""The HTTP status of the documents that an episode's tabs show."""

from __future__ import annotations

from urllib.parse import urldefrag

from playwright.async_api import Response


class DocumentStatuses:
    """The last status of each address that a tab or a frame navigated to."""

    def __init__(self) -> None:
        self._statuses: dict[str, int] = {}

    def on_response(self, response: Response) -> None:
        """Note the status of a document."""
        if response.request.is_navigation_request():
            self._statuses[urldefrag(response.url).url] = response.status

    def of(self, url: str) -> int | None:
        """The status with which an address was answered last; None if it was not answered, or set by a script."""
        return self._statuses.get(urldefrag(url).url)
