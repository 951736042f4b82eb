"""Pages of buttons, links and coloured boxes, drawn without a browser, with their element lists.

`components.training.page_rendering` shows generated pages in Chromium, which a machine with a GPU need not have. These
pages have lines of the same form, so the questions of `components.training.questions` fit them. They are easier, so
that minutes of training show an effect: half of the elements are boxes, there are few words, the centres of the
elements are on a grid of 5 columns and 8 rows, and a third of the pages have one element, which must only be seen.
"""

from __future__ import annotations

import io
import random
from functools import cache

from PIL import Image as PILImage
from PIL import ImageDraw, ImageFont

from components.training.pages import COLOURS, WORDS, Page

WIDTH, HEIGHT = 160, 224
ROW = 28
"""Pixels of height for each element."""
COLUMNS = (40, 60, 80, 100, 120)
"""Where the centres of elements are, in pixels from the left."""
SEEN_WORDS = sorted(set(WORDS))[::4]
"""The names of buttons and links."""


def drawn_pages(count: int, seed: int) -> list[Page]:
    """Seeded pages of one to five elements, each with a name or colour of its own."""
    rng = random.Random(seed)
    return [drawn_page(rng) for _ in range(count)]


def drawn_page(rng: random.Random) -> Page:
    """A page whose elements are in random rows and columns."""
    picture = PILImage.new("RGB", (WIDTH, HEIGHT), rng.choice(["white", "#f4f4f4", "#eef"]))
    canvas = ImageDraw.Draw(picture)
    count = rng.choice([1, 1, 2, 3, 4, 5])
    rows = sorted(rng.sample(range(HEIGHT // ROW), count))
    names, colours = rng.sample(SEEN_WORDS, count), rng.sample(COLOURS, count)
    lines = []
    for row, name, colour in zip(rows, names, colours, strict=True):
        role = rng.choice(["box", "box", "button", "link"])
        width = 24 if role == "box" else round(_font().getlength(name)) + 12
        middle, top = rng.choice(COLUMNS), row * ROW + 2
        left = middle - width // 2
        frame = (left, top, left + width, top + ROW - 4)
        _draw(canvas, role, frame, name, colour)
        x, y = round(1000 * middle / WIDTH), round(1000 * (top + (ROW - 4) / 2) / HEIGHT)
        label = colour if role == "box" else f'"{name}"'
        lines.append(f"- {role} {label} {x} {y}")
    out = io.BytesIO()
    picture.save(out, "PNG")
    return Page(out.getvalue(), lines)


def blank_png() -> bytes:
    """A white page of the same size, which shows nothing."""
    out = io.BytesIO()
    PILImage.new("RGB", (WIDTH, HEIGHT), "white").save(out, "PNG")
    return out.getvalue()


def _draw(canvas: ImageDraw.ImageDraw, role: str, frame: tuple[int, int, int, int], name: str, colour: str) -> None:
    left, top, _, bottom = frame
    if role == "box":
        canvas.rectangle(frame, fill=colour, outline="black")
        return
    if role == "button":
        canvas.rectangle(frame, fill="#e4e4e4", outline="#666")
    canvas.text(
        (left + 6, (top + bottom) // 2), name, fill="black" if role == "button" else "#00c", font=_font(), anchor="lm"
    )


@cache
def _font() -> ImageFont.FreeTypeFont:
    """The font that Pillow contains, so that pages are the same on every machine."""
    font = ImageFont.load_default(14)
    assert isinstance(font, ImageFont.FreeTypeFont), "Pillow was built without FreeType: install its wheel"
    return font
