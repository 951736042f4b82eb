"""The picture and the text of an open dialog. Chromium shows none: a page with an open dialog cannot be observed.

The box is drawn on the last screenshot, at the top centre, where browsers put it. Its controls have points on the
0-1000 scale, as those of a page, so that a click on a button answers the dialog.
"""

from __future__ import annotations

import html as markup
import io
import textwrap
from dataclasses import dataclass

from PIL import Image, ImageDraw, ImageFont

from components.params import ELEMENT_LISTS, TextKind

SCALE = 1000
MAX_LINES = 8
_LINE_PX, _PAD_PX, _BUTTON_PX = 18, 12, 28


@dataclass(frozen=True)
class DialogBox:
    """A dialog as it is drawn in a viewport.

    Args:
        kind: `confirm` or `prompt`.
        message: what the page says, on one line.
        default: the text that a prompt holds.
        viewport: width and height in CSS pixels.
    """

    kind: str
    message: str
    default: str
    viewport: tuple[int, int]

    @property
    def controls(self) -> dict[str, tuple[float, float, float, float]]:
        """Left, top, right and bottom of each control in CSS pixels: `field` (of a prompt only), `OK` and `Cancel`."""
        left, _, right, bottom = self._frame
        width = (right - left - 3 * _PAD_PX) / 2
        top = bottom - _PAD_PX - _BUTTON_PX
        boxes = {
            "OK": (left + _PAD_PX, top, left + _PAD_PX + width, top + _BUTTON_PX),
            "Cancel": (right - _PAD_PX - width, top, right - _PAD_PX, top + _BUTTON_PX),
        }
        if self.kind == "prompt":
            above = top - _PAD_PX - _BUTTON_PX
            boxes = {"field": (left + _PAD_PX, above, right - _PAD_PX, above + _BUTTON_PX)} | boxes
        return boxes

    def control_at(self, x: float, y: float) -> str | None:
        """The control at a point of the 0-1000 scale."""
        px, py = x / SCALE * self.viewport[0], y / SCALE * self.viewport[1]
        for name, (left, top, right, bottom) in self.controls.items():
            if left <= px <= right and top <= py <= bottom:
                return name
        return None

    def text(self, kind: TextKind) -> str | None:
        """The dialog as the textual part of an observation."""
        message = self.message[:400].replace('"', "'")
        default = self.default[:400].replace('"', "'")
        if kind in ELEMENT_LISTS:
            return "\n".join(self._line(name, message, default) for name in self.controls)
        if kind == "axtree":
            field = [f'  textbox value "{default}"'] if self.kind == "prompt" else []
            return "\n".join([f'dialog "{message}"', *field, '  [OK] button "OK"', '  [Cancel] button "Cancel"'])
        if kind == "html":
            field = [f'  <input value="{markup.escape(default)}">'] if self.kind == "prompt" else []
            buttons = [f'  <button id="{name}">{name}</button>' for name in ("OK", "Cancel")]
            return "\n".join([f"<dialog>{markup.escape(message, quote=False)}", *field, *buttons, "</dialog>"])
        return None

    def drawn_on(self, screenshot: bytes) -> bytes:
        """A screenshot of the viewport as PNG with the dialog on it, the rest darkened."""
        picture = Image.open(io.BytesIO(screenshot)).convert("RGB")
        picture = Image.blend(picture, Image.new("RGB", picture.size, "black"), 0.4)
        draw, font = ImageDraw.Draw(picture), ImageFont.load_default(size=13)
        left, top, right, bottom = self._frame
        draw.rectangle((left, top, right, bottom), fill="white", outline="grey")
        for index, line in enumerate(self._lines):
            draw.text((left + _PAD_PX, top + _PAD_PX + index * _LINE_PX), line, fill="black", font=font)
        for name, box in self.controls.items():
            draw.rectangle(box, fill="white" if name == "field" else "lightgrey", outline="black")
            label = self.default[: self._characters] if name == "field" else name
            draw.text((box[0] + 8, box[1] + 6), label, fill="black", font=font)
        written = io.BytesIO()
        picture.save(written, "PNG")
        return written.getvalue()

    def _line(self, name: str, message: str, default: str) -> str:
        left, top, right, bottom = self.controls[name]
        x = round((left + right) / 2 / self.viewport[0] * SCALE)
        y = round((top + bottom) / 2 / self.viewport[1] * SCALE)
        if name == "field":
            return f'- field "{message[:60]}"' + (f' value "{default[:60]}"' if default else "") + f" focused {x} {y}"
        return f'- button "{name}" {x} {y}'

    @property
    def _characters(self) -> int:
        """Of one line."""
        return max(10, int((self._width - 2 * _PAD_PX) / 7))

    @property
    def _width(self) -> float:
        return min(440.0, self.viewport[0] - 8.0)

    @property
    def _lines(self) -> list[str]:
        return textwrap.wrap(self.message, self._characters, max_lines=MAX_LINES, placeholder=" …") or [""]

    @property
    def _frame(self) -> tuple[float, float, float, float]:
        rows = 2 if self.kind == "prompt" else 1
        height = 2 * _PAD_PX + len(self._lines) * _LINE_PX + rows * (_BUTTON_PX + _PAD_PX)
        left = (self.viewport[0] - self._width) / 2
        return left, 4.0, left + self._width, 4.0 + height
