"""Drawings of ropes, of what is fitted to a deck or kept on it, and of paint and tools for its care."""

from __future__ import annotations

from PIL.ImageDraw import ImageDraw

from city.sites.shop.drawings.drawing import DARK, STEEL, WHITE, WOOD, Drawing


def _rope(draw: ImageDraw, colour: str) -> None:
    for number in range(6):
        inset = 24 * number
        draw.ellipse((90 + inset, 130 + inset, 390 - inset, 400 - inset), outline=colour, width=16)
    draw.line((380, 260, 440, 160), fill=colour, width=16)


def _spool(draw: ImageDraw, colour: str) -> None:
    draw.rectangle((160, 160, 320, 370), fill=colour)
    for y in range(170, 370, 14):
        draw.line((160, y, 320, y + 8), fill=WHITE, width=2)
    draw.rounded_rectangle((130, 130, 350, 165), 10, fill=WOOD)
    draw.rounded_rectangle((130, 365, 350, 400), 10, fill=WOOD)


def _mesh(draw: ImageDraw, colour: str) -> None:
    for offset in range(0, 301, 50):
        draw.line((90 + offset, 110, 90 + offset, 410), fill=colour, width=8)
        draw.line((90, 110 + offset, 390, 110 + offset), fill=colour, width=8)
    for x in range(90, 391, 50):
        draw.ellipse((x - 10, 100, x + 10, 120), fill=DARK)


def _cleat(draw: ImageDraw, colour: str) -> None:
    draw.rounded_rectangle((70, 210, 410, 260), 25, fill=colour)
    draw.polygon([(180, 260), (220, 260), (200, 370), (150, 370)], fill=colour)
    draw.polygon([(260, 260), (300, 260), (330, 370), (280, 370)], fill=colour)
    draw.rounded_rectangle((120, 365, 360, 395), 10, fill=colour)


def _shackle(draw: ImageDraw, colour: str) -> None:
    draw.arc((140, 110, 340, 330), 0, 360, fill=colour, width=34)
    draw.rectangle((205, 300, 275, 410), fill=colour, outline="#7d828a", width=3)
    draw.line((130, 225, 200, 225), fill=DARK, width=14)
    draw.ellipse((222, 340, 258, 376), fill=DARK)


def _block(draw: ImageDraw, colour: str) -> None:
    draw.rounded_rectangle((150, 150, 330, 390), 80, fill=colour)
    draw.ellipse((180, 210, 300, 330), fill=STEEL)
    draw.ellipse((220, 250, 260, 290), fill=DARK)
    draw.arc((205, 80, 275, 170), 0, 360, fill="#8a9097", width=16)


def _fender(draw: ImageDraw, colour: str) -> None:
    draw.rounded_rectangle((175, 130, 305, 390), 60, fill=colour, outline="#8d959c", width=5)
    draw.rectangle((215, 95, 265, 140), fill="#2f5d8a")
    draw.rectangle((215, 380, 265, 420), fill="#2f5d8a")
    draw.line((240, 95, 240, 30), fill=WOOD, width=10)


def _anchor(draw: ImageDraw, colour: str) -> None:
    draw.ellipse((215, 70, 265, 120), outline=colour, width=14)
    draw.line((240, 120, 240, 390), fill=colour, width=26)
    draw.line((160, 165, 320, 165), fill=colour, width=20)
    draw.arc((110, 200, 370, 410), 20, 160, fill=colour, width=28)
    draw.polygon([(95, 300), (165, 300), (120, 240)], fill=colour)
    draw.polygon([(385, 300), (315, 300), (360, 240)], fill=colour)


def _handle(draw: ImageDraw, colour: str) -> None:
    draw.line((120, 330, 360, 230), fill=colour, width=34)
    draw.ellipse((80, 290, 170, 380), fill=STEEL, outline=DARK, width=4)
    draw.rounded_rectangle((330, 110, 390, 250), 26, fill="#c0392b")


def _hook(draw: ImageDraw, colour: str) -> None:
    draw.line((90, 410, 340, 130), fill=colour, width=20)
    draw.arc((300, 70, 400, 170), 150, 30, fill="#e0a82e", width=18)
    draw.line((90, 410, 170, 320), fill=DARK, width=26)


def _pump(draw: ImageDraw, colour: str) -> None:
    draw.rounded_rectangle((190, 180, 290, 410), 16, fill=colour)
    draw.rectangle((230, 80, 250, 190), fill=STEEL)
    draw.rounded_rectangle((180, 65, 300, 95), 12, fill=DARK)
    draw.polygon([(285, 200), (400, 240), (400, 280), (285, 250)], fill=colour)


def _bucket(draw: ImageDraw, colour: str) -> None:
    draw.polygon([(120, 190), (360, 190), (325, 410), (155, 410)], fill=colour)
    draw.ellipse((120, 165, 360, 215), fill="#7fa6bd", outline=colour, width=8)
    draw.arc((130, 60, 350, 300), 180, 360, fill=WOOD, width=12)


def _tin(draw: ImageDraw, colour: str) -> None:
    draw.rectangle((130, 160, 350, 400), fill="#d5d7da")
    draw.rectangle((130, 210, 350, 350), fill=colour)
    draw.ellipse((130, 135, 350, 185), fill="#b9bcc1")
    draw.arc((110, 70, 370, 250), 180, 360, fill="#777777", width=8)


def _bottle(draw: ImageDraw, colour: str) -> None:
    draw.rounded_rectangle((165, 190, 315, 410), 22, fill=colour)
    draw.rectangle((210, 120, 270, 200), fill=colour)
    draw.rectangle((200, 90, 280, 130), fill=DARK)
    draw.rectangle((165, 250, 315, 350), fill=WHITE)
    draw.line((185, 285, 295, 285), fill=colour, width=8)
    draw.line((185, 315, 265, 315), fill=colour, width=8)


def _brush(draw: ImageDraw, colour: str) -> None:
    draw.rounded_rectangle((215, 70, 265, 230), 20, fill=colour)
    draw.rectangle((165, 225, 315, 285), fill=STEEL)
    draw.polygon([(165, 285), (315, 285), (300, 400), (180, 400)], fill="#6d553c")
    for x in range(185, 305, 16):
        draw.line((x, 290, x, 395), fill="#8f7657", width=3)


def _block_of_wood(draw: ImageDraw, colour: str) -> None:
    draw.polygon([(90, 270), (330, 230), (400, 280), (160, 325)], fill=colour)
    draw.polygon([(90, 270), (160, 325), (160, 380), (90, 325)], fill="#8f6b40")
    draw.polygon([(160, 325), (400, 280), (400, 335), (160, 380)], fill="#a37c4c")
    draw.line((90, 332, 160, 387, 400, 342), fill="#7b2d26", width=10)


def _tape(draw: ImageDraw, colour: str) -> None:
    draw.ellipse((100, 130, 360, 390), fill=colour, outline="#8f897b", width=5)
    draw.ellipse((175, 205, 285, 315), fill="#f4f1ea", outline="#8f897b", width=5)
    draw.polygon([(230, 388), (420, 388), (420, 350), (300, 372)], fill=colour, outline="#8f897b")


def _flag(draw: ImageDraw, colour: str) -> None:
    draw.rectangle((95, 90, 110, 420), fill=WOOD)
    draw.polygon([(110, 110), (390, 130), (370, 220), (390, 300), (110, 290)], fill=colour)
    draw.arc((170, 180, 250, 260), 200, 340, fill=WHITE, width=10)
    draw.arc((240, 180, 320, 260), 200, 340, fill=WHITE, width=10)


DRAWINGS: dict[str, Drawing] = {
    "rope": _rope,
    "spool": _spool,
    "mesh": _mesh,
    "cleat": _cleat,
    "shackle": _shackle,
    "block": _block,
    "fender": _fender,
    "anchor": _anchor,
    "handle": _handle,
    "hook": _hook,
    "pump": _pump,
    "bucket": _bucket,
    "tin": _tin,
    "bottle": _bottle,
    "brush": _brush,
    "block_of_wood": _block_of_wood,
    "tape": _tape,
    "flag": _flag,
}
