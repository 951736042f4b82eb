"""Answers that tasks ask for: what is the value, and what competes with it."""

from __future__ import annotations

import pytest

from components.worlds.answers import Names, Number, Phrase


@pytest.mark.parametrize(
    ("value", "answer", "is_right"),
    [
        ("12", "12kg", True),
        ("12", "It weighs 12 kg.", True),
        ("12", "12 or 13kg", False),
        ("12", "12kg, 13kg", False),
        ("12", "The 2nd box weighs 12kg.", True),
        ("12", "12abcd", False),
        ("12", "120kg", False),
        ("7.096666667", "7.10", True),
        ("7.096666667", "7.0967", True),
        ("7.096666667", "7.1", False),
        ("7.096666667", "7.09", False),
        ("7", "7.00", True),
        ("3.3", "3.3", True),
        ("3.3", "3.30 and 3.31", False),
        ("3.3", "3.3" + "0" * 50, True),
        ("3" * 25, "3" * 25 + ".01", False),
    ],
)
def test_a_number_may_have_a_unit_and_be_rounded(value: str, answer: str, is_right: bool) -> None:
    assert Number(value).accepts(answer) is is_right


@pytest.mark.parametrize(
    ("forms", "answer", "is_right"),
    [
        (["C++"], "C", False),
        (["C++"], "It is C++.", True),
        (["C"], "C++", False),
        (["C"], "It is C.", True),
        (["A+"], "A", False),
        (["C#"], "(C#)", True),
        (["a-b"], "a - b", False),
    ],
)
def test_signs_after_a_word_belong_to_it(forms: list[str], answer: str, is_right: bool) -> None:
    assert Phrase(forms).accepts(answer) is is_right


def test_names_that_differ_by_a_sign_are_different() -> None:
    languages = Names(["C"], ["C", "C++", "C#"])
    assert languages.accepts("C")
    assert not languages.accepts("C, C++")
