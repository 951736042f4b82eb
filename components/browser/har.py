"""Records the requests of an episode as a HAR, for tasks whose rule looks at them (`evaluator["har"]`).

Playwright records from before the start page until the rule reads the HAR. Static files (`STATIC`) are left out by
their addresses, and `slim` keeps of each entry what rules look at: the request with its body and some headers, and of
the response the status, the address of a redirect, cookies and JSON. So the HAR of a task has some tens of kilobytes,
and the text of pages is not in it. Passwords in addresses are removed; cookies of the episode and the fields of
submitted forms stay.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from playwright.async_api import BrowserContext

from components.redaction import redacted

STATIC = ("css", "js", "png", "jpg", "jpeg", "gif", "svg", "woff", "woff2", "ttf", "ico", "webp")
"""Ends of the paths that webarena-verified leaves out, too."""
_RECORDED = re.compile(rf"^https?://(?![^?#]*\.(?:{'|'.join(STATIC)})(?:[?#]|$))")
MAX_JSON = 100_000
"""Characters of a JSON response that are kept; a longer one is left out."""
_HEADERS = {
    "accept",
    "content-type",
    "cookie",
    "referer",
    "sec-fetch-dest",
    "sec-fetch-mode",
    "sec-fetch-user",
    "x-requested-with",
}


class HarRecording:
    """A recording under way in a browser context. One context has at most one at a time."""

    def __init__(self, context: BrowserContext) -> None:
        self._context = context
        self._folder = TemporaryDirectory(prefix="waymark-har-")
        self._path = Path(self._folder.name) / "network.har"

    async def start(self) -> None:
        """Record from now on."""
        await self._context.tracing.start_har(self._path, content="embed", mode="full", url_filter=_RECORDED)

    async def stop(self) -> str:
        """End the recording; its entries as a JSON list (see `slim`)."""
        try:
            await self._context.tracing.stop_har()
            return json.dumps(slim(json.loads(self._path.read_text(encoding="utf-8"))), ensure_ascii=False)
        finally:
            self.discard()

    def discard(self) -> None:
        """Delete the files of a recording whose context is closed."""
        self._folder.cleanup()


def slim(har: dict[str, Any]) -> list[dict[str, Any]]:
    """The entries of a HAR in the order of their requests, reduced to what rules look at."""
    return [_entry(entry) for entry in har["log"]["entries"]]


def _entry(entry: dict[str, Any]) -> dict[str, Any]:
    request, response = entry["request"], entry["response"]
    content = response.get("content", {})
    kept: dict[str, Any] = {
        "request": {
            "method": request["method"],
            "url": redacted(request["url"]),
            "headers": [
                {"name": header["name"], "value": redacted(header["value"])}
                for header in request["headers"]
                if header["name"].lower() in _HEADERS
            ],
        },
        "response": {
            "status": response["status"],
            "redirectURL": redacted(response.get("redirectURL", "")),
            "headers": [],
            "cookies": [{"name": cookie["name"], "value": cookie["value"]} for cookie in response.get("cookies", [])],
            "content": {"mimeType": content.get("mimeType", "")},
        },
    }
    if body := request.get("postData"):
        kept["request"]["postData"] = {"mimeType": body.get("mimeType", ""), "text": body.get("text", "")}
    text = content.get("text", "")
    if "application/json" in content.get("mimeType", "") and len(text) <= MAX_JSON and "encoding" not in content:
        kept["response"]["content"]["text"] = text
    return kept
