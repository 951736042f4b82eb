"""What tasks about bookings share: queries, the dates of events, free hours, and the way to an event."""

from __future__ import annotations

import datetime as dt
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from components.worlds.city.tasks.days import long_day, moment
from components.worlds.city.tasks.template import Data, Facts, Row, pick
from components.worlds.oracle import Step, choose, click, fill

EVENTS = """SELECT e.id AS event, e.title, e.description, e.start, e.end, e.rule_id AS rule,
    e.end_recurring_period AS until, e.creator_id, c.id AS calendar_id, c.name AS calendar, c.slug,
    trim(u.first_name || ' ' || u.last_name) AS booker, u.username AS booker_user
    FROM schedule_event e JOIN schedule_calendar c ON c.id = e.calendar_id JOIN auth_user u ON u.id = e.creator_id
    ORDER BY e.start, e.id"""
CALENDARS = "SELECT id AS calendar_id, name AS calendar, slug FROM schedule_calendar ORDER BY id"
EXCEPTIONS = "SELECT event_id AS event, start, end, original_start, cancelled FROM schedule_occurrence"
STAFF = """SELECT id AS user_id, username AS user FROM auth_user WHERE is_staff = 1 AND is_superuser = 0
    ORDER BY username"""
CUSTOMERS = """SELECT id AS person_id, first_name || ' ' || last_name AS person, username FROM auth_user
    WHERE is_staff = 0 AND is_superuser = 0 ORDER BY username"""
TODAY = dt.date(2026, 3, 16)
"""The day on which every episode begins, a Monday."""
WEEK = dt.timedelta(weeks=1)
SLOT = dt.timedelta(minutes=30)
MONTH_ENDS = dt.date(2026, 3, 31)
START_PAGE_ENDS = TODAY + dt.timedelta(days=6)
"""The start page of the calendars lists all events from today to this day, so it tells when something is taken."""
OPENS, CLOSES = dt.time(8), dt.time(16)
"""Of the crane, on weekdays."""


@dataclass(frozen=True)
class Date:
    """One date of an event."""

    event: Row
    start: dt.datetime
    end: dt.datetime

    def touches(self, first: dt.date, last: dt.date | None = None) -> bool:
        """Whether it is on one of these days; without `last`, on the first."""
        begin = dt.datetime.combine(first, dt.time())
        end = dt.datetime.combine(last or first, dt.time()) + dt.timedelta(days=1)
        return self.start < end and self.end > begin


def dates(data: Data, first: dt.date, last: dt.date) -> list[Date]:
    """The dates of all events that touch these days, by time; those that are moved or cancelled are as they are now."""
    end = dt.datetime.combine(last, dt.time()) + dt.timedelta(days=1)
    exceptions = {(row["event"], moment(row["original_start"])): row for row in data.rows(EXCEPTIONS)}
    touching = []
    for event in data.rows(EVENTS):
        for start in _starts(event, end):
            change = exceptions.get((event["event"], start))
            if change is not None and change["cancelled"]:
                continue
            row = change or {"start": start.isoformat(), "end": (start + _duration(event)).isoformat()}
            date = Date(event, moment(row["start"]), moment(row["end"]))
            if date.touches(first, last):
                touching.append(date)
    return sorted(touching, key=lambda date: (date.start, date.event["event"]))


def _starts(event: Row, end: dt.datetime) -> list[dt.datetime]:
    start = moment(event["start"])
    if event["rule"] is None:
        return [start]
    until = min(end + WEEK, moment(event["until"])) if event["until"] else end + WEEK
    return [start + number * WEEK for number in range((until - start) // WEEK + 1)]


def _duration(event: Row) -> dt.timedelta:
    return moment(event["end"]) - moment(event["start"])


def singles(data: Data, last: dt.date = MONTH_ENDS) -> list[Row]:
    """Events that begin after today, do not repeat, and have a title of their own.

    Args:
        last: the last day that counts.
    """
    events = data.rows(EVENTS)
    titles = [event["title"] for event in events]
    return [
        event | {"months": _months(moment(event["start"]).date())}
        for event in events
        if event["rule"] is None and titles.count(event["title"]) == 1
        if TODAY < moment(event["start"]).date() <= last
    ]


def _months(day: dt.date) -> int:
    """How many months a day is after the one that a calendar shows first."""
    return 12 * (day.year - TODAY.year) + day.month - TODAY.month


def staff(data: Data, rng: random.Random) -> dict[str, Any]:
    """A person of the staff who is logged in: `user` and `user_id`."""
    return pick(data.rows(STAFF), rng)


def some_day(rng: random.Random, weekdays: range = range(5), weeks: int = 2) -> dt.date:
    """A day of this month after today.

    Args:
        weekdays: 0 is Monday.
        weeks: how many weeks from today's on count.
    """
    days = [TODAY + dt.timedelta(days=number) for number in range(1, 7 * weeks)]
    return rng.choice([day for day in days if day.weekday() in weekdays and day.month == TODAY.month])


def crane_hours(taken: Sequence[Date], day: dt.date, length: dt.timedelta) -> list[dt.datetime]:
    """The times of a weekday at which the crane is free for so long.

    Args:
        taken: the dates of the crane.
    """
    start, closes = dt.datetime.combine(day, OPENS), dt.datetime.combine(day, CLOSES)
    starts = []
    while start + length <= closes:
        if not any(date.start < start + length and date.end > start for date in taken):
            starts.append(start)
        start += SLOT
    return starts


def span(start: dt.datetime, end: dt.datetime) -> dict[str, Any]:
    """Facts of a span within a day: as the database has it, and in words."""
    return {
        "start": str(start),
        "end": str(end),
        "day": long_day(start.date()),
        "from_time": f"{start:%H:%M}",
        "to_time": f"{end:%H:%M}",
    }


def open_calendar(facts: Facts) -> list[Step]:
    """From the first page to the month of the calendar that has the event."""
    return [click("link", re.escape(facts["calendar"])), *[click("link", "Later")] * facts.get("months", 0)]


def open_event(facts: Facts) -> list[Step]:
    """From the first page to the event."""
    return [*open_calendar(facts), click("link", re.escape(facts["title"]))]


def fill_span(facts: Facts) -> list[Step]:
    """In a form, the four fields of a span."""
    start, end = moment(facts["start"]), moment(facts["end"])
    return [
        fill("Starts, day", f"{start:%Y-%m-%d}"),
        fill("Starts, time", f"{start:%H:%M}"),
        fill("Ends, day", f"{end:%Y-%m-%d}"),
        fill("Ends, time", f"{end:%H:%M}"),
    ]


def book_for(person: str) -> Step:
    """In a form, the person who has booked."""
    return choose("Booked by", person)
