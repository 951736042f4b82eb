"""What visitors of the web site do: they write to the office, and put an event into a calendar."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from components.worlds.city.tasks.calendar.booking import booked
from components.worlds.city.tasks.calendar.events import CALENDARS, fill_span, staff
from components.worlds.city.tasks.cms.pages import EVENTS, upcoming
from components.worlds.city.tasks.cms.texts import MESSAGES
from components.worlds.city.tasks.days import moment
from components.worlds.city.tasks.template import Data, Facts, Template, pick
from components.worlds.effects import Added, Effect, words
from components.worlds.oracle import Step, choose, click, fill, goto

CONTACT = "SELECT id AS page FROM wagtailcore_page WHERE slug = 'contact'"
CUSTOMERS = """SELECT first_name || ' ' || last_name AS person, email FROM auth_user
    WHERE is_staff = 0 AND is_superuser = 0 ORDER BY username"""


def form_data(values: Mapping[str, str]) -> Callable[[str | None], bool]:
    """What a form has kept, with these words in its fields."""

    def is_right(text: str | None) -> bool:
        kept = json.loads(text or "{}")
        return all(words(value)(kept.get(name)) for name, value in values.items())

    return is_right


class WriteToOffice(Template):
    """Send the contact form."""

    name = "cms_write_to_office"
    sites = ("cms",)
    length = "medium"
    phrasings = (
        "Write to the harbour office with the contact form of the town's web site. Name: {person}, e-mail: {email}, "
        'subject: {subject}. Message: "{text}"',
        'Send this to the office by the form under Contact: "{text}" I am {person}, {email}; the subject is {subject}.',
        'I am {person} ({email}). Use the contact form, choose the subject "{subject}" and write: "{text}"',
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        subject, text = rng.choice(MESSAGES)
        page, person = pick(data.rows(CONTACT), rng), pick(data.rows(CUSTOMERS), rng)
        return page | person | {"subject": subject, "text": text}

    def effects(self, facts: Facts) -> Sequence[Effect]:
        values = {"name": facts["person"], "email": facts["email"]}
        values |= {"subject": facts["subject"], "message": facts["text"]}
        return [Added("wagtailforms_formsubmission", {"page_id": facts["page"], "form_data": form_data(values)})]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [
            click("link", "Contact"),
            fill("Name.*", facts["person"]),
            fill("Email.*", facts["email"]),
            choose("Subject.*", facts["subject"]),
            fill("Message.*", facts["text"]),
            click("button", "Send"),
        ]

    def rubric(self, facts: Facts) -> Sequence[str]:
        return [
            f'The office has the message "{facts["text"]}"',
            f"It is from {facts['person']}, {facts['email']}.",
            f"Its subject is {facts['subject']}.",
            "No other form was sent.",
        ]


class EventIntoCalendar(Template):
    """Book an event of the web site in the harbour office's calendar."""

    name = "cms_event_into_calendar"
    sites = ("cms", "calendar")
    length = "long"
    logins = {"calendar": "{user}"}
    phrasings = (
        'Find the event "{title}" on the town\'s web site. Book it for me under the same title in the calendar '
        '"{calendar}" at http://calendar.test, from its beginning to its end.',
        'Put "{title}" from the events of the web site into the calendar "{calendar}" (http://calendar.test). Take the '
        "title, the day and both times from the web site, and book it in my name.",
        'The event "{title}" is missing in the calendar "{calendar}" at http://calendar.test. Look up on the web site '
        "when it begins and ends, and add it there in my name with the same title.",
    )

    def facts(self, data: Data, rng: random.Random) -> dict[str, Any]:
        titles = {row["title"] for row in data.rows("SELECT title FROM schedule_event")}
        event = pick([row for row in upcoming(data.rows(EVENTS)) if row["title"] not in titles], rng)
        calendar = pick([row for row in data.rows(CALENDARS) if row["slug"] == "harbour-office"], rng)
        times = {"title": event["title"], "start": event["begins"], "end": event["ends"]}
        return staff(data, rng) | calendar | times

    def effects(self, facts: Facts) -> Sequence[Effect]:
        return [Added("schedule_event", booked(facts, facts["user_id"]))]

    def oracle(self, facts: Facts) -> Sequence[Step]:
        return [
            click("link", "Events"),
            click("link", re.escape(facts["title"])),
            goto("http://calendar.test/"),
            click("link", re.escape(facts["calendar"])),
            click("link", "Book"),
            fill("Title", facts["title"]),
            *fill_span(facts),
            click("button", "Save"),
        ]

    def rubric(self, facts: Facts) -> Sequence[str]:
        start, end = moment(facts["start"]), moment(facts["end"])
        return [
            f'"{facts["title"]}" is in the calendar "{facts["calendar"]}", once.',
            f"It is on {start.day} {start:%B} {start.year}.",
            f"It lasts from {start:%H:%M} to {end:%H:%M}.",
            f"It is booked by {facts['user']}, and no other booking changed.",
        ]
