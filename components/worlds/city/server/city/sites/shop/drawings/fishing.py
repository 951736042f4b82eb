"""Drawings of fishing gear, with the box for bait."""

from __future__ import annotations

from PIL.ImageDraw import ImageDraw

from city.sites.shop.drawings.drawing import DARK, STEEL, WHITE, WOOD, Drawing


def _fish(draw: ImageDraw, colour: str) -> None:
    draw.ellipse((90, 180, 340, 330), fill=colour)
    draw.polygon([(320, 255), (420, 180), (420, 330)], fill=colour)
    draw.ellipse((135, 230, 155, 250), fill="#ffffff")
    draw.arc((180, 200, 240, 310), 270, 90, fill="#ffffff", width=5)


def _rod(draw: ImageDraw, colour: str) -> None:
    draw.line((80, 410, 400, 90), fill=colour, width=10)
    draw.line((80, 410, 170, 320), fill=WOOD, width=24)
    for x in (220, 270, 320, 370):
        draw.ellipse((x - 2, 478 - x, x + 16, 496 - x), outline=DARK, width=4)
    draw.line((400, 90, 410, 380), fill="#9ec5d8", width=2)


def _reel(draw: ImageDraw, colour: str) -> None:
    draw.ellipse((120, 150, 340, 370), fill=colour, outline=DARK, width=6)
    draw.ellipse((165, 195, 295, 325), fill=DARK)
    draw.ellipse((205, 235, 255, 285), fill=colour)
    draw.line((230, 260, 390, 200), fill=DARK, width=14)
    draw.rounded_rectangle((370, 170, 410, 230), 14, fill=WOOD)
    draw.rectangle((150, 90, 310, 115), fill=DARK)


def _net(draw: ImageDraw, colour: str) -> None:
    draw.line((240, 260, 400, 90), fill=WOOD, width=16)
    draw.ellipse((80, 200, 300, 300), outline=DARK, width=10)
    draw.polygon([(85, 255), (295, 255), (220, 420), (160, 420)], outline=colour, width=6)
    for x in range(110, 290, 30):
        draw.line((x, 290, 190, 415), fill=colour, width=3)
    for y in (310, 345, 380):
        draw.line((100 + (y - 255) // 2, y, 280 - (y - 255) // 2, y), fill=colour, width=3)


def _pot(draw: ImageDraw, colour: str) -> None:
    draw.pieslice((80, 150, 400, 560), 180, 360, outline=colour, width=12)
    draw.rectangle((80, 350, 400, 390), fill=colour)
    for x in range(120, 400, 40):
        draw.line((x, 350, 240, 155), fill=colour, width=4)
    draw.ellipse((195, 270, 285, 350), fill=DARK)
    draw.ellipse((370, 90, 430, 150), fill="#e0631f")


def _box(draw: ImageDraw, colour: str) -> None:
    draw.rounded_rectangle((90, 210, 390, 400), 16, fill=colour)
    draw.rounded_rectangle((80, 170, 400, 230), 14, fill=colour, outline=WHITE, width=4)
    draw.rectangle((215, 220, 265, 260), fill=STEEL)
    draw.arc((170, 100, 310, 240), 180, 360, fill=DARK, width=12)


def _holder(draw: ImageDraw, colour: str) -> None:
    draw.rounded_rectangle((200, 90, 280, 340), 30, fill=colour)
    draw.ellipse((200, 75, 280, 115), fill=DARK)
    draw.arc((170, 300, 310, 430), 0, 360, fill=DARK, width=22)
    draw.line((70, 365, 410, 365), fill=STEEL, width=26)


DRAWINGS: dict[str, Drawing] = {
    "fish": _fish,
    "rod": _rod,
    "reel": _reel,
    "net": _net,
    "pot": _pot,
    "box": _box,
    "holder": _holder,
}
