"""Days and times as people write them, in instructions and in answers."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise

from components.worlds.answers import Phrase

_MONTHS = {
    name: month
    for month in range(1, 13)
    for name in (f"{dt.date(2026, month, 1):%B}".lower(), f"{dt.date(2026, month, 1):%b}".lower())
} | {"sept": 9}
_MONTH = "|".join(_MONTHS)
_DAY = re.compile(
    rf"(?<!\w)(?:(?P<a>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<b>{_MONTH})"
    rf"|(?P<c>{_MONTH}) (?:the )?(?P<d>\d{{1,2}})(?:st|nd|rd|th)?"
    r"|\d{4}-(?P<e>\d{2})-(?P<f>\d{2})|(?P<g>\d{1,2})/(?P<h>\d{1,2})(?:/\d{2,4})?)(?!\w)"
)
_TIME = re.compile(
    r"(?<![\w:.])(?:(?P<hour>\d{1,2})[:.](?P<minute>\d{2})(?: ?(?P<half>[ap])\.?m)?"
    r"|(?P<whole>\d{1,2}) ?(?:(?P<of>[ap])\.?m|o'clock)"
    r"|(?<=\bat )(?P<bare>\d{1,2})(?=\W*$|\.?,? (?:and|or|to|until|till|on)\b| ?[-–])"
    r"|(?<=\bfrom )(?P<first>\d{1,2})(?= (?:to|until|till) \d| ?[-–])"
    r"|(?<=\bto )(?P<last>\d{1,2})(?=\W*$))(?!\w)"
)
_UNTIL = re.compile(r"[^\w]*(?:(?!or\b|maybe\b)\w+\W+){0,4}?(?:to|until|till|through|ends?(?: at| on)?|-|–)?\W*")
"""What may stand between the beginning and the end of something."""


Place = tuple[tuple[int, int], int, int]
"""A month and a day, or an hour and a minute, with the places in a text where it begins and ends."""


@dataclass(frozen=True)
class Single(Phrase):
    """A day or a time of which an answer names no other, but for an end: "from 19:00 to 21:00".

    Attributes:
        find: the values that an answer names, with their places in it.
        value: the right one.
    """

    find: Callable[[str], list[Place]] = lambda text: []
    value: tuple[int, int] = (0, 0)

    def accepts(self, answer: str) -> bool:
        """Whether it names the right value, no wrong form, and no list of days or times."""
        text = " ".join(answer.casefold().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'").split())
        places = self.find(text)
        for (value, _, end), (other, begin, _) in pairwise(places):
            is_end = value == self.value and _UNTIL.fullmatch(text[end:begin]) and re.search(r"\w|-|–", text[end:begin])
            if other != self.value and not is_end:
                return False
        others = {value for value, _, _ in places} - {self.value}
        forms = [*self.forms, *(text[begin:end] for value, begin, end in places if value == self.value)]
        is_right = Phrase(forms, self.wrong).accepts(answer)
        return is_right and len(others) <= 1 and (not places or places[0][0] == self.value)


def _days_in(text: str) -> list[Place]:
    places: list[Place] = []
    for match in _DAY.finditer(text):
        a, b, c, d, e, f, g, h = match.groups()
        if a or d:
            month, day = _MONTHS[b or c], int(a or d)
        else:
            month, day = int(e or g), int(f or h)
        places.append(((month, day), match.start(), match.end()))
    return places


def _times_in(text: str) -> list[Place]:
    places: list[Place] = []
    for match in _TIME.finditer(text):
        number = match["hour"] or match["whole"] or match["bare"] or match["first"] or match["last"]
        hour, half = int(number), match["half"] or match["of"]
        hour = hour if half is None else hour % 12 + 12 * (half == "p")
        places.append(((hour, int(match["minute"] or 0)), match.start(), match.end()))
    return places


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
    return Single(_day_forms(day), wrong, _days_in, (day.month, day.day))


def the_date(day: dt.date, forms: Iterable[str], wrong: Iterable[str]) -> Phrase:
    """The answer to the question for a date, in forms of a site and in the usual ones.

    Args:
        wrong: forms of other dates that a right answer may not name.
    """
    return Single([*forms, *_day_forms(day)], [*wrong], _days_in, (day.month, day.day))


_HALVES = (("am", "pm"), ("pm", "am"), ("a.m", "p.m"), ("p.m", "a.m"))


def the_time(time: dt.time, others: Iterable[dt.time]) -> Phrase:
    """The answer to the question at what time something begins.

    Args:
        others: times that a right answer may not name.
    """
    right = _time_forms(time)
    wrong = [form for other in sorted({*others} - {time}) for form in _time_forms(other)]
    wrong += [form.replace(half, other) for form in right for half, other in _HALVES if form.endswith(half)]
    wrong = [form for form in wrong if not any(f" {form} " in f" {own} " for own in right)]
    return Single(right, wrong, _times_in, (time.hour, time.minute))


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
