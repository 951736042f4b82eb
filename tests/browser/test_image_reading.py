"""Images that rules look at: only pictures that a page shows are read."""

from __future__ import annotations

import asyncio
import io
import json
import zlib

import pytest
from PIL import Image as PILImage

from components.browser.image_reading import as_png, read_images


def png() -> bytes:
    written = io.BytesIO()
    PILImage.effect_noise((64, 64), 90).save(written, "PNG")
    return written.getvalue()


def damaged() -> bytes:
    """A PNG whose second part of the picture has a name that no chunk has."""
    whole = png()
    start = whole.index(b"IDAT") - 4
    length = int.from_bytes(whole[start : start + 4], "big")
    data = whole[start + 8 : start + 8 + length]
    first = len(data) // 2
    head = first.to_bytes(4, "big") + b"IDAT" + data[:first] + zlib.crc32(b"IDAT" + data[:first]).to_bytes(4, "big")
    return whole[:start] + head + (length - first).to_bytes(4, "big") + b"\x00\x01\x02\x03" + data[first:]


def test_a_damaged_picture_is_no_picture():
    assert as_png(png()) is not None
    assert as_png(damaged()) is None


@pytest.mark.parametrize(
    "address", ["file:///etc/passwd", "blob:http://shop.test/1", "chrome://version", "about:blank"]
)
def test_what_is_no_web_address_is_not_opened(address):
    async def opened(address: str) -> None:
        raise AssertionError(f"{address} was opened")

    assert asyncio.run(read_images(json.dumps([address]), opened)) == []
