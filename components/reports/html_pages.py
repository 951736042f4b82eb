"""HTML pages: templates that escape all values, images as data URIs, files published by rename."""

from __future__ import annotations

import base64
import io
import os
from pathlib import Path

import jinja2
from PIL import Image as Pillow

from components.records import Image
from components.reports.formats import duration, number, percent, points, words
from components.store import publish


def templates() -> jinja2.Environment:
    """The environment of this package's templates. It escapes all values, and an unknown name is an error."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(percent=percent, points=points, duration=duration, number=number, words=words)
    return environment


def write_html(path: Path | str, html: str) -> int:
    """Write a page, published by rename; a lone surrogate, which UTF-8 cannot encode, becomes an escape.

    Returns the size in bytes.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    data = html.encode("utf-8", "backslashreplace")
    partial.write_bytes(data)
    publish(partial, path)
    return len(data)


_UNREADABLE = (OSError, SyntaxError, ValueError, Pillow.DecompressionBombError)
"""What Pillow raises for a damaged image; for a PNG it is a SyntaxError."""


def picture_size(image: Image) -> tuple[int, int] | None:
    """Width and height of an image in px; None if it is unreadable."""
    try:
        with Pillow.open(io.BytesIO(image.data)) as picture:
            return picture.size
    except _UNREADABLE:
        return None


def data_uri(image: Image, width: int | None = None) -> str:
    """An image as a data URI, reduced and recompressed if it is wider than `width` px; empty if it is unreadable."""
    try:
        with Pillow.open(io.BytesIO(image.data)) as picture:
            mime, data = picture.get_format_mimetype() or "image/png", image.data
            if width is not None and picture.width > width:
                picture.thumbnail((width, picture.height))
                buffer = io.BytesIO()
                picture.convert("RGB").save(buffer, "WEBP", quality=70)
                mime, data = "image/webp", buffer.getvalue()
    except _UNREADABLE:
        return ""
    return f"data:{mime};base64,{base64.b64encode(data).decode()}"
