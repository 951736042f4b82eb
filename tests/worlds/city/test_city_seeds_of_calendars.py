"""The calendars' bookings of a seed differ, obey the harbour's rules, and agree with what other sites say of them."""

from __future__ import annotations

import datetime as dt
import re
from itertools import combinations

import pytest

from tests.worlds.city.visitor import Server, Visitor

SEEDS = range(1, 9)
EVENTS = """SELECT e.id, e.title, e.description, e.start, e.end, e.rule_id AS rule, e.end_recurring_period AS until,
    c.slug, u.username, u.is_staff FROM schedule_event e JOIN schedule_calendar c ON c.id = e.calendar_id
    JOIN auth_user u ON u.id = e.creator_id ORDER BY e.id"""
NAMED_ELSEWHERE = (
    "Launch Kittiwake, 4.8 t",
    "Marigold, 3.6 t: propeller anode",
    "Inspection, crane out of service",
    "Lift to look at blisters, 5.2 t",
    "Unstep the mast of Corrie",
    "Electrician on berth 22",
    "Second film night in the sail loft",
    "Clean-up of the shore with the school",
    "Check of the life jackets",
    "Knots and splices",
    "Language table: Spanish",
)
"""Bookings whose days and times letters, news or topics name."""


@pytest.fixture(scope="module")
def events(server) -> dict[int, list[dict]]:
    keys = {seed: server.reset(seed) for seed in (0, *SEEDS)}
    rows = {seed: server.query(key, EVENTS) for seed, key in keys.items()}
    for key in keys.values():
        server.control("drop", key=key)
    return rows


def dates(event: dict) -> list[tuple[dt.datetime, dt.datetime]]:
    """Begin and end of each date of an event in this spring."""
    start, end = (dt.datetime.fromisoformat(event[name]) for name in ("start", "end"))
    if event["rule"] is None:
        return [(start, end)]
    last = dt.datetime.fromisoformat(event["until"] or "2026-06-30 23:59:00")
    weeks = [dt.timedelta(weeks=number) for number in range((last - start).days // 7 + 1)]
    return [(start + week, end + week) for week in weeks]


def overlapping(events: list[dict]) -> list[tuple[str, str]]:
    return [
        (first["title"], second["title"])
        for first, second in combinations(events, 2)
        if any(start < until and begin < end for start, end in dates(first) for begin, until in dates(second))
    ]


@pytest.mark.parametrize("columns", [("title",), ("title", "start"), ("title", "end"), ("title", "username")], ids=str)
def test_the_bookings_of_seeds_differ(events, columns):
    assert len({str([[row[name] for name in columns] for row in rows]) for rows in events.values()}) == len(events)


def test_the_bookings_of_a_seed_are_the_same_in_another_process(server, image, events):
    other: Server = Server(image)
    try:
        assert other.query(other.reset(5), EVENTS) == events[5]
    finally:
        other.stop()


def test_bookings_that_other_sites_name_are_in_every_seed(events):
    fixed = {row["title"]: row for row in events[0] if row["title"] in NAMED_ELSEWHERE}
    assert {*fixed} == {*NAMED_ELSEWHERE}
    for rows in events.values():
        assert {row["title"]: row for row in rows if row["title"] in NAMED_ELSEWHERE} == fixed


def test_the_crane_obeys_its_rules_in_every_seed(events):
    for seed in SEEDS:
        lifts = [row for row in events[seed] if row["slug"] == "crane"]
        assert len(lifts) >= 9
        assert overlapping(lifts) == []
        for row in lifts:
            start, end = (dt.datetime.fromisoformat(row[name]) for name in ("start", "end"))
            assert start.weekday() < 5
            assert dt.time(8) <= start.time() < end.time() <= dt.time(16)
            assert {start.minute, end.minute} <= {0, 30}
            promised = dt.datetime(2026, 3, 19, 10), dt.datetime(2026, 3, 19, 10, 30)
            assert end <= promised[0] or start >= promised[1], "a letter says that this half hour is free"


def test_no_berth_has_two_boats_and_no_customer_is_in_two_places(events):
    for seed in SEEDS:
        boats = [row for row in events[seed] if row["slug"] == "visitor-berths"]
        for berth in {row["title"].partition(":")[0] for row in boats}:
            assert re.fullmatch(r"Berth (3[1-9]|4[0-4])", berth)
            assert overlapping([row for row in boats if row["title"].startswith(f"{berth}:")]) == []
        ashore = [row for row in events[seed] if row["slug"] != "visitor-berths" and not row["is_staff"]]
        for username in {row["username"] for row in ashore}:
            assert overlapping([row for row in ashore if row["username"] == username]) == []


def test_titles_are_unique_in_a_seed(events):
    for rows in events.values():
        titles = [row["title"] for row in rows]
        assert len(titles) == len({*titles})


def test_a_calendar_shows_the_bookings_of_the_seed(server, events):
    visitor = Visitor(server, server.reset(3))
    visitor.log_in("calendar.test", "alice")
    page = visitor.get("calendar.test", "/calendar/month/sailing-school/?year=2026&month=3")
    titles = {row["title"] for row in events[3] if row["slug"] == "sailing-school" and row["start"] < "2026-04"}
    assert titles
    assert [title for title in titles if title not in page] == []
