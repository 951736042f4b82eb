"""One amount in two units, such as "2.0 km or 1.2 mi", "$0.39 or 39 cents" and "2 hours (120 minutes)"."""

from __future__ import annotations

import re
from collections.abc import Collection

from components.judge.rules.numbers import values

_SCALES: tuple[dict[str, float], ...] = (
    {"m": 1, "meter": 1, "metre": 1, "km": 1000, "kilometer": 1000, "kilometre": 1000, "cm": 0.01, "mm": 0.001,
     "mi": 1609.344, "mile": 1609.344, "ft": 0.3048, "feet": 0.3048, "foot": 0.3048, "yard": 0.9144, "yd": 0.9144,
     "in": 0.0254, "inch": 0.0254, "inches": 0.0254},
    {"s": 1, "sec": 1, "second": 1, "min": 60, "minute": 60, "h": 3600, "hr": 3600, "hour": 3600, "day": 86400},
    {"g": 1, "gram": 1, "kg": 1000, "kilogram": 1000, "lb": 453.592, "pound": 453.592, "oz": 28.3495, "ounce": 28.3495},
    {"$": 1, "dollar": 1, "usd": 1, "cent": 0.01, "¢": 0.01},
)  # fmt: skip
"""Units of one quantity, each in its smallest or usual one."""
TOLERANCE = 0.08
"""Relative difference of two roundings of one amount: 2.0 km are 1.2 mi."""
_PAIR = re.compile(
    r"(?<![\w.])(?P<first>\$?\d++(?:\.\d++)?+(?:¢|\s?(?!or\b)[^\W\d_]*+))\s?(?P<between>[(,/=]*\s?(?:or|i\.e\.|about|approx\.?)?)\s?"
    r"(?P<second>\$?\d++(?:\.\d++)?+\s?(?:[^\W\d_]++|¢))(?P<close>\)?)"
)
_PARTS = re.compile(r"(\$?)(\d+(?:\.\d+)?)\s?(\S*)")


def in_one_unit(text: str, numbers_asked: Collection[str]) -> str:
    """A `plain` text with each amount in one unit: the one whose number was asked for, or else the first. Both stay
    where both numbers were asked for."""

    def asked(pair: re.Match[str]) -> str:
        if not pair["between"].strip() or not _are_equal(pair["first"], pair["second"]):
            return pair[0]
        is_first, is_second = (bool(values(pair[name]) & set(numbers_asked)) for name in ("first", "second"))
        if is_first and is_second:
            return pair[0]
        return pair["second" if is_second else "first"]

    return _PAIR.sub(asked, text)


def _are_equal(first: str, second: str) -> bool:
    """Whether two amounts are equal and in different units of one quantity."""
    for scale in _SCALES:
        left, right = _amount(first, scale), _amount(second, scale)
        if left is not None and right is not None and left[1] != right[1]:
            low, high = sorted((left[0] * left[1], right[0] * right[1]))
            return high - low <= TOLERANCE * high
    return False


def _amount(text: str, scale: dict[str, float]) -> tuple[float, float] | None:
    """A number and its unit in a scale; None if the unit is none of the scale's."""
    parts = _PARTS.fullmatch(text.strip())
    if parts is None:
        return None
    unit = parts[1] or parts[3]
    factor = scale.get(unit, scale.get(unit.removesuffix("s")))
    return None if factor is None else (float(parts[2]), factor)
