"""Drawings of what stands in the galley and the cabin."""

from __future__ import annotations

from PIL.ImageDraw import ImageDraw

from city.sites.shop.drawings.drawing import DARK, STEEL, WHITE, Drawing


def _kettle(draw: ImageDraw, colour: str) -> None:
    draw.pieslice((110, 160, 370, 480), 180, 360, fill=colour)
    draw.rectangle((110, 318, 370, 400), fill=colour)
    draw.polygon([(360, 300), (440, 210), (450, 225), (370, 350)], fill=colour)
    draw.arc((150, 90, 330, 270), 180, 360, fill="#3a3a3a", width=16)


def _stove(draw: ImageDraw, colour: str) -> None:
    draw.rounded_rectangle((70, 250, 410, 400), 14, fill=colour)
    for x in (90, 260):
        draw.ellipse((x, 210, x + 130, 270), fill=DARK)
        draw.ellipse((x + 30, 225, x + 100, 255), outline="#d06a2c", width=6)
        draw.ellipse((x + 40, 310, x + 90, 360), fill=WHITE)


def _mug(draw: ImageDraw, colour: str) -> None:
    draw.rounded_rectangle((130, 150, 320, 400), 18, fill=colour)
    draw.arc((280, 200, 400, 340), 270, 90, fill=colour, width=26)
    draw.ellipse((130, 130, 320, 180), fill=WHITE, outline=colour, width=6)


def _flask(draw: ImageDraw, colour: str) -> None:
    draw.rounded_rectangle((180, 170, 300, 410), 18, fill=colour)
    draw.rectangle((190, 140, 290, 175), fill=STEEL)
    draw.rounded_rectangle((185, 80, 295, 145), 14, fill=colour)
    draw.rectangle((180, 240, 300, 262), fill=STEEL)


def _knife(draw: ImageDraw, colour: str) -> None:
    draw.polygon([(210, 230), (420, 140), (400, 200), (235, 275)], fill=STEEL, outline="#7d828a")
    draw.polygon([(210, 225), (238, 280), (100, 350), (70, 300)], fill=colour)
    for x, y in ((110, 315), (150, 293), (190, 270)):
        draw.ellipse((x - 8, y - 8, x + 8, y + 8), fill=WHITE)


def _plates(draw: ImageDraw, colour: str) -> None:
    for number in range(4):
        top = 320 - 45 * number
        draw.ellipse((90, top, 390, top + 80), fill=colour, outline="#8f897b", width=4)
    draw.ellipse((150, 200, 330, 250), outline="#8f897b", width=3)


def _pan(draw: ImageDraw, colour: str) -> None:
    draw.ellipse((70, 190, 310, 380), fill=colour)
    draw.ellipse((95, 205, 285, 355), fill="#55555b")
    draw.line((300, 270, 430, 200), fill=colour, width=30)
    draw.ellipse((408, 186, 430, 208), fill=WHITE)


def _can(draw: ImageDraw, colour: str) -> None:
    draw.rounded_rectangle((120, 150, 360, 400), 30, fill=colour, outline="#5c8193", width=4)
    draw.arc((180, 90, 300, 210), 180, 360, fill="#5c8193", width=18)
    draw.rectangle((215, 360, 265, 400), fill=DARK)
    for x in (180, 240, 300):
        draw.line((x, 180, x, 340), fill=WHITE, width=4)


def _lamp(draw: ImageDraw, colour: str) -> None:
    draw.rounded_rectangle((180, 320, 300, 400), 14, fill=colour)
    draw.ellipse((185, 160, 295, 330), fill="#f7efc9", outline="#8f897b", width=4)
    draw.polygon([(240, 220), (262, 290), (218, 290)], fill="#e0862c")
    draw.rectangle((205, 120, 275, 165), fill=colour)
    draw.arc((150, 60, 330, 380), 180, 360, fill=DARK, width=8)


DRAWINGS: dict[str, Drawing] = {
    "kettle": _kettle,
    "stove": _stove,
    "mug": _mug,
    "flask": _flask,
    "knife": _knife,
    "plates": _plates,
    "pan": _pan,
    "can": _can,
    "lamp": _lamp,
}
