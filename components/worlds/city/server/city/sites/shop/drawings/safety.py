"""Drawings of what helps in an emergency."""

from __future__ import annotations

from PIL.ImageDraw import ImageDraw

from city.sites.shop.drawings.drawing import DARK, WHITE, WOOD, Drawing


def _lifebuoy(draw: ImageDraw, colour: str) -> None:
    draw.ellipse((90, 100, 390, 400), outline=colour, width=70)
    for start in (20, 110, 200, 290):
        draw.arc((90, 100, 390, 400), start, start + 35, fill="#ffffff", width=70)


def _flares(draw: ImageDraw, colour: str) -> None:
    for number, x in enumerate((110, 175, 240, 305)):
        draw.rounded_rectangle((x, 170, x + 48, 400), 8, fill=colour if number % 2 == 0 else "#e0862c")
        draw.rectangle((x, 230, x + 48, 270), fill=WHITE)
        draw.rectangle((x + 14, 145, x + 34, 172), fill=DARK)


def _firstaid(draw: ImageDraw, colour: str) -> None:
    draw.rounded_rectangle((90, 160, 390, 400), 22, fill=colour)
    draw.arc((190, 110, 290, 210), 180, 360, fill=DARK, width=14)
    draw.rectangle((215, 210, 265, 350), fill=WHITE)
    draw.rectangle((170, 255, 310, 305), fill=WHITE)


def _horn(draw: ImageDraw, colour: str) -> None:
    draw.polygon([(120, 250), (120, 280), (330, 350), (330, 180)], fill=colour, outline=DARK)
    draw.ellipse((300, 180, 360, 350), fill=DARK)
    draw.rectangle((80, 245, 125, 285), fill=DARK)


def _ladder(draw: ImageDraw, colour: str) -> None:
    draw.arc((150, 60, 330, 200), 180, 360, fill=colour, width=18)
    for x in (150, 312):
        draw.rectangle((x, 125, x + 18, 420), fill=colour)
    for y in range(190, 420, 62):
        draw.rectangle((150, y, 330, y + 20), fill=WOOD)


def _torch(draw: ImageDraw, colour: str) -> None:
    draw.rounded_rectangle((90, 220, 290, 300), 18, fill=colour)
    draw.polygon([(285, 220), (370, 180), (370, 340), (285, 300)], fill=colour)
    draw.ellipse((350, 180, 390, 340), fill="#f5e7a0")
    draw.rectangle((170, 205, 215, 225), fill=DARK)


DRAWINGS: dict[str, Drawing] = {
    "lifebuoy": _lifebuoy,
    "flares": _flares,
    "firstaid": _firstaid,
    "horn": _horn,
    "ladder": _ladder,
    "torch": _torch,
}
