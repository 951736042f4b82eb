"""Drawings of instruments, charts and books."""

from __future__ import annotations

import math

from PIL.ImageDraw import ImageDraw

from city.sites.shop.drawings.drawing import DARK, STEEL, WHITE, Drawing


def _compass(draw: ImageDraw, colour: str) -> None:
    draw.ellipse((100, 110, 380, 390), fill="#ffffff", outline=colour, width=18)
    for degrees in range(0, 360, 30):
        x, y = math.sin(math.radians(degrees)), -math.cos(math.radians(degrees))
        draw.line((240 + 105 * x, 250 + 105 * y, 240 + 122 * x, 250 + 122 * y), fill="#444444", width=5)
    draw.polygon([(240, 150), (262, 250), (218, 250)], fill=colour)
    draw.polygon([(240, 350), (262, 250), (218, 250)], fill="#9a9a9a")


def _chart(draw: ImageDraw, colour: str) -> None:
    draw.polygon([(80, 120), (400, 140), (390, 390), (90, 370)], fill=WHITE, outline="#6b655a")
    draw.polygon([(80, 120), (230, 130), (190, 220), (240, 290), (150, 374), (90, 370)], fill=colour)
    for inset in (0, 22, 44):
        draw.arc((250 + inset, 190 + inset, 390 - inset, 330 - inset), 0, 360, fill="#7a97a8", width=3)
    draw.line((240, 150, 370, 360), fill="#b03a3a", width=3)


def _ruler(draw: ImageDraw, colour: str) -> None:
    for y in (170, 280):
        draw.rectangle((60, y, 420, y + 60), fill=colour, outline=DARK, width=3)
        for x in range(80, 420, 20):
            draw.line((x, y, x, y + 18), fill=DARK, width=2)
    for x in (130, 310):
        draw.line((x, 200, x + 40, 310), fill="#b8893b", width=14)


def _dividers(draw: ImageDraw, colour: str) -> None:
    draw.ellipse((205, 90, 275, 160), fill=colour)
    draw.line((230, 140, 140, 400), fill=colour, width=22)
    draw.line((250, 140, 340, 400), fill=colour, width=22)
    draw.line((140, 400, 132, 425), fill=DARK, width=8)
    draw.line((340, 400, 348, 425), fill=DARK, width=8)


def _book(draw: ImageDraw, colour: str) -> None:
    draw.rounded_rectangle((120, 100, 360, 410), 10, fill=colour)
    draw.rectangle((132, 386, 356, 402), fill=WHITE)
    draw.rectangle((165, 150, 315, 220), outline=WHITE, width=5)
    draw.line((185, 185, 295, 185), fill=WHITE, width=5)
    draw.line((140, 104, 140, 384), fill=DARK, width=3)


def _gauge(draw: ImageDraw, colour: str) -> None:
    draw.ellipse((90, 100, 390, 400), fill=colour)
    draw.ellipse((120, 130, 360, 370), fill=WHITE)
    for degrees in range(-120, 121, 30):
        x, y = math.sin(math.radians(degrees)), -math.cos(math.radians(degrees))
        draw.line((240 + 92 * x, 250 + 92 * y, 240 + 110 * x, 250 + 110 * y), fill=DARK, width=5)
    draw.line((240, 250, 310, 190), fill="#b03a3a", width=8)


def _radio(draw: ImageDraw, colour: str) -> None:
    draw.rounded_rectangle((165, 170, 315, 410), 20, fill=colour)
    draw.rectangle((180, 50, 205, 175), fill=colour)
    draw.rectangle((190, 200, 290, 250), fill="#b9d48b")
    for y in range(285, 390, 20):
        draw.line((195, y, 285, y), fill=STEEL, width=7)


def _binoculars(draw: ImageDraw, colour: str) -> None:
    for x in (90, 270):
        draw.rounded_rectangle((x + 25, 120, x + 95, 240), 12, fill=colour)
        draw.rounded_rectangle((x, 220, x + 120, 390), 20, fill=colour)
        draw.ellipse((x + 10, 360, x + 110, 410), fill="#7fa6bd")
    draw.rectangle((200, 210, 280, 260), fill=colour)


DRAWINGS: dict[str, Drawing] = {
    "compass": _compass,
    "chart": _chart,
    "ruler": _ruler,
    "dividers": _dividers,
    "book": _book,
    "gauge": _gauge,
    "radio": _radio,
    "binoculars": _binoculars,
}
