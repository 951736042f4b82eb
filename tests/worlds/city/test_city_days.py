"""Days and times in answers: the usual ways to write the right one, and no other one."""

from __future__ import annotations

import datetime as dt

import pytest

from components.worlds.city.tasks.days import long_day, the_day, the_time
from components.worlds.city.tasks.registry import find

EVENING = the_time(dt.time(19), [dt.time(7), dt.time(19), dt.time(20)])
TWELFTH = the_day(dt.date(2026, 3, 12), [dt.date(2026, 3, 2), dt.date(2026, 3, 12), dt.date(2026, 4, 12)])


@pytest.mark.parametrize(
    "answer",
    ["19:00", "It begins at 7 pm.", "7:00 PM", "19 o'clock", "from 19:00 to 20:30", "at 7 p.m.", "7:00 p.m. sharp"],
)
def test_a_time_is_right_in_each_usual_form(answer):
    assert EVENING.accepts(answer)


@pytest.mark.parametrize(
    "answer",
    [
        "7 am",
        "07:00",
        "7:00",
        "19:00 or 20:00",
        "7 pm or 8 pm",
        "9:00",
        "",
        "19:00 or 20:15",
        "7 pm, 8:15 pm",
        "18:45, 19:00, 19:15",
    ],
)
def test_another_time_or_two_times_are_wrong(answer):
    assert not EVENING.accepts(answer)


@pytest.mark.parametrize(
    "answer", ["Thursday, 12 March 2026", "March 12", "on the 12th of March", "Mar 12", "2026-03-12"]
)
def test_a_day_is_right_in_each_usual_form(answer):
    assert TWELFTH.accepts(answer)


@pytest.mark.parametrize(
    "answer",
    [
        "2 March",
        "12 April",
        "12 March or 2 March",
        "the 12th",
        "",
        "12 March or 13 March",
        "March 12, March 13",
        "2026-03-11, 2026-03-12",
        "11 to 13 March, so 12 March",
    ],
)
def test_another_day_or_two_days_are_wrong(answer):
    assert not TWELFTH.accepts(answer)


def test_the_other_half_of_the_day_is_wrong():
    morning = the_time(dt.time(11), [dt.time(11), dt.time(14)])
    assert morning.accepts("It begins at 11:00 am.")
    assert morning.accepts("11:00")
    assert not any(morning.accepts(text) for text in ("11:00 pm", "It begins at 11 pm.", "11:00pm", "11:00 p.m."))
    assert not EVENING.accepts("7 am")


def test_a_day_is_written_with_its_weekday():
    assert long_day(dt.date(2026, 3, 16)) == "Monday, 16 March 2026"


@pytest.mark.parametrize(
    "answer", ["March 5, 2026", "March 5th, 2026", "the 5th of March 2026", "3/5/2026", "03/05/2026"]
)
def test_the_day_of_an_order_is_right_in_each_usual_form(answer):
    expected = find("shop_order_date").answer({"day": "2026-03-05", "others": ["2026-03-15"]})
    assert expected is not None
    assert expected.accepts(answer)
    assert not expected.accepts(answer.replace("5", "15", 1))
    assert not expected.accepts(f"March 4, 2026 or {answer} or March 6, 2026")
    assert expected.accepts("5 March"), "all orders are of one year"


@pytest.mark.parametrize(
    "answer", ["from 19:00 to 21:00", "19:00-21:00", "19:00 - 21:00", "It begins at 19:00 and ends at 21:00."]
)
def test_the_end_beside_a_beginning_is_no_other_answer(answer):
    assert EVENING.accepts(answer)
    assert TWELFTH.accepts("from 12 March to 14 March")


@pytest.mark.parametrize("answer", ["02 May", "May 02, 2026", "May the 2nd", "2.5.2026 is May 2", "5/02/2026"])
def test_a_day_is_right_however_it_is_written(answer):
    second = the_day(dt.date(2026, 5, 2), [dt.date(2026, 5, 12), dt.date(2026, 4, 2)])
    assert second.accepts(answer)
    assert not second.accepts(answer.replace("2", "3"))
    assert not second.accepts(f"{answer} or May 12")
    assert not second.accepts(f"This is not possible: it was cancelled. {answer}")


@pytest.mark.parametrize(
    ("answer", "is_right"),
    [
        ("It begins at 9 and ends at 11.", True),
        ("At 9", True),
        ("from 9 to 11", True),
        ("It begins at 8 and ends at 9.", False),
        ("It begins at 9 or at 10.", False),
        ("It begins at 9 pm.", False),
        ("It begins at 19.", False),
        ("It is at berth 9.", False),
        ("It begins at 10.", False),
    ],
)
def test_an_hour_without_minutes_is_a_time(answer, is_right):
    assert the_time(dt.time(9), [dt.time(9), dt.time(10), dt.time(14)]).accepts(answer) is is_right
