"""Answers that tasks ask for: what is the value, and what competes with it."""

from __future__ import annotations

import time

import pytest

from components.worlds.answers import Names, Number, Phrase, Refusal


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
        ("6", "6m", True),
        ("6", "6 and one more detail", True),
        ("6", "six or 6", True),
        ("6", "\u0666", True),
        ("6.5", "\u0666\u066b\u0665", True),
        ("5.99", "The average is 5.99 (to two decimals).", True),
        ("4", "It has 4, perhaps one of the best shops.", True),
        ("5", "Ada lent 5 to one person", True),
    ],
)
def test_a_number_may_have_a_unit_and_be_rounded(value: str, answer: str, is_right: bool) -> None:
    assert Number(value).accepts(answer) is is_right


@pytest.mark.parametrize(
    ("value", "answer", "is_right"),
    [
        ("3", "There are three open tickets.", True),
        ("3", "Three.", True),
        ("1", "There is one open ticket.", True),
        ("0", "Zero tickets are open.", True),
        ("3", "There are two or three open tickets.", False),
        ("3", "two, three, four", False),
        ("2", "one or two", False),
        ("2", "about one or two", False),
        ("3", "There are three hundred.", False),
        ("3", "It is a three-day trip.", False),
        ("1", "I did not find the one that you mean.", False),
        ("1", "one of them", False),
        ("3", "minus three", False),
        ("3", "negative three", False),
        ("-3", "negative 3", True),
        ("-3", "It is minus three.", True),
        ("3", "minus 3", False),
        ("3", "It is minus $3.", False),
        ("-3", "minus 3", True),
        ("3", "\u22123", False),
        ("-3", "\u2212$3", True),
        ("3", "-$3", False),
        ("2", "The three tickets: 2 are open", True),
    ],
)
def test_a_lone_number_word_is_a_number_and_minus_is_a_sign(value: str, answer: str, is_right: bool) -> None:
    assert Number(value).accepts(answer) is is_right


@pytest.mark.parametrize("answer", ["This isn't possible: it is out of stock.", "It wasn’t possible, out of stock"])
def test_a_refusal_may_be_contracted(answer: str) -> None:
    assert Refusal(["out of stock"], {}).accepts(answer)


@pytest.mark.parametrize(
    "answer",
    ["6k", "6 k", "6bn", "6 million", "6 thousand", "6M", "6 M", "6\N{VULGAR FRACTION ONE HALF}", "6 dozen",
     "6 hundred", "6 lakh", "6 Mio", "6x10^3 or 6", "6 or seven", "seven or 6", "6, maybe seven", "five to 6",
     "6 or yes", "No or 6",
     "6 million, or 6"],
)  # fmt: skip
def test_a_number_that_goes_on_is_another_number(answer: str) -> None:
    assert not Number(6).accepts(answer)


def test_a_number_that_the_task_names_may_go_on() -> None:
    assert Number(6, given=[5]).accepts("6 of 5 thousand")


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


def test_a_list_of_refusals_refuses_nothing() -> None:
    refusal = Refusal(["is closed"], {})
    assert refusal.accepts("This is not possible: it is closed.")
    assert not refusal.accepts(
        " ".join(f"This is not possible: it is {why}." for why in ("full", "sold", "red", "closed"))
    )


def test_names_that_differ_by_a_sign_are_different() -> None:
    languages = Names(["C"], ["C", "C++", "C#"])
    assert languages.accepts("C")
    assert not languages.accepts("C, C++")


@pytest.mark.parametrize(
    ("answer", "is_right"),
    [
        ("The topic has no replies.", True),
        ("None", True),
        ("0", True),
        ("zero", True),
        ("no topic", False),
        ("1", False),
    ],
)
def test_words_may_stand_for_nothing(answer: str, is_right: bool) -> None:
    assert Number(0, nothing=("none", "no replies")).accepts(answer) is is_right
    assert not Number(2, nothing=("none", "no replies")).accepts(answer)


def test_a_sign_of_multiplication_may_be_an_x() -> None:
    assert Names(["Binoculars, 7 × 50"], ["Binoculars, 7 × 50", "Rope"]).accepts("The Binoculars, 7 x 50.")


SOLD_OUT = Refusal(["sold out"], {}, clear=["sold out"])
HEDGED = [
    "N/A, it is sold out. {value}",
    "N/A. {value}",
    "n/a - {value}",
    "N / A: {value}",
    "{value}. N/A",
    "The answer is N/A. {value}",
    "I could not, sold out. Otherwise {value}",
    "It cannot be bought, it is sold out. {value}",
    "It cannot be bought: the mug is sold out; {value}",
    "It can’t be bought because it is sold out. {value}",
    "I was unable to, it is sold out. {value}",
    "Unable to buy it; sold out. {value}",
    "Sold out, so it cannot be bought. {value}",
    "Impossible, there is nothing left. {value}",
    "I could not, is complete. Otherwise {value}",
    "It wasn’t possible: it is sold out. {value}",
]


@pytest.mark.parametrize("text", HEDGED)
def test_a_refusal_with_a_reason_and_a_value_is_no_value(text: str) -> None:
    number, name = text.format(value=6), text.format(value="Dana Whitlock")
    assert not Number(6).accepts(number)
    assert not Phrase(["6"]).accepts(number)
    assert not Names(["Dana Whitlock"], ["Dana Whitlock", "Jonas Ferreira"]).accepts(name)


@pytest.mark.parametrize(
    "text",
    ["It is sold out. 6", "It is sold out; otherwise 6", "Sold out, 6", "It cannot be bought, it is sold out. Six",
     "There is no stock, it is sold out, or 6", "6. It is sold out.", "It is sold out\n$6.50",
     "It is sold out. The answer is 6."],
)  # fmt: skip
def test_a_refusal_that_also_offers_a_number_is_none(text: str) -> None:
    assert not SOLD_OUT.accepts(text)


@pytest.mark.parametrize(
    "text",
    ["N/A, it is sold out.", "I could not, sold out.", "It cannot be bought, it is sold out.",
     "Unable to buy it; sold out.", "It is sold out: Hull polish, 500 ml.", "Sold out until 19 March, 2026.",
     "Article no. 57 is sold out.", "I could not buy it at 9.30. It is sold out.", "1. It is sold out.",
     "It is sold out. 0 are left."],
)  # fmt: skip
def test_a_refusal_that_offers_nothing_else_stays_one(text: str) -> None:
    assert SOLD_OUT.accepts(text)


@pytest.mark.parametrize(
    "text",
    ["I could not find a second one; {value}", "I could not find another one: it is {value}.",
     "I cannot see who changed it, but it is {value}.", "{value} (I cannot find any other)",
     "I was unable to open the second page. The first one shows {value}."],
)  # fmt: skip
def test_a_value_may_stand_beside_what_was_not_seen(text: str) -> None:
    assert Number(6).accepts(text.format(value=6))
    assert Phrase(["6"]).accepts(text.format(value=6))
    assert Names(["Dana Whitlock"], ["Dana Whitlock", "Jonas Ferreira"]).accepts(text.format(value="Dana Whitlock"))


@pytest.mark.parametrize(
    "text",
    ["It is sold out. 6", "6; not available", "It's locked, otherwise 6", "the mug is out of stock\nsix",
     "6, Complete", "Critical. 6", "one says yes, another no"],
)  # fmt: skip
def test_a_small_number_beside_answers_to_other_tasks_is_a_guess(text: str) -> None:
    assert not Number(1 if "one" in text else 6, others=["Complete", "Critical"]).accepts(text)


@pytest.mark.parametrize(
    "text",
    ["It is sold out. It was $6.", "$6.00, out of stock", "The order is complete and has 6 lines.", "Yes: 6", "No, 6",
     "6 (Complete)", "1. 6", "There are 6, by the way."],
)  # fmt: skip
def test_a_number_may_stand_in_a_sentence_beside_other_things(text: str) -> None:
    assert Number(6, given=[1], others=["Complete", "Critical"]).accepts(text)


OTHERS = ["Complete", "Critical", "The quay", "hugo", "hugo@harbour.test", "ines@harbour.test"]
DANA = Names(["Dana Whitlock"], ["Dana Whitlock", "Jonas Ferreira"], ["Lesson for Ines Silva", "Room 12"], OTHERS)


@pytest.mark.parametrize(
    "text",
    ["It is sold out. {}", "{}; not available", "3, {}", "{}. Otherwise 3", "{} and Complete", "Critical or {}",
     "It was seen by {} and by hugo@harbour.test", "Rope {} complete bucket", "{} Complete", "The quay {}",
     "{}, ines@harbour.test", "Something complete, critical at the quay by {}"],
)  # fmt: skip
def test_a_name_beside_answers_to_other_tasks_is_a_guess(text: str) -> None:
    assert not DANA.accepts(text.format("Dana Whitlock"))


@pytest.mark.parametrize(
    "text",
    ["{} booked it for Ines Silva.", "Room 12, {}", "1. {}", "{}, who told hugo", "{} at 10:15, and it is complete now",
     "By {}.", "It was booked by {} and is not available to others."],
)  # fmt: skip
def test_a_name_may_stand_in_a_sentence_beside_other_things(text: str) -> None:
    assert DANA.accepts(text.format("Dana Whitlock"))


def test_a_text_in_a_list_of_numbers_is_a_guess() -> None:
    day = Phrase(["14 April", "April 14"])
    assert not day.accepts("3, 2, 14 April, 7")
    assert day.accepts("On Tuesday, 14 April, 2026, at 10:15.")
    assert day.accepts("April 14, 2026")


@pytest.mark.parametrize("text", ["I could not find any, there are none.", "I cannot see any: it has no replies."])
def test_nothing_may_stand_beside_what_was_not_seen(text: str) -> None:
    assert Number(0, nothing=("none", "no replies")).accepts(text)


def test_a_text_that_the_task_names_or_wants_is_no_refusal() -> None:
    said = "You cannot miss it, it is blue."
    assert Names(["hugo"], ["hugo", "ines"], [said]).accepts(f"{said} That was hugo.")
    assert Phrase(["Unable to start: it is locked"]).accepts("Unable to start: it is locked")
    assert Phrase(["N/A"]).accepts("N/A")


@pytest.mark.parametrize("text", ["not 6", "It is not 6.", "It isn't six", "more than 6", "not $6", "not exactly 6"])
def test_a_number_that_is_denied_is_none(text: str) -> None:
    assert not Number(6).accepts(text)


def test_a_number_may_be_denied_of_something_else() -> None:
    assert Number(6).accepts("The count is 6.")
    assert Number(6, given=[7]).accepts("6 cost less than 7.")


@pytest.mark.parametrize(
    ("answer", "is_right"),
    [
        ("The total was $45.90 for 3 items.", True),
        ("45.90 \N{EURO SIGN} for 2 different articles", True),
        ("$45.90 or 50", False),
        ("$45.90 or 50 items", False),
        ("$45.90 for 3 items, $12.50 for 2 items", False),
        ("45.90 for 3 items", False),
        ("3 items for $50", False),
        ("$45.90, 50", False),
        ("$45.90 for 3.5 items", False),
        ("1 items 2 items $45.90", False),
    ],
)
def test_a_currency_mark_tells_an_amount_from_a_quantity(answer: str, is_right: bool) -> None:
    assert Number("45.90").accepts(answer) is is_right
    assert not Number(3).accepts(answer)


@pytest.mark.parametrize(
    "text", ["It is not sold out.", "The mug isn't sold out.", "It is no longer sold out.", "It's not yet sold out"]
)
def test_a_refusal_that_denies_its_reason_is_none(text: str) -> None:
    refusal = Refusal(["sold out"], {}, clear=["sold out"], denied=["sold out"])
    assert not refusal.accepts(text)
    assert refusal.accepts("I could not, sold out.")


@pytest.mark.parametrize(
    "text",
    [
        "Dana Whitlock (as of 3/16/2026)",
        "Dana Whitlock booked it on 3/16.",
        "Dana Whitlock paid $1,250.",
        "The Bucket isn't; Dana Whitlock is.",
        "It is not. Dana Whitlock it was.",
    ],
)
def test_numbers_and_sentences_end_where_they_end(text: str) -> None:
    booked = Names(["Dana Whitlock"], ["Dana Whitlock", "Piet Vermeer", "Bucket"], ["Bucket"])
    assert booked.accepts(text)


@pytest.mark.parametrize(
    "text", ["Dana Whitlock, 3", "3, Dana Whitlock", "Dana Whitlock,3", "It is not Dana Whitlock."]
)
def test_a_number_in_a_list_and_a_denied_name_stay_wrong(text: str) -> None:
    assert not Names(["Dana Whitlock"], ["Dana Whitlock", "Piet Vermeer"]).accepts(text)


def test_a_claim_that_the_task_is_done_ends_with_its_sentence() -> None:
    status = Names(["Complete"], ["Complete", "Pending"])
    assert status.accepts("I have finished the task. Complete.")
    assert status.accepts("Result of your request: Complete")
    assert not Names(["Pending"], ["Complete", "Pending"]).accepts("The order is complete.")


def test_names_may_stand_in_numbered_rows() -> None:
    goods = Names(["Whistling kettle", "Rope, long"], ["Whistling kettle", "Rope, long", "Anchor"])
    assert goods.accepts("1. Whistling kettle\n2. Rope, long")
    assert not goods.accepts("1. Whistling kettle\n2. Rope, long\n3. Anchor")
    assert not goods.accepts("4. Whistling kettle\n2. Rope, long")


def test_a_share_may_have_a_comma_as_pages_in_german_write_it() -> None:
    votes = Number(3, near=[4], is_part=True)
    assert votes.accepts("3 votes (42,9% of 7)")
    assert not votes.accepts("3 votes (52,9% of 7)")
    leader = Names(["Blue gull on white"], ["Blue gull on white", "Red ship"])
    assert leader.accepts("Blue gull on white leads (57,1 %).")


@pytest.mark.parametrize(
    ("right", "answer"),
    [
        (Phrase(["$1,250.00"]), "It costs $1,250.00."),
        (Phrase(["42,9%"]), "42,9%"),
        (Names(["Room 1,200"], ["Room 1,200", "Room 3"]), "Room 1,200"),
        (Names(["Room 3"], ["Room 1,200", "Room 3"], ["Room 1,200"]), "Not Room 1,200: Room 3"),
    ],
)
def test_names_and_texts_may_have_commas_in_numbers(right: Names | Phrase, answer: str) -> None:
    assert right.accepts(answer)
    assert right.accepts(right.example)


def test_a_part_of_more_than_a_thousand_may_have_its_share() -> None:
    assert Number(600, near=[500], is_part=True).accepts("600 (50% of 1200)")
    assert Number(600, near=[500], is_part=True).accepts("600, which is 42.9%")
    assert not Number(600, is_part=True).accepts("600 (50% of 0)")


@pytest.mark.parametrize("right", [Names(["a"], ["a", "b"]), Phrase(["a"]), Refusal(["a"], {}), Number(1)])
def test_a_very_long_answer_is_refused_at_once(right: Names | Phrase | Refusal | Number) -> None:
    begun = time.perf_counter()
    assert not right.accepts("impossible" + "\n" * 8000)
    assert time.perf_counter() - begun < 1


def test_wrong_texts_may_have_commas_in_numbers() -> None:
    assert not Phrase(["1250"], wrong=["1,300"]).accepts("1250 or 1,300")
    assert not Names(["A"], ["A", "Room 1,200"]).accepts("A and Room 1,200")


@pytest.mark.parametrize(
    ("word", "text"),
    [("found", "Order 7 was not found."), ("in stock", "It is not in stock."), ("exists", "It no longer exists.")],
)
def test_a_word_that_names_no_obstacle_by_itself_may_be_denied(word: str, text: str) -> None:
    """As authors of sites write it."""
    assert Refusal([word], {}, clear=[word]).accepts(text)


@pytest.mark.parametrize("text", ["Dana. Or maybe Alice", "Dana; or perhaps somebody else", "Piet or. Dana"])
def test_a_choice_over_the_end_of_a_sentence_is_one(text: str) -> None:
    assert not Names(["Dana"], ["Dana", "Alice", "Piet"]).accepts(text)


@pytest.mark.parametrize("text", ["The task is **complete**. It is Pending.", "The task is\ncomplete. Pending"])
def test_a_claim_may_be_decorated(text: str) -> None:
    assert Names(["Pending"], ["Complete", "Pending"]).accepts(text)
