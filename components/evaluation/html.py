"""How this room makes HTML: escaping templates, images as data URIs, numbers as people write them, atomic files."""

from __future__ import annotations

import base64
import io
import os
from pathlib import Path

import jinja2
from PIL import Image as Pillow
from PIL import UnidentifiedImageError

from components.evaluation.charts import number
from components.records import Image
from components.store import publish


def templates() -> jinja2.Environment:
    """The room's templates: escaping always on, an unknown name is an error."""
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
    """Write a page, published by rename; what UTF-8 cannot say (a lone surrogate) becomes an escape. Returns bytes."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    data = html.encode("utf-8", "backslashreplace")
    partial.write_bytes(data)
    publish(partial, path)
    return len(data)


def data_uri(image: Image, width: int | None = None) -> str:
    """An image as a data URI, as it is or, if wider than `width` px, reduced and recompressed; empty if unreadable."""
    try:
        with Pillow.open(io.BytesIO(image.data)) as picture:
            mime, data = picture.get_format_mimetype() or "image/png", image.data
            if width is not None and picture.width > width:
                picture.thumbnail((width, picture.height))
                buffer = io.BytesIO()
                picture.convert("RGB").save(buffer, "WEBP", quality=70)
                mime, data = "image/webp", buffer.getvalue()
    except (UnidentifiedImageError, OSError):
        return ""
    return f"data:{mime};base64,{base64.b64encode(data).decode()}"


def percent(value: float | None, digits: int = 1) -> str:
    return "–" if value is None else f"{100 * value:.{digits}f}%"


def points(value: float) -> str:
    return f"{100 * value:+.1f}".replace("-", "−")


def duration(seconds: float) -> str:
    if seconds >= 3600:
        return f"{seconds // 3600:.0f} h {seconds % 3600 // 60:.0f} min"
    if seconds >= 60:
        return f"{seconds // 60:.0f} min {seconds % 60:.0f} s"
    return f"{seconds:.1f} s" if seconds >= 0.1 else f"{1000 * seconds:.0f} ms"


def words(name: str) -> str:
    return name.replace("_", " ")
