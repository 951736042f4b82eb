"""Values of fields that are picked rather than typed: dates, times, colours and ranges, in the form that HTML wants.

`write` accepts HTML's own form and those in which people write the same value. A day and month in figures are read as
in the United States (`mm/dd/yyyy`), whose locale the browser has by default; with full stops, as `dd.mm.yyyy`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, time
from math import isfinite

from PIL import ImageColor

_DATES = ("%Y-%m-%d", "%Y/%m/%d", "%m/%d/%Y", "%d.%m.%Y", "%B %d %Y", "%b %d %Y", "%d %B %Y", "%d %b %Y")
_MONTHS = ("%Y-%m", "%Y/%m", "%m/%Y", "%B %Y", "%b %Y")
_TIMES = ("%H:%M", "%H:%M:%S", "%I:%M %p", "%I:%M:%S %p", "%I %p")
_WEEK = re.compile(r"(\d{4})-?\s*w(?:eek\s*)?(\d{1,2})|w(?:eek\s*)?(\d{1,2})[ ,/]+(\d{4})", re.IGNORECASE)

FORMS = {
    "date": "yyyy-mm-dd",
    "time": "hh:mm",
    "month": "yyyy-mm",
    "week": "yyyy-Www",
    "datetime-local": "yyyy-mm-ddThh:mm",
    "color": "#rrggbb",
    "range": "a number",
}
"""The form to name in feedback, by the `type` of the `<input>`."""


def field_value(kind: str, text: str) -> str:
    """The value that HTML wants for what was written into a field; empty text empties the field.

    >>> field_value("date", "02/03/2024"), field_value("time", "9:05 pm"), field_value("color", "teal")
    ('2024-02-03', '21:05', '#008080')

    Args:
        kind: the `type` of the `<input>`, a key of `FORMS`.

    Raises:
        ValueError: the text is no such value; the message names the form.
    """
    text = " ".join(text.split())
    if not text:
        return ""
    try:
        return _READERS[kind](text)
    except ValueError as error:
        raise ValueError(f'"{text[:60]}" is no value of a field of type {kind}; write it as {FORMS[kind]}') from error


def _date(text: str) -> str:
    return date.isoformat(_parse(text, _DATES).date())


def _month(text: str) -> str:
    return _parse(text, _MONTHS).strftime("%Y-%m")


def _time(text: str) -> str:
    return _clock(_parse(re.sub(r"(?<=\d)\s*([ap])\.?m\.?$", r" \1m", text, flags=re.IGNORECASE), _TIMES).time())


def _date_and_time(text: str) -> str:
    day, separator, clock = text.partition("T") if re.match(r"\d{4}-\d\d-\d\dT", text) else ("", "", "")
    if separator:
        return f"{_date(day)}T{_time(clock)}"
    match = re.fullmatch(r"(.*?)(?:,? at|,)? (\d{1,2}(?::\d\d){0,2}(?: ?[ap]\.?m\.?)?)", text, re.IGNORECASE)
    if match is None:
        raise ValueError("no time")
    return f"{_date(match[1])}T{_time(match[2])}"


def _week(text: str) -> str:
    match = _WEEK.fullmatch(text)
    if match is None:
        raise ValueError("no week")
    year, week = int(match[1] or match[4]), int(match[2] or match[3])
    date.fromisocalendar(year, week, 1)
    return f"{year}-W{week:02}"


def _colour(text: str) -> str:
    if re.fullmatch(r"[0-9a-fA-F]{6}", text):
        text = f"#{text}"
    return "#{:02x}{:02x}{:02x}".format(*ImageColor.getrgb(text)[:3])


def _number(text: str) -> str:
    number = float(text.replace(",", ""))
    if not isfinite(number):
        raise ValueError("no number")
    return f"{number:.12g}"


def _parse(text: str, forms: tuple[str, ...]) -> datetime:
    text = re.sub(r"(?<=\d)(st|nd|rd|th)\b", "", text.replace(",", " "))
    text = " ".join(text.split())
    for form in forms:
        try:
            return datetime.strptime(text, form)
        except ValueError:
            continue
    raise ValueError("in no known form")


def _clock(value: time) -> str:
    return value.strftime("%H:%M:%S" if value.second else "%H:%M")


_READERS: dict[str, Callable[[str], str]] = {
    "date": _date,
    "time": _time,
    "month": _month,
    "week": _week,
    "datetime-local": _date_and_time,
    "color": _colour,
    "range": _number,
}
