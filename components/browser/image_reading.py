"""Reads the images of a page for a task's rule when the episode is over (VisualWebArena's `page_image_query`).

The page names the addresses of its images. Each address is then opened in the tab that reads, so images pass the same
egress guard as pages, with the agent's login. An address that is missing (404) or no picture, such as a drawing in
SVG, is left out; a server that fails gives no reading. Pictures are kept as PNG of at most `MAX_SIDE` pixels, because
a trajectory holds them.
"""

from __future__ import annotations

import io
import json
from collections.abc import Awaitable, Callable, Sequence
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import DataHandler, Request

from PIL import Image as PILImage
from playwright.async_api import Response

from components.browser.errors import EnvError
from components.records import Image

MAX_IMAGES = 40
"""On one page. More are an error: if some were left out, they could be the ones that the rule looks for."""
MAX_SIDE = 512
"""Pixels of the longer side of a kept image."""
_ADDRESSES = """(() => {
  const roots = SELECTOR.trim() ? [...document.querySelectorAll(SELECTOR)] : [document];
  const images = roots.flatMap(root => root.tagName === 'IMG' ? [root] : [...root.querySelectorAll('img')]);
  return JSON.stringify([...new Set(images.map(image => image.src).filter(Boolean))]);
})()"""
_NOT_FOUND = 400

Open = Callable[[str], Awaitable[Response | None]]
"""Opens an address in the tab that reads; raises EnvError if the server failed or the egress guard refused."""


def image_addresses(selector: str) -> str:
    """The JavaScript expression for the addresses of the images that a CSS selector finds, or that are inside what it
    finds, as a JSON list; all of the page for an empty selector."""
    return _ADDRESSES.replace("SELECTOR", json.dumps(selector))


async def read_images(addresses: str, open_address: Open) -> list[Image]:
    """The images at the addresses of a page.

    Args:
        addresses: the value of `image_addresses`.

    Raises:
        EnvError: there are too many, or a server failed.
    """
    sources: Sequence[str] = json.loads(addresses)
    if len(sources) > MAX_IMAGES:
        raise EnvError(f"the page has {len(sources)} images to look at, and {MAX_IMAGES} are the most")
    images = [await _read(address, open_address) for address in sources]
    return [image for image in images if image is not None]


async def read_copies(addresses: Sequence[str], open_address: Open) -> list[Image]:
    """The images that a task names.

    Raises:
        EnvError: one of them cannot be read, so no page can be compared with it.
    """
    images = []
    for address in addresses:
        if urlsplit(address).scheme not in ("http", "https"):
            raise EnvError(f"the image {address} of the task is no address; it is a file of its authors")
        image = await _read(address, open_address)
        if image is None:
            raise EnvError(f"the image {address} of the task is missing, or no picture")
        images.append(image)
    return images


def as_png(data: bytes) -> Image | None:
    """The picture as PNG of at most `MAX_SIDE` pixels, on white where it is transparent; None if it is no picture."""
    try:
        with PILImage.open(io.BytesIO(data)) as opened:
            opened.thumbnail((MAX_SIDE, MAX_SIDE))
            layers = opened.convert("RGBA")
    except (OSError, ValueError, SyntaxError, PILImage.DecompressionBombError):  # SyntaxError: a damaged PNG
        return None
    white = PILImage.new("RGBA", layers.size, "white")
    out = io.BytesIO()
    PILImage.alpha_composite(white, layers).convert("RGB").save(out, "PNG")
    return Image.of(out.getvalue())


async def _read(address: str, open_address: Open) -> Image | None:
    if address.startswith("data:"):
        try:
            return as_png(DataHandler().data_open(Request(address)).read())
        except (URLError, ValueError):
            return None
    if urlsplit(address).scheme not in ("http", "https"):
        return None  # a page can name any file of this machine
    response = await open_address(address)
    if response is None or response.status >= _NOT_FOUND:
        return None
    return as_png(await response.body())
