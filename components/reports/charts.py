"""Charts as geometry: numbers in, pixel positions out. `templates/_macros.html.jinja` draws them as SVG.

Not covered: log scales, dates, more than a few series. A value of None or NaN breaks the line there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeGuard

from components.reports.formats import number

WIDTH, HEIGHT = 340, 170
LEFT, RIGHT, TOP, BOTTOM = 44, 12, 12, 24
BAR_WIDTH = 560
MAX_DOTS = 40
"""Longer series are drawn without a dot per point."""

Value = float | None


@dataclass(frozen=True)
class Tick:
    """A label at a pixel position on one axis."""

    at: float
    label: str


@dataclass(frozen=True)
class Dot:
    """A point in pixels with its tooltip."""

    x: float
    y: float
    title: str


@dataclass(frozen=True)
class Series:
    """One line: `segments` are SVG point lists, `slot` is its colour's number, `last` the label of the newest value."""

    name: str
    slot: int
    segments: list[str]
    dots: list[Dot]
    last: str


@dataclass(frozen=True)
class LineChart:
    """A chart ready to draw, in pixels of a WIDTH x HEIGHT box."""

    title: str
    note: str
    series: list[Series]
    ticks_x: list[Tick]
    ticks_y: list[Tick]
    breaks: list[Tick]


def line_chart(
    title: str,
    x: Sequence[float],
    lines: Mapping[str, Sequence[Value]],
    note: str = "",
    zero: bool = True,
    breaks: dict[float, str] | None = None,
) -> LineChart | None:
    """Scale `lines` (each as long as `x`) into the box; None if no value can be drawn.

    Args:
        zero: the vertical axis starts at 0 if no value is negative.
        breaks: x positions that get a dashed line with a label.
    """
    known = [value for line in lines.values() for value in line if _drawable(value)]
    if not known:
        return None
    low, high = min(known), max(known)
    low = min(low, 0.0) if zero else low
    if high - low < 1e-9:
        pad = abs(high) * 0.05 or 1.0
        low, high = (low if zero and low == 0 else low - pad), high + pad
    ys = ticks(low, high)
    low, high = min(low, ys[0]), max(high, ys[-1])
    left, right = min(x), max(x)
    if left == right:
        left, right = left - 1, right + 1

    def across(value: float) -> float:
        return round(LEFT + (value - left) / (right - left) * (WIDTH - LEFT - RIGHT), 1)

    def down(value: float) -> float:
        return round(HEIGHT - BOTTOM - (value - low) / (high - low) * (HEIGHT - TOP - BOTTOM), 1)

    series = []
    for slot, (name, line) in enumerate(lines.items()):
        runs: list[list[Dot]] = [[]]
        for at, value in zip(x, line, strict=True):
            if _drawable(value):
                runs[-1].append(Dot(across(at), down(value), f"{name} at {at:g}: {number(value)}"))
            elif runs[-1]:
                runs.append([])
        dots = [dot for run in runs for dot in run]
        segments = [" ".join(f"{dot.x},{dot.y}" for dot in run) for run in runs if run]
        final = next((value for value in reversed(line) if _drawable(value)), None)
        series.append(
            Series(name, slot, segments, dots if len(dots) <= MAX_DOTS else [], "" if final is None else number(final))
        )
    return LineChart(
        title=title,
        note=note,
        series=series,
        ticks_x=[Tick(across(at), f"{at:g}") for at in ticks(left, right, 5, whole=True) if left <= at <= right],
        ticks_y=[Tick(down(at), label) for at, label in zip(ys, _labels(ys), strict=True)],
        breaks=[Tick(across(at), label) for at, label in (breaks or {}).items()],
    )


@dataclass(frozen=True)
class Part:
    """One part of a stacked bar, in pixels; `value` is in the unit of the bar, `share` of 1."""

    name: str
    slot: int
    x: float
    width: float
    value: float
    share: float


@dataclass(frozen=True)
class StackedBar:
    """A bar of `BAR_WIDTH` pixels that is divided into parts."""

    title: str
    note: str
    total: float
    parts: list[Part]


def stacked_bar(title: str, parts: Mapping[str, float], slots: Mapping[str, int], note: str = "") -> StackedBar | None:
    """Divide a bar in the proportion of `parts`, in their order; None if all are 0. Parts of 0 are left out.

    Args:
        slots: the number of each part's colour.
    """
    total = sum(parts.values())
    if total <= 0:
        return None
    drawn: list[Part] = []
    x = 0.0
    for name, value in parts.items():
        if value > 0:
            width = BAR_WIDTH * value / total
            drawn.append(Part(name, slots[name], round(x, 2), round(width, 2), value, value / total))
            x += width
    return StackedBar(title, note, total, drawn)


def ticks(low: float, high: float, count: int = 4, whole: bool = False) -> list[float]:
    """Round positions that cover `low` to `high`: multiples of 1, 2 or 5 times a power of ten, about `count` of them at
    most."""
    raw = (high - low) / count
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(unit * power for unit in (1, 2, 5, 10) if unit * power >= raw * (1 - 1e-9))
    step = max(step, 1.0) if whole else step
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(index * step, 12) for index in range(first, last + 1)]


def _labels(positions: list[float]) -> list[str]:
    """Labels of an axis, with as many decimals as distinguish its ticks."""
    step = positions[1] - positions[0]
    if step < 1e-4 and max(map(abs, positions)) < 1e-2:
        return [number(value) for value in positions]
    return [f"{value:,.{max(0, -math.floor(math.log10(step) + 1e-9))}f}" for value in positions]


def _drawable(value: Value) -> TypeGuard[float]:
    return value is not None and math.isfinite(value)
