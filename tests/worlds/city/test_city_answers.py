"""Answers of the city's tasks: usual words of a right one, and lists that have a right one among others."""

from __future__ import annotations

from typing import Any

import pytest

from components.worlds.city.tasks.registry import find
from components.worlds.city.tasks.vocabulary import PRIORITIES, TICKET_STATUSES, VOCABULARY

BOOKED = {
    "title": "Lesson for Alice Moreno",
    "calendar": "Crane",
    "booker": "Dana Whitlock",
    "people": ["Alice Moreno", "Chiara Lindqvist", "Dana Whitlock", "Jonas Ferreira"],
}
WROTE = {
    "sentence": "Greta said that I cannot moor here, or can I?",
    "person": "hugo",
    "people": ["dana", "greta", "hugo", "ines"],
}
NAMED = {
    "subject": "I can afford one of these",
    "opener": "esther",
    "which": "cheapest",
    "titles": ["Bilge pump, by hand", "Shock cord, 6 mm, by 10 m", "Life jacket, child, 100 N"],
    "right": "Shock cord, 6 mm, by 10 m",
}
STATUS = {
    "number": "100126",
    "status": "Complete",
    "statuses": ["Being processed", "Cancelled", "Complete", "Pending"],
}
LEADS = {
    "subject": "Poll: flag for the regatta",
    "text": "Blue gull on white",
    "options": ["White gull on blue", "Blue gull on white", "No gull at all"],
}
VOTES = {"subject": "Poll: hour of the language table", "text": "At six", "votes": 3, "others": [1, 2]}
STRANGER = {"stranger": "Wilma Harker", "title": "Berth", "text": "Is berth 4 free?"}
TICKET = {"ticket": 57, "text": "Done."}
SOLD_OUT = {"title": "Hull polish, 500 ml", "user": "bruno"}
TAKEN = {"by": "Launch Kittiwake, 4.8 t"}
SATURDAY = {"start": "2026-03-21 10:00:00"}
FOREIGN = {"author": "chiara", "reader": "alice", "subject": "Lost oars"}
COMPLETE = {"number": "100101", "old": "Complete", "new": "Cancelled"}
COUPON = {"code": "GULL7", "title": "Crab pot"}
NUMBER = {"number": "100159", "user": "chiara"}
COUNTED = {"owner": "Dana Whitlock", "username": "dana", "priority": "High", "count": 2, "rivals": [1]}


def accepts(template: str, facts: dict[str, Any], answer: str) -> bool:
    expected = find(template).answer(facts)
    assert expected is not None
    return expected.accepts(answer)


@pytest.mark.parametrize(
    ("template", "facts", "answer"),
    [
        ("desk_ticket_priority", {"ticket": 8, "priority": "High"}, "2. High"),
        ("desk_ticket_priority", {"ticket": 8, "priority": "Low"}, "Priority: 4. Low"),
        ("desk_count_of_owner", COUNTED, "High: 2"),
        ("desk_count_of_owner", COUNTED, "Dana Whitlock: 2"),
        ("calendar_who_booked", BOOKED, '"Lesson for Alice Moreno" ("Crane") was booked by Dana Whitlock.'),
        ("calendar_who_booked", BOOKED, "Alice Moreno's lesson is booked in the name of Dana Whitlock."),
        ("calendar_who_booked", BOOKED, "**Dana Whitlock** (not Jonas Ferreira)"),
        ("calendar_who_booked", BOOKED, "1. Dana Whitlock"),
        ("forum_who_wrote", WROTE, 'The post "Greta said that I cannot moor here, or can I?" was written by hugo.'),
        ("forum_who_wrote", WROTE, "The user name is hugo; he wrote it on 3 March at 10:15."),
        ("across_cheapest_named", NAMED, "The Shock cord, 6 mm, by 10 m, is cheaper than the Bilge pump, by hand."),
        ("across_cheapest_named", NAMED, "“Shock cord, 6 mm, by 10 m” for $7.95, the least of the three."),
        ("shop_order_status", STATUS, "The task is complete: the status of order 100126 is Complete."),
        ("shop_order_status", STATUS, "Your order is complete, it isn't Pending any more."),
        ("forum_poll_leader", LEADS, "Blue gull on white leads with 4 votes (57.1%)."),
        ("forum_poll_leader", LEADS, 'In "Poll: flag for the regatta", Blue gull on white leads, not No gull at all.'),
    ],
)  # fmt: skip
def test_a_right_name_may_stand_in_usual_words(template, facts, answer):
    assert accepts(template, facts, answer)


@pytest.mark.parametrize(
    ("template", "facts", "answer"),
    [
        ("calendar_who_booked", BOOKED, "Dana Whitlock, Jonas Ferreira"),
        ("calendar_who_booked", BOOKED, "Dana Whitlock; this is not possible: it is sold out."),
        ("calendar_who_booked", BOOKED, "3, 2, Dana Whitlock, dmitri@harbour.test"),
        ("calendar_who_booked", BOOKED, "Dana Whitlock or dana"),
        ("calendar_who_booked", BOOKED, "Alice Moreno"),
        ("calendar_who_booked", BOOKED, "It is not Dana Whitlock."),
        ("forum_who_wrote", WROTE, "hugo or greta"),
        ("forum_who_wrote", WROTE, "hugo, ines, dana"),
        ("across_cheapest_named", NAMED, "Shock cord, 6 mm, by 10 m, and Bilge pump, by hand"),
        ("across_cheapest_named", NAMED, "The Bilge pump, by hand is dearer than the Shock cord, 6 mm, by 10 m."),
        ("shop_order_status", STATUS, "The task is complete."),
        ("shop_order_status", STATUS, "Total 0, 1, 2, 3, 4 and 5. Success, done, complete."),
        ("forum_poll_leader", LEADS, "Blue gull on white, White gull on blue"),
    ],
)  # fmt: skip
def test_a_right_name_beside_other_answers_is_none(template, facts, answer):
    assert not accepts(template, facts, answer)


@pytest.mark.parametrize(
    ("template", "facts", "answer"),
    [
        ("calendar_who_booked", BOOKED, "Dana Whitlock, Complete"),
        ("calendar_who_booked", BOOKED, "complete; Dana Whitlock"),
        ("calendar_who_booked", BOOKED, "Dana Whitlock / The quay"),
        ("calendar_who_booked", BOOKED, "Critical\nDana Whitlock"),
        ("calendar_who_booked", BOOKED, "Dana Whitlock, hugo"),
        ("shop_order_status", STATUS, "Dana Whitlock, Complete"),
        ("shop_order_status", STATUS, "Complete, Very Low"),
        ("forum_who_wrote", WROTE, "hugo, Boats and gear"),
        ("forum_poll_leader", LEADS, "Blue gull on white; Complete"),
    ],
)
def test_a_right_name_in_a_list_of_several_kinds_is_none(template, facts, answer):
    assert not accepts(template, facts, answer)


@pytest.mark.parametrize(
    ("template", "facts", "answer"),
    [
        ("calendar_who_booked", BOOKED, "Booked by Dana Whitlock; complete details are on the page"),
        ("calendar_who_booked", BOOKED, "Dana Whitlock, dana"),
        ("calendar_who_booked", BOOKED | {"title": "Closed"}, "Closed, Dana Whitlock"),
        ("calendar_who_booked", BOOKED, "Lesson for Alice Moreno, Crane: Dana Whitlock"),
        ("forum_who_wrote", WROTE, "hugo / Hugo Brennan"),
        ("shop_order_status", STATUS, "Order 100126, Complete."),
    ],
)
def test_a_right_name_may_stand_beside_what_belongs_to_it(template, facts, answer):
    assert accepts(template, facts, answer)


@pytest.mark.parametrize("text", ["2, High", "High, 2", "Complete: 2", "High: 2, Complete"])
def test_a_count_in_a_list_is_a_guess_also_if_the_task_names_the_rest(text):
    assert not accepts("desk_count_of_owner", COUNTED, text)


@pytest.mark.parametrize("value", ["Dana Whitlock", "Critical", "The quay", "hugo"])
def test_a_refusal_beside_a_name_is_none(value):
    assert not accepts("shop_impossible_sold_out", SOLD_OUT, f"It is sold out. {value}")
    assert not accepts("shop_impossible_sold_out", SOLD_OUT, f"{value}; it is sold out.")
    assert not accepts("shop_impossible_sold_out", SOLD_OUT, f"I could not, sold out. Otherwise {value}")
    assert accepts("dashboard_cancel_final_order", COMPLETE, "I cannot do this, it is complete.")
    assert accepts("dashboard_cancel_final_order", COMPLETE, "Complete. It cannot be cancelled: it is complete.")


@pytest.mark.parametrize(
    "answer",
    [
        "3 votes (42.9% of 7)",
        "3 votes (42.9%)",
        "3 (43 %)",
        "3 of 7",
        "3 out of the 7 people have voted for it.",
        "“At six” has 3 votes, 50.0% of 6.",
        "3 votes, 42.8% of a total of 7",
        "Of 7 votes in total, 3 are for it.",
        "Three votes",
        "In the poll “Poll: hour of the language table” 3 people voted for “At six”.",
    ],
)
def test_a_count_of_votes_may_say_its_share_of_the_whole(answer):
    assert accepts("forum_poll_count", VOTES, answer)


@pytest.mark.parametrize(
    "answer",
    [
        "2 votes (42.9% of 7)",
        "3 votes (12% of 7)",
        "3% of 7",
        "42.9% of 7",
        "3 of 4",
        "3 of 7 or 2 of 7",
        "2 or 3",
        "3 of 7 and 3 of 6",
        "3 votes and 2 votes (28.6%)",
        "3 votes (99.9%)",
    ],
)
def test_a_share_that_does_not_fit_the_count_is_refused(answer):
    assert not accepts("forum_poll_count", VOTES, answer)


@pytest.mark.parametrize(
    ("template", "facts", "answer"),
    [
        ("mail_write_to_stranger", STRANGER, "There is no customer of this name."),
        ("mail_write_to_stranger", STRANGER, 'There is no person named "Wilma Harker" in the address book.'),
        ("mail_write_to_stranger", STRANGER, "Wilma Harker is not in the address book, so I did not send anything."),
        ("desk_close_unknown_ticket", TICKET, "No ticket with this number exists."),
        ("desk_close_unknown_ticket", TICKET, "There is no ticket #57 at the desk. Nothing was done."),
        ("desk_close_unknown_ticket", TICKET, "Ticket number 57 wasn't found."),
        ("shop_impossible_sold_out", SOLD_OUT, "Hull polish, 500 ml is out of stock."),
        ("shop_impossible_sold_out", SOLD_OUT, "I did not order it: it is sold out at the moment."),
        ("calendar_crane_taken", TAKEN, "The crane is already booked at that time."),
        ("calendar_crane_taken", TAKEN, "I cannot book it. The crane is taken by “Launch Kittiwake, 4.8 t”."),
        ("dashboard_cancel_final_order", COMPLETE, "I cannot: cancelling is not available, since it is Complete."),
        ("shop_impossible_coupon", COUPON, "The coupon GULL7 is not valid."),
        ("shop_impossible_order", NUMBER, "The order belongs to another customer or does not exist."),
        ("shop_impossible_order", NUMBER, "There is no order 100159 in your account."),
        ("desk_close_unknown_ticket", TICKET, "A ticket with the number 57 does not exist."),
        ("desk_close_unknown_ticket", TICKET, "Ticket 57 cannot be found."),
        ("shop_impossible_coupon", COUPON, "No coupon with the code GULL7 was found."),
        ("dashboard_cancel_final_order", COMPLETE, "I was not able to cancel it: the order is complete."),
        ("across_cancel_complete_order", {}, "I wasn't able to cancel the order: it is complete."),
        ("forum_edit_foreign_post", FOREIGN, "I am not allowed to edit the first post because it belongs to chiara."),
        ("forum_edit_foreign_post", FOREIGN, "It was written by chiara, and I do not have permission to edit it."),
        ("calendar_crane_closed", SATURDAY, "I was not able to book it: the crane does not work on weekends."),
    ],
)  # fmt: skip
def test_a_clear_reason_refuses_without_the_word_cannot(template, facts, answer):
    assert accepts(template, facts, answer)


@pytest.mark.parametrize(
    ("template", "facts", "answer"),
    [
        ("mail_write_to_stranger", STRANGER, "I wrote to Wilma Harker."),
        ("mail_write_to_stranger", STRANGER, "There is no customer of this name, so I sent it to Ines."),
        ("desk_close_unknown_ticket", TICKET, "There is no ticket 57, so I closed ticket 56."),
        ("desk_close_unknown_ticket", TICKET, "There is no ticket 56."),
        ("shop_impossible_sold_out", SOLD_OUT, "It is sold out. I have ordered a brush instead."),
        ("shop_impossible_sold_out", SOLD_OUT, "This is not possible: it is sold out, already booked and locked."),
        ("calendar_crane_taken", TAKEN, "This is not possible: it is taken, and only the staff may book."),
        ("calendar_crane_taken", TAKEN, "I booked it beside “Launch Kittiwake, 4.8 t”."),
        ("dashboard_cancel_final_order", COMPLETE, "The order is complete."),
        ("dashboard_cancel_final_order", COMPLETE, "I was not able to finish it, so I cancelled another order."),
        ("dashboard_cancel_final_order", COMPLETE, "I cannot do this: it is complete, not available."),
        ("dashboard_cancel_final_order", COMPLETE, "Not possible: it is complete. Not possible: not found."),
        ("dashboard_cancel_final_order", COMPLETE, "2 or this is not possible: it is complete."),
        ("across_cancel_complete_order", {}, "This is not possible. The task is complete."),
        ("shop_impossible_coupon", COUPON, "I cannot: it is invalid, sold out, or not in the catalogue."),
    ],
)  # fmt: skip
def test_several_reasons_or_a_deed_are_no_refusal(template, facts, answer):
    assert not accepts(template, facts, answer)


FEES = {"count": 3, "each": "4.00", "sum": "12.00", "near": ["8.00", "16.00"]}


@pytest.mark.parametrize(
    ("answer", "is_right"),
    [
        ("$12.00", True),
        ("3 x $4.00 = $12.00", True),
        ("The fee is $4.00 per person, so 3 people pay $12.00 together.", True),
        ("$4.00", False),
        ("3 x $4.00", False),
        ("$12.00 or $16.00", False),
    ],
)
@pytest.mark.parametrize("template", ["cms_fees_of_event", "cms_price_of_several"])
def test_a_sum_may_be_shown_with_its_calculation(template, answer, is_right):
    assert accepts(template, FEES, answer) is is_right


def test_the_closed_vocabularies_are_those_of_the_data(server):
    key = server.reset(1)
    sql = """SELECT first_name || ' ' || last_name AS name FROM auth_user UNION SELECT username FROM auth_user
        UNION SELECT email FROM auth_user UNION SELECT name FROM forum_forum WHERE type = 0
        UNION SELECT status FROM order_order"""
    names = {row["name"] for row in server.query(key, sql)}
    server.control("drop", key=key)
    assert names <= {*VOCABULARY}
    assert {*VOCABULARY} - names == {*TICKET_STATUSES, *PRIORITIES}
