"""Bookings that are moved, described anew, cancelled or deleted."""

from __future__ import annotations

import datetime as dt
import random
import re
from collections.abc import Sequence
from typing import Any

from components.worlds.city.tasks.calendar.events import (
    CLOSES,
    MONTH_ENDS,
    OPENS,
    TODAY,
    crane_hours,
    dates,
    fill_span,
    open_calendar,
    open_event,
    singles,
    some_day,
    span,
    staff,
)
from components.worlds.city.tasks.calendar.texts import DETAILS, REMARKS
from components.worlds.city.tasks.days import long_day, moment
from components.worlds.city.tasks.template import Data, Facts, Template, Unsuitable, pick
from components.worlds.effects import Added, Changed, Effect, Removed, words
from components.worlds.oracle import Step, click, fill

APRIL = dt.date(2026, 4, 30)


class Staff(Template):
    """A task for a person of the staff on the calendars."""

    sites = ("calendar",)
    length = "medium"
    logins = {"calendar": "{user}"}


class MoveEvent(Staff):
    """Move an event to another day and time."""

    name = "calendar_move_event"
    phrasings = (
        'Move "{title}" in the calendar "{calendar}" to {day}, {from_time} to {to_time}.',
        '"{title}" ({calendar}) takes place on another day: {day}, from {from_time} to {to_time}. Change the booking.',
        'Please move the booking "{title}" of the calendar "{calendar}". It is now on {day}, {from_time} to {to_time}.',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        events = [row for row in singles(data) if row["start"][:10] == row["end"][:10]]
        event, day = pick(events, rng), some_day(rng)
        old, length = moment(event["start"]), moment(event["end"]) - moment(event["start"])
        taken = [date for date in dates(data, day, day) if date.event["slug"] == event["slug"]]
        free = [start for start in crane_hours(taken, day, length) if start.time() != old.time()]
        if day == old.date() or not free:
            raise Unsuitable("the event has no free time on another day")
        names = ("event", "title", "calendar", "months")
        start = rng.choice(free)
        return staff(data, rng) | {name: event[name] for name in names} | span(start, start + length)

    def effects(self, facts: Facts) -> Sequence[Effect]:
        new = {"start": facts["start"], "end": facts["end"]}
        return [Changed("schedule_event", {"id": facts["event"]}, new)]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [
            *open_event(facts),
            click("link", "Change or move"),
            *fill_span(facts),
            click("button", "Save"),
        ]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [
            f'"{facts["title"]}" is on {facts["day"]}.',
            f"It lasts from {facts['from_time']} to {facts['to_time']}.",
            "Nothing else of it changed, and no other booking.",
        ]


class RenameEvent(Staff):
    """Give an event another title."""

    name = "calendar_rename_event"
    phrasings = (
        'Change the title of "{title}" in the calendar "{calendar}" to "{new}".',
        'The booking "{title}" ({calendar}) should be called "{new}" from now on.',
        'Rename "{title}" in the calendar "{calendar}": the new title is "{new}". Leave the rest as it is.',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        event = pick(singles(data, APRIL), rng)
        names = ("event", "title", "calendar", "months")
        new = f"{event['title']} ({rng.choice(REMARKS)})"
        return staff(data, rng) | {name: event[name] for name in names} | {"new": new}

    def effects(self, facts: Facts) -> Sequence[Effect]:
        return [Changed("schedule_event", {"id": facts["event"]}, {"title": facts["new"]})]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [
            *open_event(facts),
            click("link", "Change or move"),
            fill("Title", facts["new"]),
            click("button", "Save"),
        ]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f'The event is called "{facts["new"]}".', "Nothing else of it changed, and no other booking."]


class DescribeEvent(Staff):
    """Replace the details of an event."""

    name = "calendar_describe_event"
    phrasings = (
        'Replace the description of "{title}" in the calendar "{calendar}" by "{text}"',
        'The details of the booking "{title}" ({calendar}) should only say: "{text}"',
        'Change what the calendar "{calendar}" says about "{title}". The whole description is now "{text}"',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        event = pick(singles(data, APRIL), rng)
        names = ("event", "title", "calendar", "months")
        return staff(data, rng) | {name: event[name] for name in names} | {"text": rng.choice(DETAILS)}

    def effects(self, facts: Facts) -> Sequence[Effect]:
        return [Changed("schedule_event", {"id": facts["event"]}, {"description": words(facts["text"])})]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [
            *open_event(facts),
            click("link", "Change or move"),
            fill("Description", facts["text"]),
            click("button", "Save"),
        ]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [
            f'The details of "{facts["title"]}" are "{facts["text"]}"',
            "Nothing else of it changed, and no other booking.",
        ]


class DeleteEvent(Staff):
    """Delete an event."""

    name = "calendar_delete_event"
    phrasings = (
        'Delete "{title}" from the calendar "{calendar}".',
        '"{title}" on {day} does not take place. Remove it from the calendar "{calendar}".',
        'Please take the booking "{title}" ({calendar}, {day}) out of the calendar.',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        event = pick(singles(data, APRIL), rng)
        names = ("event", "title", "calendar", "months")
        day = long_day(moment(event["start"]).date())
        return staff(data, rng) | {name: event[name] for name in names} | {"day": day}

    def effects(self, facts: Facts) -> Sequence[Effect]:
        return [Removed("schedule_event", {"id": facts["event"]})]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [*open_event(facts), click("link", "Delete"), click("button", "Delete")]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f'"{facts["title"]}" is in no calendar.', "No other booking changed."]


class WeeklyDate(Staff):
    """A task about one date of an event that repeats."""

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        weekly = [date for date in dates(data, TODAY.replace(day=1), MONTH_ENDS) if date.event["rule"] is not None]
        later = [date for date in weekly if date.start.date() > TODAY]
        if not later:
            raise Unsuitable("no event repeats")
        date = rng.choice(later)
        same = [other for other in weekly if other.event["title"] == date.event["title"]]
        names = ("event", "title", "calendar", "slug")
        number = [other.start for other in same].index(date.start)
        more = {"number": number, "old": str(date.start), "old_day": long_day(date.start.date())}
        return staff(data, rng) | {name: date.event[name] for name in names} | more | span(date.start, date.end)

    def open_date(self, facts: Facts) -> list[Step]:
        """From the first page to the date."""
        return [*open_calendar(facts), click("link", re.escape(facts["title"]), number=facts["number"])]


class CancelDate(WeeklyDate):
    """Cancel one date of a weekly event."""

    name = "calendar_cancel_date"
    phrasings = (
        '"{title}" ({calendar}) does not take place on {day}. Cancel this date and leave the others.',
        'Cancel the date of "{title}" on {day} in the calendar "{calendar}". All other weeks stay.',
        'On {day} there is no "{title}". Cancel it in the calendar "{calendar}", for this day only.',
    )

    def effects(self, facts: Facts) -> Sequence[Effect]:
        values = {"event_id": facts["event"], "original_start": facts["old"], "cancelled": True}
        return [Added("schedule_occurrence", values)]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [*self.open_date(facts), click("link", "Cancel this date"), click("button", "Cancel this date")]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f'"{facts["title"]}" is cancelled on {facts["day"]}.', "Its other dates are as before."]


class MoveDate(WeeklyDate):
    """Move one date of a weekly event to another time of its day."""

    name = "calendar_move_date"
    phrasings = (
        'On {day}, "{title}" ({calendar}) takes place from {from_time} to {to_time} instead. Move this date only.',
        'Move "{title}" of {day} to {from_time} to {to_time} on the same day, in the calendar "{calendar}". The other '
        "weeks stay as they are.",
        'In the calendar "{calendar}", the date of "{title}" on {day} is now from {from_time} to {to_time}. Change '
        "this one date and no other.",
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        facts = super().facts(data, rng)
        start, end = moment(facts["start"]), moment(facts["end"])
        shift = rng.choice((-60, -30, 30, 60, 90)) * dt.timedelta(minutes=1)
        new, ends = start + shift, end + shift
        if {new.date(), ends.date()} != {start.date()}:
            raise Unsuitable("the moved date is on another day")
        if facts["slug"] == "crane":
            taken = [
                date
                for date in dates(data, new.date(), new.date())
                if date.event["slug"] == "crane" and date.event["event"] != facts["event"]
            ]
            if not OPENS <= new.time() < CLOSES or new not in crane_hours(taken, new.date(), ends - new):
                raise Unsuitable("the crane is not free then")
        return facts | span(new, ends)

    def effects(self, facts: Facts) -> Sequence[Effect]:
        values = {"event_id": facts["event"], "original_start": facts["old"], "cancelled": False}
        return [Added("schedule_occurrence", values | {"start": facts["start"], "end": facts["end"]})]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        start, end = moment(facts["start"]), moment(facts["end"])
        return [
            *self.open_date(facts),
            click("link", "Move this date"),
            fill("Starts, time", f"{start:%H:%M}"),
            fill("Ends, time", f"{end:%H:%M}"),
            click("button", "Save"),
        ]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [
            f'"{facts["title"]}" of {facts["day"]} lasts from {facts["from_time"]} to {facts["to_time"]}.',
            "Its other dates are as before.",
        ]
