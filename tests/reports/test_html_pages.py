"""Images of pages: a damaged one is left out, and the page is written all the same."""

from __future__ import annotations

import io
import struct
import zlib

import pytest
from PIL import Image as Pillow

from components.records import Image
from components.reports.html_pages import data_uri

SIGNATURE = b"\x89PNG\r\n\x1a\n"


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def header(width: int, height: int) -> bytes:
    return SIGNATURE + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))


def damaged_chunk() -> bytes:
    """A PNG with the second half of its pixels in a chunk with a damaged name."""
    pixels = zlib.compress(bytes(40 * (1 + 3 * 40)), level=0)
    middle = len(pixels) // 2
    return header(40, 40) + chunk(b"IDAT", pixels[:middle]) + chunk(b"\0\1\2\3", pixels[middle:]) + chunk(b"IEND", b"")


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"no image", id="of no format"),
        pytest.param(damaged_chunk(), id="a damaged chunk"),
        pytest.param(header(40, 40) + chunk(b"zTXt", b"a\0\0" + zlib.compress(bytes(2**21))), id="a text of 2 MiB"),
        pytest.param(header(40_000, 40_000) + chunk(b"IDAT", b""), id="1.6 billion pixels"),
    ],
)
def test_an_image_that_cannot_be_read_has_no_address(data):
    assert data_uri(Image.of(data), width=20) == ""


def test_an_image_is_reduced_to_the_width_of_the_page():
    buffer = io.BytesIO()
    Pillow.new("RGB", (40, 20), "red").save(buffer, "PNG")
    assert data_uri(Image.of(buffer.getvalue()), width=20).startswith("data:image/webp;base64,")
    assert data_uri(Image.of(buffer.getvalue())).startswith("data:image/png;base64,")
