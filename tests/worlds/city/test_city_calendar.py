"""The city's calendars: events on their days, the harbour's rules, and exactly the rows that staff changes."""

from __future__ import annotations

import re

import pytest

from tests.worlds.city.visitor import Visitor, changes, outside_links

CALENDAR = "calendar.test"
MONDAYS = "/event/1/"
PAGES = (
    "/",
    "/calendar/month/crane/",
    "/calendar/month/visitor-berths/?year=2026&month=4",
    "/calendar/week/harbour-office/",
    "/calendar/daily/sailing-school/?year=2026&month=3&day=18",
    MONDAYS,
    "/event/5/",
    "/occurrence/1/2026/3/23/8/0/0/",
)
STAFF_PAGES = (
    "/event/create/crane/?day=2026-03-19",
    "/event/edit/5/",
    "/event/delete/5/",
    "/occurrence/edit/1/2026/3/23/8/0/0/",
    "/occurrence/cancel/1/2026/3/23/8/0/0/",
)


def visit(server, username: str, key: str | None = None) -> Visitor:
    visitor = Visitor(server, key or server.reset())
    visitor.log_in(CALENDAR, username)
    return visitor


def booking(visitor: Visitor, day: str, start: str, end: str, **more: str) -> dict[str, str]:
    """The fields of the booking form."""
    (user,) = visitor.server.query(visitor.key, "SELECT id FROM auth_user WHERE username = 'greta'")
    times = {"start_0": day, "start_1": start, "end_0": day, "end_1": end}
    return {"title": "Lift Gannet, 3.1 t", "creator": str(user["id"]), "description": "Mast down.", **times, **more}


def book(visitor: Visitor, *times: str, calendar: str = "crane", **more: str) -> int:
    page = f"/event/create/{calendar}/"
    return visitor.post(CALENDAR, page, page, **booking(visitor, *times, **more))


def event_id(visitor: Visitor, title: str) -> int:
    rows = visitor.server.query(visitor.key, f"SELECT id FROM schedule_event WHERE title = '{title}'")
    assert len(rows) == 1, rows
    return rows[0]["id"]


def days_of(visitor: Visitor, title: str, calendar: str, year: int, month: int) -> list[int]:
    """The days of a month's page that show an event."""
    page = visitor.get(CALENDAR, f"/calendar/month/{calendar}/?year={year}&month={month}")
    cells = re.findall(r'<a class="number"[^>]*>(\d+)</a>(.*?)</td>', page, re.DOTALL)
    assert len(cells) >= 28
    return [int(day) for day, cell in cells if title in cell]


def snapshot(visitor: Visitor) -> str:
    return visitor.server.control("snapshot", key=visitor.key)[1]["key"]


def test_pages_show_what_they_are_seeded_with(server):
    visitor = visit(server, "alice")
    home = visitor.get(CALENDAR, "/")
    assert "Monday, 16 March" in home
    assert "Marigold, 3.6 t: propeller anode" in home
    event = visitor.get(CALENDAR, f"/event/{event_id(visitor, 'Berth 31: ketch Halcyon, 12.1 m')}/")
    assert "Saturday, 14 March 2026, 15:00" in event
    assert "Dana Whitlock" in event
    assert "From Westport, two adults." in event
    week = visitor.get(CALENDAR, "/calendar/week/sailing-school/")
    assert "week of 16 March 2026" in week
    assert "Knots and splices" in week


def test_weekly_events_are_on_their_days(server):
    visitor = visit(server, "alice")
    assert days_of(visitor, "Crane: grease and test run", "crane", 2026, 3) == [2, 9, 16, 23, 30]
    assert days_of(visitor, "Youth dinghies, group A", "sailing-school", 2026, 3) == [4, 11, 18, 25]
    assert days_of(visitor, "Youth dinghies, group A", "sailing-school", 2026, 6) == [3, 10, 17, 24]
    assert days_of(visitor, "Youth dinghies, group A", "sailing-school", 2026, 7) == []
    assert days_of(visitor, "Language table: Spanish", "harbour-office", 2026, 3) == [9, 16, 23, 30]


def test_events_of_several_days_are_on_each_of_them(server):
    days = days_of(visit(server, "alice"), "ketch Halcyon", "visitor-berths", 2026, 3)
    assert days == [14, 15, 16, 17, 18, 19]


def test_today_is_the_day_of_the_frozen_clock(server):
    page = visit(server, "alice").get(CALENDAR, "/calendar/month/crane/")
    assert "Crane: March 2026" in page
    assert re.findall(r'<td class="today">\s*<a[^>]*>(\d+)<', page) == ["16"]
    dates = visit(server, "alice").get(CALENDAR, MONDAYS)
    assert re.findall(r">Monday, (\d+ \w+), 08:00<", dates)[:2] == ["23 March", "30 March"]


def test_what_the_forum_announces_is_on_the_next_such_day(server):
    visitor = visit(server, "alice")
    (topic,) = server.query(
        visitor.key, "SELECT created FROM forum_conversation_topic WHERE subject LIKE 'Water is off on Wednesday%'"
    )
    (event,) = server.query(
        visitor.key,
        "SELECT start, strftime('%w', start) AS weekday, julianday(start) - julianday(created) AS days "
        f"FROM schedule_event, (SELECT '{topic['created']}' AS created) WHERE title LIKE 'Water off%'",
    )
    assert event["weekday"] == "3"
    assert 0 < event["days"] < 9
    assert event["start"].endswith("07:00:00")


def test_the_crane_is_booked_as_the_desk_says(server):
    rows = server.query(
        server.reset(),
        "SELECT strftime('%w', start) AS weekday, strftime('%H:%M', start) AS begins, strftime('%H:%M', end) AS ends "
        "FROM schedule_event e JOIN schedule_calendar c ON c.id = e.calendar_id WHERE c.slug = 'crane' ORDER BY start",
    )
    assert len(rows) >= 10
    for row in rows:
        assert row["weekday"] in "12345"
        assert "08:00" <= row["begins"] < row["ends"] <= "16:00"
        assert {row["begins"][3:], row["ends"][3:]} <= {"00", "30"}


def test_a_booking_is_one_row_and_in_that_copy_alone(server):
    piet = visit(server, "piet")
    before = snapshot(piet)
    assert book(piet, "2026-03-19", "10:00", "10:30") == 302
    rows = server.diff(before, piet.key)
    assert {table: len(found) for table, found in rows.items()} == {"schedule_event": 1}
    event = rows["schedule_event"][0]["after"]
    assert rows["schedule_event"][0]["before"] is None
    assert (event["title"], event["start"], event["end"]) == (
        "Lift Gannet, 3.1 t",
        "2026-03-19 10:00:00",
        "2026-03-19 10:30:00",
    )
    assert event["rule_id"] is None
    assert "Booked by</dt><dd>Greta Silva" in piet.get(CALENDAR, f"/event/{rows['schedule_event'][0]['key']}/")
    assert days_of(visit(server, "alice", piet.key), "Gannet", "crane", 2026, 3) == [19]
    assert days_of(visit(server, "alice"), "Gannet", "crane", 2026, 3) == []


def test_a_booking_that_is_deleted_leaves_nothing(server):
    piet = visit(server, "piet")
    before = snapshot(piet)
    assert book(piet, "2026-03-19", "10:00", "10:30") == 302
    page = f"/event/delete/{event_id(piet, 'Lift Gannet, 3.1 t')}/"
    assert piet.post(CALENDAR, page, page) == 302
    assert server.diff(before, piet.key) == {}


def test_a_deleted_event_is_one_removed_row(server):
    dana = visit(server, "dana")
    before, event = snapshot(dana), event_id(dana, "Radio practice")
    assert dana.post(CALENDAR, f"/event/delete/{event}/", f"/event/delete/{event}/") == 302
    rows = server.diff(before, dana.key)
    assert {table: [(row["key"], row["after"]) for row in found] for table, found in rows.items()} == {
        "schedule_event": [(str(event), None)]
    }
    assert days_of(dana, "Radio practice", "sailing-school", 2026, 3) == []


def test_a_moved_event_changes_its_times_and_nothing_else(server):
    piet = visit(server, "piet")
    title = "Lift the school''s safety boat, 1.1 t"
    before, event = snapshot(piet), event_id(piet, title)
    (row,) = server.query(piet.key, f"SELECT * FROM schedule_event WHERE id = {event}")
    form = booking(piet, "2026-03-19", "11:00", "12:00", title=row["title"], description=row["description"])
    form["creator"] = str(row["creator_id"])
    assert piet.post(CALENDAR, f"/event/edit/{event}/", f"/event/edit/{event}/", **form) == 302
    rows = server.diff(before, piet.key)
    assert {*rows} == {"schedule_event"}
    (moved,) = rows["schedule_event"]
    assert changes(moved) == {
        "start": ("2026-03-19 08:30:00", "2026-03-19 11:00:00"),
        "end": ("2026-03-19 09:30:00", "2026-03-19 12:00:00"),
    }


def test_one_cancelled_date_is_one_row_and_the_others_stay(server):
    piet = visit(server, "piet")
    before, page = snapshot(piet), "/occurrence/cancel/1/2026/3/23/8/0/0/"
    assert piet.post(CALENDAR, page, page) == 302
    rows = server.diff(before, piet.key)
    assert {table: len(found) for table, found in rows.items()} == {"schedule_occurrence": 1}
    cancelled = rows["schedule_occurrence"][0]["after"]
    assert (cancelled["event_id"], cancelled["cancelled"], cancelled["start"]) == ("1", "1", "2026-03-23 08:00:00")
    assert days_of(piet, "Crane: grease and test run", "crane", 2026, 3) == [2, 9, 16, 30]


def test_one_moved_date_is_one_row_and_the_others_stay(server):
    piet = visit(server, "piet")
    before, page = snapshot(piet), "/occurrence/edit/1/2026/3/23/8/0/0/"
    form = {"start_0": "2026-03-24", "start_1": "08:00", "end_0": "2026-03-24", "end_1": "08:30"}
    assert piet.post(CALENDAR, page, page, **form) == 302
    rows = server.diff(before, piet.key)
    assert {table: len(found) for table, found in rows.items()} == {"schedule_occurrence": 1}
    assert rows["schedule_occurrence"][0]["after"]["original_start"] == "2026-03-23 08:00:00"
    assert days_of(piet, "Crane: grease and test run", "crane", 2026, 3) == [2, 9, 16, 24, 30]


@pytest.mark.parametrize(
    ("day", "start", "end", "reason"),
    [
        ("2026-03-21", "10:00", "10:30", "The crane works on weekdays from 08:00 to 16:00."),
        ("2026-03-19", "15:30", "16:30", "The crane works on weekdays from 08:00 to 16:00."),
        ("2026-03-19", "10:10", "10:40", "The crane is booked in slots of 30 minutes."),
        ("2026-03-18", "12:30", "13:30", "The crane is taken then: Inspection, crane out of service."),
        ("2026-03-23", "08:00", "08:30", "The crane is taken then: Crane: grease and test run."),
        ("2026-03-19", "10:30", "10:00", "The end must be later than the start."),
    ],
)
def test_the_crane_refuses_what_is_against_its_rules(server, day, start, end, reason):
    piet = visit(server, "piet")
    before, page = snapshot(piet), "/event/create/crane/"
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', piet.get(CALENDAR, page))[1]
    status, body, _ = piet.request(CALENDAR, page, {"csrfmiddlewaretoken": token, **booking(piet, day, start, end)})
    assert status == 200
    assert reason in body
    assert server.diff(before, piet.key) == {}


def test_customers_look_and_may_not_book(server):
    alice = visit(server, "alice")
    assert "Change or move" not in alice.get(CALENDAR, "/event/5/")
    assert [alice.request(CALENDAR, page)[0] for page in STAFF_PAGES] == [403] * len(STAFF_PAGES)
    assert "Change or move" in visit(server, "piet", alice.key).get(CALENDAR, "/event/5/")


def test_log_in_is_asked_for_on_every_page(server):
    visitor = Visitor(server, server.reset())
    answers = [visitor.request(CALENDAR, page) for page in (*PAGES, *STAFF_PAGES)]
    assert [status for status, _, _ in answers] == [302] * len(answers)
    assert {headers["Location"].partition("?")[0] for _, _, headers in answers} == {"/accounts/login/"}
    page = "/accounts/login/"
    assert visitor.post(CALENDAR, page, page, username="dana", password="storm", next="/") == 200
    assert visitor.post(CALENDAR, page, page, username="dana", password="sea-breeze", next="/") == 302
    assert "Dana Whitlock (staff)" in visitor.get(CALENDAR, "/")


def test_looking_changes_nothing(server):
    piet = visit(server, "piet")
    before = snapshot(piet)
    for page in (*PAGES, *STAFF_PAGES):
        piet.get(CALENDAR, page)
    assert server.diff(before, piet.key) == {}


def test_the_same_seed_twice_gives_equal_bytes(server):
    def episode() -> tuple[list[str], str]:
        visitor = visit(server, "piet", server.reset(seed=8))
        book(visitor, "2026-03-19", "10:00", "10:30")
        pages = [visitor.get(CALENDAR, page) for page in (*PAGES, *STAFF_PAGES)]
        return pages, server.control("database", key=visitor.key)[1]["database"]

    assert episode() == episode()


def test_no_page_names_a_host_outside_of_the_city(server):
    piet = visit(server, "piet")
    assert [found for page in (*PAGES, *STAFF_PAGES) for found in outside_links(piet.get(CALENDAR, page))] == []
