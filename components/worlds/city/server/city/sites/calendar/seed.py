"""Fills the calendars."""

from __future__ import annotations

import datetime as dt

from django.contrib.auth import get_user_model
from machina.core.db.models import get_model
from schedule.models import Calendar, Event, Rule

from city.copies import START
from city.sites.calendar.bookings import ANNOUNCED, BOOKINGS, CALENDARS, Announced, Booking


def seed() -> None:
    """Fill the empty calendars."""
    weekly = Rule.objects.create(name="Weekly", description="Every week", frequency="WEEKLY")
    Rule.objects.create(name="Daily", description="Every day", frequency="DAILY")
    calendars = {slug: Calendar.objects.create(name=name, slug=slug) for name, slug in CALENDARS}
    users = {user.username: user for user in get_user_model().objects.all()}
    for booking in [*BOOKINGS, *map(dated, ANNOUNCED)]:
        start = moment(booking.start)
        event = Event.objects.create(
            calendar=calendars[booking.calendar],
            creator=users[booking.booked_by],
            title=booking.title,
            description=booking.description,
            start=start,
            end=moment(booking.end),
            rule=weekly if booking.weekly else None,
            end_recurring_period=moment(f"{booking.until} 23:59") if booking.until else None,
        )
        booked = min(start, START) - dt.timedelta(days=6, hours=3)
        Event.objects.filter(pk=event.pk).update(created_on=booked, updated_on=booked)


def dated(announced: Announced) -> Booking:
    """The booking of what a topic announces."""
    topic = get_model("forum_conversation", "Topic").objects.get(subject=announced.topic)
    day = topic.created.date() + dt.timedelta(days=1)
    day += dt.timedelta(days=(announced.weekday - day.weekday()) % 7)
    return Booking(
        announced.calendar,
        announced.booked_by,
        announced.title,
        announced.description,
        f"{day} {announced.start}",
        f"{day} {announced.end}",
        weekly=announced.weekly,
    )


def moment(text: str) -> dt.datetime:
    """The time that `2026-03-18 09:00` stands for."""
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC)
