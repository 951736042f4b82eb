"""Pictures of the harbour, drawn here: they look like what they show, and no licence binds them."""

from __future__ import annotations

import io
import math
from collections.abc import Callable

from PIL import Image, ImageDraw

WIDTH, HEIGHT = 960, 540
HORIZON = 330
PORTRAIT = 480
Draw = ImageDraw.ImageDraw


def scene(drawing: str) -> bytes:
    """A JPEG of a view of the harbour."""
    image = Image.new("RGB", (WIDTH, HEIGHT), "#cfe0ea")
    draw = ImageDraw.Draw(image)
    for y in range(HORIZON):
        draw.line((0, y, WIDTH, y), fill=(150 + y // 4, 190 + y // 8, 220 + y // 16))
    for y in range(HORIZON, HEIGHT):
        draw.line((0, y, WIDTH, y), fill=(52, 110 - (y - HORIZON) // 6, 138 - (y - HORIZON) // 6))
    for number in range(34):
        x, y = (number * 197) % WIDTH, HORIZON + 14 + (number * 61) % (HEIGHT - HORIZON - 24)
        draw.arc((x, y, x + 46, y + 12), 200, 340, fill="#8fb7c6", width=3)
    SCENES[drawing](draw)
    return _jpeg(image)


def portrait(hair: str, pullover: str) -> bytes:
    """A JPEG of a person."""
    image = Image.new("RGB", (PORTRAIT, PORTRAIT), "#dfe7ea")
    draw = ImageDraw.Draw(image)
    draw.ellipse((60, 330, 420, 700), fill=pullover)
    draw.rectangle((205, 290, 275, 370), fill="#d9a98a")
    draw.ellipse((145, 80, 335, 300), fill=hair)
    draw.ellipse((160, 110, 320, 320), fill="#e8bd9e")
    draw.chord((150, 85, 330, 260), 190, 350, fill=hair)
    for x in (205, 275):
        draw.ellipse((x - 9, 205, x + 9, 223), fill="#3a3a3a")
    draw.arc((205, 235, 275, 285), 20, 160, fill="#9a4f43", width=6)
    return _jpeg(image)


def _jpeg(image: Image.Image) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=80)
    return buffer.getvalue()


def _lighthouse(draw: Draw) -> None:
    draw.polygon([(520, 400), (720, 345), (960, 320), (960, 540), (460, 540)], fill="#6d6a60")
    draw.polygon([(699, 170), (761, 170), (782, 372), (678, 372)], fill="#f3f0e8")
    for top in (200, 264, 328):
        upper, lower = (31 + (y - 170) * 21 // 202 for y in (top, top + 34))
        draw.polygon(
            [(730 - upper, top), (730 + upper, top), (730 + lower, top + 34), (730 - lower, top + 34)], fill="#b5403a"
        )
    draw.polygon([(705, 145), (705, 158), (60, 240), (60, 90)], fill="#f4ecc4")
    draw.rectangle((704, 132, 756, 171), fill="#f7d774", outline="#3b3b3b", width=5)
    draw.polygon([(694, 134), (766, 134), (730, 104)], fill="#3b3b3b")


def _boat(draw: Draw) -> None:
    for x, y, size, sail in ((300, 400, 1.4, "#f7f4ec"), (660, 360, 0.9, "#e7c26b"), (840, 350, 0.5, "#f7f4ec")):
        draw.polygon(
            [(x - 110 * size, y), (x + 110 * size, y), (x + 80 * size, y + 42 * size), (x - 90 * size, y + 42 * size)],
            fill="#7a3b2e",
        )
        draw.line((x, y, x, y - 230 * size), fill="#4a3a2a", width=6)
        draw.polygon([(x + 8, y - 225 * size), (x + 8, y - 15), (x + 105 * size, y - 15)], fill=sail)
        draw.polygon([(x - 8, y - 200 * size), (x - 8, y - 15), (x - 85 * size, y - 15)], fill=sail)


def _crane(draw: Draw) -> None:
    draw.rectangle((0, 420, 430, 540), fill="#8d897e")
    draw.line((180, 420, 180, 60), fill="#2f7a4d", width=26)
    draw.line((120, 90, 720, 90), fill="#2f7a4d", width=20)
    draw.line((180, 40, 700, 90), fill="#2f7a4d", width=7)
    for x in range(200, 700, 50):
        draw.line((x, 90, x + 25, 56 + x // 20), fill="#2f7a4d", width=4)
    draw.line((640, 90, 640, 230), fill="#333333", width=5)
    draw.line((640, 230, 540, 330), fill="#d9b64a", width=7)
    draw.line((640, 230, 740, 330), fill="#d9b64a", width=7)
    draw.polygon([(490, 300), (800, 300), (760, 370), (530, 370)], fill="#f3f0e8")
    draw.rectangle((590, 262, 700, 300), fill="#c8d4da")


def _quay(draw: Draw) -> None:
    for number, colour in enumerate(("#d9b64a", "#b5503c", "#8fa9b5", "#e7ddc8", "#7f9a6b")):
        left = 20 + 150 * number
        draw.rectangle((left, 150, left + 140, 330), fill=colour)
        draw.polygon([(left - 6, 150), (left + 146, 150), (left + 70, 90)], fill="#6b3f34")
        for x in (left + 25, left + 85):
            for y in (175, 240):
                draw.rectangle((x, y, x + 30, y + 40), fill="#3d4f5a")
    draw.rectangle((0, 330, WIDTH, 390), fill="#8d897e")
    for x in range(40, WIDTH, 130):
        draw.rounded_rectangle((x, 312, x + 26, 345), 8, fill="#3b3b3b")


def _gull(draw: Draw) -> None:
    draw.polygon([(0, 540), (0, 470), (560, 430), (760, 540)], fill="#6d6a60")
    draw.ellipse((300, 230, 610, 400), fill="#f6f5f2")
    draw.ellipse((520, 150, 650, 270), fill="#f6f5f2")
    draw.polygon([(640, 205), (730, 228), (640, 240)], fill="#e5a52c")
    draw.ellipse((592, 190, 610, 208), fill="#333333")
    draw.polygon([(300, 290), (520, 260), (420, 360), (230, 370)], fill="#9aa3a9")
    for x in (420, 480):
        draw.line((x, 395, x, 455), fill="#e5a52c", width=10)


def _tap(draw: Draw) -> None:
    draw.rectangle((0, 430, WIDTH, 540), fill="#8d897e")
    draw.rectangle((250, 60, 310, 430), fill="#9aa3a9")
    draw.rounded_rectangle((250, 130, 560, 185), 24, fill="#b9772f")
    draw.rounded_rectangle((505, 150, 560, 250), 18, fill="#b9772f")
    draw.rounded_rectangle((370, 66, 470, 92), 12, fill="#b5403a")
    draw.rectangle((412, 90, 428, 132), fill="#b9772f")
    draw.rounded_rectangle((512, 252, 552, 440), 16, fill="#7fc0dd")
    draw.ellipse((430, 420, 640, 470), fill="#7fc0dd")


def _rope(draw: Draw) -> None:
    draw.rectangle((0, 200, WIDTH, 540), fill="#a9835a")
    for y in range(200, 540, 68):
        draw.line((0, y, WIDTH, y), fill="#7d5d3b", width=4)
    for number in range(7):
        inset = 30 * number
        draw.ellipse((270 + inset, 180 + inset // 2, 690 - inset, 480 - inset // 2), outline="#ead9b0", width=20)
    draw.line((680, 330, 900, 250), fill="#ead9b0", width=20)


def _film(draw: Draw) -> None:
    draw.rectangle((0, 0, WIDTH, HEIGHT), fill="#24303a")
    draw.polygon([(480, 470), (180, 70), (780, 70)], fill="#41515c")
    draw.rectangle((200, 50, 760, 330), fill="#f1ead6")
    draw.polygon([(450, 130), (510, 130), (525, 330), (435, 330)], fill="#b5403a")
    draw.ellipse((455, 92, 505, 132), fill="#f2c94c")
    for number in range(9):
        x = 60 + 105 * number
        y = 440 + int(22 * math.sin(number))
        draw.ellipse((x - 34, y - 40, x + 34, y + 28), fill="#11181e")
        draw.ellipse((x - 62, y + 22, x + 62, y + 180), fill="#11181e")


SCENES: dict[str, Callable[[Draw], None]] = {
    "lighthouse": _lighthouse,
    "boat": _boat,
    "crane": _crane,
    "quay": _quay,
    "gull": _gull,
    "tap": _tap,
    "rope": _rope,
    "film": _film,
}
TITLES = {
    "lighthouse": "The light on the mole",
    "boat": "Three boats under sail",
    "crane": "The crane with a boat in its slings",
    "quay": "Houses on the east quay",
    "gull": "A gull on the breakwater",
    "tap": "A tap on the quay",
    "rope": "A coil of rope on planks",
    "film": "The sail loft on a film night",
}
