"""Refusals of impossible tasks: one reason is told from the others."""

from __future__ import annotations

import pytest

from components.worlds.city.tasks.refusals import REASONS, refusal
from components.worlds.city.tasks.registry import find

COUPON = {"code": "GULL7", "title": "Crab pot"}
SEXTANT = {"title": "Brass sextant", "user": "ada", "count": 1}
ALICE = {"ticket": 7, "title": "Torn sail", "person": "Alice Moreno"}
LOCKED = {"subject": "Fog in the Sound"}
TAKEN = {"by": "Launch Kittiwake, 4.8 t"}
GRETA = {"subject": "Moorings", "author": "greta", "reader": "piet", "text": "Sold."}


@pytest.mark.parametrize("reason", REASONS)
def test_each_wording_names_its_reason_and_no_other(reason):
    assert 3 <= len(REASONS[reason]) <= 6
    for words in REASONS[reason]:
        answer = f"This is not possible: {words}."
        assert [name for name in REASONS if refusal(name).accepts(answer)] == [reason]


def test_an_instance_may_have_words_of_its_own():
    answer = "I cannot tell the total: order 100123 does not exist."
    assert not refusal("no_such_order").accepts(answer)
    assert refusal("no_such_order", "order 100123 does not exist").accepts(answer)
    assert not refusal("no_such_order", "order 100123 does not exist").accepts(f"{answer} It is sold out, too.")


def test_a_reason_without_a_refusal_is_no_answer():
    assert not refusal("out_of_stock").accepts("The kettle is sold out, so I ordered a mug.")


def test_a_foreign_post_is_refused_with_the_reason_that_it_is_foreign():
    kind = find("forum_edit_foreign_post")
    expected = kind.answer({"subject": "Moorings", "author": "greta", "reader": "piet", "text": "Sold."})
    assert expected is not None
    assert not expected.accepts("This is not possible: it is not allowed."), "that says nothing about whose post it is"
    assert not expected.accepts("I cannot edit it: permission is forbidden.")
    assert expected.accepts("I cannot edit it, it is not allowed: the post was written by greta.")
    assert expected.accepts("This is not possible: only the author may change it.")
    assert not expected.accepts("This is not possible: only the author may change it, and the topic is locked.")
    assert expected.accepts(expected.example)


@pytest.mark.parametrize(
    ("template", "facts", "answers"),
    [
        (
            "desk_close_unknown_ticket",
            {"ticket": 57, "text": "Done."},
            [
                "I cannot close ticket 57 because it does not exist.",
                "Not possible: ticket 57 was not found.",
                "I cannot find ticket 57.",
                "Unable to close it: ticket #57 could not be found.",
            ],
        ),
        (
            "shop_impossible_order",
            {"user": "ada", "number": "100123"},
            [
                "I cannot find order 100123 in your account.",
                "Unable to find order 100123",
                "I can't do that: order 100123 does not belong to your account.",
            ],
        ),
        (
            "shop_impossible_unsold",
            {"title": "Brass sextant", "user": "ada", "count": 1},
            ["I cannot find the Brass sextant in the shop."],
        ),
        (
            "across_cancel_complete_order",
            {"number": "100123"},
            [
                'I cannot cancel order 100123 because its status is "Complete".',
                "It cannot be cancelled: the order's status is already 'Complete', which allows no change.",
            ],
        ),
        (
            "mail_write_to_stranger",
            {"stranger": "Wilma Harker", "user": "ada"},
            [
                "I could not send the letter because there is no Wilma Harker in the address book.",
                "I cannot write to Wilma Harker because she does not have an account.",
                "I cannot: Wilma Harker isn't in the address book.",
                'Not possible: "The mail knows no user name or address Wilma Harker."',
            ],
        ),
    ],
)
def test_the_reason_may_be_said_in_usual_words(template, facts, answers):
    expected = find(template).answer(facts)
    assert expected is not None
    assert [answer for answer in answers if not expected.accepts(answer)] == []
    assert not expected.accepts("I cannot do this.")
    assert not expected.accepts("This is not possible: it is out of stock.")


@pytest.mark.parametrize(
    ("name", "facts", "answer"),
    [
        ("dashboard_unknown_order", {"number": "100050"}, "I cannot find order 100050 in the dashboard."),
        ("dashboard_unknown_order", {"number": "100050"}, "Unable to find order 100050."),
        ("dashboard_unknown_order", {"number": "100050"}, "Order 100050 could not be found."),
        (
            "dashboard_unknown_order",
            {"number": "100050"},
            "I could not cancel it: there is no order with number 100050.",
        ),
        ("dashboard_unknown_order", {"number": "100050"}, "Not possible, because order number 100050 does not exist."),
        ("dashboard_cancel_final_order", {"old": "Complete"}, 'I cannot, because its status is "Complete".'),
        ("dashboard_cancel_final_order", {"old": "Complete"}, "It cannot be done: order 100101 is Complete."),
        ("dashboard_cancel_final_order", {"old": "Complete"}, "Not possible: already complete, no change is allowed."),
        ("forum_reply_to_locked", LOCKED, 'The topic "Fog in the Sound" is locked.'),
        ("forum_reply_to_locked", LOCKED, '"Fog in the Sound" is locked.'),
        ("calendar_crane_taken", TAKEN, "The crane is taken then: Launch Kittiwake, 4.8 t."),
        ("shop_impossible_unsold", SEXTANT, "Found 0 results."),
        ("shop_impossible_unsold", SEXTANT, 'There is no product called "Brass sextant".'),
        ("across_cancel_complete_order", {"number": "100101"}, "This order can't have its status changed."),
        ("forum_reply_to_locked", LOCKED, "I cannot reply: the topic is locked, so new replies are not allowed."),
        ("forum_reply_to_locked", LOCKED, "The topic is locked, so that you don't have permission to reply."),
        ("calendar_customer_books", {}, "Customers aren't allowed to book the crane."),
        ("forum_reply_to_locked", LOCKED, "The topic has been locked by a moderator."),
        (
            "dashboard_cancel_final_order",
            {"old": "Complete"},
            "The order has already been completed and cannot be cancelled.",
        ),
        ("dashboard_cancel_final_order", {"old": "Cancelled"}, "The order was cancelled, so I could not change it."),
        ("dashboard_unknown_order", {"number": "100050"}, "No orders found with the number 100050."),
        ("shop_impossible_coupon", COUPON, "No voucher found with code 'GULL7'"),
        ("shop_impossible_coupon", COUPON, "The shop has no matching voucher."),
        ("shop_impossible_unsold", SEXTANT, "There is no Brass sextant in the shop."),
        ("shop_impossible_order", {"number": "100123"}, "Order 100123 isn't yours, so I could not look it up."),
        ("calendar_crane_taken", {"by": "Launch Kittiwake, 4.8 t"}, "The crane is already reserved at that time."),
        ("calendar_crane_closed", {"start": "2026-03-21 09:00:00"}, "The crane is closed on Saturday."),
        ("calendar_crane_closed", {"start": "2026-03-21 09:00:00"}, "The crane only works from Monday to Friday."),
        ("calendar_customer_books", {}, "I could not book it because you don't have permission."),
        ("calendar_customer_books", {}, "This account isn't authorised to book: I could not do it."),
        (
            "desk_assign_to_customer",
            ALICE,
            "Alice Moreno is not a staff user, so the ticket cannot be assigned to her.",
        ),
        ("desk_assign_to_customer", ALICE, "Only staff members can own tickets, and Alice Moreno isn't one."),
        ("forum_edit_foreign_post", GRETA, "You can only edit your own posts, and this was written by greta."),
        ("forum_edit_foreign_post", GRETA, "It is not your post, so I did not edit it."),
    ],
)
def test_each_natural_wording_of_the_right_reason_is_accepted(name, facts, answer):
    expected = find(name).answer(facts)
    assert expected is not None
    assert expected.accepts(answer)
    assert not expected.accepts("This is not possible: it is out of stock.")


@pytest.mark.parametrize(
    ("name", "facts", "answer"),
    [
        ("calendar_crane_closed", {"start": "2026-03-21 09:00:00"}, "The crane is closed."),
        ("calendar_crane_closed", {"start": "2026-03-21 09:00:00"}, "The crane is closed on Sunday."),
        ("calendar_crane_taken", {"by": "Launch Kittiwake, 4.8 t"}, "I reserved the crane at that time."),
        ("calendar_crane_taken", {"by": "Launch Kittiwake, 4.8 t"}, "I cannot: you don't have permission."),
        ("calendar_customer_books", {}, "You have permission, so I booked it."),
        ("dashboard_cancel_final_order", {"old": "Complete"}, "The order was completed."),
        ("desk_assign_to_customer", ALICE, "Alice Moreno is the owner now."),
        ("forum_edit_foreign_post", GRETA, "I edited the post that was written by greta."),
        ("shop_impossible_unsold", SEXTANT, "There is no Brass lamp in the shop."),
        ("shop_impossible_coupon", COUPON, "There is no cart."),
    ],
)
def test_near_misses_of_a_reason_stay_wrong(name, facts, answer):
    expected = find(name).answer(facts)
    assert expected is not None
    assert not expected.accepts(answer)
