"""Refusals of impossible tasks: one reason is told from the others."""

from __future__ import annotations

import pytest

from components.worlds.city.tasks.refusals import REASONS, refusal
from components.worlds.city.tasks.registry import find


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
