"""Refusals of impossible tasks: one reason is told from the others."""

from __future__ import annotations

import pytest

from components.worlds.city.tasks.refusals import REASONS, refusal


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
