"""Pictures of the goods, drawn here: they look like what they show, and no licence binds them."""

from __future__ import annotations

import io
import math
from collections.abc import Callable

from PIL import Image, ImageDraw, ImageFont

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


def _rope(draw: ImageDraw.ImageDraw, colour: str) -> None:
    for number in range(6):
        inset = 24 * number
        draw.ellipse((90 + inset, 130 + inset, 390 - inset, 400 - inset), outline=colour, width=16)
    draw.line((380, 260, 440, 160), fill=colour, width=16)


def _jacket(draw: ImageDraw.ImageDraw, colour: str) -> None:
    draw.polygon([(170, 110), (310, 110), (350, 400), (130, 400)], fill=colour)
    draw.polygon([(170, 110), (90, 300), (140, 320), (190, 200)], fill=colour)
    draw.polygon([(310, 110), (390, 300), (340, 320), (290, 200)], fill=colour)
    draw.line((240, 120, 240, 400), fill="#ffffff", width=6)
    draw.arc((200, 80, 280, 150), 0, 180, fill="#ffffff", width=8)


def _compass(draw: ImageDraw.ImageDraw, colour: str) -> None:
    draw.ellipse((100, 110, 380, 390), fill="#ffffff", outline=colour, width=18)
    for degrees in range(0, 360, 30):
        x, y = math.sin(math.radians(degrees)), -math.cos(math.radians(degrees))
        draw.line((240 + 105 * x, 250 + 105 * y, 240 + 122 * x, 250 + 122 * y), fill="#444444", width=5)
    draw.polygon([(240, 150), (262, 250), (218, 250)], fill=colour)
    draw.polygon([(240, 350), (262, 250), (218, 250)], fill="#9a9a9a")


def _lifebuoy(draw: ImageDraw.ImageDraw, colour: str) -> None:
    draw.ellipse((90, 100, 390, 400), outline=colour, width=70)
    for start in (20, 110, 200, 290):
        draw.arc((90, 100, 390, 400), start, start + 35, fill="#ffffff", width=70)


def _kettle(draw: ImageDraw.ImageDraw, colour: str) -> None:
    draw.pieslice((110, 160, 370, 480), 180, 360, fill=colour)
    draw.rectangle((110, 318, 370, 400), fill=colour)
    draw.polygon([(360, 300), (440, 210), (450, 225), (370, 350)], fill=colour)
    draw.arc((150, 90, 330, 270), 180, 360, fill="#3a3a3a", width=16)


def _cleat(draw: ImageDraw.ImageDraw, colour: str) -> None:
    draw.rounded_rectangle((70, 210, 410, 260), 25, fill=colour)
    draw.polygon([(180, 260), (220, 260), (200, 370), (150, 370)], fill=colour)
    draw.polygon([(260, 260), (300, 260), (330, 370), (280, 370)], fill=colour)
    draw.rounded_rectangle((120, 365, 360, 395), 10, fill=colour)


def _tin(draw: ImageDraw.ImageDraw, colour: str) -> None:
    draw.rectangle((130, 160, 350, 400), fill="#d5d7da")
    draw.rectangle((130, 210, 350, 350), fill=colour)
    draw.ellipse((130, 135, 350, 185), fill="#b9bcc1")
    draw.arc((110, 70, 370, 250), 180, 360, fill="#777777", width=8)


def _fish(draw: ImageDraw.ImageDraw, colour: str) -> None:
    draw.ellipse((90, 180, 340, 330), fill=colour)
    draw.polygon([(320, 255), (420, 180), (420, 330)], fill=colour)
    draw.ellipse((135, 230, 155, 250), fill="#ffffff")
    draw.arc((180, 200, 240, 310), 270, 90, fill="#ffffff", width=5)


DRAWINGS: dict[str, Callable[[ImageDraw.ImageDraw, str], None]] = {
    "rope": _rope,
    "jacket": _jacket,
    "compass": _compass,
    "lifebuoy": _lifebuoy,
    "kettle": _kettle,
    "cleat": _cleat,
    "tin": _tin,
    "fish": _fish,
}
