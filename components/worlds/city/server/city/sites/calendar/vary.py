"""The calendars of a seed: which bookings exist, on which days, in which berths, and who made them.

What letters, news and topics name is as it is in the image. Nothing is in two places at once: a berth, the crane, a
calendar and a customer have one booking at a time, and no customer is also at an event of the town's web site.
"""

from __future__ import annotations

import datetime as dt
import random
import re
from dataclasses import replace

from city import rows
from city.copies import START
from city.diary import Diary, Span
from city.sites.calendar.bookings import BOOKINGS, Booking
from city.sites.calendar.forms import SLOTS
from city.sites.calendar.pool import POOL, Occasion
from city.sites.shop.orders import CUSTOMERS

ABSENT, ADDED = 0.25, 0.5
"""The shares of the image's movable bookings that a seed leaves out, and of the pool that it has."""
FIRST_DAY, LAST_DAY = dt.date(2026, 3, 9), dt.date(2026, 4, 14)
"""Between these days bookings begin; series begin in the first two weeks."""
SERIES_END = dt.date(2026, 6, 30)
PROMISED = (("crane", "2026-03-19 10:00", "2026-03-19 10:30"),)
"""A calendar's times that stay free, because a letter says so."""
BERTHS = range(31, 45)
"""The visitors' berths, as the town's web site says it."""
DEPARTURE = dt.time(11)
ATTEMPTS = 30
WEEK, DAY = dt.timedelta(weeks=1), dt.timedelta(days=1)
_BERTH = re.compile(r"Berth (\d+): ")


class Planner:
    """Finds days for bookings, one after the other."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._diary = Diary()
        self._customers = {person.username for person in CUSTOMERS}
        self._users = {row["username"]: row["id"] for row in rows.select("SELECT id, username FROM auth_user")}
        calendars = rows.select("SELECT id, slug FROM schedule_calendar")
        self._calendars = {row["slug"]: row["id"] for row in calendars}
        (self._rule,) = rows.select("SELECT id FROM schedule_rule WHERE frequency = 'WEEKLY'")
        for calendar, start, end in PROMISED:
            self._diary.take([calendar], [(dt.datetime.fromisoformat(start), dt.datetime.fromisoformat(end))])
        usernames = {f"{person.first_name} {person.last_name}": person.username for person in CUSTOMERS}
        for notice in rows.select("SELECT begins, ends, organiser FROM cms_eventpage"):
            if notice["organiser"] in usernames:
                self._diary.take([usernames[notice["organiser"]]], [(notice["begins"], notice["ends"])])

    def keep(self, event: rows.Row) -> None:
        """Note an event that stays as it is."""
        usernames = {key: username for username, key in self._users.items()}
        slugs = {key: slug for slug, key in self._calendars.items()}
        names = self._names(slugs[event["calendar_id"]], event["title"], usernames[event["creator_id"]])
        span = event["start"], event["end"]
        self._diary.take(names, [span] if event["rule_id"] is None else _series(*span))

    def place(self, occasion: Occasion, key: int) -> rows.Row | None:
        """The event's row, on a day on which nothing stands against it; None if there is no such day."""
        for _ in range(ATTEMPTS):
            event = self._draw(occasion)
            person = self._rng.choice(occasion.people)
            names = self._names(occasion.calendar, event.title, person)
            span = dt.datetime.fromisoformat(event.start), dt.datetime.fromisoformat(event.end)
            spans = _series(*span) if occasion.weekly else [span]
            if _is_open(occasion.calendar, span) and self._diary.is_free(names, spans):
                self._diary.take(names, spans)
                return self._row(replace(event, booked_by=person), span, key)
        return None

    def _draw(self, occasion: Occasion) -> Booking:
        rng, window = self._rng, occasion.window
        last = FIRST_DAY + 2 * WEEK if occasion.weekly else LAST_DAY
        days = [FIRST_DAY + number * DAY for number in range((last - FIRST_DAY).days + 1)]
        day = rng.choice([day for day in days if day.weekday() in window.weekdays])
        start = dt.datetime.combine(day, dt.time.fromisoformat(rng.choice(window.begins)))
        end, title = start + dt.timedelta(minutes=occasion.minutes), occasion.title
        if occasion.calendar == "visitor-berths":
            end = dt.datetime.combine(day + rng.randint(1, 6) * DAY, DEPARTURE)
            title = f"Berth {rng.choice(BERTHS)}: {title}"
        until = None
        if occasion.weekly:
            until = f"{day + rng.randint(3, (SERIES_END - day).days // 7) * WEEK}"
        return Booking(occasion.calendar, "", title, occasion.description, str(start), str(end), occasion.weekly, until)

    def _names(self, calendar: str, title: str, person: str) -> list[str]:
        """What a booking takes: its berth or its calendar, and the customer who comes."""
        berth = _BERTH.match(title)
        names = [f"berth {berth[1]}" if berth else calendar]
        return [*names, person] if person in self._customers else names

    def _row(self, event: Booking, span: Span, key: int) -> rows.Row:
        booked = min(span[0], START.replace(tzinfo=None)) - dt.timedelta(days=self._rng.randint(2, 20), hours=3)
        return {
            "id": key,
            "calendar_id": self._calendars[event.calendar],
            "creator_id": self._users[event.booked_by],
            "title": event.title,
            "description": event.description,
            "start": span[0],
            "end": span[1],
            "rule_id": self._rule["id"] if event.weekly else None,
            "end_recurring_period": f"{event.until} 23:59:00" if event.until else None,
            "created_on": booked,
            "updated_on": booked,
        }


def vary(rng: random.Random) -> None:
    """Change the bound copy's bookings."""
    planner = Planner(rng)
    movable = {number: booking for number, booking in enumerate(BOOKINGS, start=1) if booking.window is not None}
    events = rows.select("SELECT * FROM schedule_event ORDER BY id")
    kept = [event for event in events if event["id"] not in movable]
    for event in kept:
        planner.keep(event)
    present = [(key, _occasion(booking)) for key, booking in movable.items() if rng.random() >= ABSENT]
    present += [(key, item) for key, item in enumerate(POOL, start=len(events) + 1) if rng.random() < ADDED]
    placed = [planner.place(occasion, key) for key, occasion in present]
    changed = [*kept, *(row for row in placed if row is not None)]
    rows.replace("schedule_event", sorted(changed, key=lambda row: row["id"]))


def _occasion(booking: Booking) -> Occasion:
    """A booking of the image without its day."""
    assert booking.window is not None
    length = dt.datetime.fromisoformat(booking.end) - dt.datetime.fromisoformat(booking.start)
    title = _BERTH.sub("", booking.title)
    people, minutes = (booking.booked_by,), length // dt.timedelta(minutes=1)
    calendar, weekly = booking.calendar, booking.weekly
    return Occasion(calendar, people, title, booking.description, booking.window, minutes, weekly)


def _series(start: dt.datetime, end: dt.datetime) -> list[Span]:
    """The dates of a weekly event until the end of the season."""
    return [(start + number * WEEK, end + number * WEEK) for number in range((SERIES_END - start.date()).days // 7 + 1)]


def _is_open(calendar: str, span: Span) -> bool:
    """Whether a calendar takes bookings at this time."""
    slots = SLOTS.get(calendar)
    return slots is None or (slots.opens <= span[0].time() and span[1].time() <= slots.closes)
