"""New bookings in the calendars."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Sequence
from typing import Any

from components.worlds.city.tasks.calendar.events import (
    CALENDARS,
    CUSTOMERS,
    SLOT,
    book_for,
    crane_hours,
    dates,
    fill_span,
    open_calendar,
    some_day,
    span,
    staff,
)
from components.worlds.city.tasks.calendar.texts import COURSES, GATHERINGS, LIFTS
from components.worlds.city.tasks.days import long_day, moment
from components.worlds.city.tasks.template import Data, Facts, Template, Unsuitable, pick
from components.worlds.effects import Added, Effect, words
from components.worlds.oracle import Step, choose, click, fill


def booked(facts: Facts, creator: int, description: str = "") -> dict[str, Any]:
    """The values of a new event that does not repeat."""
    return {
        "calendar_id": facts["calendar_id"],
        "title": facts["title"],
        "start": facts["start"],
        "end": facts["end"],
        "creator_id": creator,
        "rule_id": None,
        "end_recurring_period": None,
        "description": words(description),
    }


def crane(data: Data, rng: random.Random) -> dict[str, Any]:
    """The crane's calendar and a new title.

    Raises:
        Unsuitable: there is no crane.
    """
    row = pick([row for row in data.rows(CALENDARS) if row["slug"] == "crane"], rng)
    return row | {"title": rng.choice(LIFTS)}


class BookCrane(Template):
    """Book the crane for a customer."""

    name = "calendar_book_crane"
    sites = ("calendar",)
    length = "long"
    logins = {"calendar": "{user}"}
    phrasings = (
        'Book the crane for {person} on {day}, from {from_time} to {to_time}. The title is "{title}".',
        "{person} needs the crane on {day} between {from_time} and {to_time}. Book it in the name of {person}, with "
        'the title "{title}".',
        'Put "{title}" into the crane calendar: {day}, {from_time} to {to_time}, booked by {person}.',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        facts = staff(data, rng) | pick(data.rows(CUSTOMERS), rng) | crane(data, rng)
        day, length = some_day(rng), rng.randint(1, 3) * SLOT
        taken = [date for date in dates(data, day, day) if date.event["slug"] == "crane"]
        starts = crane_hours(taken, day, length)
        if not starts:
            raise Unsuitable("the crane is not free on this day")
        start = rng.choice(starts)
        return facts | span(start, start + length)

    def effects(self, facts: Facts) -> Sequence[Effect]:
        return [Added("schedule_event", booked(facts, facts["person_id"]))]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [
            *open_calendar(facts),
            click("link", "Book"),
            fill("Title", facts["title"]),
            *fill_span(facts),
            book_for(facts["person"]),
            click("button", "Save"),
        ]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [
            f"The crane is booked on {facts['day']} from {facts['from_time']} to {facts['to_time']}.",
            f'The booking is called "{facts["title"]}" and does not repeat.',
            f"It is booked by {facts['person']}.",
            "No other booking changed.",
        ]


class BookGathering(Template):
    """Put an event with a description into a calendar."""

    name = "calendar_book_event"
    sites = ("calendar",)
    length = "long"
    logins = {"calendar": "{user}"}
    phrasings = (
        'Add "{title}" to the calendar "{calendar}" on {day}, {from_time} to {to_time}, under my name. '
        'Details: "{description}"',
        'Book "{title}" for me in the calendar "{calendar}": {day}, from {from_time} to {to_time}. As details, write '
        '"{description}"',
        'On {day} from {from_time} to {to_time} there will be "{title}". Put it into the calendar "{calendar}", booked '
        'by me, with the details "{description}"',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        calendar, title, description = rng.choice(GATHERINGS)
        row = pick([row for row in data.rows(CALENDARS) if row["calendar"] == calendar], rng)
        start = dt.datetime.combine(some_day(rng, range(7)), dt.time(rng.randint(9, 19), rng.choice((0, 30))))
        return (
            staff(data, rng)
            | row
            | {"title": title, "description": description}
            | span(start, start + rng.randint(2, 4) * SLOT)
        )

    def effects(self, facts: Facts) -> Sequence[Effect]:
        return [Added("schedule_event", booked(facts, facts["user_id"], facts["description"]))]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [
            *open_calendar(facts),
            click("link", "Book"),
            fill("Title", facts["title"]),
            *fill_span(facts),
            fill("Description", facts["description"]),
            click("button", "Save"),
        ]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [
            f'"{facts["title"]}" is in the calendar "{facts["calendar"]}".',
            f"It is on {facts['day']} from {facts['from_time']} to {facts['to_time']}, once.",
            f'Its details are "{facts["description"]}"',
            f"It is booked by {facts['user']}.",
        ]


class BookCourse(Template):
    """Put a weekly course into the sailing school's calendar."""

    name = "calendar_book_course"
    sites = ("calendar",)
    length = "long"
    logins = {"calendar": "{user}"}
    phrasings = (
        'The sailing school has a new weekly course, "{title}": first on {day}, {from_time} to {to_time}, and every '
        "week until {last_day}. {person} gives it, so book it in that name.",
        'Book "{title}" in the calendar of the sailing school for {person}: every week until {last_day}, for the first '
        "time on {day} from {from_time} to {to_time}.",
        'Add the course "{title}" to the sailing school\'s calendar. It repeats weekly from {day}, {from_time} to '
        "{to_time}, until {last_day}. It is booked by {person}.",
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        facts = staff(data, rng) | pick(data.rows(CUSTOMERS), rng)
        facts |= pick([row for row in data.rows(CALENDARS) if row["slug"] == "sailing-school"], rng)
        rule = pick(data.rows("SELECT id AS rule, name AS rule_name FROM schedule_rule WHERE name = 'Weekly'"), rng)
        start = dt.datetime.combine(some_day(rng, range(7)), dt.time(rng.randint(8, 18), rng.choice((0, 30))))
        last = start.date() + rng.randint(4, 12) * dt.timedelta(weeks=1)
        more = {"title": rng.choice(COURSES), "last": f"{last} 23:59:00", "last_day": long_day(last)}
        return facts | rule | more | span(start, start + rng.randint(2, 4) * SLOT)

    def effects(self, facts: Facts) -> Sequence[Effect]:
        weekly = {"rule_id": facts["rule"], "end_recurring_period": facts["last"]}
        return [Added("schedule_event", booked(facts, facts["person_id"]) | weekly)]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [
            *open_calendar(facts),
            click("link", "Book"),
            fill("Title", facts["title"]),
            *fill_span(facts),
            book_for(facts["person"]),
            choose("Repeats", facts["rule_name"], is_data=True),
            fill("Repeats until", f"{moment(facts['last']):%Y-%m-%d}"),
            click("button", "Save"),
        ]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [
            f'"{facts["title"]}" is in the calendar of the sailing school, booked by {facts["person"]}.',
            f"Its first date is {facts['day']} from {facts['from_time']} to {facts['to_time']}.",
            f"It repeats every week until {facts['last_day']}.",
            "No other booking changed.",
        ]
