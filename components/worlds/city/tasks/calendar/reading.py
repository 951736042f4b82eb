"""Questions whose answers are in the calendars."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Sequence
from typing import Any

from components.worlds.answers import Answer, numbers_in
from components.worlds.city.tasks.calendar.events import (
    CALENDARS,
    EVENTS,
    START_PAGE_ENDS,
    TODAY,
    dates,
    open_calendar,
    open_event,
    singles,
)
from components.worlds.city.tasks.days import long_day, moment, the_day, the_time
from components.worlds.city.tasks.template import Data, Facts, Template, Unsuitable, pick
from components.worlds.city.tasks.vocabulary import names, number
from components.worlds.oracle import Step, click

APRIL = dt.date(2026, 4, 30)
VISITORS = "SELECT username AS user FROM auth_user WHERE is_superuser = 0 ORDER BY username"


class Question(Template):
    """A question of a person who may look at the calendars."""

    sites = ("calendar",)
    length = "short"
    logins = {"calendar": "{user}"}


class WhoBooked(Question):
    """Say who booked an event."""

    name = "calendar_who_booked"
    phrasings = (
        'Who booked "{title}" in the calendar "{calendar}"? Give the full name.',
        'In whose name is "{title}" ({calendar}) booked? I need first and last name.',
        'Find "{title}" in the calendar "{calendar}" and tell me the full name of the person who booked it.',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        event, user = pick(singles(data, APRIL), rng), pick(data.rows(VISITORS), rng)
        people = data.rows("SELECT trim(first_name || ' ' || last_name) AS person FROM auth_user ORDER BY id")
        names = ("title", "calendar", "months", "booker")
        return user | {name: event[name] for name in names} | {"people": [row["person"] for row in people]}

    def answer(self, facts: Facts) -> Answer:
        return names([facts["booker"]], facts["people"], self.given(facts))

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return open_event(facts)

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f"The answer is {facts['booker']} and names no other person."]


class WhichDay(Question):
    """Say on which day an event begins."""

    name = "calendar_which_day"
    phrasings = (
        'On which day is "{title}", says the calendar "{calendar}"? If it lasts several days, I mean the first. Give '
        "the day and the name of the month.",
        'Find "{title}" in the calendar "{calendar}" and tell me the day and the month (by its name) on which it '
        "begins.",
        'When does "{title}" ({calendar}) begin? I need the day and the name of the month.',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        events, user = singles(data, APRIL), pick(data.rows(VISITORS), rng)
        event = pick(events, rng)
        days = {row["start"][:10] for row in events} - {event["end"][:10]}
        names = ("title", "calendar", "months", "start")
        return user | {name: event[name] for name in names} | {"days": sorted(days)}

    def answer(self, facts: Facts) -> Answer:
        return the_day(moment(facts["start"]).date(), [moment(day).date() for day in facts["days"]])

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return open_event(facts)

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f"The answer is {long_day(moment(facts['start']).date())} and no other day."]


class WhatTime(Question):
    """Say at what time an event begins."""

    name = "calendar_what_time"
    phrasings = (
        'At what time does "{title}" begin, says the calendar "{calendar}"?',
        'Find "{title}" in the calendar "{calendar}" and tell me at what time it starts.',
        'What is the starting time of "{title}" ({calendar})?',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        events, user = data.rows(EVENTS), pick(data.rows(VISITORS), rng)
        event = pick(singles(data, APRIL), rng)
        times = {row["start"][11:16] for row in events} - {event["end"][11:16]}
        names = ("title", "calendar", "months", "start")
        return user | {name: event[name] for name in names} | {"times": sorted(times)}

    def answer(self, facts: Facts) -> Answer:
        return the_time(moment(facts["start"]).time(), [dt.time.fromisoformat(time) for time in facts["times"]])

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return open_event(facts)

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f"The answer is {moment(facts['start']):%H:%M} and no other time."]


class CountDay(Question):
    """Say how many events a calendar has on a day."""

    name = "calendar_count_day"
    phrasings = (
        'How many bookings does the calendar "{calendar}" show on {day}? Count those that began earlier and go on.',
        'Count the entries of {day} in the calendar "{calendar}", with those that last over several days.',
        'How many entries are there in the calendar "{calendar}" for {day}? An entry that began on an earlier day and '
        "still lasts counts as well.",
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        calendar, user = pick(data.rows(CALENDARS), rng), pick(data.rows(VISITORS), rng)
        month = [TODAY.replace(day=1) + dt.timedelta(days=number) for number in range(31)]
        shown = [date for date in dates(data, month[0], month[-1]) if date.event["slug"] == calendar["slug"]]
        month = [day for day in month if not TODAY <= day <= START_PAGE_ENDS]  # else the start page tells the answer
        counts = {day: sum(date.touches(day) for date in shown) for day in month}
        busy = [day for day in month if counts[day]]
        if not busy:
            raise Unsuitable("the calendar is empty")
        most = max(counts.values())
        day = rng.choice([day for day in busy if counts[day] > 1 or most == 1] if rng.random() < 0.7 else busy)
        near = sorted({*counts.values(), counts[day] + 1} - {counts[day]})
        return user | {
            "calendar": calendar["calendar"],
            "slug": calendar["slug"],
            "day": long_day(day),
            "label": f"{day:%A}, {day.day} {day:%B}",
            "count": counts[day],
            "near": near,
        }

    def answer(self, facts: Facts) -> Answer:
        given = [number for number in numbers_in(facts["day"]) if int(number) not in facts["near"]]
        return number(facts["count"], given=given, near=facts["near"])

    def evidence(self, facts: Facts) -> Sequence[str]:
        return [rf"calendar\.test/calendar/([^/]+/)?{facts['slug']}/.*"]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [*open_calendar(facts), click("link", facts["label"])]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f"The answer is {facts['count']}."]


class WhatNext(Question):
    """Say which event follows another one in a calendar."""

    name = "calendar_what_next"
    phrasings = (
        'Which booking is the next one in the calendar "{calendar}" after "{title}" of {day}? Give its title.',
        'In the calendar "{calendar}", what begins next after "{title}" on {day}? Tell me the title.',
        'What is the title of the first entry in the calendar "{calendar}" that begins after "{title}" of {day}?',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        calendar, user = pick(data.rows(CALENDARS), rng), pick(data.rows(VISITORS), rng)
        month = dates(data, TODAY.replace(day=1), TODAY.replace(day=31))
        here = [date for date in month if date.event["slug"] == calendar["slug"]]
        pairs = [
            (date, after)
            for before, date, after, last in zip([None, *here], here, here[1:], [*here[2:], None], strict=False)
            if date.event["title"] != after.event["title"] and date.start < after.start
            if (before is None or before.start < date.start) and (last is None or after.start < last.start)
        ]
        if not pairs:
            raise Unsuitable("the calendar has too few entries")
        date, after = rng.choice(pairs)
        title = date.event["title"]
        others = {row["title"] for row in data.rows(EVENTS)}
        titles = sorted(other for other in others if other.casefold() not in title.casefold())
        facts = {"title": title, "next": after.event["title"], "day": long_day(date.start.date())}
        return user | {"calendar": calendar["calendar"], "titles": titles} | facts

    def answer(self, facts: Facts) -> Answer:
        return names([facts["next"]], facts["titles"], self.given(facts))

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return open_calendar(facts)

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [f'The answer is "{facts["next"]}" and names no other entry.']
