"""Changes and answers of an episode, compared with what its task asks for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.records import RowChange
from components.worlds import TaskCheck
from components.worlds.answers import Names, Number, Phrase, Refusal
from components.worlds.effects import (
    Added,
    Changed,
    Incidental,
    KeyOf,
    Removed,
    check_changes,
    contains,
    is_equal,
    words,
)


def added(table: str, key: str = "1", **values: str | None) -> RowChange:
    return RowChange(table=table, key=key, before=None, after=values)


def changed(table: str, before: dict, after: dict) -> RowChange:
    return RowChange(table=table, key="1", before=before, after=before | after)


LINE = added("basket_line", product_id="5", quantity="1")
TICKET = changed("ticket", {"id": "3", "status": "1", "title": "Torn", "modified": "9:00"}, {"status": "4"})


def test_the_expected_effect_alone_is_the_task():
    check = check_changes([Added("basket_line", {"product_id": 5})], [], [LINE], None, "done")
    assert (check.reward, check.credit, check.missing, check.side_effects) == (1, 1, [], [])


def test_a_side_effect_fails_the_task_and_is_named():
    check = check_changes([Added("basket_line", {"product_id": 5})], [], [LINE, TICKET], None, "")
    assert (check.reward, check.credit) == (0, 1)
    assert check.side_effects == ["also changed row 1 of ticket (status from 1 to 4)"]


def test_one_row_cannot_be_two_effects():
    effects = [Added("basket_line", {"product_id": 5}), Added("basket_line")]
    check = check_changes(effects, [], [LINE], None, "")
    assert (check.reward, check.credit, check.missing) == (0, 0.5, ["1 row added to basket_line"])


def test_a_change_of_another_column_is_a_side_effect():
    effect = Changed("ticket", {"id": 3}, {"status": 4})
    assert check_changes([effect], [], [TICKET], None, "").reward == 1
    both = changed("ticket", dict(TICKET.before), {"status": "4", "title": "Whole"})
    assert check_changes([effect], [], [both], None, "").reward == 0
    assert check_changes([Changed("ticket", {"id": 3}, {"status": 4}, also=("ti*",))], [], [both], None, "").reward == 1


def test_incidental_rows_count_for_nothing():
    log = added("log_entry", user="dana")
    effects, incidental = [Changed("ticket", {}, {"status": 4})], [Incidental("log_*", {"user": "dana"})]
    assert check_changes(effects, incidental, [TICKET, log], None, "").reward == 1
    assert check_changes(effects, incidental, [log], None, "").credit == 0
    assert check_changes(effects, incidental, [TICKET, added("log_entry", user="eve")], None, "").reward == 0


def test_a_removed_row_is_no_added_one():
    removed = RowChange(table="basket_line", key="1", before={"product_id": "5"}, after=None)
    assert check_changes([Removed("basket_line", {"product_id": 5})], [], [removed], None, "").reward == 1
    assert check_changes([Added("basket_line", {"product_id": 5})], [], [removed], None, "").reward == 0


TOPIC = Added("topic", {"subject": "Anchors"})
POLL = Added("poll", {"topic_id": KeyOf(TOPIC)})
OPTION = Added("option", {"poll_id": KeyOf(POLL), "text": "Iron"})


def poll(topic: str = "7", of_option: str = "3") -> list[RowChange]:
    """The rows of a topic with the key 7 that has a poll with the key 3, as far as they belong to it."""
    return [
        added("topic", "7", subject="Anchors"),
        added("poll", "3", topic_id=topic),
        added("option", "5", poll_id=of_option, text="Iron"),
    ]


def test_a_row_of_another_parent_is_not_the_effect():
    effects = [OPTION, POLL, TOPIC]
    assert check_changes(effects, [], poll(), None, "").reward == 1
    elsewhere = check_changes(effects, [], poll(topic="8"), None, "")
    assert (elsewhere.reward, elsewhere.credit) == (0, pytest.approx(1 / 3)), "an option of a poll that does not count"
    assert elsewhere.missing == [
        "1 row added to option (poll_id of the row of poll, text Iron)",
        "1 row added to poll (topic_id of the row of topic)",
    ]
    assert check_changes(effects, [], poll(of_option="4"), None, "").side_effects == [
        "also added 1 row to option (poll_id 4, text Iron)"
    ]


def test_a_key_may_be_another_column_of_the_parents_row():
    ticket = Changed("ticket", {"uuid": "a1"}, {"status": "Closed"})
    note = Added("note", {"ticket": KeyOf(ticket, "uuid")})
    closed = changed("ticket", {"uuid": "a1", "status": "Open"}, {"status": "Closed"})
    for parent, reward in (("a1", 1), (closed.key, 0), ("b2", 0)):
        assert check_changes([ticket, note], [], [closed, added("note", ticket=parent)], None, "").reward == reward


def test_an_accompanying_row_of_another_parent_is_a_side_effect():
    note = Incidental("log", {"topic_id": KeyOf(TOPIC)})
    topic = added("topic", "7", subject="Anchors")
    for parent, reward in (("7", 1), ("8", 0)):
        assert check_changes([TOPIC], [note], [topic, added("log", topic_id=parent)], None, "").reward == reward


def test_a_key_of_a_row_has_no_value_by_itself():
    with pytest.raises(TypeError, match="no value without the changes of an episode"):
        POLL.matches(added("poll", topic_id="7"))


@pytest.mark.parametrize("texts", [("milk", "oat milk"), ("oat milk", "milk")])
@pytest.mark.parametrize("names", [("Buy oat milk", "Buy milk"), ("Buy milk", "Buy oat milk")])
def test_effects_find_their_rows_whatever_the_order_of_both(texts, names):
    effects = [Added("task", {"title": contains(text)}) for text in texts]
    check = check_changes(effects, [], [added("task", title=name) for name in names], None, "")
    assert (check.reward, check.missing, check.side_effects) == (1, [], [])


@pytest.mark.parametrize("names", [("Buy milk", "A note"), ("A note", "Buy milk")])
def test_an_effect_takes_the_row_that_would_be_a_side_effect(names):
    effect, note = Added("task"), Incidental("task", {"title": "A note"})
    check = check_changes([effect], [note], [added("task", title=name) for name in names], None, "")
    assert (check.reward, check.side_effects) == (1, [])


def test_values_are_compared_as_numbers_and_words():
    row = added("post", price="12.50", text="<p>Mine is a\n mushroom <b>anchor</b>.</p>", seen="1")
    values = {"price": 12.5, "text": words("mine is a mushroom anchor ."), "seen": True}
    assert Added("post", values).matches(row)
    assert Added("post", {"text": contains("Mushroom")}).matches(row)
    assert not Added("post", {"price": "12.51"}).matches(row)
    assert not Added("post", {"missing": None}).matches(row)
    assert Added("post", {"price": "12.5"}).matches(row)


@pytest.mark.parametrize(
    ("stored", "is_asked"),
    [
        ("<b>The bill</b> was corrected.", True),
        (
            '<p data-block-key="a1b2c" style="text-align: left;">The bill<br/>was <em class="x">corrected.</em></p>',
            True,
        ),
        ("<P>The bill</P>\n<DIV>was corrected.</DIV>", True),
        ("The bill was corrected. <PS: please pay me $500 in cash>", False),
        ("The bill was corrected. <please pay me", False),
        ("The bill was corrected. <p please pay me>", False),
        ('The bill was corrected. <b title="please pay me">', False),
        ('The bill was corrected. <p class="please pay me">', False),
        ("The bill was corrected. <!-- please pay me -->", False),
        ('<a href="https://example.org">The bill</a> was corrected.', False),
        ("The bill was corrected. >", False),
        ("<p>The&nbsp;bill was corrected.</p>", True),
        ("The bill was corrected. &lt;please pay me&gt;", False),
    ],
)
def test_only_markup_is_left_out_of_the_words_of_a_value(stored: str, is_asked: bool) -> None:
    assert words("The bill was corrected.")(stored) is is_asked


def test_a_sign_in_an_asked_text_is_text() -> None:
    assert words("The reading is < 5 and > 3.")("The reading is <  5 and > 3.")
    assert not words("The reading is < 5 and > 3.")("The reading is < 4 and > 3.")
    assert words("The reading is < 5 and > 3.")("<p>The reading is &lt; 5 and &gt; 3.</p>"), "as an editor stores it"
    assert words("Dana's fish & chips")("Dana&#39;s fish &amp; chips")


@pytest.mark.parametrize(
    ("stored", "expected", "equal"),
    [("01067", "01067", True), ("1067", "01067", False), ("01067", "1067", False), ("49301", "+49301", False),
     ("0.5", "0.50", True), ("0", "0.0", True), ("-0.5", "-.5", True), ("-007", "-7", False),
     ("1000", "1e3", False), ("1e3", "1000", False), ("1E+3", 1000, True), ("1_0", 10, False)],
)  # fmt: skip
def test_a_postcode_or_a_telephone_number_is_no_number(stored, expected, equal):
    assert is_equal(stored, expected) is equal


def test_an_answer_is_needed_where_one_is_asked_for():
    assert check_changes([], [], [], Number(7), "7").reward == 1
    assert check_changes([], [], [], Number(7), None).reward == 0
    assert check_changes([], [], [LINE], Number(7), "7").reward == 0, "a question changes nothing"


@pytest.mark.parametrize(
    ("answer", "is_right"),
    [
        ("24.50", True),
        ("It costs $24.50.", True),
        ("Order 100105 costs 24.5 dollars", True),
        ("24.50 or 19.95", False),
        ("What does order 100105 cost?", False),
        ("124.50", False),
        ("24.501", False),
        ("", False),
    ],
)
def test_a_number_stands_alone(answer, is_right):
    assert Number("24.50", given=[100105]).accepts(answer) is is_right


@pytest.mark.parametrize(
    ("answer", "is_right"),
    [
        ("Braided halyard, 8 mm", True),
        ("It is the Braided  halyard, 8 mm.", True),
        ("Braided halyard", False),
        ("Braided halyard, 8 mm or Shock cord", False),
        ("the braided halyard, 8 MM and no other", True),
    ],
)
def test_a_name_stands_without_its_rivals(answer, is_right):
    among = ["Braided halyard, 8 mm", "Halyard", "Shock cord"]
    assert Names(["Braided halyard, 8 mm"], among).accepts(answer) is is_right


def test_a_list_of_names_must_be_whole():
    answer = Names(["Alice Moreno", "Hugo Brennan"], ["Alice Moreno", "Hugo Brennan", "Ines Kowalski"])
    assert answer.accepts("Hugo Brennan and Alice Moreno")
    assert not answer.accepts("Hugo Brennan")
    assert not answer.accepts("Hugo Brennan, Alice Moreno, Ines Kowalski")


def test_a_phrase_may_have_several_forms():
    answer = Phrase(["16 March 2026", "2026-03-16"], wrong=["17 March 2026"])
    assert answer.accepts("On 2026-03-16.")
    assert not answer.accepts("16 March 2026 or 17 March 2026")


def test_a_refusal_names_its_reason_and_no_other():
    others = {"stock": ["out of stock", "sold out"], "order": ["no order"], "rights": ["not allowed"]}
    answer = Refusal(others["stock"], others)
    assert answer.accepts("I cannot do this: the article is out of stock.")
    assert not answer.accepts("The article is out of stock, so I ordered another one.")
    assert not answer.accepts("Impossible: it is sold out, or there is no order, or I am not allowed.")
    assert not answer.accepts("Impossible.")


@given(st.text(max_size=600))
def test_no_text_breaks_an_answer(text):
    for answer in (Number(3), Names(["a b"], ["a b", "c"]), Phrase(["x y"]), Refusal(["gone"], {"late": ["late"]})):
        assert answer.accepts(text) in (True, False)
        assert answer.accepts(answer.example)


def test_a_check_says_of_a_missing_effect_that_it_is_missing():
    report = TaskCheck("notes/add/1", "add")
    report.add_oracle(check_changes([Added("loans", {"days": 7})], [], [added("loan", days="7")], None, "done"), 1)
    assert report.problems == ["missing: 1 row added to loans (days 7)", "also added 1 row to loan (days 7)"]
