"""Letters about bookings: the calendar and the mail in one task."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Sequence
from typing import Any

from components.worlds.answers import Phrase
from components.worlds.city.tasks.calendar.events import EVENTS, MONTH_ENDS, open_event, singles
from components.worlds.city.tasks.days import long_day, moment, the_day, the_time
from components.worlds.city.tasks.mail.letters import letter, person, says, write_here, writer
from components.worlds.city.tasks.mail.texts import NOTES
from components.worlds.city.tasks.template import Data, Facts, Template, pick
from components.worlds.effects import Effect
from components.worlds.oracle import Step, goto

ADDRESS_BOOK = "http://mail.test/people/"
APRIL = dt.date(2026, 4, 30)


def _of_event(facts: Facts) -> dict[str, Any]:
    """The facts with the event's title as `title`, which is otherwise the letter's subject."""
    return {**facts, "title": facts["event_title"]}


class WriteToBooker(Template):
    """Write to the person who booked an event."""

    name = "calendar_write_to_booker"
    sites = ("calendar", "mail")
    length = "medium"
    logins = {"calendar": "{user}", "mail": "{user}"}
    phrasings = (
        'Find out who booked "{event_title}" in the calendar "{calendar}", and write a letter to that person, at '
        'http://mail.test. Subject: "{title}". Text: "{text}"',
        'The person who booked "{event_title}" ({calendar}) must get a letter from me by the mail (http://mail.test). '
        'Its subject is "{title}", and it says: "{text}"',
        'Look up "{event_title}" in the calendar "{calendar}". Then send a letter with the subject "{title}" to the '
        'person who booked it: "{text}" The mail is at http://mail.test.',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        user = writer(data, rng)
        event = pick([row for row in singles(data, APRIL) if row["booker_user"] != user["user"]], rng)
        title, text = rng.choice(NOTES)
        return user | {
            "event_title": event["title"],
            "calendar": event["calendar"],
            "months": event["months"],
            "person": event["booker"],
            "person_id": event["creator_id"],
            "title": title,
            "text": text,
        }

    def effects(self, facts: Facts) -> Sequence[Effect]:
        return [letter(facts)]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [*open_event(_of_event(facts)), goto(ADDRESS_BOOK), *write_here(facts, facts["text"])]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [
            f'{facts["person"]}, who booked "{facts["event_title"]}", got the letter, and no other person.',
            f'Its subject is "{facts["title"]}".',
            f'Its text is "{facts["text"]}"',
            "No booking changed.",
        ]


class TellDate(Template):
    """Write to a person when an event begins."""

    name = "mail_tell_date"
    sites = ("mail", "calendar")
    length = "medium"
    logins = {"mail": "{user}", "calendar": "{user}"}
    phrasings = (
        'Write to {person} on which day (with the name of the month) and at what time "{event_title}" begins. It is in '
        'the calendar "{calendar}" at http://calendar.test. The subject of the letter is "{title}".',
        '{person} asks when "{event_title}" begins. Look it up in the calendar "{calendar}" (http://calendar.test) and '
        'send a letter with the subject "{title}" that names day, month (as a word) and time, and no other date.',
        'Send {person} a letter, subject "{title}": the date, with the name of the month, and the time at which '
        '"{event_title}" begins. See the calendar "{calendar}", http://calendar.test.',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        user, events = writer(data, rng), singles(data, MONTH_ENDS)
        event = pick(events, rng)
        everything = data.rows(EVENTS)
        return (
            user
            | person(data, rng, user["user"], event["booker_user"])
            | {
                "event_title": event["title"],
                "calendar": event["calendar"],
                "start": event["start"],
                "days": sorted({row["start"][:10] for row in everything} - {event["end"][:10]}),
                "times": sorted({row["start"][11:16] for row in everything} - {event["end"][11:16]}),
                "title": rng.choice(("The date that you asked for", "Your question", "When it begins", "The calendar")),
            }
        )

    def effects(self, facts: Facts) -> Sequence[Effect]:
        day, time = says(self._day(facts)), says(self._time(facts))
        return [letter(facts, lambda text: day(text) and time(text))]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        start = moment(facts["start"])
        text = f"It begins on {long_day(start.date())} at {start:%H:%M}."
        return [
            goto("http://calendar.test/"),
            *open_event(_of_event(facts)),
            goto(ADDRESS_BOOK),
            *write_here(facts, text),
        ]

    def rubric(self, facts: Facts) -> Sequence[str]:
        start = moment(facts["start"])
        return [
            f'{facts["person"]} got a letter with the subject "{facts["title"]}".',
            f"The letter says that it begins on {start.day} {start:%B}, and names no other day.",
            f"The letter says that it begins at {start:%H:%M}, and names no other time.",
        ]

    def _day(self, facts: Facts) -> Phrase:
        return the_day(moment(facts["start"]).date(), [moment(day).date() for day in facts["days"]])

    def _time(self, facts: Facts) -> Phrase:
        return the_time(moment(facts["start"]).time(), [dt.time.fromisoformat(time) for time in facts["times"]])
