"""Drawings of what people wear on board, life jackets included."""

from __future__ import annotations

from PIL.ImageDraw import ImageDraw

from city.sites.shop.drawings.drawing import DARK, STEEL, WHITE, Drawing


def _jacket(draw: ImageDraw, colour: str) -> None:
    draw.polygon([(170, 110), (310, 110), (350, 400), (130, 400)], fill=colour)
    draw.polygon([(170, 110), (90, 300), (140, 320), (190, 200)], fill=colour)
    draw.polygon([(310, 110), (390, 300), (340, 320), (290, 200)], fill=colour)
    draw.line((240, 120, 240, 400), fill="#ffffff", width=6)
    draw.arc((200, 80, 280, 150), 0, 180, fill="#ffffff", width=8)


def _cap(draw: ImageDraw, colour: str) -> None:
    draw.pieslice((120, 120, 360, 420), 180, 360, fill=colour)
    draw.rounded_rectangle((105, 255, 375, 330), 20, fill=colour, outline=WHITE, width=4)
    for x in range(130, 370, 24):
        draw.line((x, 262, x, 322), fill=WHITE, width=2)


def _hat(draw: ImageDraw, colour: str) -> None:
    draw.ellipse((60, 260, 420, 340), fill=colour)
    draw.pieslice((150, 140, 330, 420), 180, 360, fill=colour)
    draw.line((150, 282, 330, 282), fill=DARK, width=14)
    draw.arc((170, 280, 310, 430), 0, 180, fill=DARK, width=4)


def _gloves(draw: ImageDraw, colour: str) -> None:
    for x in (90, 260):
        draw.rounded_rectangle((x, 220, x + 130, 390), 24, fill=colour)
        for finger in range(4):
            draw.rounded_rectangle((x + 33 * finger, 150, x + 33 * finger + 28, 240), 8, fill=colour)
        draw.line((x, 370, x + 130, 370), fill=WHITE, width=8)


def _boots(draw: ImageDraw, colour: str) -> None:
    for x in (110, 250):
        draw.rounded_rectangle((x, 120, x + 80, 380), 14, fill=colour)
        draw.rounded_rectangle((x, 330, x + 130, 400), 24, fill=colour)
        draw.line((x, 145, x + 80, 145), fill=WHITE, width=6)


def _trousers(draw: ImageDraw, colour: str) -> None:
    draw.polygon([(160, 150), (320, 150), (350, 410), (265, 410), (240, 240), (215, 410), (130, 410)], fill=colour)
    draw.line((180, 150, 200, 80), fill=DARK, width=10)
    draw.line((300, 150, 280, 80), fill=DARK, width=10)
    draw.line((160, 175, 320, 175), fill=WHITE, width=6)


def _vest(draw: ImageDraw, colour: str) -> None:
    draw.polygon([(150, 110), (215, 110), (240, 180), (265, 110), (330, 110), (350, 390), (130, 390)], fill=colour)
    draw.line((240, 180, 240, 390), fill=DARK, width=6)
    for y in (260, 330):
        draw.line((132, y, 348, y), fill=DARK, width=12)
        draw.rectangle((222, y - 14, 258, y + 14), fill=STEEL)


DRAWINGS: dict[str, Drawing] = {
    "jacket": _jacket,
    "cap": _cap,
    "hat": _hat,
    "gloves": _gloves,
    "boots": _boots,
    "trousers": _trousers,
    "vest": _vest,
}
