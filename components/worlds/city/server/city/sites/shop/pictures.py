"""Pictures of the goods, drawn here: they look like what they show, and no licence binds them."""

from __future__ import annotations

import io

from PIL import Image, ImageDraw, ImageFont

from city.sites.shop.drawings import DRAWINGS

SIZE = 480


def picture(drawing: str, colour: str, text: str) -> bytes:
    """A JPEG of a good in its colour, with its code in the corner."""
    image = Image.new("RGB", (SIZE, SIZE), "#f4f1ea")
    draw = ImageDraw.Draw(image)
    draw.ellipse((90, 380, 390, 430), fill="#dcd6c8")
    DRAWINGS[drawing](draw, colour)
    draw.text((16, SIZE - 36), text, fill="#6b655a", font=ImageFont.load_default(20))
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=80)
    return buffer.getvalue()
