"""What all drawings share: their type, and the colours of common materials."""

from __future__ import annotations

from collections.abc import Callable

from PIL.ImageDraw import ImageDraw

Drawing = Callable[[ImageDraw, str], None]
"""Draws a good in a colour, such as `#c8a165`, on a square of 480 pixels."""
STEEL, DARK, WOOD, WHITE = "#b9bcc1", "#3a3a3a", "#9a7443", "#ffffff"
