"""Days and times as people write them, in instructions and in answers."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable

from components.worlds.answers import Phrase


def moment(text: str) -> dt.datetime:
    """The time that a database's `2026-03-18 09:00:00` stands for."""
    return dt.datetime.fromisoformat(text)


def long_day(day: dt.date) -> str:
    """Such as `Thursday, 19 March 2026`."""
    return f"{day:%A}, {day.day} {day:%B %Y}"


def the_day(day: dt.date, others: Iterable[dt.date]) -> Phrase:
    """The answer to the question on which day something is.

    Args:
        others: days that a right answer may not name.
    """
    wrong = [form for other in sorted({*others} - {day}) for form in _day_forms(other)]
    return Phrase(_day_forms(day), wrong)


_HALVES = (("am", "pm"), ("pm", "am"), ("a.m", "p.m"), ("p.m", "a.m"))


def the_time(time: dt.time, others: Iterable[dt.time]) -> Phrase:
    """The answer to the question at what time something begins.

    Args:
        others: times that a right answer may not name.
    """
    right = _time_forms(time)
    wrong = [form for other in sorted({*others} - {time}) for form in _time_forms(other)]
    wrong += [form.replace(half, other) for form in right for half, other in _HALVES if form.endswith(half)]
    return Phrase(right, [form for form in wrong if not any(f" {form} " in f" {own} " for own in right)])


def _day_forms(day: dt.date) -> list[str]:
    number, nth = day.day, ordinal(day.day)
    forms = [f"{number} {day:%B}", f"{day:%B} {number}", f"{nth} {day:%B}", f"{nth} of {day:%B}"]
    return [*forms, f"{day:%B} {nth}", f"{number} {day:%b}", f"{day:%b} {number}", day.isoformat()]


def ordinal(number: int) -> str:
    """Such as `2nd`."""
    return f"{number}{'th' if number in (11, 12, 13) else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def _time_forms(time: dt.time) -> list[str]:
    hour, half = time.hour % 12 or 12, f"{time:%p}".lower()
    forms = [f"{time:%H:%M}", f"{time.hour}:{time:%M}", f"{time:%H.%M}", f"{hour}:{time:%M} {half}"]
    dotted = f"{half[0]}.m"
    forms += [f"{hour}:{time:%M}{half}", f"{hour}:{time:%M} {dotted}"]
    whole = [f"{hour} {half}", f"{hour}{half}", f"{hour} {dotted}", f"{time.hour} o'clock"]
    return [*forms, *whole] if time.minute == 0 else forms
