"""Bookings that are impossible: the crane is taken or closed, or the person may not book."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Sequence
from typing import Any

from components.worlds.answers import Answer
from components.worlds.city.tasks.calendar.booking import crane
from components.worlds.city.tasks.calendar.events import (
    CLOSES,
    CUSTOMERS,
    MONTH_ENDS,
    OPENS,
    SLOT,
    START_PAGE_ENDS,
    book_for,
    crane_hours,
    dates,
    fill_span,
    open_calendar,
    some_day,
    span,
    staff,
)
from components.worlds.city.tasks.days import moment
from components.worlds.city.tasks.refusals import NOT_PERMITTED, refusal
from components.worlds.city.tasks.template import Data, Facts, Template, Unsuitable, pick
from components.worlds.oracle import Step, click, fill

PHRASINGS = (
    'Book the crane for {person} on {day}, from {from_time} to {to_time}. The title is "{title}".',
    "{person} needs the crane on {day} between {from_time} and {to_time}, not at another time. Book it with the title "
    '"{title}". If this cannot be done, tell me why.',
    'Put "{title}" into the crane calendar: {day}, {from_time} to {to_time}, booked by {person}.',
)

MONTHS_AND_FORMS = [r"calendar\.test/calendar/([^/]+/)?crane/.*", r"((403|POST) )?calendar\.test/event/create/crane/.*"]
"""Pages that show when the crane is taken and who may book it."""


def try_to_book(facts: Facts) -> list[Step]:
    """From the first page to a form that the calendar refuses."""
    return [
        *open_calendar(facts),
        click("link", "Book"),
        fill("Title", facts["title"]),
        *fill_span(facts),
        book_for(facts["person"]),
        click("button", "Save"),
    ]


class CraneIsTaken(Template):
    """The crane is asked for at a time at which it is taken."""

    name = "calendar_crane_taken"
    sites = ("calendar",)
    length = "short"
    logins = {"calendar": "{user}"}
    phrasings = PHRASINGS

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        facts = staff(data, rng) | pick(data.rows(CUSTOMERS), rng) | crane(data, rng)
        taken = [
            date
            for date in dates(data, START_PAGE_ENDS + dt.timedelta(days=1), MONTH_ENDS)
            if date.event["slug"] == "crane" and date.start.date() == date.end.date() > START_PAGE_ENDS
        ]
        if not taken:
            raise Unsuitable("the crane is free all the time")
        date = rng.choice(taken)
        starts = [date.start + number * SLOT for number in range((date.end - date.start) // SLOT)]
        ends = dt.datetime.combine(date.start.date(), CLOSES)
        start = rng.choice([start for start in starts if start.time() >= OPENS])
        label = f"{start:%A}, {start.day} {start:%B}"
        end = min(start + rng.randint(1, 3) * SLOT, ends)
        return facts | {"label": label, "by": date.event["title"]} | span(start, end)

    def answer(self, facts: Facts) -> Answer:
        return refusal("slot_taken", "not available", facts["by"], "crane is taken", unclear=(facts["by"],))

    def evidence(self, facts: Facts) -> Sequence[str]:
        return MONTHS_AND_FORMS

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [*open_calendar(facts), click("link", facts["label"])]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f'The answer says that the crane is taken then ("{facts["by"]}").', "Nothing was booked."]


class CraneIsClosed(Template):
    """The crane is asked for at a weekend."""

    name = "calendar_crane_closed"
    sites = ("calendar",)
    length = "long"
    logins = {"calendar": "{user}"}
    phrasings = PHRASINGS

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        day, length = some_day(rng, range(5, 7)), rng.randint(1, 3) * SLOT
        start = rng.choice(crane_hours([], day, length))
        facts = staff(data, rng) | pick(data.rows(CUSTOMERS), rng) | crane(data, rng)
        return facts | span(start, start + length)

    def answer(self, facts: Facts) -> Answer:
        weekday = f"{moment(facts['start']):%A}".lower()
        closed = [f"{words} {day}" for words in ("closed on", "not on", "not work on", "doesn't work on")
                  for day in (f"{weekday}s", weekday, f"a {weekday}", f"this {weekday}")]  # fmt: skip
        closed += ["weekdays only", "monday to friday", "mondays to fridays", "weekend", "weekends"]
        return refusal("closed_then", *closed, unclear=("weekend", "weekends"))

    def evidence(self, facts: Facts) -> Sequence[str]:
        return MONTHS_AND_FORMS

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return try_to_book(facts)

    def rubric(self, facts: Facts) -> Sequence[str]:
        return ["The answer says that the crane works on weekdays only.", "Nothing was booked."]


class CustomerBooks(Template):
    """A customer asks for a booking, which only the staff makes."""

    name = "calendar_customer_books"
    sites = ("calendar",)
    length = "short"
    logins = {"calendar": "{username}"}
    phrasings = (
        'Book the crane for me on {day}, from {from_time} to {to_time}. The title is "{title}".',
        "I am {person} and need the crane on {day} between {from_time} and {to_time}. Book it in the calendar with the "
        'title "{title}". If this cannot be done, tell me why.',
        'Put "{title}" into the crane calendar: {day}, {from_time} to {to_time}, booked by me.',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        facts = pick(data.rows(CUSTOMERS), rng) | crane(data, rng)
        day, length = some_day(rng), rng.randint(1, 3) * SLOT
        taken = [date for date in dates(data, day, day) if date.event["slug"] == "crane"]
        starts = crane_hours(taken, day, length)
        if not starts:
            raise Unsuitable("the crane is not free on this day")
        start = rng.choice(starts)
        return facts | span(start, start + length)

    def answer(self, facts: Facts) -> Answer:
        return refusal("not_allowed", "only the staff", "staff only", "not staff", "may not book", "no book button",
                       "isn't allowed",
                       "aren't allowed", *NOT_PERMITTED)  # fmt: skip

    def evidence(self, facts: Facts) -> Sequence[str]:
        return MONTHS_AND_FORMS

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return open_calendar(facts)

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f"The answer says that {facts['person']} may not book.", "Nothing was booked."]
