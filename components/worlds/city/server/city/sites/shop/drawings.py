"""The drawings of the goods: each draws on a square of 480 pixels, in a colour."""

from __future__ import annotations

import math
from collections.abc import Callable

from PIL.ImageDraw import ImageDraw

STEEL, DARK, WOOD, WHITE = "#b9bcc1", "#3a3a3a", "#9a7443", "#ffffff"


def _rope(draw: ImageDraw, colour: str) -> None:
    for number in range(6):
        inset = 24 * number
        draw.ellipse((90 + inset, 130 + inset, 390 - inset, 400 - inset), outline=colour, width=16)
    draw.line((380, 260, 440, 160), fill=colour, width=16)


def _jacket(draw: ImageDraw, colour: str) -> None:
    draw.polygon([(170, 110), (310, 110), (350, 400), (130, 400)], fill=colour)
    draw.polygon([(170, 110), (90, 300), (140, 320), (190, 200)], fill=colour)
    draw.polygon([(310, 110), (390, 300), (340, 320), (290, 200)], fill=colour)
    draw.line((240, 120, 240, 400), fill="#ffffff", width=6)
    draw.arc((200, 80, 280, 150), 0, 180, fill="#ffffff", width=8)


def _compass(draw: ImageDraw, colour: str) -> None:
    draw.ellipse((100, 110, 380, 390), fill="#ffffff", outline=colour, width=18)
    for degrees in range(0, 360, 30):
        x, y = math.sin(math.radians(degrees)), -math.cos(math.radians(degrees))
        draw.line((240 + 105 * x, 250 + 105 * y, 240 + 122 * x, 250 + 122 * y), fill="#444444", width=5)
    draw.polygon([(240, 150), (262, 250), (218, 250)], fill=colour)
    draw.polygon([(240, 350), (262, 250), (218, 250)], fill="#9a9a9a")


def _lifebuoy(draw: ImageDraw, colour: str) -> None:
    draw.ellipse((90, 100, 390, 400), outline=colour, width=70)
    for start in (20, 110, 200, 290):
        draw.arc((90, 100, 390, 400), start, start + 35, fill="#ffffff", width=70)


def _kettle(draw: ImageDraw, colour: str) -> None:
    draw.pieslice((110, 160, 370, 480), 180, 360, fill=colour)
    draw.rectangle((110, 318, 370, 400), fill=colour)
    draw.polygon([(360, 300), (440, 210), (450, 225), (370, 350)], fill=colour)
    draw.arc((150, 90, 330, 270), 180, 360, fill="#3a3a3a", width=16)


def _cleat(draw: ImageDraw, colour: str) -> None:
    draw.rounded_rectangle((70, 210, 410, 260), 25, fill=colour)
    draw.polygon([(180, 260), (220, 260), (200, 370), (150, 370)], fill=colour)
    draw.polygon([(260, 260), (300, 260), (330, 370), (280, 370)], fill=colour)
    draw.rounded_rectangle((120, 365, 360, 395), 10, fill=colour)


def _tin(draw: ImageDraw, colour: str) -> None:
    draw.rectangle((130, 160, 350, 400), fill="#d5d7da")
    draw.rectangle((130, 210, 350, 350), fill=colour)
    draw.ellipse((130, 135, 350, 185), fill="#b9bcc1")
    draw.arc((110, 70, 370, 250), 180, 360, fill="#777777", width=8)


def _fish(draw: ImageDraw, colour: str) -> None:
    draw.ellipse((90, 180, 340, 330), fill=colour)
    draw.polygon([(320, 255), (420, 180), (420, 330)], fill=colour)
    draw.ellipse((135, 230, 155, 250), fill="#ffffff")
    draw.arc((180, 200, 240, 310), 270, 90, fill="#ffffff", width=5)


def _boots(draw: ImageDraw, colour: str) -> None:
    for x in (110, 250):
        draw.rounded_rectangle((x, 120, x + 80, 380), 14, fill=colour)
        draw.rounded_rectangle((x, 330, x + 130, 400), 24, fill=colour)
        draw.line((x, 145, x + 80, 145), fill=WHITE, width=6)


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


def _flag(draw: ImageDraw, colour: str) -> None:
    draw.rectangle((95, 90, 110, 420), fill=WOOD)
    draw.polygon([(110, 110), (390, 130), (370, 220), (390, 300), (110, 290)], fill=colour)
    draw.arc((170, 180, 250, 260), 200, 340, fill=WHITE, width=10)
    draw.arc((240, 180, 320, 260), 200, 340, fill=WHITE, width=10)


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


DRAWINGS: dict[str, Callable[[ImageDraw, str], None]] = {
    "rope": _rope,
    "jacket": _jacket,
    "compass": _compass,
    "lifebuoy": _lifebuoy,
    "kettle": _kettle,
    "cleat": _cleat,
    "tin": _tin,
    "fish": _fish,
    "boots": _boots,
    "cap": _cap,
    "hat": _hat,
    "gloves": _gloves,
    "trousers": _trousers,
    "vest": _vest,
    "chart": _chart,
    "ruler": _ruler,
    "dividers": _dividers,
    "book": _book,
    "flares": _flares,
    "firstaid": _firstaid,
    "horn": _horn,
    "stove": _stove,
    "mug": _mug,
    "flask": _flask,
    "knife": _knife,
    "plates": _plates,
    "shackle": _shackle,
    "block": _block,
    "fender": _fender,
    "anchor": _anchor,
    "handle": _handle,
    "spool": _spool,
    "mesh": _mesh,
    "gauge": _gauge,
    "radio": _radio,
    "binoculars": _binoculars,
    "ladder": _ladder,
    "torch": _torch,
    "pan": _pan,
    "can": _can,
    "lamp": _lamp,
    "flag": _flag,
    "hook": _hook,
    "pump": _pump,
    "bucket": _bucket,
    "bottle": _bottle,
    "brush": _brush,
    "block_of_wood": _block_of_wood,
    "tape": _tape,
    "rod": _rod,
    "reel": _reel,
    "net": _net,
    "pot": _pot,
    "box": _box,
    "holder": _holder,
}
